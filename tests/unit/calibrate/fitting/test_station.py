"""A calibrated device as a station: it reproduces the fitted curve, by formula and in both engines."""

import numpy as np
import pytest
from made_up import open_sweep, points_at

from calibrate import Fit, fit, from_datasheet, system
from calibrate.fitting.device_station import drawn_throughputs, points_again
from measure import Sweep, load_dataset
from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram
from measure.loads import Clients
from qsim import Closed, Delay, Empirical, Exponential, Open, Station, simulate, solve

SSD = "004-ssd-depth"


@pytest.fixture(scope="module")
def drive() -> Fit:
    return fit(load_dataset(SSD), model="p-norm with onset and decline")


def with_histogram(depths: tuple[float, ...] = (1, 4, 16)) -> Sweep:
    """A drive of 8 servers of 80 µs on average, with the histogram of its lone requests."""
    edges = np.array([40e-6, 60e-6, 120e-6, 160e-6])
    alone = Histogram(edges[:-1], edges[1:], np.array([40, 40, 20]), "lat")
    times = [max(82e-6, n * 80e-6 / 8) for n in depths]
    rates = [n / t for n, t in zip(depths, times, strict=True)]
    points = points_at(depths, rates, times, latency_sd_s=30e-6)
    made = Sweep(points, name="drive")
    row = next(made.points.itertuples())
    return Sweep(points, name="drive", latencies={(row.source, row.throughput_per_s, row.latency_s): alone})


@pytest.mark.parametrize("n", [1, 2, 5, 32, 33, 100, 1000, 4096])
def test_the_queue_of_a_drive_has_the_predicted_throughput(drive: Fit, n: int) -> None:
    assert solve(drive.queue(n)).throughput == pytest.approx(drive.predict([n]).throughput_per_s[0], rel=1e-9)


def test_between_its_knots_the_station_follows_the_curve(drive: Fit) -> None:
    station = drive.station()
    assert station.speeds is not None
    n = np.arange(33, 4096, 37)
    served = np.array(station.speeds)[n - 1] / station.time.mean
    assert served == pytest.approx(drive.predict(n).throughput_per_s, rel=1e-3)


@pytest.mark.parametrize("law", [None, Empirical((1.0, 20.0), (9, 1))])
def test_both_engines_hold_the_predicted_throughput_with_any_law(drive: Fit, law: Empirical | None) -> None:
    queue = drive.queue(24)
    (station,) = queue.stations.values()
    if law is not None:
        scaled = law.scaled(station.time.mean / law.mean)
        queue = Closed(24, [Station(scaled, speeds=station.speeds, discipline="PS")])
    inside = 0
    for seed in range(5):
        low, high = simulate(queue, customers=20_000, seed=seed).interval("throughput")
        inside += low < drive.predict([24]).throughput_per_s[0] < high
    assert inside >= 3  # 95 % intervals
    same = [simulate(queue, customers=5000, seed=3, engine=e, allow_short=True) for e in ("reference", "compiled")]
    assert same[0].throughput == pytest.approx(same[1].throughput, rel=1e-9)


def test_the_law_is_that_of_depth_one_where_it_is_known() -> None:
    made = fit(with_histogram())
    station = made.station(visits=3)
    assert "histogram of depth 1" in repr(station)
    assert "3 visits" in repr(station)
    assert isinstance(station.service, Empirical)
    assert station.service.scv == pytest.approx(0.13, abs=0.03)
    assert station.time.mean == pytest.approx(1 / made.predict([1]).throughput_per_s[0], rel=1e-9)
    assert fit(with_histogram(), [4, 16]).law is None  # depth 1 was not calibrated on


def test_without_a_histogram_service_is_exponential(drive: Fit) -> None:
    assert isinstance(drive.station().service, Exponential)
    assert "exponential" in repr(drive.station())


def test_a_station_covers_four_times_the_deepest_load(drive: Fit) -> None:
    assert drive.station().most == 4 * 1024
    sheet = from_datasheet(80e-6, 600e3)
    assert sheet.station().most == 4 * 48  # four times 80 us of 600 k/s, whatever the last bit
    with pytest.raises(ValueError, match="extrapolate=True"):
        drive.queue(4097)
    with pytest.raises(ValueError, match="extrapolate=True"):
        Closed(4097, [drive.station()])
    beyond = drive.predict([5000]).throughput_per_s[0]
    assert solve(drive.queue(5000, extrapolate=True)).throughput == pytest.approx(beyond, rel=1e-9)
    assert solve(Closed(5000, [drive.station(extrapolate=True)])).throughput > 0


def test_in_a_network_visits_divide_the_throughput(drive: Fit) -> None:
    think = Delay(1e-4)
    once, thrice = (solve(Closed(64, [think, drive.station(visits=v)])).throughput for v in (1, 3))
    assert thrice < once
    alone = solve(Closed(64, [drive.station(visits=3)])).throughput
    assert alone == pytest.approx(drive.predict([64]).throughput_per_s[0] / 3, rel=1e-3)


