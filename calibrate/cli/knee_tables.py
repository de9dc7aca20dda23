"""The knees by every definition, and the profiles of the parameters, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrate.cli.console import table, warn

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.knees import NamedKnee
    from calibrate.profiles import Profile
    from measure import Sweep


def knees_of(
    fit: Fit, objective_s: float | None, sweep: Sweep | None = None, deepest: float | None = None
) -> tuple[NamedKnee, ...]:
    """The knees of a fit; with ``sweep`` also their intervals over repeats, or a warning where there are none."""
    from calibrate.knees import bootstrapped, knees
    from measure.errors import DataError

    found = knees(fit, objective_s=objective_s, deepest=deepest)
    if sweep is None:
        return found
    try:
        return bootstrapped(fit, sweep, found, deepest=deepest)
    except DataError as error:
        warn(f"no interval over repeats: {error}")
        return found


def knee_table(found: Sequence[NamedKnee], load_name: str, level: float) -> str:
    """One row for each definition."""
    from calibrate.knees import knee_rows

    rows = knee_rows(found)
    header = ["knee", load_name, f"{100 * level:g} % interval", "throughput", "response", "over repeats", ""]
    kept = [i for i in range(len(header)) if i in (0, 1) or any(row[i] for row in rows)]
    return table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


def profile_table(found: Sequence[Profile], level: float) -> str:
    """One row for each parameter: where its profile likelihood bounds it, and what would."""
    from calibrate.fitting import quantity

    rows = [
        (p.name, quantity(p.low, p.unit) or "open", quantity(p.high, p.unit) or "open",
         "" if p.identified else f"not identifiable: {p.pins}")
        for p in found
    ]  # fmt: skip
    return table(("likelihood alone", f"{100 * level:g} % from", "to", ""), rows)
