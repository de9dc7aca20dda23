"""Latency over bandwidth, for curves published without what was varied: the load is the bandwidth x itself.

    R = L0 exp(b rho) / (1 - rho^4)^w,   rho = x / B

Latency first climbs steadily, as banks and buses conflict (b), and then steeply at a wall (w); the fourth power keeps
the wall separate from the climb. For published memories the one bend of an open queue is too sharp or too soft. B lies
just above the highest bandwidth, measured or known from a bandwidth test; b and w have priors, the middle and the
spread of eleven machines (``examples/accuracy/accuracy_memory.py --priors``), and the misfit is correlated between
near bandwidths. A curve that bends back has two latencies at one bandwidth: only the lower branch is a function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from calibrate.inference.linearised import linearised
from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.weights import Weights
from calibrate.models.curves import KneePoint, MemoryModel
from calibrate.points import Points
from measure.units import CACHE_LINE_BYTES

WALL_POWER = 4
"""The power that sets how near to B the wall begins: 2 and 3 have larger errors on published memories, 6 the same."""

HALVINGS = 40
"""Bisections of the interval of the knee: 1e-12 of it is left."""

NEVER_BEYOND = 0.9999
"""The highest utilization of a curve over bandwidth."""


@dataclass(frozen=True)
class CurvePriors:
    """Medians and log standard deviations of the parameters that three bandwidths do not determine."""

    idle: tuple[float, float] = (1.0, 0.3)
    """L0 over the latency at the lowest bandwidth."""
    climb: tuple[float, float] = (0.43, 0.6)
    """b."""
    wall: tuple[float, float] = (0.07, 1.0)
    """w."""
    headroom: tuple[float, float] = (1.02, 0.003)
    """B over the highest bandwidth, measured or known; narrow, as three points cannot separate it from the wall."""


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

    def __init__(self, priors: CurvePriors | None = None) -> None:
        self.priors = priors or CurvePriors()

    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        known, highest = self.priors, float(loads.max())
        idle = float(response[np.argmin(loads)]) * known.idle[0]
        peak = max(highest, known_peak) * known.headroom[0]
        return (
            Parameter("L0", "s", idle / 4, idle * 4, idle, known.idle[1]),
            Parameter("b", "", 1e-3, 10.0, *known.climb),
            Parameter("w", "", 1e-4, 10.0, *known.wall),
            Parameter("B", "B/s", highest * 1.0005, peak * 1.2, peak, known.headroom[1]),
        )

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        """The table of weights given ``points``; ``peak`` is a bandwidth test's result, in lines/s."""
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
