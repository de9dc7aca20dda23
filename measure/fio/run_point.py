"""One point of a fio sweep, run: it settles where that was asked for, is measured, and it is said why it failed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure.fio.plan import FioPlan, FioPoint
from measure.fio.points import why_no_point
from measure.fio.request_logs import emptied, joined_log
from measure.fio.settling import read_settled
from measure.fio.workload import FioJob
from measure.formats.fio.intervals import run_with_intervals
from measure.machine.process import Finished, run_tool
from measure.machine.scheduling_delay import NOTE, Wakeups

Tick = Callable[[float, str], None]
"""Called with the seconds since the point began, and what is being done."""


@dataclass(frozen=True)
class PointRun:
    """How fio ended, why that is no point (empty: it is one), and what its record keeps beside what fio printed."""

    finished: Finished
    reason: str
    notes: Mapping[str, Any] = field(default_factory=dict)
    log: Path | None = None


def run_point(plan: FioPlan, point: FioPoint, on_tick: Tick, folder: Path) -> PointRun:
    """Run ``point`` as ``plan`` says; a run that does not settle in its time is measured all the same.

    ``folder`` is where fio may write its logs.
    """
    start, text = time.monotonic(), point_text(point)
    notes: dict[str, Any] = {}
    if plan.settling is not None:
        finished = run_tool(
            plan.settling.command(point.argv), plan.settling.limit_s,
            cwd=folder if plan.log else None,
            on_tick=lambda _: on_tick(time.monotonic() - start, f"{text}, settling"),
        )  # fmt: skip
        told = read_settled(finished.stdout.decode("utf-8", "replace"))
        reason = why_failed(finished, f"{point.key}, settling", point.job, plan.settling.limit_s)
        if reason or told is None:
            return PointRun(finished, reason or f"{point.key}: fio told nothing of the steady state it was to reach")
        notes["settled"] = told.to_dict()
    emptied(folder)
    with Wakeups() as woken:
        finished, intervals = run_with_intervals(
            point.argv, plan.runtime_s, plan.point_limit_s, folder,
            on_tick=lambda _: on_tick(time.monotonic() - start, text),
        )  # fmt: skip
    if late := woken.lateness():
        notes[NOTE] = late.to_dict()
    if len(intervals):
        notes["intervals"] = intervals.to_dict()
    reason = why_failed(finished, point.key, point.job, plan.point_limit_s)
    log = joined_log(folder) if plan.log else None
    if plan.log and log is None and not reason:
        reason = f"{point.key}: fio wrote no log of its requests"
    return PointRun(finished, reason, notes, log)


def point_text(point: FioPoint) -> str:
    """The point in words."""
    return point.job.load_text + (f", repeat {point.repeat + 1}" if point.repeat else "")


def why_failed(finished: Finished, name: str, job: FioJob, limit_s: float) -> str:
    """One sentence, or "" where fio ended well and its output is a usable point of ``job``."""
    if finished.timed_out:
        reason = f"{name}: fio did not end within {limit_s:g} s and was stopped"
    elif finished.returncode < 0:
        reason = f"{name}: fio was ended by signal {-finished.returncode}"
    else:
        reason = why_no_point(finished.stdout.decode("utf-8", "replace"), name, job)
        if not reason and finished.returncode > 0:
            reason = f"{name}: fio ended with exit code {finished.returncode}"
    if not reason:
        return ""
    said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{reason} ({said[-1]})" if said else reason
