"""``qsim predict``: the curve and the knee, from a fit, from a few measured points, or from a data sheet.

With ``--what-if`` the table has the changed device next to the present one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.compare import simulated_tails, tail_tables, tails_document, tails_line
from calibrate.cli.calibration.fit import (
    CalibratedCurves,
    asked_lines,
    calibrated,
    first_lines,
    fit_document,
    last_lines,
    scalability_lines,
)
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.data import DataSource, known_series
from calibrate.cli.failures import wrong_usage
from calibrate.cli.files import read_fits
from calibrate.cli.options import Page, conflicts, option, requires
from measure import units
from measure.loads import ArrivalRate, Bandwidth, Clients, ClosedLoad, InjectedDelay, Load, PeakShare, ThroughputLoad
from measure.text_files import read_head, shown_name
from measure.units import format_duration, with_interval
from qsim.result import labelled, table

if TYPE_CHECKING:
    from calibrate import Fit, Prediction, SealedPrediction, Tails
    from calibrate.prediction.what_if import Capacity, Scenario, WhatIf
    from calibrate.report.view import Section

DOUBLE = 2.0  # a gain beyond this is written as a factor, and a smaller one in percent

KEYS = ("workers", "replicas", "drives", "service", "latency")
COPIES = {"replicas", "drives"}


@parsing.parser
def what_if(text: str) -> WhatIf:
    """``workers=4:8``, ``replicas=2``, ``service=0.5``, ``latency=+50us``, several with commas between them."""
    from calibrate.prediction.what_if import WhatIf

    given: dict[str, Any] = {}
    seen: set[str] = set()
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise ValueError(f"invalid change {part.strip()!r}: expected e.g. workers=4:8,service=0.5")
        if key not in KEYS:
            raise ValueError(parsing.not_one_of(key, KEYS))
        if key in seen:
            raise ValueError(f"{key} is named twice")
        if key in COPIES and seen & COPIES:
            raise ValueError("replicas and drives are both copies of the device: give one of them")
        seen.add(key)
        given.update(_value(key, value))
    return WhatIf(**given)


def _value(key: str, value: str) -> dict[str, Any]:
    if key == "service":
        return {"service": units.parse_count(value)}
    if key == "latency":
        sign = -1 if value.startswith("-") else 1
        return {"latency_s": sign * units.parse_duration(value.lstrip("+-"))}
    now, colon, then = value.partition(":")
    if key == "workers":
        if not colon:
            raise ValueError("write how many workers there are now, too, as workers=4:8")
        return {"workers": (units.parse_count(now), units.parse_count(then))}
    pair = (units.parse_count(now), units.parse_count(then)) if colon else (1.0, units.parse_count(value))
    return {"copies": pair, "called": key.removesuffix("s")}


def _device_in_words(change: WhatIf | None, whose: str, which: int) -> str:
    """The device in words, now (``which`` 0) or changed (1): ``today's 4-worker kind``."""
    workers = None if change is None else change.workers
    return f"{whose} kind" if workers is None else f"{whose} {workers[which]:g}-worker kind"


