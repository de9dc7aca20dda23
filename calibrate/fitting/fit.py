"""A calibrated device model: its fit to points of a sweep, its results, and findings against it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.fitting.predicted_curve import Prediction, is_own_kind
from calibrate.fitting.predicted_curve import predict as predict_at
from calibrate.fitting.readings import CurvePaths, Knee, knee_of, ninety_of, paths, still_rises
from calibrate.inference.parameters import LEVEL, LOWEST_LEVEL, Array, Estimate, how_sure
from calibrate.models.calibration import TABLE, USED, Calibration, model_for, model_named
from calibrate.models.curves import TOLERANCE, CurveModel
from calibrate.points import Points, points_of
from measure.auditing.all_checks import audit
from measure.auditing.curve_shape import check_submission
from measure.errors import DataError
from measure.findings import Finding
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Load, MemoryLoad, Outstanding, PeakShare, ThroughputLoad
from measure.sweep import Sweep, of_several_kinds
from measure.ties import first_highest
from measure.units import CACHE_LINE_BYTES, counted, format_bandwidth, format_duration, format_rate
from qsim.errors import InvalidParameterError
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure
    from simpy import Environment

    from calibrate.fitting.device_station import DeviceStation
    from calibrate.fitting.in_simpy import DeviceInSimPy
    from qsim import Network

NOTHING_USED: Mapping[str, Any] = dict.fromkeys(USED, ())
"""The fields of a fit without measurements."""

SCHEMA = "qsim-fit/3"

FAR = 0.2
"""A relative error at a calibration point from which the model does not fit the device: 3 to 9 % is usual."""


@dataclass(frozen=True, repr=False)
class Fit(Calibration, Result):
    """A calibrated device model: a table of weights, and from it parameters with intervals, the knee, predictions.

    It prints itself as a table.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> fit(sweep)
    4 KiB read: a smooth curve through all 5 points
    QUEUEING STARTS depth 20 (11 to 30), rough: 216 k/s at 92 µs
    90 % OF PEAK AT depth 40 (15 to 55), rough: 249 k/s at 159 µs
    PEAK    276 k/s (227 to 300), sure; idle latency 72 µs (42 to 113)
    """

    @cached_property
    def parameters(self) -> Mapping[str, Estimate]:
        """The reported parameters with intervals; for queue depths also c, S and Z."""
        closed = isinstance(self.load_type, ClosedLoad) and not self.is_seen_through_chain
        if self.given is not None or self.points is None or not closed:
            return self.curve_parameters
        from calibrate.models.structure import servers_and_think

        return {**self.curve_parameters, **servers_and_think(self.points, self.level)}

    @cached_property
    def curve_parameters(self) -> Mapping[str, Estimate]:
        """The parameters of the curve alone, without c, S and Z."""
        found = dict(self.figures)
        if "N*" in found and isinstance(self.load_type, ClosedLoad):  # the same as the knee
            k = self.knee
            found["N*"] = replace(
                found["N*"], estimate=k.load, low=k.low, high=k.high, identified=k.identified, note=""
            )
        return found

    @cached_property
    def paths(self) -> CurvePaths:
        """Curves of representative devices from the table, for finding knees."""
        return paths(self, self.knee.load)

    @cached_property
    def knee(self) -> Knee:
        """The knee with its interval (:mod:`calibrate.fitting.readings`)."""
        return knee_of(self)

    @cached_property
    def ninety(self) -> Knee:
        """The load that gives 90 % of the peak, with its interval."""
        return ninety_of(self, self.paths)

    @cached_property
    def missed(self) -> Array:
        """The relative error of the model at each point that it was calibrated on."""
        response = isinstance(self.load_type, ThroughputLoad)
        measured = self.used_response_s if response else self.used_throughput_per_s
        curve = self.curve_model.curve(self.table.values, np.array(self.used))[1 if response else 0]
        middle = np.exp(self.table.weight @ np.log(curve))  # a prediction would add the misfit
        return np.asarray(np.abs(middle / np.array(measured) - 1))

    @cached_property
    def rises(self) -> bool:
        """Whether twice the deepest load of a closed fit would still raise its throughput."""
        return still_rises(self)

    @property
    def is_far_off(self) -> bool:
        """Whether the model misses a calibration point by ``FAR`` or more: then none of its figures is sure."""
        return bool(self.used) and bool(self.missed.max() >= FAR)

    def sureness(self, identified: bool, low: float | None, high: float | None) -> str:
        """``how_sure`` for a figure; ``doubtful`` where the data contradict themselves.

        Without points, or where a single one does not determine it, it is ``assumed``; where the model is far off its
        own points, those held out refute it, or the audit doubts the runs, at best ``rough``.
        """
        if self.contradicted:
            return "doubtful"
        if not self.used or (len(self.used) == 1 and not identified):
            return "assumed"
        word = how_sure(identified, low, high)
        return "rough" if word == "sure" and (self.refuted or self.doubted or self.is_far_off) else word

    def predict(self, at: Sequence[float] | Array | Load | PeakShare, *, refuse: bool = True) -> Prediction:
        """Throughput and response time at the loads ``at``, with bands, as ``calibrate.predict``."""
        if not (self.is_seen_through_chain or isinstance(at, PeakShare)):
            if not isinstance(at, Load):
                return predict_at(self, at)
            if is_own_kind(self.load_type, at):
                return predict_at(self, at.values)
        from calibrate.fitting.under_load import predict

        return predict(self, at, refuse=refuse)

    def station(self, visits: float = 1.0, *, extrapolate: bool = False) -> DeviceStation:
        """The device as a station of a queueing network, which a customer visits ``visits`` times.

        It serves at the fitted rate X(n) while n are present, up to four times the deepest load measured; with
        ``extrapolate`` the last rate holds beyond.

        >>> from calibrate import from_datasheet
        >>> from_datasheet(idle_latency=80e-6, peak_iops=600e3).station().most
        192
        """
        from calibrate.fitting.device_station import station_of

        return station_of(self.device, visits, extrapolate)

    def queue(self, n: int, *, extrapolate: bool = False, structure: bool = False) -> Network:
        """``n`` requests that circle on the device: a closed queue, whose throughput is that of ``predict``.

        With ``structure`` it consists of the servers and the delay behind the curve. Raises DataError where the points
        do not determine these, naming the measurement that would.

        >>> from calibrate import from_datasheet
        >>> from qsim import solve
        >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
        >>> bool(abs(solve(drive.queue(32)).throughput / drive.predict([32]).throughput_per_s[0] - 1) < 1e-9)
        True
        """
        from calibrate.fitting.device_station import queue_of, structure_queue

        return structure_queue(self.device, n) if structure else queue_of(self.device, n, extrapolate)

    def draws(self, k: int, *, seed: int = 0) -> list[Fit]:
        """``k`` fits, each a possible device: rows of the table of weights, drawn with their weights."""
        from calibrate.fitting.device_station import draws_of

        return draws_of(self.device, k, seed)

    def simpy(self, env: Environment, *, seed: int = 0, extrapolate: bool = False) -> DeviceInSimPy:
        """The device in your own SimPy simulation: ``yield device.request()`` returns when it is served."""
        from calibrate.fitting.in_simpy import DeviceInSimPy

        return DeviceInSimPy(env, self.station(extrapolate=extrapolate), seed)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the table of weights, so that ``from_dict`` predicts the same bands."""
        left_out = ("load_type", "table", "points", "given", "collapse", "refuted")
        return {
            "schema": SCHEMA,
            **self.load_type.to_dict(),
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out},
            "parameters": {k: asdict(v) for k, v in self.parameters.items()},
            "knee": self.knee.to_dict(),
            "table": {**{name: getattr(self.table, name).tolist() for name in TABLE}, "scale": self.table.scale},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fit:
        """The inverse of ``to_dict``. Raises DataError for another schema or a missing or damaged field."""
        if values.get("schema") != SCHEMA:
            raise DataError(f"this is not a fit of schema {SCHEMA}; write one with: qsim fit DATA --out fit.json")
        from calibrate.fitting.fit_file import read_fit

        return read_fit(cls, values)

    def to_frame(self) -> pd.DataFrame:
        """A row for each parameter: ``parameter``, ``estimate``, ``low``, ``high``, their ``unit``, and sureness.

        The parameters have units of their own, so the unit is a column.
        """
        import pandas as pd

        return pd.DataFrame([{"parameter": name, **vars(e)} for name, e in self.parameters.items()])

    def plot(self) -> Figure:
        """The predicted curve with its band, and the points it was calibrated on."""
        from calibrate.report.plots import fit_figure

        return fit_figure(self)

    def __repr__(self) -> str:
        from calibrate.fitting.fit_answer import short_text

        return short_text(self)

    def __str__(self) -> str:
        from calibrate.fitting.fit_answer import long_text

        return long_text(self)


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
    if isinstance(sweep, Sequence) and sweep and all(isinstance(one, Sweep) for one in sweep):
        sweep = of_several_kinds(sweep)
    return _fit(sweep, use, series, model, level, peak_per_s)  # type: ignore[arg-type]


