"""``qsim predict``: the curve and the knee, from a fit, from a few measured points, or from a data sheet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration import what_ifs
from calibrate.cli.calibration.fit import first_lines, fit_document, last_lines
from calibrate.cli.calibration.prediction_source import CalibratedCurves, fits_of, holds_points
from calibrate.cli.calibration.tails import add_tails, predicted_tails_text, simulated_tails
from calibrate.cli.console import Result
from calibrate.cli.data import DataSource
from calibrate.cli.failures import wrong_usage
from calibrate.cli.fit_lines import asked_lines, scalability_lines
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import conflicts, exclusive, requires
from calibrate.cli.outputs import Page

if TYPE_CHECKING:
    from calibrate import Fit, Prediction, Scenario, SealedPrediction, Tails, WhatIf
    from calibrate.prediction.capacity import Capacity
    from calibrate.report.view import Section

HELP = """Predict throughput and response time, with bands, and the knee.

From a fit, from points of DATA, or from a data sheet before any run.

\b
Examples:
qsim predict fit.json --at 1,8,64
qsim predict sweep/ --use 1,32 --seal before.json
qsim predict sweep/ --use 1 --peak-iops 600k
qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
qsim predict --idle-latency 80us --peak-iops 600k --what-if drives=1:2
qsim predict wrk-runs/ --clients 1..500 --slo 300ms --target 5k/s --what-if workers=4:8
"""

DEFAULT_DEPTHS = [float(2**i) for i in range(9)]
MEASURED = "a data sheet describes a drive of which nothing is measured"


@dataclass(frozen=True)
class PredictedCurve:
    """A fit with its curve, and what else was asked of it: how many serve a rate, or the changed device."""

    fit: Fit
    curve: Prediction
    capacity: Capacity | None = None
    scenario: Scenario | None = None
    changed: Prediction | None = None
    changed_capacity: Capacity | None = None


@conflicts("--idle-latency", "FIT|DATA", "--dataset", because=MEASURED)
@exclusive("--idle-latency", "--series", because="a data sheet has one curve")
@requires("--use", "FIT|DATA", "--dataset")
@requires("--columns", "FIT|DATA")
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
    dataset: o.Dataset = None,
    columns: o.Columns = None,
    use: o.Use = None,
    slo: o.Objective = None,
    seal: Path | None = option("FILE", parsing.path, "Write the prediction, sealed by its hash."),
    what_if: Any = option(
        "CHANGES",
        what_ifs.what_if,
        "Also the curve changed: workers=4:8, replicas=2, drives=1:2, service=0.5, latency=+50us.",
    ),
    target: float | None = option("RATE", parsing.per_second, "Also how many of it serve this rate, as 5k/s."),
    page: Page,
    details: o.Details = False,
) -> Result:
    """Read the fit, calibrate one, or take the data sheet, and predict."""
    if seal is not None:
        from calibrate.sealing.sealed_prediction import check_unsealed

        check_unsealed(seal)
    if what_if is not None and slo is not None and slo.quantile is not None:
        raise wrong_usage(
            f"--what-if and --slo {slo.quantile}=... exclude each other: the tails of a changed device are unknown; "
            "give --slo for the mean, as --slo 1ms"
        )
    measured = dataset is not None or columns is not None or use is not None or holds_points(data or ())
    source = DataSource(data or (), dataset, columns) if measured else None
    if data and not measured and peak_iops is not None:
        raise wrong_usage("FIT and --peak-iops exclude each other: predict from a fit or from a data sheet")
    file = Path(data[0]) if data and not measured else None
    found = fits_of(source, file, (idle_latency, peak_iops), series, use)
    curves = [_predicted(f, at, what_if, target) for f in found.fits]
    tails, refused = simulated_tails(
        [(c.fit, c.fit.series, [float(n) for n in c.curve.load]) for c in curves], found.sweep
    )
    sealed = None if seal is None else _sealed(seal, curves)

    def text() -> str:
        blocks = ["\n".join(first_lines(dataset or " ".join(data or ()), found.fits))] if len(curves) > 1 else []
        for i, c in enumerate(curves):
            parts = _text(c, tails.get(c.fit.series), found.sweep, slo, several=len(curves) > 1, details=details)
            blocks.append(("" if i == 0 else "\n") + "\n\n".join(parts))
        blocks += ["", *last_lines(found, "--details: every parameter;   --report report.html: plots")]
        if sealed is not None:
            blocks.append(f"\n{sealed}\nsaved in {seal}; when it is measured: qsim compare DATA --prediction {seal}")
        return "\n".join(blocks)

    def document() -> dict[str, Any]:
        parts = [_document(c, found, slo) for c in curves]
        add_tails(parts, tails, refused)
        return {**parts[0], "series": parts, "seal": None if sealed is None else sealed.to_dict()}

    return Result(text, document, page.write(lambda: _sections(curves), _title(curves)))


def _predicted(fit: Fit, at: parsing.Numbers | None, change: WhatIf | None, target: float | None) -> PredictedCurve:
    """The curve of a fit, and of the device as changed."""
    from calibrate.prediction.capacity import capacity_for

    curve = calibrate.predict(fit, at or _default_loads(fit))
    capacity = None if target is None else capacity_for(fit, target, what_ifs.kind_of(change, "today's", 0))
    if change is None:
        return PredictedCurve(fit, curve, capacity)
    scenario = calibrate.what_if(fit, change)
    changed = calibrate.predict(scenario.fit, curve.load)
    kind = what_ifs.kind_of(change, "the changed", 1)
    then = None if target is None else capacity_for(scenario.fit, target, kind)
    return PredictedCurve(fit, curve, capacity, scenario, changed, then)


def _text(
    c: PredictedCurve,
    tails: Tails | None,
    sweep: measure.Sweep | None,
    slo: parsing.Objective | None,
    *,
    several: bool,
    details: bool,
) -> Iterator[str]:
    """The answer, the curve (or the changed one), the tails; with ``details`` parameters."""
    first = asked_lines(c.fit, slo, sweep)
    if c.capacity is not None:
        first.append(str(c.capacity))
    if c.scenario is not None and c.changed is not None:
        first.append(what_ifs.answer(c.scenario, c.curve, c.changed))
    if c.changed_capacity is not None:
        first.append(str(c.changed_capacity))
    yield "\n".join([*first, *([c.fit.series] if several else first_lines("", [c.fit]))])
    if c.scenario is None or c.changed is None:
        yield str(c.curve)
    else:
        yield what_ifs.changed_table(c.scenario, c.curve, c.changed)
    yield from predicted_tails_text(tails, details=details)
    if details:
        yield "\n".join([str(c.fit), *scalability_lines(c.fit, sweep)])


def _document(c: PredictedCurve, found: CalibratedCurves, slo: parsing.Objective | None) -> dict[str, Any]:
    """A fit with its curve in JSON, the number of workers, and the curve of the changed device."""
    document = {**fit_document(c.fit, slo, found.sweep), "points": c.curve.to_dicts()}
    if c.capacity is not None:
        document["capacity"] = asdict(c.capacity)
    if c.scenario is not None and c.changed is not None:
        changed = fit_document(c.scenario.fit, slo)
        document["what_if"] = {**c.scenario.to_dict(), **changed, "points": c.changed.to_dicts()}
        if c.changed_capacity is not None:
            document["what_if"]["capacity"] = asdict(c.changed_capacity)
    return document


def _sealed(path: Path, curves: Sequence[PredictedCurve]) -> SealedPrediction:
    """The seal of what is predicted, in a file: of the changed device where there is one."""
    fits = [c.fit if c.scenario is None else replace(c.scenario.fit, series=c.fit.series) for c in curves]
    return calibrate.seal(fits, [list(c.curve.load) for c in curves], path)


def _sections(curves: Sequence[PredictedCurve]) -> list[Section]:
    from calibrate.report.predicted import predicted_section

    return [predicted_section(c.fit, list(c.curve.load), c.scenario) for c in curves]


def _title(curves: Sequence[PredictedCurve]) -> str:
    """The heading of the page; its sections name several fits."""
    first = curves[0].fit
    return f"Prediction: {first.series}" if len(curves) == 1 and first.series else "Prediction"


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
