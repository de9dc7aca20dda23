"""Faults of every kind under a sweep: kills, interruptions, power cuts, full disks, devices that go, clocks that jump.

Whatever happens: finished points stay as they are, the sweep goes on where it was, no process and no test file stays.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_runs import INTERRUPTED, ended, finished_files, forked, quick_fio, signalled_at_steps
from fio_processes import fio_on, no_fio_left
from qsim_program import QSIM

from measure.errors import DataError, MeasureError, StoreError, ToolFailedError, UnsafeTargetError
from measure.fio.fio_sweep import FioJob, FioPlan, plan_fio, read_fio_store, run_fio
from measure.fio.plan import pass_command
from measure.machine.own_file import held
from measure.machine.process import run_tool, running
from measure.machine.safety import check_target
from measure.store.directory import MANIFEST, SweepStore
from measure.sweep import Sweep

pytestmark = pytest.mark.live
MIB = 2**20
SIZE = 4 * MIB
DEPTHS = (1, 2)


@pytest.fixture(autouse=True)
def real_fio(require_tool: Callable[..., str]) -> str:
    return require_tool("fio")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, bytes]:
    """What real fio prints at each depth, and (depth 0) when it fills the file."""
    folder = tmp_path_factory.mktemp("outputs")
    try:
        plan = sweep_plan(folder)
        run_fio(plan, folder / "s")
        found = {p.job.depth: (folder / "s" / "raw" / f"{p.key}.json").read_bytes() for p in plan.points}
        with held(check_target(folder, SIZE, writes=True), keep=False) as file:
            found[0] = run_tool(pass_command(file, plan.engine, FioJob(8, 1, 4096, 0, "sequential")), 60).stdout
    except MeasureError as error:
        pytest.skip(f"no sweep can be measured in the temporary folder: {error}")
    return found


@pytest.fixture
def quick(outputs: dict[int, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fio in no time: real outputs, printed again."""
    kept = {depth: output for depth, output in outputs.items() if depth}
    monkeypatch.setenv("PATH", quick_fio(tmp_path / "bin", kept, outputs[0], SIZE))


def sweep_plan(disk: Path, depths: tuple[int, ...] = DEPTHS, **more: object) -> FioPlan:
    settings = {"size_bytes": SIZE, "runtime_s": 0.1, "ramp_s": 0.0, **more}
    return plan_fio(disk, depths, **settings)  # type: ignore[arg-type]


def measure(disk: Path, out: Path) -> Sweep:
    return run_fio(sweep_plan(disk), out)


def kept_files(out: Path) -> dict[Path, bytes]:
    """Every file of the finished points, which can be read as a sweep."""
    files = finished_files(out)
    if files:
        store = SweepStore.read(out)
        assert len(read_fio_store(store).points) == len(store.contents().finished)
    elif (out / MANIFEST).exists():
        with pytest.raises(DataError, match="holds no finished point yet"):
            read_fio_store(SweepStore.read(out))
    return files


def check_after_a_fault(disk: Path, out: Path, before: dict[Path, bytes]) -> dict[Path, bytes]:
    """What must hold after any fault; the files of the finished points."""
    assert no_fio_left(disk)
    now = kept_files(out)
    assert {path: now.get(path) for path in before} == before
    check_target(disk, SIZE, writes=True)  # whatever file is there is ours to take
    return now


def check_finished(disk: Path, out: Path, before: dict[Path, bytes]) -> None:
    """The sweep is whole, what was finished before is untouched, and nothing is left over."""
    after = kept_files(out)
    assert len(after) == 2 * len(DEPTHS)
    assert {path: after.get(path) for path in before} == before
    assert list(disk.iterdir()) == []
    assert not list(out.rglob("*.tmp"))
    assert list(read_fio_store(SweepStore.read(out)).points["load"]) == list(DEPTHS)


def kill_at_random(disk: Path, tmp_path: Path, kills: int) -> int:
    """Kill a sweep, and what goes on with it, so many times; how many sweeps were finished meanwhile."""
    seed = time.time_ns() % 2**32
    print(f"seed {seed}")  # noqa: T201  (pytest shows it where the test fails)
    rng = random.Random(seed)
    started = time.monotonic()
    assert ended(forked(lambda: measure(disk, tmp_path / "whole"))) == 0
    life_s = time.monotonic() - started
    out, kept = tmp_path / "s0", {}
    killed = sweeps = 0
    while killed < kills:
        before = len(kept)
        pid = forked(lambda: measure(disk, out))  # noqa: B023  (run at once)
        time.sleep(rng.uniform(0, life_s))
        os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
        code = ended(pid)
        assert code in (0, -signal.SIGKILL)
        killed += code != 0
        kept = check_after_a_fault(disk, out, kept)
        if len(kept) == before:
            life_s *= 1.1  # where the machine has become slower, so that it goes on at all
        if len(kept) == 2 * len(DEPTHS):  # begin again: kills of a finished sweep teach little
            measure(disk, out)
            check_finished(disk, out, kept)
            sweeps += 1
            out, kept = tmp_path / f"s{sweeps}", {}
    measure(disk, out)
    check_finished(disk, out, kept)
    return sweeps


