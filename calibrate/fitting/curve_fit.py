"""Fit a device model to the points of a sweep, or to the figures of a data sheet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.inference.estimates import LEVEL, Estimate, estimates
from calibrate.inference.weights import Weights
from calibrate.knees.knee import SHEET
from calibrate.models.calibration import USED
from calibrate.models.closed import PNorm
from calibrate.models.curves import CurveModel, Peak
from calibrate.models.names import model_for, model_named
from calibrate.points import Points, points_of, with_delay
from measure.auditing.calibration import check_submission
from measure.errors import DataError
from measure.sweep import Sweep, histograms
from measure.units import CACHE_LINE_BYTES, counted, format_bandwidth, format_rate
from qsim.errors import InvalidParameterError

TOLERANCE = 0.1
"""How far (relative standard deviation) a data sheet's figures are from what a device reaches."""

BEFORE = "before any measurement: two points of a run (depth 1 and 32) replace these assumptions"

LAW_BINS = 64

NOTHING_USED: Mapping[str, Any] = dict.fromkeys(USED, ())
"""The fields of a fit that was calibrated on no measurement."""


def fit(
    sweep: Sweep,
    use: Sequence[float] | None = None,
    *,
    series: str | None = None,
    model: str | None = None,
    level: float = LEVEL,
    delay_s: tuple[float, float] | None = None,
    peak_per_s: float | None = None,
) -> Fit:
    """Calibrate a device model on the points of ``sweep`` at the loads ``use``, or on all of them.

    ``series`` names the curve where there are several. ``model`` None means ``p-norm with onset`` for closed sweeps
    (with a decline, where the points show one), ``delay law`` for memory sweeps and ``M/G/c`` for open ones, with one
    queue or a queue for each server (``open_choice``). ``level`` is that of intervals and bands. ``delay_s`` is the
    least and the most that the delay Z of a closed sweep may be (at 90 %), where it was measured by itself: it can
    determine the number of servers where means alone do not. ``peak_per_s`` is a peak throughput known from elsewhere
    (a data sheet), taken as right to 10 %; of a memory it is the bandwidth in bytes/s that a bandwidth test gives, and
    None takes that of the sweep where it holds one.

    The same points give the same fit, on any machine. Raises ValueError where the arguments make no sense, DataError
    where the series or a load is missing or the points are too few for the model: one for a closed sweep, two for an
    open one, three for a memory. Raises TypeError for anything but a Sweep.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> fit(load_dataset("004-ssd-depth"), [1, 32]).model
    'p-norm with onset'
    """
    points = with_delay(points_of(sweep, series), delay_s)
    return fit_curve(sweep, points, use, model=model, level=level, peak_per_s=peak_per_s)


def fit_curve(
    sweep: Sweep,
    points: Points,
    use: Sequence[float] | None,
    *,
    model: str | None,
    level: float,
    peak_per_s: float | None,
) -> Fit:
    """``fit`` on the ``points`` of one curve of ``sweep``."""
    if not 0 < level < 1:
        raise InvalidParameterError("level", f"{level:g} must lie between 0 and 1, like 0.9", value=level)
    chosen = points.choose(use)
    if len(points) < needed(points) and (apart := [f for f in check_submission(sweep) if f.series is None]):
        raise DataError(
            f"{points.series}: {counted(len(points), 'point')} cannot calibrate a model: "
            f"{apart[0].message.rstrip('.')}, and each way is a curve of its own; {apart[0].remedy.rstrip('.')}"
        )
    _check_count(chosen, model or "usual")
    made = fit_points(chosen, model_for(chosen, model), level=level, peak_per_s=peak_per_s)
    return replace(made, measured=len(points), law=_law_at_depth_one(sweep, chosen))


def _law_at_depth_one(sweep: Sweep, points: Points) -> dict[str, Any] | None:
    """The law of the latencies of requests that were alone, from the histograms of depth 1; None without any."""
    if not points.load_type.is_closed or 1 not in points.load or not sweep.latencies:
        return None
    alone = [h for (name, n, _), h in histograms(sweep).items() if name == points.series and n == 1]
    if not alone or all(len(h.counts) == 1 for h in alone):
        return None
    from qsim.distributions import Empirical
    from qsim.distributions.as_dict import law_to_dict

    lower, upper = min(h.lower_s[0] for h in alone), max(h.upper_s[-1] for h in alone)
    edges = np.geomspace(max(lower, 1e-3 * upper), upper * (1 + 1e-9), LAW_BINS + 1)
    counts = np.zeros(LAW_BINS)
    for h in alone:
        counts += np.histogram(h.middle_s, edges, weights=h.counts)[0]
    return law_to_dict(Empirical.from_histogram(edges.tolist(), counts.tolist()))


