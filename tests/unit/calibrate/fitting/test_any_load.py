"""One closed sweep predicts what strangers and thinking users see, and refuses what it cannot know."""

import re

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, fit, from_datasheet, predict, with_p99
from calibrate.fitting.calibrating import missing_its_own_points
from measure import Sweep, load_dataset
from measure.errors import DataError
from measure.loads import ArrivalRate, Clients, Depth, InjectedDelay
from measure.loads.arrival_rate import Gaps
from qsim import (
    Arrivals,
    Delay,
    Deterministic,
    Distribution,
    Exponential,
    MMc,
    MMcN,
    Network,
    Open,
    Station,
    simulate,
    solve,
)

SERVICE, SERVERS = 0.003, 4


def measured(loads: np.ndarray, rate_per_s: np.ndarray) -> Sweep:
    return Sweep(points_at(loads, rate_per_s))


@pytest.fixture(scope="module")
def drive() -> Fit:
    """Four exponential servers of 3 ms, measured closed without noise: the exact curve is min(N, 4) / 3 ms."""
    loads = np.array([1.0, 2, 3, 4, 8, 16, 32, 64])
    return fit(measured(loads, np.minimum(loads, SERVERS) / SERVICE))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_strangers_wait_as_in_the_erlang_c_queue(drive: Fit, share: float) -> None:
    rate = share * SERVERS / SERVICE
    found = drive.predict(ArrivalRate([rate]))
    exact = solve(MMc(rate, 1 / SERVICE, SERVERS)).W
    assert found.response_time_s[0] == pytest.approx(exact, rel=0.1)
    assert found.response_time_low_s[0] < exact < found.response_time_high_s[0]
    assert found.throughput_per_s[0] == rate


@pytest.mark.parametrize(("users", "think"), [(10, 0.05), (40, 0.05), (100, 0.05), (1500, 1.0)])
def test_users_who_think_are_the_machine_repairman(drive: Fit, users: int, think: float) -> None:
    found = drive.predict(Clients([users], think=think))
    exact = solve(MMcN(population=users, think_time=think, service_time=SERVICE, servers=SERVERS))
    assert found.response_time_s[0] == pytest.approx(exact.W, rel=0.1)
    assert found.throughput_per_s[0] * (found.response_time_s[0] + think) == pytest.approx(users)


def test_even_gaps_wait_less_than_poisson_arrivals(drive: Fit) -> None:
    even, poisson = (drive.predict(ArrivalRate([1200.0], gaps=g)).response_time_s[0] for g in ("paced", "poisson"))
    assert SERVICE * 0.95 < even < poisson


def test_bands_widen_towards_the_peak(drive: Fit) -> None:
    found = drive.predict(ArrivalRate([300.0, 900.0, 1200.0]))
    widths = np.log(found.response_time_high_s / found.response_time_low_s)
    assert (np.diff(widths) > 0).all()


def test_the_kind_that_was_measured_is_predicted_as_by_numbers(drive: Fit) -> None:
    by_numbers = drive.predict([1, 8])
    for load in (Depth([1, 8]), Clients([1, 8])):
        assert drive.predict(load).throughput_per_s.tolist() == by_numbers.throughput_per_s.tolist()


def test_a_rate_beyond_the_peak_is_not_served(drive: Fit) -> None:
    with pytest.raises(DataError, match=r"2\.00 k/s is not served: it completes 1\.3\d k/s"):
        drive.predict(ArrivalRate([2000.0]))


def test_a_rate_that_needs_more_present_than_is_known_is_refused_with_the_rate_that_is_not() -> None:
    loads = np.array([1.0, 2, 4])
    shallow = fit(measured(loads, np.minimum(loads, SERVERS) / SERVICE))
    with pytest.raises(DataError, match=r"more requests present than the points cover \(16\); ask for") as refused:
        shallow.predict(ArrivalRate([0.98 * shallow.predict([16]).throughput_per_s[0]]))
    most = float(str(refused.value).partition("ask for ")[2].split(" k/s")[0]) * 1e3
    assert shallow.predict(ArrivalRate([0.98 * most])).response_time_s[0] > SERVICE


