"""Adaptive sweeps of a drive with fio: the points are stored as in any sweep, and the search resumes from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from calibrate.next.adaptive import AdaptiveResult, AdaptiveStep, Search
from measure.errors import StoreError
from measure.fio.sweep import FioPlan, FioPoint, Progress, run_fio
from measure.fio.workload import FioJob
from measure.machine.durable import write_durably
from measure.store.directory import MANIFEST, SweepStore
from measure.sweep import Sweep

HISTORY = "adaptive.json"
"""Stored with the points: how each was chosen, and the knee after it."""
SCHEMA = "qsim-adaptive/1"


def adaptive_fio(
    plan: FioPlan,
    out_dir: Path,
    budget: int,
    *,
    tolerance: float = 0.1,
    on_progress: Progress | None = None,
    on_choice: Callable[[AdaptiveStep], None] | None = None,
) -> AdaptiveResult:
    """Find the knee in at most ``budget`` of the plan's points, measured into the sweep directory ``out_dir``.

    ``plan`` holds every depth that may be measured, of one workload. Points of it in the directory are taken first, so
    that an interrupted search resumes; the choices are stored with them. ``on_progress`` is that of ``run_fio``, over
    the budget; ``on_choice`` is called when a chosen load is about to be measured.

    Raises ValueError for a setting or a plan of several workloads, and what ``run_fio`` and ``adaptive`` raise.
    """
    jobs = workloads(plan)
    search = Search(budget, loads=list(jobs), tolerance=tolerance)
    curves = {_without_depth(p.key) for p in plan.points}

    def more(sweep: Sweep) -> Sequence[FioPoint]:
        # A directory may hold other workloads as well.
        mine = [_without_depth(str(source)) in curves for source in sweep.points["source"]]
        known = replace(sweep, points=sweep.points[mine])
        choice = search.after(known)
        if choice is None:
            return ()
        announced.append(choice)
        before = known.points.loc[known.points["load"] == choice.load, "repeat"]
        return [plan.point(jobs[choice.load], 0 if before.empty else int(before.max()) + 1)]

    first = search.after(None)
    begin = [plan.point(jobs[first.load], 0)] if first else []
    announced: list[AdaptiveStep] = [first] if first and not _is_stored(out_dir, begin[0]) else []

    def report(_done: int, _total: int, seconds_left: float, text: str) -> None:
        if on_progress is not None:
            behind = max(0, budget - len(search.steps) - 1)
            on_progress(len(search.steps), budget, seconds_left + behind * plan.point_seconds, text)
        while announced:  # once the measurement has begun, and nothing refuses it any more
            choice = announced.pop()
            if on_choice is not None:
                on_choice(choice)

    run_fio(replace(plan, points=tuple(begin)), out_dir, report, more)
    result = search.result()
    path = out_dir / HISTORY
    try:
        write_durably(path, json.dumps({"schema": SCHEMA, **result.to_dict()}, indent=1).encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error
    return result


def workloads(plan: FioPlan) -> dict[float, FioJob]:
    """The plan's workloads by their load. ValueError where more than the depth varies."""
    if plan.is_open or len({p.job.curve for p in plan.points}) > 1:
        raise ValueError("an adaptive sweep varies the depth alone; give one block size, share of reads and pattern")
    return {p.job.load: p.job for p in plan.points}


def _without_depth(key: str) -> str:
    return re.sub(r"-d\d+-", "-", key.rpartition(".r")[0])


def _is_stored(out_dir: Path, point: FioPoint) -> bool:
    return (out_dir / MANIFEST).exists() and point.key in SweepStore.read(out_dir).finished()