def _gain(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The gain from the change in a line, at the load where it changes most: throughput, or response at a rate."""
    from calibrate.inference.parameters import ROUGH

    is_rate = isinstance(present.load_type, ThroughputLoad)
    what, show = ("response time", units.format_duration) if is_rate else ("throughput", units.format_rate)
    before, after = (c.response_time_s if is_rate else c.throughput_per_s for c in (present, changed))
    gains = after / before
    best = int(abs(gains - 1).argmax())
    bands = [c.response_band(best) if is_rate else c.throughput_band(best) for c in (present, changed)]
    widest = max(bands, key=lambda band: (band[2] or math.inf) / band[1])  # a gain is as sure as its lesser known side
    _, low, high = widest
    then, now = (show(values[best], 2) for values in (after, before))
    where = present.load_type.place_of(present.load[best])
    percent = f"{100 * abs(gains[best] - 1):.0f} %"
    gain = f"{percent} {'more' if gains[best] >= 1 else 'less'}"
    if gains[best] > DOUBLE:
        gain = f"{gains[best]:.2g} times the"
    elif percent == "0 %":
        gain = "the same"
    word = scenario.fit.sureness(high is not None and high / low < ROUGH, low, high)
    return f"With {', '.join(scenario.changes)}: {gain} {what} at {where} ({then}, {now} today), {word}."


def _changed_table(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The changed device's curve next to the present one's, with the assumptions."""
    from calibrate.fitting.fit import PRESENT
    from calibrate.fitting.fit_answer import NINETY, QUEUEING, knee_line, ninety_line
    from calibrate.fitting.readings import users_at_knee

    gains = 100 * (changed.throughput_per_s / present.throughput_per_s - 1)
    rows = [
        (
            present.load_type.text(load),
            units.format_rate(present.throughput_per_s[i]),
            with_interval(units.format_rate, *changed.throughput_band(i)),
            f"{round(gains[i]) + 0:+d} %",
            units.format_duration(present.response_time_s[i]),
            with_interval(units.format_duration, *changed.response_band(i)),
        )
        for i, load in enumerate(present.load)
    ]
    then = f"THEN ({100 * changed.level:g} % band)"
    header = (present.load_type.symbol.upper(), "THROUGHPUT", then, "GAIN", "RESPONSE", then)
    first = []
    fit = scenario.fit
    if PRESENT in fit.details:  # the device behind users who think, or behind arrivals, whose depths nobody set
        fit = replace(fit, load_type=Clients(noun="requests present"))
    if fit.knee.load is not None:
        first.append(labelled("THEN", f"{QUEUEING.lower()} at {knee_line(fit)}"))
        first.append(labelled("THEN", f"{NINETY.lower()} {ninety_line(fit)}"))
        if think_s := present.load_type.thinking_s:
            users = with_interval(present.load_type.figure, *users_at_knee(scenario.fit, think_s))
            first.append(labelled("THEN", f"{QUEUEING.lower()} at {present.load_type.in_full(users)}"))
    first += [labelled("ASSUMES", assumption) for assumption in scenario.assumptions]
    return "\n".join([*first, "", table(header, rows, left=0)])


DEFAULT_DEPTHS = [float(2**i) for i in range(9)]
MOST_OUTSTANDING = 1e5  # the largest load: a larger one is probably a time without its unit
FIT = '"schema"'  # what a file of fits has near its beginning
SHEET = "a data sheet has both, as --idle-latency 80us --peak-iops 600k"
MEASURED = "a data sheet describes a drive of which nothing is measured"


@dataclass(frozen=True)
class PredictedCurve:
    """A fit with its curve, the number of devices for a rate, and the same for the changed device."""

    fit: Fit
    curve: Prediction
    capacity: Capacity | None = None
    then: tuple[Scenario, PredictedCurve] | None = None
    shares: PeakShare | None = None

    @property
    def under(self) -> ArrivalRate | ClosedLoad | None:
        """The kind of load that it is predicted under, where another was measured."""
        from calibrate.fitting.own_load import is_own_kind

        load = self.curve.load_type
        other = isinstance(load, ArrivalRate | ClosedLoad) and not is_own_kind(self.fit.load_type, load)
        return load if other else None  # type: ignore[return-value]


@conflicts("--idle-latency", "FIT|DATA", "--dataset", because=MEASURED)
@conflicts("--idle-latency", "--series", because="a data sheet has one curve")
@requires("--use", "FIT|DATA", "--dataset")
@requires("--columns", "FIT|DATA")
@requires("--idle-latency", "--peak-iops", because=SHEET)
@requires("--peak-iops", "--idle-latency", "FIT|DATA", "--dataset", because=SHEET)
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
        "CHANGES", what_if, "Also the curve changed: workers=4:8, replicas=2, drives=1:2, service=0.5, latency=+50us."
    ),
    target: float | None = option("RATE", parsing.per_second, "Also how many of it serve this rate, as 5k/s."),
    page: Page,
    details: o.Details = False,
) -> CommandResult:
    """Predict throughput and response time, with bands, and the knee.

    From a fit, from points of DATA, or from a data sheet before any run.

    \b
    Examples:
    qsim predict fit.json --at 1,8,64
    qsim predict sweep/ --use 1,32 --seal before.json
    qsim predict sweep/ --use 1 --peak-iops 600k
    qsim predict --idle-latency 80us --peak-iops 600k --at 1..256
    qsim predict sweep/ --at 60%
    qsim predict sweep/ --at 2k/s,8k/s
    qsim predict sweep/ --at 10..200users:think=1s
    qsim predict --idle-latency 80us --peak-iops 600k --what-if drives=1:2
    qsim predict wrk-runs/ --at 1..500 --slo 300ms --target 5k/s --what-if workers=4:8
    """
    if seal is not None:
        from calibrate.sealing import check_unsealed

        check_unsealed(seal)
    if what_if is not None and slo is not None and slo.quantile is not None:
        raise wrong_usage(
            f"--what-if and --slo {slo.quantile}=... exclude each other: the tails of a changed device are unknown; "
            "give --slo for the mean, as --slo 1ms"
        )
    found = _fits(data or (), dataset, columns, idle_latency, peak_iops, series, use, at)
    curves = [_predicted(f, at, what_if, target) for f in found.fits]
    own = [c for c in curves if c.curve.load_type == c.fit.load_type]
    if seal is not None and len(own) < len(curves):
        raise wrong_usage("--seal keeps predictions at the kind of load that was measured; leave the unit of --at out")
    tails = simulated_tails([(c.fit, c.fit.series, [float(n) for n in c.curve.load]) for c in own], found.sweep)
    sealed = None if seal is None else _sealed(seal, curves)

    title = "Prediction" if len(curves) > 1 or not curves[0].fit.series else f"Prediction: {curves[0].fit.series}"

    def text() -> str:
        name = dataset or shown_name(" ".join(data or ()))
        blocks = ["\n".join(first_lines(name, found.fits))] if len(curves) > 1 else []
        for i, c in enumerate(curves):
            parts = _text(c, tails.get(c.fit.series), found.sweep, slo, several=len(curves) > 1, details=details)
            blocks.append(("" if i == 0 else "\n") + "\n\n".join(parts))
        blocks += ["", *last_lines(found, "--details: every parameter;   --report report.html: plots")]
        if sealed is not None:
            blocks.append(f"\n{sealed}\nsaved in {seal}; when it is measured: qsim compare DATA --prediction {seal}")
        return "\n".join(blocks)

    def document() -> dict[str, Any]:
        parts = [{**_document(c, found.sweep, slo), **tails_document(tails.get(c.fit.series))} for c in curves]
        return {**parts[0], "series": parts, "seal": None if sealed is None else sealed.to_dict()}

    return CommandResult(text, document, page.write(lambda: _sections(curves), title))