def test_above_a_falling_curve_both_states_are_named() -> None:
    loads = np.array([1.0, 4, 16, 64, 256])
    falls = fit(measured(loads, np.array([100.0, 390, 900, 700, 200])))
    with pytest.raises(DataError, match=r"metastable: .* while fewer than \d+ are present, and a queue that grows"):
        falls.predict(ArrivalRate([500.0]))


@pytest.mark.parametrize(
    ("load", "error", "said"),
    [
        (ArrivalRate(), ValueError, "cannot predict at no load"),
        (Clients([10], think=None), ValueError, "a think time is needed"),
        (InjectedDelay([100]), DataError, "depths, clients or arrival rates, not at delays"),
    ],
)
def test_a_load_that_says_too_little_is_refused(drive: Fit, load, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        drive.predict(load)


def test_a_memory_predicts_no_arrivals() -> None:
    memory: Sweep = load_dataset("001-memory")
    with pytest.raises(DataError, match="only a fit over depths, clients or threads"):
        fit(memory, series=memory.series[0]).predict(ArrivalRate([1e6]))


def test_a_data_sheet_predicts_strangers_too() -> None:
    sheet = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    found = predict(sheet, ArrivalRate([60e3, 300e3]))
    assert found.response_time_s[0] == pytest.approx(80e-6, rel=0.05)
    assert found.response_time_s[1] < 2 * 80e-6


@pytest.mark.parametrize(("scv", "law"), [(1.0, Exponential(0.01)), (0.0, Deterministic(0.01))])
def test_p99_under_strangers_and_users_is_that_of_a_long_simulation(scv: float, law: Distribution) -> None:
    depths = np.array([1, 2, 4, 8, 32])
    points = points_at(
        depths, np.minimum(depths, 4) / 0.01, latency_sd_s=np.where(depths == 1, 0.01 * scv**0.5, np.nan)
    )
    made = fit(Sweep(points))
    strangers = with_p99(made, made.predict(ArrivalRate([240.0])))
    exact = simulate(Open(Exponential(1 / 240), law, servers=4), customers=400_000, seed=3, engine="compiled")
    assert strangers.p99_s == pytest.approx([exact.quantile(0.99)], rel=0.06)
    users = with_p99(made, made.predict(Clients([240], think=1.0)))
    network = Network({"think": Delay(1.0), "device": Station(law, servers=4)}, 240)
    exact = simulate(network, customers=400_000, seed=3, engine="compiled")
    assert users.p99_s == pytest.approx([exact.quantile(0.99)], rel=0.06)
    assert "P99, SIMULATED" in str(users)
    assert "p99 is simulated" in users.notes[-1]


def test_p99_of_a_saturated_device_is_that_of_the_way_to_queue_at_its_knee() -> None:
    made = fit(Sweep(points_at([1, 2, 4, 8], [100, 200, 400, 400])))
    users = [700, 1000]
    found = with_p99(made, made.predict(Clients(users, think=1.0)))
    device = Station(Exponential(0.01), servers=4)
    networks = [Network({"think": Delay(1.0), "device": device}, n) for n in users]
    exact = [simulate(one, customers=400_000, seed=3, engine="compiled", allow_short=True) for one in networks]
    assert found.p99_s == pytest.approx([one.quantile(0.99) for one in exact], rel=0.05)


STATIONS = {f"station {i}": Station(Exponential(0.01)) for i in range(3)}
FOUR = {"device": Station(Deterministic(0.01), servers=4)}


@pytest.mark.parametrize(
    ("device", "users", "said"),
    [
        (STATIONS, 51, "stations one after another"),
        (STATIONS, 87, "stations one after another"),
        (FOUR, 204, "one queue"),
    ],
)
def test_a_measured_p99_tells_the_spread_and_the_way_to_queue(device: dict, users: int, said: str) -> None:
    depths = [1, 2, 4, 8, 16]
    loops = [Network(device, n) for n in depths]
    seen = [simulate(loop, customers=200_000, seed=1, engine="compiled", allow_short=True) for loop in loops]
    response, p99 = np.array([(float(one.W), one.quantile(0.99)) for one in seen]).T
    made = fit(Sweep(points_at(depths, depths / response, latency_p99_s=p99)))
    found = with_p99(Fit.from_dict(made.to_dict()), made.predict(Clients([users], think=1.0)))
    exact = simulate(Network({"think": Delay(1.0), **device}, users), customers=400_000, seed=3, engine="compiled")
    assert found.p99_s == pytest.approx([exact.quantile(0.99)], rel=0.08)
    assert f"by the p99 at depth 1; {said}, by the measured p99" in found.notes[-1]


def test_a_p99_measured_at_rates_tells_the_way_to_queue_too() -> None:
    rates = np.array([10.0, 50, 80])
    runs = [simulate(Network(STATIONS, Arrivals(rate)), customers=200_000, seed=1, engine="compiled") for rate in rates]
    points = points_at(rates, rates, latency_p99_s=[one.quantile(0.99) for one in runs])
    points["latency_s"] = 0.03 / (1 - rates / 100)
    made = fit(Sweep(points, ArrivalRate()), model="p-norm with onset, any load")
    found = with_p99(made, made.predict(Clients([15], think=0.1)))
    network = Network({"think": Delay(0.1), **STATIONS}, 15)
    exact = simulate(network, customers=400_000, seed=3, engine="compiled")
    assert found.p99_s == pytest.approx([exact.quantile(0.99)], rel=0.08)
    assert "stations one after another, by the measured p99" in found.notes[-1]


def test_p99_of_eight_queues_joined_at_random_is_longer_than_of_one() -> None:
    exact = Network({"device": Station(Exponential(0.01), servers=8, queues="random")}, Arrivals(480))
    depths = [1, 2, 4, 8, 16, 32, 64]
    rates = [solve(exact.with_population(n)).throughput for n in depths]
    made = fit(Sweep(points_at(depths, rates, latency_sd_s=[0.01] + [np.nan] * 6)))
    truth = simulate(exact, customers=400_000, seed=3, engine="compiled").quantile(0.99)
    assert with_p99(made, made.predict(ArrivalRate([480.0]))).p99_s == pytest.approx([truth], rel=0.15)


def evenly_spaced(rates: list[float], times_s: list[float]) -> Sweep:
    points = points_at(np.array(rates), np.array(rates))
    points["latency_s"] = times_s
    return Sweep(points, ArrivalRate(gaps="paced"))


def test_even_gaps_at_constant_service_hold_no_information_on_the_peak_and_the_fit_says_so() -> None:
    flat = fit(evenly_spaced([60.0, 260.0, 360.0], [0.0104, 0.0103, 0.0104]), model="p-norm with onset, any load")
    told = repr(flat)
    assert ", assumed; idle latency 10." in told
    assert "ASSUMED requests hardly wait at these rates (10.3 ms to 10.4 ms up to 360 /s)" in told
    assert "hold no information on the peak: measure higher rates, until responses rise, or a closed test" in told
    assert any("not supported by these data" in doubt for doubt in flat.predict(Depth([8])).doubts)
    one = fit(evenly_spaced([15.0, 65.0, 90.0], [0.0104, 0.0103, 0.0107]), model="p-norm with onset, any load")
    assert ", sure" not in "\n".join(repr(one).splitlines()[1:3])


def test_what_is_assumed_of_a_peak_ends_no_interval_and_no_band() -> None:
    """One server at 80 % of its peak and four at a fifth of theirs answer the same."""
    sweep = evenly_spaced([10.0, 30.0, 50.0, 70.0, 80.0], [0.0101, 0.0099, 0.01, 0.0101, 0.01])
    flat = fit(sweep, model="p-norm with onset, any load")
    assert flat.peak.low == pytest.approx(80)  # which were served
    assert (flat.peak.high, flat.knee.high) == (None, None)
    assert re.search(r"PEAK    \d+ /s \(\d+ and more\), assumed", repr(flat))
    four = flat.predict(Depth([4]))
    assert four.throughput_low_per_s[0] < 100
    assert 400 < four.throughput_high_per_s[0]
    strangers = with_p99(flat, flat.predict(ArrivalRate([78.0])))
    waits = solve(MMc(78.0, 100.0, 4))
    assert strangers.response_time_low_s[0] < waits.W < strangers.response_time_high_s[0]
    assert strangers.p99_low_s[0] < 0.02 < strangers.p99_high_s[0]


def test_the_fewest_whole_servers_are_nearer_than_a_share_of_the_highest_rate_and_than_they_alone() -> None:
    clients, missed = np.array([1.0, 2, 4, 8, 16, 32]), []
    for highest in (0.5, 0.7, 0.9):
        for servers in (1, 2, 3, 4, 6, 8, 16):
            rates = np.array([0.17, 0.72, 1.0]) * highest * servers / 0.01
            made = fit(evenly_spaced(rates.tolist(), [0.0103, 0.01, 0.0101]), model="p-norm with onset, any load")
            found = predict(made, Depth(tuple(clients)), refuse=False).response_time_s
            present = highest * servers
            peaks = np.array([servers, 1.2 * present, np.ceil(1.01 * present)]) / 0.01  # the truth and two rivals
            truth, *rivals = (clients / np.minimum(clients / 0.01, peak) for peak in peaks)
            missed.append([np.abs(r / truth - 1).max() for r in (found, *rivals)])
    ours, *rivals = np.mean(missed, axis=0)
    assert ours < 0.2
    assert ours < min(rivals)
    assert np.max(missed[14:], axis=0)[0] < 0.15  # rates to 90 % of the peak


def with_one_rate_beyond_the_peak(gaps: Gaps) -> Sweep:
    rates, asked = [15.0, 65.0, 90.0, 100.0], [15.0, 65.0, 90.0, 130.0]
    points = points_at(asked, rates, [0.0104, 0.0103, 0.0107, 4.0], asked_rate_per_s=asked)
    return Sweep(points, ArrivalRate(gaps=gaps))


def test_one_rate_beyond_the_peak_tells_it_where_even_gaps_never_wait() -> None:
    made = fit(with_one_rate_beyond_the_peak("paced"))
    told = repr(made)
    assert "of 130 /s asked for 100 /s came: the capacity, and no response" in made.notes
    assert "ASSUMED" not in told
    assert "assumed" not in told
    for kept in (made, Fit.from_dict(made.to_dict())):
        assert kept.never_waits == ""
        closed = kept.predict(Depth([1, 4, 64]))
        np.testing.assert_allclose(closed.throughput_per_s, [96, 100, 100], rtol=0.06)
        assert not any("no rate that was measured tells the peak" in doubt for doubt in closed.doubts)


def test_poisson_arrivals_that_were_assumed_and_would_have_waited_are_asked_about() -> None:
    (warning,) = missing_its_own_points(fit(with_one_rate_beyond_the_peak("poisson")))
    assert "if the requests were sent in even gaps, say so: --columns gaps=paced. Else see" in warning.remedy
    assert missing_its_own_points(fit(with_one_rate_beyond_the_peak("paced"))) == ()


def test_rates_at_which_requests_wait_tell_the_peak() -> None:
    waits = fit(evenly_spaced([15.0, 65.0, 90.0], [0.0108, 0.0175, 0.055]), model="p-norm with onset, any load")
    assert waits.never_waits == ""
    assert "ASSUMED" not in repr(waits)
    assert not any("not supported" in doubt for doubt in waits.predict(Depth([8])).doubts)


@pytest.mark.parametrize(
    ("rate_of", "delay_s", "scv"),
    [
        (lambda n: n / (n + 2), 0.0, 1 / 3),  # three stations one after another
        (lambda n: solve(MMcN(population=int(n), think_time=0.05, service_time=0.01)).throughput / 100, 0.05, 1 / 36),
    ],
)
def test_the_spread_of_whole_responses_is_not_taken_for_that_of_the_stations_they_pass(rate_of, delay_s, scv) -> None:
    depths = [1.0, 2, 4, 8, 16, 32, 64]
    rates = [100 * rate_of(n) for n in depths]
    closed = fit(Sweep(points_at(depths, rates, latency_sd_s=[scv**0.5 / rates[0]] + [np.nan] * 6)))
    think = 0.3
    stations = {f"station {i}": Station(Exponential(0.01)) for i in range(1 if delay_s else 3)}
    exact = [float(solve(Network({"think": Delay(think + delay_s), **stations}, n)).throughput) for n in (20, 30, 40)]
    found = closed.predict(Clients([20, 30, 40], think=think))
    assert found.response_time_s == pytest.approx(np.array([20, 30, 40]) / exact - think, rel=0.03)
    assert "of 1 where they wait, as the curve bends softly" in found.notes[0]