def test_kills_at_random_moments_under_real_fio(disk: Path, tmp_path: Path) -> None:
    assert kill_at_random(disk, tmp_path, 20) >= 1


def test_thirty_more_kills_at_random_moments_between_quick_points(disk: Path, tmp_path: Path, quick: None) -> None:
    assert kill_at_random(disk, tmp_path, 30) >= 3


def step_by_step(
    disk: Path, tmp_path: Path, kind: signal.Signals, code: int, more: tuple[int, ...] = (), stride: int = 1
) -> int:
    """Signal a sweep before its first step, its second..., and go on with each; how many steps a sweep has.

    ``more`` are the distances of further signals behind the first, ``code`` is the exit code that is expected.
    """
    first = random.randint(1, stride)  # other steps in every run of the tests
    print(f"from step {first}")  # noqa: T201
    for step in range(first, 500, stride):
        out = tmp_path / f"s{step}"
        begin = signalled_at_steps([step, *(step + n for n in more)], kind, tmp_path)

        def run(begin: Callable[[], None] = begin, out: Path = out) -> None:
            begin()
            measure(disk, out)

        got = ended(forked(run))
        kept = check_after_a_fault(disk, out, {})
        if got == 0:
            check_finished(disk, out, kept)
            return step - 1
        assert got == code, f"step {step}"
        if kind != signal.SIGKILL:
            assert list(disk.iterdir()) == [], f"step {step}"
        measure(disk, out)
        check_finished(disk, out, kept)
    raise AssertionError("the sweep never ended")


def test_a_kill_before_every_single_step(disk: Path, tmp_path: Path, quick: None) -> None:
    assert step_by_step(disk, tmp_path, signal.SIGKILL, -signal.SIGKILL) > 30


def test_ctrl_c_before_every_third_step(disk: Path, tmp_path: Path, quick: None) -> None:
    assert step_by_step(disk, tmp_path, signal.SIGINT, INTERRUPTED, stride=3) > 30


def test_ctrl_c_twice_before_every_fifth_step(disk: Path, tmp_path: Path, quick: None) -> None:
    assert step_by_step(disk, tmp_path, signal.SIGINT, INTERRUPTED, more=(1, 2), stride=5) > 30


@pytest.mark.parametrize("phase", ["writing the test file", "depth 2"])
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda k: k.name)
def test_a_signal_while_fio_works_stops_it_and_removes_the_file(
    disk: Path, tmp_path: Path, kind: signal.Signals, phase: str
) -> None:
    def signal_in_the_phase(_done: int, _total: int, _left_s: float, text: str) -> None:
        if text == phase:
            os.kill(os.getpid(), kind)

    out = tmp_path / "s"
    pid = forked(lambda: run_fio(sweep_plan(disk), out, signal_in_the_phase))
    assert ended(pid) == INTERRUPTED
    kept = check_after_a_fault(disk, out, {})
    assert len(kept) == (2 if phase == "depth 2" else 0)
    assert list(disk.iterdir()) == []
    measure(disk, out)
    check_finished(disk, out, kept)


@pytest.mark.parametrize(("hangup", "code"), [(signal.SIG_DFL, INTERRUPTED), (signal.SIG_IGN, 0)], ids=["", "nohup"])
def test_a_closed_terminal_interrupts_and_under_nohup_does_not(
    disk: Path, tmp_path: Path, repository: Path, hangup: signal.Handlers, code: int
) -> None:
    controller, terminal = pty.openpty()
    out = tmp_path / "s"

    def own_terminal() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, hangup)

    command = [*QSIM, "measure", "fio", str(disk)]
    command += ["--depths", "1,2", "--size", "4MiB", "--runtime", "1.5s", "--out", str(out)]
    with (
        (tmp_path / "stdout").open("wb") as stdout,
        subprocess.Popen(
            command,
            cwd=repository,
            stdin=terminal,
            stdout=stdout,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=own_terminal,  # noqa: PLW1509
        ) as program,
    ):
        os.close(terminal)
        deadline = time.monotonic() + 60
        while not fio_on(disk) or not (out / MANIFEST).exists():
            assert time.monotonic() < deadline
            assert program.poll() is None
            time.sleep(0.05)
        os.close(controller)
        assert program.wait(timeout=60) == code
    check_after_a_fault(disk, out, {})
    assert list(disk.iterdir()) == []
    if code == 0:
        check_finished(disk, out, {})


# --- devices, files and folders that go -----------------------------------------------------------------------------


def during(text: str, act: Callable[[], object], tick: int = 2) -> Callable[[int, int, float, str], None]:
    """A progress callback that acts once, at that tick of ``text``: at the second one fio runs."""
    left = tick

    def report(_done: int, _total: int, _left_s: float, now: str) -> None:
        nonlocal left
        left -= now == text
        if now == text and left == 0:
            act()

    return report


