"""The report of a course: the method, then for each sweep what was measured, and what a few of its points predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from calibrate.course.baselines import baseline_view
from calibrate.course.method import method_section
from calibrate.course.planning import CoursePlan
from calibrate.course.predictions import predicted_parts
from calibrate.course.running import CourseResults
from calibrate.report.measured import MeasuredData, measured, section_of, together, views_of
from calibrate.report.view import Section

_BASELINE, _SIZES, _DEPTHS = "baseline", "block-size", "depth"
_UNPREDICTED = "Nothing is predicted here: no part of it tells of another."


def course_sections(
    plan: CoursePlan,
    results: CourseResults,
    progress: Callable[[float], None] = lambda share: None,
    *,
    datasheet_iops: float | None = None,
) -> list[Section]:
    """The sections in reading order; calls ``progress`` with the share done, since models take their time.

    ``datasheet_iops``, requests per second, is what the drive's data sheet promises, to stand beside the peak.
    """
    sections: list[Section] = [method_section(plan, results)]
    kinds = {} if plan.storage is None else {s.directory: s.suite.views for s in plan.storage.steps}
    purposes = {s.directory: s.purpose for s in plan.memory}
    purposes |= {} if plan.storage is None else {s.directory: s.suite.purpose for s in plan.storage.steps}
    # The peak only serves the rates.
    drawn = [name for name in results.sweeps if not name.endswith("-peak")]
    shown: list[MeasuredData] = []
    for number, name in enumerate(drawn):
        one = measured(results.sweeps[name], name)
        shown.append(one)
        promised = datasheet_iops if name == _DEPTHS else None
        views = views_of(one, kinds=kinds.get(name), datasheet_iops=promised)
        section = section_of(one, views, purposes.get(name, ""))
        beside = baseline_view(results.sweeps[name], results.sweeps.get(_SIZES)) if name == _BASELINE else None
        predicted = predicted_parts(one, results.sweeps[name], views=() if beside is None else (beside,))
        sections += [section if predicted else replace(section, notes=(*section.notes, _UNPREDICTED)), *predicted]
        progress((number + 1) / len(drawn))
    return [*sections, *together(shown)]
