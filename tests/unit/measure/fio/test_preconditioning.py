"""What is written to a test file before anything is measured: what is still missing, what the plan and the mark say."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from measure.errors import ToolFailedError
from measure.fio import fio_sweep as sweep
from measure.fio import plan as fio_plan
from measure.fio.fio_command import FioJob
from measure.fio.plan import DEFAULT_FILE_BYTES, FioPlan, FioSettings, file_for, passes, plan_fio
from measure.machine.own_file import MARK_SUFFIX, Target, held, mark_filled
from measure.machine.safety import check_target

MIB = 2**20
NEW = Target(Path("/x/file"), "own file", 512 * MIB, exists=False, writable=True)
FILLED = replace(NEW, filled=True)
FOREIGN = Target(Path("/x/other"), "foreign file", 512 * MIB, exists=True, writable=False, filled=True)
DEVICE = Target(Path("/dev/x"), "block device", 512 * MIB, exists=True, writable=True)
READ, WRITE = FioJob(1, 1, 4096, 100, "random"), FioJob(1, 1, 16384, 0, "random")
MIX, STREAM = FioJob(1, 1, 8192, 70, "random"), FioJob(1, 1, 4096, 0, "sequential")
ONCE, RANDOM = "writing the test file", "writing it at random"


@pytest.mark.parametrize(
    ("file", "workloads", "texts"),
    [
        (NEW, [READ], [ONCE]),
        (NEW, [STREAM], [ONCE]),
        (NEW, [READ, WRITE], [ONCE, RANDOM]),
        (NEW, [MIX], [ONCE, RANDOM]),
        (FILLED, [READ], []),
        (FILLED, [WRITE], [RANDOM]),
        (replace(FILLED, scattered=True), [WRITE], []),
        (FOREIGN, [READ], []),
        (DEVICE, [WRITE], []),
        (None, [WRITE], []),
    ],
)
def test_only_what_a_test_file_lacks_is_written(file: Target | None, workloads: list[FioJob], texts: list[str]) -> None:
    assert [p.text for p in passes(file, "libaio", workloads)] == texts


def test_random_writes_are_those_of_the_workload_and_end_in_time() -> None:
    *_, last = passes(NEW, "libaio", [READ, WRITE, replace(WRITE, block_bytes=65536)])
    assert {"--rw=randwrite", "--bs=16384", "--runtime=60s", f"--size={512 * MIB}"} <= set(last.argv)
    assert "--time_based=1" not in last.argv  # it ends when each block was written once
    assert last.limit_s > 60 >= last.seconds
    *_, huge = passes(replace(NEW, size_bytes=2**40), "libaio", [WRITE])
    assert huge.seconds == 60


def test_the_plan_tells_the_passes_and_their_time(tmp_path: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    reads = plan_fio(tmp_path / "file", (1,), size_bytes=64 * MIB)
    writes = plan_fio(tmp_path / "file", (1,), size_bytes=64 * MIB, read_percent=0)
    assert (len(reads.passes), len(writes.passes)) == (1, 2)
    assert writes.seconds() == pytest.approx(reads.seconds() + writes.fill_seconds() - reads.fill_seconds())
    assert "writing the test file, writing it at random: about" in writes.describe()
    assert len(writes.commands) == 3


def test_the_mark_says_what_the_file_has_got(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with held(check_target(path, MIB, writes=True), keep=True) as file:
        assert not file.filled
        for scattered in (False, True):
            mark_filled(file, scattered=scattered)
            again = check_target(path, MIB, writes=True)
            assert (again.filled, again.scattered) == (True, scattered)
    marked = path.with_name(path.name + MARK_SUFFIX)
    mark = json.loads(marked.read_text())
    marked.write_text(json.dumps({**mark, "scattered": 7}))
    assert not check_target(path, MIB, writes=True).scattered
    marked.write_text(json.dumps({**mark, "filled_bytes": 5}))
    again = check_target(path, MIB, writes=True)
    assert not again.filled
    assert not again.scattered


def test_a_file_is_measured_whole_where_there_is_one_and_is_new_where_nothing_of_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = partial(file_for, tmp_path / "file", FioSettings(consent="read"), [READ])
    assert size().size_bytes == DEFAULT_FILE_BYTES
    with held(check_target(tmp_path / "file", 8 * MIB, writes=True), keep=True):
        pass
    assert size().size_bytes == 8 * MIB
    (tmp_path / "other").write_bytes(bytes(3 * MIB))
    assert file_for(tmp_path / "other", FioSettings(consent="read"), [READ]).size_bytes == 3 * MIB
    monkeypatch.setattr(fio_plan, "measured_bytes", lambda _: 0)  # qsim's file after a disk that was full
    assert size().size_bytes == DEFAULT_FILE_BYTES


@pytest.mark.parametrize(("written", "has_holes"), [(0.94, True), (0.96, False)])
def test_a_file_that_still_has_holes_after_the_pass_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: float, has_holes: bool
) -> None:
    def fill(*_: object, **__: object) -> SimpleNamespace:
        with path.open("r+b") as file:
            file.write(b"x" * int(written * 8 * MIB))
        return SimpleNamespace(text="", complaint="", returncode=0, timed_out=False)

    path = tmp_path / "file"
    monkeypatch.setattr(sweep, "run_tool", fill)
    monkeypatch.setattr(sweep, "why_no_point", lambda *_: None)
    with held(check_target(path, 8 * MIB, writes=True), keep=True) as file:
        plan = cast(FioPlan, SimpleNamespace(file=file))
        (step,) = passes(file, "libaio", [READ])
        with pytest.raises(ToolFailedError, match="still has holes") if has_holes else nullcontext():
            sweep._write(plan, step, lambda _: None)
        assert check_target(path, None, writes=True).filled is not has_holes
