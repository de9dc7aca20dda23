"""What --slo asks of a fit, and the scalability of services, as commands print them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import calibrate
from calibrate.cli.failures import wrong_usage
from calibrate.cli.parsing import Objective
from measure.units import format_duration, with_interval

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.fitting.knee import Knee
    from calibrate.inference.parameters import Estimate
    from measure import Sweep


def objective_of(fit: Fit, slo: Objective, sweep: Sweep | None) -> Knee:
    """The heaviest load of a fit to ``sweep`` (None: unknown) that meets the objective.

    An objective for a tail needs the histograms of the sweep: CommandError without one, DataError where they do not
    suffice.
    """
    if slo.quantile is None:
        return calibrate.objective_knee(fit, slo.time_s)
    if sweep is None:
        raise wrong_usage(
            f"--slo {slo.quantile} needs the histograms of a sweep, and there is none here; calibrate on "
            f"DATA itself: qsim predict DATA --use 1,32 --slo {slo.quantile}=TIME"
        )
    return calibrate.tail_knee(fit, sweep, fit.series, slo.quantile, slo.time_s)


def asked_lines(fit: Fit, slo: Objective | None, sweep: Sweep | None) -> list[str]:
    """What --slo asks for, with the heaviest measured point after it; empty without an objective.

    ``Under 500 µs: 46 k/s at depth 23 (19 to 29). Depth 64 gave 68 k/s at 938 µs.``
    """
    if slo is None:
        return []
    k, show, load = objective_of(fit, slo, sweep), fit.load_type.throughput_figure, fit.load_type
    asked = f"{f'{slo.quantile} under' if slo.quantile else 'Under'} {format_duration(slo.time_s)}"
    line = f"{asked}: {k.note}."
    if k.load is not None:
        at = with_interval(load.figure, k.load, k.low, k.high)
        at = at if load.is_throughput else load.place(at)
        time = f", {format_duration(k.response_time_s, 2)} on average" if slo.quantile else ""
        beyond = f"; {k.note}" if k.note else ""
        line = f"{asked}: {show(k.throughput_per_s, 2)} at {at}{time}{beyond}."
    if fit.used and not load.is_delay:
        i = max(range(len(fit.used)), key=fit.used.__getitem__)
        measured = f"{show(fit.used_throughput_per_s[i], 2)} at {format_duration(fit.used_response_s[i], 2)}"
        deepest = fit.load_type.text(fit.used[i])
        place = f"load {deepest}" if load.is_throughput else load.place(deepest)
        line += f" {place[0].upper()}{place[1:]} gave {measured}."
    return [line]


def scalability_of(fit: Fit, sweep: Sweep | None) -> Mapping[str, Estimate]:
    """Contention and coherency of a service, by all points of its curve."""
    from calibrate.fitting.fit import scalability

    if sweep is None or (fit.series not in sweep.series and len(sweep.series) > 1):
        return {}  # a data sheet's fit, which names no curve of these
    return scalability(calibrate.points_of(sweep, fit.series if fit.series in sweep.series else None), fit.level)


def scalability_lines(fit: Fit, sweep: Sweep | None) -> list[str]:
    figures = scalability_of(fit, sweep)
    if not figures:
        return []
    named = (f"{name} {figure}" for name, figure in figures.items())
    return [f"Universal Scalability Law, all points: {', '.join(named)}"]
