"""``qsim fit``: calibrate a device model on a few points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.prediction_source import calibrated
from calibrate.cli.console import print_json, say
from calibrate.cli.data import DataSource
from calibrate.cli.knee_tables import asked_lines, knee_table, knees_of, scalability_lines, scalability_of
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import requires
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.knees.definitions import NamedKnee
    from measure import Sweep

HELP = """Calibrate a device model on the points of a sweep: knee, peak and idle latency, with 90 % intervals.

\b
Examples:
qsim fit sweep/ --use 1,32 --out fit.json
qsim fit --dataset 001-memory --use 0,500,20000 --series "64 B read"
"""


@requires("--force", "--out")
def fit(
    *,
    data: o.Data = None,
    dataset: o.Dataset = None,
    columns: o.Columns = None,
    use: o.Use = None,
    series: o.Series = None,
    model: o.DeviceModel = None,
    peak: o.Peak = None,
    delay: parsing.Numbers | None = option(
        "LOW,HIGH",
        parsing.span,
        "The part Z of a latency that keeps no server busy, measured by itself, as 80us,120us.",
    ),
    out: Path | None = option("FILE", parsing.path, "Keep the fit here, for qsim predict and compare --prediction."),
    force: o.Force = False,
    slo: o.Objective = None,
    details: o.Details = False,
    as_json: o.AsJson = False,
) -> None:
    """Fit every series, or the one named, and keep the fits."""
    source = DataSource(data or (), dataset, columns)

    from calibrate.cli.fit_files import check_writable, write_fits
    from calibrate.models.calibration import model_named

    if model is not None:
        model_named(model)
    if out is not None:
        check_writable(out, force=force)
    made = calibrated(source, series, use, model, peak=peak, delay_s=(delay[0], delay[1]) if delay else None)
    if out is not None:
        write_fits(made.fits, out)
    made.warn("not fitted")
    wanted = as_json or details or slo is not None
    knees = [knees_of(f, slo, made.sweep) if wanted else () for f in made.fits]
    if as_json:
        parts = [fit_document(f, named, made.sweep) for f, named in zip(made.fits, knees, strict=True)]
        written = None if out is None else str(out)
        print_json({**parts[0], "series": parts, "refused": made.refused, "written": written})
        return
    at = " --at 1..256" if all(f.load_type.is_closed for f in made.fits) else ""
    keep = f"saved in {out}; next: qsim predict {out}{at}" if out is not None else "--out fit.json: keep it"
    asked = [
        f"{f.series}: {line}" if len(made.fits) > 1 else line
        for f, named in zip(made.fits, knees, strict=True)
        for line in asked_lines(named, f)
    ]
    last = last_lines(made.fits, made.sweep, f"--details: every parameter;   {keep}")
    say("\n".join([*asked, *first_lines(source.title, made.fits), *last]))
    for f, named in zip(made.fits, knees, strict=True) if details else ():
        say("\n".join([f"\n{f}", *scalability_lines(f, made.sweep), f"\n{knee_table(named, f)}"]))


def first_lines(title: str, fits: Sequence[Fit]) -> list[str]:
    """The answer of one fit in three lines, or a row for each of several."""
    from calibrate.fitting.answer import fit_answer, fits_table, knees_labelled, labelled, method_text

    first = fits[0]
    if len(fits) > 1:
        to = f", each fitted to {first.basis}" if len({f.basis for f in fits}) == 1 else ""
        knees = knees_labelled([(f.series, f) for f in fits])
        return [f"{title}: {counted(len(fits), 'curve')}{to}", knees, "", fits_table(fits), ""]
    head = ", ".join(part for part in (title, first.series) if part)
    notes = (labelled("NOTE", note) for note in first.notes)
    return [f"{head}: {method_text(first)}", *fit_answer(first), *notes]


def last_lines(fits: Sequence[Fit], sweep: Sweep | None, more: str) -> list[str]:
    """What to measure next, the same whatever the fits were calibrated on, and ``more``."""
    from calibrate.fitting.answer import labelled
    from calibrate.next.load import advice
    from calibrate.points import points_of
    from calibrate.prediction.answer import next_text

    wanted = (
        "" if sweep is None else next_text([(f.series, advice(points_of(sweep, f.series), f), f.knee) for f in fits])
    )
    return [*([labelled("NEXT", wanted)] if wanted else []), labelled("MORE", more)]


def fit_document(fit: Fit, knees: Sequence[NamedKnee], sweep: Sweep | None = None) -> dict[str, Any]:
    """A fit in JSON with its ``knees`` by every definition, without the table that only a fit file needs."""
    from calibrate.next.load import advice
    from calibrate.points import points_of

    wanted = None if sweep is None else advice(points_of(sweep, fit.series), fit)
    return {
        "name": fit.series,
        "model": {"name": fit.model, "assumption": fit.assumption, "used": list(fit.used)},
        "load": fit.load_name,
        "parameters": {k: asdict(v) for k, v in fit.parameters.items()},
        "knee": fit.knee.to_dict(),
        "knee90": fit.ninety.place(),
        "knees": [k.to_dict() for k in knees],
        "scalability": {k: asdict(v) for k, v in scalability_of(fit, sweep).items()},
        "level": fit.level,
        "notes": list(fit.notes),
        "source": fit.source,
        "next": None if wanted is None else wanted.to_dict(),
    }
