"""Logs of iostat: those that sysstat 12.6.1 wrote here at once of one device, and older forms."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from measure import load
from measure.errors import DataError
from measure.formats.sysstat import Report, _interval, looks_like_sysstat, sysstat_sweep
from measure.origin import marked_figure
from measure.units import format_duration

LOGS = Path(__file__).parents[4] / "data" / "sysstat"
NAMES = ("iostat-12.6.1.txt", "iostat-12.6.1-time-mb.txt")
OLD_HEADER = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util"
OLD_ROW = "sda 0,00 1,00 900,00 100,00 7200,00 800,00 16,00 2,00 2,00 1,80 3,80 0,50 50,00"


@pytest.mark.parametrize("name", NAMES)
def test_each_log_of_the_same_seconds_gives_the_same_two_points(name):
    sweep, first = load(LOGS / name), load(LOGS / NAMES[0])
    assert sweep.series == ("vda",)
    assert len(sweep.points) == len(first.points) == 2
    for column, within in (("throughput_per_s", 0.01), ("latency_s", 0.02), ("bandwidth_bytes_per_s", 0.01)):
        assert list(sweep.points[column]) == pytest.approx(list(first.points[column]), rel=within)
    assert sweep.points["read_fraction"].between(0.68, 0.72).all()


def test_sysstat_before_12_and_decimal_commas_are_read():
    text = "\n\n".join(["Linux 2.6.32 (host)"] + [f"{OLD_HEADER}\n{OLD_ROW}"] * 7)
    assert looks_like_sysstat(text)
    point = sysstat_sweep(text, "old.txt").points.iloc[0]
    assert point["throughput_per_s"] == 1000
    assert point["latency_s"] == pytest.approx(2e-3)
    assert point["bandwidth_bytes_per_s"] == 8000 * 1024
    assert point["read_fraction"] == pytest.approx(0.9)


def test_the_number_outstanding_tells_what_await_rounds_and_discards_are_no_reads():
    """aqu-sz of 2.06 with 0.06 of discards is 2 requests for 1,000 a second: 2 ms where await says 1.9."""
    header = "Device r/s w/s d/s rkB/s wkB/s dkB/s r_await w_await d_await aqu-sz %util"
    row = "sda 1000.00 0.00 20.00 4000.00 0.00 80.00 1.90 0.00 3.00 2.06 50.00"
    text = "\n\n".join(["Linux 6.1.0 (host)"] + [f"{header}\n{row}"] * 7)
    assert sysstat_sweep(text, "new.txt").points["latency_s"].iloc[0] == pytest.approx(2e-3)


@pytest.mark.parametrize(("name", "printed"), [(NAMES[0], (68.5e-6, 221e-6)), (NAMES[1], (68.5e-6, 220e-6))])
def test_the_printed_await_stands_beside_the_time_that_the_number_outstanding_gives(name, printed):
    points = load(LOGS / name).points
    assert set(points["latency_origin"]) == {"computed: N / X"}
    assert points["latency_published_s"].to_numpy() == pytest.approx(printed, rel=0.01)
    shown = marked_figure(points.iloc[1].to_dict(), "latency_s", format_duration)
    assert shown == f"{format_duration(points['latency_published_s'][1])} ({format_duration(points['latency_s'][1])} =)"


def test_an_await_below_its_two_digits_is_not_published_and_one_that_is_the_time_stands_alone():
    header = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util"
    point = only_point(stamped("9000 0 36000 0 0.00 0.00 0.03 5", list(range(0, 60, 10)), header))
    assert math.isnan(point["latency_published_s"])
    assert point["latency_s"] == pytest.approx(0.03 / 9000)
    alone = only_point(stamped("100 0 400 0 2.00 0.00 5", list(range(0, 60, 10)), header.replace(" aqu-sz", "")))
    assert math.isnan(alone["latency_published_s"])
    assert (alone["latency_s"], alone["latency_origin"]) == (pytest.approx(2e-3), "measured")


@pytest.mark.parametrize(("columns", "unit"), [("rsec/s wsec/s", 512), ("rMB/s wMB/s", 2**20)])
def test_sectors_and_megabytes_are_bytes(columns, unit):
    text = "\n\n".join([f"{OLD_HEADER.replace('rkB/s wkB/s', columns)}\n{OLD_ROW}"] * 7)
    assert sysstat_sweep(f"Linux 2.6.32 (host)\n\n{text}", "old").points["bandwidth_bytes_per_s"][0] == 8000 * unit


def test_an_idle_device_is_no_curve_and_a_log_without_times_says_so():
    text = (LOGS / NAMES[0]).read_text()
    sweep = sysstat_sweep(text, "iostat.txt")
    assert "does not say how long its intervals are" in sweep.findings[-1].message
    assert "does not say" not in sysstat_sweep((LOGS / NAMES[1]).read_text(), "t").findings[-1].message


def test_damaged_logs_are_refused_in_a_line():
    damaged = "\n".join([OLD_HEADER, OLD_ROW, OLD_ROW.replace("900,00", "abc")])
    with pytest.raises(DataError, match=r"x.txt, line 3: could not convert string to float: 'abc'"):
        sysstat_sweep(damaged, "x.txt")
    with pytest.raises(DataError, match=r"holds no report of a device"):
        sysstat_sweep(OLD_HEADER, "x.txt")


HEADER = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util"


def stamped(row: str, seconds: list[int], header: str = HEADER) -> str:
    """Reports of sda with their times, of an hour in the morning."""
    reports = [f"11/22/26 09:00:{at:02d}\n{header}\nsda {row}" for at in seconds]
    return "\n\n".join(["Linux 6.1.0 (host)", *reports])


def only_point(text: str):
    return sysstat_sweep(text, "log").points.iloc[0]


def test_the_intervals_are_as_long_as_the_stamps_are_apart():
    sweep = sysstat_sweep(stamped("100 0 400 0 2.00 0 0.20 5", [0, 1, 11, 21]), "log")
    assert [f.check for f in sweep.findings] == ["steady-load"]
    assert "21 of 21 s were steady" in sweep.findings[0].message
    assert sweep.points["throughput_per_s"].iloc[0] == 100
    assert sweep.points["latency_s"].iloc[0] == pytest.approx(2e-3)


def test_a_clock_that_was_set_back_leaves_the_interval_unsaid():
    sweep = sysstat_sweep(stamped("100 0 400 0 2.00 0 0.20 5", [10, 20, 20, 5, 15, 25]), "log")
    assert sweep.findings[-1].check == "interval-length"
    assert "32 of 32 s were steady" in sweep.findings[0].message
    begun = stamped("100 0 400 0 2.00 0 0.20 5", [0, 10, 20]).replace("11/22/26 09:00:00\n", "")
    assert sysstat_sweep(begun, "log").findings[-1].check == "interval-length"


def test_without_a_number_outstanding_await_is_the_time():
    header = "Device r/s w/s rkB/s wkB/s r_await w_await %util"
    point = only_point(stamped("100 300 400 1200 2.00 4.00 50", list(range(0, 60, 10)), header))
    assert point["latency_s"] == pytest.approx((100 * 2e-3 + 300 * 4e-3) / 400)
    assert point["load"] == pytest.approx(1.4)


def test_reads_and_writes_share_the_time_outstanding_as_await_says():
    """2.2 outstanding where 100 x 2 ms + 300 x 4 ms are 1.4: each time is 11/7 of what await says."""
    columns = {"r/s": 100, "w/s": 300, "r_await": 2, "w_await": 4, "aqu-sz": 2.2}
    one, unknown = (
        _interval(Report("sda", {**columns, **more}, None, 10)) for more in ({}, {"r_await": 0, "w_await": 0})
    )
    assert (one.read_s, one.write_s) == pytest.approx((22 / 7, 22 * 6 / 7))
    assert (unknown.read_s, unknown.write_s) == pytest.approx((22 / 4, 22 * 3 / 4))  # below the digits of await
    points = sysstat_sweep(stamped("100 300 400 1200 2.00 4.00 2.20 50", list(range(0, 60, 10))), "log").points
    assert points["latency_s"].iloc[0] == pytest.approx(5.5e-3)
    assert points["latency_published_s"].iloc[0] == pytest.approx(3.5e-3)
    assert points["bandwidth_bytes_per_s"].iloc[0] == 1600 * 1024
