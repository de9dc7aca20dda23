"""Latency over bandwidth, where a curve was published without what was varied: the load is the bandwidth x itself.

    MemoryCurve    R = L0 exp(b rho) / (1 - rho^4)^w,   rho = x / B
    MemoryQueue    R = L0 + a rho / (1 - rho)

The second is the open queue of the delay law. Over published memories its one bend is too sharp or too soft: latency
first climbs steadily, as banks and buses conflict (b), and then at a wall (w), and the first form gives each its own
parameter; the fourth power keeps the wall out of the climb. B is taken just above the highest bandwidth calibrated on,
which should be the highest measured; b and w have priors from published curves, and what the curve misses goes together
at near bandwidths. A curve that bends back has two latencies at one bandwidth, and only the lower branch is a function
of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrate.curve_models import KneePoint
from calibrate.delay_law import LinearisedModel
from calibrate.inference.misfit import Independent, MisfitProcess
from calibrate.inference.parameters import Array, MisfitPrior, Parameter
from measure.dataset import CACHE_LINE_BYTES

HEADROOM, HEADROOM_LOG_SD = 1.01, 0.003
"""B over the highest bandwidth calibrated on: a sweep to the wall reaches it within a percent."""

CLIMB_MEDIAN, CLIMB_LOG_SD = 0.4, 0.7
WALL_MEDIAN, WALL_LOG_SD = 0.04, 1.0
"""b and w: the middle of published curves, and two thirds of them."""

WALL_POWER = 4
"""How near to B the wall begins: 1 and 2 miss published memories by more, and 6 by as much."""

NEARLY_IDLE_LOG_SD = 0.3
MIDDLE = 0.65
"""The share of the highest bandwidth to calibrate on beside the ends: about where the steady climb shows best."""

HALVINGS = 40
"""Of the interval in which the knee is looked for: 1e-12 of it is left."""

NEVER_BEYOND = 0.9999
"""Utilizations are drawn up to here; beyond, a curve over the bandwidth says nothing."""


@dataclass(frozen=True)
class AlongBandwidth(MisfitProcess):
    """Nearness in x / B - 0.1 ln(1 - x / B): even at low bandwidths, and stretched towards the wall at B."""

    highest: float = 1.0

    def seen(self, used: Array) -> AlongBandwidth:
        return replace(self, highest=float(used.max()))

    def place(self, loads: Array) -> Array:
        share = np.minimum(loads / self.highest / HEADROOM, NEVER_BEYOND)
        return np.asarray(share - 0.1 * np.log1p(-share))


class MemoryQueue(LinearisedModel):
    """The open queue of this module's text; loads are bandwidths in bytes a second."""

    name = "latency of a queue"
    assumption = "R = L0 + a rho/(1-rho) at rho = x/B, one bend"
    knee_definition = "tangent: rho* of maximal power rho / R"
    misfit = MisfitPrior(median=0.15)
    process: MisfitProcess = Independent()

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        idle, queueing, peak = self.start(loads, throughput, response)
        top = float(loads.max())
        return (
            Parameter("L0", "s", idle / 4, idle * 4, idle, NEARLY_IDLE_LOG_SD),
            Parameter("a", "s", queueing / 1e3, queueing * 1e3, queueing, 1.5),
            Parameter("B", "B/s", top * 1.0001, top * 10, peak, 0.1),
        )

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        idle, peak = float(response[np.argmin(loads)]), float(loads.max()) * 1.1
        most = max(float(response[np.argmax(loads)]) - idle, 0.05 * idle)
        return np.array([idle, most / 10, peak])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {"L0": ("s", values[:, 0]), "a": ("s", values[:, 1]), "B": ("B/s", values[:, 2])}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        idle, queueing, peak = (values[:, i, None] for i in range(3))
        rho = np.minimum(loads[None, :] / peak, NEVER_BEYOND)
        lines = np.broadcast_to(loads / CACHE_LINE_BYTES, rho.shape)
        return lines, np.asarray(idle + queueing * rho / (1 - rho))

    def knee(self, values: Array) -> KneePoint:
        return self._at_share(values, 1 / (1 + np.sqrt(values[:, 1] / values[:, 0])), values[:, 2])

    def observables(self, throughput: Array, response: Array) -> Array:
        return np.log(response)

    def _at_share(self, values: Array, rho: Array, peak: Array) -> KneePoint:
        load = rho * peak
        response = np.array([self.curve(v[None, :], np.array([x]))[1][0, 0] for v, x in zip(values, load, strict=True)])
        return KneePoint(load, load / CACHE_LINE_BYTES, response)


class MemoryCurve(MemoryQueue):
    """A steady climb and a wall; loads are bandwidths in bytes a second."""

    name = "latency curve"
    assumption = "R = L0 exp(b rho) / (1 - rho^4)^w, rho = x/B: a steady climb and a wall just above the highest used"
    process = AlongBandwidth(length=0.3, own=0.05)

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        idle, climb, wall, peak = self.start(loads, throughput, response)
        top = float(loads.max())
        return (
            Parameter("L0", "s", idle / 4, idle * 4, idle, NEARLY_IDLE_LOG_SD),
            Parameter("b", "", 1e-3, 10.0, climb, CLIMB_LOG_SD),
            Parameter("w", "", 1e-4, 10.0, wall, WALL_LOG_SD),
            Parameter("B", "B/s", top * 1.002, top * 1.05, peak, HEADROOM_LOG_SD),
        )

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        idle = float(response[np.argmin(loads)])
        return np.array([idle, CLIMB_MEDIAN, WALL_MEDIAN, float(loads.max()) * HEADROOM])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        units = {"L0": "s", "b": "", "w": "", "B": "B/s"}
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(units.items())}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        idle, climb, wall, peak = (values[:, i, None] for i in range(4))
        share = np.minimum(loads[None, :] / peak, NEVER_BEYOND)
        lines = np.broadcast_to(loads / CACHE_LINE_BYTES, share.shape)
        return lines, np.asarray(idle * np.exp(climb * share - wall * np.log1p(-(share**WALL_POWER))))

    def knee(self, values: Array) -> KneePoint:
        """d ln(rho / R) = 0: b rho + 4 w rho^4 / (1 - rho^4) = 1, of which the left side only grows with rho."""
        _, climb, wall, peak = values.T
        low, high = np.zeros_like(climb), np.ones_like(climb)
        for _ in range(HALVINGS):
            rho = 0.5 * (low + high)
            from_peak = 1 - rho**WALL_POWER
            before = climb * rho * from_peak + WALL_POWER * wall * (1 - from_peak) < from_peak
            low, high = np.where(before, rho, low), np.where(before, high, rho)
        return self._at_share(values, 0.5 * (low + high), peak)
