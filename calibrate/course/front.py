"""The first page of a course: the machine, five figures, a verdict, and the curve with its band and both knees.

Figures are those that were measured, each beside its prediction from a few of the points, which the curve draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from calibrate.fitting.fit_answer import idle_figure, knee_figure, peak_figure
from calibrate.fitting.readings import ninety_among
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.comparison_answer import missed_sentences
from calibrate.report.view import ComparedCurve, FrontPage, KeyFigure, Section, View
from measure.findings import SEVERITIES, Finding
from measure.fio.stored_points import UNDER_ARRIVALS
from measure.loads import ClosedLoad, InjectedDelay, Load, MemoryLoad
from measure.origin import judged
from measure.sweep import Provenance
from measure.units import counted, format_bandwidth, format_duration

FIGURES = 5


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
        first = f"Measured, {self.series}: the highest {self.load_type.rate_name} is {self.highest}, at {self.place}"
        if self.ninety is None:
            return f"{first}."
        ninety = self.load_type.place(self.load_type.figure(self.ninety))
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
    """The front of a course's sections; ``apart`` are workloads that two of its suites measured differently.

    ``moves`` is the relative standard deviation of a figure between its suites, which the intervals include.
    """
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
    return FrontPage(
        _device(sections),
        tuple(figures[:FIGURES]),
        (*_predicted(comparisons), *_found(sections, apart)),
        None if whole is None else _view(whole),
    )


def _view(whole: ComparedCurve) -> View:
    """The curve over the load with its band and both knees; without a load, latency against throughput."""
    chosen = next((v for v in whole.main if v.name == "throughput"), whole.main[0])
    return replace(chosen, title=f"{chosen.title}, measured and predicted: {whole.comparison.series}")


def _figures(compared: Comparison, peak: MeasuredPeak | None, moves: float = 0.0) -> list[KeyFigure]:
    """What was measured of a curve, each figure with its prediction: where 90 % is reached, the peak, the idle latency.

    Of a memory the last two, at its longest delay. A figure whose points were not measured is left out.
    """
    fit = replace(compared.fit, between_runs=max(compared.fit.between_runs, moves))
    load, series, found = fit.load_type, compared.series, []
    if peak is not None:
        if peak.ninety is not None:
            what = f"{load.heading} with 90 % of the highest throughput, read between measured points, {series}"
            found.append(_beside(load.figure(peak.ninety), knee_figure(fit, knee=fit.ninety), what))
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
    return "; ".join([*drives, *machine, *([f"measured {began[:16].replace('T', ' ')}"] if began else [])])


def _predicted(done: Sequence[Comparison]) -> tuple[str, ...]:
    """The errors of the course's predictions of its own points."""
    held = [c for c in done if isinstance(c.points.load_type, ClosedLoad) and c.held_out.any()]
    held = held or [c for c in done if not c.is_open and c.held_out.any()]
    if not held:
        return ("No curve over a load is predicted, so none checks a model.",)
    return missed_sentences(held)


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
