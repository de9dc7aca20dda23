"""``qsim predict``: the curve and the knee, from a fit, from a few measured points, or from a data sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing, what_ifs
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.data import Source, check_use, known_series, tell_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import (
    AsJson,
    At,
    Columns,
    Dataset,
    DeviceModel,
    Knees,
    Level,
    Objective,
    Report,
    Seed,
    Series,
    Use,
)

if TYPE_CHECKING:
    from calibrate import Curve, Fit
    from calibrate.whatif import Scenario, WhatIf

HELP = """Predict throughput and response time, with bands, and the knee.

From a fit (qsim fit DATA --out fit.json), from a few points of DATA (--use), or from a data sheet before any run.

\b
Examples:
qsim predict fit.json --at 1,8,64
qsim predict sweep/ --use 1,32 --seal before.json
qsim predict sweep/ --use 1 --peak-iops 600k
qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
qsim predict --idle-latency 80us --peak-iops 600k --what-if drives=1:2
"""

DEFAULT_DEPTHS = [float(2**i) for i in range(9)]


def predict(
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIT|DATA", show_default=False,
                       help="A file of qsim fit; or, with --use, what a tool wrote."),
    ] = None,
    at: At = None,
    series: Series = None,
    idle_latency: Annotated[
        float | None,
        typer.Option(metavar="TIME", parser=parsing.seconds, show_default=False,
                     help="Data sheet: latency of one request alone, as 80us."),
    ] = None,
    peak_iops: Annotated[
        float | None,
        typer.Option(metavar="RATE", parser=parsing.per_second, show_default=False,
                     help="Data sheet, or beside one measured point (--use 1): peak requests a second, as 600k."),
    ] = None,
    sharpness: Annotated[
        float | None,
        typer.Option(metavar="P", parser=parsing.number, show_default=False,
                     help="Data sheet: how sharp the knee is (near 2.6 on NVMe, 6 and more on SATA)."),
    ] = None,
    dataset: Dataset = None,
    columns: Columns = None,
    use: Use = None,
    model: DeviceModel = None,
    level: Level = None,
    seed: Seed = None,
    slo: Objective = None,
    knees: Knees = False,
    seal: Annotated[
        Path | None,
        typer.Option("--seal", metavar="FILE", parser=parsing.path, show_default=False,
                     help="Write the prediction with its hash and time, for qsim compare --sealed; never replaced. "
                     "With --what-if, that of the device changed."),
    ] = None,
    what_if: Annotated[
        Any,
        typer.Option("--what-if", metavar="CHANGES", parser=what_ifs.what_if, show_default=False,
                     help="The curve of the device changed, beside the present one: drives=1:2 (one more in the "
                     "stripe), service=0.5 (half the service time; host=TIME of the latency is none), block=4KiB:16KiB "
                     "(needs two sizes in the fit, or the link's bandwidth=3GB/s), write-cache=off,medium=3ms."),
    ] = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Read the fit, calibrate one, or write the data sheet down, and predict."""
    sheet = {"--idle-latency": idle_latency, "--peak-iops": peak_iops, "--sharpness": sharpness}
    calibration = {"--use": use, "--model": model, "--level": level, "--seed": seed, "--columns": columns}
    measured = _measured(data or (), dataset, calibration)
    _check(data or (), measured, sheet, series, use)
    if seal is not None:
        from calibrate.sealing import check_unsealed

        check_unsealed(seal)
    if report is not None:
        from calibrate.cli.report_files import check_report_path

        check_report_path(report)
    if measured:
        source = Source(data or (), dataset, columns)
        fits = _calibrated(source, series, use, model, level, seed, peak_iops)
    else:
        fits = _fits(Path(data[0]), series) if data else [_sheet(idle_latency, peak_iops, sharpness)]

    from calibrate.cli.fit import fit_document
    from calibrate.cli.knee_tables import knee_table, knees_of
    from calibrate.prediction import predict as predicted

    scenarios = _scenarios(fits, series, what_if)
    fits = [f for f in fits if series is None or f.series == series]
    curves = [predicted(f, at or _default_loads(f)) for f in fits]
    changed = [predicted(s.fit, curve.load) for s, curve in zip(scenarios, curves, strict=False)]
    sealed = None
    if seal is not None:
        from calibrate.sealing import seal as write_seal

        meant = [replace(s.fit, series=f.series) for s, f in zip(scenarios, fits, strict=False)] or fits
        sealed = write_seal(meant, [list(curve.load) for curve in curves], seal)
    written = _drawn(fits, curves, scenarios, report) if report is not None else None
    shown = [knees_of(f, slo) for f in fits] if as_json or knees or slo is not None else []
    if as_json:
        parts = [
            {**fit_document(f, found), "points": curve.to_dicts()}
            for f, curve, found in zip(fits, curves, shown, strict=True)
        ]
        for part, s, curve in zip(parts, scenarios, changed, strict=False):
            part["what_if"] = {**s.to_dict(), **fit_document(s.fit, knees_of(s.fit, slo)), "points": curve.to_dicts()}
        print_json({
            **parts[0], "series": parts, "seal": None if sealed is None else sealed.to_dict(), "report": written,
        })  # fmt: skip
        return
    for i, (f, curve) in enumerate(zip(fits, curves, strict=True)):
        blocks = [str(f), str(curve)]
        blocks += [knee_table(found, f.load_name, f.level) for found in shown[i : i + 1]]
        blocks += [what_ifs.beside(s, curve, then) for s, then in list(zip(scenarios, changed, strict=True))[i : i + 1]]
        say(("" if i == 0 else "\n") + "\n\n".join(blocks))
    if sealed is not None:
        say(f"\n{sealed}\nkept in {seal}; when it is measured: qsim compare DATA --sealed {seal}")
    if written is not None:
        say(f"\nreport: {written}")


