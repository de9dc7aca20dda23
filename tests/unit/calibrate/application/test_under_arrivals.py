"""An application under arrivals: by formula as ``solve``, with the bands of its calibrated stations."""

from typing import Any

import numpy as np
import pytest
from made_up import points_at

from calibrate import fit, from_datasheet, system
from calibrate.application.arrivals import UnderArrivals
from calibrate.application.system_answer import system_table, within_text
from measure import Sweep
from qsim import Arrivals, Delay, Deterministic, Exponential, Network, Station, solve

DRIVE = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
APP = {"cpu": Station(Exponential(1e-3), servers=4), "disk": DRIVE.station(visits=3)}


@pytest.fixture(scope="module")
def found() -> UnderArrivals:
    made = system(APP, rates=[1e3, 3e3])
    assert isinstance(made, UnderArrivals)
    return made


def test_the_estimate_is_that_of_solve_within_its_band(found: UnderArrivals) -> None:
    exact = [solve(Network(APP, Arrivals(rate))).W for rate in (1e3, 3e3)]
    middle, low, high = found.response()
    assert middle == pytest.approx(exact, rel=2e-3)
    assert (low < middle).all()
    assert (middle < high).all()
    assert found.bottleneck == "cpu"
    assert found.peak.estimate == pytest.approx(4e3)
    assert found.utilization("cpu")[0] == pytest.approx([0.25, 0.75])
    document = found.to_dict()
    assert document["peak"]["estimate"] == pytest.approx(4e3)
    assert [row["arrivals_per_s"] for row in document["points"]] == [1e3, 3e3]
    assert "knee" not in document  # of clients, and here are none


def test_without_a_calibrated_station_nothing_is_uncertain() -> None:
    made = system({"cpu": Station(Exponential(1e-3))}, rates=[500])
    assert made.response()[:, 0] == pytest.approx([2e-3] * 3, rel=2e-3)


def test_the_arrivals_of_a_network_are_its_rate_with_their_routes_and_delays() -> None:
    stations = {"a": Station(Exponential(0.1)), "b": Station(Exponential(0.1)), "rest": Delay(0.5)}
    network = Network(stations, Arrivals({"a": 4, "b": 5}), {"a": {"b": 0.5, "rest": 0.5}, "b": {}, "rest": {}})
    made = system(network)
    assert made.rates.tolist() == [9]
    assert made.response()[0, 0] == pytest.approx(solve(network).W, rel=2e-3)
    assert system(network, rates=[4.5]).response()[0, 0] < made.response()[0, 0]
    assert system(network, simulate=True).response()[0, 0] == pytest.approx(solve(network).W, rel=0.1)


def test_other_laws_are_simulated_with_percentiles() -> None:
    made = system(Network({"cpu": Station(Deterministic(1e-3)), "disk": DRIVE.station()}, Arrivals(700)))
    assert made.response()[0, 0] == pytest.approx(1e-3 * (1 + 0.7 / 0.6) + 80e-6, rel=0.15)
    assert made.percentile(0.99)[0, 0] > made.response()[0, 0]


def test_two_of_the_bottleneck_and_an_objective(found: UnderArrivals) -> None:
    twice = solve(Network({**APP, "cpu": Station(Exponential(1e-3), servers=8)}, Arrivals(3e3))).W
    assert found.gain("cpu") == pytest.approx(twice / found.response()[0, 1], rel=0.02)
    assert f"the response falls with cpu by {100 * (1 - found.gain('cpu')):.0f} %, disk by " in str(found)
    most = found.within(2e-3)
    simulated = system(APP, rates=[1e3, 2e3], simulate=True, draws=1, customers=20_000)
    assert solve(Network(APP, Arrivals(most.estimate or 0))).W == pytest.approx(2e-3, rel=0.02)
    assert within_text(found, 2e-3).startswith("up to 3.")
    whatever = found.within(1.0)  # the last rate known was the answer of any time that is longer
    assert (whatever.estimate, whatever.identified) == (None, False)
    assert within_text(found, 1.0) == "up to 3.92 k/s at least the mean response is within 1.00 s"
    known = simulated.within(1.0, 0.99)
    assert (known.estimate, known.note) == (None, "2.00 k/s at least")
    assert system_table(found).split()[:5] == ["ARRIVALS", "RESPONSE", "(90", "%", "band)"]


@pytest.mark.parametrize(
    ("network", "more", "said"),
    [
        (Network(APP, Arrivals(3e5)), {"clients": [1, 64]}, "clients must be left out where the network has arrivals"),
        (Network(APP, Arrivals(3e5)), {}, "rates must be below 4.00 k/s, which cpu serves"),
        (APP, {"rates": [4e3]}, "rates must be below 4.00 k/s, which cpu serves"),
        (APP, {"clients": [1], "rates": [100]}, "clients must be left out where rates are given"),
        (APP, {}, "clients must be given, or rates"),
        (APP, {"rates": [0.0]}, "rates must be positive numbers a second"),
        (Network({"cpu": APP["cpu"]}, {"a": Arrivals(1), "b": 2}), {}, "must have arrivals of one class"),
    ],
)
def test_arrivals_are_never_ignored_and_what_cannot_be_is_refused(network: Any, more: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".+") as refused:
        system(network, **more)
    assert said in str(refused.value)


def test_more_than_a_device_covers_is_refused_with_the_rate_that_is_covered() -> None:
    shallow = fit(Sweep(points_at([1, 2, 4], [100, 195, 380])))
    with pytest.raises(ValueError, match=r"must be (at most|below)"):
        system(
            {"disk": shallow.station()},
            rates=[0.999 * max(shallow.station().speeds or ()) / shallow.station().time.mean],
        )


def test_above_a_falling_curve_both_states_are_named() -> None:
    depths = np.array([1, 2, 4, 8, 16, 32, 64])
    falling = fit(Sweep(points_at(depths, [100, 198, 390, 500, 420, 350, 300])))
    with pytest.raises(
        ValueError, match=r"it is metastable: .* while fewer than .* and a queue that grows once more are"
    ):
        system({"disk": falling.station()}, rates=[400.0])
