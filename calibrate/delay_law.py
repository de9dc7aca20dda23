"""The memory delay law: injected delay is think time.

Loader threads keep N cache lines in flight and wait d between bursts; a probe chases pointers, one line at a time:

    X_l = N / ((Z0 + kappa d)^q + R^q)^(1/q)      the loaders, a closed population with think time
    X_p = 1 / R                                   the probe, a population of one without think time
    X_l + X_p = rho B                             both load the same memory of peak B
    R = L0 + a rho / (1 - rho)                    an open queue's latency at utilization rho

so that one delay d fixes both axes, throughput and latency. Parameters: N (lines in flight), Z0 (seconds between
bursts without delay), kappa (seconds per unit of d), q (overlap), L0 (idle latency), a (queueing time scale), B (peak,
lines/s). With q = 1 delay and access follow one another; a processor that waits while its accesses are under way
overlaps the two, and as q grows the longer one alone counts. Over published curves q is near 1.3.

At most loads the points pin down kappa / N, L0 and the peak; B and a separately only close to saturation, and q only by
a point near the bend. These have stated priors, and a parameter that the points leave open is reported as such. What
the law misses goes together at neighbouring delays (:mod:`calibrate.inference.misfit`), in throughput and in latency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calibrate.curve_models import CurveModel, KneePoint, Peak
from calibrate.inference.linearised import Measured, linearised
from calibrate.inference.misfit import MisfitProcess
from calibrate.inference.parameters import Array, MisfitPrior, Parameter
from calibrate.inference.weights import Weights

if TYPE_CHECKING:
    from calibrate.points import Points

DEEPEST_UTILIZATION = 0.87
"""A loader without injected delay drives a memory to about this share of the peak B of the law, before any data."""

OVERLAP_MEDIAN, OVERLAP_LOG_SD = 1.3, 0.3
"""How far loaders wait and access at once: the middle of published curves, and two thirds of them."""

NEARLY_IDLE_LOG_SD = 0.1
"""The least loaded point takes about the idle latency; single points of a quiet machine wander by so much."""

MISSES = MisfitProcess(length=1.0, own=0.2, pivot=20.0)
"""Misses alike within a factor e of the delay; below 20 units a delay hardly differs from none. A fifth of the variance
is of one measurement alone: published memory curves are ragged."""


@dataclass(frozen=True)
class Both(MisfitProcess):
    """Misses of two observables at the same loads, rows (m, 2), which say nothing of each other."""

    def place(self, loads: Array) -> Array:
        return np.column_stack([super().place(loads[:, 0]), 1e6 * loads[:, 1]])


class LinearisedModel(CurveModel):
    """A memory model, of which throughput and response, or the response alone, are fitted."""

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        """A starting point (d,) for the fit."""
        raise NotImplementedError

    def observables(self, throughput: Array, response: Array) -> Array:
        """What of the points is fitted, in logarithms, along the last axis."""
        raise NotImplementedError

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        load, x, r = points.load, points.throughput_per_s, points.response_time_s
        observed = self.observables(x, r)
        both = len(observed) > len(load)
        process = Both(self.process.length, self.process.own, self.process.pivot) if both else self.process
        used = np.column_stack([np.tile(load, 2), np.repeat([0.0, 1.0], len(load))]) if both else load
        noise = np.concatenate(points.noise()) if both else points.noise()[1]
        return linearised(
            self.parameters(load, x, r),
            self.start(load, x, r),
            lambda v: self.observables(*self.curve(v, load)),
            Measured(observed, noise, used),
            process,
            self.misfit,
        )


class DelayLaw(LinearisedModel):
    """The law of this module; loads are injected delays in whatever unit the tool counts."""

    name = "delay law"
    assumption = (
        "loaders with N lines in flight think for the injected delay, partly while they access (overlap q); the probe "
        "adds 1/R; R = L0 + a rho/(1-rho) at rho = X/B"
    )
    knee_definition = "tangent rho* = 1 / (1 + sqrt(a / L0))"
    misfit = MisfitPrior(median=0.09)
    process = MISSES

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        start = self.start(loads, throughput, response)
        lines, between, per_unit, idle, queueing, peak, overlap = start
        return (
            Parameter("N", "lines", lines / 100, lines * 100),
            Parameter("Z0", "s", between / 1e4, between * 1e4, between, 1.0),
            Parameter("kappa", "s per unit", per_unit / 1e3, per_unit * 1e3),
            Parameter("L0", "s", idle / 4, idle * 2, idle, NEARLY_IDLE_LOG_SD),
            Parameter("a", "s", queueing / 1e3, queueing * 1e3, queueing, 1.5),
            Parameter("B", "lines/s", float(throughput.max()) * 1.0001, peak * 20, peak, 0.1),
            Parameter("q", "", 0.5, 10.0, overlap, OVERLAP_LOG_SD),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        names = (
            ("N", "lines"),
            ("Z0", "s"),
            ("kappa", "s per unit"),
            ("L0", "s"),
            ("a", "s"),
            ("B", "lines/s"),
            ("q", ""),
        )
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(names)}

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        deep, idle_point = int(np.argmin(loads)), int(np.argmax(loads))
        middle = int(np.argsort(loads)[len(loads) // 2])
        idle = float(min(response[idle_point], response[middle]))
        lines = max((throughput[deep] - 1 / response[deep]) * response[deep], 0.1)
        loaders_middle = max(throughput[middle] - 1 / response[middle], throughput[middle] / 50)
        span = max(loads[middle] - loads[deep], 1e-9)
        per_unit = max((lines / loaders_middle - response[middle]) / span, response[deep] / span / 1e3)
        rho = DEEPEST_UTILIZATION
        queueing = max(float(response[deep]) - idle, 0.05 * idle) * (1 - rho) / rho
        return np.array([lines, 0.02 * idle, per_unit, idle, queueing, throughput[deep] / rho, OVERLAP_MEDIAN])

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Solves the law for the odds u = ln(rho / (1 - rho)): demand falls with them and supply rises, one root.

        Newton's steps on the logarithm of demand over supply, and half of what is left where one would leave it.
        """
        between, per_unit = values[:, 1, None], values[:, 2, None]
        law = _Law(values, between + per_unit * loads[None, :])
        low, high = np.full(law.think.shape, -LOGIT_RANGE), np.full(law.think.shape, LOGIT_RANGE)
        odds = np.zeros(law.think.shape)
        for _ in range(MOST_STEPS):
            excess, slope = law.excess(odds)
            more = excess > 0
            low, high = np.where(more, odds, low), np.where(more, high, odds)
            step = odds - excess / slope
            before, odds = odds, np.where((low <= step) & (step <= high), step, 0.5 * (low + high))
            if np.abs(odds - before).max() < CLOSE:
                break
        return law.throughput(odds), law.response(odds)

    def knee(self, values: Array) -> KneePoint:
        lines, between, per_unit, idle, queueing, peak, overlap = values.T
        rho = 1 / (1 + np.sqrt(queueing / idle))
        response = idle + queueing * rho / (1 - rho)
        from_loaders = rho * peak - 1 / response
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            beyond = (lines / (from_loaders * response)) ** overlap - 1
            delay = (response * beyond ** (1 / overlap) - between) / per_unit
        reached = (from_loaders > 0) & (delay >= 0)
        return KneePoint(np.where(reached, delay, np.nan), rho * peak, response)

    def observables(self, throughput: Array, response: Array) -> Array:
        return np.concatenate([np.log(throughput), np.log(response)], axis=-1)