def _fits(
    data: Sequence[str],
    dataset: str | None,
    columns: str | None,
    idle_latency: float | None,
    peak_iops: float | None,
    series: str | None,
    use: parsing.Numbers | None,
    at: Any,
) -> CalibratedCurves:
    """The fits to predict from: of measured points, in a file, or of a data sheet."""
    if dataset is not None or columns is not None or use is not None or _holds_points(data):
        source = DataSource(data, dataset, columns)
        return calibrated(source, series, use, peak_iops=peak_iops, asked=at, refusal="not predicted")
    if data:
        if peak_iops is not None:
            raise wrong_usage("FIT and --peak-iops exclude each other: predict from a fit or from a data sheet")
        kept = read_fits(Path(data[0]))
        names = known_series([f.series for f in kept], series)
        return CalibratedCurves([f for f in kept if f.series in names])
    if idle_latency is None or peak_iops is None:
        raise wrong_usage("nothing to predict from; give FIT (a file of qsim fit), or --idle-latency and --peak-iops")
    if idle_latency * peak_iops > MOST_OUTSTANDING:
        warn(
            f"the sheet asks for {idle_latency * peak_iops:.3g} outstanding requests; is an idle latency of "
            f"{format_duration(idle_latency)} meant? Write it with its unit, as --idle-latency 80us"
        )
    return CalibratedCurves([calibrate.from_datasheet(idle_latency, peak_iops)])


def _holds_points(data: Sequence[str]) -> bool:
    """Whether DATA is measured points, and not one file of fits."""
    return len(data) > 1 or any(path.is_dir() or FIT not in read_head(path) for path in map(Path, data))


def _predicted(
    fit: Fit, at: Sequence[float] | Load | PeakShare | None, change: WhatIf | None, target: float | None
) -> PredictedCurve:
    """The curve of a fit, and of the changed device."""
    from calibrate.prediction.what_if import capacity_for

    def of(fit: Fit, loads: Sequence[float] | Load | PeakShare, kind: str) -> PredictedCurve:
        capacity = None if target is None else capacity_for(fit, target, kind)
        return PredictedCurve(fit, calibrate.predict(fit, loads), capacity)

    now = of(fit, at or _default_loads(fit), _device_in_words(change, "today's", 0))
    if isinstance(at, PeakShare):
        now = replace(now, shares=at)
    if change is None:
        asked = now.under is not None or (now.shares is not None and fit.is_seen_through_chain)
        return replace(now, curve=calibrate.with_p99(fit, now.curve)) if asked else now
    scenario = calibrate.what_if(fit, change)
    changed = of(scenario.fit, _load_of(now.curve), _device_in_words(change, "the changed", 1))
    return replace(now, then=(scenario, changed))


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
    first = [*asked_lines(c.fit, slo, sweep, c.under), *([str(c.capacity)] if c.capacity is not None else [])]
    if c.then is not None:
        scenario, changed = c.then
        first.append(_gain(scenario, c.curve, changed.curve))
        first += [str(changed.capacity)] if changed.capacity is not None else []
    own = [c.fit.series] if several else first_lines("", [c.fit])
    yield "\n".join([*first, *own, *_share_lines(c), *_users_line(c)])
    yield str(c.curve) if c.then is None else _changed_table(scenario, c.curve, changed.curve)
    if tails is not None:
        yield "\n".join(tail_tables({c.fit.series: tails}) if details else tails_line({"": tails}))
    if details:
        yield "\n".join([str(c.fit), *scalability_lines(c.fit, sweep)])


