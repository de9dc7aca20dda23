"""Planning a fio sweep: the target and the settings are checked and every command is written down; nothing runs.

iodepth is a closed population: N requests circle between fio and the device, each submitted when one completes.
Arrival rates are an open stream. A sweep holds one kind of load, over any block sizes, directions and patterns. What
fio is asked for, and why, is in :mod:`measure.fio.command`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure.errors import UnsafeTargetError
from measure.fio.command import PROBE, common_options, point_command, stagger_s
from measure.fio.preconditioning import Pass, passes
from measure.fio.settings import FioSettings, choose_engine, file_for
from measure.fio.workload import FioJob, combinations, in_order
from measure.machine.host import tool_version
from measure.machine.own_file import Target
from measure.machine.process import find_tool
from measure.machine.safety import check_export, why_no_drive
from measure.units import counted, format_bytes, format_duration, format_rate
from qsim.errors import InvalidParameterError

DEFAULT_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
START_S = 0.6  # what fio takes to start and to stop
SHORTEST_RUN_S = 0.5
GAPS = 10  # between the arrivals of one job of an open loop, in the shortest of runs
MOST_THREADS = 1024  # of the probe
MARGIN_S = 15.0  # how much longer than asked a point may take before it counts as hung


@dataclass(frozen=True)
class FioPoint:
    """One point to be measured: its key in the store, what it asks for, and the exact command."""

    key: str
    job: FioJob
    repeat: int
    argv: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command as it could be typed into a shell."""
        return shlex.join(self.argv)

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        return self.job.load_text + (f", repeat {self.repeat + 1}" if self.repeat else "")


@dataclass(frozen=True)
class FioPlan:
    """What will be done, before anything is done. ``file`` is None for a network block device (``uri``).

    ``engine_reason`` says why the engine was chosen; ``passes`` write to the file before all points.
    """

    points: tuple[FioPoint, ...]
    settings: FioSettings
    file: Target | None
    uri: str
    engine: str
    engine_reason: str
    fio_version: str
    passes: tuple[Pass, ...] = ()

    @property
    def label(self) -> str:
        """The target in words."""
        return self.settings.label or (self.uri if self.file is None else str(self.file.path))

    @property
    def tool(self) -> str:
        """What measures, and marks the directory: fio, or the drive probe."""
        return "drive" if self.engine == PROBE else "fio"

    @property
    def is_open(self) -> bool:
        """Whether the points are arrival rates, not depths."""
        return self.points[0].job.is_open

    @property
    def point_limit_s(self) -> float:
        """The hard time limit of one point."""
        stagger = max(stagger_s(p.job) for p in self.points)
        return stagger + self.settings.ramp_s + self.settings.runtime_s + max(MARGIN_S, 0.5 * self.settings.runtime_s)

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order, as it could be typed into a shell."""
        return (*(shlex.join(p.argv) for p in self.passes), *(p.command for p in self.points))

    def point(self, job: FioJob, repeat: int) -> FioPoint:
        """The point of a workload and repeat, with the command by which this plan measures it."""
        key = f"{job.key}.r{repeat}"
        settings = self.settings
        common = common_options(self.file, self.uri, self.engine, settings.runtime_s, settings.ramp_s)
        return FioPoint(key, job, repeat, point_command(key, job, self.engine, common, settings.seed))

    def fill_seconds(self) -> float:
        """How long the writing of the file before all points will about take."""
        return sum(p.seconds + START_S for p in self.passes)

    def seconds(self, finished: Collection[str] = ()) -> float:
        """How long the sweep will about take, without the points (their keys) that are ``finished``."""
        missing = [p for p in self.points if p.key not in finished]
        each = len(missing) * self.point_seconds + sum(stagger_s(p.job) for p in missing)
        return self.fill_seconds() + each if missing else 0.0

    def together_seconds(self) -> float:
        """How long all points take in one process of fio, without the filling."""
        return START_S + len(self.points) * (self.settings.ramp_s + self.settings.runtime_s)

    @property
    def point_seconds(self) -> float:
        """How long one point takes once its jobs have started."""
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
        writing = f"\nfirst {writing}: about {format_duration(self.fill_seconds())}" if writing else ""
        each = f"{format_duration(settings.runtime_s)} each after {format_duration(settings.ramp_s)} of ramp"
        return (
            f"{what}\n{counted(len(self.points), 'point')}, {each}{writing}\n"
            f"engine {self.engine}: {self.engine_reason}\nabout {format_duration(self.seconds())} in all"
        )

    def fixed(self) -> dict[str, Any]:
        """What is fixed over a directory, which can be continued with the same settings only, by any workloads."""
        return {
            "target": self.label,
            "size_bytes": self.file.size_bytes if self.file else None,
            "engine": self.engine,
            "seed": self.settings.seed,
            "runtime_s": self.settings.runtime_s,
            "ramp_s": self.settings.ramp_s,
            "load_kind": "arrival_rate" if self.is_open else "queue_depth",
        }


def plan_fio(target: str | Path, depths: Sequence[int] = DEFAULT_DEPTHS, **more: Any) -> FioPlan:
    """A sweep of ``target`` over every combination of what is given: depths or, open loop, ``arrival_rates``.

    ``block_bytes``, ``read_percent``, ``pattern``, ``jobs`` and ``arrival_rates``, each one value or several, are those
    of :func:`measure.fio.workload.combinations`; all else are fields of :class:`measure.fio.settings.FioSettings`.
    The rest is as in :func:`plan_workloads`, and so are the errors raised.
    """
    settings = {name: more.pop(name) for name in list(more) if name in FioSettings.__dataclass_fields__}
    return plan_workloads(target, combinations(depths, **more), FioSettings(**settings))


def plan_workloads(target: str | Path, workloads: Sequence[FioJob], settings: FioSettings | None = None) -> FioPlan:
    """A sweep of ``target`` over any workloads, all closed or all open, measured by ``settings``.

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
    file = None
    if uri:
        if not by_fio:
            raise UnsafeTargetError(f"{uri} is a network block device, which the probe cannot measure; use fio")
        writes = any(w.read_percent < 100 for w in workloads)
        check_export(uri, writes=writes, write_device=settings.write_device, erase=settings.erase)
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
    )
    rounds = [(job, repeat) for repeat in range(settings.repeats) for job in in_order(workloads)]  # drift shows
    return replace(plan, points=tuple(plan.point(job, repeat) for job, repeat in rounds))


def _check_workloads(workloads: Sequence[FioJob], settings: FioSettings) -> None:
    """ValueError where the workloads are no sweep, or cannot be measured by ``settings``."""
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
    """The least runtime of a point.

    fio 3.33 loses the latencies of a job at a rate whose run is not longer than its ramp, counted from the request
    with which its ramp ends; so an open point runs for the ramp and several gaps between the arrivals of one job.
    """
    return max(SHORTEST_RUN_S, ramp_s + GAPS * job.jobs / job.load) if job.is_open else SHORTEST_RUN_S