def test_a_served_device_that_dies_fails_its_points_and_the_rest_is_measured_when_it_is_back(
    tmp_path: Path, require_tool: Callable[..., str]
) -> None:
    require_tool("nbdkit")
    socket = tmp_path / "socket"
    server = ["nbdkit", "--foreground", "--unix", str(socket), "memory", "16M"]
    plan = plan_fio(f"nbd+unix:///?socket={socket}", (1, 2, 4), runtime_s=0.6, ramp_s=0.0)

    def wait_for_it() -> None:
        deadline = time.monotonic() + 20
        while not socket.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    out = tmp_path / "s"
    with running(server) as child:
        wait_for_it()
        broken = run_fio(plan, out, during("depth 2", child.kill))
    kept = kept_files(out)
    assert list(broken.points["load"]) == [1]
    assert [(f.check, f.load) for f in broken.findings] == [("point-failed", 2), ("point-failed", 4)]
    socket.unlink()
    with running(server):
        wait_for_it()
        whole = run_fio(plan, out)
    assert list(whole.points["load"]) == [1, 2, 4]
    assert not whole.findings
    assert {path: path.read_bytes() for path in kept} == kept


def remove_file(file: Path) -> None:
    file.unlink()


def cut_file(file: Path) -> None:
    os.truncate(file, 4096)


def exchange_file(file: Path) -> None:
    file.rename(file.with_name("moved"))
    file.write_bytes(b"precious")


@pytest.mark.parametrize(
    ("harm", "sentence", "left"),
    [
        (remove_file, "has vanished while it was measured; start again", {}),
        (cut_file, "was changed by somebody else while it was measured; start again", {"qsim-test-file": 4096}),
        (exchange_file, "was changed by somebody else", {"qsim-test-file": len(b"precious")}),
    ],
)
def test_a_test_file_that_somebody_touches_stops_the_sweep(
    disk: Path, tmp_path: Path, harm: Callable[[Path], None], sentence: str, left: dict[str, int]
) -> None:
    out, file = tmp_path / "s", disk / "qsim-test-file"
    plan = sweep_plan(disk, runtime_s=0.6)
    with pytest.raises(UnsafeTargetError, match=sentence):
        run_fio(plan, out, during("depth 2", lambda: harm(file)))
    kept = kept_files(out)
    assert len(kept) == 2
    (disk / "moved").unlink(missing_ok=True)
    (disk / "qsim-test-file.qsim-target").unlink(missing_ok=not left)
    assert {p.name: p.stat().st_size for p in disk.iterdir()} == left  # without its seal it is not known to be ours
    assert harm is not exchange_file or file.read_bytes() == b"precious"
    file.unlink(missing_ok=True)
    run_fio(sweep_plan(disk, runtime_s=0.6), out)
    check_finished(disk, out, kept)


def test_a_sweep_directory_that_vanishes_is_said_and_the_test_file_removed(disk: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    with pytest.raises(StoreError, match=r"cannot keep point .*d2.*: .*/s has vanished"):
        run_fio(sweep_plan(disk, runtime_s=0.6), out, during("depth 2", lambda: shutil.rmtree(out)))
    assert list(disk.iterdir()) == []
    assert not out.exists()


@pytest.fixture
def root() -> None:
    if os.geteuid() != 0:
        pytest.skip("root alone mounts and makes loop devices: sudo make test-all")


def run_or_skip(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} does not work here: {done.stderr.strip()}")
    return done.stdout.strip()


# --- full disks and permissions -------------------------------------------------------------------------------------


@pytest.fixture
def own_filesystem(disk: Path, tmp_path: Path, root: None) -> Iterator[Path]:
    """An ext4 filesystem of 128 MiB on a loop device."""
    image, mounted = disk / "image", tmp_path / "mounted"
    with image.open("wb") as file:
        file.truncate(128 * MIB)
    run_or_skip("mkfs.ext4", "-q", "-F", str(image))
    mounted.mkdir()
    run_or_skip("mount", "-o", "loop", str(image), str(mounted))
    yield mounted
    subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def test_a_disk_that_fills_up_meanwhile_is_said_and_the_test_file_removed(own_filesystem: Path, tmp_path: Path) -> None:
    plan = sweep_plan(own_filesystem, size_bytes=24 * MIB)
    with (own_filesystem / "other").open("wb") as other:
        os.posix_fallocate(other.fileno(), 0, shutil.disk_usage(own_filesystem).free - 8 * MIB)
    with pytest.raises(ToolFailedError, match=r"could not be filled: .*No space left on device"):
        run_fio(plan, tmp_path / "s")
    assert {p.name for p in own_filesystem.iterdir()} == {"lost+found", "other"}
    (own_filesystem / "other").unlink()
    assert list(run_fio(plan, tmp_path / "s").points["load"]) == list(DEPTHS)
