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
from calibrate.cli.knee_tables import asked_lines, knee_table, knees_of
from calibrate.cli.option_groups import option
from measure.units import counted

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.knees.definitions import NamedKnee
    from measure import Sweep

HELP = """Calibrate a device model on the points of a sweep: knee, peak and idle latency, with intervals.

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
    as_published: o.AsPublished = False,
    use: o.Use = None,
    series: o.Series = None,
    model: o.DeviceModel = None,
    level: o.Level = None,
    peak: o.Peak = None,
    out: Path | None = option("FILE", parsing.path, "Keep the fit here, for qsim predict and compare --fit."),
    force: o.Force = False,
    wanted: o.KneeOptions,
    delay: parsing.Numbers | None = option(
        "LOW,HIGH",
        parsing.span,
        "The part Z of a latency that keeps no server busy, measured by itself, as 80us,120us.",
    ),
    details: o.Details = False,
    as_json: o.AsJson = False,
) -> None:
    """Fit every series, or the one named, and keep the fits."""
    source = DataSource(data or (), dataset, columns, as_published)

    from calibrate.cli.fit_files import check_writable, write_fits
    from calibrate.fitting.curve_fit import model_named

    if model is not None:
        model_named(model)
    if out is not None:
        check_writable(out, force=force)
    made = calibrated(source, series, use, model, level, peak, delay_s=(delay[0], delay[1]) if delay else None)
    sweep, fits, refused = made.sweep, made.fits, made.refused
    if out is not None:
        write_fits(fits, out)
    made.tell("not fitted")
    shown = []
    if as_json or wanted.asked:
        shown = [knees_of(f, wanted.slo, sweep, share=wanted.share) for f in fits]
    if as_json:
        parts = [fit_document(f, found, sweep) for f, found in zip(fits, shown, strict=True)]
        written = str(out) if out is not None else None
        print_json({**parts[0], "series": parts, "refused": refused, "written": written})
        return
    at = " --at 1..256" if all(f.load_type.is_closed for f in fits) else ""
    keep = f"saved in {out}; next: qsim predict {out}{at}" if out is not None else "--out fit.json: keep it"
    last = last_lines(fits, sweep, f"--details: every parameter;   {keep}")
    say("\n".join([*_asked(fits, shown), *first_lines(source.title, fits), *last]))
    _say_of_each(fits, shown if wanted.knees else [], details=details)


def _say_of_each(fits: Sequence[Fit], knees: Sequence[Sequence[NamedKnee]], *, details: bool) -> None:
    """Print the tables of knees and, with ``details``, every parameter."""
    for i, f in enumerate(fits):
        blocks = [knee_table(found, f) for found in knees[i : i + 1]]
        if blocks and len(fits) > 1:
            blocks.insert(0, f.series)
        for block in (*blocks, *([str(f)] if details else [])):
            say(f"\n{block}")


def _asked(fits: Sequence[Fit], shown: Sequence[Sequence[NamedKnee]]) -> list[str]:
    return [
        f"{f.series}: {line}" if len(fits) > 1 else line
        for f, found in zip(fits, shown, strict=False)
        for line in asked_lines(found, f)
    ]


def first_lines(title: str, fits: Sequence[Fit]) -> list[str]:
    """The answer of one fit in three lines, or a row for each of several."""
    from calibrate.fitting.answer import fit_answer, fits_table, knees_line, labelled

    first = fits[0]
    if len(fits) > 1:
        to = f", each fitted to {first.basis}" if len({f.basis for f in fits}) == 1 else ""
        knees = labelled("KNEE", knees_line([(f.series, f) for f in fits]))
        return [f"{title}: {counted(len(fits), 'curve')}{to}", knees, "", fits_table(fits), ""]
    head = ", ".join(part for part in (title, first.series) if part)
    notes = (labelled("NOTE", note) for note in first.notes)
    return [f"{head}: {first.model} from {first.basis}", *fit_answer(first), *notes]


def last_lines(fits: Sequence[Fit], sweep: Sweep | None, more: str) -> list[str]:
    """What to measure next, the same whatever the fits were calibrated on, and ``more``."""
    from calibrate.fitting.answer import labelled
    from calibrate.next.load import advice
    from calibrate.points import points_of
    from calibrate.prediction.answer import next_text

    wanted = "" if sweep is None else next_text([(f.series, advice(points_of(sweep, f.series), f)) for f in fits])
    return [*([labelled("NEXT", wanted)] if wanted else []), labelled("MORE", more)]


def fit_document(fit: Fit, knees: Sequence[NamedKnee], sweep: Sweep | None = None) -> dict[str, Any]:
    """A fit in JSON with its ``knees`` by every definition, without the table that only a fit file needs."""
    from calibrate.next.load import advice as next_of
    from calibrate.points import points_of

    wanted = None if sweep is None else next_of(points_of(sweep, fit.series), fit)
    return {
        "name": fit.series,
        "model": {"name": fit.model, "assumption": fit.assumption, "used": list(fit.used)},
        "load": fit.load_name,
        "parameters": {k: asdict(v) for k, v in fit.parameters.items()},
        "knee": fit.knee.to_dict(),
        "knees": [k.to_dict() for k in knees],
        "level": fit.level,
        "notes": list(fit.notes),
        "source": fit.source,
        "next": None if wanted is None else wanted.to_dict(),
    }
