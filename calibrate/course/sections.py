"""The report of a course: its first page, its method, its measurements, and predictions from a few of the points.

A curve whose points contradict themselves is not modelled: its model would be one of the mistake. The first page
has the machine, five figures, a verdict, and the curve with its band and both knees. Its figures are those that were
measured, each beside its prediction from a few of the points, which the curve draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from calibrate.course.planning import CoursePlan
from calibrate.fitting.fit_answer import idle_figure, knee_figure, peak_figure
from calibrate.fitting.readings import ninety_among
from calibrate.prediction.comparison import Comparison, compare_all
from calibrate.prediction.comparison_answer import missed_sentences
from calibrate.report import surface_section
from calibrate.report.compared import compared_section
from calibrate.report.compared import views_of as compared_views_of
from calibrate.report.measured import MeasuredData, measured, section_of, views_of
from calibrate.report.view import ComparedCurve, FrontPage, KeyFigure, Section, View, shown
from calibrate.surface import compare_surface, surface_points
from calibrate.tails.percentiles import fitted_tails
from measure.errors import DataError
from measure.findings import SEVERITIES, Finding
from measure.fio.plan import writes_at_random
from measure.fio.stored_points import UNDER_ARRIVALS
from measure.loads import BufferSize, ClosedLoad, InjectedDelay, Load, MemoryLoad
from measure.origin import Provenance, judged
from measure.suites.runs import SuiteResults
from measure.sweep import Sweep
from measure.units import counted, format_bandwidth, format_bytes, format_duration, format_percent

FIGURES = 5
_KINDS: Mapping[str, type] = {"Drive": ClosedLoad, "Memory": MemoryLoad}


@dataclass(frozen=True)
class MeasuredPeak:
    """The highest throughput of a workload, and the ``load`` where it was measured.

    ``ninety`` is where 90 % of it is reached, read between the measured loads; None over delays.
    """

    series: str
    load_type: Load
    load: float
    throughput_per_s: float
    ninety: float | None

    @property
    def highest(self) -> str:
        """The throughput, of a memory the bandwidth."""
        return self.load_type.throughput_figure(self.throughput_per_s)

    @property
    def place(self) -> str:
        """Where it was measured."""
        return self.load_type.at(self.load)

    def sentence(self) -> str:
        """Both readings, for a page that predicts the peak."""
        highest = f"the highest {self.load_type.rate_name} is {self.highest}, at {self.place}"
        first = f"Measured in all suites, {self.series}: {highest}"
        if self.ninety is None:
            return f"{first}."
        ninety = self.load_type.place(self.load_type.figure(self.ninety, 2))
        return f"{first}; 90 % of it is reached at {ninety}, read between measured points."


def measured_peak(series: str, comparisons: Iterable[Comparison]) -> MeasuredPeak | None:
    """The highest measured throughput of a workload in all sweeps over a depth or a delay; None below two loads."""
    name = series.removesuffix(f" {UNDER_ARRIVALS}")
    curves = [c for c in comparisons if c.series == name and isinstance(c.points.load_type, ClosedLoad | InjectedDelay)]
    if not curves:
        return None
    load = curves[0].points.load_type
    points = pd.concat([judged(c.measured, ["load", "throughput_per_s"]) for c in curves])
    rates = points.groupby("load")["throughput_per_s"].max()
    if len(rates) < 2:
        return None
    found = rates.index.to_numpy(float), rates.to_numpy(float)
    ninety = None if isinstance(load, InjectedDelay) else ninety_among(*found)
    return MeasuredPeak(name, load, float(found[0][rates.argmax()]), float(rates.max()), ninety)


def front_of(sections: Sequence[Section], apart: Sequence[Finding] = (), moves: float = 0.0) -> FrontPage:
    """The front of a course's sections; ``apart`` are workloads that two of its suites measured differently."""
    curves = [curve for s in sections for curve in s.curves]
    drive = next((c for c in curves if isinstance(c.comparison.points.load_type, ClosedLoad)), None)
    memory = next((c for c in curves if isinstance(c.comparison.points.load_type, MemoryLoad)), None)
    whole = drive or memory
    comparisons = [c.comparison for c in curves]
    figures: list[KeyFigure] = []
    for one, moved in ((drive, moves), (memory, 0.0)):
        if one is not None:
            figures += _figures(one.comparison, measured_peak(one.comparison.series, comparisons), moved)
    figures += _largest(sections) if len(figures) < FIGURES else []
    wider = (f"The intervals above include what differs between suites, ±{format_percent(100 * moves)}.",)
    return FrontPage(
        _device(sections),
        tuple(figures[:FIGURES]),
        (*_predicted(comparisons), *(wider if drive and moves else ()), *_found(sections, apart)),
        None if whole is None else _view(whole),
    )