def _fit(
    sweep: Sweep,
    use: Sequence[float] | None,
    series: str | None,
    model: str | None,
    level: float,
    peak_per_s: float | None,
) -> Fit:
    points = points_of(sweep, series)
    if not LOWEST_LEVEL <= level < 1:
        wanted = f"must be from {LOWEST_LEVEL:g} to below 1, like 0.9"
        raise InvalidParameterError("level", f"{level:g} {wanted}", value=level)
    chosen = points.choose(use)
    if len(points) < points.load_type.least_points and (
        apart := [f for f in check_submission(sweep) if f.series is None]
    ):
        raise DataError(
            f"{points.series}: {counted(len(points), 'point')} cannot calibrate a model: "
            f"{apart[0].message.rstrip('.')}, and each way is a curve of its own; {apart[0].remedy.rstrip('.')}"
        )
    _check_count(chosen, model or "usual")
    made = fit_points(chosen, model_for(chosen, model), level=level, peak_per_s=peak_per_s)
    said = [
        s.provenance.details[ORIGIN_OF_KIND] for s in (sweep, *sweep.also) if ORIGIN_OF_KIND in s.provenance.details
    ]
    known = {ORIGIN_OF_KIND: "; ".join(said)} if said else {}
    count = len(points) + sum(map(len, points.also))
    made = replace(made, measured=count, law=chosen.closed.law, details={**made.details, **known})
    return judged(made, sweep)


