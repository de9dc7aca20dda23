"""``qsim fit``: calibrate a device model on a few points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.prediction_source import CalibratedCurves, calibrated
from calibrate.cli.console import Result, labelled
from calibrate.cli.data import DataSource
from calibrate.cli.fit_files import write_fits
from calibrate.cli.fit_lines import asked_lines, objective_of, scalability_lines, scalability_of
from calibrate.cli.option_groups import option
from calibrate.cli.outputs import check_new
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Fit, NextLoad

HELP = """Calibrate a device model on the points of a sweep: knee, peak and idle latency, with 90 % intervals.

\b
Examples:
qsim fit sweep/ --use 1,32 --out fit.json
qsim fit --dataset 001-memory --use 0,500,20000 --series "64 B read"
"""


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
) -> Result:
    """Fit every series, or the one named, and keep the fits."""
    source = DataSource(data or (), dataset, columns)
    if model is not None:
        from calibrate.models.calibration import model_named

        model_named(model)
    if out is not None:
        check_new(out)
    made = calibrated(source, series, use, model)
    if out is not None:
        write_fits(made.fits, out)
    made.warn("not fitted")

    def text() -> str:
        at = " --at 1..256" if all(f.load_type.is_closed for f in made.fits) else ""
        keep = f"saved in {out}; next: qsim predict {out}{at}" if out is not None else "--out fit.json: keep it"
        lines = [*asked_of(made, slo), *first_lines(source.title, made.fits)]
        lines += last_lines(made, f"--details: every parameter;   {keep}")
        for f in made.fits if details else ():
            lines += [f"\n{f}", *scalability_lines(f, made.sweep)]
        return "\n".join(lines)

    def document() -> dict[str, Any]:
        parts = [fit_document(f, slo, made.sweep) for f in made.fits]
        written = None if out is None else str(out)
        return {**parts[0], "series": parts, "refused": made.refused, "written": written}

    return Result(text, document)


def asked_of(made: CalibratedCurves, slo: parsing.Objective | None) -> list[str]:
    """What --slo asks for of each curve."""
    lines = [(f.series, line) for f in made.fits for line in asked_lines(f, slo, made.sweep)]
    return [f"{name}: {line}" if len(made.fits) > 1 else line for name, line in lines]


def first_lines(title: str, fits: Sequence[Fit]) -> list[str]:
    """The answer of one fit in three lines, or a row for each of several."""
    from calibrate.fitting.answer import fit_answer, fits_table, knees_labelled, method_text

    first = fits[0]
    if len(fits) > 1:
        to = f", each fitted to {first.basis}" if len({f.basis for f in fits}) == 1 else ""
        knees = knees_labelled([(f.series, f) for f in fits])[0]
        return [f"{title}: {counted(len(fits), 'curve')}{to}", knees, "", fits_table(fits), ""]
    head = ", ".join(part for part in (title, first.series) if part)
    notes = (labelled("NOTE", note) for note in first.notes)
    return [f"{head}: {method_text(first)}", *fit_answer(first), *notes]


def last_lines(made: CalibratedCurves, more: str) -> list[str]:
    """What to measure next, the same whatever the fits were calibrated on, and ``more``."""
    from calibrate.prediction.answer import next_text

    wanted = next_text([(f.series, _advice(f, made.sweep)) for f in made.fits]) if made.sweep else ""
    return [*([labelled("NEXT", wanted)] if wanted else []), labelled("MORE", more)]


def _advice(fit: Fit, sweep: measure.Sweep | None) -> NextLoad | None:
    from calibrate.next.load import advice

    return None if sweep is None else advice(calibrate.points_of(sweep, fit.series), fit)


def fit_document(fit: Fit, slo: parsing.Objective | None, sweep: measure.Sweep | None = None) -> dict[str, Any]:
    """A fit in JSON with what --slo asks for, without the table that only a fit file needs."""
    from calibrate.fitting.answer import knee_word

    wanted = _advice(fit, sweep)
    return {
        "name": fit.series,
        "model": {"name": fit.model, "assumption": fit.assumption, "used": list(fit.used)},
        "load": fit.load_name,
        "parameters": {k: asdict(v) for k, v in fit.parameters.items()},
        "knee": {**fit.knee.to_dict(), "sure": knee_word(fit)},
        "knee90": {**fit.ninety.place(), "sure": knee_word(fit, fit.ninety)},
        "objective": None if slo is None else objective_of(fit, slo, sweep).to_dict(),
        "scalability": {k: asdict(v) for k, v in scalability_of(fit, sweep).items()},
        "level": fit.level,
        "notes": list(fit.notes),
        "source": fit.source,
        "next": None if wanted is None else wanted.to_dict(),
    }