def _view(whole: ComparedCurve) -> View:
    """The curve over the load with its band and both knees; without a load, latency against throughput."""
    chosen = next((v for v in whole.main if v.name == "throughput"), whole.main[0])
    return replace(chosen, title=f"{chosen.title}, measured and predicted: {whole.comparison.series}")


def _figures(compared: Comparison, peak: MeasuredPeak | None, moves: float = 0.0) -> list[KeyFigure]:
    """Of a curve where 90 % is reached, the peak, the idle latency: each as measured, with its prediction."""
    fit = replace(compared.fit, between_runs=max(compared.fit.between_runs, moves))
    load, series, found = fit.load_type, compared.series, []
    if peak is not None:
        if peak.ninety is not None:
            what = f"{load.heading} with 90 % of the highest throughput, read between measured points, {series}"
            found.append(_beside(load.figure(peak.ninety, 2), knee_figure(fit, knee=fit.ninety), what))
        what = f"highest {load.rate_name}, measured at {peak.place}, {series}"
        found.append(_beside(peak.highest, peak_figure(fit), what))
    alone = judged(compared.measured, ["load", "latency_s"]).sort_values("load")
    lightest = alone.iloc[-1 if isinstance(load, InjectedDelay) else 0] if len(alone) else None
    if lightest is not None and (lightest["load"] == 1 or isinstance(load, InjectedDelay)):
        what = f"latency, measured at {load.at(float(lightest['load']))}, {series}"
        found.append(_beside(format_duration(float(lightest["latency_s"]), 2), idle_figure(fit), what))
    return found


def _beside(measured: str, predicted: str, what: str) -> KeyFigure:
    return KeyFigure(measured, f"predicted {predicted}" if predicted else "", what)


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
    return "; ".join([*drives, *machine, *([f"measured {_minute(began)}"] if began else [])])


def _predicted(done: Sequence[Comparison]) -> tuple[str, ...]:
    """The errors of the course's predictions of its own points, those of the drive and of the memory apart."""
    held = [c for c in done if not c.is_open and c.held_out.any()]
    parts = {name: [c for c in held if isinstance(c.points.load_type, kind)] for name, kind in _KINDS.items()}
    there = {name: missed_sentences(some) for name, some in parts.items() if some}
    if not there:
        return ("No curve over a load is predicted, so none checks a model.",)
    if len(there) == 1:
        return next(iter(there.values()))
    return tuple(f"{name}: {' '.join(sentences)}" for name, sentences in there.items())


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
            loaders = counted(memory.loader_counts[-1], "loader")
            loaders = " or ".join([*map(str, memory.loader_counts[:-1]), loaders])
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
    began = _minute(every[0].started_at)
    return f"Machine: {facts}. Tools: {', '.join(t for t in tools if t)}. Begun {began}."


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


_NOISE = "repeats-disagree"  # a severe finding that means scatter, not wrong points
LEAST_OF_A_SURFACE = 15  # points below which the corners of a surface leave too few to be predicted


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
    curves = [_curve(c, shown.sweep) for c in done if c.series not in wrong]
    return compared_section(f"{shown.title}: predicted from a few points", curves, refused)


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


def _curve(comparison: Comparison, sweep: Sweep) -> ComparedCurve:
    """What the page shows of a curve: its tails where the histograms allow."""
    try:
        return compared_views_of(comparison, fitted_tails(comparison.fit, sweep, comparison.series))
    except DataError as error:
        return compared_views_of(comparison, left_out=[f"the tails: {error}"])


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
