"""Closed models whose throughput falls again: a host that pays for every request in flight, and Gunther's law.

At depths of some hundreds many drives lose throughput: the host's time for each request grows with the number that it
keeps track of. Nothing at smaller depths foretells where, so a decline is fitted only where a measured point shows it.
"""

from __future__ import annotations

import numpy as np

from calibrate.curve_models import ClosedModel, KneePoint, OnsetPNorm
from calibrate.posterior import Array, Parameter

DECLINE_FROM = 512
"""Depths from here on are beyond what a model without a decline covers."""

SHOWN = 0.95
"""A point at this share of the best throughput or below, at a depth of ``DEEP`` or more, shows a decline."""

DEEP = 256
DECLINE_MEDIAN, DECLINE_LOG_SD = 2500.0, 1.0
"""At which depth the throughput has halved: published sweeps lose from 10 to 36 % at depth 1024."""


class Declining(OnsetPNorm):
    """The p-norm with onset, times 1 / (1 + (N / Nhalf)^2): the peak is halved where N = Nhalf."""

    name = "p-norm with onset and decline"
    assumption = "as the p-norm with onset, and what a request costs the host grows with the square of those in flight"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        half = Parameter("Nhalf", "", 30.0, 1e6, DECLINE_MEDIAN, DECLINE_LOG_SD)
        return (*super().parameters(loads, throughput, response), half)

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        smooth = super().start(loads, throughput, response)
        return np.column_stack([smooth, np.full(len(smooth), DECLINE_MEDIAN)])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "Nhalf": ("", values[:, 4])}

    def _at(self, values: Array, loads: Array) -> Array:
        return np.asarray(super()._at(values, loads) / (1 + (loads / values[:, 4, None]) ** 2))


class ScalabilityLaw(ClosedModel):
    """X = g N / (1 + a (N - 1) + b N (N - 1)): Gunther's universal scalability law (Guerrilla Capacity Planning, 2007).

    a is the share of work that is serialised, b the cost of keeping every pair consistent, g = 1 / R1. It was made for
    software on processors, and is here to compare with. Its knee is R1 times its peak.
    """

    name = "universal scalability law"
    assumption = "contention in proportion to the requests in flight, and a cost for every pair of them"
    knee_definition = "R1 times the peak of the law"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        alone = float((throughput / loads).max())
        return (
            Parameter("g", "1/s", alone / 10, alone * 10),
            Parameter("contention", "", 1e-6, 1.0),
            Parameter("coherence", "", 1e-10, 1.0),
        )

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        alone = float((throughput / loads).max())
        return np.array([[alone, min(0.9, alone / throughput.max()), b] for b in (1e-7, 1e-4)])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        knee = self.knee(values)
        return {
            "R1": ("s", 1 / values[:, 0]), "N*": ("", knee.load), "contention": ("", values[:, 1]),
            "coherence": ("", values[:, 2]),
        }  # fmt: skip

    def throughput(self, values: Array, loads: Array) -> Array:
        alone, contention, coherence = (values[:, i, None] for i in range(3))
        n = loads[None, :]
        return np.asarray(alone * n / (1 + (contention + coherence * n) * (n - 1)))

    def knee(self, values: Array) -> KneePoint:
        best = np.sqrt(np.maximum(1 - values[:, 1], 0.0) / values[:, 2]).clip(min=1.0)
        rows = zip(values, best, strict=True)
        peak = np.array([self.throughput(v[None, :], np.array([n]))[0, 0] for v, n in rows])
        load = np.maximum(peak / values[:, 0], 1.0)
        rows = zip(values, load, strict=True)
        at_knee = np.array([self.throughput(v[None, :], np.array([n]))[0, 0] for v, n in rows])
        return KneePoint(load, at_knee, load / at_knee)


def shows_decline(loads: Array, throughput: Array) -> bool:
    """Whether the deepest of these points (m,) lies past a peak."""
    return bool(loads[-1] >= DEEP and throughput[-1] <= SHOWN * throughput.max())
