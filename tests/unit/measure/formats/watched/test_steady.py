"""What a device did second by second becomes points where it was steady."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibrate import fit
from measure.errors import DataError
from measure.formats.block_device_counts import DeviceInterval, pooled, stretches, watched_sweep
from measure.loads import Outstanding
from qsim import MMcN, solve


def second(rate: float, response_s: float, device: str = "sda", seconds: float = 1.0) -> DeviceInterval:
    return DeviceInterval(device, "", seconds, reads=rate * seconds, read_s=rate * response_s * seconds)


def test_a_stretch_ends_where_the_throughput_changes():
    loads = [second(1000, 1e-3)] * 6 + [second(1600, 1e-3)] * 7 + [second(1000, 1e-3)] * 4
    assert [len(part) for part in stretches(loads)] == [6, 7]  # the last four are too few


@pytest.mark.parametrize(
    ("rate", "response_s", "belongs"),
    [
        *[(1344, 1e-3, True), (1346, 1e-3, False), (656, 1e-3, True), (654, 1e-3, False)],  # 1000 +- 345
        *[(1000, 1.59e-3, True), (1000, 1.60e-3, False)],  # at most 1.5 times 1 and 3 / 1000^0.5 outstanding
        *[(1000, 0.573e-3, True), (1000, 0.571e-3, False)],
    ],
)
def test_an_interval_belongs_within_the_scatter_and_the_tolerance(rate, response_s, belongs):
    (found,) = stretches([second(1000, 1e-3)] * 5 + [second(rate, response_s)])
    assert len(found) == 5 + belongs


@pytest.mark.parametrize(("rate", "belongs"), [(240, True), (239, False), (560, True), (561, False)])
def test_an_interval_at_the_very_end_of_the_scatter_and_the_tolerance_belongs(rate, belongs):
    (found,) = stretches([second(400, 1e-3)] * 5 + [second(rate, 1e-3)])  # 400 +- 3 * 400^0.5 and a quarter
    assert len(found) == 5 + belongs


@pytest.mark.parametrize(
    ("block", "reads", "belongs"), [(5120, 1, 1), (5130, 1, 0), (4096, 0.853, 1), (4096, 0.852, 0)]
)
def test_a_kind_of_requests_has_similar_sizes_and_shares_of_reads(block, reads, belongs):
    """Within a quarter of the size, and within 10 % and three times the root of 0.25 / 1000 of the share."""
    (found,) = stretches([requests(1000, 1e-3, 4096, 1.0)] * 5 + [requests(1000, 1e-3, block, reads)])
    assert len(found) == 5 + belongs


def test_samples_tell_the_number_in_flight_within_an_error():
    one = DeviceInterval("sda", "", 2.0, in_flight_variance=4.0, late_looks_share=0.5)
    assert one.seen_error == pytest.approx(2.6 * (4 / 50) ** 0.5)
    assert replace(one, seconds=0.04).seen_error == pytest.approx(2.6**2)  # one look
    idle = replace(one, seconds=5.0, read_s=0.05, in_flight=0.0, in_flight_variance=0.0)
    assert idle.agrees  # of 125 looks at X R = 0.01 all miss one time in three
    assert not replace(idle, read_s=0.5).agrees


def test_stretches_of_one_load_are_one_point_with_repeats():
    loads = [second(1000, 2e-3)] * 12 + [second(3000, 2e-3)] * 5 + [second(1050, 2e-3)] * 6
    sweep = watched_sweep(loads, "test")
    assert sorted(set(sweep.points["load"])) == [2.03, 6.0]
    assert list(sweep.points.loc[sweep.points["load"] < 3, "repeat"]) == [0, 1, 2]
    assert list(sweep.points.loc[sweep.points["load"] == 6, "repeat"]) == [0]
    assert "23 of 23 s were steady, in 3 stretches" in sweep.findings[0].message


def test_devices_are_curves_of_their_own():
    sweep = watched_sweep([second(1000, 1e-3, d) for d in ("sda", "sdb") for _ in range(5)], "test")
    assert sweep.series == ("sda", "sdb")


def test_a_restless_load_is_refused_in_a_line():
    with pytest.raises(DataError, match=r"no 5 s of a steady load in 6 s of sda; watch longer"):
        watched_sweep([second(1000 * 2**k, 1e-3) for k in range(6)], "test")


def test_the_curve_of_a_known_queue_is_found_from_the_load_as_it_came():
    """Exact M/M/8//N: the knee and the peak that come out are those of the queue."""
    loads = []
    for population in (1, 4, 16, 64):
        truth = solve(MMcN(population, think_time=0, service_time=1e-3, servers=8))
        looked = replace(second(truth.throughput, truth.W), in_flight=population, in_flight_variance=0.0)
        loads += [looked] * 12
    sweep = watched_sweep(loads, "test")
    assert sweep.load_type == Outstanding()
    found = fit(sweep)
    assert "a fixed number in flight: found" in repr(found)
    assert found.parameters["Xmax"].estimate == pytest.approx(8000, rel=0.02)
    assert found.knee.load == pytest.approx(8, rel=0.05)


