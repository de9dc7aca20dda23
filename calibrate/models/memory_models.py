"""Models of a memory: the delay law, where the delays of its loaders are known, and latency over bandwidth.

In the delay law injected delay is think time.

Loader threads keep N cache lines in flight and wait d between bursts; a probe chases pointers, one line at a time:

    X_l = N / ((kappa d)^q + R^q)^(1/q)      the loaders, a closed population with think time
    X_p = 1 / R                              the probe, a population of one without think time
    X_l + X_p = rho B                        both load the same memory of peak B
    R = L0 + a rho / (1 - rho)               an open queue's latency at utilization rho

so that one delay d determines both throughput and latency. Parameters: N (lines in flight), kappa (seconds per unit of
d), L0 (idle latency), a (queueing time scale), B (peak, lines/s), q (overlap). With q = 1 delay and access follow one
another; a processor that idles during its accesses overlaps the two, and as q grows only the longer one counts.

Three delays are six measurements: they determine L0, N / kappa and the throughput of the shortest delay. They determine
B and a separately only close to saturation, and q only by a point near the bend. These have stated priors, the middle
and the spread of ten machines (``examples/accuracy/accuracy_memory.py --priors``). A time between bursts without any
delay is left out: no three delays determine it, and no prediction depends on it. The misfit is correlated between
neighbouring delays, but not between throughput and latency.

Latency over bandwidth is for curves published without what was varied: the load is the bandwidth x itself.

    R = L0 exp(b rho) / (1 - rho^4)^w,   rho = x / B

Latency first climbs steadily, as banks and buses conflict (b), and then steeply at a wall (w); the fourth power keeps
the wall separate from the climb. For published memories the one bend of an open queue is too sharp or too soft. B lies
just above the highest bandwidth, measured or known from a bandwidth test; b and w have priors, the middle and the
spread of eleven machines (``examples/accuracy/accuracy_memory.py --priors``), and the misfit is correlated between
near bandwidths. A curve that bends back has two latencies at one bandwidth: only the lower branch is a function.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.tables import linearised
from calibrate.inference.weights import Weights
from calibrate.models.curves import CurveModel, KneePoint
from calibrate.points import Points
from measure.units import CACHE_LINE_BYTES

MISSES = MisfitProcess(length=1.0, own=0.2, pivot=20.0)
"""The misfit is correlated within a factor e of the delay; delays below 20 units hardly differ. A fifth of the variance
is independent between measurements: published memory curves are ragged."""

MISFIT = MisfitPrior(median=0.045, log_sd=0.8)

FLAT_LOG_SD = 2.0
"""The points determine N and kappa: their priors are too wide to matter."""

THROUGHPUT, RESPONSE = 0.0, 1.0


Priors = Mapping[str, tuple[float, float]]
"""The median and the log standard deviation of a parameter, or of its ratio to what the points show, by its name."""

LAW_PRIORS: Priors = {"L0": (1.0, 0.3), "a": (0.25, 1.1), "B": (1.15, 0.13), "q": (1.4, 0.7)}
"""What three delays do not determine: L0 over the least latency of the two longest delays (a machine whose longest
delay is short is far from idle), a over L0, B over the highest throughput, measured or known, and q."""


class MemoryModel(CurveModel):
    """A memory's model, which reports its fitted parameters: their ``units``, in order, and ``usual`` priors."""

    units: ClassVar[Mapping[str, str]]
    usual: ClassVar[Priors]

    def __init__(self, priors: Priors | None = None) -> None:
        self.priors = {**self.usual, **(priors or {})}

    @abstractmethod
    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors; ``known_peak`` is a bandwidth test's result."""

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(self.units.items())}


@dataclass(frozen=True)
class BothAxes(MisfitProcess):
    """The misfit at rows (m, 2) of a load and an observable: independent between the two observables."""

    def place(self, loads: Array) -> Array:
        return np.column_stack([super().place(loads[:, 0]), APART * loads[:, 1]])


APART = 1e6
"""A distance in correlation lengths at which exp(-APART) is zero."""


