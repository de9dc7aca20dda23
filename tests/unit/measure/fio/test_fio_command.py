"""The command by which fio measures a workload."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.fio.fio_command import FioJob, common_options, point_command, stagger_s, submitters_of


def sections(job: FioJob, engine: str = "libaio") -> tuple[dict[str, str], list[dict[str, str]]]:
    """(the options for all, those of each job) of the command."""
    argv = point_command("k", job, engine, common_options(None, "nbd:x", engine, 2.0, 0.5), 1)
    parts: list[dict[str, str]] = []
    for option in argv[1:]:
        name, _, value = option.removeprefix("--").partition("=")
        if name == "name":
            parts.append({})
        if parts:
            parts[-1][name] = value
    return (parts[0], parts[1:]) if parts[0]["name"] == "global" else (parts[0], parts)


@given(st.integers(2, 200_000), st.integers(0, 100), st.integers(1, 300))
def test_the_jobs_of_an_open_loop_add_up_to_the_rate(rate: int, percent: int, jobs: int) -> None:
    job = FioJob.open(rate, read_percent=percent, jobs=min(jobs, rate))
    shared, each = sections(job, "psync")
    assert shared["rate_process"] == "poisson"
    assert {s["iodepth"] for s in each} == {"1"}
    total = {"randread": 0, "randwrite": 0}
    for section in each:
        total[section["rw"]] += int(section["numjobs"]) * int(section["rate_iops"])
    assert sum(total.values()) == rate
    assert total["randread"] == pytest.approx(rate * percent / 100, abs=1)
    assert sum(int(s["numjobs"]) for s in each) == submitters_of(job) <= job.jobs + 1
    rates = [int(s["rate_iops"]) for s in each if s["rw"] == "randread"]
    assert not rates or max(rates) - min(rates) <= 1


def test_reads_and_writes_of_jobs_of_their_own_are_reported_apart() -> None:
    job = FioJob.open(1000, read_percent=70)
    _, each = sections(job, "psync")
    apart = [s for s in each if "new_group" in s]
    assert [s["rw"] for s in apart] == ["randwrite"]
    assert each.index(apart[0]) == [s["rw"] for s in each].index("randwrite")
    assert job.sections == 2


def test_a_synchronous_engine_gets_its_requests_by_jobs() -> None:
    _, (only,) = sections(FioJob(8, 2, 4096, 100, "random"), "psync")
    assert (only["iodepth"], only["numjobs"]) == ("1", "16")


@given(st.integers(1, 2000))
def test_io_uring_keeps_exactly_what_was_asked(depth: int) -> None:
    _, each = sections(FioJob(depth, 3, 4096, 50, "random"), "io_uring")
    assert sum(int(s["iodepth"]) for s in each) == depth
    assert all(int(s["iodepth"]).bit_count() == 1 for s in each)
    assert {(s["numjobs"], s["rwmixread"]) for s in each} == {("3", "50")}
    _, (only,) = sections(FioJob(depth, 3, 4096, 50, "random"), "libaio")
    assert only["iodepth"] == str(depth)


def test_the_jobs_of_slow_streams_start_one_after_another() -> None:
    _, each = sections(FioJob.open(400, jobs=200), "psync")
    assert [s.get("startdelay", "0ms") for s in each] == [f"{250 * k}ms" for k in range(8)]  # 4 gaps of 0.5 s
    assert [int(s["numjobs"]) for s in each] == [25] * 8
    _, fast = sections(FioJob.open(16_000, jobs=40), "psync")
    assert [s.get("startdelay") for s in fast] == [None]  # its first requests take 10 ms, less than fio can tell
    assert stagger_s(FioJob(8, 1, 4096, 100, "random")) == 0


def test_times_are_given_to_fio_in_whole_milliseconds() -> None:
    options = common_options(None, "nbd:x", "libaio", 12.5, 2.0)
    assert {"--runtime=12500ms", "--ramp_time=2000ms"} <= set(options)
