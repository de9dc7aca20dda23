"""Calibrates a device model on points of a sweep or on a data sheet, and says what speaks against the fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from calibrate.fitting.fit import ALSO, CAPACITY, LONE_SCV, NOTHING_USED, TAILS, USED, Fit
from calibrate.fitting.own_load import PLAIN, SHARED, plain_p_norm
from calibrate.fitting.readings import SHEET
from calibrate.inference.parameters import LEVEL, LOWEST_LEVEL, Estimate
from calibrate.models.choice import model_for, model_named
from calibrate.models.curves import TOLERANCE, CurveModel, PNorm, estimates
from calibrate.points import Points, points_of
from measure.auditing.all_checks import audit
from measure.auditing.curve_shape import check_submission
from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.steady_state import COLUMNS as STEADY
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Depth, MemoryLoad, Outstanding, ThroughputLoad
from measure.repeats import FEWEST_POINTS, first_highest, flag_outliers
from measure.sweep import Sweep, of_several_kinds
from measure.units import CACHE_LINE_BYTES, counted, format_bandwidth, format_duration, format_rate
from qsim.errors import InvalidParameterError

OTHER_LOAD = "other-load"
"""The check of a prediction under another load than that of the fit."""

WARNED_OF = ("no-saturated-point", "mixed-submission", "repeats-disagree", "misses-its-points", OTHER_LOAD)
"""Checks whose warnings matter to a fit; errors always do."""

DOUBTS_A_RUN = (
    "outlier",
    "drift",
    "drift-within-run",
    "repeats-disagree",
    "busy-machine",
    "latency-falls",
    "assumed-throughput",
)
"""Warnings of a run that was disturbed, unsteady or not wholly measured: no figure of such a curve is sure."""


def fit(
    sweep: Sweep | Sequence[Sweep],
    use: Sequence[float] | None = None,
    *,
    series: str | None = None,
    model: str | None = None,
    level: float = LEVEL,
    peak_per_s: float | None = None,
) -> Fit:
    """Calibrate a device model on the points of ``sweep`` at the loads ``use``, or on all of them.

    Several sweeps are one device under several kinds of load, and give one curve: ``fit([closed, open])``.

    ``series`` names the curve where there are several. ``model`` None means ``p-norm with onset`` for closed sweeps
    (with a decline for a service of which two points lie past the peak), ``delay law`` for memory sweeps and ``M/G/c``
    for open ones, with one queue or a queue for each server. ``level`` is that of intervals and bands. ``peak_per_s``
    is a peak throughput known from another source (a data sheet), with an error of 10 %; for a memory it is the
    bandwidth in bytes/s of a bandwidth test, by default the sweep's own where it has one.

    The same points give the same fit, on any machine. Raises ValueError where the arguments are invalid, DataError
    where the series or a load is missing or the points are too few for the model: one for a closed sweep, two for an
    open one, three for a memory. Raises TypeError for anything but a Sweep.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> fit(load_dataset("004-ssd-depth"), [1, 32]).model
    'p-norm with onset'
    """
    whole: Sweep = sweep  # type: ignore[assignment]
    if isinstance(sweep, Sequence) and sweep and all(isinstance(one, Sweep) for one in sweep):
        whole = of_several_kinds(sweep)
    points = points_of(whole, series)
    if not LOWEST_LEVEL <= level < 1:
        wanted = f"must be from {LOWEST_LEVEL:g} to below 1, like 0.9"
        raise InvalidParameterError("level", f"{level:g} {wanted}", value=level)
    chosen = points.choose(use)
    _check_submission(points, whole)
    _check_count(chosen, model or "usual")
    made = fit_points(chosen, model_for(chosen, model), level=level, peak_per_s=peak_per_s)
    each = [one.provenance.details for one in (whole, *whole.also)]
    said = [details[ORIGIN_OF_KIND] for details in each if ORIGIN_OF_KIND in details]
    known = {ORIGIN_OF_KIND: "; ".join(said)} if said else {}
    count = len(points) + sum(map(len, points.also))
    made = replace(made, measured=count, law=chosen.closed.law, details={**made.details, **known})
    return judged(made, whole)


def fit_points(
    points: Points, curve_model: CurveModel, *, level: float = LEVEL, peak_per_s: float | None = None
) -> Fit:
    """Calibrate ``curve_model`` on all of ``points``; ``fit`` chooses them first."""
    _check_count(points, curve_model.name)
    peak, noise = _known_peak(points, peak_per_s), points.noise()
    columns = (points.load, points.throughput_per_s, noise[0], points.response_time_s, noise[1])
    used: Any = {name: tuple(column.tolist()) for name, column in zip(USED, columns, strict=True)}
    seen = [(p, np.column_stack([p.load, p.throughput_per_s, p.response_time_s]).tolist()) for p in points.also]
    also = [{**p.load_type.to_dict(), "points": of_kind} for p, of_kind in seen]
    plain = plain_p_norm(points) if peak is None and curve_model.plain is not None else None
    p99 = points.facts.latency_p99
    tails = [] if p99 is None else [(n, r) for n, r in zip(points.load.tolist(), p99.tolist(), strict=True) if r > 0]
    told = {ALSO: also, PLAIN: plain, CAPACITY: points.capacity_per_s, TAILS: tails}
    alone = {} if points.closed.alone is None else {LONE_SCV: points.closed.alone.scv}
    return Fit(
        model=curve_model.name,
        assumption=curve_model.assumption + (SHARED if plain else ""),
        load_type=points.load_type,
        series=points.series,
        table=curve_model.weights(points, peak),
        level=level,
        notes=(*points.notes, *_assumed(points, peak)),
        source=points.source,
        points=points,
        between_runs=points.between_runs,
        known_peak_per_s=peak,
        details={name: fact for name, fact in told.items() if fact} | alone,
        **used,
    )


def _check_submission(points: Points, sweep: Sweep) -> None:
    """Raise DataError where the points are too few as each way of submission is a curve of its own."""
    short = len(points) < points.load_type.least_points
    for found in (f for f in (check_submission(sweep) if short else ()) if f.series is None):
        raise DataError(
            f"{points.series}: {counted(len(points), 'point')} cannot calibrate a model: "
            f"{found.message.rstrip('.')}, and each way is a curve of its own; {found.remedy.rstrip('.')}"
        )


def _check_count(points: Points, model: str) -> None:
    if len(points) < points.load_type.least_points and not points.also:
        here = f" (here: {points.load_type.texts(points.load)})" if len(points) else ""
        how = "" if points.asked is None else ": qsim measure fio TARGET --arrival-rates 500,1k,2k --out DIR"
        raise DataError(
            f"{points.series}: {counted(len(points), 'point')} cannot calibrate the {model} model, which needs "
            f"{points.load_type.least_points}; name (--use) or measure {points.load_type.more}{how}{here}"
        )


def _known_peak(points: Points, peak_per_s: float | None) -> float | None:
    """The peak known from another source; ValueError or DataError where it cannot be that of these points."""
    memory = isinstance(points.load_type, MemoryLoad)
    if peak_per_s is None:
        return points.known_peak_per_s
    if not (np.isfinite(peak_per_s) and peak_per_s > 0):
        raise ValueError(f"the peak must be a positive number, not {peak_per_s!r}")
    if isinstance(points.load_type, ArrivalRate):
        raise ValueError(f"a known peak is for queue depths and memories, and {points.series} varies the arrival rate")
    each, written = (CACHE_LINE_BYTES, format_bandwidth) if memory else (1, format_rate)
    best = first_highest(points.throughput_per_s)
    highest = each * float(points.throughput_per_s[best])
    if highest >= peak_per_s * (1 + TOLERANCE):
        load = points.load_type
        where = "" if isinstance(load, ThroughputLoad) else f" at {load.at(points.load[best])}"
        raise DataError(
            f"{points.series}: {written(highest)}{where} is above the given peak, {written(peak_per_s)}; check its unit"
            f"{' and the traffic' if memory else ', block size and direction'}"
        )
    return peak_per_s / each


def _assumed(points: Points, peak: float | None) -> Iterator[str]:
    """Notes on what is assumed of the load, with a single point, or a given peak."""
    if isinstance(points.load_type, Outstanding) and points.load_type.arrivals:
        fixed = replace(points, load_type=Outstanding())
        other = fit_points(fixed, model_for(fixed, None)).curve_parameters
        idle, most = other["R1"].estimate or math.nan, other["Xmax"].estimate or math.nan
        how = "found by the variance in flight" if points.closed.kind_is_known else "assumed"
        yield (
            f"Poisson arrivals are {how}; had a fixed number been in flight, the idle latency would be "
            f"{format_duration(idle, 2)} and the peak {format_rate(most, 2)}"
        )
    if peak is not None and isinstance(points.load_type, MemoryLoad):
        whose = "is the tool's own" if peak == points.known_peak_per_s else "is given"
        yield f"the peak of {format_bandwidth(peak * CACHE_LINE_BYTES)} {whose}"
    elif peak is not None:
        yield f"the peak of {format_rate(peak)} is given, taken as right to {100 * TOLERANCE:g} %"
    if len(points) == 1 and isinstance(points.load_type, ClosedLoad) and not points.also:
        rest = "sharpness and onset" if peak is not None else "knee, sharpness and onset"
        deep = "a second, deep point" if points.load[0] <= 4 else points.load_type.at(1)
        only = points.load_type.at(points.load[0])
        yield f"1 point ({only}): {rest} are assumed as on public devices; measure {deep}"


def scalability(points: Points, level: float = LEVEL) -> Mapping[str, Estimate]:
    """``contention`` and ``coherency`` of Gunther's law, the usual parameters of services, with intervals.

    Contention is the share of work that is serialised, coherency the cost of each pair of requests to the others
    (Gunther, Guerrilla Capacity Planning, 2007). Empty where the load is not a number of clients, or there are fewer
    than three points.
    """
    if not isinstance(points.load_type, CountedLoad) or points.load_type.thinking_s or len(points) < 3:
        return {}
    figures = fit_points(points, model_named("Universal Scalability Law"), level=level).parameters
    return {name: figures[name] for name in ("contention", "coherency")}


def matters(finding: Finding, *, calibrated_here: bool = True) -> bool:
    """Whether a finding is evidence against a calibration; missing points do not matter to one made on other data."""
    if finding.check == "no-saturated-point" and not calibrated_here:
        return False
    return finding.severity == "error" or finding.check in WARNED_OF


def doubts_about(fit: Fit, sweep: Sweep) -> tuple[Finding, ...]:
    """Findings against ``fit``, which was calibrated on points of ``sweep``.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> [finding.check for finding in doubts_about(fit(sweep), sweep)]
    []
    """
    return (*filter(matters, audit(sweep, fit.series)), *missing_its_own_points(fit))


def judged(fit: Fit, sweep: Sweep) -> Fit:
    """``fit`` with what the audit of its curve says: errors contradict it, warnings about the runs leave it in doubt.

    Where repeats show what a doubted run moved, the intervals hold it.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> fit(load_dataset("000-ssd"), series="4 KiB read in a file of 16 KiB").contradicted
    True
    """
    noticed = [f for f in sweep.findings if f.series in (None, fit.series)]
    found = [*noticed, *audit(sweep, fit.series)]
    doubted = doubts_named([f.check for f in found if f.check in DOUBTS_A_RUN and f.severity != "info"])
    moved = 0.0 if fit.points is None or not doubted else float(np.nan_to_num(fit.points.spread).max(initial=0.0))
    return replace(
        fit, contradicted=any(f.contradicts for f in found), doubted=doubted, between_runs=max(fit.between_runs, moved)
    )


def doubts_named(checks: Sequence[str]) -> str:
    """That ``checks`` of the audit doubt the runs, with the name of the first; empty without one.

    >>> doubts_named(["outlier", "drift", "outlier"]), doubts_named([])
    ('the audit doubts the runs (outlier and 1 more check)', '')
    """
    first, *more = [*dict.fromkeys(checks)] or [""]
    others = f" and {counted(len(more), 'more check')}" if more else ""
    return f"the audit doubts the runs ({first}{others})" if first else ""


def missing_its_own_points(fit: Fit) -> tuple[Finding, ...]:
    """Findings where the curve is far from its calibration points: the model does not fit this device."""
    if not fit.is_far_off:
        return ()
    missed, load = fit.missed, fit.load_type
    worst, figure = int(missed.argmax()), "response time" if isinstance(load, ThroughputLoad) else "throughput"
    poisson = isinstance(load, ArrivalRate) and load.gaps == "poisson" and ORIGIN_OF_KIND not in fit.details
    gaps = "Poisson arrivals were assumed; if the requests were sent in even gaps, say so: --columns gaps=paced. Else "
    return (
        Finding(
            "misses-its-points",
            "warning",
            f"the model {fit.model} misses the {figure} that it was calibrated on by {100 * missed[worst]:.0f} % at "
            f"{load.place_of(fit.used[worst])}.",
            "what the model assumes is not true of this device, or the points are not of one device.",
            f"{gaps if poisson and fit.over_measured[worst] >= 1 else ''}see the other models: qsim compare DATA "
            "--report FILE.",
            fit.series,
            float(fit.used[worst]),
        ),
    )


def on_course(sweep: Sweep) -> list[float]:
    """The loads of one curve without those that the audit flags against their neighbours.

    Without such, one whose run was not steady and of which the others predict another throughput. The lightest load
    stays: it alone tells the idle latency.
    """
    points = sweep.points.sort_values("load")
    loads = list(dict.fromkeys(points["load"].tolist()))
    off = set(points["load"][flag_outliers(points) == "curve"]) - {loads[0]}
    for load in [] if off else [n for n in _unsteady(points) if n != loads[0]]:
        _, low, high = fit(sweep, [n for n in loads if n != load]).predict([load], refuse=False).throughput_band(0)
        if not low <= float(points["throughput_per_s"][points["load"] == load].mean()) <= high:
            off = {load}
            break
    kept = [n for n in loads if n not in off]
    return kept if len(kept) >= FEWEST_POINTS - 1 else loads


def _unsteady(points: pd.DataFrame) -> list[float]:
    """Loads of runs that were not steady by SNIA's definition, the worst first."""
    if not set(STEADY) <= set(points):
        return []
    unsteady = points[points["steady"].eq(False)].sort_values("throughput_range", ascending=False)
    return list(dict.fromkeys(unsteady["load"].tolist()))


