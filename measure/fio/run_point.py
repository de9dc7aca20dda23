"""One point of a fio sweep, run: it settles where that was asked for, is measured, and it is said why it failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from measure.fio.plan import FioPlan, FioPoint
from measure.fio.points import request_of, why_no_point
from measure.fio.request_logs import SUFFIX, joined_log
from measure.fio.settling import read_settled
from measure.fio.workload import FioJob
from measure.formats.fio.intervals import run_with_intervals
from measure.machine.process import Finished, run_tool
from measure.machine.scheduling_delay import NOTE, Wakeups
from measure.store.measuring import Outcome, Tick, printed


def run_point(plan: FioPlan, point: FioPoint, tick: Tick, folder: Path) -> Outcome:
    """Run ``point`` as ``plan`` says; a run that does not settle in its time is measured all the same.

    ``folder`` is where fio may write its logs, into a folder of the point.
    """
    text = point.describe()
    notes: dict[str, Any] = {}

    def outcome(finished: Finished, reason: str) -> Outcome:
        if plan.preconditioned:
            notes["preconditioned"] = plan.preconditioned
        return printed(finished, reason, point.command, request_of(point.job, point.repeat), **notes)

    if plan.settling is not None:
        finished = run_tool(
            plan.settling.command(point.argv), plan.settling.limit_s,
            cwd=folder if plan.log else None, on_tick=lambda _: tick(f"{text}, settling"),
        )  # fmt: skip
        told = read_settled(finished.text)
        reason = why_failed(finished, f"{point.key}, settling", point.job, plan.settling.limit_s)
        if reason or told is None:
            return outcome(finished, reason or f"{point.key}: fio told nothing of the steady state it was to reach")
        notes["settled"] = told.to_dict()
    folder = folder / point.key  # a name of its own, which is then no option that points share
    folder.mkdir()
    with Wakeups() as woken:
        finished, intervals = run_with_intervals(
            point.argv, plan.runtime_s, plan.point_limit_s, folder, on_tick=lambda _: tick(text)
        )
    if late := woken.lateness():
        notes[NOTE] = late.to_dict()
    if len(intervals):
        notes["intervals"] = intervals.to_dict()
    reason = why_failed(finished, point.key, point.job, plan.point_limit_s)
    log = joined_log(folder) if plan.log else None
    if plan.log and log is None and not reason:
        reason = f"{point.key}: fio wrote no log of its requests"
    return replace(outcome(finished, reason), attached={SUFFIX: log} if log else {})


def why_failed(finished: Finished, name: str, job: FioJob, limit_s: float) -> str:
    """One sentence, or "" where fio ended well and its output is a usable point of ``job``."""
    reason = finished.failure(name, "fio", limit_s, lambda text: why_no_point(text, name, job))
    return f"{reason} ({finished.complaint})" if reason and finished.complaint else reason
