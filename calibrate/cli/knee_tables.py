"""The knees by every definition, and the profiles of the parameters, as commands print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrate.cli.console import table, warn
from calibrate.cli.failures import wrong_usage

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.cli.parsing import Objective
    from calibrate.knees.definitions import NamedKnee
    from calibrate.prediction.profiles import Profile
    from measure import Sweep


def knees_of(
    fit: Fit,
    objective: Objective | None,
    sweep: Sweep | None = None,
    deepest: float | None = None,
    *,
    share: float | None = None,
    over_repeats: bool = False,
) -> tuple[NamedKnee, ...]:
    """The knees of a fit to ``sweep`` (None: to nothing that is at hand).

    ``over_repeats`` asks for their intervals over repeats, or a warning where there are none. An objective for a tail
    needs the histograms of the sweep: CommandError without one, DataError where they do not suffice.
    """
    from calibrate.knees.definitions import named_knees
    from calibrate.prediction.bootstrapped_knees import bootstrapped
    from measure.errors import DataError

    of_tail = objective if objective is not None and objective.quantile is not None else None
    if of_tail is not None and sweep is None:
        raise wrong_usage(
            f"--slo {of_tail.quantile} needs the histograms of a sweep, and there is none here; calibrate on "
            f"DATA itself: qsim predict DATA --use 1,32 --slo {of_tail.quantile}=TIME"
        )
    found = named_knees(
        fit, objective_s=objective.time_s if objective and not of_tail else None, share=share, deepest=deepest
    )
    if over_repeats and sweep is not None:
        try:
            found = bootstrapped(fit, sweep, found, deepest=deepest)
        except DataError as error:
            warn(f"no interval over repeats: {error}")
    if of_tail is None or of_tail.quantile is None or sweep is None:
        return found
    from calibrate.tails.objective import tail_knee

    told = tail_knee(fit, sweep, fit.series, of_tail.quantile, of_tail.time_s)
    return (*found[:-1], told, found[-1])


ASKED = ("objective", "tail objective", "share")


def asked_points(fit: Fit, sweep: Sweep, objective: Objective | None, share: float | None) -> tuple[NamedKnee, ...]:
    """The operating points that --slo and --share ask for."""
    return tuple(one for one in knees_of(fit, objective, sweep, share=share) if one.name in ASKED)


def knee_table(found: Sequence[NamedKnee], fit: Fit, *, every: bool) -> str:
    """One row for each definition of the knee of ``fit``; those of --slo and --share alone unless ``every``."""
    from calibrate.knees.definitions import knee_rows

    rows = knee_rows([one for one in found if every or one.name in ASKED], fit.load_kind)
    header = ["knee", fit.load_name, f"{100 * fit.level:g} % interval", "throughput", "response", "over repeats", ""]
    kept = [i for i in range(len(header)) if i in (0, 1) or any(row[i] for row in rows)]
    return table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])


def profile_table(found: Sequence[Profile], level: float) -> str:
    """One row for each parameter: where its profile likelihood bounds it, and what would."""
    from calibrate.fitting.curve_fit import quantity

    rows = [
        (p.name, quantity(p.low, p.unit) or "open", quantity(p.high, p.unit) or "open",
         "" if p.identified else f"not identifiable: {p.pins}")
        for p in found
    ]  # fmt: skip
    return table(("likelihood alone", f"{100 * level:g} % from", "to", ""), rows)
