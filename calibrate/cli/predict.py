"""``qsim predict``: the curve and the knee, from a fit, from a few measured points, or from a data sheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.data import Source, check_use, known_series, tell_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import AsJson, At, Columns, Dataset, DeviceModel, Knees, Level, Objective, Seed, Series, Use

if TYPE_CHECKING:
    from calibrate import Fit

HELP = """Predict throughput and response time, with bands, and the knee.

From a fit (qsim fit DATA --out fit.json), from a few points of DATA (--use), or from a data sheet before any run.

\b
Examples:
qsim predict fit.json --at 1,8,64
qsim predict sweep/ --use 1,32 --seal before.json
qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
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
                     help="Data sheet: peak requests a second, as 600k."),
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
                     help="Write the prediction with its hash and time, for qsim compare --sealed; never replaced."),
    ] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Read the fit, calibrate one, or write the data sheet down, and predict."""
    sheet = {"--idle-latency": idle_latency, "--peak-iops": peak_iops, "--sharpness": sharpness}
    calibration = {"--use": use, "--model": model, "--level": level, "--seed": seed, "--columns": columns}
    measured = _measured(data or (), dataset, calibration)
    _check(data or (), measured, sheet, series)
    if seal is not None:
        from calibrate.sealing import check_unsealed

        check_unsealed(seal)
    if measured:
        source = Source(data or (), dataset, columns)
        fits = _calibrated(source, series, use, model, level, seed)
    else:
        fits = _fits(Path(data[0]), series) if data else [_sheet(idle_latency, peak_iops, sharpness)]

    from calibrate.cli.fit import fit_document
    from calibrate.cli.knee_tables import knee_table, knees_of
    from calibrate.prediction import predict as predicted

    curves = [(f, predicted(f, at or _default_loads(f))) for f in fits]
    sealed = None
    if seal is not None:
        from calibrate.sealing import seal as write_seal

        sealed = write_seal(fits, [list(curve.load) for _, curve in curves], seal)
    shown = [knees_of(f, slo) for f in fits] if as_json or knees or slo is not None else []
    if as_json:
        parts = [
            {**fit_document(f, found), "points": curve.to_dicts()}
            for (f, curve), found in zip(curves, shown, strict=True)
        ]
        print_json({**parts[0], "series": parts, "seal": None if sealed is None else sealed.to_dict()})
        return
    tables = [f"\n\n{knee_table(found, f.load_name, f.level)}" for f, found in zip(fits, shown, strict=False)]
    say("\n\n".join(f"{f}\n\n{curve}{''.join(tables[i : i + 1])}" for i, (f, curve) in enumerate(curves)))
    if sealed is not None:
        say(f"\n{sealed}\nkept in {seal}; when it is measured: qsim compare DATA --sealed {seal}")


def _measured(data: Sequence[str], dataset: str | None, calibration: dict[str, Any]) -> bool:
    """Whether DATA are measurements to calibrate on, and no fit."""
    if dataset is not None or len(data) > 1 or any(value is not None for value in calibration.values()):
        return True
    return any(Path(name).is_dir() or Path(name).suffix.lower() in (".csv", ".txt") for name in data)


def _check(data: Sequence[str], measured: bool, sheet: dict[str, Any], series: str | None) -> None:
    given = [name for name, value in sheet.items() if value is not None]
    if measured:
        if not data:
            return  # a dataset, or Source says what is missing
        if given:
            raise wrong_usage(f"{given[0]} is of a data sheet, and DATA is measured: predict from one of them")
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
) -> list[Fit]:
    """The fits of every curve, or of the one named, each with what it was calibrated on."""
    from calibrate.fitting import LEVEL
    from calibrate.fitting import fit as calibrated
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
    from calibrate.cli.fit_files import read_fits

    fits = read_fits(path)
    if series is None:
        return fits
    chosen = [f for f in fits if f.series == series]
    if not chosen:
        raise wrong_usage(f"--series: {parsing.not_one_of(series, [f.series for f in fits])}")
    return chosen


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