class DelayLaw(MemoryModel):
    """The delay law; loads are injected delays in whatever unit the tool counts."""

    name = "delay law"
    assumption = (
        "loaders with N lines in flight think for the injected delay, partly while they access (overlap q); the probe "
        "adds 1/R; R = L0 + a rho/(1-rho) at rho = X/B"
    )
    knee_definition = "tangent rho* = 1 / (1 + sqrt(a / L0))"
    misfit = MISFIT
    process = MISSES
    units: ClassVar = {"N": "lines", "kappa": "s per unit", "L0": "s", "a": "s", "B": "lines/s", "q": ""}
    usual = LAW_PRIORS

    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        lines, per_unit, least, highest = _scales(loads, throughput, response)
        known = self.priors
        idle = least * known["L0"][0]
        queueing, peak = idle * known["a"][0], max(highest, known_peak) * known["B"][0]
        return (
            Parameter("N", "lines", lines / 1e3, lines * 1e3, lines, FLAT_LOG_SD),
            Parameter("kappa", "s per unit", per_unit / 1e4, per_unit * 1e4, per_unit, FLAT_LOG_SD),
            Parameter("L0", "s", idle / 10, idle * 4, idle, known["L0"][1]),
            Parameter("a", "s", queueing / 1e4, queueing * 1e4, queueing, known["a"][1]),
            Parameter("B", "lines/s", highest * 1.0001, max(peak, highest) * 20, peak, known["B"][1]),
            Parameter("q", "", 0.5, 12.0, *known["q"]),
        )

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        loads, x, r = points.load, points.throughput_per_s, points.response_time_s
        used = np.column_stack([np.tile(loads, 2), np.repeat([THROUGHPUT, RESPONSE], len(loads))])
        return linearised(
            self.parameters(loads, x, r, peak or 0.0),
            lambda values: np.log(np.concatenate(self.curve(values, loads), axis=1)),
            Observed(used, np.log(np.concatenate([x, r])), np.concatenate(points.noise())),
            BothAxes(self.process.length, self.process.own, self.process.pivot),
            self.misfit,
        )

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Solve the law for the log odds u = ln(rho / (1 - rho)): demand falls with u and supply rises, so one root.

        Newton's steps on the logarithm of demand over supply, with bisection where a step would leave the interval.
        """
        law = _Law(values, values[:, 1, None] * loads[None, :])
        low, high = np.full(law.think.shape, -LOGIT_RANGE), np.full(law.think.shape, LOGIT_RANGE)
        odds = law.first_odds()
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
        lines, per_unit, idle, queueing, peak, overlap = values.T
        rho = 1 / (1 + np.sqrt(queueing / idle))
        response = idle + queueing * rho / (1 - rho)
        from_loaders = rho * peak - 1 / response
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            beyond = (lines / (from_loaders * response)) ** overlap - 1
            delay = response * beyond ** (1 / overlap) / per_unit
        reached = (from_loaders > 0) & (delay >= 0)
        return KneePoint(np.where(reached, delay, np.nan), rho * peak, response)


def _scales(loads: Array, throughput: Array, response: Array) -> tuple[float, float, float, float]:
    """Rough N (lines), kappa (s per unit), idle latency (s) and the highest throughput (1/s) of some points (m,)."""
    deep, idle_point = int(np.argmin(loads)), int(np.argmax(loads))
    middle = int(np.argsort(loads)[len(loads) // 2])
    idle = float(min(response[idle_point], response[middle]))
    lines = max((throughput[deep] - 1 / response[deep]) * response[deep], 0.1)
    loaders_middle = max(throughput[middle] - 1 / response[middle], throughput[middle] / 50)
    span = max(loads[middle] - loads[deep], 1e-9)
    per_unit = max(lines / loaders_middle - response[middle], 0.3 * response[deep]) / span
    return float(lines), float(per_unit), idle, float(throughput.max())


LOGIT_RANGE = 20.0
"""Bounds of the log odds: utilizations from 2e-9 to 1 - 2e-9."""

MOST_STEPS, CLOSE = 40, 1e-6
"""Usually four steps; Newton's step squares the error, so that after one as short as this it is 1e-12."""

MOST_LOG = 700.0
"""The largest exponent for which the exponential is a finite float."""

SHORTEST = 1e-300
"""Represents a think time of zero, so that it has a logarithm."""


class _Law:
    """The law's two sides at logits u (n, m) of the utilization, for parameters (n, 6) and think times (n, m)."""

    def __init__(self, values: Array, think: Array) -> None:
        self.lines, self.idle, self.queueing, self.peak, self.overlap = (values[:, i, None] for i in (0, 2, 3, 4, 5))
        self.think = think
        self.log_think = np.log(np.maximum(think, SHORTEST))

    def first_odds(self) -> Array:
        """Starting point of Newton's steps: the demand at the idle latency, bent below the peak."""
        log_offered = np.log((self.lines / (self.think + self.idle) + 1 / self.idle) / self.peak)
        return np.asarray(np.clip(log_offered, -0.9 * LOGIT_RANGE, 1.0))

    def throughput(self, u: Array) -> Array:
        return np.asarray(self.peak / (1 + np.exp(-u)))

    def response(self, u: Array) -> Array:
        return np.asarray(self.idle + self.queueing * np.exp(u))

    def excess(self, u: Array) -> tuple[Array, Array]:
        """ln demand - ln supply, and its slope over u, which is negative."""
        odds = np.exp(u)
        waiting = self.queueing * odds
        response = self.idle + waiting
        longer = 1 + np.exp(np.minimum(self.overlap * (self.log_think - np.log(response)), MOST_LOG))
        alone = 1 / longer  # R^q over (kappa d)^q + R^q
        loaders = self.lines * np.exp(-np.log(longer) / self.overlap)  # numpy's powers take several times as long
        demand = (loaders + 1) / response
        falls = -waiting / response * (loaders * alone + 1) / (loaders + 1)
        return np.log(demand * (1 + odds) / (odds * self.peak)), falls - 1 / (1 + odds)


