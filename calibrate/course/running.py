"""Measuring what a course plans: the memory, then the drive; failures are reported and the rest is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from calibrate.course.planning import CoursePlan, MemoryStep
from measure.errors import MeasureError, StoreError
from measure.fio.sweep import Progress
from measure.memory.probe import BufferPlan, run_memory
from measure.store.directory import MANIFEST
from measure.suites.runs import run_suites
from measure.sweep import Sweep


@dataclass(frozen=True)
class CourseResults:
    """The sweeps by directory, in the order of the plan, and why others are missing."""

    sweeps: Mapping[str, Sweep]
    failed: Mapping[str, str] = field(default_factory=dict)


def run_course(plan: CoursePlan, out_dir: Path, on_progress: Progress | None = None) -> CourseResults:
    """Measure what is missing below ``out_dir``; calls ``on_progress(done, total, seconds_left, text)``.

    Raises StoreError where ``out_dir`` is no place for a course, and the first failure where nothing could be measured.
    """
    if out_dir.exists() and not out_dir.is_dir():
        raise StoreError(f"{out_dir} is a file, not a directory; choose another --out")
    if (out_dir / MANIFEST).exists():
        raise StoreError(f"{out_dir} holds a single sweep, not a course; choose another --out")
    sweeps: dict[str, Sweep] = {}
    failures: dict[str, MeasureError] = {}
    done = 0
    later_s = plan.seconds()
    for step in plan.memory:
        later_s -= step.plan.seconds()
        try:
            sweeps[step.directory] = _measured(
                step, out_dir, _part(on_progress, plan.points, done, later_s, step.directory)
            )
        except MeasureError as error:
            failures[step.directory] = error
        done += step.count
    reasons: dict[str, str] = {name: str(error) for name, error in failures.items()}
    if plan.storage is not None:
        try:
            drive = run_suites(plan.storage, out_dir, _part(on_progress, plan.points, done, 0.0, ""))
        except MeasureError as error:
            failures["drive"] = error
            reasons["drive"] = str(error)
        else:
            sweeps |= drive.sweeps
            reasons |= drive.failed
    if not sweeps:
        raise next(iter(failures.values()))
    return CourseResults(sweeps, reasons)


def _measured(step: MemoryStep, out_dir: Path, on_progress: Progress | None) -> Sweep:
    directory = out_dir / step.directory
    if isinstance(step.plan, BufferPlan):
        return run_memory(step.plan, directory, on_progress)
    return run_memory(step.plan, directory, on_progress)


def _part(on_progress: Progress | None, total: int, before: int, later_s: float, name: str) -> Progress | None:
    """The progress of one part as part of the whole."""
    if on_progress is None:
        return None

    def report(done: int, _: int, seconds_left: float, text: str) -> None:
        said = ": ".join(part for part in (name, text) if part)
        on_progress(min(before + done, total), total, seconds_left + later_s, said)

    return report
