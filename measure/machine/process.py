"""Running a program so that it ends: own process group, hard time limit, no shell, no orphan.

Benchmark tools hang, ignore SIGTERM and fork workers. So each runs in its own session, and whatever happens (time
limit, Ctrl-C, an exception in a callback) the whole group gets a signal, a short grace, and is killed. Where
this program itself is killed outright, the kernel kills the tool (Linux, PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import ctypes
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure.errors import ToolFailedError, ToolMissingError

HOW_TO_GET = {
    "fio": "Debian, Ubuntu: apt-get install fio; Fedora: dnf install fio",
    "nbdkit": "Debian, Ubuntu: apt-get install nbdkit; Fedora: dnf install nbdkit",
    "mlc": "Intel's web site, 'Memory Latency Checker'; unpack it and put Linux/mlc on PATH",
}

WITHOUT_MLC = (
    "without it, the built-in probe (qsim measure memory --out DIR) measures latency against bandwidth over injected "
    "delays, idle latency and peak bandwidth on any CPU; it cannot give the matrices of latency and bandwidth between "
    "memory nodes, delays in core cycles, or latencies with the hardware prefetchers switched off"
)

MAX_STDOUT_BYTES = 256 * 2**20
MAX_STDERR_BYTES = 2**20
TICK_S = 0.2

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Finished:
    """A program that has ended: its exit code (negative: the signal that ended it), output, and times (ISO 8601).

    ``ended_at`` is ``started_at`` and the time that passed: a clock that is set meanwhile does not move it.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    started_at: str
    ended_at: str
    timed_out: bool

    @property
    def text(self) -> str:
        """What it printed."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """The last line that it printed to stderr; "" where there is none."""
        return (self.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]

    def failure(self, name: str, tool: str, limit_s: float, lacks: Callable[[str], str]) -> str:
        """Why this run is no result, in a sentence; "" where it is. ``lacks`` says what is missing in its text."""
        if self.timed_out:
            return f"{name}: {tool} did not end within {limit_s:g} s and was stopped"
        if self.returncode < 0:
            return f"{name}: {tool} was ended by signal {-self.returncode}"
        failed = f"{name}: {tool} ended with exit code {self.returncode}" if self.returncode else ""
        return lacks(self.text) or failed


def find_tool(name: str) -> str:
    """The program's path. Raises ToolMissingError that says how to get it."""
    path = shutil.which(name)
    if path is None:
        remedy = HOW_TO_GET.get(name, "install it and see that it is on PATH")
        raise ToolMissingError(f"{name} is not installed or not on PATH ({remedy})")
    return path


def run_tool(
    argv: Sequence[str],
    timeout_s: float,
    cwd: Path | None = None,
    on_output: Callable[[bytes], None] | None = None,
    *,
    on_tick: Callable[[float], None] | None = None,
    grace_s: float = 2.0,
) -> Finished:
    """Run ``argv`` to its end, or for at most ``timeout_s`` seconds, and return what it printed.

    ``on_output`` gets each chunk of stdout as it comes, ``on_tick`` the seconds since the start a few times a
    second. After the time limit, and before any exception propagates, the process group gets SIGTERM and, where it
    is still there after ``grace_s``, SIGKILL. The exit code is not judged here.

    Raises ToolMissingError where the program does not exist, ToolFailedError where it cannot be started or prints
    more than 256 MiB.
    """
    program = find_tool(argv[0])
    started_at, start = datetime.now(UTC), time.monotonic()
    with _started([program, *argv[1:]], cwd, grace_s) as child:
        stdout, stderr = bytearray(), bytearray()
        timed_out = False
        for chunk, is_stdout in _chunks(child, start + timeout_s, start, on_tick):
            if chunk is None:
                timed_out = True
                break
            if is_stdout:
                stdout += chunk
                if on_output is not None:
                    on_output(chunk)
            elif len(stderr) < MAX_STDERR_BYTES:
                stderr += chunk
            if len(stdout) > MAX_STDOUT_BYTES:
                raise ToolFailedError(
                    f"{argv[0]} printed more than {MAX_STDOUT_BYTES >> 20} MiB and was stopped; "
                    "ask it for less output (fewer points, no per-I/O logs)"
                )
        if timed_out:
            rest_out, rest_err = _stop(child, grace_s)
            stdout += rest_out
            stderr += rest_err
        returncode = _reap(child)
    ended_at = started_at + timedelta(seconds=time.monotonic() - start)
    return Finished(returncode, bytes(stdout), bytes(stderr), _iso(started_at), _iso(ended_at), timed_out)


