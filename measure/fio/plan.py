"""Plans a fio sweep: checks the target and the settings and builds every command; nothing runs.

iodepth is a closed population: N requests circle between fio and the device, each submitted when one completes.
Arrival rates are an open stream. A sweep holds one kind of load, over any block sizes, directions and patterns. The
engine depends on what this machine has; the target must pass the safety rules and fio's syntax of names. fio's options
are explained in :mod:`measure.fio.fio_command`.

Reads of blocks never written touch no medium, so a test file is always written once from end to end. The first
random writes after that are faster than later ones: the drive's map is in order, and its write cache empty. So before
random writes are measured, each block is written once more in random order, in blocks of the workload, for at most a
minute (SNIA Solid State Storage Performance Test Specification 2.0.2, 3.1: the workload's own writes).

A file is a part of its drive: the rest of the drive is not touched, and a small file on a large drive does not show
the state of a full drive.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from measure.errors import UnsafeTargetError
from measure.fio import fio_command
from measure.fio.fio_command import PROBE, FioJob
from measure.formats.fio.record import SYNC_ENGINES
from measure.loads import ArrivalRate, Depth
from measure.machine.contents import Contents
from measure.machine.host import io_uring_allowed, tool_version
from measure.machine.own_file import Target, held, is_own, measured_bytes
from measure.machine.process import RunByCommand, find_tool, run_tool
from measure.machine.safety import check_export, check_export_again, check_target, test_file, why_no_drive
from measure.units import counted, format_bytes, format_duration, format_rate
from qsim.errors import InvalidParameterError, must_be

USUAL = ("io_uring", "libaio", "posixaio", "psync")
DEFAULT_FILE_BYTES = 2**30


@dataclass(frozen=True)
class FioSettings:
    """The settings of a sweep. Raises ValueError naming the first invalid one.

    ``runtime_s``: seconds that each point is measured, after ``ramp_s`` that are not counted. ``size_bytes``: part of
    the target that is used: by default 1 GiB of qsim's own file, else all of the target, which is only read, and only
    with ``consent="read"``.

    ``keep`` keeps the test file. ``write_device`` is the name of a block device or an NBD export that may be written
    to, ``erase`` that of one whose data may be destroyed, see :mod:`measure.machine.safety`. ``label`` and ``details``
    go into the provenance.
    """

    runtime_s: float = 5.0
    ramp_s: float = 1.0
    size_bytes: int | None = None
    repeats: int = 1
    engine: Literal["auto", "probe"] = "auto"
    seed: int = 1
    consent: Literal["read"] | None = None
    keep: bool = False
    write_device: str | None = None
    erase: str | None = None
    label: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rules: tuple[tuple[str, bool, str], ...] = (
            ("runtime_s", 0.1 <= self.runtime_s <= 86400, "from 0.1 s to a day"),
            ("ramp_s", 0 <= self.ramp_s <= 86400, "from 0 s to a day"),
            ("repeats", 1 <= self.repeats <= 1000, "from 1 to 1000"),
            ("seed", 0 <= self.seed < 2**32, "a whole number from 0 to 4294967295"),
            ("size_bytes", self.size_bytes is None or self.size_bytes > 0, "a size such as 1 GiB"),
        )
        for name, holds, wanted in rules:
            must_be(holds, name, getattr(self, name), wanted)


def choose_engine(asked: Literal["auto", "probe"], workloads: Sequence[FioJob]) -> tuple[str, str]:
    """The I/O engine and the reason: the probe on request, else the first usable of a list.

    The list is io_uring, libaio, posixaio, psync. io_uring costs the least CPU per request; it is usable where fio has
    it and the kernel lets this process set up a ring (containers often do not). An open loop uses psync.
    """
    if asked == PROBE:
        return asked, "threads of this program, one request each"
    if workloads[0].is_open:
        return "psync", "each job submits one request at a time, at its own moments"
    listing = run_tool(["fio", "--enghelp"], timeout_s=10).text
    here = [e for e in USUAL if e in {line.strip() for line in listing.splitlines()[1:]}]
    granted, why = io_uring_allowed()
    if "io_uring" in here and granted:
        return "io_uring", "this fio has it and the kernel grants it"
    others = [engine for engine in here if engine != "io_uring"]
    if not others:
        problem = f": the fio of this machine has none of {', '.join(USUAL)}"
        raise InvalidParameterError("engine", problem, "install a complete fio")
    engine, reason = others[0], f"no io_uring: {why}" if "io_uring" in here else "this fio lacks io_uring"
    if engine in SYNC_ENGINES and any(w.depth > 1 for w in workloads):
        reason += "; it is synchronous, so a depth of N is N jobs with one request each"
    return engine, reason


def file_for(target: Path, settings: FioSettings, workloads: Sequence[FioJob]) -> Target:
    """The checked file or device for ``workloads``; UnsafeTargetError where it may not be used.

    Raises ValueError where it holds fewer blocks than a workload has outstanding.
    """
    _refuse_characters(str(target))
    file = check_target(
        target,
        settings.size_bytes or _default_size(target),
        writes=any(w.read_percent < 100 for w in workloads),
        consent=settings.consent,
        write_device=settings.write_device,
        erase=settings.erase,
    )
    _refuse_characters(str(file.path))
    size = file.size_bytes // 4096 * 4096
    for job in workloads:
        if size < job.block_bytes * job.depth:
            raise InvalidParameterError(
                "size_bytes",
                f"{format_bytes(size)} holds fewer than {job.depth} blocks of {format_bytes(job.block_bytes)}",
                "ask for a larger size or smaller depths",
                value=format_bytes(size),
            )
    return replace(file, size_bytes=size)


def _default_size(target: Path) -> int | None:
    """1 GiB for a new file; None, the whole target, for an existing one."""
    path = test_file(target)
    is_new = not os.path.exists(path) or (is_own(path) and not measured_bytes(path))
    return DEFAULT_FILE_BYTES if is_new else None


def _refuse_characters(path: str) -> None:
    """Reject a name with a colon (fio's separator) or $words (fio's variables): it could mean another file."""
    for character in ":\\$\"'\n\r":
        if character in path:
            raise UnsafeTargetError(
                f"target {path!r} contains {character!r}, which fio reads as something else; name a path without it"
            )
    if path != path.strip():
        raise UnsafeTargetError(f"target {path!r} begins or ends with a space, which fio drops; name a path without it")


SEQUENTIAL_BYTES_PER_S = 400e6  # for the estimates only
RANDOM_BYTES_PER_S = 50e6
SLOWEST_BYTES_PER_S = 2e6  # a drive slower than this counts as hung
LONGEST_RANDOM_S = 60.0


@dataclass(frozen=True)
class Pass:
    """One write pass of fio over the file: description, workload, command, estimated and longest duration (s)."""

    text: str
    job: FioJob
    argv: tuple[str, ...]
    seconds: float
    limit_s: float


def writes_at_random(workloads: Sequence[FioJob]) -> bool:
    """Whether any workload writes at random, so that the file is written at random first."""
    return any(w.read_percent < 100 and w.pattern == "random" for w in workloads)


def passes(file: Target | None, engine: str, workloads: Sequence[FioJob]) -> Iterator[Pass]:
    """The write passes that a test file still needs before the workloads; none for another target."""
    if file is None or file.kind != "own file":
        return
    size = file.size_bytes
    if not file.filled:
        whole = FioJob(8, 1, next(b for b in (2**20, 2**16, 4096) if size % b == 0), 0, "sequential")
        limit_s = 60.0 + size / SLOWEST_BYTES_PER_S
        command = pass_command(file, engine, whole)
        yield Pass("writing the test file", whole, command, size / SEQUENTIAL_BYTES_PER_S, limit_s)
    if writes_at_random(workloads) and not file.scattered:
        block = min(w.block_bytes for w in workloads if w.read_percent < 100)
        scatter = FioJob(32, 1, block, 0, "random")
        until = (f"--runtime={LONGEST_RANDOM_S:.0f}s", "--allow_file_create=0")
        seconds = min(LONGEST_RANDOM_S, size / RANDOM_BYTES_PER_S)
        command = (*pass_command(file, engine, scatter), *until)
        yield Pass("writing it at random", scatter, command, seconds, LONGEST_RANDOM_S + 60.0)


def pass_command(file: Target, engine: str, job: FioJob) -> tuple[str, ...]:
    """The command that writes each block once, with data that no drive can compress."""
    return (
        *fio_command.program(engine),
        "--output-format=json",
        "--eta=never",
        "--name=fill",
        f"--filename={file.path}",
        f"--size={file.size_bytes}",
        f"--rw={job.rw}",
        f"--bs={job.block_bytes}",
        f"--ioengine={engine}",
        f"--iodepth={job.depth}",
        "--direct=1",
        "--thread=1",
        "--refill_buffers=1",
        "--end_fsync=1",
    )


DEFAULT_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
START_S = 0.6  # time that fio takes to start and to stop
SHORTEST_RUN_S = 0.5
GAPS = 10  # least number of mean gaps between the arrivals of one job, in a run of an open loop
MOST_THREADS = 1024  # of the probe
MARGIN_S = 15.0  # a point that exceeds its duration by this counts as hung


@dataclass(frozen=True)
class FioPoint(RunByCommand):
    """One point to be measured: its key in the store, its workload, and the exact command."""

    key: str
    job: FioJob
    repeat: int
    argv: tuple[str, ...]

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        return self.job.load_text + (f", repeat {self.repeat + 1}" if self.repeat else "")


@dataclass(frozen=True)
class FioPlan:
    """A checked plan of a sweep. ``file`` is None for a network block device (``uri``).

    ``engine_reason`` says why the engine was chosen; ``passes`` write to the file before all points; ``seen`` is what
    was seen of an export that is to be written.
    """

    points: tuple[FioPoint, ...]
    settings: FioSettings
    file: Target | None
    uri: str
    engine: str
    engine_reason: str
    fio_version: str
    passes: tuple[Pass, ...] = ()
    seen: Contents | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the target for a run; UnsafeTargetError where it cannot be held, or has changed since it was planned."""
        if self.file is None:
            check_export_again(self.seen)
            yield
            return
        with held(self.file, keep=self.settings.keep):
            yield

    @property
    def label(self) -> str:
        """The target in words."""
        return self.settings.label or (self.uri if self.file is None else str(self.file.path))

    @property
    def tool(self) -> str:
        """The tool that measures and tags the directory: fio, or the drive probe."""
        return "drive" if self.engine == PROBE else "fio"

    @property
    def is_open(self) -> bool:
        """Whether the points are arrival rates, not depths."""
        return all(point.job.is_open for point in self.points)

    @property
    def point_limit_s(self) -> float:
        """The hard time limit of one point, seconds."""
        stagger = max(fio_command.stagger_s(p.job) for p in self.points)
        return stagger + self.settings.ramp_s + self.settings.runtime_s + max(MARGIN_S, 0.5 * self.settings.runtime_s)

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order, as it could be typed into a shell."""
        return (*(shlex.join(p.argv) for p in self.passes), *(p.command for p in self.points))

    def point(self, job: FioJob, repeat: int) -> FioPoint:
        """The point of a workload and repeat, with the command by which this plan measures it."""
        key = f"{job.key}.r{repeat}"
        settings = self.settings
        common = fio_command.common_options(self.file, self.uri, self.engine, settings.runtime_s, settings.ramp_s)
        return FioPoint(key, job, repeat, fio_command.point_command(key, job, self.engine, common, settings.seed))

    def fill_seconds(self) -> float:
        """Estimated seconds for writing the file before all points."""
        return sum(p.seconds + START_S for p in self.passes)

    def seconds(self, finished: Collection[str] = ()) -> float:
        """Estimated seconds of the sweep, without the points whose keys are ``finished``."""
        missing = [p for p in self.points if p.key not in finished]
        each = len(missing) * self.point_seconds + sum(fio_command.stagger_s(p.job) for p in missing)
        return self.fill_seconds() + each if missing else 0.0

    def together_seconds(self) -> float:
        """Seconds that all points take in one process of fio, without filling the file."""
        return START_S + len(self.points) * (self.settings.ramp_s + self.settings.runtime_s)

    @property
    def point_seconds(self) -> float:
        """Seconds that one point takes once its jobs have started."""
        return self.settings.ramp_s + self.settings.runtime_s + START_S

    def describe(self) -> str:
        """The plan in words."""
        settings = self.settings
        what = self.label
        if self.file is not None:
            what += {
                "own file": f": a test file of {format_bytes(self.file.size_bytes)}, "
                + ("kept" if settings.keep else "removed at the end"),
                "foreign file": ": only read",
                "block device": ": written" if self.file.writable else ": only read",
            }[self.file.kind]
        writing = ", ".join(p.text for p in self.passes)
        writing = f"\nfirst {writing}: about {format_duration(self.fill_seconds(), 2)}" if writing else ""
        each = f"{format_duration(settings.runtime_s)} each after {format_duration(settings.ramp_s)} of ramp"
        return (
            f"{what}\n{counted(len(self.points), 'point')}, {each}{writing}\n"
            f"engine {self.engine}: {self.engine_reason}\nabout {format_duration(self.seconds(), 2)} in all"
        )

    def fixed(self) -> dict[str, Any]:
        """The settings fixed for a directory, which can be resumed only with the same ones, with any workloads."""
        return {
            "target": self.label,
            "size_bytes": self.file.size_bytes if self.file else None,
            "engine": self.engine,
            "seed": self.settings.seed,
            "runtime_s": self.settings.runtime_s,
            "ramp_s": self.settings.ramp_s,
            "load_kind": (ArrivalRate if self.is_open else Depth).kind,
        }


def plan_fio(target: str | Path, depths: Sequence[int] = DEFAULT_DEPTHS, **more: Any) -> FioPlan:
    """Plan a sweep of ``target`` over every combination of values: depths or, open loop, ``arrival_rates``.

    ``block_bytes``, ``read_percent``, ``pattern``, ``jobs`` and ``arrival_rates``, each one value or several, are those
    of :func:`measure.fio.fio_command.combinations`; others are fields of :class:`measure.fio.plan.FioSettings`.
    The target, and the errors raised, are those of :func:`plan_workloads`.
    """
    settings = {name: more.pop(name) for name in list(more) if name in FioSettings.__dataclass_fields__}
    return plan_workloads(target, fio_command.combinations(depths, **more), FioSettings(**settings))


def plan_workloads(target: str | Path, workloads: Sequence[FioJob], settings: FioSettings | None = None) -> FioPlan:
    """Plan a sweep of ``target`` over any workloads, all closed or all open, measured with ``settings``.

    ``target`` is a file that does not exist yet, a directory, or see :mod:`measure.machine.safety`; ``nbd+unix:///?socket=PATH``
    names a network block device, which needs no file.

    Nothing is written. Raises ToolMissingError (no fio), ValueError (a setting, named), UnsafeTargetError.
    """
    settings = settings or FioSettings()
    workloads = list(dict.fromkeys(workloads))
    _check_workloads(workloads, settings)
    by_fio = settings.engine != PROBE
    if by_fio:
        find_tool("fio")
        if reason := why_no_drive(by_probe=False):
            raise UnsafeTargetError(reason)
    uri = str(target) if str(target).startswith(("nbd:", "nbd+unix:", "nbds:")) else ""
    file, seen = None, None
    if uri:
        if not by_fio:
            raise UnsafeTargetError(f"{uri} is a network block device, which the probe cannot measure; use fio")
        writes = any(w.read_percent < 100 for w in workloads)
        seen = check_export(uri, writes=writes, write_device=settings.write_device, erase=settings.erase)
        engine, reason = "nbd", "the target is a network block device"
    else:
        file = file_for(Path(target), settings, workloads)
        engine, reason = choose_engine(settings.engine, workloads)
    plan = FioPlan(
        (),
        settings,
        file,
        uri,
        engine,
        reason,
        (tool_version("fio") or "") if by_fio else "",
        tuple(passes(file, engine, workloads)),
        seen,
    )
    one_round = fio_command.in_order(workloads)
    points = (plan.point(job, repeat) for repeat in range(settings.repeats) for job in one_round)  # drift shows
    return replace(plan, points=tuple(points))


def _check_workloads(workloads: Sequence[FioJob], settings: FioSettings) -> None:
    """Raise ValueError where the workloads are not one sweep, or cannot be measured with ``settings``."""
    if not workloads:
        raise InvalidParameterError("workloads", "is empty", "give at least one")
    if settings.engine == PROBE:
        _check_probe(workloads, settings)
    if len({w.is_open for w in workloads}) > 1:
        raise InvalidParameterError(
            "workloads", "holds depths and arrival rates", "measure them into two directories, as two sweeps"
        )
    if not workloads[0].is_open:
        return
    ramp_s, runtime_s = settings.ramp_s, settings.runtime_s
    if ramp_s <= 0:
        remedy = "every job of an open loop begins with a request of its own, so give it a ramp of some 0.5 s"
        raise InvalidParameterError("ramp_s", f"is {ramp_s:g}", f"{remedy} that is not counted", value=ramp_s)
    for job in workloads:
        if runtime_s < (shortest_s := shortest_run_s(job, ramp_s)):
            remedy = (
                f"after a ramp of {ramp_s:g} s, {format_rate(job.load)} shared among {job.jobs} jobs take a runtime of "
                f"{math.ceil(10 * shortest_s) / 10:g} s at least"
            )
            raise InvalidParameterError("runtime_s", f"is {runtime_s:g}", remedy, value=runtime_s)


def _check_probe(workloads: Sequence[FioJob], settings: FioSettings) -> None:
    if workloads[0].is_open:
        raise InvalidParameterError(
            "engine", "is probe, which keeps depths of requests outstanding", "use fio for rates"
        )
    if most := next((w.outstanding for w in workloads if w.outstanding > MOST_THREADS), 0):
        raise InvalidParameterError(
            "depth", f"asks for {most} requests", f"the probe takes a thread for each, {MOST_THREADS} at most", most
        )


def shortest_run_s(job: FioJob, ramp_s: float) -> float:
    """The least runtime of a point, seconds.

    fio 3.33 loses the latencies of a job at a rate whose run is not longer than its ramp, counted from the request
    with which its ramp ends; so an open point runs for the ramp and several gaps between the arrivals of one job.
    """
    return max(SHORTEST_RUN_S, ramp_s + GAPS * job.jobs / job.load) if job.is_open else SHORTEST_RUN_S