WALL_POWER = 4
"""The power that sets how near to B the wall begins: 2 and 3 have larger errors on published memories, 6 the same."""

HALVINGS = 40
"""Bisections of the interval of the knee: 1e-12 of it is left."""

NEVER_BEYOND = 0.9999
"""The highest utilization of a curve over bandwidth."""


CURVE_PRIORS: Priors = {"L0": (1.0, 0.3), "b": (0.43, 0.6), "w": (0.07, 1.0), "B": (1.02, 0.003)}
"""What three bandwidths do not determine: L0 over the latency at the lowest, b, w, and B over the highest, measured or
known; narrow, as three points cannot separate it from the wall."""


@dataclass(frozen=True)
class AlongBandwidth(MisfitProcess):
    """Distance in x / B - 0.1 ln(1 - x / B): uniform at low bandwidths, stretched towards the wall at B."""

    highest: float = 1.0

    def seen(self, used: Array) -> AlongBandwidth:
        return replace(self, highest=float(used.max()))

    def place(self, loads: Array) -> Array:
        share = np.minimum(loads / self.highest / 1.01, NEVER_BEYOND)
        return np.asarray(share - 0.1 * np.log1p(-share))


class MemoryCurve(MemoryModel):
    """A steady climb and a wall; loads are bandwidths in bytes a second."""

    name = "latency curve"
    assumption = "R = L0 exp(b rho) / (1 - rho^4)^w, rho = x/B: a steady climb and a wall just above the highest used"
    knee_definition = "tangent: rho* of maximal power rho / R"
    misfit = MisfitPrior(median=0.08, log_sd=1.0)
    process: MisfitProcess = AlongBandwidth(length=0.3, own=0.05)
    units: ClassVar = {"L0": "s", "b": "", "w": "", "B": "B/s"}
    usual = CURVE_PRIORS

    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        known, highest = self.priors, float(loads.max())
        idle = float(response[np.argmin(loads)]) * known["L0"][0]
        peak = max(highest, known_peak) * known["B"][0]
        return (
            Parameter("L0", "s", idle / 4, idle * 4, idle, known["L0"][1]),
            Parameter("b", "", 1e-3, 10.0, *known["b"]),
            Parameter("w", "", 1e-4, 10.0, *known["w"]),
            Parameter("B", "B/s", highest * 1.0005, peak * 1.2, peak, known["B"][1]),
        )

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        loads, response = points.load, points.response_time_s
        known = (peak or 0.0) * CACHE_LINE_BYTES
        return linearised(
            self.parameters(loads, loads, response, known),
            lambda values: np.log(self.curve(values, loads)[1]),
            Observed(loads, np.log(response), points.noise()[1]),
            self.process,
            self.misfit,
        )

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        rho = np.minimum(loads[None, :] / values[:, 3, None], NEVER_BEYOND)
        lines = np.broadcast_to(loads / CACHE_LINE_BYTES, rho.shape)
        return lines, self._latency(values, rho)

    def _latency(self, values: Array, rho: Array) -> Array:
        """R (n, m) at utilizations (n, m)."""
        idle, climb, wall = (values[:, i, None] for i in range(3))
        return np.asarray(idle * np.exp(climb * rho - wall * np.log1p(-(rho**WALL_POWER))))

    def knee(self, values: Array) -> KneePoint:
        """d ln(rho / R) = 0: b rho + 4 w rho^4 / (1 - rho^4) = 1, of which the left side only grows with rho."""
        _, climb, wall, peak = values.T
        low, high = np.zeros_like(climb), np.ones_like(climb)
        for _ in range(HALVINGS):
            rho = 0.5 * (low + high)
            from_peak = 1 - rho**WALL_POWER
            before = climb * rho * from_peak + WALL_POWER * wall * (1 - from_peak) < from_peak
            low, high = np.where(before, rho, low), np.where(before, high, rho)
        rho = 0.5 * (low + high)
        load = rho * peak
        return KneePoint(load, load / CACHE_LINE_BYTES, self._latency(values, rho[:, None])[:, 0])
