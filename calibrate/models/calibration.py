"""A calibrated curve model: the model by its name, its table of weights, and their predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from calibrate.inference.parameters import ASSUMED, LEVEL, ROUGH, Array, Estimate, IntArray, Mask, carried, quantity
from calibrate.inference.weights import (
    SPREAD,
    Known,
    Predictive,
    Quantity,
    Weights,
    expected,
    middle,
    normal_nodes,
    predictive,
    quantiles,
    widened,
)
from calibrate.models.closed_models import (
    AsymptoticBounds,
    ClosedModel,
    Declining,
    OnsetPNorm,
    PNorm,
    ScalabilityLaw,
    copies,
    is_past_its_peak,
)
from calibrate.models.curves import TIMES, CurveModel
from calibrate.models.plain_p_norm import PLAIN, SHARE, SHARED, plain_over, plain_p_norm
from calibrate.points import OpenFacts, Points
from measure.auditing.curve_shape import BUSY
from measure.errors import DataError
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Depth, Load, MemoryLoad, Outstanding, load_from_dict
from measure.units import counted, format_duration, format_rate
from qsim.errors import InvalidParameterError

ANY_LOAD = "p-norm with onset, any load"
"""The model of points that are seen through the chain of what is present."""

KINDS = ("queue_depth", "injected_delay", "bandwidth", "arrival_rate", "any")
"""The kinds of load that models are for; ``any``: of thinking users too."""


def models_of(kind: str) -> Iterator[CurveModel]:
    """The models of one of ``KINDS`` of load, the usual one first; a module is imported where its model is reached.

    >>> [model.name for model in models_of("arrival_rate")][:2]
    ['M/G/c', 'M/G/c, a queue each']
    """
    match kind:
        case "queue_depth":
            yield from (OnsetPNorm(), Declining(), PNorm(), AsymptoticBounds(), ScalabilityLaw())
            from calibrate.models.structure import ServersAndDelay

            yield ServersAndDelay()
        case "injected_delay":
            from calibrate.models.memory_models import DelayLaw

            yield DelayLaw()
        case "bandwidth":
            from calibrate.models.memory_models import MemoryCurve

            yield MemoryCurve()
        case "arrival_rate":
            from calibrate.models.open_models import MD1, MG1, MM1, MGc, MGcEach, SleepingQueue

            yield from (MGc, MGcEach, SleepingQueue(), MG1, MM1, MD1)
        case "any":
            from calibrate.models.through_chain import AnyLoad

            yield AnyLoad()


def is_open(load: Load) -> bool:
    """Whether a watched number of requests is that under arrivals, as far as is known."""
    return isinstance(load, Outstanding) and load.arrivals


def model_for(points: Points, name: str | None) -> CurveModel:
    """The model of that name, or the usual one; ValueError where it is for another kind of load."""
    if name is not None:
        return _named_for(points, name)
    if isinstance(points.load_type, MemoryLoad):
        return next(models_of(points.load_type.kind))
    if points.also or points.capacity_per_s is not None or points.load_type.thinking_s or is_open(points.load_type):
        return model_named(ANY_LOAD).under(points.load_type)
    if isinstance(points.load_type, ClosedLoad):
        declines = isinstance(points.load_type, CountedLoad) and is_past_its_peak(points.throughput_per_s)
        return Declining() if declines else OnsetPNorm()
    from calibrate.models.open_models import falls, usual_open

    of_service = isinstance(points.facts, OpenFacts) and points.facts.of_service
    if of_service and not falls(points):  # X(n) knows no sleep
        return model_named(ANY_LOAD).under(points.load_type)
    return usual_open(points)


def _named_for(points: Points, name: str) -> CurveModel:
    found = model_named(name).under(points.load_type)
    if name == ANY_LOAD and isinstance(points.load_type, ClosedLoad | ArrivalRate):
        return found
    if points.also:
        why = f"{name!r} takes one kind of load, and these points are of {1 + len(points.also)}"
        raise InvalidParameterError("model", why, f"take {ANY_LOAD!r}", value=name)
    if points.load_type.thinking_s:
        raise InvalidParameterError(
            "model", f"{name!r} takes {points.load_type.plural} for requests in flight, and these think", value=name
        )
    kind = next((kind for kind in KINDS if any(model.name == name for model in models_of(kind))), "queue_depth")
    if kind != points.load_type.kind:
        wanted = f"{kind.replace('_', ' ')}s"
        raise InvalidParameterError(
            "model",
            f"{name!r} needs a sweep over {wanted}",
            f"{points.series} varies the {points.load_type.name}",
            name,
        )
    return found


def model_named(name: str) -> CurveModel:
    """The device model of that name (``p-norm``, ``M/M/1``...). Raises ValueError listing the names."""
    known = []
    for model in (model for kind in KINDS for model in models_of(kind)):
        if model.name == name:
            return model
        known.append(model.name)
    one, times, factor = name.rpartition(TIMES)
    if times:
        return copies(model_named(one), factor)
    raise InvalidParameterError("model", f"{name!r} is unknown", f"there are: {'; '.join(known)}", value=name)


Observable = Literal["throughput", "response"]

USED = ("used", "used_throughput_per_s", "used_noise", "used_response_s", "used_response_noise")
"""The fields that hold the calibration points."""

TABLE = ("values", "misfit", "weight", "directions")
"""The columns of a table of weights in a file."""

PRESENT = "most requests present"
"""The key in a device's details of the highest mean number present, X R, that was measured."""

