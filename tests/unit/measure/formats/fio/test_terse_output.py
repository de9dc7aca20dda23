"""fio's terse lines, field by field, by hand."""

from __future__ import annotations

import pytest

from measure.errors import DataError
from measure.formats.fio.record import FioRecord
from measure.formats.fio.terse_output import parse_terse

MICROSECOND = 1e-6


def way(kib: float = 0, iops: float = 0, ms: float = 0, clat: str = "0;0;0;0", lat: str = "0;0;0;0", **at: str) -> str:
    """The fields of one direction; ``at``: p50="70" and so on, at the head of twenty percentiles."""
    percentiles = [f"{name[1:]}.000000%={value}" for name, value in at.items()]
    percentiles += ["0%=0"] * (20 - len(percentiles))
    return ";".join([f"{kib:g};0;{iops:g};{ms:g}", "0;0;0;0", clat, *percentiles, lat, "0;0;0%;0;0"])


def record(read: str, write: str = way(), error: int = 0) -> FioRecord:
    depths = "0.1%;0.0%;0.0%;0.0%;0.0%;0.0%;99.9%"
    (found,) = parse_terse(f"3;fio-3.33;job;0;{error};{read};{write};1%;2%;3;4;5;{depths};0.00%\n", "x")
    return found


def test_each_field_is_where_it_belongs() -> None:
    """4000 KiB in 0.8 s are 1250 requests of 4 KiB a second; fio cuts fractions off."""
    read = way(4001, 1250, 800, "10;90;60.5;7.5", "11;95;64.25;8.75", p1="1", p50="60", p99="90")
    found = record(read, way(2000, 625, 800, lat="1;9;50;0"), error=5)
    assert found.throughput_per_s == pytest.approx(1250.3125 + 625, rel=1e-12)  # 4001 * 1024 / 0.8 / 4096
    assert found.bandwidth_bytes_per_s == pytest.approx(6001 * 1024 / 0.8, rel=1e-12)
    assert found.read_fraction == pytest.approx(4001 / 6001, rel=1e-12)
    assert (found.requests, found.runtime_s, found.error, found.version) == (1500, 0.8, 5, "fio-3.33")
    assert (found.iodepth_levels["1"], found.iodepth_levels[">=64"]) == (0.1, 99.9)
    alone = record(read).latency
    assert (alone.mean_s, alone.sd_s) == pytest.approx((64.25 * MICROSECOND, 8.75 * MICROSECOND), rel=1e-12)
    assert alone.percentiles_s == pytest.approx({1.0: 1e-6, 50.0: 60e-6, 99.0: 90e-6}, rel=1e-12)
    assert alone.kind == "lat"


def test_latencies_below_a_microsecond_are_latencies() -> None:
    assert record(way(400, 100, 1000, "0;1;0.7;0.1", "0;1;0.8;0.2")).latency.mean_s == pytest.approx(8e-7, rel=1e-12)
    without_total = record(way(400, 100, 1000, "0;1;0.7;0.1"))
    assert without_total.latency.mean_s == pytest.approx(7e-7, rel=1e-12)
    assert (without_total.latency.kind, len(without_total.findings)) == ("clat", 1)
    nothing = record(way())
    assert (nothing.throughput_per_s, nothing.requests, nothing.findings) == (0, 0, ())


def test_a_rate_that_no_block_explains_stays_whole() -> None:
    assert record(way(4100, 1000, 1000, lat="1;9;50;0")).throughput_per_s == 1000  # 1025 blocks of 4 KiB
    assert record(way(4096, 1000, 1000, lat="1;9;50;0")).throughput_per_s == 1000  # 1024 of them
    assert record(way(4003, 1000, 1000, lat="1;9;50;0")).throughput_per_s == 1000.75


def test_what_is_no_number_is_refused_by_its_line() -> None:
    for field in ("x", "-1", "1e18"):
        with pytest.raises(DataError, match="line 1 of fio's terse output: expected a number, not"):
            record(way(400, 100, 1000, p50=field))


def test_a_drive_of_one_and_a_half_requests_a_second_is_not_rounded_to_one() -> None:
    """48 KiB in 8 s: 12 requests of 4 KiB; below one a second there is nothing to go by."""
    assert record(way(48, 1, 8000, lat="1;9;50;0")).throughput_per_s == pytest.approx(1.5)
    assert record(way(4, 0.125, 8000, lat="1;9;50;0")).throughput_per_s == pytest.approx(0.125)
