"""What-ifs: the changed curve is that of stations which were built so, and what cannot be known is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, WhatIf, fit, from_datasheet, what_if
from measure import Sweep, load_dataset
from measure.errors import DataError
from measure.loads import Clients
from qsim import Closed, Delay, Exponential, Station, solve

LOADS = (1, 2, 4, 8, 16, 32)
SERVICE_S, DELAY_S = 10e-3, 2e-3


def exact(n: int, workers: int, service_s: float = SERVICE_S, delay_s: float = DELAY_S) -> float:
    return solve(Closed(n, [Delay(delay_s), Station(Exponential(service_s), servers=workers)])).throughput


def served(workers: int, noise: float = 0.003) -> Fit:
    """A fit of so many exponential workers after a delay, whose lone requests were seen one by one."""
    rng = np.random.default_rng(workers)
    rates = np.array([exact(n, workers) for n in LOADS]) * np.exp(rng.normal(0, noise, len(LOADS)))
    return fit(Sweep(points_at(LOADS, rates, series="pages", latency_sd_s=SERVICE_S)))


@pytest.fixture(scope="module")
def four() -> Fit:
    return served(4)


def predicted(made: Fit, change: WhatIf, n: int) -> tuple[float, float, float]:
    return what_if(made, change).fit.predict([n]).throughput_band(0)


@pytest.mark.parametrize("n", [1, 4, 8, 16, 32])
def test_twice_the_workers_are_predicted(four: Fit, n: int) -> None:
    middle, low, high = predicted(four, WhatIf(workers=(4, 8)), n)
    assert middle == pytest.approx(exact(n, 8), rel=0.03)
    assert low < exact(n, 8) < high


@pytest.mark.parametrize("n", [1, 4, 32])
def test_faster_service_leaves_the_delay_as_it_is(four: Fit, n: int) -> None:
    assert predicted(four, WhatIf(workers=(4, 4), service=0.5), n)[0] == pytest.approx(
        exact(n, 4, service_s=SERVICE_S / 2), rel=0.06
    )


@pytest.mark.parametrize("n", [1, 4, 32])
def test_a_longer_way_is_a_longer_delay(four: Fit, n: int) -> None:
    assert predicted(four, WhatIf(latency_s=5e-3), n)[0] == pytest.approx(exact(n, 4, delay_s=7e-3), rel=0.04)


def test_a_lone_request_gains_nothing_from_a_second_device(four: Fit) -> None:
    for made in (four, from_datasheet(80e-6, 600e3), fit(load_dataset("004-ssd-depth"))):
        now, then = (f.predict([1, 1024]).throughput_per_s for f in (made, what_if(made, WhatIf(copies=(1, 2))).fit))
        assert then[0] == pytest.approx(now[0], rel=1e-6)
        twice = 2 * made.predict([512]).throughput_per_s[0]
        assert then[1] == pytest.approx(twice, rel=2e-4)  # both stay below peaks that are sought at few loads


def test_two_copies_past_the_peak_are_twice_one_with_half_the_load() -> None:
    loads, rates = np.array([1, 4, 8, 16, 32, 64]), np.array([100.0, 380, 600, 640, 560, 420])
    made = fit(Sweep(points_at(loads, rates), load_type=Clients()))
    two = what_if(made, WhatIf(copies=(1, 2), called="replica")).fit.predict([2, 16, 64, 128, 256, 1024])
    one = made.predict(two.load / 2)
    assert two.throughput_per_s == pytest.approx(2 * one.throughput_per_s, rel=1e-9)
    assert two.throughput_low_per_s == pytest.approx(2 * one.throughput_low_per_s, rel=1e-9)
    assert two.throughput_per_s[-1] < two.throughput_per_s[3] < two.throughput_per_s[2]
    assert "nothing is known" not in str(two)


def test_changes_add_up(four: Fit) -> None:
    change = WhatIf(copies=(1, 2), workers=(4, 8), service=0.5, called="replica")
    scenario = what_if(four, change)
    assert scenario.changes == ("8 workers for 4", "service times x 0.5", "2 replicas for 1")
    assert scenario.fit.predict([1024]).throughput_per_s[0] == pytest.approx(2 * 8 / (SERVICE_S / 2), rel=0.05)
    assert scenario.fit.series == "pages, 8 workers for 4, service times x 0.5, 2 replicas for 1"
    assert "What if: 8 workers for 4" in repr(scenario)


def test_a_scenario_survives_a_file(four: Fit) -> None:
    made = what_if(four, WhatIf(copies=(1, 2), workers=(4, 8))).fit
    again = Fit.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again.predict([3, 40]).throughput_per_s == pytest.approx(made.predict([3, 40]).throughput_per_s)


def test_a_file_of_the_fit_tells_its_stations_too(four: Fit) -> None:
    again = Fit.from_dict(json.loads(json.dumps(four.to_dict())))
    assert predicted(again, WhatIf(workers=(4, 8)), 8)[0] == pytest.approx(exact(8, 8), rel=0.1)


def test_what_is_open_is_said(four: Fit) -> None:
    sheet = what_if(from_datasheet(80e-6, 600e3), WhatIf(service=0.5))
    low, high = sheet.fit.predict([1]).throughput_band(0)[1:]
    assert high / low > 1.5  # how much of the latency is service is not known
    assert not sheet.fit.used


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (WhatIf(workers=(40, 80)), "40 workers do not explain"),
        (WhatIf(workers=(6, 12)), "6 workers do not explain"),
        (WhatIf(latency_s=-5e-3), "more than the whole delay"),
        (WhatIf(copies=(100, 1)), "cannot be 100 drives"),
    ],
)
def test_what_the_points_rule_out_is_refused(four: Fit, change: WhatIf, part: str) -> None:
    with pytest.raises(DataError, match=part):
        what_if(four, change)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"service": 0.0},
        {"service": float("nan")},
        {"latency_s": float("inf")},
        {"workers": (0, 4)},
        {"workers": (4, 4.5)},
        {"copies": (1, 0)},
    ],
)
def test_nonsense_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must be|nothing is changed"):
        WhatIf(**values)  # type: ignore[arg-type]