def with_unsteady_named(made: Fit, sweep: Sweep) -> Fit:
    """A fit in doubt, with a note that says so, where it used an unsteady point that ``qsim knee`` leaves out."""
    if made.series not in sweep.series or not _unsteady(sweep.points[sweep.points["series"] == made.series]):
        return made
    kept = on_course(sweep.select(made.series))
    off = [n for n in made.used if n not in kept]
    if not off:
        return made
    them = "it" if len(off) == 1 else "them"
    place = f"{made.load_type.at(*off)} {made.load_type.are(*off)} off the course of the other points"
    note = f"{place}, and not every run was steady; qsim knee leaves {them} out, and so does {use_of(kept)}"
    return replace(made, doubted=made.doubted or place, notes=(*made.notes, note))


def use_of(loads: Sequence[float]) -> str:
    """The option that calibrates on these loads: ``--use 1,2,4``."""
    return f"--use {','.join(f'{n:g}' for n in sorted(loads))}"


# --- a data sheet -----------------------------------------------------------------------------------------------------

BEFORE = "before any measurement: two points of a run (depth 1 and 32) replace these assumptions"


def from_datasheet(idle_latency: float, peak_iops: float, *, level: float = LEVEL) -> Fit:
    """The closed device model before any run: ``idle_latency`` in seconds and ``peak_iops`` in 1/second.

    Nothing is measured, so the bands show only assumptions: the sheet's two figures to within 10 % (relative
    standard deviation), and a knee as sharp as those of public devices. Raises ValueError for a figure that is not
    positive.

    >>> from calibrate import from_datasheet
    >>> round(from_datasheet(idle_latency=80e-6, peak_iops=600e3).knee.load)
    48
    """
    for name, value in (("idle_latency", idle_latency), ("peak_iops", peak_iops)):
        if not (np.isfinite(value) and value > 0):
            raise InvalidParameterError(name, f"must be a positive number, not {value!r}", value=value)
    if idle_latency * peak_iops < 1:
        raise InvalidParameterError(
            "idle_latency",
            f"x peak_iops = {idle_latency * peak_iops:.3g} outstanding requests, less than one: a device that answers "
            "in that time can do more than that rate",
            "check the units (seconds, requests a second)",
            idle_latency,
        )
    model, one = PNorm(), np.ones(1)
    rate, time, off = one / idle_latency, one * idle_latency, one * TOLERANCE
    sheet = Points("data sheet", Depth(), one, rate, time, one, off, off, source="data sheet")
    made = fit_points(sheet, model, level=level, peak_per_s=peak_iops)
    from_sheet = f"from the data sheet, assumed right to {100 * TOLERANCE:g} %"
    told = {"R1": idle_latency, "Xmax": peak_iops, "N*": idle_latency * peak_iops}
    given = {
        name: replace(e, estimate=told[name], note=from_sheet, identified=True)
        if name in told
        else replace(e, note="assumed, not measured", identified=False)
        for name, e in estimates(model, made.table, {}, level).items()
    }
    details = {SHEET: {"idle_latency_s": idle_latency, "peak_per_s": peak_iops}}
    unmeasured = replace(made, **NOTHING_USED, points=None, known_peak_per_s=None)
    return replace(unmeasured, given=given, details=details, notes=(BEFORE,))
