"""``qsim fit``: calibrate a device model on a few points; and how commands make fits, print them, and write JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.data import DataSource, findings_of, known_series, of_each, print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import check_new, write_fits
from calibrate.cli.options import option
from calibrate.cli.parsing import Objective
from measure.findings import curve_name
from measure.loads import ArrivalRate, ClosedLoad, InjectedDelay, Load, PeakShare, ThroughputLoad
from measure.units import counted, format_duration, with_interval
from qsim.result import labelled

if TYPE_CHECKING:
    from calibrate import Fit, NextLoad
    from calibrate.fitting.predicted_curve import Knee
    from calibrate.inference.parameters import Estimate


@dataclass(frozen=True)
class CalibratedCurves:
    """The fits of curves, their sweep (None: unknown), and the reasons why other curves have none."""

    fits: Sequence[Fit]
    sweep: measure.Sweep | None = None
    refused: Mapping[str, str] = field(default_factory=dict)


def calibrated(
    source: DataSource,
    series: str | None,
    use: Sequence[float] | None,
    model: str | None = None,
    *,
    peak_iops: float | None = None,
    asked: Any = None,
    refusal: str = "not fitted",
) -> CalibratedCurves:
    """Load, and fit every curve or the one named; DataError without a fit.

    ``peak_iops`` is the peak of a drive of which one point was measured, ``asked`` the loads to predict at. What the
    importer noticed, what speaks against the fits, and which curves have none go to stderr.
    """
    sweep = source.load()
    names = known_series(sweep.series, series)

    def fitted(name: str) -> Fit:
        from calibrate.fitting.calibrating import with_unsteady_named

        chosen = model or _model_under(sweep.load_type, asked)
        made = calibrate.fit(sweep, use or None, series=name, model=chosen, peak_per_s=peak_iops)
        return with_unsteady_named(calibrate.with_origin(made, sweep), sweep)

    fits, refused = of_each(names, fitted, refusal)
    print_findings(findings_of(sweep, names))
    print_findings([doubt for f in fits.values() for doubt in calibrate.doubts_about(f, sweep)])
    return CalibratedCurves([*fits.values()], sweep, refused)


def _model_under(measured: Load, asked: Any) -> str | None:
    """The model that predicts another kind of load than the rates that were measured; None where the data decide."""
    from calibrate.fitting.own_load import is_own_kind
    from calibrate.models.choice import ANY_LOAD

    asked = asked.of if isinstance(asked, PeakShare) else asked
    if not isinstance(measured, ArrivalRate) or not isinstance(asked, Load) or is_own_kind(measured, asked):
        return None
    return ANY_LOAD


def objective_of(
    fit: Fit, slo: Objective, sweep: measure.Sweep | None, under: ArrivalRate | ClosedLoad | None = None
) -> Knee:
    """The heaviest load of a fit to ``sweep`` (None: unknown) that meets the objective, of the kind ``under``.

    An objective for a tail needs the histograms of the sweep: CommandError without one, DataError where they do not
    suffice.
    """
    if slo.quantile is None:
        if under is None:
            return calibrate.objective_knee(fit, slo.time_s)
        return calibrate.objective_under(fit, slo.time_s, under)
    if under is not None:
        raise wrong_usage(
            f"--slo {slo.quantile} answers in {fit.load_type.plural}, and --at asks for {under.plural}: look for "
            f"{format_duration(slo.time_s)} in the column of p99 there, or give --slo for the mean"
        )
    if sweep is None:
        raise wrong_usage(
            f"--slo {slo.quantile} needs the histograms of a sweep, and there is none here; calibrate on "
            f"DATA itself: qsim predict DATA --use 1,32 --slo {slo.quantile}=TIME"
        )
    return calibrate.tail_knee(fit, sweep, fit.series, slo.quantile, slo.time_s)


def objective_document(
    fit: Fit, slo: Objective | None, sweep: measure.Sweep | None, under: ArrivalRate | ClosedLoad | None = None
) -> dict[str, Any] | None:
    """The load that meets the objective in JSON; None without one."""
    from calibrate.fitting.fit_answer import knee_word, reason

    if slo is None:
        return None
    k = objective_of(fit, slo, sweep, under)
    word = knee_word(fit, k)
    return {**k.to_dict(), "sure": word, "reason": reason(fit, word, k.low, k.high, of_peak=False)}


def asked_lines(
    fit: Fit, slo: Objective | None, sweep: measure.Sweep | None, under: ArrivalRate | ClosedLoad | None = None
) -> list[str]:
    """The largest load within --slo, then the heaviest measured point; empty without an objective.

    ``under`` is the kind of load where --at asks for another than was measured.

    ``Under 500 µs: 46 k/s at depth 23 (19 to 29), sure. Depth 64 gave 68 k/s at 938 µs.``
    """
    if slo is None:
        return []
    from calibrate.fitting.fit_answer import explained, knee_word, reason

    k, load = objective_of(fit, slo, sweep, under), fit.load_type if under is None else under
    show = load.throughput_figure
    asked = f"{f'{slo.quantile} under' if slo.quantile else 'Under'} {format_duration(slo.time_s)}"
    word = knee_word(fit, k)
    why = reason(fit, word, k.low, k.high, of_peak=False)
    line = f"{asked}: {', '.join(filter(None, (k.note, word)))}."
    if k.load is not None:
        at = with_interval(_whole if slo.quantile else load.figure, k.load, k.low, k.high)
        at = under.in_full(at) if under is not None else at if isinstance(load, ThroughputLoad) else load.place(at)
        at = load.in_full(at) if isinstance(load, ArrivalRate) and under is None else at
        time = f", {format_duration(k.response_time_s, 2)} on average" if slo.quantile else ""
        beyond = f"; {k.note}" if k.note else ""
        rate = "" if isinstance(load, ThroughputLoad) else f"{show(k.throughput_per_s, 2)} at "
        line = f"{asked}: {rate}{at}{time}, {explained(word, why)}{beyond}."
    if fit.used and not isinstance(load, InjectedDelay) and under is None:
        i = max(range(len(fit.used)), key=fit.used.__getitem__)
        deepest, took = fit.load_type.text(fit.used[i]), format_duration(fit.used_response_s[i], 2)
        if isinstance(load, ThroughputLoad):
            return [f"{line} At {deepest} it took {took}."]
        place = load.place(deepest)
        line += f" {place[0].upper()}{place[1:]} gave {show(fit.used_throughput_per_s[i], 2)} at {took}."
    return [line]


def _whole(value: float, digits: int = 3, like: float | None = None, /) -> str:
    """A number of requests, of which tails are predicted at whole ones alone."""
    return f"{value:.0f}"


def scalability_of(fit: Fit, sweep: measure.Sweep | None) -> Mapping[str, Estimate]:
    """Contention and coherency of a service, from all points of its curve."""
    from calibrate.fitting.calibrating import scalability

    if sweep is None or (fit.series not in sweep.series and len(sweep.series) > 1):
        return {}  # a data sheet's fit, without a curve
    return scalability(calibrate.points_of(sweep, fit.series if fit.series in sweep.series else None), fit.level)


def scalability_lines(fit: Fit, sweep: measure.Sweep | None) -> list[str]:
    figures = scalability_of(fit, sweep)
    if not figures:
        return []
    named = (f"{name} {figure}" for name, figure in figures.items())
    return [f"Universal Scalability Law, all points: {', '.join(named)}"]


def first_lines(title: str, fits: Sequence[Fit]) -> list[str]:
    """The answer of one fit in three lines, or a row for each of several."""
    from calibrate.fitting.fit_answer import fit_answer, fits_table, knees_labelled, method_text

    first = fits[0]
    if len(fits) > 1:
        to = f", each fitted to {first.basis}" if len({f.basis for f in fits}) == 1 else ""
        knees = knees_labelled([(f.series, f) for f in fits])[0]
        return [f"{title}: {counted(len(fits), 'curve')}{to}", knees, "", fits_table(fits), ""]
    head = ", ".join(part for part in (title, curve_name(first.series)) if part)
    notes = (labelled("NOTE", note) for note in first.notes)
    method = method_text(first)
    return [f"{head}: {method}" if head else f"{method[0].upper()}{method[1:]}", *fit_answer(first), *notes]


def last_lines(made: CalibratedCurves, more: str) -> list[str]:
    """What to measure next, given all points of the curves, and ``more``."""
    from calibrate.prediction.comparison_answer import next_text

    wanted = next_text([(f.series, _advice(f, made.sweep), f.knee) for f in made.fits]) if made.sweep else ""
    return [*([labelled("NEXT", wanted)] if wanted else []), labelled("MORE", more)]


def _advice(fit: Fit, sweep: measure.Sweep | None) -> NextLoad | None:
    from calibrate.next import advice

    return None if sweep is None else advice(calibrate.points_of(sweep, fit.series), fit.between_runs)


def fit_document(
    fit: Fit, slo: Objective | None, sweep: measure.Sweep | None = None, under: ArrivalRate | ClosedLoad | None = None
) -> dict[str, Any]:
    """A fit in JSON with what --slo asks for, without the table that only a fit file needs."""
    from calibrate.fitting.fit_answer import knees_document

    wanted = _advice(fit, sweep)
    return {
        "name": fit.series,
        "model": {"name": fit.model, "assumption": fit.assumption, "used": list(fit.used)},
        "load": fit.load_name,
        "parameters": {k: asdict(v) for k, v in fit.parameters.items()},
        **knees_document(fit),
        "objective": objective_document(fit, slo, sweep, under),
        "scalability": {k: asdict(v) for k, v in scalability_of(fit, sweep).items()},
        "level": fit.level,
        "notes": list(fit.notes),
        "source": fit.source,
        "next": None if wanted is None else wanted.to_dict(),
    }


def fit(
    *,
    data: o.Data = None,
    dataset: o.Dataset = None,
    columns: o.Columns = None,
    use: o.Use = None,
    series: o.Series = None,
    model: o.DeviceModel = None,
    out: Path | None = option("FILE", parsing.path, "Keep the fit here, for qsim predict and compare --prediction."),
    slo: o.Objective = None,
    details: o.Details = False,
) -> CommandResult:
    """Calibrate a device model on the points of a sweep: knee, peak and idle latency, with 90 % intervals.

    DATA under different kinds of load (depths, users who think, rates) are one device, and calibrate one curve.

    \b
    Examples:
    qsim fit sweep/ --use 1,32 --out fit.json
    qsim fit closed/ open/
    qsim fit --dataset 001-memory --use 0,500,20000 --series "64 B read"
    """
    source = DataSource(data or (), dataset, columns)
    if model is not None:
        from calibrate.models.choice import model_named

        model_named(model)
    if out is not None:
        check_new(out)
    made = calibrated(source, series, use, model)
    if out is not None:
        write_fits(made.fits, out)

    def text() -> str:
        at = " --at 1..256" if all(isinstance(f.load_type, ClosedLoad) for f in made.fits) else ""
        keep = f"saved in {out}; next: qsim predict {out}{at}" if out is not None else "--out fit.json: keep it"
        named = [(f"{f.series}: " if len(made.fits) > 1 else "", f) for f in made.fits]
        lines = [f"{name}{line}" for name, f in named for line in asked_lines(f, slo, made.sweep)]
        lines += first_lines(source.title, made.fits)
        lines += last_lines(made, f"--details: every parameter;   {keep}")
        for f in made.fits if details else ():
            lines += [f"\n{f}", *scalability_lines(f, made.sweep)]
        return "\n".join(lines)

    def document() -> dict[str, Any]:
        parts = [fit_document(f, slo, made.sweep) for f in made.fits]
        written = None if out is None else str(out)
        return {**parts[0], "series": parts, "refused": made.refused, "written": written}

    return CommandResult(text, document)
