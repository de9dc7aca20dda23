"""Runs programs that must end: own process group, hard time limit, no shell, no orphan.

Benchmark tools hang, ignore SIGTERM and fork workers. So each runs in its own session, and on a time limit, Ctrl-C
or an exception in a callback the whole group gets a signal, a short grace period, and is killed. Where this program
itself is killed outright, the kernel kills the tool (Linux, PR_SET_PDEATHSIG). Windows has no groups that take
signals: there only the program is ended, at once.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from measure.errors import ToolFailedError, ToolMissingError

HOW_TO_GET = {
    "fio": "Debian, Ubuntu: apt-get install fio; Fedora: dnf install fio",
    "nbdkit": "Debian, Ubuntu: apt-get install nbdkit; Fedora: dnf install nbdkit",
    "mlc": "Intel's web site, 'Memory Latency Checker'; unpack it and put Linux/mlc on PATH",
}

WITHOUT_MLC = (
    "the built-in probe (qsim measure memory --out DIR) measures latency against bandwidth over injected delays, idle "
    "latency and peak bandwidth on any CPU; it cannot give delays in core cycles or latencies with the hardware "
    "prefetchers switched off"
)

MAX_STDOUT_BYTES = 256 * 2**20
MAX_STDERR_BYTES = 2**20
TICK_S, POLL_S = 0.2, 0.01

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_LAST_WORDS_S = 1.0
"""Seconds to wait for output after a program has ended, from a child of its that is not in its group."""
_handles: dict[str, str] = {}


@contextmanager
def by_handle(path: Path, descriptor: int) -> Iterator[None]:
    """Let tools that start meanwhile open a held file by its descriptor (Linux).

    A tool then opens the held file even if another file has taken its name; its output is changed to show the name.
    """
    handle = f"/proc/{os.getpid()}/fd/{descriptor}"
    if os.path.exists(handle):
        _handles[str(path)] = handle
    try:
        yield
    finally:
        _handles.pop(str(path), None)


def _exchanged(text: bytes, names: Mapping[str, str]) -> bytes:
    for old, new in names.items():
        text = re.sub(re.escape(os.fsencode(old)) + rb"(?![\w.-])", lambda _, new=new: os.fsencode(new), text)  # type: ignore[misc]
    return text


class RunByCommand:
    """A planned point that one command measures."""

    argv: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command as it could be typed into a shell."""
        return shlex.join(self.argv)