LOGIT_RANGE = 20.0
"""Utilizations from 2e-9 to all but 2e-9."""

MOST_STEPS, CLOSE = 40, 1e-10
"""Halving alone comes as close, as 40 / 2^40 is less; a step of Newton squares what is left, so ten are enough."""


class _Law:
    """The law's two sides at logits u (w, m) of the utilization, for parameters (w, 7) and think times (w, m)."""

    def __init__(self, values: Array, think: Array) -> None:
        self.lines, self.idle, self.queueing, self.peak, self.overlap = (values[:, i, None] for i in (0, 3, 4, 5, 6))
        self.think = think

    def throughput(self, u: Array) -> Array:
        return np.asarray(self.peak / (1 + np.exp(-u)))

    def response(self, u: Array) -> Array:
        return np.asarray(self.idle + self.queueing * np.exp(u))

    def excess(self, u: Array) -> tuple[Array, Array]:
        """ln demand - ln supply, and its slope over u, which is negative."""
        waiting = self.queueing * np.exp(u)
        response = self.idle + waiting
        q_log = self.overlap * np.log(self.think / response)
        loaders = self.lines / response * np.exp(-np.logaddexp(q_log, 0.0) / self.overlap)
        demand = loaders + 1 / response
        rho = 1 / (1 + np.exp(-u))
        falls = -waiting / response * (loaders / (1 + np.exp(q_log)) + 1 / response) / demand
        return np.log(demand / (rho * self.peak)), falls - (1 - rho)


class Unloaded(LinearisedModel):
    """The delay law without queueing: every access takes the idle latency until the peak is reached.

    X = min(N / (kappa d + L0) + 1 / L0, B) and R = L0. It is the bound that the law bends away from.
    """

    name = "no queueing"
    assumption = "every access takes the idle latency; the peak is a wall"
    knee_definition = "the delay at which the peak is reached"
    misfit = DelayLaw.misfit
    process = MISSES

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        lines, per_unit, idle, peak = self.start(loads, throughput, response)
        return (
            Parameter("N", "lines", lines / 100, lines * 100),
            Parameter("kappa", "s per unit", per_unit / 1e3, per_unit * 1e3),
            Parameter("L0", "s", idle / 4, idle * 4),
            Parameter("B", "lines/s", peak / 2, peak * 20),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        units = {"N": "lines", "kappa": "s per unit", "L0": "s", "B": "lines/s"}
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(units.items())}

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        lines, _, per_unit, idle, *_ = DelayLaw().start(loads, throughput, response)
        return np.array([lines, per_unit, idle, throughput.max()])

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        lines, per_unit, idle, peak = (values[:, i, None] for i in range(4))
        offered = lines / (per_unit * loads[None, :] + idle) + 1 / idle
        return np.minimum(offered, peak), np.broadcast_to(idle, offered.shape)

    def knee(self, values: Array) -> KneePoint:
        lines, per_unit, idle, peak = values.T
        with np.errstate(divide="ignore", invalid="ignore"):
            delay = (lines / (peak - 1 / idle) - idle) / per_unit
        return KneePoint(np.where(delay >= 0, delay, np.nan), peak, idle)

    def observables(self, throughput: Array, response: Array) -> Array:
        return np.concatenate([np.log(throughput), np.log(response)], axis=-1)
