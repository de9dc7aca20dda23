"""Real fio on a file of this disk: measured, interrupted, killed, continued; and an fio that misbehaves."""

from __future__ import annotations

import itertools
import math
import os
import re
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fio_processes import no_fio_left
from outstanding import as_asked

from measure.errors import UnsafeTargetError
from measure.fio import plan as fio_plan
from measure.fio.fio_sweep import FioPlan, plan_fio, read_fio_store, run_fio
from measure.machine.own_file import is_own
from measure.store.directory import SweepStore

pytestmark = pytest.mark.live
MIB = 2**20


@pytest.fixture(autouse=True)
def real_fio(require_tool: Callable[..., str]) -> str:
    return require_tool("fio")


def small(target: str | Path, depths: tuple[int, ...] = (1, 2, 4), **more: object) -> FioPlan:
    settings = {"size_bytes": 16 * MIB, "runtime_s": 0.2, "ramp_s": 0.0, **more}
    return plan_fio(target, depths, **settings)  # type: ignore[arg-type]


def test_a_sweep_is_measured_kept_read_back_and_cleaned_up(disk: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, float, str]] = []
    plan = small(disk, repeats=2)
    sweep = run_fio(plan, tmp_path / "s", lambda *step: seen.append(step))
    assert list(sweep.points["load"]) == [1, 1, 2, 2, 4, 4]
    assert list(sweep.points["repeat"]) == [0, 1] * 3
    assert sweep.series == ("4 KiB random read",)
    assert as_asked(sweep)
    assert sweep.points["wakeup_late_s"].between(0, 1, inclusive="neither").all()  # seconds, on the busiest machine
    assert sweep.provenance.commands == tuple(p.command for p in plan.points)
    assert sweep.provenance.tool_version.startswith("fio-")
    assert sweep.provenance.details["engine"] == plan.engine
    assert "write_iops_log" not in sweep.provenance.details["options"]  # a name in a folder that is gone
    assert not list(disk.iterdir())
    again = read_fio_store(SweepStore.read(tmp_path / "s"))
    assert again.points.equals(sweep.points)
    assert (seen[-1][:3], seen[0][0]) == ((6, 6, 0.0), 0)
    assert {t for *_, t in seen} >= {"writing the test file", "depth 4", "depth 4, repeat 2", "done"}
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(seen))


@pytest.mark.parametrize(("percent", "name"), [(0, "write"), (70, "70/30 mix")])
def test_writes_and_mixes_are_measured_in_our_own_file(disk: Path, tmp_path: Path, percent: int, name: str) -> None:
    sweep = run_fio(small(disk, (2,), read_percent=percent, pattern="sequential"), tmp_path / "s")
    assert sweep.series == (f"4 KiB sequential {name}",)
    share = percent / 100
    chance = 5 * math.sqrt(share * (1 - share) / sweep.points["requests"].iloc[0])
    assert sweep.points["read_fraction"].iloc[0] == pytest.approx(share, abs=0.02 + chance)
    assert as_asked(sweep)


def test_a_kept_file_is_not_filled_again(disk: Path, tmp_path: Path) -> None:
    run_fio(small(disk, (1,), keep=True), tmp_path / "a")
    assert {p.name for p in disk.iterdir()} == {"qsim-test-file", "qsim-test-file.qsim-target"}
    assert is_own(disk / "qsim-test-file")
    assert stat.S_IMODE((disk / "qsim-test-file").stat().st_mode) == 0o600  # fio has not put another in its place
    plan = small(disk, (1,))
    assert not plan.passes
    run_fio(plan, tmp_path / "b")
    assert not list(disk.iterdir())


def test_a_foreign_file_is_read_with_consent_and_left_as_it_is(disk: Path, tmp_path: Path) -> None:
    path = disk / "database"
    path.write_bytes(os.urandom(4 * MIB))
    os.sync()
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(UnsafeTargetError, match="not created by qsim"):
        small(path, (1,), size_bytes=None)
    sweep = run_fio(small(path, (1,), size_bytes=None, consent="read"), tmp_path / "s")
    assert as_asked(sweep)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(disk.iterdir()) == [path]


