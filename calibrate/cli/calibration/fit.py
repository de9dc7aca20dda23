"""``qsim fit``: calibrate a device model on a few points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration import fits
from calibrate.cli.console import CommandResult
from calibrate.cli.data import DataSource
from calibrate.cli.files import check_new, write_fits
from calibrate.cli.options import option
from measure.loads import ClosedLoad

HELP = """Calibrate a device model on the points of a sweep: knee, peak and idle latency, with 90 % intervals.

DATA under different kinds of load (depths, users who think, rates) are one device, and calibrate one curve.

\b
Examples:
qsim fit sweep/ --use 1,32 --out fit.json
qsim fit closed/ open/
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
) -> CommandResult:
    """Fit every series, or the one named, and keep the fits."""
    source = DataSource(data or (), dataset, columns)
    if model is not None:
        from calibrate.models.choice import model_named

        model_named(model)
    if out is not None:
        check_new(out)
    made = fits.calibrated(source, series, use, model)
    if out is not None:
        write_fits(made.fits, out)

    def text() -> str:
        at = " --at 1..256" if all(isinstance(f.load_type, ClosedLoad) for f in made.fits) else ""
        keep = f"saved in {out}; next: qsim predict {out}{at}" if out is not None else "--out fit.json: keep it"
        named = [(f"{f.series}: " if len(made.fits) > 1 else "", f) for f in made.fits]
        lines = [f"{name}{line}" for name, f in named for line in fits.asked_lines(f, slo, made.sweep)]
        lines += fits.first_lines(source.title, made.fits)
        lines += fits.last_lines(made, f"--details: every parameter;   {keep}")
        for f in made.fits if details else ():
            lines += [f"\n{f}", *fits.scalability_lines(f, made.sweep)]
        return "\n".join(lines)

    def document() -> dict[str, Any]:
        parts = [fits.fit_document(f, slo, made.sweep) for f in made.fits]
        written = None if out is None else str(out)
        return {**parts[0], "series": parts, "refused": made.refused, "written": written}

    return CommandResult(text, document)