def fit_points(
    points: Points, curve_model: CurveModel, *, level: float = LEVEL, peak_per_s: float | None = None
) -> Fit:
    """Calibrate ``curve_model`` on all of ``points``; ``fit`` chooses them first."""
    _check_count(points, curve_model.name)
    peak = _known_peak(points, peak_per_s)
    table = curve_model.weights(points, peak)
    return Fit.of(curve_model, points, table, level, [*_assumed(points, peak)], peak)


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
    known = [f for f in audit(sweep, fit.series) if matters(f)]
    return (*known, *doubts_of_its_points(fit))


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


def doubts_of_its_points(fit: Fit) -> tuple[Finding, ...]:
    """Findings against ``fit`` from its calibration points."""
    return missing_its_own_points(fit) if fit.used else ()


def missing_its_own_points(fit: Fit) -> tuple[Finding, ...]:
    """Findings where the curve is far from its calibration points: the model does not fit this device."""
    if not fit.is_far_off:
        return ()
    missed, response = fit.missed, isinstance(fit.load_type, ThroughputLoad)
    worst = int(missed.argmax())
    return (
        Finding(
            "misses-its-points",
            "warning",
            f"the model {fit.model} misses the {'response time' if response else 'throughput'} that it was calibrated "
            f"on by {100 * missed[worst]:.0f} % at {fit.load_type.place_of(fit.used[worst])}.",
            "what the model assumes is not true of this device, or the points are not of one device.",
            "see the other models: qsim compare DATA --report FILE.",
            fit.series,
            float(fit.used[worst]),
        ),
    )
