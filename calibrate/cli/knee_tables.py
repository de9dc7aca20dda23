"""The knees by every definition, as commands print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import calibrate
from calibrate.cli.console import table
from calibrate.cli.failures import wrong_usage
from calibrate.cli.parsing import Objective
from qsim.text_table import without_empty

if TYPE_CHECKING:
    from calibrate import Fit, NamedKnee
    from calibrate.inference.parameters import Estimate
    from measure import Sweep


def knees_of(
    fit: Fit, objective: Objective | None, sweep: Sweep | None = None, deepest: float | None = None
) -> tuple[NamedKnee, ...]:
    """The knees of a fit to ``sweep`` (None: unknown), the one of ``objective`` among them.

    An objective for a tail needs the histograms of the sweep: CommandError without one, DataError where they do not
    suffice.
    """
    of_tail = objective is not None and objective.quantile is not None
    found = calibrate.named_knees(
        fit, objective_s=objective.time_s if objective and not of_tail else None, deepest=deepest
    )
    if objective is None or objective.quantile is None:
        return found
    if sweep is None:
        raise wrong_usage(
            f"--slo {objective.quantile} needs the histograms of a sweep, and there is none here; calibrate on "
            f"DATA itself: qsim predict DATA --use 1,32 --slo {objective.quantile}=TIME"
        )
    return (*found[:-1], calibrate.tail_knee(fit, sweep, fit.series, objective.quantile, objective.time_s), found[-1])


def asked_lines(found: Sequence[NamedKnee], fit: Fit) -> list[str]:
    """What --slo asks for, with the heaviest measured point after it.

    ``Under 500 µs: 46 k/s at depth 23 (19 to 29). Depth 64 gave 68 k/s at 938 µs.``
    """
    from measure.units import format_duration, with_interval

    lines = []
    show, load = fit.load_type.throughput_figure, fit.load_type
    for one in (one for one in found if one.asked):
        k = one.knee
        if k.load is None:
            lines.append(f"{one.asked}: {k.note}.")
            continue
        at = with_interval(fit.load_type.figure, k.load, k.low, k.high)
        at = at if load.is_throughput else load.place(at)
        time = "" if one.name == "objective" else f", {format_duration(k.response_time_s, 2)} on average"
        beyond = f"; {k.note}" if k.note else ""
        lines.append(f"{one.asked}: {show(k.throughput_per_s, 2)} at {at}{time}{beyond}.")
    if lines and fit.used and not load.is_delay:
        i = max(range(len(fit.used)), key=fit.used.__getitem__)
        measured = f"{show(fit.used_throughput_per_s[i], 2)} at {format_duration(fit.used_response_s[i], 2)}"
        deepest = fit.load_type.text(fit.used[i])
        place = f"load {deepest}" if load.is_throughput else load.place(deepest)
        lines[-1] += f" {place[0].upper()}{place[1:]} gave {measured}."
    return lines


def knee_table(found: Sequence[NamedKnee], fit: Fit) -> str:
    """One row for each definition of the knee of ``fit``."""
    from calibrate.knees.definitions import knee_rows

    header = ["knee", fit.load_name, f"{100 * fit.level:g} % interval", "throughput", "response", ""]
    return table(*without_empty(header, knee_rows(found, fit)))


def scalability_of(fit: Fit, sweep: Sweep | None) -> Mapping[str, Estimate]:
    """Contention and coherency of a service, by all points of its curve."""
    from calibrate.fitting.curve_fit import scalability

    if sweep is None or (fit.series not in sweep.series and len(sweep.series) > 1):
        return {}  # a data sheet's fit, which names no curve of these
    return scalability(calibrate.points_of(sweep, fit.series if fit.series in sweep.series else None), fit.level)


def scalability_lines(fit: Fit, sweep: Sweep | None) -> list[str]:
    figures = scalability_of(fit, sweep)
    if not figures:
        return []
    named = (f"{name} {figure}" for name, figure in figures.items())
    return [f"Universal Scalability Law, all points: {', '.join(named)}"]
