"""An application on calibrated devices: the estimate is the network's own, the band comes from the calibration."""

import numpy as np
import pytest
from made_up import open_sweep

from calibrate import Fit, System, fit, from_datasheet, system
from calibrate.application.system_answer import system_table, within_text
from measure import load_dataset
from qsim import Closed, Delay, Erlang, Exponential, MMc, Network, Station, simulate, solve

SHEET = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
USERS, CPU = Delay(0.002), Station(Exponential(100e-6), servers=8)


def app(drive: Fit = SHEET, cpu: Station = CPU, visits: float = 6) -> Network:
    return Network({"users": USERS, "cpu": cpu, "disk": drive.station(visits=visits)})


def opened() -> Fit:
    """A fit of Poisson arrivals at two exponential servers of 1 ms."""
    rates = np.array([400.0, 900.0, 1300.0, 1600.0, 1800.0])
    response = [solve(MMc(rate, 1000.0, 2)).W for rate in rates]
    return fit(open_sweep(rates, response))


@pytest.fixture(scope="module")
def found() -> System:
    return system(app(), clients=[1, 10, 100, 180])


def test_the_estimate_is_that_of_the_network(found: System) -> None:
    x, r = found.throughput(), found.response()
    for i, n in enumerate((1, 10, 100, 180)):
        exact = solve(app().with_population(n))
        assert x[0, i] == pytest.approx(exact.throughput, rel=1e-9)
        assert r[0, i] == pytest.approx(exact.W, rel=1e-9)


def test_estimates_lie_in_their_bands_and_no_number_is_impossible(found: System) -> None:
    for middle, low, high in (found.throughput(), found.response(), found.utilization("disk")):
        assert (low <= middle).all()
        assert (middle <= high).all()
    assert (found.utilization("cpu") <= 1).all()
    assert found.throughput()[2].max() <= found.peak.high
    assert found.knee.low < found.knee.estimate < found.knee.high


def test_the_band_is_that_of_the_drive_where_the_drive_is_all() -> None:
    alone = system({"disk": SHEET.station()}, clients=[8, 32], draws=2000)
    for i, n in enumerate((8, 32)):
        _, low, high = SHEET.predict([n]).throughput_band(0)
        assert alone.throughput()[1, i] == pytest.approx(low, rel=0.03)
        assert alone.throughput()[2, i] == pytest.approx(high, rel=0.03)


def test_the_bottleneck_is_the_station_that_is_full_first(found: System) -> None:
    assert found.bottleneck == "cpu"
    assert 0.5 < found.bottleneck_share < 1
    slow = system(app(visits=60), clients=[50])
    assert slow.bottleneck == "disk"
    assert slow.bottleneck_share == 1


def test_two_of_the_bottleneck_raise_the_peak_to_the_next_one(found: System) -> None:
    peak, then = found.peak_with_two("cpu")
    assert then == "disk"
    assert peak == pytest.approx(found.peaks[0, 1])
    doubled = solve(Closed(180, [USERS, Station(Exponential(100e-6), servers=16), SHEET.station(visits=6)]))
    assert found.gain("cpu") == pytest.approx(doubled.throughput / found.throughput()[0, -1], rel=1e-9)
    assert found.gain("disk") > 1


def test_ninety_percent_of_the_peak_is_had_there(found: System) -> None:
    at = found.ninety
    assert found.throughput([round(at.estimate)])[0, 0] == pytest.approx(0.9 * found.peak.estimate, rel=0.01)
    few = system({**app().stations, "users": Delay(5.0)}, clients=[10])
    assert few.ninety.estimate is None
    assert "not reached" in repr(few)


def test_an_objective_is_kept_by_so_many_clients(found: System) -> None:
    most = round(found.within(7e-4).estimate)
    assert solve(app().with_population(most)).W <= 7e-4
    assert f"{most} (" in within_text(found, 7e-4)
    assert found.within(1e-6).estimate == 0
    assert "none: with 1 client the mean" in within_text(found, 1e-6)


def test_where_the_search_ended_is_no_answer_and_the_range_asked_for_changes_none(found: System) -> None:
    last, few = found.known_at[-1], system(app(), clients=[1, 10])
    every = few.within(1.0)
    assert (every.estimate, every.low, every.high, every.identified) == (None, None, None, False)
    assert within_text(few, 1.0).startswith(f"{last:g} or more clients have")
    assert few.within(7e-4) == found.within(7e-4)
    part = found.within(1.01 * float(found.response([last])[0, 0]))  # some draws take longer
    assert (part.estimate, part.high, part.identified) == (None, None, False)
    assert part.low < last


def test_without_a_calibrated_station_nothing_is_uncertain() -> None:
    found = system({"users": USERS, "cpu": CPU}, clients=[1, 50])
    assert (found.throughput()[1] == found.throughput()[2]).all()
    assert repr(found).startswith("BOTTLENECK  cpu: at most 80.0 k/s")
    assert "band" not in system_table(found)
    assert "in all draws" in repr(system({"users": USERS, "cpu": CPU, "disk": SHEET.station()}, clients=[1, 50]))


