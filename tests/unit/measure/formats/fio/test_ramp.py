"""fio's count after a ramp, and the rounding of its report for people: the right rate, with what was printed beside."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import measure
from measure.fio.fio_command import FioJob
from measure.fio.stored_points import request_of
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.record import FioRecord
from measure.formats.fio.runs_as_sweep import fio_sweep
from measure.origin import word_of
from measure.store.directory import SweepStore

GOLDEN = Path(__file__).parents[4] / "golden" / "data" / "fio-ramp"
RATE = 164.0


def after_ramp(
    depth: int, *, sent: int | None = None, completed: int = 310, block: int = 4096, rate: float = RATE, **options: str
) -> str:
    """A run of a device of two servers: fio counts what was sent, and the bytes of what completed."""
    sent = completed - (depth - 1) if sent is None else sent
    runtime_s = completed / rate
    latency_s = depth / rate + (depth - 1) * depth / (2 * rate * completed)
    asked = {"rw": "randread", "bs": str(block), "ioengine": "libaio", "iodepth": str(depth), "ramp_time": "300ms"}
    section = {
        "io_bytes": completed * block,
        "bw_bytes": int(completed * block / runtime_s),
        "iops": sent / runtime_s,
        "runtime": 1e3 * runtime_s,
        "total_ios": sent,
        "lat_ns": {"mean": 1e9 * latency_s, "stddev": 1e8 * latency_s},
    }
    job = {"jobname": f"d{depth}", "groupid": 0, "error": 0, "job options": {**asked, **options}}
    direction = "write" if (asked | options)["rw"] == "randwrite" else "read"
    return json.dumps({"fio version": "fio-3.33", "jobs": [{**job, direction: section}]})


def row(text: str) -> dict[str, Any]:
    (found,) = fio_sweep({"f.json": text}).points.to_dict("records")
    return found


def record(text: str) -> FioRecord:
    (found,) = parse_fio(text, "f.json")
    return found


@pytest.mark.parametrize("depth", [8, 32, 64])
def test_after_a_ramp_the_rate_is_bytes_over_block_and_what_fio_printed_stays_beside(depth: int) -> None:
    found = row(after_ramp(depth))
    assert found["throughput_per_s"] == pytest.approx(RATE)
    assert found["throughput_published_per_s"] == pytest.approx(RATE * (310 - (depth - 1)) / 310)
    assert found["throughput_origin"].startswith("corrected: bytes / block; fio leaves requests in flight at the end")
    assert found["requests"] == 310
    assert found["throughput_per_s"] * found["block_bytes"] == pytest.approx(found["bandwidth_bytes_per_s"], rel=1e-4)


@pytest.mark.parametrize("depth", [16, 64])
def test_the_wait_for_the_last_request_is_taken_out_of_the_mean_latency(depth: int) -> None:
    found = row(after_ramp(depth))
    assert found["latency_s"] == pytest.approx(depth / RATE, rel=1e-9)
    assert found["latency_published_s"] > found["latency_s"]
    assert word_of(found["latency_origin"]) == "corrected"
    assert found["throughput_per_s"] * found["latency_s"] == pytest.approx(depth, rel=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        after_ramp(64, completed=100_000),  # a fast drive: 63 of 100,000 requests
        after_ramp(32, ramp_time="0", sent=310),
        after_ramp(32, ramp_time="0"),  # no ramp, so another reason
        after_ramp(16, ioengine="psync", sent=310),  # synchronous engines lose none
    ],
    ids=["many requests", "no ramp", "another disagreement", "synchronous"],
)
def test_where_both_counts_agree_or_no_ramp_explains_it_fios_own_figures_stand_unmarked(text: str) -> None:
    printed = next(iter(json.loads(text)["jobs"]))["read"]
    found = row(text)
    assert found["throughput_per_s"] == printed["iops"]
    assert found["latency_s"] == pytest.approx(1e-9 * printed["lat_ns"]["mean"])
    assert (found["throughput_origin"], found["latency_origin"]) == ("measured", "measured")
    assert math.isnan(found["throughput_published_per_s"])


@pytest.mark.parametrize("options", [{"bssplit": "4k/50:64k/50"}, {"bsrange": "4k-64k"}, {"bs_unaligned": "1"}])
def test_blocks_of_several_sizes_leave_the_count_and_a_warning_says_what_is_missing(options: dict[str, str]) -> None:
    sweep = fio_sweep({"f.json": after_ramp(64, **options)})
    assert sweep.points["throughput_per_s"].iloc[0] == pytest.approx(RATE * 247 / 310)
    assert sweep.points["throughput_origin"].iloc[0] == "measured"
    (finding,) = (f for f in sweep.findings if f.check == "ramp-not-counted")
    assert finding.severity == "warning"
    assert "up to 64 requests in flight at its end are missing from the 247 requests" in finding.message


def test_reads_and_writes_of_their_own_block_sizes_are_counted_apart() -> None:
    text = after_ramp(64, rw="randrw", bs="4k,64k")
    document = json.loads(text)
    job = document["jobs"][0]
    job["write"] = json.loads(after_ramp(64, rw="randwrite", block=65536))["jobs"][0]["write"]
    found = row(json.dumps(document))
    assert found["read_throughput_per_s"] == found["write_throughput_per_s"] == pytest.approx(RATE)
    assert found["throughput_per_s"] == pytest.approx(2 * RATE)
    assert found["throughput_published_per_s"] == pytest.approx(2 * RATE * 247 / 310)
    assert found["read_fraction"] == pytest.approx(0.5)


def test_bytes_of_fio_2_are_kib_and_bytes_that_contradict_the_bandwidth_count_nothing() -> None:
    document = json.loads(after_ramp(64))
    read = document["jobs"][0]["read"]
    read["io_bytes"] //= 1024
    assert record(json.dumps(document)).throughput_per_s == pytest.approx(RATE)
    read["io_bytes"] = 7 * read["io_bytes"]
    assert record(json.dumps(document)).throughput_per_s == pytest.approx(read["iops"])


def test_clones_after_a_ramp_are_one_point_of_all_their_requests() -> None:
    document = json.loads(after_ramp(32, numjobs="2"))
    document["jobs"] *= 2
    found = row(json.dumps(document))
    assert (found["load"], found["requests"]) == (64, 620)
    assert found["throughput_per_s"] == pytest.approx(2 * RATE)
    assert found["throughput_published_per_s"] == pytest.approx(2 * RATE * 279 / 310)


def test_a_sweep_directory_written_before_is_read_anew(tmp_path: Path) -> None:
    store = SweepStore.create(tmp_path / "sweep", "fio", {"ramp_s": 0.3, "load_kind": "queue_depth"}, {})
    with store.locked():
        for depth in (1, 2, 8, 64):
            request = request_of(FioJob(depth, 1, 4096, 100, "random"), 0)
            record = {"status": "ok", "command": "fio", "started_at": "2026-01-01T00:00:00", "request": request}
            rate = 82 if depth == 1 else 164
            store.add(
                f"4096-randread-d{depth}-j1.r0", after_ramp(depth, completed=2 * rate, rate=rate).encode(), record
            )
    points = measure.load(tmp_path / "sweep").points
    assert points["load"].tolist() == [1, 2, 8, 64]
    assert points["throughput_per_s"].to_numpy() == pytest.approx([82, 163.5, 164, 164], rel=1e-3)
    assert points["throughput_origin"].map(word_of).tolist() == ["measured", "measured", "corrected", "corrected"]
    assert points["throughput_published_per_s"].iloc[-1] == pytest.approx(164 * 265 / 328)


@pytest.mark.parametrize(
    ("name", "truth"), [("two-servers-of-12-ms.json", 2 / 12.1e-3), ("ext4-held-to-200-iops.json", 200.0)]
)
def test_a_slow_device_at_depth_64_shows_its_own_rate(name: str, truth: float) -> None:
    sweep = measure.load(GOLDEN / name)
    (found,) = sweep.points.to_dict("records")
    assert found["throughput_per_s"] == pytest.approx(truth, rel=0.02)
    assert found["throughput_published_per_s"] < 0.85 * truth
    assert found["throughput_per_s"] * found["latency_s"] == pytest.approx(64, rel=0.03)
    assert [f.severity for f in measure.audit(sweep) if f.check == "littles-law"] == ["info"]


REPORT = """\
r: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
fio-3.7
Starting 1 process

