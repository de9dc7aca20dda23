"""Several devices side by side: their curves on one pair of axes, their parameters, and what differs beyond doubt.

Curves belong together where devices have them under the same name, or where each device has only one. What varies
different loads (a drive's depth, a memory's delay) shares no axis and gets a section of its own. The first device is
what the others are held against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from calibrate.knees.knee import Knee
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.ratios import WORDS, ParameterDifference, differences
from calibrate.report.compared.evidence import Evidence
from calibrate.report.view import FormattedTable
from measure.loads import LOADS
from measure.units import interval_text

MOST_IN_FULL = 3
"""Of more devices than these the sentence has peaks and knees alone; the tables have everything."""

OF_MANY = ("Xmax", "B", "N*", "knee")


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
        return tuple(
            d for name, comparison in others for d in differences(first[1].fit, comparison.fit, (first[0], name))
        )

    @property
    def many(self) -> bool:
        """Whether there are too many devices to say everything about each."""
        return len(self.devices) > MOST_IN_FULL

    def sentence(self) -> str:
        """The differences that lie beyond their intervals; with many devices, of peaks and knees only."""
        asked = OF_MANY if self.many else WORDS
        kept = [d for d in self.differences if d.beyond and d.quantity in asked]
        parts = []
        for device in self.devices[1:]:
            found = ", ".join(d.sentence() for d in kept if d.other == device)
            which = "neither peak nor knee differs" if self.many else "nothing differs"
            none = f"{which} by more than its interval allows"
            parts.append(f"{device} against {self.devices[0]}: {found or none}")
        return f"{f'At {self.name}, ' if self.name else ''}{'; '.join(parts)}."


@dataclass(frozen=True)
class SideBySide:
    """Devices whose sweeps vary the same kind of load: every curve with its device, and those that match."""

    title: str
    devices: tuple[str, ...]
    curves: tuple[tuple[str, Comparison], ...]
    matched: tuple[Matched, ...] = field(default=())

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each curve: its device's, with the curve's where a device has several."""
        several = len(self.curves) > len(self.devices)
        return tuple(f"{device}: {c.series}" if several else device for device, c in self.curves)


def side_by_side(devices: Mapping[str, Sequence[Evidence]]) -> tuple[SideBySide, ...]:
    """The devices by the kind of their load, those that are alone in theirs left out."""
    kinds: dict[tuple[str, str], list[str]] = {}
    for name, evidence in devices.items():
        points = evidence[0].comparison.points
        kinds.setdefault((points.load_kind, points.load_type.unit), []).append(name)
    found = []
    for (kind, unit), names in kinds.items():
        if len(names) < 2:
            continue
        load = LOADS[kind]
        varied = load.named(unit) if load.is_delay else load.name
        curves = tuple((name, e.comparison) for name in names for e in devices[name])
        title = "Side by side" if len(kinds) == 1 else f"Side by side: over the {varied}"
        found.append(SideBySide(title, tuple(names), curves, tuple(_matched({n: devices[n] for n in names}))))
    return tuple(found)


def alone(devices: Mapping[str, Sequence[Evidence]]) -> str:
    """A sentence on what is not held against each other; empty where everything is."""
    kinds = {evidence[0].comparison.fit.load_name for evidence in devices.values()}
    if len(kinds) < 2:
        return ""
    return (
        f"these devices vary different loads ({', '.join(sorted(kinds))}), which have no axis and no parameter in "
        "common: only those that vary the same load are held against each other"
    )


def _matched(devices: Mapping[str, Sequence[Evidence]]) -> list[Matched]:
    if all(len(evidence) == 1 for evidence in devices.values()):
        return [_together("", [(name, evidence[0]) for name, evidence in devices.items()])]
    found = []
    for series in dict.fromkeys(e.comparison.series for evidence in devices.values() for e in evidence):
        rows = [(n, e) for n, evidence in devices.items() for e in evidence if e.comparison.series == series]
        if len(rows) > 1:
            found.append(_together(series, rows))
    return found


def _together(name: str, rows: Sequence[tuple[str, Evidence]]) -> Matched:
    return Matched(name, tuple(n for n, _ in rows), tuple(e.comparison for _, e in rows))


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
    return FormattedTable(
        (matched.name or "parameter", *matched.devices), tuple(rows), (True, *[False] * len(matched.devices))
    )


def _parameter(comparison: Comparison, name: str) -> str:
    estimate = comparison.fit.parameters.get(name)
    if estimate is None:
        return ""
    return f"{estimate} {comparison.fit.sureness(estimate.identified, estimate.low, estimate.high)}"


def _knee(comparison: Comparison, k: Knee) -> str:
    if k.load is None:
        return "not reached"
    ends = interval_text(*(None if v is None else f"{v:.3g}" for v in (k.low, k.high)))
    return f"{k.load:.3g} ({ends}) {comparison.fit.sureness(k.identified, k.low, k.high)}"
