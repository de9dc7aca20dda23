"""Closed models whose throughput falls again past its peak.

Thread pools, databases and many drives lose throughput at depths far beyond their knee. Nothing at smaller depths
foretells where, so a decline is fitted only where a measured point shows it. Its terms are those of Gunther's Universal
Scalability Law (Guerrilla Capacity Planning, 2007), X = g N / (1 + a (N - 1) + b N (N - 1)): contention a, the share
of work that waits its turn, and coherency b, the cost of every pair of requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.nodes import Observed, Scale, Stratum, table_of
from calibrate.inference.parameters import Array, Parameter
from calibrate.inference.weights import Weights
from calibrate.models.curves import CLOSED_MISFIT, SHARP, ClosedModel, OnsetPNorm, Peak

if TYPE_CHECKING:
    from calibrate.points import Points

DECLINE_FROM = 512
"""Depths from here on are beyond what a model without a decline covers."""

SHOWN = 0.93
"""The deepest point at this share of the best throughput or below shows a decline..."""

TIMES_DEEPER = 3.0
"""...where it lies so many times deeper than the best one: drives that dip before their knee do not decline."""

TIE = 1e-9
"""Throughputs that differ by no more than this are one peak, whatever a machine's rounding makes the higher."""

FEWEST = 3
"""Two points that fall have no peak between them to fall from."""

DECLINE_LOG_SD = 1.5
"""How uncertain the depth of the decline is before any point, around the deepest one measured."""

CONTENTION, COHERENCY = (
    Parameter("contention", "", 1e-6, 1.0, 0.1, 2.0),
    Parameter("coherency", "", 1e-12, 1.0, 1e-4, 3.0),
)


class Declining(OnsetPNorm):
    """The p-norm of three asymptotes: N / R1, Xmax, and Xmax Nfall / N, along which throughput falls.

    With p = 1 it is the Universal Scalability Law, whose contention is 1 / N* and whose coherency is 1 / (N* Nfall).
    The peak is where the first and the third asymptote meet, at sqrt(N* Nfall).
    """

    name = "p-norm with onset and decline"
    assumption = "as the p-norm with onset, and every pair of requests in flight has a cost, so that throughput falls"
    declines = True
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
        """Past the peak the spread of latencies tells nothing of the knee."""
        return self.parameters(points.load, points.throughput_per_s, points.response_time_s)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        told = super().report(values)
        told["Xmax"] = ("1/s", self.peak(values))
        coherency = 1 / (values[:, 0] * values[:, 4])
        return {**told, "contention": ("", 1 / values[:, 0]), "coherency": ("", coherency)}

    def peak(self, values: Array) -> Array:
        crossing, limit, p, _, falls = values.T
        most = np.logaddexp(0.0, np.log(2.0) + 0.5 * p * np.log(crossing / falls))
        return np.asarray(limit * np.exp(-most / p))

    def _at(self, values: Array, loads: Array) -> Array:
        limit, p, falls = (values[:, i, None] for i in (1, 2, 4))
        rises = -p * self._below(values, loads, values[:, 0, None])
        return np.asarray(limit * np.exp(-np.logaddexp(np.logaddexp(0.0, rises), p * np.log(loads / falls)) / p))


class ScalabilityLaw(ClosedModel):
    """Gunther's Universal Scalability Law by itself, for comparison. Its knee is R1 times its peak."""

    name = "Universal Scalability Law"
    assumption = "contention in proportion to the requests in flight, and a cost for every pair of them"
    misfit = CLOSED_MISFIT
    strata = (Stratum(0.5, {"coherency": 0.0}), Stratum(0.5))

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
        _, contention, coherency = values.T
        best = np.sqrt(np.maximum(1 - contention, 1e-9) / np.maximum(coherency, 1e-18)).clip(min=1.0)
        return self.at_own(values, best)

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        return table_of(
            self.parameters(points.load, points.throughput_per_s, points.response_time_s),
            self.strata,
            lambda values: np.log(self.throughput(values, points.load)),
            Observed(points.load, np.log(points.throughput_per_s), points.noise()[0]),
            self.process,
            self.misfit,
            Scale("g"),
        )

    def _at(self, values: Array, loads: Array) -> Array:
        alone, contention, coherency = (values[:, i, None] for i in range(3))
        return np.asarray(alone * (loads / (1 + (contention + coherency * loads) * (loads - 1))))


def shows_decline(loads: Array, throughput: Array) -> bool:
    """Whether the deepest of these points (m,) lies past a peak.

    >>> shows_decline(np.array([1.0, 8, 64]), np.array([1.0, 5, 3]))
    True
    >>> shows_decline(np.array([1.0, 2]), np.array([3.0, 2]))
    False
    """
    best = int(np.argmax(throughput >= (1 - TIE) * throughput.max()))
    if len(loads) < FEWEST:
        return False
    return bool(throughput[-1] <= SHOWN * throughput[best] and loads[-1] >= TIMES_DEEPER * loads[best])
