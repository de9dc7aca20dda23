"""The workload of one point: what may be asked for, its key, and how many jobs share arrivals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.fio.fio_command import FioJob, submitters

BASE = FioJob(4, 2, 4096, 70, "random")

closed = st.builds(
    FioJob,
    st.integers(2, 300),
    st.integers(1, 64),
    st.integers(1, 4096).map(lambda n: 512 * n),
    st.integers(0, 100),
    st.sampled_from(["random", "sequential"]),
)
arriving = st.builds(
    lambda rate, percent, block: FioJob.open(rate, read_percent=percent, block_bytes=512 * block),
    st.integers(2, 10**6),
    st.integers(0, 100),
    st.integers(1, 256),
)


@given(st.lists(st.one_of(closed, arriving), min_size=2, max_size=12))
def test_a_key_names_one_workload_and_is_fit_for_a_file(jobs: list[FioJob]) -> None:
    assert len({j.key for j in jobs}) == len(set(jobs))
    assert all(set(j.key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.+") for j in jobs)


@given(st.one_of(closed, arriving))
def test_points_of_a_curve_differ_in_their_load_alone(job: FioJob) -> None:
    other = FioJob.open(9, read_percent=job.read_percent, block_bytes=job.block_bytes, pattern=job.pattern)
    assert (job if job.is_open else replace(job, depth=7)).curve == job.curve
    assert (other.curve == job.curve) is job.is_open


def test_whole_numbers_of_any_kind_are_one() -> None:
    assert FioJob(4.0, 2, 4096, 70, "random") == BASE  # type: ignore[arg-type]
    assert "d4-j2" in FioJob(4.0, 2, 4096, 70, "random").key  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"depth": 0}, "depth is 0; it must be a whole number from 1 to 65536"),
        ({"jobs": 1.5}, "jobs is 1.5"),
        ({"block_bytes": 4097}, "block_bytes is 4097"),
        ({"read_percent": -1}, "read_percent is -1"),
        ({"pattern": "zigzag"}, "pattern is 'zigzag'"),
        ({"arrival_rate_per_s": float("nan")}, "arrival_rate_per_s is nan"),
        ({"arrival_rate_per_s": 100.0}, "depth is 4; it must be 1 where requests arrive at a rate"),
        ({"arrival_rate_per_s": 1.0, "depth": 1}, "jobs is 2; it must be at most the arrivals a second"),
        ({"arrival_rate_per_s": 1.0, "depth": 1, "jobs": 1}, "arrival_rate_per_s is 1; it must be 2/s at least"),
    ],
)
def test_what_cannot_be_measured_is_named(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        replace(BASE, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rate", "jobs"), [(1, 1), (20, 4), (100, 20), (500, 32), (12_800, 32), (100_000, 250), (5_000_000, 2048)]
)
def test_jobs_are_neither_busy_nor_starved(rate: float, jobs: int) -> None:
    assert submitters(rate) == jobs
    assert FioJob.open(rate).jobs == jobs
    assert FioJob.open(rate, jobs=1).jobs == 1


def test_loads_in_words() -> None:
    assert (BASE.load, BASE.outstanding, BASE.load_text) == (8.0, 8, "depth 4 in each of 2 jobs")
    assert (FioJob.open(500).load, FioJob.open(500).load_text) == (500.0, "500 arrivals/s")
