"""Measuring a drive with fio: ``plan_fio``, ``run_fio``, and ``read_fio_store`` to read the sweep back.

One fio process per point; each finished point is stored before the next begins, so that a sweep can be stopped at any
moment and goes on where it was. What fio is asked for, and why, is in :mod:`measure.fio.command`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from measure.errors import DataError, ToolFailedError
from measure.fio.plan import DEFAULT_DEPTHS, FioPlan, FioPoint, plan_fio, plan_workloads
from measure.fio.points import measured, near_ceiling, place, why_no_point
from measure.fio.preconditioning import Pass
from measure.fio.processes import Watch, log_folder, measured_alone, measured_together
from measure.fio.workload import FioJob
from measure.formats.fio.sweep import sweep_of_points
from measure.machine.host import storage_behind
from measure.machine.own_file import check_unchanged, held, mark_filled, remove_leftover
from measure.machine.process import run_tool
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, More, Outcome, Progress, Run, Tick, measure, measured_here, read_kept
from measure.sweep import Provenance, Sweep

__all__ = [
    "DEFAULT_DEPTHS",
    "FioJob",
    "FioPlan",
    "FioPoint",
    "Progress",
    "plan_fio",
    "plan_workloads",
    "read_fio_store",
    "run_fio",
]


def run_fio(
    plan: FioPlan,
    out_dir: Path,
    on_progress: Progress | None = None,
    more: More[FioPoint] | None = None,
    *,
    together: bool = False,
    watch: Watch = lambda *_: None,
) -> Sweep:
    """Measure what is missing of ``plan`` in the sweep directory ``out_dir``, and return all of it.

    When all is measured, ``more(sweep)`` is asked for further points of this plan (``plan.point(job, repeat)``), which
    are measured on the same file, and again, until it names no point that is new.

    A point that fails (crash, hang, I/O error) is recorded with its stderr and the sweep goes on; Ctrl-C keeps every
    finished point. With ``together`` one fio process measures all points, which saves the time that processes take to
    start; an interruption then keeps none of them. The test file is removed at the end, whatever happens, unless the
    plan keeps it. ``watch(point, throughput)`` is called when a point was measured, and
    ``on_progress(done, total, seconds_left, text)`` a few times a second.

    Raises StoreError (the directory holds something else), UnsafeTargetError, ToolMissingError, ToolFailedError
    (the file cannot be filled, or no point at all could be measured).
    """
    file, keep = plan.file, plan.settings.keep
    return measure(
        Measurement(
            plan.tool,
            plan.points,
            plan.fixed(),
            partial(_provenance, plan),
            partial(_ready, plan, together=together, watch=watch),
            read_fio_store,
            lambda _: 0.0 if together else plan.point_seconds,
            plan.fill_seconds() + (plan.together_seconds() if together else 0.0),
            hold=lambda: held(file, keep=keep) if file is not None else nullcontext(),
            tidy=lambda _: remove_leftover(file) if file is not None and not keep else None,
        ),
        out_dir,
        on_progress,
        more,
    )


def read_fio_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_fio`` keeps in a directory: the finished points, and a finding for each that failed.

    Raises DataError where no point is finished, StoreError where the directory is damaged.
    """
    kept = read_kept(store, measured)
    kept.check_any()
    placed, noticed = place(kept.values)
    noticed += near_ceiling(kept.values)
    if not placed:
        raise DataError(f"{store.directory} holds no usable point: {noticed[0].message} {noticed[0].remedy}")
    sweep = sweep_of_points(placed, [*kept.findings, *noticed])
    is_open = kept.values[0].job.is_open
    known = kept.provenance
    return replace(
        sweep,
        raw=kept.raw,
        name=store.directory.name,
        provenance=replace(known, details={**sweep.provenance.details, **known.details}),
        load_kind="arrival_rate" if is_open else "queue_depth",
        load_unit="requests/s" if is_open else "requests",
    )


@contextmanager
def _ready(
    plan: FioPlan, store: SweepStore, missing: Sequence[FioPoint], tick: Tick, *, together: bool, watch: Watch
) -> Iterator[Run[FioPoint]]:
    """Fill the file; it is looked at after each point."""
    for step in plan.passes:
        _write(plan, step, tick)
    with log_folder(store.directory) as folder:
        known = measured_together(plan, missing, tick, folder, watch) if together else {}

        def run(point: FioPoint, tick: Tick) -> Outcome:
            outcome = known.pop(point.key, None) or measured_alone(plan, point, tick, folder, watch)
            if plan.file is not None:
                check_unchanged(plan.file)
            return outcome

        yield run


def _write(plan: FioPlan, step: Pass, tick: Tick) -> None:
    """Write the file once over; ToolFailedError where that fails."""
    if plan.file is None:
        return
    finished = run_tool(step.argv, step.limit_s, on_tick=lambda _: tick(step.text))
    reason = why_no_point(finished.text, step.text, step.job)
    if finished.returncode != 0 or finished.timed_out or reason:
        why = finished.complaint or reason or f"fio ended with exit code {finished.returncode}"
        raise ToolFailedError(f"the test file {plan.file.path} could not be filled: {why}")
    if plan.file.kind != "own file":
        return
    if plan.file.path.stat().st_blocks * 512 < 0.95 * plan.file.size_bytes:
        raise ToolFailedError(
            f"the test file {plan.file.path} still has holes after fio filled it; name another target"
        )
    mark_filled(plan.file, scattered=step.job.pattern == "random")


def _provenance(plan: FioPlan) -> Provenance:
    path = plan.file.path if plan.file is not None else None
    storage = storage_behind(path) if path is not None else None
    # Latencies of different submission are not comparable.
    shared = f"open: Poisson arrivals, shared among {plan.engine} jobs at depth 1"
    details: dict[str, Any] = {
        "engine": plan.engine,
        "engine_reason": plan.engine_reason,
        "submission": shared if plan.is_open else "inline",
        "preconditioning": [shlex.join(p.argv) for p in plan.passes],
        **plan.settings.details,
        **({"storage": asdict(storage)} if storage is not None else {}),
    }
    tool = plan.tool if plan.tool == "fio" else "qsim drive probe"
    return measured_here(tool, str(storage or plan.label), details, plan.fio_version)