def fit_points(
    points: Points, curve_model: CurveModel, *, level: float = LEVEL, peak_per_s: float | None = None
) -> Fit:
    """Calibrate ``curve_model`` on all of ``points``; ``fit`` chooses them first."""
    _check_count(points, curve_model.name)
    peak = _known_peak(points, peak_per_s)
    table = curve_model.weights(points, peak).thinned()
    return Fit.of(curve_model, points, table, level, [*_assumed(points, peak)], peak)


def whole_table(fit: Fit) -> Weights:
    """All rows of the table of weights of a fit that has its points at hand; the fit itself holds some of them."""
    if fit.points is None:
        raise DataError(f"{fit.series or 'the fit'} was not calibrated on these points")
    if fit.table.log_likelihood is None:  # linearised: no row was left out
        return fit.table
    peak = None if fit.known_peak_per_s is None else Peak(fit.known_peak_per_s, TOLERANCE)
    return fit.curve_model.weights(fit.points, peak)


def _check_count(points: Points, model: str) -> None:
    if len(points) < needed(points):
        here = f" (here: {points.loads_text()})" if len(points) else ""
        raise DataError(
            f"{points.series}: {counted(len(points), 'point')} cannot calibrate the {model} model, which needs "
            f"{needed(points)}; name (--use) or measure {points.load_type.more}{here}"
        )


def needed(points: Points) -> int:
    """How many points a model of this kind of load needs."""
    return points.load_type.least_points


def _known_peak(points: Points, peak_per_s: float | None) -> Peak | None:
    """The peak from elsewhere; ValueError or DataError where it cannot be that of these points."""
    memory = points.load_type.is_memory
    if peak_per_s is None:
        return Peak(points.known_peak_per_s, TOLERANCE) if points.known_peak_per_s is not None else None
    if not (np.isfinite(peak_per_s) and peak_per_s > 0):
        raise ValueError(f"the peak must be a positive number, not {peak_per_s!r}")
    if points.load_type.is_open:
        raise ValueError(f"a known peak is for queue depths and memories, and {points.series} varies the arrival rate")
    each, written = (CACHE_LINE_BYTES, format_bandwidth) if memory else (1, format_rate)
    best = int(np.argmax(points.throughput_per_s))
    highest = each * float(points.throughput_per_s[best])
    if highest >= peak_per_s * (1 + TOLERANCE):
        load = points.load_type
        where = "" if load.is_throughput else f" at {load.at(points.load[best])}"
        raise DataError(
            f"{points.series}: {written(highest)}{where} is above the given peak, {written(peak_per_s)}; check its unit"
            f"{' and the traffic' if memory else ', block size and direction'}"
        )
    return Peak(peak_per_s / each, TOLERANCE)


def _assumed(points: Points, peak: Peak | None) -> Iterator[str]:
    """What a single point, or a given peak, leaves to assumptions."""
    if peak is not None and points.load_type.is_memory:
        whose = "is the tool's own" if peak.per_s == points.known_peak_per_s else "is given"
        yield f"the peak of {format_bandwidth(peak.per_s * CACHE_LINE_BYTES)} {whose}"
    elif peak is not None:
        yield f"the peak of {format_rate(peak.per_s)} is given, taken as right to {100 * TOLERANCE:g} %"
    if len(points) == 1 and points.load_type.is_closed:
        rest = "sharpness and onset" if peak is not None else "knee, sharpness and onset"
        deep = "a second, deep point" if points.load[0] <= 4 else points.load_type.at(1)
        only = points.load_type.at(points.load[0])
        yield f"1 point ({only}): {rest} are assumed as on public devices; measure {deep}"


