"""M/G/1 served by size: SJF, PSJF and SRPT.

The shortest job goes first.  With ρ(x) = λ·E[S; S <= x] the load of jobs up to x (ρ(x⁻): below x), a job of size x
is held up only by the work that goes before it, as if the rest were not there:

    SJF    W(x) = x + λ·E[S²] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))
    PSJF   W(x) = x/(1 - ρ(x⁻)) + λ·E[S²; S <= x] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))
    SRPT   W(x) = integral of dt/(1 - ρ(t)), t = 0..x, + λ·E[min(S, x)²] / (2·(1 - ρ(x⁻))·(1 - ρ(x)))

SJF (shortest job first) lets a service that has begun end; PSJF interrupts it for a shorter job; SRPT for one shorter
than what is left of it, and no order has a smaller mean. The means over x are taken in thin strata of
sizes, each a class of its own, which is right for atoms of probability too (relative error about 1e-6).

Source: Phipps (1956), Oper. Res. 4 (SJF); Schrage & Miller (1966), Oper. Res. 14 (SRPT);
Harchol-Balter (2013), Performance Modeling and Design of Computer Systems, sections 31.3, 32.3 and 33.1.

>>> from qsim import Exponential
>>> [round(mean_response(0.8, Exponential(1.0), rule), 3) for rule in ("SJF", "PSJF", "SRPT")]
[2.882, 2.659, 2.353]
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution

RULES = ("SJF", "PSJF", "SRPT")

STRATA = 10_000
ATOM = 1e-3
"""A stratum with more of the customers than this is an atom: one size that many have."""


def mean_response(arrival_rate: float, service: Distribution, rule: str) -> float:
    """W of M/G/1 under SJF, PSJF or SRPT, for 0 < ρ < 1.

    Infinite under SJF where E[S²] is: every arrival waits for the rest of a service, however short its own.

    >>> from qsim import Exponential
    >>> round(mean_response(0.8, Exponential(mean=1), "SRPT"), 3)
    2.353
    """
    if rule == "SJF" and math.isinf(service.scv):
        return math.inf
    strata = _strata(arrival_rate, service)
    return float(strata.share @ strata.response(rule))


@dataclass(frozen=True)
class Strata:
    """Thin strata of sizes: the share of customers, their mean size, and what goes before them."""

    arrival_rate: float
    share: FloatArray
    size: FloatArray
    below: FloatArray
    """ρ of the strata before this one."""
    upto: FloatArray
    """ρ including this one."""
    second: FloatArray
    """E[S²; S in an earlier stratum]."""
    left: FloatArray
    """P(S in this stratum or a later one)."""
    second_moment: float
    growth: FloatArray
    """For SRPT: the integral of dt/(1 - ρ(t)) up to this size."""

    def response(self, rule: str) -> FloatArray:
        """W for each stratum."""
        square = (1 - self.below) * (1 - self.upto)
        own = self.share * self.size**2
        if rule == "SJF":
            return np.asarray(self.size + self.arrival_rate * self.second_moment / 2 / square)
        if rule == "PSJF":
            # Within a stratum the load rises from below to upto, unless all in it have one size.
            spread = np.log1p((self.upto - self.below) / (1 - self.upto)) / np.maximum(self.upto - self.below, 1e-300)
            stretch = np.where((self.share > ATOM) | (self.upto == self.below), 1 / (1 - self.below), spread)
            ahead = self.second + np.where(self.share > ATOM, own, own / 2)
            return np.asarray(self.size * stretch + self.arrival_rate * ahead / 2 / square)
        limited = self.second + self.size**2 * self.left
        return np.asarray(self.growth + self.arrival_rate * limited / 2 / square)


def _strata(arrival_rate: float, service: Distribution) -> Strata:
    low = max(service.quantile(1e-12), 1e-12 * service.mean)
    high = service.quantile(1 - 1e-14)
    edges = np.append(np.geomspace(low * (1 - 1e-9), max(high, low) * (1 + 1e-9), STRATA), 0.0)
    edges = np.unique(edges)
    below, survival = service.cdf(edges), 1 - service.cdf(edges)
    limited = service.limited_mean(edges)
    share = np.diff(below)
    work = np.maximum(np.diff(limited - edges * survival), 0.0)
    share = np.append(share, survival[-1])  # sizes beyond the last edge are one more stratum
    work = np.append(work, max(0.0, service.mean - float(work.sum())))
    begins = edges[: share.size]
    size = np.where(share > 1e-15, work / np.maximum(share, 1e-300), begins)
    size = np.clip(size, begins, np.append(edges[1:], math.inf)[: share.size])
    upto = np.minimum(np.cumsum(arrival_rate * work), arrival_rate * service.mean)
    start = np.concatenate(([0.0], upto[:-1]))
    second = np.cumsum(share * size**2) - share * size**2
    pace = 1 / (1 - start)
    growth = np.concatenate(([0.0], np.cumsum(np.diff(edges) * (pace + 1 / (1 - upto))[: edges.size - 1] / 2)))
    growth = growth[: share.size] + (size - begins) * pace
    left = 1 - below[: share.size]
    return Strata(arrival_rate, share, size, start, upto, second, left, service.moment(2), growth)
