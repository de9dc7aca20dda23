"""The report of a course: the method, then for each sweep what was measured, and what a few of its points predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from calibrate.comparison import compare_all
from calibrate.course.caches import cache_view
from calibrate.course.demands import mix_view, size_view
from calibrate.course.method import method_section
from calibrate.course.planning import CoursePlan
from calibrate.course.running import CourseResults
from calibrate.report.compared import Section
from calibrate.report.measured import Measured, MeasuredSection, measured, section_of, together, views_of
from calibrate.report.view import View
from measure.dataset import Sweep
from measure.errors import DataError

Part: TypeAlias = Section | MeasuredSection
_UNPREDICTED = "Nothing is predicted here: no part of it tells of another."


def course_sections(
    plan: CoursePlan, results: CourseResults, progress: Callable[[float], None] = lambda share: None
) -> list[Part]:
    """The sections in reading order; ``progress`` is told the share that is done, since models take their time."""
    sections: list[Part] = [method_section(plan, results)]
    kinds = {} if plan.storage is None else {s.directory: s.suite.views for s in plan.storage.steps}
    purposes = {s.directory: s.purpose for s in plan.memory}
    purposes |= {} if plan.storage is None else {s.directory: s.suite.purpose for s in plan.storage.steps}
    # The peak only serves the rates.
    drawn = [name for name in results.sweeps if not name.endswith("-peak")]
    shown: list[Measured] = []
    for number, name in enumerate(drawn):
        one = measured(results.sweeps[name], name)
        shown.append(one)
        section = section_of(one, views_of(one, kinds=kinds.get(name)), purposes.get(name, ""))
        predicted = predicted_parts(one, results.sweeps[name], None)
        sections += [section if predicted else replace(section, notes=(*section.notes, _UNPREDICTED)), *predicted]
        progress((number + 1) / len(drawn))
    return [*sections, *together(shown)]


def predicted_parts(shown: Measured, sweep: Sweep, use: Sequence[float] | None) -> list[Part]:
    """What a few points of ``sweep`` predict of the others: curves over the load, lines over the size, mixes."""
    views: list[View] = [v for v in (size_view(sweep), mix_view(shown), cache_view(sweep)) if v is not None]
    parts: list[Part] = []
    if views:
        parts.append(MeasuredSection(
            f"{shown.title}: predicted", views, name=f"{shown.name or shown.title}-predicted",
            lead="What little tells of the whole: two points, or what the system reports.",
        ))  # fmt: skip
    if sweep.load_kind == "buffer_size" or sweep.points.groupby("series")["load"].nunique().max() < 2:
        return parts
    try:
        done, refused = compare_all(sweep, use)
    except DataError as error:
        note = f"No curve of it could be predicted: {error}"
        return [*parts, MeasuredSection(f"{shown.title}: not predicted", (), notes=(note,), name="not-predicted")]
    return [*parts, Section(f"{shown.title}: predicted from a few points", done, refused)]
