"""The memory delay law: injected delay is think time.

Loader threads keep N cache lines in flight and wait d between bursts; a probe chases pointers, one line at a time:

    X_l = N / (Z0 + kappa d + R)      the loaders, a closed population with think time
    X_p = 1 / R                       the probe, a population of one without think time
    X_l + X_p = rho B                 both load the same memory of peak B
    R = L0 + a rho / (1 - rho)        an open queue's latency at utilization rho

so that one delay d fixes both axes, throughput and latency. Parameters: N (lines in flight), Z0 (seconds between
bursts without delay), kappa (seconds per unit of d), L0 (idle latency), a (queueing time scale), B (peak, lines/s).
At most loads the points pin down kappa / N, L0 and the peak; B and a separately only close to saturation, which is why
both have stated priors, and a parameter that the points leave open is reported as such.
"""

from __future__ import annotations

import numpy as np

from calibrate.curve_models import CurveModel, KneePoint
from calibrate.posterior import Array, ErrorPrior, Parameter

DEEPEST_UTILIZATION = 0.9
"""A loader without injected delay drives a memory to about 0.9 of the peak B of the law, before any data."""


class DelayLaw(CurveModel):
    """The law of this module; loads are injected delays in whatever unit the tool counts."""

    name = "delay law"
    assumption = (
        "loaders with N lines in flight think for the injected delay; the probe adds 1/R; "
        "R = L0 + a rho/(1-rho) at rho = X/B"
    )
    knee_definition = "tangent rho* = 1 / (1 + sqrt(a / L0))"
    error_prior = ErrorPrior(median=0.05)

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        start = self.start(loads, throughput, response)
        lines, between, per_unit, idle, queueing, peak = start
        return (
            Parameter("N", "lines", lines / 100, lines * 100),
            Parameter("Z0", "s", between / 1e4, between * 1e4, between, 2.0),
            Parameter("kappa", "s per unit", per_unit / 1e3, per_unit * 1e3),
            Parameter("L0", "s", idle / 4, idle * 2),
            Parameter("a", "s", queueing / 1e3, queueing * 1e3, queueing, 1.5),
            Parameter("B", "lines/s", float(throughput.max()) * 1.0001, peak * 20, peak, 0.1),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        names = (
            ("N", "lines"),
            ("Z0", "s"),
            ("kappa", "s per unit"),
            ("L0", "s"),
            ("a", "s"),
            ("B", "lines/s"),
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
        return np.array([lines, 0.02 * idle, per_unit, idle, queueing, throughput[deep] / rho])

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Solves the law for R: demand falls with R and supply rises, so there is one root above the idle latency.

        In r = R / L0 the law is a cubic whose largest root is wanted; two Newton steps on the law itself then remove
        what rounding left.
        """
        lines, between, per_unit, idle, queueing, peak = (values[:, i, None] for i in range(6))
        think = between + per_unit * loads[None, :]
        b, t, alpha = peak * idle, think / idle, queueing / idle
        root = _largest_root((t - 1) - (lines + 1) / b, -t - ((lines + 1) * (alpha - 1) + t) / b, -t * (alpha - 1) / b)
        response = np.maximum(root, 1 + 1e-12) * idle
        for _ in range(2):
            excess, slope = _excess(response, lines, think, idle, queueing, peak)
            response = np.maximum(response - excess / slope, idle * (1 + 1e-12))
        above = response - idle
        return np.asarray(peak * above / (above + queueing)), np.asarray(response)

    def knee(self, values: Array) -> KneePoint:
        lines, between, per_unit, idle, queueing, peak = values.T
        rho = 1 / (1 + np.sqrt(queueing / idle))
        response = idle + queueing * rho / (1 - rho)
        from_loaders = rho * peak - 1 / response
        with np.errstate(divide="ignore", invalid="ignore"):
            delay = (lines / from_loaders - response - between) / per_unit
        reached = (from_loaders > 0) & (delay >= 0)
        return KneePoint(np.where(reached, delay, np.nan), rho * peak, response)

    def observables(self, throughput: Array, response: Array) -> Array:
        return np.concatenate([np.log(throughput), np.log(response)], axis=-1)


class Unloaded(CurveModel):
    """The delay law without queueing: every access takes the idle latency until the peak is reached.

    X = min(N / (kappa d + L0) + 1 / L0, B) and R = L0. It is the bound that the law bends away from.
    """

    name = "no queueing"
    assumption = "every access takes the idle latency; the peak is a wall"
    knee_definition = "the delay at which the peak is reached"
    error_prior = DelayLaw.error_prior

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
        lines, _, per_unit, idle, _, _ = DelayLaw().start(loads, throughput, response)
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


def _largest_root(p: Array, q: Array, r: Array) -> Array:
    """The largest real root of x^3 + p x^2 + q x + r = 0, elementwise (Press et al., Numerical Recipes, 5.6)."""
    p, q, r = np.broadcast_arrays(p, q, r)
    big_q, big_r = (p * p - 3 * q) / 9, (2 * p**3 - 9 * p * q + 27 * r) / 54
    cubed = np.maximum(big_q, 0) ** 3
    three = big_r**2 < cubed
    safe = np.where(three, cubed, 1.0)
    angle = np.arccos(np.clip(np.where(three, big_r / np.sqrt(safe), 0.0), -1, 1))
    trigonometric = -2 * np.sqrt(np.maximum(big_q, 0)) * np.cos((angle + 2 * np.pi) / 3)
    s = -np.sign(big_r) * np.cbrt(np.abs(big_r) + np.sqrt(np.where(three, 0.0, big_r**2 - big_q**3)))
    cardano = s + np.divide(big_q, s, out=np.zeros_like(s), where=s != 0)
    return np.asarray(np.where(three, trigonometric, cardano) - p / 3)


def _excess(
    response: Array, lines: Array, think: Array, idle: Array, queueing: Array, peak: Array
) -> tuple[Array, Array]:
    """Demand minus supply at ``response``, and its slope (always negative)."""
    cycle = think + response
    above = response - idle
    demand = lines / cycle + 1 / response
    supply = peak * above / (above + queueing)
    slope = -lines / cycle**2 - 1 / response**2 - peak * queueing / (above + queueing) ** 2
    return demand - supply, slope
