"""The report of a course: what was measured, and what a few of its points predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from calibrate.course.method import method_section
from calibrate.course.planning import CoursePlan, CourseResults
from calibrate.course.predictions import predicted_parts
from calibrate.report.measured import fits_of, measured, section_of, views_of
from calibrate.report.view import Section

_UNPREDICTED = "Nothing is predicted here: no part of it tells of another."


def course_sections(
    plan: CoursePlan, results: CourseResults, progress: Callable[[float], None] = lambda share: None
) -> list[Section]:
    """The sections in reading order; calls ``progress`` with the share done, since models take their time."""
    sections: list[Section] = [method_section(plan, results)]
    purposes = {s.directory: s.purpose for s in plan.memory}
    purposes |= {} if plan.storage is None else {s.directory: s.suite.purpose for s in plan.storage.steps}
    # The peak only serves the rates.
    drawn = [name for name in results.sweeps if not name.endswith("-peak")]
    for number, name in enumerate(drawn):
        one = measured(results.sweeps[name], name)
        section = section_of(one, views_of(one, fits_of(one)), purposes.get(name, ""))
        predicted = predicted_parts(one)
        sections += [section if predicted else replace(section, notes=(*section.notes, _UNPREDICTED)), *predicted]
        progress((number + 1) / len(drawn))
    return sections