ALSO = "also calibrated on"
"""The key in a fit's details of points under other kinds of load: each load with ``points`` of load and throughput."""

PEAK, BANDWIDTH = "Xmax", "B"
"""The names of the peak throughput among the parameters of a closed or open model, and of a memory's."""

AMONG, BEYOND, HIGHEST = 32, np.geomspace(1.1, 32.0, 16), 3
"""Number of loads among the points, and multiples of the deepest one, whose highest so many are predicted."""

AXES = 4
"""Number of principal axes of the misfit that are drawn evenly."""


@dataclass(frozen=True, repr=False)
class Calibration:
    """A curve model with its table of weights, and the points that it was fitted to.

    ``used``, ``used_throughput_per_s`` and ``used_response_s`` are those points (empty for a data sheet),
    ``used_noise`` and ``used_response_noise`` their relative standard errors by repeats (0 where unknown).
    ``measured`` is the number of points of the whole curve (0: unknown). ``given`` are parameters that do not come from
    the table: of a fit on file, a data sheet, a what-if. ``known_peak_per_s`` is a peak throughput from another source
    (of a memory in cache lines a second). ``law`` is the law of latencies at depth 1 as plain data, where their
    histogram is known. ``between_runs`` is the relative standard deviation of a figure between runs. ``collapse`` is
    (load from which throughput falls, power of the fall) of a device drawn from the fit of a service.
    ``contradicted``: the audit of the curve has errors, so that its figures are doubtful; ``doubted``: why no figure is
    sure, in words, as where the audit has warnings about the runs; ``refuted``: what was held out lies outside its
    bands more often than by chance.
    """

    model: str
    assumption: str
    load_type: Load
    series: str
    used: tuple[float, ...]
    used_throughput_per_s: tuple[float, ...]
    used_noise: tuple[float, ...]
    used_response_s: tuple[float, ...]
    used_response_noise: tuple[float, ...]
    table: Weights
    level: float = LEVEL
    notes: tuple[str, ...] = ()
    source: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Estimate] | None = None
    measured: int = 0
    points: Points | None = field(default=None, repr=False, compare=False)
    known_peak_per_s: float | None = None
    law: Mapping[str, Any] | None = None
    between_runs: float = 0.0
    collapse: tuple[float, float] | None = None
    contradicted: bool = False
    refuted: bool = False
    doubted: str = ""

    @property
    def shares(self) -> tuple[float, float]:
        """The shares of draws below the ends of an interval."""
        return 0.5 * (1 - self.level), 0.5 * (1 + self.level)

    @property
    def block_bytes(self) -> float | None:
        """The block size of the points, bytes; None where unknown."""
        if self.points is not None:
            return self.points.closed.block_bytes
        known: float | None = self.details.get("calibrated_on", {}).get("block_bytes")
        return known

    @classmethod
    def of(
        cls,
        curve_model: CurveModel,
        points: Points,
        table: Weights,
        level: float,
        notes: Sequence[str] = (),
        peak: float | None = None,
    ) -> Self:
        """The fit of a model to points, from their table of weights."""
        noise = points.noise()
        columns = (points.load, points.throughput_per_s, noise[0], points.response_time_s, noise[1])
        used: Any = {name: tuple(column.tolist()) for name, column in zip(USED, columns, strict=True)}
        pairs = [(p, np.column_stack([p.load, p.throughput_per_s]).tolist()) for p in points.also]
        also = [{**p.load_type.to_dict(), "points": of_kind} for p, of_kind in pairs]
        plain = plain_p_norm(points) if peak is None and curve_model.plain is not None else None
        return cls(
            model=curve_model.name,
            assumption=curve_model.assumption + (SHARED if plain else ""),
            load_type=points.load_type,
            series=points.series,
            table=table,
            level=level,
            notes=(*points.notes, *notes),
            source=points.source,
            points=points,
            between_runs=points.between_runs,
            known_peak_per_s=peak,
            details={**({ALSO: also} if also else {}), **({PLAIN: plain} if plain else {})},
            **used,
        )

    @cached_property
    def curve_model(self) -> CurveModel:
        """The model of the curve."""
        return model_named(self.model).under(self.load_type)

    @property
    def closed_model(self) -> ClosedModel:
        """The model of a closed load. DataError for any other."""
        if not isinstance(self.curve_model, ClosedModel):
            raise DataError(
                f"{self.series or 'the fit'} is of the model {self.model}; fit queue depths, clients or threads: "
                "qsim fit DATA --out fit.json"
            )
        return self.curve_model

    @cached_property
    def figures(self) -> Mapping[str, Estimate]:
        """What the model reports of the table, or what was given in its place, by name, with intervals."""
        if self.given is not None:
            return self.given
        columns = (np.array(c) for c in (self.used, self.used_throughput_per_s, self.used_response_s))
        priors = {p.name: p.prior_log_sd for p in self.curve_model.parameters(*columns) if p.prior_log_sd is not None}
        found = estimates(self.curve_model, self.table, priors, self.level, self.between_runs)
        if not isinstance(self.curve_model, ClosedModel):
            return found
        return {**found, **{name: e for name, e in self._read_off(found).items() if name in found}}

    @cached_property
    def asymptotes(self) -> tuple[Estimate, Estimate]:
        """The idle latency and the peak of a closed model, as printed."""
        both = self._read_off(self.figures)
        return both["R1"], both[PEAK]

    @property
    def peak(self) -> Estimate | None:
        """The peak throughput as printed (of a memory in bytes/s); None for a model that has none."""
        if isinstance(self.curve_model, ClosedModel):
            return self.asymptotes[1]
        return self.figures.get(BANDWIDTH, self.figures.get(PEAK))

    def _read_off(self, found: Mapping[str, Estimate]) -> dict[str, Estimate]:
        """The idle latency and the peak of a closed model: of points under closed loads, those of the predicted curve.

        The curve follows what the points say beyond the model. Where all that is predicted lies below the peak that the
        model's curve tends to, the peak is that. A device drawn from a fit has its row's own, so that draws are as
        uncertain as the interval.
        """
        model = self.closed_model
        idle = found.get("R1") or self._estimate("s", model.lone)
        peak = found.get(PEAK) or self._estimate("1/s", model.peak)
        if self.given is not None or not self.used or self.is_seen_through_chain or len(self.table) == 1:
            return {"R1": idle, PEAK: peak}
        served, highest = self.used_throughput_per_s, peak.estimate or 0.0
        lone, *others = self._of_curve
        if self.known_peak_per_s is None:
            highest = max(highest, lone, *others)
        seen = [] if model.declines else [max(served)]
        return {"R1": idle.moved_to(1 / lone), PEAK: peak.moved_to(highest, *seen)}

    @cached_property
    def _of_curve(self) -> list[float]:
        """The predicted throughput of a lone request, then the highest ones among the points and beyond them."""
        deepest = max(self.used)
        among = np.unique([*self.used, *np.geomspace(min(self.used), deepest, AMONG)])
        best = (loads[np.argsort(self.expected(loads))[-HIGHEST:]] for loads in (among, deepest * BEYOND))
        return [float(x) for x in self.measurements(np.concatenate([[1.0], *best])).quantiles((0.5,))[0]]

    def _estimate(self, unit: str, quantity_of: Quantity) -> Estimate:
        estimate, low, high = middle(self.table, quantity_of, self.level)
        low, high = widened(low, estimate, high, self.between_runs, self.level)
        return Estimate(estimate, low, high, high < ROUGH * low, unit)

    @property
    def crossing(self) -> float | None:
        """N* = (R1 + Z) Xpeak of the printed figures of a closed load; None for another."""
        if not (isinstance(self.curve_model, ClosedModel) and isinstance(self.load_type, ClosedLoad)):
            return None
        idle, peak = self.asymptotes
        return max(((idle.estimate or 0.0) + self.load_type.thinking_s) * (peak.estimate or 0.0), 1.0)

    @property
    def device(self) -> Self:
        """The fit over requests present, which predicts X(n): of points under thinking users or arrivals, their device.

        Such a device passes through no point, as a load of its own kind was not measured.
        """
        if not self.is_seen_through_chain:
            return self
        none: Any = dict.fromkeys(USED, ())
        means = (x * r for x, r in zip(self.used_throughput_per_s, self.used_response_s, strict=True))
        details = {**self.details, PRESENT: max(means, default=1.0)}
        return replace(self, load_type=Depth(), points=None, given=None, details=details, **none)

    @property
    def is_seen_through_chain(self) -> bool:
        """Whether the points vary another load than the requests present: users who think, or arrivals."""
        load = self.load_type
        chained = isinstance(load, ArrivalRate) or load.thinking_s > 0 or is_open(load)
        return self.model == ANY_LOAD and chained

    @property
    def never_waits(self) -> str:
        """What to measure where requests hardly wait at any rate of arrivals, so that none tells the peak; else empty.

        Even gaps at a constant service are such up to the peak itself.
        """
        if not isinstance(self.load_type, ArrivalRate) or not self.used or self.known_peak_per_s is not None:
            return ""
        least, most = min(self.used_response_s), max(self.used_response_s)
        if most >= BUSY * least:
            return ""
        return (
            f"requests hardly wait at these rates ({format_duration(least)} to {format_duration(most)} up to "
            f"{format_rate(max(self.used))}), which hold no information on the peak: measure higher rates, until "
            "responses rise, or a closed test, as 1, 8 and 64 connections"
        )

    @property
    def load_name(self) -> str:
        """The name of the load, with its unit."""
        return self.load_type.named

    def measurements(self, loads: Array, what: Observable = "throughput") -> Predictive:
        """The predictive distribution of new measurements at ``loads`` (m,), in logarithms."""
        known = self._known(what)
        found = predictive(known, loads)
        plain = self._plain_over(known, loads, what, found.weight @ found.mean)
        return found if plain is None else found.shared_with(plain, SHARE)

    def expected(self, loads: Array, what: Observable = "throughput") -> Array:
        """The geometric mean (m,) of new measurements at ``loads`` (m,)."""
        known = self._known(what)
        found = expected(known, loads)
        plain = self._plain_over(known, loads, what, found)
        return np.asarray(np.exp(found if plain is None else found + SHARE * plain))

    def drawn(self, loads: Array, what: Observable = "throughput", count: int = SPREAD) -> tuple[Array, IntArray]:
        """Logarithms (count, m) of the observable of possible devices at ``loads`` (m,), and each device's row.

        A device is a row with a draw of its misfit, which is correlated along the loads; the noise of a single
        measurement is left out. The devices are evenly spread over the table, so that their quantiles are the table's.
        """
        known = self.measurements(loads, what)
        z = normal_nodes(count, 1 + AXES + known.slopes.shape[2])
        rows = self.table.rows(count)[np.argsort(np.argsort(z[:, 0]))]
        process, sizes = self.curve_model.process, self.table.misfit[rows]
        each = np.unique(sizes)
        noise = np.array(self.used_noise if what == "throughput" else self.used_response_noise)
        missed = np.empty((count, len(loads)))
        _, left = carried(process, np.array(self.used), noise, each, loads)
        for size, covariance in zip(each, left, strict=True):
            smooth = covariance - process.own * size**2 * np.eye(len(loads))
            variance, vectors = np.linalg.eigh(smooth)
            axes = vectors[:, -AXES:] * np.sqrt(np.maximum(variance[-AXES:], 0.0))
            missed[sizes == size] = z[sizes == size, 1 : 1 + axes.shape[1]] @ axes.T
        along = np.einsum("kmr,kr->km", known.slopes[rows], z[:, 1 + AXES :])
        return known.mean[rows] + along + missed, rows

    def _plain_over(self, known: Known, loads: Array, what: Observable, middle: Array) -> Array | None:
        """``plain_over`` of the plain model's most probable values, where it shares the prediction.

        It does so for throughputs, and not of drawn devices.
        """
        plain, values = self.curve_model.plain, self.details.get(PLAIN)
        if plain is None or values is None or len(self.table) == 1 or what != "throughput":
            return None
        return plain_over(plain, np.array(values), known, loads, middle)

    def _known(self, what: Observable) -> Known:
        """The table and the calibration points' ``what``."""
        first = what == "throughput"
        seen, noise = (
            (self.used_throughput_per_s, self.used_noise) if first else (self.used_response_s, self.used_response_noise)
        )
        return Known(
            self.table,
            lambda values, at: self.curve_model.curve(values, at)[0 if first else 1],
            self.curve_model.process,
            np.array(self.used),
            np.array(noise),
            np.array(seen),
        )

    @property
    def also(self) -> list[tuple[Load, Array]]:
        """Other kinds of load that it was calibrated on, each with the loads and throughputs (m, 2)."""
        return [(load_from_dict(one), np.array(one["points"])) for one in self.details.get(ALSO, ())]

    def was_used(self, points: Points) -> Mask:
        """True (m,) for ``points`` that this fit was calibrated on: the same load and the same throughput."""
        own = np.column_stack([self.used, self.used_throughput_per_s])
        pairs = [
            pair
            for load, seen in ((self.load_type, own), *self.also)
            if load.kind == points.load_type.kind and load.thinking_s == points.load_type.thinking_s
            for pair in seen
        ]
        measured = zip(points.load, points.throughput_per_s, strict=True)
        return np.array([any(np.isclose(n, u) and np.isclose(x, v) for u, v in pairs) for n, x in measured], dtype=bool)

    @property
    def basis(self) -> str:
        """The calibration points in words: ``all 8 points``, ``depth 1 (1 of 8 points)``, no measurement."""
        if not self.used:
            return "no measurement"
        count = len(self.used) + sum(len(seen) for _, seen in self.also)
        if self.measured == count > 1:
            return f"all {counted(self.measured, 'point')}{f', {self.listed}' if self.also else ''}"
        part = f" ({count} of {counted(self.measured, 'point')})" if self.measured > count else ""
        return f"{self.listed}{part}"

    @property
    def listed(self) -> str:
        """The calibration points of every kind of load: ``depths 1 and 8 and rates 30.0 /s and 80.0 /s``."""
        others = (load.listed(seen[:, 0]) for load, seen in self.also)
        return " and ".join([self.load_type.listed(self.used), *others])