def _share_lines(c: PredictedCurve) -> Iterator[str]:
    """Each share of the peak that --at asks for: the load, its mean and p99, and the closed load of that throughput."""
    if c.shares is None or c.then is not None:
        return
    from calibrate.fitting.fit import PEAK
    from calibrate.fitting.fit_answer import figure_word
    from calibrate.fitting.other_loads import load_at_share

    load, own, show = c.curve.load_type, c.fit.load_type, c.fit.load_type.throughput_figure
    closed: Sequence[float] = ()
    if isinstance(load, ArrivalRate) and isinstance(own, ClosedLoad):
        closed = load_at_share(c.fit, replace(c.shares, of=own)).values
    word = figure_word(c.fit, PEAK, c.fit.parameters[PEAK])
    doubt = "" if word == "sure" else f", {word},"
    for i, share in enumerate(c.shares.named):
        at = load.in_full(load.text(c.curve.load[i]))
        gives = "" if isinstance(load, ArrivalRate) else f"{show(float(c.curve.throughput_per_s[i]), 3)} at "
        text = f"of PEAK{doubt} is {at}: {gives}{with_interval(format_duration, *c.curve.response_band(i))} on average"
        if c.curve.p99_s is not None:
            text += f", p99 {with_interval(format_duration, *c.curve.p99_band(i))}, simulated"
        if closed:
            text += f"; the same rate as {own.in_full(own.text(closed[i]))}"
        yield labelled(share, text)


def _users_line(c: PredictedCurve) -> list[str]:
    """Where queueing starts among users who think, for a closed fit that is asked about them."""
    from calibrate.fitting.readings import users_at_knee

    think_s = c.curve.load_type.thinking_s
    if not think_s or c.fit.crossing is None or c.then is not None or think_s == c.fit.load_type.thinking_s:
        return []
    users = with_interval(c.curve.load_type.figure, *users_at_knee(c.fit, think_s))
    start = f"queueing starts at {c.curve.load_type.in_full(users)}"
    return [labelled("USERS", f"{start}: (idle latency + think time) x PEAK")]


def _document(c: PredictedCurve, sweep: measure.Sweep | None, slo: parsing.Objective | None) -> dict[str, Any]:
    """A fit with its curve in JSON, the number of devices for a rate, and the same for the changed device."""
    from calibrate.fitting.readings import users_at_knee

    document = {**fit_document(c.fit, slo, sweep, c.under), "points": c.curve.to_dicts()}
    if think_s := c.curve.load_type.thinking_s if c.fit.crossing is not None else 0.0:
        document["users"] = dict(zip(("load", "low", "high"), users_at_knee(c.fit, think_s), strict=True))
    if c.shares is not None:
        document["shares_of_peak"] = list(c.shares.shares)
    if c.curve.doubts:
        document["doubts"] = list(c.curve.doubts)
    if c.capacity is not None:
        document["capacity"] = asdict(c.capacity)
    if c.then is not None:
        scenario, changed = c.then
        document["what_if"] = {**scenario.to_dict(), **_document(changed, None, slo)}
    return document


def _load_of(curve: Prediction) -> Load:
    return replace(curve.load_type, values=tuple(curve.load.tolist()))


def _sealed(path: Path, curves: Sequence[PredictedCurve]) -> SealedPrediction:
    """The seal of what is predicted, in a file: of the changed device where there is one."""
    sealed = [c.fit if c.then is None else replace(c.then[0].fit, series=c.fit.series) for c in curves]
    return calibrate.seal(sealed, [list(c.curve.load) for c in curves], path)


def _sections(curves: Sequence[PredictedCurve]) -> list[Section]:
    from calibrate.report.predicted import predicted_section

    return [predicted_section(c.fit, _load_of(c.curve), c.then[0] if c.then else None) for c in curves]


def _default_loads(fit: Fit) -> Sequence[float]:
    """Doubling depths; tenths of the peak as arrival rates or bandwidths; the delays of Intel's list calibrated on."""
    if isinstance(fit.load_type, ThroughputLoad):
        peak = fit.parameters.get("B" if isinstance(fit.load_type, Bandwidth) else "Xmax")
        if peak is not None and peak.estimate is not None:
            return [round(share / 10 * peak.estimate, 3) for share in range(1, 10)]
    if not isinstance(fit.load_type, InjectedDelay):
        return DEFAULT_DEPTHS
    from measure.memory.plan import MLC_DELAYS

    low, high = (min(fit.used), max(fit.used)) if fit.used else (0, max(MLC_DELAYS))
    return [float(d) for d in MLC_DELAYS if low <= d <= high]
