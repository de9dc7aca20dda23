"""``qsim predict``: the curve and the knee, from a fit or from a data sheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import AsJson, At, Series

if TYPE_CHECKING:
    from calibrate import Fit

HELP = """Predict throughput and response time, with bands, and the knee.

From a fit (qsim fit DATA --out fit.json), or from a data sheet before any run.

\b
Examples:
qsim predict fit.json --at 1,8,64
qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
"""

DEFAULT_DEPTHS = [float(2**i) for i in range(9)]


def predict(
    fit: Annotated[
        Path | None, typer.Argument(metavar="FIT", parser=parsing.path, show_default=False, help="A file of qsim fit.")
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
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Read the fit or write the data sheet down, and predict."""
    _check(fit, {"--idle-latency": idle_latency, "--peak-iops": peak_iops, "--sharpness": sharpness}, series)
    fits = _fits(fit, series) if fit is not None else [_sheet(idle_latency, peak_iops, sharpness)]

    from calibrate.cli.fit import advice, fit_document
    from calibrate.prediction import predict as predicted

    curves = [(f, predicted(f, at or _default_loads(f))) for f in fits]
    if as_json:
        parts = [{**fit_document(f), "points": curve.to_dicts()} for f, curve in curves]
        print_json({**parts[0], "series": parts})
        return
    say("\n\n".join(f"{f}{advice(f)}\n\n{curve}" for f, curve in curves))


def _check(fit: Path | None, sheet: dict[str, Any], series: str | None) -> None:
    given = [name for name, value in sheet.items() if value is not None]
    if fit is not None and given:
        raise wrong_usage(f"FIT and {given[0]} were both given: predict from a fit or from a data sheet, not from both")
    if fit is None and not given:
        raise wrong_usage("nothing to predict from; give FIT (a file of qsim fit), or --idle-latency and --peak-iops")
    if fit is None and series is not None:
        raise wrong_usage("--series chooses a fit of FIT; a data sheet has one curve")
    for name in ("--idle-latency", "--peak-iops"):
        if fit is None and sheet[name] is None:
            raise wrong_usage(f"a data sheet needs {name} too, as --idle-latency 80us --peak-iops 600k")


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
