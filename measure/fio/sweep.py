"""Measuring a drive with fio: ``plan_fio``, ``run_fio``, and ``read_fio_store`` to read the sweep back.

One fio process per point; each finished point is stored before the next begins, so that a sweep can be stopped at any
moment and goes on where it was. What fio is asked for, and why, is in :mod:`measure.fio.command`.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from measure.errors import DataError, ToolFailedError
from measure.findings import Finding
from measure.fio.device_log import with_served
from measure.fio.engines import choose_engine
from measure.fio.plan import DEFAULT_DEPTHS, START_S, FioPlan, FioPoint, plan_fio, plan_workloads
from measure.fio.points import job_of, measured, place, request_of, why_no_point
from measure.fio.preconditioning import Pass
from measure.fio.request_logs import SUFFIX as LOG_SUFFIX
from measure.fio.request_logs import check_room, log_folder
from measure.fio.run_point import PointRun, Tick, run_point
from measure.fio.workload import FioJob
from measure.formats.fio.sweep import sweep_of_points
from measure.machine.host import host_facts, storage_behind
from measure.machine.own_file import check_unchanged, held, mark_filled, remove_leftover
from measure.machine.process import run_tool
from measure.progress import Progress, silent
from measure.store.directory import MANIFEST, SweepStore
from measure.store.point_records import failure, keep_point, kept_points, provenance_of
from measure.store.stored_point import StoredPoint
from measure.sweep import Provenance, Sweep

__all__ = [
    "DEFAULT_DEPTHS",
    "FioJob",
    "FioPlan",
    "FioPoint",
    "More",
    "Progress",
    "choose_engine",
    "plan_fio",
    "plan_workloads",
    "read_fio_store",
    "run_fio",
]

TOOL = "fio"
More = Callable[[Sweep], Sequence[FioPoint]]


def run_fio(plan: FioPlan, out_dir: Path, on_progress: Progress | None = None, more: More | None = None) -> Sweep:
    """Measure what is missing of ``plan`` in the sweep directory ``out_dir``, and return all of it.

    When all is measured, ``more(sweep)`` is asked for further points of this plan (``plan.point(job, repeat)``), which
    are measured on the same file, and again, until it names no point that is new.

    A point that fails (crash, hang, I/O error) is recorded with its stderr and the sweep goes on; Ctrl-C keeps every
    finished point. The test file is removed at the end, whatever happens, unless the plan keeps it.
    ``on_progress(done, total, seconds_left, text)`` is called a few times a second.

    Raises StoreError (the directory holds something else), UnsafeTargetError, ToolMissingError, ToolFailedError
    (the file cannot be filled, or no point at all could be measured).
    """
    report = on_progress or silent
    store = _open_store(plan, out_dir) if (out_dir / MANIFEST).exists() else None
    if store is not None and not _missing(plan, store):
        plan = _with_more(plan, store, more)
    if store is None or _missing(plan, store):
        with held(plan.file, keep=plan.keep) if plan.file is not None else nullcontext():
            store = store or _open_store(plan, out_dir)
            with store.locked():
                plan = _measure_all(plan, store, more, report)
    elif plan.file is not None and not plan.keep:
        remove_leftover(plan.file)  # of a run that was killed behind its last point
    report(len(plan.points), len(plan.points), 0.0, "done")
    sweep = read_fio_store(store)
    store.write_table(sweep.points.to_csv(index=False))
    return sweep


def read_fio_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_fio`` keeps in a directory: the finished points, and a finding for each that failed.

    Raises DataError where no point is finished, StoreError where the directory is damaged.
    """
    kept = kept_points(store)
    finished = kept.finished
    placed, noticed = place(m for point in finished for m in measured(point))
    if not placed:
        raise DataError(f"{store.directory} holds no usable point: {noticed[0].message} {noticed[0].remedy}")
    sweep = sweep_of_points(placed, [*map(_failure, kept.failed), *store.findings(), *noticed])
    is_open = job_of(finished[0]).is_open
    known = provenance_of(store, finished)
    provenance = replace(known, details={**sweep.provenance.details, **known.details})
    points = with_served(sweep.points, store, finished)
    raw = tuple(path for p in finished for path in (p.raw, *p.attached) if path is not None)
    return replace(
        sweep, points=points, provenance=provenance, raw=raw, name=store.directory.name,
        load_kind="arrival_rate" if is_open else "queue_depth", load_unit="requests/s" if is_open else "requests",
    )  # fmt: skip


def _open_store(plan: FioPlan, out_dir: Path) -> SweepStore:
    return SweepStore.create(out_dir, TOOL, plan.settings(), _provenance(plan).to_dict())


def _missing(plan: FioPlan, store: SweepStore) -> list[FioPoint]:
    done = store.finished()
    return [point for point in plan.points if point.key not in done]