def estimates(
    model: CurveModel, table: Weights, prior_log_sd: Mapping[str, float], level: float, between_runs: float = 0.0
) -> dict[str, Estimate]:
    """The parameters that ``model`` reports; ``prior_log_sd`` are the widths of informative priors.

    Times and rates also vary by the relative standard deviation ``between_runs``; the shape of a curve does not.
    """
    made: dict[str, Estimate] = {}
    mean, deviation = table.moments(lambda rows: np.stack([v for _, v in model.report(rows).values()], axis=1))
    log_sd = np.sqrt(table.weight @ ((mean - table.weight @ mean) ** 2 + deviation**2))
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level), 0.05, 0.95)
    with np.errstate(over="ignore"):  # infinite where a float cannot hold it
        found = np.exp(quantiles(mean, deviation, table.weight, shares)).T.tolist()
    reports = model.report(table.values[:1]).items()
    for (name, (unit, _)), of_one, width in zip(reports, found, log_sd, strict=True):
        estimate, low, high, least, most = of_one
        if name == "c":  # servers are whole, although the curve that is fitted lets them be any number
            low, high = float(np.floor(low)), float(np.ceil(high))
        narrow, open_to = most / least <= ROUGH, "fits these points"
        if unit:
            low, high = widened(low, estimate, high, between_runs, level)
            narrow, open_to = narrow and high / low < ROUGH, "may come in another run" if narrow else open_to
        prior, note = prior_log_sd.get(name), ""
        if prior is not None and width > ASSUMED * prior:
            narrow = False
            note = f"mostly its prior (a factor of {np.exp(prior):.2g} either way), not these points"
        elif not narrow:
            note = f"anything from {quantity(low, unit)} to {quantity(high, unit)} {open_to}"
        made[name] = Estimate(estimate, low, high, narrow, unit, note)
    return made
