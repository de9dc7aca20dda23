"""Kept points as rows: fake outputs of fio, joined with what was asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrate.points import points_of
from measure.auditing.all_checks import audit
from measure.errors import DataError
from measure.findings import Finding
from measure.fio.fio_command import FioJob
from measure.fio.fio_sweep import read_fio_store, why_failed
from measure.fio.stored_points import MeasuredPoint, near_ceiling, why_no_point
from measure.formats.fio.record import FioRecord, Moments
from measure.machine.process import Finished
from measure.origin import MEASURED
from measure.store.directory import SweepStore
from measure.sweep import Sweep, histograms

RUN_S = 4.0


def direction(requests: int, latency_s: float, *, counted: int | None = None) -> dict[str, Any]:
    """One direction of a group of jobs, of which all took the same time."""
    nanoseconds = round(latency_s * 1e9)
    return {
        "iops": requests / RUN_S,
        "total_ios": requests,
        "runtime": RUN_S * 1e3,
        "bw_bytes": 4096 * requests / RUN_S,
        "lat_ns": {
            "mean": nanoseconds,
            "stddev": 0.0,
            "N": requests,
            "bins": {str(nanoseconds): requests if counted is None else counted},
        },
    }


def output(*groups: dict[str, Any], options: dict[str, str] | None = None) -> str:
    jobs = [
        {
            "jobname": "k",
            "groupid": i,
            "error": 0,
            "job options": {"numjobs": "2", "rate_iops": "9", **(options or {})},
            **group,
        }
        for i, group in enumerate(groups)
    ]
    return json.dumps(
        {
            "fio version": "fio-3.33",
            "timestamp": 1_700_000_000,
            "global options": {"ioengine": "psync", "group_reporting": "1", "direct": "1", "bs": "4096"},
            "jobs": jobs,
        }
    )


def store(tmp_path: Path, *points: tuple[FioJob, int, str], **notes: Any) -> SweepStore:
    made = SweepStore.create(tmp_path / "s", "fio", {}, {})
    for job, repeat, text in points:
        request = {**job.__dict__, "load": job.load, "repeat": repeat}
        record = {"status": "ok", "command": "fio", "started_at": "2026-01-01T00:00:00+00:00", "request": request}
        record |= notes
        made.add(f"{job.key}.r{repeat}", text.encode(), record)
    return made


def read(tmp_path: Path, *points: tuple[FioJob, int, str]) -> Sweep:
    return read_fio_store(store(tmp_path, *points))


def only(sweep: Sweep, check: str) -> Finding:
    (found,) = [f for f in sweep.findings if f.check == check]
    return found


OPEN = FioJob.open(1000)  # 32 jobs


def test_rows_know_the_order_in_which_their_points_were_measured(tmp_path: Path) -> None:
    text = output({"read": direction(4000, 1e-3)}, options={"iodepth": "4", "numjobs": "1"})
    deep, shallow = (FioJob(depth, 1, 4096, 100, "random") for depth in (4, 1))
    sweep = read(tmp_path, (deep, 0, text), (shallow, 0, text), (deep, 1, text))
    assert sweep.points[["load", "repeat", "sequence"]].values.tolist() == [[1, 0, 1], [4, 0, 0], [4, 1, 2]]


def test_an_open_point_lies_at_the_measured_rate_of_its_repeats(tmp_path: Path) -> None:
    first, second = (output({"read": direction(n + 32, 1e-4)}) for n in (3960, 4080))
    sweep = read(tmp_path, (OPEN, 0, first), (OPEN, 1, second))
    points = sweep.points
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("arrival_rate", "requests/s")
    assert sweep.series == ("4 KiB random read under Poisson arrivals",)
    # Each of the 32 jobs begins its window with a request: (n - N) / T.
    assert list(points["throughput_per_s"]) == [990.0, 1020.0]
    assert list(points["load"]) == [1005.0, 1005.0]
    assert list(points["asked_rate_per_s"]) == [1000.0, 1000.0]
    assert points["bandwidth_bytes_per_s"].iloc[0] == pytest.approx(990 * 4096)
    assert points["busy_share"].iloc[0] == pytest.approx(998 * 1e-4 / 32)
    assert not sweep.findings
    assert list(histograms(sweep)) == [(sweep.series[0], 1005.0, 0), (sweep.series[0], 1005.0, 1)]


@pytest.mark.parametrize(
    ("share", "busy", "left_out"),
    [
        (0.90, 0.49, False),
        (0.90, 0.99, True),
        (0.94, 0.49, False),
        (0.94, 0.51, True),
        (0.96, 0.99, False),  # within 3 standard errors of a Poisson count of 4,000, 4.7 %
        (1.00, 0.99, False),
    ],
)
def test_a_rate_is_not_taken_where_it_fell_short_and_the_jobs_were_busy(
    tmp_path: Path, share: float, busy: float, left_out: bool
) -> None:
    came = round(share * 1000 * RUN_S)
    text = output({"read": direction(came + 32, busy * 32 * RUN_S / (came + 32))})
    whole = output({"read": direction(round(500 * RUN_S) + 32, 1e-4)})
    sweep = read(tmp_path, (FioJob.open(500), 0, whole), (OPEN, 0, text))
    assert any(f.check == "overloaded" for f in sweep.findings) is left_out
    assert list(sweep.points["asked_rate_per_s"]) == ([500.0] if left_out else [500.0, 1000.0])


def test_what_the_device_cannot_take_is_left_out_and_said(tmp_path: Path) -> None:
    taken = output({"read": direction(4032, 1e-4)})
    drowned = output({"read": direction(4032, 0.0315)})
    sweep = read(tmp_path, (OPEN, 0, taken), (FioJob.open(2000), 0, drowned))
    assert list(sweep.points["asked_rate_per_s"]) == [1000.0]
    finding = only(sweep, "overloaded")
    assert (finding.severity, finding.load) == ("error", 2000.0)
    assert "2.00 k/s was asked for and 1.00 k/s came" in finding.message
    with pytest.raises(DataError, match=r"holds no usable point: 2\.00 k/s was asked for"):
        read(tmp_path / "alone", (FioJob.open(2000), 0, drowned))


def test_busy_jobs_are_told_once_with_the_number_that_would_do(tmp_path: Path) -> None:
    busy, busier = (output({"read": direction(n, 4e-3)}) for n in (4032, 8032))
    points = [(OPEN, 0, busy), (OPEN, 1, busy), (FioJob.open(2000), 0, busier)]
    finding = only(read(tmp_path / "one", *points[:2]), "busy-submitters")
    assert "was busy 13 % of the time at 1.00 k/s, so that" in finding.message
    assert (finding.remedy, finding.load) == ("measure with more jobs: --jobs 100.", 1000.0)
    finding = only(read(tmp_path / "two", *points), "busy-submitters")
    assert "was busy 25 % of the time at 2.00 k/s and at 1 other rate, so that" in finding.message
    assert (finding.remedy, finding.load) == ("measure with more jobs: --jobs 200.", None)
    slow = (FioJob.open(1000, jobs=200), 0, output({"read": direction(4032, 50e-3)}))
    assert only(read(tmp_path / "slow", slow), "busy-submitters").remedy.startswith("ask for lower rates")


def test_a_true_mix_tells_its_directions_and_a_single_one_does_not(tmp_path: Path) -> None:
    mix = output({"read": direction(600, 1e-3), "write": direction(400, 2e-3)}, options={"rw": "randrw"})
    reads = output({"read": direction(1000, 1e-3)})
    sweep = read(tmp_path, (FioJob(1, 1, 4096, 60, "random"), 0, mix), (FioJob(1, 1, 4096, 100, "random"), 0, reads))
    assert sweep.series == ("4 KiB random 60/40 mix", "4 KiB random read")
    assert sweep.points["write_latency_s"].iloc[0] == pytest.approx(2e-3)
    assert sweep.points["write_latency_s"].isna().iloc[1]


def test_jobs_are_named_where_depths_vary_too(tmp_path: Path) -> None:
    text = output({"read": direction(1000, 1e-3)}, options={"iodepth": "1"})
    jobs = [FioJob(depth, count, 4096, 100, "random") for depth in (1, 2) for count in (1, 4)]
    sweep = read(tmp_path, *((job, 0, text) for job in jobs))
    assert sweep.series == ("4 KiB random read", "4 KiB random read 4 jobs")
    assert list(sweep.points["load"]) == [1.0, 2.0, 4.0, 8.0]
    alone = read(tmp_path / "alone", *((job, 0, text) for job in jobs[:2]))
    assert alone.series == ("4 KiB random read",)


@pytest.mark.parametrize(
    ("job", "text", "reason"),
    [
        (OPEN, output({"read": direction(30, 1e-4)}), "fewer requests than jobs came"),
        (OPEN, output({"read": direction(4000, 1e-4, counted=100)}), "fio lost the latencies of some jobs"),
        (FioJob.open(1000, read_percent=50), output({"read": direction(4000, 1e-4)}), "1 jobs where 2 were asked for"),
        (OPEN, output({"read": direction(0, 0.0)}), "completed no read or write"),
        (OPEN, "{", "is not fio's JSON"),
        (OPEN, output({"read": direction(4000, 1e-4)}), ""),
    ],
)
def test_an_output_that_is_no_point_says_why(job: FioJob, text: str, reason: str) -> None:
    found = why_no_point(text, "key", job)
    assert reason in found
    assert bool(found) == bool(reason)


def test_an_edited_request_is_refused_by_its_key(tmp_path: Path) -> None:
    made = store(tmp_path, (OPEN, 0, output({"read": direction(4032, 1e-4)})))
    path = next((made.directory / "points").glob("*.json"))
    path.write_text(path.read_text().replace('"read_percent": 100', '"read_percent": 101'))
    with pytest.raises(Exception, match=r"holds no workload \(read_percent is 101"):
        read_fio_store(SweepStore.read(made.directory))


def test_the_options_of_our_own_runs_are_audited_as_those_of_others(tmp_path: Path) -> None:
    small = {"size": str(2**26), "direct": "1", "ioengine": "libaio"}
    sweep = read(
        tmp_path, (FioJob(4, 1, 4096, 100, "random"), 0, output({"read": direction(4032, 1e-4)}, options=small))
    )
    assert sweep.provenance.details["options"]["size"] == str(2**26)
    assert only(replace(sweep, findings=tuple(audit(sweep))), "small-file").message.startswith("the file has 64 MiB;")


@pytest.mark.parametrize(("throughput_per_s", "said"), [(49_000.0, 0), (51_000.0, 1)])
def test_a_probe_past_half_of_its_ceiling_says_what_it_can_hand_over(throughput_per_s: float, said: int) -> None:
    job = FioJob(16, 1, 4096, 100, "random")
    latency = Moments(16 / throughput_per_s, 1e-5, "lat")
    record = FioRecord("a", "a", {}, throughput_per_s, 4096 * throughput_per_s, latency, 1.0, 9, 1.0, 1, 0, "", "")
    found = near_ceiling([MeasuredPoint(record, job, 0, {"ceiling_per_s": 100_000.0})])
    assert [f.check for f in found] == ["probe-ceiling"] * said
    assert all("hand over 100 k/s of 4 KiB" in f.message and "depth 16" in f.message for f in found)
    assert near_ceiling([MeasuredPoint(record, job, 0)]) == []


def in_bursts(job: FioJob, tmp_path: Path, requests: int, *, every_s: float, in_flight: int = 0) -> Sweep:
    """A run of 20 requests in each ``every_s`` seconds, logged in intervals of 40 ms; fio counted ``requests``.

    ``in_flight`` more were sent before the ramp ended.
    """
    ends = [0.04 * k for k in range(1, round(RUN_S / 0.04) + 1)]
    bursts = np.histogram(np.arange(1e-4, RUN_S, every_s), [0.0, *ends])[0]
    spread = {**direction(requests, job.depth * every_s / 20)["lat_ns"], "stddev": 2e7}
    options = {
        "numjobs": str(job.jobs),
        "iodepth": str(job.depth),
        "rw": "randread",
        "rate_iops": "0",
        "ramp_time": "1s",
    }
    moved = 4096 * (requests + in_flight)
    whole = {**direction(requests, 0.1), "io_bytes": moved, "bw_bytes": moved / RUN_S, "lat_ns": spread}
    text = output({"read": whole}, options=options)
    rates = (20 * bursts / 0.04).tolist()
    return read_fio_store(store(tmp_path, (job, 0, text), intervals={"end_s": ends, "throughput_per_s": rates}))


def test_of_a_device_that_serves_in_regular_bursts_the_rate_is_that_of_whole_bursts(tmp_path: Path) -> None:
    """Held to 200 a second: 15 requests of one more burst fell into the run of 4 s."""
    sweep = in_bursts(FioJob(16, 1, 4096, 100, "random"), tmp_path, 800, every_s=0.1, in_flight=15)
    row = sweep.points.iloc[0]
    assert row["throughput_per_s"] == pytest.approx(200, rel=0.003)
    assert row["throughput_published_per_s"] == 800 / RUN_S
    assert row["throughput_origin"].startswith("corrected: whole bursts over whole periods")
    assert row["bandwidth_bytes_per_s"] == pytest.approx(4096 * 200, rel=0.003)
    assert row["in_bursts"] == 1


def test_bursts_are_no_law_of_service_and_a_count_that_agrees_with_them_stands(tmp_path: Path) -> None:
    sweep = in_bursts(FioJob(1, 1, 4096, 100, "random"), tmp_path / "held", 800, every_s=0.1)
    assert sweep.points["throughput_origin"].tolist() == [MEASURED]
    assert points_of(sweep).closed.alone is None
    even = in_bursts(FioJob(1, 1, 4096, 100, "random"), tmp_path / "even", 2000, every_s=0.04)
    assert "in_bursts" not in even.points
    assert points_of(even).closed.alone is not None


@pytest.mark.parametrize("where", ["", "localhost:10999: could not connect to remote host: "])
def test_an_nbd_address_at_which_nobody_listens_is_named_as_that(where: str) -> None:
    said = f"fio: nbd_connect_uri: nbd_connect_uri: connect: {where}Connection refused\n".encode()
    ended = Finished(1, b"{}", said, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:01+00:00", timed_out=False)
    assert why_failed(ended, "k", FioJob(8, 1, 4096, 100, "random"), 9.0) == (
        "no NBD server answers there (Connection refused); start it, or correct the address"
    )
