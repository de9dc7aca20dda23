"""The sections of a course, as if published tables had been measured by one."""

from __future__ import annotations

from functools import cache

from calibrate.course import CoursePlan, course_sections
from calibrate.report.view import Section
from measure import load_dataset
from measure.suites.runs import SuiteResults


@cache
def course_of(*names: str) -> list[Section]:
    """The method, then each table with what is predicted of it."""
    return course_sections(CoursePlan((), None), SuiteResults({name: load_dataset(name) for name in names}))
