"""The first page of a course: the device, five figures, a verdict and the curve that the knee is read off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrate.fitting.answer import LABEL, knee_word
from calibrate.fitting.fitted import Fit
from calibrate.load_text import Figure, load_figure, throughput_figure, with_interval
from calibrate.prediction.answer import answer, last_lines
from calibrate.prediction.comparison import Comparison
from calibrate.report.view import FrontPage, KeyFigure, Section
from measure.findings import Finding
from measure.sweep import Provenance
from measure.units import counted, format_bandwidth, format_duration

FIGURES = 5


def front_of(sections: Sequence[Section], apart: Sequence[Finding] = ()) -> FrontPage:
    """The front of a course's sections; ``apart`` are workloads that two of its suites measured otherwise."""
    compared = [(s, curve) for s in sections for curve in s.curves]
    done = [curve.comparison for _, curve in compared]
    drive = next(((s, c) for s, c in compared if c.comparison.points.load_type.is_closed), None)
    memory = next(((s, c) for s, c in compared if c.comparison.points.load_type.is_memory), None)
    first = drive or memory
    figures = [
        *_drive_figures(drive[1].comparison.fit if drive else None),
        *_memory_figures(memory[1].comparison if memory else None),
    ]
    figures += _largest(sections) if len(figures) < FIGURES else []
    view = None
    if first is not None:
        section, curve = first
        view = next((v for v in section.views if v.figure is not None), curve.main[0])
        view = replace(view, title=f"Response time against throughput: {section.title.partition(':')[0]}")
    return FrontPage(_device(sections), tuple(figures[:FIGURES]), _verdict(sections, done, apart), view)


def _drive_figures(fit: Fit | None) -> list[KeyFigure]:
    if fit is None:
        return []
    show, found = load_figure(fit.load_kind), []
    knee = fit.knee if fit.knee.sharp else fit.ninety
    if knee.load is not None:
        what = f"{fit.load_type.noun} at the knee" if fit.knee.sharp else f"{fit.load_type.noun} with 90 % of the peak"
        what = f"{what} ({knee_word(fit)}), {fit.series}"
        found.append(_figure(with_interval(show, knee.load, knee.low, knee.high), what))
    return [*found, *_estimates(fit, {"Xmax": "peak throughput", "R1": "latency of one request alone"})]


def _memory_figures(comparison: Comparison | None) -> list[KeyFigure]:
    if comparison is None:
        return []
    return _estimates(
        comparison.fit,
        {
            "B": "peak bandwidth of the memory",
            "Xmax": "peak bandwidth of the memory",
            "L0": "idle latency of the memory",
        },
    )


def _estimates(fit: Fit, wanted: dict[str, str]) -> list[KeyFigure]:
    found: dict[str, KeyFigure] = {}
    for name, what in wanted.items():
        e = fit.curve_parameters.get(name)
        if e is None or e.estimate is None or what in found:
            continue
        units: dict[str, Figure] = {"s": format_duration, "B/s": format_bandwidth}
        show = units.get(e.unit) or throughput_figure(fit.load_kind)
        found[what] = _figure(with_interval(show, e.estimate, e.low, e.high), what)
    return list(found.values())


def _figure(text: str, what: str) -> KeyFigure:
    """``73 k/s (54 to 423)``, its interval apart."""
    value, _, interval = text.partition(" (")
    return KeyFigure(value, interval.removesuffix(")"), what)


def _largest(sections: Sequence[Section]) -> list[KeyFigure]:
    """The extremes of what was measured, where models give fewer figures."""
    found = []
    tables = [v.table for s in sections if not s.is_compared for v in s.views if v.kind == "points"]
    for column, what, show in (
        ("bandwidth_bytes_per_s", "most bandwidth measured", format_bandwidth),
        ("latency_s", "least mean latency measured", format_duration),
    ):
        values = [v for t in tables if column in t for v in t[column].dropna()]
        if values:
            value = min(values) if column == "latency_s" else max(values)
            found.append(KeyFigure(show(value, 2), "", what))
    return found


def _device(sections: Sequence[Section]) -> str:
    """What was measured, and with what, each named once."""
    known: list[Provenance] = [s.provenance for s in sections if not s.is_compared]
    drives = dict.fromkeys(p.device for p in known if p.device)
    machine = dict.fromkeys(text for p in known for text in (p.cpu, p.kernel) if text)
    began = min((p.started_at for p in known if p.started_at), default="")
    return "; ".join([*drives, *machine, *([f"measured {began[:16].replace('T', ' ')}"] if began else [])])


def _verdict(sections: Sequence[Section], done: Sequence[Comparison], apart: Sequence[Finding]) -> tuple[str, ...]:
    """How well the course predicts itself, and what the audit found."""
    held = [c for c in done if c.points.load_type.is_closed and c.held_out.any()]
    held = held or [c for c in done if not c.is_open and c.held_out.any()]
    lines = ["No curve over a load is predicted, so none checks a model."]
    if held:
        missed, sure = answer(held)[2][LABEL:], last_lines(held)[0][LABEL:]
        lines = [f"{sure}.", f"The prediction misses {missed}."]
    findings = [f for s in sections if not s.is_compared for f in s.findings]
    counts = [
        counted(sum(f.severity == s for f in findings), s)
        for s in ("error", "warning")
        if any(f.severity == s for f in findings)
    ]
    if apart:
        lines.append(f"Suites disagree at {counted(len(apart), 'workload')}; the worst: {apart[0].message}")
    return (*lines, f"The audit finds {' and '.join(counts) or 'no errors and no warnings'}.")
