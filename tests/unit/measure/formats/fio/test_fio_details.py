"""Every field of fio's records and every column of their table, by documents whose numbers are worked out here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure import audit
from measure.errors import DataError
from measure.formats.fio.json_output import parse_fio, processor_time
from measure.formats.fio.latency_bins import counted
from measure.formats.fio.logs import choose_logs, record_of_logs
from measure.formats.fio.record import (
    FioRecord,
    Moments,
    added,
    check_record,
    host_columns,
    last_of_runs,
    near_power_of_two,
    parse_fio_size,
    pooled,
    whole,
)
from measure.formats.fio.runs_as_sweep import fio_sweep, why_unusable

EXACT: dict[str, Any] = {"rel": 1e-12}


def section(iops: float, mean_ns: float, **more: Any) -> dict[str, Any]:
    return {
        "io_bytes": int(iops * 4096),
        "bw_bytes": int(iops * 4096),
        "iops": iops,
        "runtime": 2000,
        "total_ios": int(2 * iops),
        "lat_ns": {"mean": mean_ns, "stddev": mean_ns / 10},
        **more,
    }


def job(options: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    own = {"rw": "randread", "bs": "4k", "ioengine": "libaio", "iodepth": "4", "direct": "1", **(options or {})}
    return {"jobname": "j", "groupid": 0, "error": 0, "job options": own, **more}


def text(*jobs: Mapping[str, Any], **more: Any) -> str:
    return json.dumps({"fio version": "fio-3.33", "timestamp_ms": 1_700_000_002_000, "jobs": jobs, **more})


def one(*jobs: Mapping[str, Any], **more: Any) -> FioRecord:
    (found,) = parse_fio(text(*jobs, **more), "f.json")
    return found


# --- records ----------------------------------------------------------------------------------------------------------


def test_reads_and_writes_are_added_and_kept_apart() -> None:
    found = one(job({"rw": "randrw"}, read=section(3000, 1e5), write=section(1000, 3e5)))
    assert (found.throughput_per_s, found.bandwidth_bytes_per_s, found.requests) == (4000, 4000 * 4096, 8000)
    assert (found.read_fraction, found.runtime_s, found.records) == (0.75, 2, 1)
    # The mean of 1e-4 (weight 3/4) and 3e-4: 1.5e-4; its second moment from both deviations of a tenth.
    assert found.latency.mean_s == pytest.approx(1.5e-4, **EXACT)
    second = 0.75 * 1.01 * 1e-8 + 0.25 * 1.01 * 9e-8
    assert found.latency.sd_s == pytest.approx(math.sqrt(second - 2.25e-8))
    rates = {d: (rate, latency.mean_s) for d, (rate, latency) in found.directions.items()}
    assert rates == {"read": (3000, pytest.approx(1e-4)), "write": (1000, pytest.approx(3e-4))}
    row = fio_sweep({"f": text(job({"rw": "randrw"}, read=section(3000, 1e5), write=section(1000, 3e5)))}).points.iloc[
        0
    ]
    assert [row[f"{d}_throughput_per_s"] for d in ("read", "write")] == [3000, 1000]
    assert [row[f"{d}_latency_s"] for d in ("read", "write")] == pytest.approx([1e-4, 3e-4])
    only = fio_sweep({"f": text(job(read=section(3000, 1e5), write=section(0, 0, runtime=0)))}).points
    assert "read_latency_s" not in only


@pytest.mark.parametrize(("in_flight", "grouped"), [(4.9, True), (4.8, False)])
def test_more_in_flight_than_a_clone_can_hold_is_a_group(in_flight: float, grouped: bool) -> None:
    """At depth 4 a fifth more than 4 is 4.8."""
    found = one(job({"numjobs": "2"}, read=section(10_000, in_flight * 1e5)))
    assert found.jobs == (2 if grouped else 1)


def test_a_single_record_of_several_synchronous_or_limited_jobs_is_their_group() -> None:
    """4 jobs, each with 1 request outstanding, or pausing for 0.9 ms after one of 0.1 ms."""
    ignored = one(job({"numjobs": "4", "ioengine": "psync", "iodepth": "32"}, read=section(39_000, 1e5)))
    assert (ignored.depth, ignored.jobs) == (1, 4)
    pausing = one(job({"numjobs": "4", "ioengine": "psync", "thinktime": "900"}, read=section(4_000, 1e5)))
    assert (pausing.depth, pausing.jobs) == (1, 4)


@pytest.mark.parametrize("option", ["rate", "rate_iops", "thinktime"])
def test_a_rate_that_was_set_is_told(option: str) -> None:
    limited = job({option: "100"}, read=section(1000, 1e5))
    assert [f.check for f in one(limited).findings] == ["rate-limited"]
    assert fio_sweep({"f": text(limited)}).points["unchecked"].notna().all()
    assert not one(job({option: "0"}, read=section(1000, 1e5))).findings


def test_a_slow_job_counts_and_so_does_one_that_did_not_end_a_request() -> None:
    assert one(job(read=section(0.5, 1e9), write=section(0, 0, runtime=0))).throughput_per_s == 0.5
    assert set(one(job({"rw": "rw"}, read=section(0.5, 1e9), write=section(0.5, 1e9))).directions) == {"read", "write"}
    uncounted = one(job(read=section(1000, 1e5, total_ios=0, bw_bytes=0, bw=5)))
    assert (uncounted.requests, uncounted.bandwidth_bytes_per_s) == (2000, 5120)
    assert one(job(read=section(1000, 1e5, total_ios=2001))).requests == 2001
    both = one({**job({"rw": "rw"}, read=section(0.5, 1e9)), "mixed": section(0.5, 1e9)})
    assert both.read_fraction == 1
    with pytest.raises(DataError, match="yet it records writes"):
        one(job(write=section(0.5, 1e9), read=section(0.5, 1e9)))


@pytest.mark.parametrize(
    ("rw", "options", "both", "fraction"),
    [
        ("randrw", {"rwmixread": "70"}, False, 0.7),
        ("read", {}, False, 1.0),
        ("write", {}, False, 0.0),
        ("readwrite", {"rwmixread": "130"}, False, 1.0),
        ("", {}, False, 1.0),
        ("rw", {}, True, 0.25),
        ("randread", {}, False, 1.0),
        ("trim", {}, False, math.nan),
    ],
)
def test_unified_reporting_is_divided_as_asked_or_as_counted(
    rw: str, options: Mapping[str, str], both: bool, fraction: float
) -> None:
    apart = {"read": section(250, 1e5), "write": section(750, 1e5)} if both else {}
    found = one({**job({"rw": rw, **options}), "mixed": section(1000, 1e5), **apart})
    assert found.read_fraction == pytest.approx(fraction, nan_ok=True)
    assert (found.throughput_per_s, found.directions) == (1000, {})


@pytest.mark.parametrize(
    ("stamp", "started"),
    [
        ({"timestamp_ms": 1_700_000_002_500}, "2023-11-14T22:13:20.500+00:00"),
        ({"timestamp_ms": 0, "timestamp": 1_700_000_002}, "2023-11-14T22:13:20+00:00"),
        ({"timestamp_ms": 0}, ""),
        ({"timestamp_ms": 32_503_680_000_000}, ""),
        ({"timestamp_ms": 32_503_679_999_000}, "2999-12-31T23:59:57.000+00:00"),
    ],
)
def test_a_run_began_before_its_stamp(stamp: Mapping[str, Any], started: str) -> None:
    assert one(job(read=section(1000, 1e5)), **stamp).started_at == started


def test_the_device_is_the_file_or_the_first_disk() -> None:
    disks = {"disk_util": [{"name": "sda"}, {"name": "sdb"}]}
    assert one(job(read=section(1000, 1e5)), **disks).device == "sda"
    assert one(job({"filename": "/dev/x"}, read=section(1000, 1e5)), **disks).device == "/dev/x"
    for none in ({"disk_util": []}, {"disk_util": ["sda"]}, {"disk_util": {}}, {}):
        assert one(job(read=section(1000, 1e5)), **none).device == ""


def test_bins_of_json_plus() -> None:
    """fio 3 names the middle of a bin in ns."""
    part = section(1000, 1e5)
    part["lat_ns"]["bins"] = {"129": 3, "5": 1, "1": 6, "0": 2, "7": 0}
    found = one(job(read=part)).latency.histogram
    assert found is not None
    assert found.lower_s.tolist() == pytest.approx([0.0, 1e-9, 5e-9, 1.28e-7])
    assert found.counts.tolist() == [2, 6, 1, 3]
    for bad in ({"129": -1}, {"x": 3}, {"129": "many"}, {"²": 1}):
        part["lat_ns"]["bins"] = bad
        with pytest.raises(DataError, match="of its histogram"):
            one(job(read=part))


# --- what makes a record ----------------------------------------------------------------------------------------------


def record(**fields: Any) -> FioRecord:
    usual = {
        "source": "f",
        "job": "j",
        "options": {"rw": "randread", "ioengine": "libaio", "iodepth": "8"},
        "throughput_per_s": 1e4,
        "bandwidth_bytes_per_s": 4.096e7,
        "latency": Moments(1e-4, 1e-5, "lat"),
        "read_fraction": 1.0,
        "requests": 20_000,
        "runtime_s": 2.0,
        "records": 1,
        "error": 0,
        "version": "fio-3",
        "started_at": "",
    }
    return FioRecord(**{**usual, **fields})


@pytest.mark.parametrize(
    ("options", "all_options", "depth"),
    [
        ({"ioengine": "libaio", "iodepth": "8"}, True, 8),
        ({"ioengine": "psync", "iodepth": "8"}, True, 1),
        ({"iodepth": "8"}, True, 1),
        ({"iodepth": "8"}, False, 8),
        ({}, True, None),
        ({"ioengine": "libaio", "iodepth": "many"}, True, 1),
    ],
)
def test_a_synchronous_engine_has_a_depth_of_one(
    options: Mapping[str, str], all_options: bool, depth: int | None
) -> None:
    assert record(options=options, all_options=all_options).depth == depth


@pytest.mark.parametrize(("share", "depth"), [(99.8, None), (99.9, 1), (100.0, 1)])
def test_without_options_a_depth_of_one_is_seen_from_the_levels(share: float, depth: int | None) -> None:
    assert record(options={}, iodepth_levels={"1": share}).depth == depth


def test_sizes_patterns_and_engines() -> None:
    assert record(options={"bs": "8k"}).block_bytes == 8192
    for other in ("bssplit", "bsrange", "bs_unaligned"):
        assert record(options={"bs": "8k", other: "1"}).block_bytes == 4096
    assert record(options={}, bandwidth_bytes_per_s=4.1e7).block_bytes == 4096  # within 1 %
    assert record(options={}, bandwidth_bytes_per_s=4.2e7).block_bytes == 4200
    assert math.isnan(record(options={}, throughput_per_s=0).block_bytes)
    patterns = {"randread": "random", "rw:8": "sequential", "read": "sequential", "randrw:2": "random"}
    assert {rw: record(options={"rw": rw}).pattern for rw in patterns} == patterns
    assert record(options={}).pattern is None
    assert record(options={"bs": "4k"}).pattern == "sequential"
    assert record(options={"ioengine": "external:/x.so"}).engine == "external"
    assert record(options={}).engine == "psync"
    assert [near_power_of_two(v, 0.05) for v in (1, 3, 4.19, 4.21, 0, 60.9)] == [1, 3, 4, 4.21, 0, 64]
    sizes = {"4k": 4096, "4096": 4096, "1.5k": 1536, "2m,4k": 2**21, "1g": 2**30, "3T": 3 * 2**40, "8KiB": 8192}
    assert {size: parse_fio_size(size) for size in sizes} == sizes
    assert [parse_fio_size(size) for size in ("", "4x", "-4k", "k")] == [None] * 4
    assert [whole(count) for count in ("3", " 0 ", "x", "", "1.5")] == [3, 1, 1, 1, 1]


def test_latencies_are_pooled_by_their_rates() -> None:
    first, second = Moments(1.0, 0.5, "lat"), Moments(4.0, 1.0, "clat")
    assert pooled([(2.0, first)]) is first
    both = pooled([(2.0, first), (1.0, second)])
    assert both.mean_s == 2.0
    assert both.sd_s == pytest.approx(math.sqrt((2 * 1.25 + 17) / 3 - 4))
    assert (both.kind, both.percentiles_s, both.histogram) == ("clat", {}, None)
    assert math.isnan(pooled([]).mean_s)
    assert math.isnan(pooled([(0.0, first), (0.0, first)]).mean_s)
    one_s, two_s = 10**9, 2 * 10**9
    binned = Moments(1.0, 0.5, "lat", {}, counted({one_s: 985, two_s: 14}, 1e-9, "lat"))
    other = replace(binned, histogram=counted({two_s: 1}, 1e-9, "lat"))
    whole_ = pooled([(1.0, binned), (1.0, other)])
    assert whole_.histogram is not None
    assert whole_.histogram.counts.tolist() == [985, 15]
    apart = pooled([(1.0, binned), (1.0, replace(binned, mean_s=2.0))])
    assert apart.sd_s == pytest.approx(math.hypot(0.5, 0.5))  # within each, and between their means
    assert whole_.percentiles_s == pytest.approx({50.0: 1.0, 95.0: 1.0, 99.0: 2.0, 99.9: 2.0}, rel=0.01)
    assert (whole_.kind, whole_.histogram.kind) == ("lat", "lat")
    assert (whole_.mean_s, whole_.sd_s) == pytest.approx((1.0, 0.5))
    mixed = pooled([(1.0, binned), (1.0, replace(other, histogram=counted({two_s: 1}, 1e-9, "clat")))])
    assert mixed.histogram is not None
    assert mixed.histogram.kind == ""
    assert pooled([(1.0, binned), (1.0, first)]).histogram is None


def test_jobs_that_ran_together_are_added() -> None:
    first = record(directions={"read": (1e4, Moments(1e-4, 0.0, "lat"))}, cpu_s=0.5)
    both = {"read": (2e4, Moments(4e-4, 0.0, "lat")), "write": (1e4, Moments(3e-4, 0.0, "lat"))}
    rest = {"throughput_per_s": 3e4, "latency": Moments(2e-4, 0.0, "lat"), "requests": 60_000, "read_fraction": 0.2}
    found = added([first, record(**rest, directions=both, runtime_s=3.0, error=5, cpu_s=1.0)])
    assert (found.throughput_per_s, found.bandwidth_bytes_per_s, found.latency.mean_s) == (4e4, 8.192e7, 1.75e-4)
    assert (found.requests, found.read_fraction) == (80_000, pytest.approx(0.4))
    assert (found.runtime_s, found.error, found.cpu_s) == (3, 5, 1.5)
    assert {d: (rate, m.mean_s) for d, (rate, m) in found.directions.items()} == {
        "read": (3e4, pytest.approx(3e-4)),
        "write": (1e4, 3e-4),
    }


def test_the_processor_time_of_a_request() -> None:
    share = {"usr_cpu": 10.0, "sys_cpu": 30.0}
    assert processor_time([{**share, "job_runtime": 2000}], 9.0, 1) == pytest.approx(0.8)
    assert processor_time([share], 3.0, 2) == pytest.approx(0.4 * 6)
    assert processor_time([share, share], 3.0, 2) == pytest.approx(0.4 * 3 * 2)
    assert math.isnan(processor_time([share, {"usr_cpu": 10.0}], 3.0, 2))
    assert host_columns(record(cpu_s=0.2)) == {"host_cpu_s": pytest.approx(1e-5)}
    assert host_columns(record(cpu_s=0.2, requests=1)) == {"host_cpu_s": 0.2}
    for none in ({"cpu_s": math.nan}, {"cpu_s": 0.0}, {"cpu_s": 1.0, "requests": 0}):
        assert host_columns(record(**none)) == {}


def test_what_is_no_point_says_why() -> None:
    assert why_unusable(record()) is None
    assert why_unusable(record(throughput_per_s=0.5)) is None
    for fields, check in (
        ({"error": 28}, "job-failed"),
        ({"throughput_per_s": 0.0}, "no-requests"),
        ({"latency": Moments(0.0, 0.0, "")}, "no-latency"),
        ({"latency": Moments(math.nan, 0.0, "")}, "no-latency"),
    ):
        found = why_unusable(record(**fields))
        assert found is not None
        assert found.check == check
    full = why_unusable(record(error=28))
    assert full is not None
    assert "error 28 (No space left on device)" in full.message
    beyond = why_unusable(record(error=2**31))
    assert beyond is not None
    assert "no error number of any system" in beyond.message


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_column_of_a_point() -> None:
    options = {"numjobs": "2", "group_reporting": "1", "filename": "/dev/x"}
    part = section(10_000, 8e5)
    part["lat_ns"]["percentile"] = {"50.000000": 1e5, "95.000000": 2e5, "99.000000": 3e5, "99.900000": 4e5}
    sweep = fio_sweep({"f.json": text({**job(options, read=part), "usr_cpu": 20, "sys_cpu": 30, "job_runtime": 4000})})
    row = sweep.points.iloc[0]
    wanted = {
        "load": 8,
        "throughput_per_s": 1e4,
        "latency_s": 8e-4,
        "bandwidth_bytes_per_s": 4.096e7,
        "block_bytes": 4096,
        "read_fraction": 1,
        "depth": 4,
        "jobs": 2,
        "repeat": 0,
        "latency_sd_s": 8e-5,
        "latency_p50_s": 1e-4,
        "latency_p95_s": 2e-4,
        "latency_p99_s": 3e-4,
        "latency_p999_s": 4e-4,
        "requests": 20_000,
        "runtime_s": 2,
        "host_cpu_s": 1e-4,
    }
    assert {name: row[name] for name in wanted} == pytest.approx(wanted)
    words = {"pattern": "random", "source": "f.json", "engine": "libaio", "started_at": "2023-11-14T22:13:20.000+00:00"}
    assert {name: row[name] for name in words} == words
    assert row["unchecked"] is None
    assert (sweep.name, sweep.provenance.source, sweep.provenance.device) == ("f.json", "f.json", "/dev/x")
    assert (sweep.provenance.tool_version, sweep.provenance.details["engines"]) == ("fio-3.33", "libaio")
    assert sweep.provenance.details["options"]["iodepth"] == "4"
    assert "submission" not in sweep.points
    two = fio_sweep({"a": text(job(read=section(1e4, 8e5))), "b": text(job({"iodepth": "8"}, read=section(2e4, 8e5)))})
    assert (two.name, two.provenance.source) == ("", "2 fio outputs")
    assert "iodepth" not in two.provenance.details["options"]


def series(*options: Mapping[str, str], **more: Any) -> list[str]:
    """The names of curves of jobs that differ so, each in a file of its own."""
    texts = {
        f"d{i}/f.json" if more.get("folders") else f"f{i}.json": text(job({**o}, read=section(1e4, 8e5)))
        for i, o in enumerate(options)
    }
    return sorted(fio_sweep(texts).series)


def test_a_curve_is_named_by_what_differs() -> None:
    assert series({}, {"iodepth": "8"}) == ["4 KiB random read"]
    assert series({"ioengine": "libaio"}, {"ioengine": "io_uring"}) == [
        "4 KiB random read io_uring",
        "4 KiB random read libaio",
    ]
    assert series({"filename": "/a"}, {"filename": "/b"}) == ["4 KiB random read on /a", "4 KiB random read on /b"]
    assert series({}, {"direct": "0"}) == ["4 KiB random read", "4 KiB random read buffered"]
    assert series({}, {"iodepth": "8"}, folders=True) == ["4 KiB random read in d0", "4 KiB random read in d1"]
    assert series({}, {"bs": "8k"}) == ["4 KiB random read", "8 KiB random read"]
    grouped = {"numjobs": "2", "group_reporting": "1"}
    assert series({"iodepth": "2"}, {"iodepth": "8", **grouped}) == ["4 KiB random read", "4 KiB random read 2 jobs"]
    assert series({}, grouped) == ["4 KiB random read"]


def test_repeats_are_numbered_in_the_order_of_their_times() -> None:
    texts = {
        f"r{i}": text(job(read=section(1e4 + i, 4e5)), timestamp_ms=1_700_000_000_000 - 10_000 * i) for i in range(3)
    }
    points = fio_sweep(texts).points
    assert points["repeat"].tolist() == [0, 1, 2]
    assert points["source"].tolist() == ["r2", "r1", "r0"]


@pytest.mark.parametrize(
    ("asked", "counted", "named"),
    [
        ({"rw": "randrw", "rwmixread": "70"}, 0.698, 0.7),
        ({"rw": "rw"}, 0.52, 0.5),
        ({"rw": "randrw", "rwmixread": "x"}, 0.694, 0.69),
        ({"rw": "rw", "rwmixread": "130"}, 0.98, 1.0),
        ({"rw": "randtrim"}, 0.25, 0.25),
    ],
)
def test_a_mix_is_named_as_asked(asked: Mapping[str, str], counted: float, named: float) -> None:
    read, write = section(1e4 * counted, 8e5), section(1e4 * (1 - counted), 8e5)
    (name,) = fio_sweep({"f": text(job(asked, read=read, write=write))}).series
    assert (" read" if named == 1 else f" {100 * named:.0f}/{100 - 100 * named:.0f} mix") in name


@pytest.mark.parametrize(("in_flight", "load"), [(7.9, 8), (7.4, 7), (0.4, 1), (62, 64), (60, 60)])
def test_where_no_depth_is_recorded_the_load_is_x_times_r(in_flight: float, load: float) -> None:
    bare = {"jobname": "j", "read": section(1e4, in_flight * 1e5)}
    sweep = fio_sweep({"f": text(bare)})
    assert sweep.points["load"].tolist() == [load]
    assert sweep.points["unchecked"].tolist() == ["the depth is unknown"]
    assert sweep.points[["depth", "jobs"]].isna().all(axis=None)
    assert f"throughput x latency = {in_flight:g}, so" in sweep.findings[0].message
    assert [f.check for f in sweep.findings] == ["depth-not-recorded"]
    assert sweep.findings[0].load == load


# --- documents --------------------------------------------------------------------------------------------------------


def snapshot(runtime: int, moved: int, stamp: int = 0, name: str = "j") -> dict[str, Any]:
    part = {"runtime": runtime, "io_bytes": moved}
    return {"fio version": "fio-3", "timestamp_ms": stamp, "jobs": [{"jobname": name, "groupid": 0, "read": part}]}


@pytest.mark.parametrize(
    ("later", "runs"),
    [
        (snapshot(2000, 20), 1),
        (snapshot(1000, 20), 2),
        (snapshot(2000, 9), 2),
        (snapshot(2000, 20, name="k"), 2),
        ({**snapshot(2000, 20), "fio version": "fio-4"}, 2),
        (snapshot(2000, 20, stamp=9000), 1),
        (snapshot(2000, 10), 1),
    ],
)
def test_a_snapshot_goes_on_where_its_counters_grew(later: dict[str, Any], runs: int) -> None:
    assert len(last_of_runs([snapshot(1000, 10), later])) == runs


@pytest.mark.parametrize(
    ("runtime", "stamp", "runs"),
    [(1000, 5400, 1), (2000, 6501, 2), (2000, 6500, 1), (2000, 5499, 2), (11000, 17500, 1), (11000, 17501, 2)],
)
def test_stamps_of_one_run_lie_as_far_apart_as_its_run_times(runtime: int, stamp: int, runs: int) -> None:
    """Within half a second, or a quarter of what passed."""
    assert len(last_of_runs([snapshot(1000, 10, 5000), snapshot(runtime, 20, stamp)])) == runs


def test_a_depth_that_counts_for_nothing() -> None:
    def ignored(**options: str) -> list[str]:
        return [f.message for f in check_record(record(options=options))]

    assert "iodepth=8 with the engine psync, which" in ignored(ioengine="psync", iodepth="8")[0]
    assert "psync (the default), which" in ignored(iodepth="8")[0]
    assert not ignored(ioengine="psync", iodepth="1")
    assert not ignored(ioengine="psync")
    assert not ignored(ioengine="libaio", iodepth="8")


LOG = "0, 1000, 0, 4096\n600, 3000, 1, 4096\n1400, 2000, 0, 4096\n2600, 4000, 0, 4096\n"


def test_logs_become_a_record_with_the_options_of_their_name(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"randread-iodepth-8-numjobs-2_lat.{number}.log").write_text(LOG)
    (tmp_path / "randread-iodepth-8-numjobs-2_bw.1.log").write_text(LOG)
    (tmp_path / "randread-iodepth-8-numjobs-2_clat.1.log").write_text(LOG)
    ((name, files),) = choose_logs(sorted(tmp_path.iterdir()))
    found = record_of_logs(name, files)
    assert found.options == {"rw": "randread", "iodepth": "8", "numjobs": "2", "bs": "4096"}
    assert (found.jobs, found.depth, found.requests, found.runtime_s) == (2, 8, 8, 2.6)
    assert (found.throughput_per_s, found.read_fraction) == (pytest.approx(8 / 2.6), 0.75)
    assert found.bandwidth_bytes_per_s == pytest.approx(8 * 4096 / 2.6)
    assert found.latency.mean_s == pytest.approx(2.5e-6)
    ends = {50.0: 2.008e-6, 95.0: 4.016e-6, 99.0: 4.016e-6, 99.9: 4.016e-6}  # middles of bins 16 and 32 ns wide
    assert found.latency.percentiles_s == pytest.approx(ends)
    (finding,) = found.findings
    assert finding.check == "latency-unit"
    assert "the mean is 2500 ns" in finding.message
    alone = record_of_logs(name, files[:1])
    assert (alone.jobs, alone.options["group_reporting"], alone.all_options) == (2, "1", False)
    assert "group_reporting" not in record_of_logs(replace(name, stem="read-iodepth-8-numjobs-1"), files[:1]).options


def test_the_depth_of_a_job_that_searched_a_latency_is_no_load() -> None:
    options = {"latency_target": "1ms", "iodepth": "128", "ioengine": "libaio"}
    searched = {**job(options, read=section(10_000, 1e6)), "latency_depth": 20}
    sweep = fio_sweep({"f": text(searched)})
    (found,) = [f for f in sweep.findings if f.check == "latency-target"]
    assert "searched the depth that keeps a latency of 1ms, up to 128, and ended at 20" in found.message
    assert sweep.points[["load", "load_origin"]].to_numpy().tolist() == [[10, "computed: X R"]]
    assert not [f for f in audit(sweep) if f.severity == "error"]