def fake_fio(folder: Path, real: str, behaviour: str, where: str = "--iodepth=2") -> str:
    """An fio that does something else where an argument is ``where``; the PATH under which it is found first."""
    folder.mkdir()
    script = folder / "fio"
    script.write_text(f'#!/bin/sh\ncase "$* " in\n*"{where} "*) {behaviour} ;;\n*) exec {real} "$@" ;;\nesac\n')
    script.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("trap '' TERM; echo '{'; while :; do sleep 1; done", "did not end within 4.2 s and was stopped"),
        ('echo \'{ "fio version" : "fio-3.33", "jobs" : [\'; kill -SEGV $$', "ended by signal 11"),
        ("echo oops >&2; exit 1", r"4096-randread-d2-j1\.r0: fio ended with exit code 1 \(oops\)"),
        ('echo \'{ "fio version" : "fio-3.33", "jobs" : [\'', "is cut off"),
    ],
    ids=["hangs and ignores SIGTERM", "crashes with half a JSON", "fails with a message", "prints half a JSON"],
)
def test_a_point_that_fails_is_recorded_and_the_sweep_goes_on(
    disk: Path, tmp_path: Path, real_fio: str, monkeypatch: pytest.MonkeyPatch, behaviour: str, sentence: str
) -> None:
    monkeypatch.setenv("PATH", fake_fio(tmp_path / "bin", real_fio, behaviour))
    monkeypatch.setattr(fio_plan, "MARGIN_S", 4.0 if "TERM" in behaviour else 15.0)
    sweep = run_fio(small(disk), tmp_path / "s")
    assert list(sweep.points["load"]) == [1, 4]
    (finding,) = sweep.findings
    assert (finding.check, finding.load) == ("point-failed", 2)
    assert re.search(sentence, finding.message)
    assert no_fio_left(disk)
    monkeypatch.undo()
    whole = run_fio(small(disk), tmp_path / "s")
    assert list(whole.points["load"]) == [1, 2, 4]
    assert not whole.findings


@pytest.fixture
def served(tmp_path: Path, require_tool: Callable[..., str]) -> Iterator[Callable[[bytes], tuple[str, Path]]]:
    """``served(beginning)``: the URI of an NBD export of 16 MiB that begins so, and its image."""
    require_tool("nbdkit")
    image, socket = tmp_path / "disk.img", tmp_path / "s"
    servers: list[subprocess.Popen[bytes]] = []

    def serve(beginning: bytes) -> tuple[str, Path]:
        image.write_bytes(beginning.ljust(16 * MIB, b"\0"))
        servers.append(subprocess.Popen(["nbdkit", "-f", "-U", socket, "file", image]))
        while not socket.exists():
            assert servers[0].poll() is None
            time.sleep(0.02)
        return f"nbd+unix:///?socket={socket}", image

    yield serve
    for server in servers:
        server.terminate()
        server.wait()


WRITES = {"size_bytes": None, "depths": (1,), "read_percent": 0}


def test_a_blank_export_is_written_by_its_name_alone(
    served: Callable[[bytes], tuple[str, Path]], tmp_path: Path
) -> None:
    uri, image = served(b"")
    with pytest.raises(UnsafeTargetError, match="is an NBD export, and writing destroys what it holds"):
        small(uri, **WRITES)
    assert not any(image.read_bytes())
    run_fio(small(uri, **WRITES, write_device=uri), tmp_path / "out")
    assert any(image.read_bytes())


def test_an_export_that_may_hold_something_is_erased_by_its_name_once_more(
    served: Callable[[bytes], tuple[str, Path]],
) -> None:
    uri, _ = served(b"precious")
    with pytest.raises(UnsafeTargetError, match=r"its byte 0 is not zero.*once more"):
        small(uri, **WRITES, write_device=uri)
    assert small(uri, **WRITES, write_device=uri, erase=uri).points


def test_an_export_that_holds_something_is_never_written(served: Callable[[bytes], tuple[str, Path]]) -> None:
    uri, _ = served(b"LUKS\xba\xbe\x00\x01")
    with pytest.raises(UnsafeTargetError, match="it holds crypto_LUKS"):
        small(uri, **WRITES, write_device=uri, erase=uri)
