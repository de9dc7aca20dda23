"""The tables and plots of published reports, built again from the cited data, with models and audit beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from calibrate.course.predictions import predicted_parts
from calibrate.report.measured import published, section_of, together, views_of
from calibrate.report.view import Section
from measure.datasets import about, dataset_names, load_dataset

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

    ``datasheet_iops``, requests per second, is what a data sheet promises: it stands beside the peak over the depths.
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
            sections += predicted_parts(one, load_dataset(name, corrected=True))
        progress((number + 1) / len(names))
    return [*sections, *together(shown)]