def _scenarios(fits: Sequence[Fit], series: str | None, change: WhatIf | None) -> list[Scenario]:
    """The scenario of each fit that is meant; the others may tell of another block size."""
    if change is None:
        return []
    from calibrate.whatif import what_if

    return [what_if(f, change, fits) for f in fits if series is None or f.series == series]


def _drawn(fits: Sequence[Fit], curves: Sequence[Curve], scenarios: Sequence[Scenario], path: Path) -> str:
    from calibrate.report.page import write_sections
    from calibrate.report.predicted import predicted_section

    beside: list[Scenario | None] = [*scenarios] if scenarios else [None] * len(fits)
    parts = [predicted_section(f, list(c.load), s) for f, c, s in zip(fits, curves, beside, strict=True)]
    return str(write_sections(parts, path, title="Prediction"))


def _measured(data: Sequence[str], dataset: str | None, calibration: dict[str, Any]) -> bool:
    """Whether DATA are measurements to calibrate on, and no fit."""
    if dataset is not None or len(data) > 1 or any(value is not None for value in calibration.values()):
        return True
    return any(Path(name).is_dir() or Path(name).suffix.lower() in (".csv", ".txt") for name in data)


def _check(
    data: Sequence[str], measured: bool, sheet: dict[str, Any], series: str | None, use: Sequence[float] | None
) -> None:
    given = [name for name, value in sheet.items() if value is not None]
    if measured:
        if given and (given != ["--peak-iops"] or use is None or len(use) != 1):
            raise wrong_usage(
                f"{given[0]} is of a data sheet, and DATA is measured: predict from one of them (only --peak-iops goes "
                "with a single measured point, as --use 1 --peak-iops 600k)"
            )
        return
    if data and given:
        raise wrong_usage(f"FIT and {given[0]} were both given: predict from a fit or from a data sheet, not from both")
    if not data and not given:
        raise wrong_usage("nothing to predict from; give FIT (a file of qsim fit), or --idle-latency and --peak-iops")
    if not data and series is not None:
        raise wrong_usage("--series chooses a fit of FIT; a data sheet has one curve")
    for name in ("--idle-latency", "--peak-iops"):
        if not data and sheet[name] is None:
            raise wrong_usage(f"a data sheet needs {name} too, as --idle-latency 80us --peak-iops 600k")


def _calibrated(
    source: Source,
    series: str | None,
    use: Sequence[float] | None,
    model: str | None,
    level: float | None,
    seed: int | None,
    peak_iops: float | None,
) -> list[Fit]:
    """The fits of every curve, or of the one named, each with what it was calibrated on; of one point with a peak."""
    from calibrate.fitting import LEVEL
    from calibrate.fitting import fit as calibrated
    from calibrate.one_point import from_one_point
    from calibrate.points import points_of
    from calibrate.sealing import with_origin
    from measure.errors import DataError

    sweep = source.load()
    names = known_series(sweep, series)
    check_use(sweep, names, use)
    level, seed = LEVEL if level is None else level, seed or 0
    fits: list[Fit] = []
    refused: list[str] = []
    for name in names:
        try:
            if use is not None and len(use) == 1 and model is None:
                points = points_of(sweep, name).choose(use)
                made = from_one_point(points, peak_iops, level=level, seed=seed)
            else:
                made = calibrated(sweep, use or source.default_use(), series=name, model=model, level=level, seed=seed)
            fits.append(with_origin(made, sweep))
        except DataError as error:
            refused.append(str(error))
    if not fits:
        raise DataError(refused[0])
    tell_findings(sweep, names)
    for reason in refused:
        warn(f"not predicted: {reason}")
    return fits


def _fits(path: Path, series: str | None) -> list[Fit]:
    """Every fit of the file; wrong usage where none is of ``series``."""
    from calibrate.cli.fit_files import read_fits

    fits = read_fits(path)
    if series is not None and series not in [f.series for f in fits]:
        raise wrong_usage(f"--series: {parsing.not_one_of(series, [f.series for f in fits])}")
    return fits


def _sheet(idle_latency: float | None, peak_iops: float | None, sharpness: float | None) -> Fit:
    from calibrate.fitting import from_datasheet

    assert idle_latency is not None  # noqa: S101  (_check saw to it; this tells the type checker)
    assert peak_iops is not None  # noqa: S101
    if sharpness is None:
        return from_datasheet(idle_latency, peak_iops)
    return from_datasheet(idle_latency, peak_iops, sharpness=sharpness)


def _default_loads(fit: Fit) -> Sequence[float]:
    """Doubling depths; tenths of the peak as arrival rates; for a memory the delays of Intel's list calibrated on."""
    peak = fit.parameters.get("Xmax")
    if fit.load_kind == "arrival_rate" and peak is not None and peak.estimate is not None:
        return [round(share / 10 * peak.estimate, 3) for share in range(1, 10)]
    if fit.load_kind != "injected_delay":
        return DEFAULT_DEPTHS
    from measure.probe_plan import MLC_DELAYS

    low, high = (min(fit.used), max(fit.used)) if fit.used else (0, max(MLC_DELAYS))
    return [float(d) for d in MLC_DELAYS if low <= d <= high]
