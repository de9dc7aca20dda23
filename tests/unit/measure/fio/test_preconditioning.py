"""What is written to a test file before anything is measured: what is chosen, what is still missing, what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from measure.auditing.all_checks import audit
from measure.fio.plan import plan_fio
from measure.fio.preconditioning import chosen_state, passes, state_after
from measure.fio.workload import FioJob
from measure.machine.own_file import MARK_SUFFIX, Target, held, mark_filled
from measure.machine.safety import check_target
from measure.sweep import Sweep

MIB = 2**20
NEW = Target(Path("/x/file"), "own file", 512 * MIB, exists=False, writable=True)
FOREIGN = Target(Path("/x/other"), "foreign file", 512 * MIB, exists=True, writable=False, filled=True)
DEVICE = Target(Path("/dev/x"), "block device", 512 * MIB, exists=True, writable=True)
READ, WRITE = FioJob(1, 1, 4096, 100, "random"), FioJob(1, 1, 16384, 0, "random")
MIX, STREAM = FioJob(1, 1, 8192, 70, "random"), FioJob(1, 1, 4096, 0, "sequential")


@pytest.mark.parametrize(
    ("file", "workloads", "state"),
    [
        (NEW, [READ], "none"),
        (NEW, [READ, WRITE], "random"),
        (NEW, [MIX], "random"),
        (NEW, [STREAM], "none"),
        (FOREIGN, [READ], ""),
        (DEVICE, [WRITE], ""),
        (None, [WRITE], ""),
    ],
)
def test_random_writes_are_prepared_and_nothing_but_test_files(
    file: Target | None, workloads: list[FioJob], state: str
) -> None:
    assert chosen_state(file, workloads) == state


def test_only_what_is_missing_is_written() -> None:
    def leaves(had: str, wanted: str) -> list[str]:
        return [p.leaves for p in passes(wanted, replace(NEW, preconditioned=had), "libaio", [WRITE])]

    assert leaves("", "none") == ["none"]
    assert leaves("", "random") == ["none", "sequential", "random"]
    assert leaves("none", "random") == ["sequential", "random"]
    assert leaves("random", "none") == []
    assert not passes("", FOREIGN, "libaio", [READ])
    assert not passes("", DEVICE, "libaio", [WRITE])


def test_a_file_keeps_what_it_had() -> None:
    assert state_after("none", replace(NEW, preconditioned="random")) == "random"
    assert state_after("random", NEW) == "random"
    assert state_after("", None) == ""


def test_random_writes_are_those_of_the_workload_and_end_in_time() -> None:
    last = passes("random", NEW, "libaio", [READ, WRITE, replace(WRITE, block_bytes=65536)])[-1]
    assert {"--rw=randwrite", "--bs=16384", "--runtime=60s", f"--size={512 * MIB}"} <= set(last.argv)
    assert "--time_based=1" not in last.argv  # it ends when each block was written once
    assert last.limit_s > 60 >= last.seconds
    huge = passes("random", replace(NEW, size_bytes=2**40), "libaio", [WRITE])[-1]
    assert huge.seconds == 60


def test_the_plan_tells_the_passes_and_their_time(tmp_path: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    reads = plan_fio(tmp_path / "file", (1,), size_bytes=64 * MIB)
    writes = plan_fio(tmp_path / "file", (1,), size_bytes=64 * MIB, read_percent=0)
    assert (len(reads.passes), len(writes.passes)) == (1, 3)
    assert writes.fill_seconds() > 2 * reads.fill_seconds()
    assert writes.seconds() == pytest.approx(reads.seconds() + writes.fill_seconds() - reads.fill_seconds())
    assert "writing the test file, writing it a second time, writing it at random: about" in writes.describe()
    assert len(writes.commands) == 4
    assert (reads.preconditioned, writes.preconditioned) == ("none", "random")


def test_the_mark_says_what_the_file_has_got(tmp_path: Path) -> None:
    path = tmp_path / "file"
    target = check_target(path, MIB, writes=True)
    assert target.preconditioned == ""
    with held(target, keep=True) as file:
        for state in ("none", "random"):
            mark_filled(file, state)
            assert check_target(path, MIB, writes=True).preconditioned == state
    marked = path.with_name(path.name + MARK_SUFFIX)
    mark = json.loads(marked.read_text())
    for told in ("thrice", None, 7):
        marked.write_text(json.dumps({**mark, "preconditioned": told}))
        assert check_target(path, MIB, writes=True).preconditioned == "none"
    marked.write_text(json.dumps({**mark, "filled_bytes": 5}))
    assert check_target(path, MIB, writes=True).preconditioned == ""


def test_random_writes_into_a_file_without_are_found() -> None:
    points = pd.DataFrame(
        {
            "series": ["w", "w", "r", "s"],
            "load": [1.0, 2.0, 1.0, 1.0],
            "throughput_per_s": 1e3,
            "latency_s": 1e-3,
            "read_fraction": [0.0, 0.0, 1.0, 0.0],
            "pattern": ["random"] * 3 + ["sequential"],
            "preconditioned": ["none", "random", "none", "none"],
        }
    )

    def found(table: pd.DataFrame) -> list[tuple[str, str | None]]:
        return [(f.severity, f.series) for f in audit(Sweep(table)) if f.check == "not-preconditioned"]

    assert found(points) == [("warning", "w")]
    assert not found(points.assign(preconditioned="random"))
    assert not found(points.assign(settled=1.0))
    assert found(points.assign(settled=0.0))
    assert not found(points.drop(columns="preconditioned"))
