"""Where a device at work lies on its curve."""

from __future__ import annotations

import pytest

from calibrate import from_datasheet
from calibrate.watched import WatchedCurves
from measure.formats.block_device_counts import DeviceInterval
from qsim import MMcN, solve

SHEET = from_datasheet(idle_latency=1e-3, peak_iops=8000)


def second(population: int, servers: int = 8) -> DeviceInterval:
    truth = solve(MMcN(population, think_time=0, service_time=1e-3, servers=servers))
    looks = {"in_flight": float(population), "in_flight_variance": 0.0, "late_looks_share": 0.0}
    return DeviceInterval("sda", "", 1, reads=truth.throughput, read_s=truth.throughput * truth.W, busy_s=0.9, **looks)


def test_the_share_of_the_peak_and_the_knee_come_from_the_curve():
    curves, interval = WatchedCurves(SHEET), second(2)
    assert curves.facts(interval) == {"peak_share": pytest.approx(0.25, rel=0.01), "knee": pytest.approx(8, rel=0.03)}
    assert "with 2 outstanding: 25 % of the peak, knee at 8" in curves.sentence(interval)
    assert curves.sentence(interval).endswith("%util says 90 and means nothing here")


def test_a_device_that_serves_one_at_a_time_leaves_util_its_meaning():
    serial = WatchedCurves(from_datasheet(idle_latency=1e-3, peak_iops=1010))
    assert serial.sentence(second(1, servers=1)).endswith("%util says 90")


def test_a_response_time_below_the_counters_resolution_is_not_told_as_none():
    quick = DeviceInterval("sda", "", 1, reads=4, read_s=0.0, busy_s=0.0)
    assert "4.00 /s at less than 250 µs with 0 outstanding" in WatchedCurves().sentence(quick)


def test_the_curve_is_learnt_and_no_peak_is_told_before_it_was_approached():
    curves = WatchedCurves()
    for _ in range(4):
        curves.add(second(1))
    assert "no curve yet" in curves.sentence(second(1))
    curves.add(second(1))
    assert "the peak was not approached yet, it is at least 1.00 k/s" in curves.sentence(second(1))
    assert curves.facts(second(1)) == {"peak_share": None, "knee": None}
    for population in (4, 16, 64):
        for _ in range(15):
            curves.add(second(population))
    facts = curves.facts(second(4))
    assert facts["peak_share"] == pytest.approx(0.5, rel=0.05)
    assert facts["knee"] == pytest.approx(8, rel=0.1)


def test_the_bound_on_the_peak_is_at_least_the_rate_just_seen():
    curves = WatchedCurves()
    for _ in range(5):
        curves.add(second(1))
    fast = DeviceInterval("sda", "", 1, reads=57400, read_s=40.0, busy_s=0.9)
    curves.add(fast)
    assert "at least 57.4 k/s" in curves.sentence(fast)
    assert "at least 57.4 k/s" in curves.sentence(second(1))


def test_a_curve_holds_for_its_kind_of_requests_only():
    curves = WatchedCurves()
    for _ in range(5):
        curves.add(DeviceInterval("sda", "", 1, reads=1000, read_s=1.0, read_bytes=4096e3, busy_s=0.9))
    small, large = (
        DeviceInterval("sda", "", 1, reads=900, read_s=1.0, read_bytes=900 * n, busy_s=1) for n in (4096, 65536)
    )
    assert curves.curve(small) is not None
    assert curves.curve(large) is None


def test_a_load_that_varies_is_told_what_is_missing_after_ten_seconds():
    curves = WatchedCurves()
    for k in range(9):
        curves.add(DeviceInterval("sda", "", 1, reads=1000 * 2 ** (k % 3), read_s=1.0, busy_s=0.9))
    assert curves.missing("sda") == ""
    curves.add(DeviceInterval("sda", "", 1, reads=2000, read_s=1.0, busy_s=0.9))
    assert "takes 5 s of one load" in curves.missing("sda")
    assert "from 1.0 k/s to 4.0 k/s" in curves.missing("sda")
    assert WatchedCurves(SHEET).missing("sda") == ""


def test_the_highest_rate_is_that_of_requests_of_the_same_kind():
    def interval(rate: float, block: float, device: str = "sda") -> DeviceInterval:
        return DeviceInterval(device, "", 1, reads=rate, read_s=0.5, read_bytes=rate * block, busy_s=0.9)

    curves = WatchedCurves()
    for seen in (interval(500, 4096), interval(90, 2**20), interval(0, 0), interval(700, 4096, "sdb")):
        curves.add(seen)
    assert curves.most(interval(10, 4096)) == 500
    assert curves.most(interval(10, 2**20)) == 90
    assert curves.most(interval(800, 4096, "sdc")) == 800