@dataclass(frozen=True)
class Finished:
    """A program that has ended: its exit code (negative: the signal that ended it), output, and times (ISO 8601).

    ``ended_at`` is ``started_at`` plus the monotonic time that passed, so setting the clock does not change it.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    started_at: str
    ended_at: str
    timed_out: bool

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """The last line of stderr; "" where there is none."""
        return (self.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]

    def failure(self, name: str, tool: str, limit_s: float, lacks: Callable[[str], str]) -> str:
        """Why this run failed, in a sentence; "" where it did not. ``lacks`` says what is missing in its text."""
        if self.timed_out:
            return f"{name}: {tool} did not end within {limit_s:g} s and was stopped"
        if self.returncode < 0:
            return f"{name}: {tool} was ended by signal {-self.returncode}"
        failed = f"{name}: {tool} ended with exit code {self.returncode}" if self.returncode else ""
        return (failed if not self.text.strip() else "") or lacks(self.text) or failed


def find_tool(name: str) -> str:
    """The program's path. Raises ToolMissingError naming how to get it."""
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
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run ``argv`` to its end, or for at most ``timeout_s`` seconds, and return its output.

    ``on_output`` gets parts of stdout as they arrive, ``on_tick`` the seconds since the start a few times a second.
    After the time limit, and before any exception propagates, the process group gets SIGTERM and, if it still exists
    after ``grace_s``, SIGKILL. The caller judges the exit code. ``environment`` is added to that of this program.

    Raises ToolMissingError where the program does not exist, ToolFailedError where it cannot be started or prints
    more than 256 MiB.
    """
    handles = dict(_handles)
    opened = [os.fsdecode(_exchanged(os.fsencode(word), handles)) if "=" in word else word for word in argv[1:]]
    started_at, start = datetime.now(UTC), time.monotonic()
    stdout, stderr = bytearray(), bytearray()
    passed_s = told_s = 0.0
    passed_on = 0
    with running([argv[0], *opened], cwd, grace_s, environment=environment) as child:
        readers = [_reader(child.stdout, stdout, MAX_STDOUT_BYTES + 1), _reader(child.stderr, stderr, MAX_STDERR_BYTES)]
        while not (ended := _ended(child)) and passed_s < timeout_s and len(stdout) <= MAX_STDOUT_BYTES:
            time.sleep(POLL_S)
            passed_s = time.monotonic() - start
            if on_output is not None and len(stdout) > passed_on:
                part = bytes(stdout[passed_on:])
                passed_on += len(part)
                on_output(part)
            if on_tick is not None and passed_s > told_s:
                told_s = passed_s + TICK_S
                on_tick(passed_s)
        _stop(child, grace_s)
        for reader in readers:
            reader.join(_LAST_WORDS_S)
        if len(stdout) > MAX_STDOUT_BYTES:
            raise ToolFailedError(
                f"{argv[0]} printed more than {MAX_STDOUT_BYTES >> 20} MiB and was stopped; "
                "ask it for less output (fewer points, no per-I/O logs)"
            )
        if on_output is not None and len(stdout) > passed_on:
            on_output(bytes(stdout[passed_on:]))
    ended_at = started_at + timedelta(seconds=time.monotonic() - start)
    names = {handle: path for path, handle in handles.items()}
    printed, complaints = _exchanged(bytes(stdout), names), _exchanged(bytes(stderr), names)
    return Finished(child.returncode, printed, complaints, _iso(started_at), _iso(ended_at), not ended)


def _reader(pipe: IO[bytes] | None, into: bytearray, most: int) -> threading.Thread:
    """Start a thread that reads a pipe to its end, and drops everything after ``most`` bytes."""

    def read() -> None:
        with suppress(OSError, ValueError):  # the pipe was closed while a program of another group held it open
            while pipe is not None and (chunk := pipe.read(1 << 16)):
                if len(into) < most:
                    into.extend(chunk)

    thread = threading.Thread(target=read, name="output", daemon=True)
    thread.start()
    return thread


@contextmanager
def running(
    argv: Sequence[str],
    cwd: Path | None = None,
    grace_s: float = 2.0,
    timer_slack_ns: int | None = None,
    *,
    environment: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a background program (a server); it is stopped with its group when the block ends.

    ``timer_slack_ns`` is the delay that the kernel may add to the program's sleeps (Linux: 50 us by default).
    Raises ToolMissingError where the program does not exist, ToolFailedError where it cannot be started.
    """
    program = find_tool(argv[0])
    try:
        child = subprocess.Popen(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=None if environment is None else {**os.environ, **environment},
            bufsize=0,
            start_new_session=True,
            preexec_fn=_die_with_parent(timer_slack_ns),  # noqa: PLW1509 - system calls only, no lock is taken
        )
    except OSError as error:
        raise ToolFailedError(f"{program} cannot be started: {error.strerror or error}") from error
    with child:
        try:
            yield child
        finally:
            # A second Ctrl-C during the grace must not leave the group behind.
            try:
                _stop(child, grace_s)
            finally:
                _signal(child, "SIGKILL")


def _die_with_parent(timer_slack_ns: int | None) -> Callable[[], None] | None:
    """The function that a new process runs before it executes the program, on Linux; None elsewhere."""
    if platform.system() != "Linux":
        return None
    parent, prctl = os.getpid(), ctypes.CDLL(None).prctl

    def prepare() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if timer_slack_ns is not None:
            prctl(_PR_SET_TIMERSLACK, timer_slack_ns)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(127)

    return prepare


def end_with_parent() -> None:
    """End this process of a pool when the process that started it ends, also where that one is killed.

    This module is light: a worker calls it before it imports what it computes with, which takes seconds.
    """
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the program has ended, if possible without reaping it, so that its group's number is not reused."""
    if child.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _stop(child: subprocess.Popen[bytes], grace_s: float) -> None:
    """Signal a running program, wait for the grace period, and kill its group, with workers of an ended program."""
    if not _ended(child):
        _signal(child, "SIGTERM")
        limit = time.monotonic() + grace_s
        while not _ended(child) and time.monotonic() < limit:
            time.sleep(POLL_S)
    _signal(child, "SIGKILL")


def _signal(child: subprocess.Popen[bytes], name: str) -> None:
    if child.returncode is not None and hasattr(os, "waitid"):  # reaped: the number may have been reused
        return
    if not hasattr(os, "killpg"):
        child.kill()
        return
    try:
        os.killpg(child.pid, getattr(signal, name))
    except ProcessLookupError:
        return
    except PermissionError:
        if platform.system() != "Darwin":  # macOS reports this for a group whose members have all ended
            raise


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")


def now() -> str:
    """The time of day, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
