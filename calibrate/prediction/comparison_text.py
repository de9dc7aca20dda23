"""A comparison in full, as ``qsim compare --details`` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.inference.estimates import quantity
from calibrate.load_text import load_text
from calibrate.prediction.answer import points_table
from calibrate.prediction.open_queue import waiting, waiting_table
from measure.units import format_duration
from qsim.text_table import table

if TYPE_CHECKING:
    from calibrate.points import Points
    from calibrate.prediction.comparison import Comparison
    from calibrate.prediction.truth import TruthCheck


def comparison_text(comparison: Comparison, heading: str) -> str:
    """The fit below its ``heading``, every point, the requests that wait, the truth where it is known, the verdict."""
    c = comparison
    parts = [c.fit.text(heading), points_table(c), waiting_table(waiting(c.fit, c.points))]
    parts += [] if c.truth is None else _truth_tables(c.truth, c.points)
    return "\n\n".join(part for part in (*parts, c.verdict()) if part)


def _truth_tables(check: TruthCheck, points: Points) -> list[str]:
    """Estimates against the truth, and times at every load."""
    estimates = []
    for a in (*check.parameters, check.knee):
        interval = "" if a.inside is None else f"[{quantity(a.low, a.unit)}, {quantity(a.high, a.unit)}]"
        outcome = "" if a.inside is None else "inside" if a.inside else "OUTSIDE"
        estimates.append((a.name, quantity(a.truth, a.unit), quantity(a.estimate, a.unit), interval, outcome))
    times = []
    for i, load in enumerate(points.load):
        at = (check.response_time_s[i], points.served(i), points.response_time_s[i])
        times.append((load_text(points.load_kind, load), *("" if t is None else format_duration(t) for t in at)))
    return [
        table(("", "truth", "estimate", "interval", ""), estimates, left=(True, False, False, True, True)),
        table((points.load_type.symbol, "in truth", "by its log", "observed"), times, left=0),
    ]