@contextmanager
def running(
    argv: Sequence[str], cwd: Path | None = None, grace_s: float = 2.0, timer_slack_ns: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A background program (a server) that is stopped, group and all, when the block is left in whatever way.

    ``timer_slack_ns`` is how much later than asked the kernel may end the program's sleeps (Linux: 50 us by default).
    Raises ToolMissingError where the program does not exist, ToolFailedError where it cannot be started.
    """
    with _started([find_tool(argv[0]), *argv[1:]], cwd, grace_s, timer_slack_ns) as child:
        yield child


@contextmanager
def _started(
    argv: Sequence[str], cwd: Path | None, grace_s: float, timer_slack_ns: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if timer_slack_ns is not None:
            _libc.prctl(_PR_SET_TIMERSLACK, timer_slack_ns)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(127)

    try:
        child = subprocess.Popen(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
            start_new_session=True, preexec_fn=prepare,  # noqa: PLW1509 - system calls only, no lock is taken
        )  # fmt: skip
    except OSError as error:
        raise ToolFailedError(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    with child:
        try:
            yield child
        finally:
            # A second Ctrl-C during the grace must not leave the group behind.
            try:
                if not _ended(child):
                    _stop(child, grace_s)
            finally:
                _kill_group(child, signal.SIGKILL)


def _chunks(
    child: subprocess.Popen[bytes], deadline: float, start: float, on_tick: Callable[[float], None] | None
) -> Iterator[tuple[bytes | None, bool]]:
    """(chunk, is it stdout) until both pipes are closed or the program has ended; (None, ...) at the deadline."""
    with selectors.DefaultSelector() as selector:
        for pipe in (child.stdout, child.stderr):
            if pipe is not None and not pipe.closed:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, pipe is child.stdout)
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline:
                yield None, False
                return
            ended = _ended(child)  # asked first: what it printed before its end is then in the pipes
            events = selector.select(0 if ended else min(TICK_S, deadline - now))
            if on_tick is not None:
                on_tick(time.monotonic() - start)
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    yield chunk, bool(key.data)
                else:
                    selector.unregister(key.fileobj)
            # A grandchild may keep the pipes open after the tool has ended; its output is of no interest.
            if not events and ended:
                return
    while not _ended(child):
        if time.monotonic() >= deadline:
            yield None, False
            return
        time.sleep(0.01)


def _ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended, without reaping it: until it is reaped its group's number is not reused."""
    if child.returncode is not None:
        return True
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _stop(child: subprocess.Popen[bytes], grace_s: float) -> tuple[bytes, bytes]:
    """SIGTERM to the group, the grace, SIGKILL to the group; what it still printed meanwhile."""
    _kill_group(child, signal.SIGTERM)
    rest = {True: bytearray(), False: bytearray()}
    start = time.monotonic()
    for chunk, is_stdout in _chunks(child, start + grace_s, start, None):
        if chunk is None:
            break
        if len(rest[is_stdout]) < MAX_STDERR_BYTES:
            rest[is_stdout] += chunk
    _kill_group(child, signal.SIGKILL)
    return bytes(rest[True]), bytes(rest[False])


def _kill_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.returncode is not None:  # reaped: the number may belong to someone else by now
        return
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return


def _reap(child: subprocess.Popen[bytes]) -> int:
    """The exit code, after what is left of the group (workers of a dead tool) was killed."""
    while not _ended(child):
        time.sleep(0.01)
    _kill_group(child, signal.SIGKILL)
    return child.wait()


def is_alive(pid: int) -> bool:
    """Whether a process of this number may run, ours or another user's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # another user's, or a number that tells nothing
        return True
    return True


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")
