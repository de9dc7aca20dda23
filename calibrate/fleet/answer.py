"""The answer of a fleet: the middle of each model, the odd drives, what was broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from calibrate.fleet.odd import FALSE_ALARMS, LEAST, LIKE
from measure.units import counted, format_duration, format_percent, format_rate, plain_number
from qsim.text_table import labelled, table

if TYPE_CHECKING:
    from calibrate.fleet.drives import Fleet
    from calibrate.fleet.odd import Power

MOST_ROWS = 10


def short_text(fleet: Fleet) -> str:
    """The ``repr`` of a fleet."""
    return "\n".join(fleet_answer(fleet))


def fleet_answer(fleet: Fleet) -> list[str]:
    """Four lines, a table of models, the odd drives."""
    drives, odd = fleet.drives, fleet.odd
    lines = [
        f"{counted(drives['drive'].nunique(), 'drive')}, {counted(len(drives), 'curve')}",
        labelled("MIDDLE", _middle(drives)),
        labelled("ODD", f"{counted(len(odd), 'curve')}; by chance one in {1 / FALSE_ALARMS:g} fleets"),
        labelled("SEEN", _seen(fleet.powers)),
        "",
        models_table(drives),
    ]
    if len(odd):
        lines += ["", odd_table(odd)]
    if fleet.broken:
        name, why = next(iter(fleet.broken.items()))
        lines += [
            "",
            labelled("BROKEN", f"{counted(len(fleet.broken), 'measurement')} left out, the first {name}: {why}"),
        ]
    return lines


def _seen(powers: Sequence[Power]) -> str:
    """What would have been found: of several groups, in that where the least is."""
    judged = [p for p in powers if p.one_load_pct is not None and p.all_loads_pct is not None]
    few = sum(p.drives for p in powers if p.one_load_pct is None)
    left = f"; {counted(few, 'curve')} in groups below {LEAST} not judged" if few else ""
    if not judged:
        return f"nothing: no group of like drives has {LEAST} curves over the same loads"
    worst = max(judged, key=lambda p: p.one_load_pct or 0.0)
    return (
        f"a drive {format_percent(worst.one_load_pct or 0.0)} slower at any one load, or "
        f"{format_percent(worst.all_loads_pct or 0.0)} at all, would have been found{left}"
    )


def _middle(drives: pd.DataFrame) -> str:
    if (kinds := drives.groupby(LIKE, sort=False).ngroups) > 1:
        return f"of each of {kinds} kinds, below: unlike drives have none in common"
    knee, peak, idle = (drives[name].median() for name in ("knee", "peak_per_s", "idle_latency_s"))
    return f"knee {plain_number(knee, 2)}, peak {format_rate(peak)}, idle latency {format_duration(idle)} (medians)"


def models_table(drives: pd.DataFrame) -> str:
    """A row for each model, firmware and curve: how many, and the medians."""
    rows = [
        (
            *(str(group[name].iloc[0]) or "-" for name in ("model", "firmware")),
            str(group["series"].iloc[0]) + (f", kind {group['kind'].iloc[0] + 1}" if drives["kind"].any() else ""),
            str(len(group)),
            plain_number(group["knee"].median(), 2),
            format_rate(group["peak_per_s"].median()),
            format_duration(group["idle_latency_s"].median()),
        )
        for _, group in drives.groupby(LIKE, sort=False)
    ]
    return _cut(("MODEL", "FIRMWARE", "CURVE", "CURVES", "KNEE", "PEAK", "IDLE LATENCY"), rows, 3)


def odd_table(odd: pd.DataFrame) -> str:
    """A row for each odd curve."""
    rows = [(str(r.drive), str(r.series), str(r.odd)) for r in odd.itertuples()]
    return _cut(("ODD DRIVE", "CURVE", "AGAINST THE MEDIAN OF ITS LIKE"), rows, 3)


def _cut(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: int) -> str:
    text = table(header, rows[:MOST_ROWS], left=left)
    return text if len(rows) <= MOST_ROWS else f"{text}\n... and {len(rows) - MOST_ROWS} more (--out FILE has all)"
