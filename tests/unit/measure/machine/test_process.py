"""Programs are started without a shell, bounded in time, and never left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from measure.errors import ToolFailedError, ToolMissingError
from measure.machine.process import run_tool, running


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def alive(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/stat").open() as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid: int) -> bool:
    for _ in range(200):
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


def wait_for_pids(path: Path, count: int) -> list[int]:
    for _ in range(500):
        if path.exists() and len(pids := path.read_text().split()) == count:
            return [int(p) for p in pids]
        time.sleep(0.02)
    raise AssertionError(f"{path} was never written")


def test_output_and_exit_code_are_returned() -> None:
    done = run_tool(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), 30)
    assert (done.returncode, done.stdout, done.stderr, done.timed_out) == (3, b"out\n", b"err\n", False)
    assert done.started_at <= done.ended_at


def test_large_output_on_both_pipes_does_not_block() -> None:
    done = run_tool(python("import sys; sys.stderr.write('e' * 300000); sys.stdout.write('o' * 300000)"), 30)
    assert len(done.stdout) == len(done.stderr) == 300000


def test_more_output_than_is_kept_is_an_error_however_quickly_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("measure.machine.process.MAX_STDOUT_BYTES", 1000)
    monkeypatch.setattr("measure.machine.process.POLL_S", 1.0)  # the program has ended when it is looked at
    with pytest.raises(ToolFailedError, match="printed more than"):
        run_tool(python("print('o' * 5000)"), 30)


def test_no_shell_interprets_the_arguments(tmp_path: Path) -> None:
    done = run_tool([*python("import sys; print(sys.argv[1])"), f"$(touch {tmp_path}/x); `id`"], 30)
    assert done.stdout.decode() == f"$(touch {tmp_path}/x); `id`\n"
    assert not (tmp_path / "x").exists()


def test_a_missing_program_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolMissingError, match=r"fio is not installed.*apt-get install fio"):
        run_tool(["fio", "--version"], 5)


def test_a_signal_that_ends_the_program_is_its_negative_exit_code() -> None:
    assert run_tool(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), 30).returncode == -11


def test_a_program_that_ignores_sigterm_is_killed_with_its_workers(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('half', flush=True)\n"
        "child = os.fork()\n"
        f"if child: open({str(pids)!r} + '.t', 'w').write(f'{{os.getpid()}} {{child}}'); "
        f"os.rename({str(pids)!r} + '.t', {str(pids)!r})\n"
        "time.sleep(600)\n"
    )
    done = run_tool(python(code), timeout_s=2.0, grace_s=0.2)
    assert done.timed_out
    assert done.returncode == -9
    assert done.stdout == b"half\n"
    assert all(wait_gone(pid) for pid in wait_for_pids(pids, 2))


def test_workers_that_outlive_the_tool_are_killed(tmp_path: Path) -> None:
    code = "import os, time, sys\nc = os.fork()\nif c: print(c, flush=True); os._exit(0)\ntime.sleep(600)"
    done = run_tool(python(code), timeout_s=60)
    assert not done.timed_out
    assert wait_gone(int(done.stdout))


class Interrupt(BaseException):
    """Stands for Ctrl-C in a place that the test controls."""


def test_an_exception_in_a_callback_kills_the_program_first() -> None:
    seen: list[int] = []

    def interrupt(chunk: bytes) -> None:
        seen.append(int(chunk))
        raise Interrupt

    with pytest.raises(Interrupt):
        run_tool(python("import os, time; print(os.getpid(), flush=True); time.sleep(600)"), 60, on_output=interrupt)
    assert wait_gone(seen[0])


def test_a_background_program_is_stopped_when_its_block_fails() -> None:
    pids: list[int] = []

    def serve_and_fail() -> None:
        with running(python("import time; time.sleep(600)")) as child:
            pids.append(child.pid)
            assert alive(child.pid)
            raise Interrupt

    with pytest.raises(Interrupt):
        serve_and_fail()
    assert wait_gone(pids[0])


def test_the_kernel_kills_the_tool_when_this_program_is_killed(tmp_path: Path, repository: Path) -> None:
    pids = tmp_path / "pids"
    tool = f"import os, time; open({str(pids)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    parent = (
        f"import sys; from measure.machine.process import run_tool; run_tool([sys.executable, '-c', {tool!r}], 600)"
    )
    with subprocess.Popen([sys.executable, "-c", parent], cwd=repository) as process:
        tool_pid = wait_for_pids(pids, 1)[0]
        process.kill()
    assert wait_gone(tool_pid)


def test_output_printed_while_the_caller_was_busy_is_not_lost() -> None:
    slow = [1.0]

    def busy(_elapsed_s: float) -> None:
        if slow:  # longer than the program lives
            time.sleep(slow.pop())

    finished = run_tool(python("import time; time.sleep(0.5); print('the answer')"), 20.0, on_tick=busy)
    assert finished.stdout == b"the answer\n"
