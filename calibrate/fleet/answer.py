"""The answer of a fleet: the middle of each model, the odd drives, what drifts, what was broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.fitting.answer import labelled
from calibrate.fleet.odd import WORDS
from measure.units import counted, format_duration, format_rate, plain_number
from qsim.text_table import table

if TYPE_CHECKING:
    from calibrate.fleet.drives import Fleet

MOST_ROWS = 10
LIKE = ["model", "firmware", "series"]
"""Drives that share these are compared."""


def short_text(fleet: Fleet) -> str:
    """The ``repr`` of a fleet."""
    return "\n".join(fleet_answer(fleet))


def fleet_answer(fleet: Fleet) -> list[str]:
    """Three lines, a table of models, the odd drives."""
    drives, odd = fleet.drives, fleet.odd
    by_chance = len(drives) * fleet.false_alarms
    lines = [
        f"{counted(drives['drive'].nunique(), 'drive')}, {counted(len(drives), 'curve')}",
        labelled("MIDDLE", _middle(drives)),
        labelled("ODD", f"{counted(len(odd), 'curve')}, where {plain_number(by_chance, 2)} would be by chance"),
        "",
        models_table(drives),
    ]
    if len(odd):
        lines += ["", odd_table(odd)]
    if len(fleet.drifting):
        lines += ["", labelled("DRIFTS", _drifting(fleet.drifting))]
    if fleet.broken:
        name, why = next(iter(fleet.broken.items()))
        lines += [
            "",
            labelled("BROKEN", f"{counted(len(fleet.broken), 'measurement')} left out, the first {name}: {why}"),
        ]
    return lines


def _middle(drives: pd.DataFrame) -> str:
    if (kinds := drives.groupby(LIKE, sort=False).ngroups) > 1:
        return f"of each of {kinds} kinds, below: unlike drives have none in common"
    knee, peak, idle = (drives[name].median() for name in ("knee", "peak_per_s", "idle_latency_s"))
    return f"knee {plain_number(knee, 2)}, peak {format_rate(peak)}, idle latency {format_duration(idle)} (medians)"


def models_table(drives: pd.DataFrame) -> str:
    """A row for each model, firmware and curve: how many, and the medians."""
    rows = [
        (
            *(str(name) or "-" for name in names),
            str(len(group)),
            plain_number(group["knee"].median(), 2),
            format_rate(group["peak_per_s"].median()),
            format_duration(group["idle_latency_s"].median()),
        )
        for names, group in drives.groupby(LIKE, sort=False)
    ]
    return _cut(("MODEL", "FIRMWARE", "CURVE", "CURVES", "KNEE", "PEAK", "IDLE LATENCY"), rows, 3)


def odd_table(odd: pd.DataFrame) -> str:
    """A row for each odd measurement, with its date where a drive has several."""
    several = bool(odd.duplicated(["drive", "series"]).any())
    dates = [(str(when) or "-",) if several else () for when in odd["measured_at"]]
    rows = [(str(r.drive), str(r.series), *date, str(r.odd)) for r, date in zip(odd.itertuples(), dates, strict=True)]
    when = ("MEASURED",) if several else ()
    return _cut(("ODD DRIVE", "CURVE", *when, "AGAINST THE MEDIAN OF ITS LIKE"), rows, 3 + several)


def _cut(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int) -> str:
    text = table(header, rows[:MOST_ROWS], left=left)
    return text if len(rows) <= MOST_ROWS else f"{text}\n... and {len(rows) - MOST_ROWS} more (--out FILE has all)"


def _drifting(found: pd.DataFrame) -> str:
    worst = found.iloc[int(np.argmax(found["a_month"].abs()))]
    a_month, low, high = (100 * float(worst[name]) for name in ("a_month", "low", "high"))
    return (
        f"{counted(found['drive'].nunique(), 'drive')}, most {worst['drive']}: {WORDS[str(worst['quantity'])]} "
        f"{a_month:+.2g} % a month ({low:.2g} to {high:.2g})"
    )