def from_datasheet(
    idle_latency: float,
    peak_iops: float,
    *,
    sharpness: float | None = None,
    tolerance: float = TOLERANCE,
    level: float = LEVEL,
) -> Fit:
    """The closed device model before any run: ``idle_latency`` in seconds and ``peak_iops`` in 1/second.

    Nothing is measured, so the bands say only what is assumed: the sheet's two figures to within ``tolerance``
    (relative standard deviation), and a knee sharpness as it is over public devices (None), or around ``sharpness``
    within a factor of two. Raises ValueError for a figure that is not positive.

    >>> from calibrate import from_datasheet
    >>> round(from_datasheet(idle_latency=80e-6, peak_iops=600e3).knee.load)
    48
    """
    given = {"idle_latency": idle_latency, "peak_iops": peak_iops, "sharpness": 1.0 if sharpness is None else sharpness}
    for name, value in given.items():
        if not (np.isfinite(value) and value > 0):
            raise InvalidParameterError(name, f"must be a positive number, not {value!r}", value=value)
    if not 0 < tolerance < 1:
        raise InvalidParameterError("tolerance", f"must lie in 0 < tolerance < 1, not {tolerance!r}", value=tolerance)
    if idle_latency * peak_iops < 1:
        raise InvalidParameterError(
            "idle_latency",
            f"x peak_iops = {idle_latency * peak_iops:.3g} outstanding requests, less than one: a device that answers "
            "in that time can do more than that rate",
            "check the units (seconds, requests a second)",
            idle_latency,
        )
    model, one = PNorm(sharpness), np.ones(1)
    rate, time, off = one / idle_latency, one * idle_latency, one * tolerance
    sheet = Points("data sheet", "queue_depth", "requests", one, rate, time, one, off, off, source="data sheet")
    made = Fit.of(model, sheet, model.weights(sheet, Peak(peak_iops, tolerance)), level, [BEFORE])
    from_sheet = f"from the data sheet, assumed right to {100 * tolerance:g} %"
    parameters = {
        name: replace(e, note="assumed, not measured" if name == "p" else from_sheet, identified=name != "p")
        for name, e in estimates(model.report, made.table, {}, level).items()
    }
    details = {SHEET: {"idle_latency_s": idle_latency, "peak_per_s": peak_iops}}
    made = replace(made, **NOTHING_USED, given=parameters, points=None, details=details)
    return replace(made, given={**parameters, "N*": replace(parameters["N*"], estimate=made.knee.load)})


def scalability(points: Points, level: float = LEVEL) -> Mapping[str, Estimate]:
    """``contention`` and ``coherency`` of Gunther's law, which services are known by, with intervals.

    Contention is the share of the work that is done one at a time, coherency what each pair of requests costs the
    others (Gunther, Guerrilla Capacity Planning, 2007). Empty where the load is no number of clients, or the points
    are fewer than three.
    """
    if not points.load_type.is_counted or len(points) < 3:
        return {}
    figures = fit_points(points, model_named("Universal Scalability Law"), level=level).parameters
    return {name: figures[name] for name in ("contention", "coherency")}


def with_origin(fit: Fit, sweep: Sweep) -> Fit:
    """The fit with what it was calibrated on under ``details["calibrated_on"]``: SHA-256 of raw files, block, mix.

    Raises DataError where a raw file cannot be read any more.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> with_origin(fit(sweep), sweep).details["calibrated_on"]
    {'files': {}, 'block_bytes': 4096.0, 'read_fraction': 1.0}
    """
    rows = sweep.select(fit.series).points
    rows = rows[[bool(np.isclose(fit.used, load).any()) for load in rows["load"]]]
    hashes = hashes_of(sweep)
    named = {name: hashes[name] for name in dict.fromkeys(rows["source"].dropna()) if name in hashes}
    origin: dict[str, Any] = {"files": named or hashes}
    for column in ("block_bytes", "read_fraction"):
        values = rows[column].dropna().unique()
        if len(values) == 1:
            origin[column] = float(values[0])
    return replace(fit, details={**fit.details, "calibrated_on": origin})


def hashes_of(sweep: Sweep) -> dict[str, str]:
    """SHA-256 (hex) of each raw file of a sweep, by its name. DataError where one cannot be read."""
    try:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sweep.raw if path.is_file()}
    except OSError as error:
        raise DataError(f"{error.filename} cannot be read: {error.strerror or error}; check its permissions") from error