def under_arrivals(rate: float, service_s: float = 1e-3, *, seen: bool = True) -> DeviceInterval:
    """A second of M/M/1, whose number present has the mean L and the variance L + L^2."""
    response = service_s / (1 - rate * service_s)
    mean = rate * response
    looks = {"in_flight": mean, "in_flight_variance": mean + mean**2} if seen else {}
    return replace(second(rate, response), **looks)


@pytest.mark.parametrize("seen", [True, False])
def test_arrivals_are_found_by_how_the_number_in_flight_varied_and_else_assumed(seen: bool) -> None:
    loads = [under_arrivals(rate, seen=seen) for rate in (300, 500, 700, 850) for _ in range(12)]
    sweep = watched_sweep(loads, "test")
    assert sweep.load_type == Outstanding(arrivals=True)
    found = fit(sweep)
    assert found.parameters["R1"].estimate == pytest.approx(1e-3, rel=0.05)
    assert found.parameters["Xmax"].estimate == pytest.approx(1000, rel=0.05)
    how = "found by the variance in flight" if seen else "assumed"
    assert f"Poisson arrivals are {how}; had a fixed number been in flight, the idle latency would be" in found.notes[0]


def test_a_number_in_flight_that_moves_from_second_to_second_varies() -> None:
    moving = [replace(second(1000, 3e-3), in_flight=k, in_flight_variance=0.0) for k in (1.0, 5.0) * 6]
    assert watched_sweep(moving, "test").load_type == Outstanding(arrivals=True)
    calm = [replace(second(1000, 3e-3), in_flight=3.0, in_flight_variance=0.9)] * 12
    assert watched_sweep(calm, "test").load_type == Outstanding()


def test_a_long_stretch_is_cut_into_ten_repeats_at_most():
    repeats = [len(watched_sweep([second(1000, 2e-3)] * n, "test").points) for n in (9, 10, 49, 50, 200)]
    assert repeats == [1, 2, 9, 10, 10]


def test_intervals_are_pooled_by_their_counts():
    fast = replace(second(4000, 2e-3, seconds=3), in_flight=5.0)
    whole = pooled([replace(second(1000, 1e-3), in_flight=1.0), fast])
    assert (whole.seconds, whole.reads, whole.in_flight) == (4, 13000, 4)
    assert whole.response_time_s == pytest.approx((1 + 24) / 13000)


def requests(rate: float, response_s: float, block: int, reads: float) -> DeviceInterval:
    read, written = rate * reads, rate * (1 - reads)
    return DeviceInterval(
        "sda", "", 1.0, read, read * response_s, read * block, written, written * response_s, written * block
    )


@pytest.mark.parametrize(("block", "reads"), [(65536, 1.0), (4096, 0.5)])
def test_requests_of_another_size_or_mix_end_a_stretch_and_are_a_curve_of_their_own(block, reads):
    loads = [requests(1000, 1e-3, 4096, 1.0)] * 6 + [requests(1000, 1e-3, block, reads)] * 5
    assert [len(part) for part in stretches(loads)] == [6, 5]
    sweep = watched_sweep(loads, "test")
    assert len(sweep.series) == 2
    assert sweep.series[0] == "sda 4 KiB read"
    assert set(sweep.points["repeat"]) == {0}  # never pooled as repeats of one point


def poisson(rates: list[float], seed: int) -> list[DeviceInterval]:
    random = np.random.default_rng(seed)
    return [second(float(n), 1e-3 * float(np.exp(0.1 * random.standard_normal()))) for n in random.poisson(rates)]


def test_a_load_that_holds_still_is_seldom_cut():
    whole = [len(list(stretches(poisson([100.0] * 20, seed)))) == 1 for seed in range(200)]
    assert np.mean(whole) > 0.95


@pytest.mark.parametrize("factor", [0.4, 1.9])
def test_a_load_that_changes_is_seldom_taken_for_one(factor):
    cut = [max(map(len, stretches(poisson([300.0] * 10 + [300.0 * factor] * 10, seed)))) <= 10 for seed in range(200)]
    assert np.mean(cut) > 0.95


@pytest.mark.parametrize(("factor", "late"), [(1.0, 0.0), (1.0, 0.3), (1.6, 0.0)])
def test_littles_law_and_the_looks_agree_where_they_should(factor, late):
    """Each look sees a Poisson number, as in front of many servers; X R is the truth or off by ``factor``."""
    agreed = []
    for seed in range(200):
        looks = np.random.default_rng(seed).poisson(4.0, round(250 * (1 - late)))
        one = replace(second(1000, 4e-3 * factor, seconds=5), in_flight=float(looks.mean()))
        agreed.append(replace(one, in_flight_variance=float(looks.var()), late_looks_share=late).agrees)
    assert np.mean(agreed) < 0.05 if factor > 1 else np.mean(agreed) > 0.97
