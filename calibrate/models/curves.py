"""Device models as curves, and those of closed loads: N requests circle, N = X R, and two asymptotes bound the curve.

A model is a small object: its parameters with their priors, its curve, and its knee. Everything is vectorised over
rows of parameters: ``curve(values (n, d), loads (m,))`` gives throughput and response, each (n, m). ``weights`` gives
the posterior of the parameters as a table (:mod:`calibrate.inference`).

Most devices follow the p-norm with onset. Thread pools, databases and many drives lose throughput at loads far beyond
their knee. Smaller loads do not predict where, so a decline is fitted only to services of which two measured points
show it; on drives a fitted decline misses more points than none does, and the misfit follows measured points past the
peak. Its terms are those of Gunther's Universal Scalability Law (Guerrilla Capacity Planning, 2007),
X = g N / (1 + a (N - 1) + b N (N - 1)): contention a, the share of work that waits its turn, and coherency b, the cost
of every pair of requests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrate.inference.parameters import (
    ASSUMED,
    ROUGH,
    Array,
    Estimate,
    MisfitPrior,
    MisfitProcess,
    Observed,
    Parameter,
    quantity,
)
from calibrate.inference.tables import EVERYWHERE, Scale, Stratum, table_of
from calibrate.inference.weights import Weights, quantiles, widened
from calibrate.points import Points
from measure.loads import Load
from measure.repeats import first_highest

TOLERANCE = 0.1
"""Relative standard deviation of a peak (or a data sheet's figure) from what a device reaches."""

TIMES = " times "
"""Separates the name of a model from the number of copies, as in ``p-norm times 2``."""


@dataclass(frozen=True)
class KneePoint:
    """A model's knee for each row of parameters: load, throughput, response, each (n,). NaN: not reached."""

    load: Array
    throughput: Array
    response: Array


class CurveModel(ABC):
    """The interface of every device model."""

    name: str
    assumption: str
    knee_definition: str
    misfit: MisfitPrior
    process: MisfitProcess
    is_formula = True
    """Whether a curve is a formula, not a loop over populations."""
    declines = False
    """Whether throughput may fall past the peak."""
    plain: CurveModel | None = None
    """The model that shares the predicted throughput where a fit has its most probable values."""

    @abstractmethod
    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors wide around the range suggested by these points (m,)."""

    @abstractmethod
    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        """The reported parameters, {name: (unit, values (n,))}, from the fitted ones (n, d)."""

    @abstractmethod
    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Throughput and response (n, m) at ``loads`` (m,) for parameter values (n, d)."""

    @abstractmethod
    def knee(self, values: Array) -> KneePoint:
        """The knee for each row of parameter values (n, d)."""

    def under(self, load: Load) -> CurveModel:
        """The model over another kind of ``load``, where it has one for each."""
        return self

    def knee_load(self, values: Array) -> Array:
        """The load (n,) of the knee alone, which some models compute faster."""
        return self.knee(values).load

    @abstractmethod
    def weights(self, points: Points, peak: float | None = None) -> Weights:
        """The table of weights given ``points``, and a ``peak`` from another source where known."""


def estimates(
    model: CurveModel, table: Weights, prior_log_sd: Mapping[str, float], level: float, between_runs: float = 0.0
) -> dict[str, Estimate]:
    """The parameters that ``model`` reports; ``prior_log_sd`` are the widths of informative priors.

    Times and rates also vary by ``between_runs``, relative; the shape of a curve does not.
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
            note = "mostly its prior, not these points"
        elif not narrow:
            note = f"anything from {quantity(low, unit)} to {quantity(high, unit)} {open_to}"
        made[name] = Estimate(estimate, low, high, narrow, unit, note)
    return made


# --- closed loads -----------------------------------------------------------------------------------------------------

SHARPNESS_MEDIAN, SHARPNESS_LOG_SD = 2.6, 0.75
"""The knee's sharpness p on public NVMe tables (a virtual disk is near 1, a SATA link at 6 and more)."""

FINITE = 0.8
"""A quarter of the prior of p is the bound itself; the median of the finite rest is 0.8 times 2.6, and that of the
whole 2.9. Chosen on the sweeps of docs/data, where 0.72 (2.6 for the whole) has larger errors from two depths."""

SHARP = 1e4
"""The sharpness that represents the bound itself: one queue."""

MOST_SHARPNESS = 60.0
"""A sharper knee is reported as this: no measurement distinguishes it from the bound."""

CROSSING_MEDIAN, CROSSING_LOG_SD = 4.0, 2.0
"""The prior of N* with one point: 2 to 9 on SATA and RAID, 1 on hard disks, 66 on an NVMe drive; below 1 it is 1. From
two points on the prior is centred on the crossing of their asymptotes, and so wide that it has no influence."""

ONSET_LOG_SD = 0.4
"""Standard deviation of ln(R1 / Rbusy) on devices with an onset."""

ONSET_POWER = 2.0
"""The onset fades as N^-2: a quarter of it is left at depth 2 and a sixteenth at depth 4."""

CLOSED_MISFIT, CLOSED_PROCESS = MisfitPrior(median=0.06, log_sd=1.0), MisfitProcess(length=1.0, own=1 / 6)
"""The misfit of smooth curves."""

DECLINE_FROM = 512
"""From this depth on a model without a decline is not reliable."""

SHOWN = 0.93
"""A point past the peak at this share of the best throughput or below shows a decline."""

FALLEN = 2
"""Number of such points of a service to which a decline is fitted."""

TIMES_DEEPER = 3.0
"""The deepest point shows one this many times deeper than the best: drives dip before their knee and recover."""

DECLINE_LOG_SD = 1.5
"""Prior standard deviation of the logarithm of the decline's depth, around the deepest one measured."""

CONTENTION, COHERENCY = (
    Parameter("contention", "", 1e-6, 1.0, 0.1, 2.0),
    Parameter("coherency", "", 1e-12, 1.0, 1e-4, 3.0),
)


def log_p_norm(below: Array, sharpness: Array | float) -> Array:
    """ln of [(a/b)^-p + 1]^(-1/p), where ``below`` is ln(a/b): the distance of the curve below the asymptote b.

    >>> log_p_norm(np.array([0.0]), 1.0).round(3).tolist()
    [-0.693]
    """
    apart = sharpness * below
    bend = np.maximum(-np.abs(apart), -40.0)  # powers that are e^40 apart add up to the greater one
    np.log1p(np.exp(bend, out=bend), out=bend)
    return np.asarray((np.minimum(apart, 0.0, out=apart) - bend) / sharpness)


class ClosedModel(CurveModel):
    """The two asymptotes; the sub-class defines how they are joined.

    Asymptotic bounds: Muntz and Wong 1974; Denning and Buzen 1978. R1 (seconds) is the response time of a lone
    request, Xmax (1/second) the peak throughput. They are fitted as the crossing N* = R1 Xmax and Xmax, because
    N* >= 1 is the constraint: c servers of service time S have Xmax = c / S, and a lone request takes at least S.
    Throughput is proportional to Xmax, which is therefore integrated out exactly.
    """

    knee_definition = "N* = R1 Xpeak"
    misfit = CLOSED_MISFIT
    process = CLOSED_PROCESS
    strata: Sequence[Stratum] = EVERYWHERE
    scale = "Xmax"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        crossing = CROSSING_MEDIAN
        if len(loads) > 1:
            crossing = max(float((loads / throughput).min() * throughput.max()), 1.0)
        most = max(float(throughput.max()), 1e-300)
        return (
            Parameter("N*", "", 1.0, 1e9, crossing, CROSSING_LOG_SD),
            Parameter("Xmax", "1/s", most * 1e-6, most * 1e9),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {"R1": ("s", self.lone(values)), "Xmax": ("1/s", self.peak(values)), "N*": ("", self.knee_load(values))}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        throughput = self.throughput(values, loads)
        return throughput, loads / throughput

    @abstractmethod
    def throughput(self, values: Array, loads: Array) -> Array:
        """X (n, m) at ``loads`` (m,)."""

    def log_throughput(self, values: Array, loads: Array) -> Array:
        """ln X (n, m) at ``loads`` (m,)."""
        return np.asarray(np.log(self.throughput(values, loads)))

    def peak(self, values: Array) -> Array:
        """The highest throughput (n,) at any depth."""
        return np.asarray(values[:, 1])

    def lone(self, values: Array) -> Array:
        """R1 (n,): the response time of a lone request."""
        return np.asarray(1 / self.throughput(values, np.ones(1))[:, 0])

    def knee_load(self, values: Array) -> Array:
        return np.asarray(np.maximum(self.lone(values) * self.peak(values), 1.0))

    def knee(self, values: Array) -> KneePoint:
        load = self.knee_load(values)
        pairs = zip(values[:, None], load[:, None], strict=True)  # a matrix of all rows at all loads would be large
        at_knee = np.array([self.throughput(row, at)[0, 0] for row, at in pairs])
        return KneePoint(load, at_knee, load / at_knee)

    def parameters_of(self, points: Points) -> tuple[Parameter, ...]:
        """The parameters with priors from all known facts about ``points``."""
        return self.parameters(points.load, points.throughput_per_s, points.response_time_s)

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        first, *others = self.parameters_of(points)
        scale = Scale(self.scale)
        if peak is not None and first.name == "N*":
            scale = Scale(self.scale, float(np.log(peak)), TOLERANCE)
            known = max(float((points.load / points.throughput_per_s).min() * peak), 1.0)
            first = replace(first, prior_median=known)
        return table_of(
            (first, *others),
            self.strata,
            lambda values: self.log_throughput(values, points.load),
            Observed(points.load, np.log(points.throughput_per_s), points.noise()[0]),
            self.process,
            self.misfit,
            scale,
        )


class PNorm(ClosedModel):
    """X = [(N/R1)^-p + Xmax^-p]^(-1/p): both asymptotes, joined with sharpness p.

    p = infinity is the bound itself, one queue, and p = 1 random routing to many exponential servers.
    """

    name = "p-norm"
    assumption = "both asymptotes hold; the bend between them has one sharpness p"
    strata: Sequence[Stratum] = (Stratum(0.25, {"p": SHARP}), Stratum(0.75))

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        sharpness = Parameter("p", "", 0.3, MOST_SHARPNESS, FINITE * SHARPNESS_MEDIAN, SHARPNESS_LOG_SD)
        return (*super().parameters(loads, throughput, response), sharpness)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "p": ("", np.minimum(values[:, 2], MOST_SHARPNESS))}

    def throughput(self, values: Array, loads: Array) -> Array:
        return np.asarray(np.exp(self.log_throughput(values, loads)))

    def log_throughput(self, values: Array, loads: Array) -> Array:
        return np.asarray(log_p_norm(self._below(values, loads), values[:, 2, None]) + np.log(values[:, 1, None]))

    def _below(self, values: Array, loads: Array) -> Array:
        """ln of the first asymptote over the second."""
        return np.asarray(np.log(loads) - np.log(values[:, 0, None]))


CV_AT, CV_MEDIAN, CV_POWER = 0.24, 1.82, -0.37
TAIL_AT, TAIL_MEDIAN, TAIL_POWER = 0.47, 1.97, -0.23
"""The fall of p's median with the spread of latencies, fitted to 78 sweeps of 14 families of drives."""

NORMAL_P99 = 2.33
"""The p99 of a normal distribution in standard deviations above its mean."""

SPREADS = (0.01, 3.0)


def sharpness_by_spread(cv: float, p99: float) -> float | None:
    """The prior median of p from the latencies' ``cv``, or from their ``p99`` over the mean.

    One server gives nearly equal latencies and a sharp knee, parallel queues give unequal ones and a soft knee. None
    where both are unknown (NaN).

    >>> round(sharpness_by_spread(0.24, float("nan")), 2), round(sharpness_by_spread(float("nan"), 2.1), 2)
    (1.82, 1.97)
    """
    if np.isfinite(cv):
        return float(CV_MEDIAN * (np.clip(cv, *SPREADS) / CV_AT) ** CV_POWER)
    if np.isfinite(p99):
        return float(TAIL_MEDIAN * (np.clip((p99 - 1) / NORMAL_P99, *SPREADS) / TAIL_AT) ** TAIL_POWER)
    return None


ONSET = 3
"""The column of the onset."""


def sharpness_told_by(points: Points) -> float | None:
    """The median of p's prior by the spread of latencies at the deepest point; None where no spread is known."""
    known = points.closed.latency_cv, points.closed.latency_p99
    return sharpness_by_spread(*(np.nan if v is None else float(v[-1]) for v in known))


class OnsetPNorm(PNorm):
    """The p-norm with a load-dependent idle latency r(N): N / r(N) instead of N / R1.

    r(N) = Rbusy (R1 / Rbusy)^(N^-2): R1 for a lone request, Rbusy from a few on. The ratio R1 / Rbusy is the onset:
    below 1 where the device waits for more requests before it answers (coalesced interrupts, batches), above 1 where
    a lone request finds it asleep (power states). Half of the prior has no onset, to favour the simple model; the
    fitted crossing is Rbusy Xmax.
    """

    name = "p-norm with onset"
    plain: CurveModel | None = PNorm()
    assumption = "both asymptotes hold, from a few requests on; a lone one may take longer or less than among others"
    strata: Sequence[Stratum] = (
        Stratum(0.2, {"p": SHARP, "onset": 1.0}),
        Stratum(0.05, {"p": SHARP}),
        Stratum(0.3, {"onset": 1.0}),
        Stratum(0.45),
    )

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        onset = Parameter("onset", "", 0.05, 20.0, 1.0, ONSET_LOG_SD)
        return (*super().parameters(loads, throughput, response), onset)

    def parameters_of(self, points: Points) -> tuple[Parameter, ...]:
        """The parameters with a prior of sharpness from the spread of latencies at the deepest point."""
        known = super().parameters_of(points)
        sharpness = sharpness_told_by(points)
        if sharpness is None:
            return known
        return tuple(replace(p, prior_median=sharpness) if p.name == "p" else p for p in known)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        busy = values[:, 0] / values[:, 1]
        return {**super().report(values), "Rbusy": ("s", busy), "onset": ("", values[:, 3])}

    def _below(self, values: Array, loads: Array) -> Array:
        return np.asarray(super()._below(values, loads) - np.log(values[:, 3, None]) * loads**-ONSET_POWER)


class AsymptoticBounds(ClosedModel):
    """X = min(N / R1, Xmax): the optimistic bound, a knee without a bend."""

    name = "asymptotic bounds"
    assumption = "no request ever waits before the peak is reached"

    def throughput(self, values: Array, loads: Array) -> Array:
        return np.asarray(values[:, 1, None] * np.minimum(loads / values[:, 0, None], 1.0))


class Declining(OnsetPNorm):
    """The p-norm of three asymptotes: N / R1, Xmax, and Xmax Nfall / N, along which throughput falls.

    With p = 1 it is the Universal Scalability Law, whose contention is 1 / N* and whose coherency is 1 / (N* Nfall).
    The peak is where the first and the third asymptote meet, at sqrt(N* Nfall).
    """

    name = "p-norm with onset and decline"
    assumption = "as the p-norm with onset, and every pair of requests in flight has a cost, so that throughput falls"
    declines = True
    plain = None
    strata = (
        Stratum(0.1, {"p": SHARP, "onset": 1.0}),
        Stratum(0.2, {"p": 1.0, "onset": 1.0}),
        Stratum(0.4, {"onset": 1.0}),
        Stratum(0.3),
    )

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        deepest = float(loads.max())
        falls = Parameter("Nfall", "", 1.0, 1e12, deepest, DECLINE_LOG_SD)
        return (*super().parameters(loads, throughput, response), falls)

    def parameters_of(self, points: Points) -> tuple[Parameter, ...]:
        """The parameters with the general prior of sharpness: past the peak the spread of latencies is no evidence."""
        return ClosedModel.parameters_of(self, points)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        coherency = 1 / (values[:, 0] * values[:, 4])
        return {**super().report(values), "contention": ("", 1 / values[:, 0]), "coherency": ("", coherency)}

    def peak(self, values: Array) -> Array:
        crossing, limit, p, _, falls = values.T
        most = np.logaddexp(0.0, np.log(2.0) + 0.5 * p * np.log(crossing / falls))
        return np.asarray(limit * np.exp(-most / p))

    def log_throughput(self, values: Array, loads: Array) -> Array:
        limit, p, falls = (values[:, i, None] for i in (1, 2, 4))
        rises, fall = -p * self._below(values, loads), p * (np.log(loads) - np.log(falls))
        return np.asarray(np.log(limit) - np.logaddexp(np.logaddexp(0.0, rises), fall) / p)


class ScalabilityLaw(ClosedModel):
    """Gunther's Universal Scalability Law by itself, for comparison. Its knee is R1 times its peak."""

    name = "Universal Scalability Law"
    assumption = "contention in proportion to the requests in flight, and a cost for every pair of them"
    strata = (Stratum(0.5, {"coherency": 0.0}), Stratum(0.5))
    scale = "g"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        alone = float((throughput / loads).max())
        return Parameter("g", "1/s", alone / 1e6, alone * 1e6), CONTENTION, COHERENCY

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {
            "R1": ("s", 1 / values[:, 0]),
            "N*": ("", self.knee_load(values)),
            "contention": ("", values[:, 1]),
            "coherency": ("", np.maximum(values[:, 2], COHERENCY.low)),
        }

    def peak(self, values: Array) -> Array:
        alone, contention, coherency = values.T
        best = np.sqrt(np.maximum(1 - contention, 1e-9) / np.maximum(coherency, 1e-18)).clip(min=1.0)
        return _scalable(alone, contention, coherency, best)

    def throughput(self, values: Array, loads: Array) -> Array:
        alone, contention, coherency = (values[:, i, None] for i in range(3))
        return _scalable(alone, contention, coherency, loads)


def _scalable(alone: Array, contention: Array, coherency: Array, loads: Array) -> Array:
    return np.asarray(alone * (loads / (1 + (contention + coherency * loads) * (loads - 1))))


def shows_decline(loads: Array, throughput: Array) -> bool:
    """Whether the deepest of these points (m,) lies past a peak; False for two points, which have no peak between them.

    >>> shows_decline(np.array([1.0, 8, 64]), np.array([1.0, 5, 3]))
    True
    >>> shows_decline(np.array([1.0, 2]), np.array([3.0, 2]))
    False
    """
    best = first_highest(throughput)
    if len(loads) < 3:
        return False
    return bool(throughput[-1] <= SHOWN * throughput[best] and loads[-1] >= TIMES_DEEPER * loads[best])


def is_past_its_peak(throughput: Array) -> bool:
    """Whether so many points (m,), ascending in load, lie past the highest and below it that a service declines.

    >>> is_past_its_peak(np.array([1.0, 5, 4, 3])), is_past_its_peak(np.array([1.0, 5, 4.8, 3]))
    (True, False)
    """
    best = first_highest(throughput)
    return int((throughput[best + 1 :] <= SHOWN * throughput[best]).sum()) >= FALLEN


@dataclass(frozen=True)
class SharedLoad(MisfitProcess):
    """The misfit of one of ``factor`` copies, which depends on its share of the load."""

    factor: float = 1.0

    def place(self, loads: Array) -> Array:
        return np.asarray(np.log(np.maximum(loads / self.factor, 1.0) + self.pivot))


class Copies(ClosedModel):
    """``factor`` copies of a device that share the load evenly; a lone request takes as long as on one.

    Each copy has 1 / factor of the load; below one request its throughput is proportional to the load.
    """

    def __init__(self, base: ClosedModel, factor: float) -> None:
        self.base = base
        self.factor = factor
        self.name = f"{base.name}{TIMES}{factor:.12g}"
        self.assumption = f"{base.assumption}; {factor:g} times as many of it, with the load spread evenly"
        self.process = SharedLoad(base.process.length, base.process.own, base.process.pivot, factor)
        self.misfit = base.misfit
        self.declines, self.is_formula = base.declines, base.is_formula
        self.plain = Copies(base.plain, factor) if isinstance(base.plain, ClosedModel) else None

    def parameters(self, loads: Array, throughput: Array, response: Array) -> Sequence[Parameter]:  # type: ignore[override]
        return self.base.parameters(loads, throughput, response)

    def throughput(self, values: Array, loads: Array) -> Array:
        each = loads / self.factor
        return np.asarray(self.factor * self.base.throughput(values, np.maximum(each, 1.0)) * np.minimum(each, 1.0))

    def peak(self, values: Array) -> Array:
        return self.factor * self.base.peak(values)
