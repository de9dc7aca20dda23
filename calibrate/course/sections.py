"""The report of a course, measured here or published: what was measured, and what a few of its points predict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from calibrate.course.method import method_section
from calibrate.course.planning import CoursePlan, CourseResults
from calibrate.course.predictions import predicted_parts
from calibrate.report.measured import MeasuredData, measured, published, section_of, together, views_of
from calibrate.report.view import Section
from measure.datasets import about, dataset_names, load_dataset

_DEPTHS = "depth"
_UNPREDICTED = "Nothing is predicted here: no part of it tells of another."


def course_sections(
    plan: CoursePlan,
    results: CourseResults,
    progress: Callable[[float], None] = lambda share: None,
    *,
    datasheet_iops: float | None = None,
) -> list[Section]:
    """The sections in reading order; calls ``progress`` with the share done, since models take their time.

    ``datasheet_iops``, requests per second, is what the drive's data sheet promises, drawn with the peak.
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
        predicted = predicted_parts(one, results.sweeps[name])
        sections += [section if predicted else replace(section, notes=(*section.notes, _UNPREDICTED)), *predicted]
        progress((number + 1) / len(drawn))
    return [*sections, *together(shown)]


_NO_CURVE = (
    "Nothing is predicted here: the table tells no throughput, and of the latencies neither the law nor the requests."
)


def published_names(name: str) -> tuple[str, ...]:
    """The tables that ``name`` means: one of the catalogue, or all those of a report, as "003". DataError else."""
    of_report = tuple(n for n in dataset_names() if n.partition("-")[0] == name)
    return of_report or (about(name).name,)


def published_sections(
    names: Sequence[str], progress: Callable[[float], None] = lambda share: None, *, datasheet_iops: float | None = None
) -> list[Section]:
    """For each table what is known of it, its views, its audit, and the prediction from two or three of its points.

    ``datasheet_iops``, requests per second, is what a data sheet promises: it is drawn with the peak over the depths.
    """
    sections: list[Section] = []
    shown = []
    for number, name in enumerate(names):
        one = published(name)
        shown.append(one)
        info = about(name)
        measured_with = f"Measured with {info.tool}" + (f" on {info.host_cpu}" if info.host_cpu else "")
        lead = f"{info.device}: {info.varied}. {measured_with}; {info.source}."
        promised = datasheet_iops if one.table["load"].nunique() > 1 else None
        section = section_of(one, views_of(one, datasheet_iops=promised), lead)
        sections.append(section if info.curve else replace(section, notes=(*section.notes, _NO_CURVE)))
        if info.curve:
            sections += predicted_parts(one, load_dataset(name))
        progress((number + 1) / len(names))
    return [*sections, *together(shown)]
