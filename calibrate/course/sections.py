"""The report of a course: its method, its measurements, and predictions from a few of the points.

A curve whose points contradict themselves is not modelled: its model would be one of the mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd

from calibrate.course.front import measured_peak
from calibrate.course.planning import CoursePlan
from calibrate.prediction.comparison import Comparison, compare_all
from calibrate.report import surface_section
from calibrate.report.compared import Evidence, compared_section, evidence_of
from calibrate.report.measured import MeasuredData, measured, section_of, views_of
from calibrate.report.table_text import shown
from calibrate.report.view import Section, View
from calibrate.surface import compare_surface, surface_points
from calibrate.tails.percentiles import fitted_tails
from measure.errors import DataError
from measure.fio.plan import writes_at_random
from measure.loads import BufferSize, ClosedLoad
from measure.suites.runs import SuiteResults
from measure.sweep import Sweep
from measure.units import counted, format_bytes

_LEAD = (
    "This machine, measured as the course reports measured theirs. Each sweep is shown as it was measured, audited, "
    "and then predicted from a few of its own points; a point that calibrated a model is no evidence for it. The exact "
    "commands, those that prepare the test file too, stand at the end of each part."
)


def method_section(plan: CoursePlan, results: SuiteResults) -> Section:
    """The section that a reader needs in order to repeat the measurement."""
    table = pd.DataFrame([_row(plan, name, sweep) for name, sweep in results.sweeps.items()])
    caption = "Every sweep with its points; a point's time is without its ramp."
    view = View("method", "What was measured", caption, table, None, shown(table))
    return Section("Method", (view,), lead=_LEAD, notes=tuple(_sentences(plan, results)), name="method")


def _row(plan: CoursePlan, name: str, sweep: Sweep) -> dict[str, object]:
    points = sweep.points
    times = {planned.directory: planned.point_s for planned in plan.sweeps}
    return {
        "sweep": name,
        "curves": len(sweep.series),
        "workloads": len(points[["series", "load"]].drop_duplicates()),
        "runs": len(points),
        "load": sweep.load_type.kind.replace("_", " "),
        "a point": f"{times[name]:g} s" if name in times else "",
    }


def _sentences(plan: CoursePlan, results: SuiteResults) -> list[str]:
    lines = [_machine(results)]
    for step in plan.memory:
        if step.directory not in results.sweeps:
            continue
        memory = step.plan
        if memory.delays:
            loaders = " or ".join(map(str, memory.loader_counts))
            lines.append(
                "Memory: one thread chases pointers through a random ring of cache lines and times them, with "
                f"{loaders} streaming through buffers of {format_bytes(memory.largest_bytes)} each and pausing for "
                "the injected delay after each burst of lines. Every point is measured "
                f"{counted(memory.repeats, 'time')} for {memory.seconds_per_repeat:g} s, the delays in a random order."
            )
        else:
            lines.append(
                f"Caches: the same chase, and streams, through buffers of {format_bytes(memory.sizes[0])} to "
                f"{format_bytes(memory.sizes[-1])}, with no load."
            )
    storage = plan.storage
    if storage is not None and storage.file is not None:
        at_random = writes_at_random([w for s in storage.steps for w in s.suite.workloads])
        before = "written over at random before" if at_random else "written from end to end before"
        before = before if storage.file.kind == "own file" else "taken as it was"
        size = "" if storage.size_bytes is None else f" of {format_bytes(storage.size_bytes)}"
        lines.append(
            f"Drive: fio on one test file{size}, direct I/O, {before}. Every point runs "
            f"for {storage.settings.runtime_s:g} s (tails twice as long) after a ramp of {storage.ramp_s:g} s that is "
            f"not counted, {counted(storage.repeats, 'time')}; rounds go over all points, so that a drift is not taken "
            "for a curve. Open points send Poisson arrivals from many jobs, so that a late answer delays no later "
            "request."
        )
    lines += [f"Left out: {reason}." for reason in plan.left_out]
    return lines + [f"Failed: {name}: {reason}" for name, reason in results.failed.items()]


def _machine(results: SuiteResults) -> str:
    every = [s.provenance for s in results.sweeps.values()]
    drives = dict.fromkeys(s.provenance.device for s in results.sweeps.values() if isinstance(s.load_type, ClosedLoad))
    known = {"CPU": every[0].cpu, "kernel": every[0].kernel, "drive": "; ".join(d for d in drives if d)}
    facts = ", ".join(f"{name} {value}" for name, value in known.items() if value)
    tools = dict.fromkeys(f"{p.tool} {p.tool_version}".strip() for p in every)
    return f"Machine: {facts}. Tools: {', '.join(t for t in tools if t)}. Begun {every[0].started_at}."


_NOISE = "repeats-disagree"
"""A severe finding that means scatter, not wrong points."""
LEAST_OF_A_SURFACE = 15
"""Points below which the corners of a surface leave too few to be predicted."""


def predicted_parts(shown: MeasuredData) -> list[Section]:
    """The predictions from the measurements."""
    sweep = shown.sweep
    has_curves = not isinstance(sweep.load_type, BufferSize) and bool(
        sweep.points.groupby("series")["load"].nunique().max() > 1
    )
    parts = [curve_part(shown)] if has_curves else []
    if any(part.is_compared and not part.curves for part in parts):  # all of them contradict themselves
        return parts
    surface = surface_part(shown)
    return parts if surface is None else [*parts, surface]


def curve_part(shown: MeasuredData, use: Sequence[float] | None = None) -> Section:
    """Comparisons of every curve from the loads ``use``, with tails where there are histograms; reasons for others."""
    try:
        done, refused = compare_all(shown.sweep, use)
    except DataError as error:
        note = f"No curve of it could be predicted: {error}"
        return Section(f"{shown.title}: not predicted", (), notes=(note,), name=f"{shown.name}-not-predicted")
    wrong = {c.series: "; ".join(_mistakes(c)) for c in done if _mistakes(c)}
    refused |= {series: f"the points contradict themselves: {why}" for series, why in wrong.items()}
    evidence = [_evidence(c, shown.sweep) for c in done if c.series not in wrong]
    return compared_section(f"{shown.title}: predicted from a few points", evidence, refused)


def surface_part(shown: MeasuredData) -> Section | None:
    """Size, mix and depth at once, from the corners; None where the sweep varies one of them only, or little."""
    try:
        points = surface_points(replace(shown.sweep, name=shown.name))
        if len(points) < LEAST_OF_A_SURFACE:
            return None
        compared = compare_surface(points)
    except DataError:  # a curve or a table, and no surface: its own sections tell it
        return None
    return Section(
        f"{shown.title}: predicted as one surface",
        surface_section.views_of(compared),
        lead=surface_section.lead_of(compared),
        notes=compared.notes,
        name=f"{shown.name}-surface",
    )


def _mistakes(comparison: Comparison) -> list[str]:
    """What the audit holds to be wrong of a curve over depths; of rates it leaves out those that were not taken."""
    if comparison.is_open:
        return []
    return [f.message for f in comparison.audit if f.contradicts and f.check != _NOISE]


def _evidence(comparison: Comparison, sweep: Sweep) -> Evidence:
    """What the page shows with a curve: its tails where the histograms allow."""
    try:
        return evidence_of(comparison, sweep, tails=fitted_tails(comparison.fit, sweep, comparison.series))
    except DataError as error:
        found = evidence_of(comparison, sweep)
        return replace(found, left_out={**found.left_out, "the tails": str(error)})


_UNPREDICTED = "Nothing is predicted here: no part of it tells of another."


def course_sections(
    plan: CoursePlan, results: SuiteResults, progress: Callable[[float], None] = lambda share: None
) -> list[Section]:
    """The sections in reading order; calls ``progress`` with the share done, since models take their time."""
    sections: list[Section] = [method_section(plan, results)]
    purposes = {planned.directory: planned.purpose for planned in plan.sweeps}
    # The peak only serves the rates.
    drawn = [name for name in results.sweeps if not name.endswith("-peak")]
    for number, name in enumerate(drawn):
        one = measured(results.sweeps[name], name)
        section = section_of(one, views_of(one, {}), purposes.get(name, ""))
        predicted = predicted_parts(one)
        sections += [section if predicted else replace(section, notes=(*section.notes, _UNPREDICTED)), *predicted]
        progress((number + 1) / len(drawn))
    return _with_measured_peaks(sections)


def _with_measured_peaks(sections: Sequence[Section]) -> list[Section]:
    """The sections; those that predict a peak say what was measured, the same on every page."""
    every = [c for section in sections for c in section.comparisons]
    marked = []
    for section in sections:
        peaks = dict.fromkeys(measured_peak(c.series, every) for c in section.comparisons)
        marked.append(replace(section, notes=(*section.notes, *(p.sentence() for p in peaks if p is not None))))
    return marked
