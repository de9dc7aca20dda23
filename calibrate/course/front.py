"""The first page of a course: the machine, five figures, a verdict, and the curve with its band and both knees.

Figures and curve are those of a fit to all points, as on the page of the measurements; the verdict is of the
predictions from a few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrate.fitting.fit import Fit
from calibrate.prediction.answer import answer, last_lines
from calibrate.prediction.comparison import Comparison, compare
from calibrate.report.compared import compared_section
from calibrate.report.compared.evidence import evidence_of, key_figures
from calibrate.report.view import FrontPage, KeyFigure, Section, View
from measure.findings import SEVERITIES, Finding
from measure.loads import ClosedLoad, MemoryLoad
from measure.sweep import Provenance
from measure.units import counted, format_bandwidth, format_duration
from qsim.text_table import LABEL

FIGURES = 5


def front_of(sections: Sequence[Section], apart: Sequence[Finding] = (), moves: float = 0.0) -> FrontPage:
    """The front of a course's sections; ``apart`` are workloads that two of its suites measured differently.

    ``moves`` is the relative standard deviation of a figure between its suites, which the intervals include.
    """
    curves = [curve for s in sections for curve in s.curves]
    drive = next((c for c in curves if isinstance(c.comparison.points.load_type, ClosedLoad)), None)
    memory = next((c for c in curves if isinstance(c.comparison.points.load_type, MemoryLoad)), None)
    drive_whole, memory_whole = (None if c is None else _of_all_points(c.comparison) for c in (drive, memory))
    figures = _figures(drive_whole.fit, moves) if drive_whole else []
    figures += _figures(memory_whole.fit) if memory_whole else []
    figures += _largest(sections) if len(figures) < FIGURES else []
    return FrontPage(
        _device(sections),
        tuple(figures[:FIGURES]),
        (*_predicted([c.comparison for c in curves]), *_found(sections, apart)),
        _view(drive_whole or memory_whole),
    )


def _of_all_points(comparison: Comparison) -> Comparison:
    """The same curve, calibrated on all of its points."""
    return compare(comparison.sweep, comparison.points.load.tolist(), series=comparison.series)


def _view(whole: Comparison | None) -> View | None:
    """The curve over the load with its band and both knees; without a load, latency against throughput."""
    if whole is None:
        return None
    main = compared_section("", [evidence_of(whole)], {}).curves[0].main
    chosen = next((v for v in main if v.name == "throughput"), main[0])
    return replace(chosen, title=f"{chosen.title}: {whole.series}")


def _figures(fit: Fit, moves: float = 0.0) -> list[KeyFigure]:
    """Those of a drive, and of a memory its peak and its idle latency, with the workload that they are of."""
    fit = replace(fit, between_runs=max(fit.between_runs, moves))
    found = key_figures(fit)[-2:] if isinstance(fit.load_type, MemoryLoad) else key_figures(fit)
    return [replace(figure, what=f"{figure.what}, {fit.series}") for figure in found]


def _largest(sections: Sequence[Section]) -> list[KeyFigure]:
    """The extremes of the measurements, where models give too few figures."""
    points = [v.table for s in sections for v in s.views if v.name == "points"]
    bandwidths, latencies = (
        [v for table in points if column in table for v in table[column].dropna()]
        for column in ("bandwidth_bytes_per_s", "latency_s")
    )
    most = [KeyFigure(format_bandwidth(max(bandwidths), 2), "measured", "most bandwidth")] if bandwidths else []
    least = [KeyFigure(format_duration(min(latencies), 2), "measured", "least mean latency")] if latencies else []
    return most + least


def _device(sections: Sequence[Section]) -> str:
    """What was measured, and with what, each named once."""
    known: list[Provenance] = [s.provenance for s in sections if not s.is_compared]
    drives = dict.fromkeys(p.device for p in known if p.device)
    machine = dict.fromkeys(text for p in known for text in (p.cpu, p.kernel) if text)
    began = min((p.started_at for p in known if p.started_at), default="")
    return "; ".join([*drives, *machine, *([f"measured {began[:16].replace('T', ' ')}"] if began else [])])


def _predicted(done: Sequence[Comparison]) -> tuple[str, ...]:
    """The errors of the course's predictions of its own points."""
    held = [c for c in done if isinstance(c.points.load_type, ClosedLoad) and c.held_out.any()]
    held = held or [c for c in done if not c.is_open and c.held_out.any()]
    if not held:
        return ("No curve over a load is predicted, so none checks a model.",)
    missed = next(line for line in answer(held) if line.startswith("MISSED"))[LABEL:]
    sure = last_lines(held)[0][LABEL:]
    return f"{sure}.", f"The prediction misses {missed}."


def _found(sections: Sequence[Section], apart: Sequence[Finding]) -> tuple[str, ...]:
    """What disagreed, the worst of the other findings in words, and how many there are."""
    findings = [f for s in sections if not s.is_compared for f in s.findings if f.severity != "info"]
    lines = (
        [f"Suites disagree at {counted(len(apart), 'workload')}; the worst: {apart[0].message.rstrip('.')}."]
        if apart
        else []
    )
    if not findings:
        return (*lines, "The audit finds no errors and no warnings.")
    counts = [counted(sum(f.severity == s for f in findings), s) for s in ("error", "warning")]
    worst = max(findings, key=lambda f: SEVERITIES.index(f.severity))
    about = f"{worst.series}: " if worst.series else ""
    found = " and ".join(count for count in counts if not count.startswith("0 "))
    return (*lines, f"The audit finds {found}.", f"The worst: {about}{worst.message.rstrip('.')}.")