def _with_more(plan: FioPlan, store: SweepStore, more: More | None) -> FioPlan:
    """The plan with the points that ``more`` adds to it; the same where it adds none."""
    if more is None:
        return plan
    known = {p.key for p in plan.points}
    new = {p.key: p for p in more(read_fio_store(store)) if p.key not in known}
    return replace(plan, points=(*plan.points, *new.values()))


def _measure_all(plan: FioPlan, store: SweepStore, more: More | None, report: Progress) -> FioPlan:
    """Prepare the file, measure what is missing and what ``more`` adds; the plan with all that was added."""
    missing = _missing(plan, store)
    check_room(plan, missing, store.directory)
    behind_s = plan.fill_seconds() + len(missing) * plan.point_seconds
    for step in plan.passes:
        behind_s -= step.seconds + START_S
        tick = _ticks(report, len(plan.points) - len(missing), len(plan.points), step.seconds + START_S, behind_s)
        _write(plan, step, partial(_tell, tick, step.text))
    while missing:
        _measure(plan, store, missing, report)
        tried = len(plan.points)
        plan = _with_more(plan, store, more)
        done = store.finished()
        missing = [p for p in plan.points[tried:] if p.key not in done]
    return plan


def _measure(plan: FioPlan, store: SweepStore, missing: Sequence[FioPoint], report: Progress) -> None:
    """Measure the points that are ``missing``; the time left goes by what those before took."""
    total = len(plan.points)
    taken_s: list[float] = []
    reason = ""
    for done, point in enumerate(missing, start=total - len(missing)):
        each_s = sum(taken_s) / len(taken_s) if taken_s else plan.point_seconds
        start = time.monotonic()
        tick = _ticks(report, done, total, each_s, (total - done - 1) * each_s)
        with log_folder(store.directory) as folder:
            run = run_point(plan, point, tick, folder)
            taken_s.append(time.monotonic() - start)
            if plan.file is not None:
                check_unchanged(plan.file)
            _keep(store, plan, point, run)
        reason = run.reason or reason
    if not store.finished():
        raise ToolFailedError(f"no point of the sweep could be measured; the last: {reason}")


def _ticks(report: Progress, done: int, total: int, seconds: float, behind_s: float) -> Tick:
    """Tells what is left of a step of about ``seconds`` with ``behind_s`` behind it."""
    return lambda elapsed_s, text: report(done, total, behind_s + max(0.0, seconds - elapsed_s), text)


def _tell(tick: Tick, text: str, elapsed_s: float) -> None:
    tick(elapsed_s, text)


def _keep(store: SweepStore, plan: FioPlan, point: FioPoint, run: PointRun) -> None:
    """Keep the point as measured or as failed."""
    keep_point(
        store, point.key, run.finished, run.reason, command=point.command, request=request_of(point.job, point.repeat),
        notes={**run.notes, **({"preconditioned": plan.preconditioned} if plan.preconditioned else {})},
        attached={LOG_SUFFIX: run.log} if run.log else None,
    )  # fmt: skip


def _write(plan: FioPlan, step: Pass, on_tick: Callable[[float], None]) -> None:
    """Write the file once over; ToolFailedError where that fails."""
    if plan.file is None:
        return
    finished = run_tool(step.argv, step.limit_s, on_tick=on_tick)
    reason = why_no_point(finished.stdout.decode("utf-8", "replace"), step.text, step.job)
    if finished.returncode != 0 or finished.timed_out or reason:
        said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
        why = said[-1] if said else reason or f"fio ended with exit code {finished.returncode}"
        raise ToolFailedError(f"the test file {plan.file.path} could not be filled: {why}")
    if plan.file.kind != "own file":
        return
    if plan.file.path.stat().st_blocks * 512 < 0.95 * plan.file.size_bytes:
        raise ToolFailedError(
            f"the test file {plan.file.path} still has holes after fio filled it; name another target"
        )
    mark_filled(plan.file, step.leaves)


def _failure(point: StoredPoint) -> Finding:
    known = "load" in point.record["request"]  # not in the records of older versions
    return failure(point, point.asked("load") if known else point.asked("depth") * point.asked("jobs"))


def _provenance(plan: FioPlan) -> Provenance:
    host = host_facts()
    storage = storage_behind(plan.file.path) if plan.file is not None else None
    details: dict[str, Any] = {
        "engine": plan.engine, "engine_reason": plan.engine_reason, "submission": _submission(plan),
        "preconditioning": [shlex.join(p.argv) for p in plan.passes], "host_facts": host.to_dict(), **plan.details,
    }  # fmt: skip
    if storage is not None:
        details["storage"] = asdict(storage)
    return Provenance(
        tool=TOOL, tool_version=plan.fio_version, host=host.hostname, kernel=host.kernel, cpu=host.cpu_model,
        device=str(storage or plan.label), details=details,
    )  # fmt: skip


def _submission(plan: FioPlan) -> str:
    """How requests are handed to the device; latencies of different submission are not comparable."""
    return f"open: Poisson arrivals, shared among {plan.engine} jobs at depth 1" if plan.is_open else "inline"