r: (groupid=0, jobs=1): err= 0: pid=1: Sat Nov 21 10:29:08 2020
   read: IOPS={iops}, BW={bandwidth}(545MiB/10003msec)
     lat (usec): min=64, max=4315, avg=572.75, stdev=167.57
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=100.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued rwts: total={issued},0,0,0 short=0,0,0,0 dropped=0,0,0,0
"""


def report(iops: str, issued: int, bandwidth: str = "54.5MiB/s (57.2MB/s)") -> dict[str, Any]:
    return row(REPORT.format(iops=iops, issued=issued, bandwidth=bandwidth))


@pytest.mark.parametrize(
    ("printed", "value", "issued"), [("13.0k", 13e3, 139_682), ("53.0k", 53e3, 539_800), ("1.00M", 1e6, 19_997_000)]
)
def test_a_carry_lost_in_a_printed_rate_is_found_by_the_requests_issued(
    printed: str, value: float, issued: int
) -> None:
    found = report(printed, issued)
    assert found["throughput_per_s"] == pytest.approx(issued / 10.003)
    assert found["throughput_published_per_s"] == value
    assert found["throughput_origin"].startswith("corrected: requests issued / run time")


@pytest.mark.parametrize(("printed", "issued"), [("13.9k", 139_140), ("14.0k", 139_682), ("987", 9873)])
def test_a_rate_printed_right_is_measured_to_the_requests_issued(printed: str, issued: int) -> None:
    found = report(printed, issued)
    assert found["throughput_per_s"] == pytest.approx(issued / 10.003)
    assert found["throughput_origin"] == "measured"


@pytest.mark.parametrize(("printed", "issued"), [("13.0k", 150_000), ("13.4k", 139_682)])
def test_another_disagreement_leaves_the_printed_rate(printed: str, issued: int) -> None:
    assert report(printed, issued)["throughput_per_s"] == pytest.approx(float(printed[:-1]) * 1e3)


def test_a_bandwidth_that_lost_its_carry_is_the_one_in_the_other_unit() -> None:
    assert report("13.9k", 139_140, "53.0MiB/s (56.6MB/s)")["bandwidth_bytes_per_s"] == pytest.approx(56.6e6)
    assert report("13.9k", 139_140, "54.3MiB/s (56.0MB/s)")["bandwidth_bytes_per_s"] == pytest.approx(54.3 * 2**20)


@pytest.mark.parametrize("waits", [{"rate_iops": "8"}, {"thinktime": "1000"}])
def test_the_count_of_jobs_that_wait_for_their_next_request_stays_as_fio_printed_it(waits: dict[str, str]) -> None:
    """Seen with nbd: 32 jobs of Poisson arrivals counted 823 requests and moved 855 blocks, one more for each job."""
    found = row(after_ramp(1, sent=823, completed=855, **waits))
    assert found["throughput_per_s"] == pytest.approx(RATE * 823 / 855)
    assert word_of(found["throughput_origin"]) == "measured"