def test_of_a_memory_the_accesses_in_flight_are_the_load() -> None:
    sweep = load_dataset("001-memory")
    made = fit(sweep, series="64 B read")
    station = made.station()
    curve = made.predict([min(made.used), max(made.used)])
    for x, r in zip(curve.throughput_per_s, curve.response_time_s, strict=True):
        n = round(x * r)
        assert station.speeds[n - 1] / station.time.mean == pytest.approx(x, rel=0.25)
    with pytest.raises(DataError, match="no loop of requests"):
        made.queue(8)


def test_an_open_sweep_is_a_queue_of_whole_servers() -> None:
    rates = np.array([100.0, 500.0, 900.0])
    made = fit(open_sweep(rates, 1e-3 / (1 - rates / 1000)), model="M/M/1")
    station = made.station()
    assert station.servers == 1
    assert station.speeds is None
    queue = Open(Exponential(1 / 700), station.service, servers=station.servers)
    assert solve(queue).W == pytest.approx(1e-3 / 0.3, rel=0.1)
    with pytest.raises(DataError, match="no loop of requests"):
        made.queue(8)


@pytest.mark.parametrize("n", [0, -1, 2.5, True])
def test_a_queue_needs_a_whole_number(drive: Fit, n: float) -> None:
    with pytest.raises(ValueError, match="whole number"):
        drive.queue(n)  # type: ignore[arg-type]


def test_draws_are_possible_devices(drive: Fit) -> None:
    drawn = drive.draws(300, seed=4)
    assert [f.table.values.shape for f in drawn] == [(1, drive.table.values.shape[1])] * 300
    assert (drive.draws(300, seed=4)[7].table.values == drawn[7].table.values).all()
    medians = np.array([f.predict([16]).throughput_per_s[0] for f in drawn])
    band = drive.predict([16]).throughput_band(0)
    assert np.mean((medians > band[1]) & (medians < band[2])) > 0.85
    with pytest.raises(ValueError, match="draws"):
        drive.draws(0)


def test_drawn_throughputs_have_the_predicted_band(drive: Fit) -> None:
    drawn, _ = drawn_throughputs(drive, 64, 2000)
    for n in (3, 16, 60):
        low, high = np.quantile(drawn[:, n - 1], [0.05, 0.95])
        _, expected_low, expected_high = drive.predict([n]).throughput_band(0)
        assert low == pytest.approx(expected_low, rel=0.03)
        assert high == pytest.approx(expected_high, rel=0.03)


def test_draws_are_as_uncertain_as_the_fit_in_its_knee_and_its_peak() -> None:
    made = fit(load_dataset("001-ssd"), series=load_dataset("001-ssd").series[0])
    drawn = made.draws(400, seed=1)
    for low, high, found in (
        (made.knee.low, made.knee.high, [f.knee.load for f in drawn]),
        (made.parameters["Xmax"].low, made.parameters["Xmax"].high, [f.parameters["Xmax"].estimate for f in drawn]),
    ):
        ends = np.quantile(found, [0.05, 0.95])
        assert np.log(ends[1] / ends[0]) == pytest.approx(np.log(high / low), rel=0.25)
    peak = system({"disk": made.station()}, [1, 32], draws=400).peak
    assert np.log(peak.high / peak.low) == pytest.approx(
        np.log(made.parameters["Xmax"].high / made.parameters["Xmax"].low), rel=0.25
    )


def test_drawn_services_collapse_beyond_the_deepest_load_as_often_as_the_prediction_says() -> None:
    n = np.array([1.0, 4, 16, 64])
    made = fit(Sweep(points_at(n, 100 * n / (n + 7)), load_type=Clients()))
    deep = [f.predict([640]).throughput_per_s[0] for f in made.draws(300, seed=2)]
    _, low, _ = made.predict([640]).throughput_band(0)
    assert 0.02 < np.mean(np.array(deep) < low) < 0.12
    drawn, _ = drawn_throughputs(made, 256, 400)
    _, low, _ = made.predict([256]).throughput_band(0)
    assert np.quantile(drawn[:, 255], 0.05) == pytest.approx(low, rel=0.1)


def test_what_is_no_sweep_and_no_environment_is_refused_in_a_line(drive: Fit) -> None:
    with pytest.raises(TypeError, match=r"expected a Sweep, as measure.load\(path\) gives, not list"):
        fit([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"env must be a simpy\.Environment, not None"):
        drive.simpy(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("peak_iops", "loads"), [(600e3, [1, 48, 384]), (25e3, [1, 2, 16]), (12.5e3, [1, 2, 16])])
def test_a_data_sheet_stands_for_one_request_its_knee_and_eight_times_that(peak_iops: float, loads: list[int]) -> None:
    points = points_again(from_datasheet(80e-6, peak_iops))
    assert points.load == pytest.approx(loads, rel=0.01)
    assert points.throughput_per_s[[0, -1]] == pytest.approx([1 / 80e-6, peak_iops], rel=0.06)
