"""``qsim predict``: the curve and the knee, from a fit, from a few measured points, or from a data sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration import what_ifs
from calibrate.cli.calibration.prediction_source import Sheet, basis
from calibrate.cli.calibration.tails import add_tails, predicted_tails_text, tails_of_fits
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import option
from calibrate.cli.outputs import Outputs

if TYPE_CHECKING:
    from calibrate import Fit, Prediction
    from calibrate.prediction.what_if import Scenario, WhatIf
    from calibrate.prediction.workers import WorkersNeeded
    from calibrate.report.view import Section
    from calibrate.sealing.sealed_prediction import SealedPrediction
    from calibrate.tails.results import Tails

HELP = """Predict throughput and response time, with bands, and the knee.

From a fit, from points of DATA, or from a data sheet before any run.

\b
Examples:
qsim predict fit.json --at 1,8,64
qsim predict sweep/ --use 1,32 --seal before.json
qsim predict sweep/ --use 1 --peak-iops 600k
qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
qsim predict --idle-latency 80us --peak-iops 600k --what-if drives=1:2
qsim predict wrk-runs/ --clients 1..500 --slo 300ms --target 5k/s --what-if replicas=1:2
"""

DEFAULT_DEPTHS = [float(2**i) for i in range(9)]


def predict(
    *,
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIT|DATA",
            show_default=False,
            help="A file of qsim fit; or what a tool wrote, to calibrate on its points.",
        ),
    ] = None,
    at: o.At = None,
    series: o.Series = None,
    idle_latency: o.IdleLatency = None,
    peak_iops: o.PeakIops = None,
    sharpness: float | None = option(
        "P", parsing.number, "Data sheet: sharpness of the knee (NVMe about 2.6, SATA 6 and more)."
    ),
    dataset: o.Dataset = None,
    columns: o.Columns = None,
    use: o.Use = None,
    model: o.DeviceModel = None,
    level: o.Level = None,
    peak: o.Peak = None,
    wanted: o.KneeOptions,
    seal: Path | None = option(
        "FILE", parsing.path, "Write the prediction with its hash and time, for qsim compare --sealed.", "--seal"
    ),
    what_if: Any = option(
        "CHANGES",
        what_ifs.what_if,
        "Also the curve changed: drives=1:2, replicas=1:2, service=0.5, block=4KiB:16KiB, write-cache=off,medium=3ms.",
        "--what-if",
    ),
    target: float | None = option(
        "RATE",
        parsing.per_second,
        "Also how many workers serve this rate, as 5k/s; at most so many where c is unknown.",
    ),
    outputs: Outputs,
    details: o.Details = False,
    as_json: o.AsJson = False,
) -> None:
    """Read the fit, calibrate one, or write the data sheet down, and predict."""
    if seal is not None:
        from calibrate.sealing.sealed_prediction import check_unsealed

        check_unsealed(seal)
    outputs.check()
    if what_if is not None and wanted.slo is not None and wanted.slo.quantile is not None:
        raise wrong_usage(
            "--slo for a tail and --what-if were both given: no latency of a changed device was measured, so that its "
            "tails are unknown; give --slo for the mean, as --slo 1ms"
        )
    calibration = {"--use": use, "--model": model, "--level": level, "--peak": peak}
    sheet = Sheet(idle_latency, peak_iops, sharpness)
    found = basis(data or (), dataset, columns, sheet, series, calibration)
    fits = found.fits

    from calibrate.cli.calibration.fit import first_lines, fit_document, last_lines
    from calibrate.cli.knee_tables import asked_lines, knee_table, knees_of
    from calibrate.fitting.predicted_curve import predict as predicted
    from calibrate.prediction.workers import workers_for

    scenarios = _scenarios(fits, series, what_if)
    fits = [f for f in fits if series is None or f.series == series]
    curves = [predicted(f, at or _default_loads(f)) for f in fits]
    needed = [workers_for(f, target) for f in fits] if target is not None else []
    changed = [predicted(s.fit, curve.load) for s, curve in zip(scenarios, curves, strict=False)]
    tails, untold = tails_of_fits(fits, curves, found.sweep)
    sealed = _sealed(seal, fits, scenarios, curves, tails)
    written = outputs.write(_sections(fits, curves, scenarios) if outputs.wanted else [], _title(fits))
    shown = []
    if as_json or wanted.asked:
        shown = [knees_of(f, wanted.slo, found.sweep, share=wanted.share) for f in fits]
    if as_json:
        parts = [
            {**fit_document(f, named, found.sweep), "points": curve.to_dicts()}
            for f, curve, named in zip(fits, curves, shown, strict=True)
        ]
        add_tails(parts, tails, untold)
        _add_changes(parts, needed, scenarios, changed, wanted)
        print_json(
            {**parts[0], "series": parts, "seal": None if sealed is None else sealed.to_dict(), **written.to_dict()}
        )
        return
    several = len(fits) > 1
    if several:
        say("\n".join(first_lines(dataset or " ".join(data or ()), fits)))
    for i, (f, curve) in enumerate(zip(fits, curves, strict=True)):
        then = list(zip(scenarios, changed, strict=True))[i : i + 1]
        first = [line for named in shown[i : i + 1] for line in asked_lines(named, f)]
        first += [str(workers) for workers in needed[i : i + 1]]
        first += [what_ifs.answer(s, curve, changed_curve) for s, changed_curve in then]
        blocks = ["\n".join([*first, *([f.series] if several else first_lines("", [f]))])]
        blocks += [what_ifs.beside(s, curve, changed_curve) for s, changed_curve in then] or [str(curve)]
        blocks += predicted_tails_text(tails.get(f.series), details=details)
        blocks += [knee_table(named, f) for named in shown[i : i + 1] if wanted.knees]
        blocks += [str(f)] if details else []
        say(("" if i == 0 else "\n") + "\n\n".join(blocks))
    say("\n" + "\n".join(last_lines(fits, found.sweep, "--details: every parameter;   --report report.html: plots")))
    if sealed is not None:
        say(f"\n{sealed}\nsaved in {seal}; when it is measured: qsim compare DATA --sealed {seal}")
    written.tell()


def _sealed(
    path: Path | None,
    fits: Sequence[Fit],
    scenarios: Sequence[Scenario],
    curves: Sequence[Prediction],
    tails: Mapping[str, Tails],
) -> SealedPrediction | None:
    """The seal of what is predicted, in a file; None where none was asked for."""
    if path is None:
        return None
    from calibrate.sealing.sealed_prediction import seal

    meant = [replace(s.fit, series=f.series) for s, f in zip(scenarios, fits, strict=False)] or fits
    told = None if scenarios else [tails.get(f.series) for f in fits]
    return seal(meant, [list(curve.load) for curve in curves], path, tails=told)


def _add_changes(
    parts: Sequence[dict[str, Any]],
    needed: Sequence[WorkersNeeded],
    scenarios: Sequence[Scenario],
    changed: Sequence[Prediction],
    wanted: o.KneeOptions,
) -> None:
    """Put into the document of each fit the workers that were asked for, and the curve of the changed device."""
    from calibrate.cli.calibration.fit import fit_document
    from calibrate.cli.knee_tables import knees_of

    for part, workers in zip(parts, needed, strict=False):
        part["workers"] = workers.to_dict()
    for part, s, curve in zip(parts, scenarios, changed, strict=False):
        document = fit_document(s.fit, knees_of(s.fit, wanted.slo, share=wanted.share))
        part["what_if"] = {**s.to_dict(), **document, "points": curve.to_dicts()}


def _scenarios(fits: Sequence[Fit], series: str | None, change: WhatIf | None) -> list[Scenario]:
    """The scenario of each fit that is meant; the others may tell of another block size."""
    if change is None:
        return []
    from calibrate.prediction.what_if import what_if

    return [what_if(f, change, fits) for f in fits if series is None or f.series == series]


def _sections(fits: Sequence[Fit], curves: Sequence[Prediction], scenarios: Sequence[Scenario]) -> list[Section]:
    """The section of each fit, with the changed device beside it."""
    from calibrate.report.predicted import predicted_section

    beside: list[Scenario | None] = [*scenarios] if scenarios else [None] * len(fits)
    return [predicted_section(f, list(c.load), s) for f, c, s in zip(fits, curves, beside, strict=True)]


def _title(fits: Sequence[Fit]) -> str:
    """The heading of the page; its sections name several fits."""
    return f"Prediction: {fits[0].series}" if len(fits) == 1 and fits[0].series else "Prediction"


def _default_loads(fit: Fit) -> Sequence[float]:
    """Doubling depths; tenths of the peak as arrival rates or bandwidths; the delays of Intel's list calibrated on."""
    if fit.load_type.is_throughput:
        peak = fit.parameters.get("B" if fit.load_type.is_bandwidth else "Xmax")
        if peak is not None and peak.estimate is not None:
            return [round(share / 10 * peak.estimate, 3) for share in range(1, 10)]
    if not fit.load_type.is_delay:
        return DEFAULT_DEPTHS
    from measure.memory.plan import MLC_DELAYS

    low, high = (min(fit.used), max(fit.used)) if fit.used else (0, max(MLC_DELAYS))
    return [float(d) for d in MLC_DELAYS if low <= d <= high]
