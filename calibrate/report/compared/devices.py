"""Several devices side by side: their curves on one pair of axes, their parameters, and significant differences.

Curves belong together where devices have them under the same name, or where each device has only one. What varies
different loads (a drive's depth, a memory's delay) shares no axis and gets a section of its own. The first device is
what the others are held against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from calibrate.fitting.fit_answer import figure_word, knee_word
from calibrate.fitting.predicted_curve import Knee
from calibrate.inference.parameters import Estimate
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.ratios import WORDS, ParameterDifference, differences
from calibrate.report.compared import curve_figures
from calibrate.report.view import FormattedTable, Section, View
from measure.units import interval_text, plain_number

MOST_IN_FULL = 3  # of more devices than these the sentence has peaks and knees alone; the tables have everything
OF_MANY = ("Xmax", "B", "N*", "knee")
_HOW = "Lines are predicted, circles were held out, open squares were calibrated on."
CLOSER = "qsim change, which holds each load against itself, sees smaller losses."
_PARAMETERS = "Rough: the interval spans more than a factor of 2; assumed: the number comes mostly from the prior."


@dataclass(frozen=True)
class Matched:
    """Curves of several devices that are held against each other; ``name`` is the curve's, "" where each has one."""

    name: str
    devices: tuple[str, ...]
    comparisons: tuple[Comparison, ...]

    @cached_property
    def differences(self) -> tuple[ParameterDifference, ...]:
        """Of each device against the first."""
        first, *others = zip(self.devices, self.comparisons, strict=True)
        return tuple(d for name, c in others for d in differences(first[1].fit, c.fit, (first[0], name)))

    def sentence(self) -> str:
        """The differences that lie beyond their intervals; with many devices, of peaks and knees only."""
        many = len(self.devices) > MOST_IN_FULL
        kept = [d for d in self.differences if d.beyond and d.quantity in (OF_MANY if many else WORDS)]
        none = f"{'neither peak nor knee' if many else 'nothing'} differs by more than its interval allows"
        parts = []
        for device in self.devices[1:]:
            found = ", ".join(d.sentence() for d in kept if d.other == device)
            parts.append(f"{device} against {self.devices[0]}: {found or none}")
        closer = f" {CLOSER}" if any(part.endswith(none) for part in parts) else ""
        return f"{f'At {self.name}, ' if self.name else ''}{'; '.join(parts)}.{closer}"


@dataclass(frozen=True)
class SideBySide:
    """Devices whose sweeps vary the same kind of load: every curve with its device, and those that match."""

    title: str
    curves: tuple[tuple[str, Comparison], ...]
    matched: tuple[Matched, ...]


def side_by_side(devices: Mapping[str, Sequence[Comparison]]) -> tuple[SideBySide, ...]:
    """The devices by the kind of their load, those that are alone in theirs left out."""
    kinds: dict[str, dict[str, Sequence[Comparison]]] = {}
    for name, done in devices.items():
        kinds.setdefault(done[0].fit.load_name, {})[name] = done
    found = []
    for varied, alike in kinds.items():
        if len(alike) > 1:
            every = tuple((name, c) for name, done in alike.items() for c in done)
            title = "Side by side" if len(kinds) == 1 else f"Side by side: over the {varied}"
            found.append(SideBySide(title, every, tuple(_matched(alike))))
    return tuple(found)


def _matched(devices: Mapping[str, Sequence[Comparison]]) -> list[Matched]:
    if all(len(done) == 1 for done in devices.values()):
        return [Matched("", tuple(devices), tuple(done[0] for done in devices.values()))]
    found = []
    for series in dict.fromkeys(c.series for done in devices.values() for c in done):
        rows = [(name, c) for name, done in devices.items() for c in done if c.series == series]
        if len(rows) > 1:
            found.append(Matched(series, tuple(name for name, _ in rows), tuple(c for _, c in rows)))
    return found


def side_section(found: SideBySide) -> Section:
    """The section of devices that vary the same kind of load."""
    done = [c for _, c in found.curves]
    parts = [curve_figures.curve_table(c).assign(device=d, series=c.series) for d, c in found.curves]
    several = len({device for device, _ in found.curves}) < len(found.curves)
    labels = [f"{device}: {c.series}" if several else device for device, c in found.curves]
    title, figure = f"Latency against {done[0].points.load_type.rate_name}", curve_figures.overview(done, labels)
    views = [View("devices-curve", title, _HOW, pd.concat(parts, ignore_index=True), figure)]
    for number, one in enumerate(found.matched, 1):
        suffix = f"-{number}" if len(found.matched) > 1 else ""
        about = f": {one.name}" if one.name else ""
        table, title = _parameter_table(one), f"Parameters and knees{about}"
        views.append(View(f"parameters{suffix}", title, _PARAMETERS, table, None, parameter_text(one)))
    lead = " ".join(m.sentence() for m in found.matched) or "No curve of these devices has the name of another's."
    return Section(found.title, views, lead=lead, name=found.title.lower())


def _parameter_table(matched: Matched) -> pd.DataFrame:
    """A row for each parameter and knee of each device, SI units."""
    rows = []
    for device, c in zip(matched.devices, matched.comparisons, strict=True):
        knees = (c.fit.knee, c.fit.ninety)
        found = [*c.fit.parameters.items()]
        found += [(f"knee: {k.definition}", Estimate(k.load, k.low, k.high, k.identified)) for k in knees]
        rows += [{"device": device, "parameter": name, **vars(e)} for name, e in found]
    return pd.DataFrame(rows)


def parameter_text(matched: Matched) -> FormattedTable:
    """Every parameter and both knees, with intervals: a column for each device."""
    names = dict.fromkeys(name for c in matched.comparisons for name in c.fit.parameters)
    rows = [(name, *(_parameter(c, name) for c in matched.comparisons)) for name in names]
    for which in ("knee", "ninety"):
        first = getattr(matched.comparisons[0].fit, which)
        rows.append((f"knee: {first.definition}", *(_knee(c, getattr(c.fit, which)) for c in matched.comparisons)))
    models = {c.fit.model for c in matched.comparisons}
    if len(models) > 1:
        rows.insert(0, ("model", *(c.fit.model for c in matched.comparisons)))
    return FormattedTable.of((matched.name or "parameter", *matched.devices), rows)


def _parameter(comparison: Comparison, name: str) -> str:
    estimate = comparison.fit.parameters.get(name)
    if estimate is None:
        return ""
    return f"{estimate} {figure_word(comparison.fit, name, estimate)}"


def _knee(comparison: Comparison, k: Knee) -> str:
    if k.load is None:
        return "not reached"
    ends = interval_text(*(None if v is None else plain_number(v) for v in (k.low, k.high)))
    return f"{plain_number(k.load)} ({ends}) {knee_word(comparison.fit, k)}"