def test_two_drives_keep_their_names_and_are_uncertain_each_for_itself() -> None:
    other = from_datasheet(idle_latency=200e-6, peak_iops=50e3)
    found = system({"users": USERS, "fast": SHEET.station(), "slow": other.station()}, clients=[20])
    assert found.bottleneck == "slow"
    assert found.utilization("fast")[0, 0] < found.utilization("slow")[0, 0]
    twins = system({"a": SHEET.station(), "b": from_datasheet(80e-6, 600e3).station()}, clients=[20])
    assert not np.allclose(twins.peaks[1:, 0], twins.peaks[1:, 1])
    same = system({"a": SHEET.station(), "b": SHEET.station(visits=2)}, clients=[20])
    assert same.peaks[:, 0] == pytest.approx(2 * same.peaks[:, 1])


@pytest.mark.parametrize("data", ["memory", "open"])
def test_memories_and_open_sweeps_bring_their_uncertainty_too(data: str) -> None:
    made = fit(load_dataset("001-memory"), series="64 B read") if data == "memory" else opened()
    think = 20 / max(made.used_throughput_per_s)
    found = system({"think": Delay(think), "device": made.station()}, clients=[4, 16], draws=8)
    middle, low, high = found.throughput()
    assert (low < middle).any()
    assert (middle < high).any()
    assert found.peak.low < found.peak.estimate < found.peak.high


def test_by_simulation_it_is_the_same_within_noise_with_percentiles(found: System) -> None:
    by_run = system(app(), clients=[10, 100], simulate=True)
    assert by_run.throughput()[0] == pytest.approx(found.throughput([10, 100])[0], rel=0.03)
    assert by_run.response()[0] == pytest.approx(found.response([10, 100])[0], rel=0.06)
    for share in (0.5, 0.99):
        middle, low, high = by_run.percentile(share)
        assert ((low <= middle) & (middle <= high)).all()
    assert (by_run.percentile(0.99)[0] > by_run.response()[0]).all()
    header = [cell.strip() for cell in system_table(by_run).splitlines()[0].split("  ") if cell]
    assert header[:3] == ["CLIENTS", "THROUGHPUT (90 % band)", "RESPONSE (90 % band)"]
    assert {"P99", "CPU", "DISK"} <= {cell.strip() for cell in header[3:]}
    assert "p99_s_low" in by_run.to_frame()


def test_without_a_formula_it_is_simulated() -> None:
    erlang = Station(Erlang(k=4, mean=100e-6), servers=8)
    found = system(app(cpu=erlang), clients=[40], draws=3)
    run = simulate(app(cpu=erlang).with_population(40), customers=200_000, seed=5, engine="compiled")
    assert found.throughput()[0, 0] == pytest.approx(run.throughput, rel=0.03)
    assert found.percentiles


def test_a_device_is_not_asked_for_more_than_it_covers() -> None:
    with pytest.raises(ValueError, match=r"extrapolate=True"):
        system(app(visits=60), clients=[1000])
    system({**app().stations, "users": Delay(1.0)}, clients=[1000])  # most of them think
    extrapolated = {**app().stations, "disk": SHEET.station(visits=60, extrapolate=True)}
    assert system(extrapolated, clients=[500]).throughput()[0, 0] > 0


@pytest.mark.parametrize("clients", [[], [0], [-3], [2.5]])
def test_clients_are_whole_numbers_from_one(clients: list[float]) -> None:
    with pytest.raises(ValueError, match="clients must be whole numbers"):
        system(app(), clients=clients)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("network", "part"),
    [({}, "stations"), (7, "stations by name"), ({"a": 3}, "stations"), ({"users": USERS}, "no bottleneck")],
)
def test_what_is_no_network_is_refused(network: object, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        system(network, clients=[1])


def test_draws_are_a_whole_number() -> None:
    with pytest.raises(ValueError, match="draws"):
        system(app(), clients=[1], draws=0)


@pytest.mark.parametrize(("runs", "least", "most"), [(20, 28, 40), pytest.param(50, 82, 98, marks=pytest.mark.slow)])
def test_a_simulated_band_holds_the_error_of_the_simulation(runs: int, least: int, most: int) -> None:
    """That of 90 %, at two numbers of clients in each run; half as wide it would hold 24 of 40."""
    stations = {"users": Delay(0.05), "cpu": Station(Exponential(5e-3)), "disk": Station(Exponential(1e-3), visits=3)}
    exact = system(stations, clients=[1, 6])
    inside = {"throughput": 0, "response": 0}
    for seed in range(runs):
        run = system(stations, clients=[1, 6], simulate=True, seed=seed, customers=20_000)
        for name in inside:
            true = getattr(exact, name)()[0]
            _, low, high = getattr(run, name)()
            inside[name] += int(((low <= true) & (true <= high)).sum())
    assert all(least <= count <= most for count in inside.values()), inside


def test_more_customers_narrow_a_simulated_band() -> None:
    stations = {"users": Delay(0.05), "cpu": Station(Exponential(5e-3))}
    short, long = (system(stations, clients=[10], simulate=True, customers=n) for n in (10_000, 400_000))
    width = [float(np.ptp(s.response()[1:])) for s in (short, long)]
    assert width[1] < width[0] / 2
