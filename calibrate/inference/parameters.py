"""What is assumed before any point: the parameters of a model, and what no curve of the model draws.

All parameters are positive and are handled as logarithms. A prior is log-normal: a median, and the standard deviation
of the logarithm.

A curve with few parameters does not pass through a device's points, and where it is too low at depth 8 it is mostly too
low at depth 12 as well. So the logarithm of what is measured is

    log y(load) = log f(load; parameters) + d(load) + noise,

with d of mean 0, standard deviation s and correlation ``own`` [a = b] + (1 - own) exp(-|place(a) - place(b)| / length)
(Kennedy and O'Hagan, Bayesian calibration of computer models, JRSS B 2001). ``own`` is the share of the variance that
belongs to one measurement alone. s is inferred; ``length`` and ``own`` are given.

>>> process = MisfitProcess(length=1.0, own=0.2)
>>> process.between(np.array([8.0]), np.array([8.0, 800.0])).round(3).tolist()
[[0.8, 0.008]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Parameter:
    """A positive parameter with bounds, and a log-normal prior where ``prior_median`` is given."""

    name: str
    unit: str
    low: float
    high: float
    prior_median: float | None = None
    prior_log_sd: float | None = None


@dataclass(frozen=True)
class MisfitPrior:
    """Log-normal prior of the misfit's size s: the relative standard deviation of what no curve of the model draws.

    It is represented by ``sizes`` of equal probability or, where the points decide, by their weights.
    """

    median: float
    log_sd: float = 0.7

    def sizes(self) -> tuple[Array, Array]:
        """Sizes (k,), from the largest down, and the logarithms of their prior probabilities (k,)."""
        return self.median * np.exp(self.log_sd * SIZE_NODES), -0.5 * SIZE_NODES**2


SIZE_NODES = np.linspace(2.1, -2.1, 7)
"""Misfit sizes are tried at this many standard deviations of the prior's logarithm."""


@dataclass(frozen=True)
class MisfitProcess:
    """Correlation ``length`` in ln(load + ``pivot``), and the share ``own`` of the variance of one measurement alone.

    A ``pivot`` above zero is for loads that may be zero, such as injected delays; those well below it are alike.
    """

    length: float
    own: float
    pivot: float = 0.0

    def seen(self, used: Array) -> MisfitProcess:
        """The same process, given the loads calibrated on: some kinds measure nearness by these."""
        return self

    def place(self, loads: Array) -> Array:
        """Where a load stands, (m,) or (m, dimensions): differences are distances."""
        return np.asarray(np.log(loads + self.pivot))

    def between(self, some: Array, others: Array) -> Array:
        """The correlation (m, k) of d at ``some`` loads (m,) and at ``others`` (k,): different measurements."""
        here, there = self.place(some), self.place(others)
        apart = np.abs(here.reshape(len(some), 1, -1) - there.reshape(1, len(others), -1)).sum(axis=2)
        return np.asarray((1 - self.own) * np.exp(-apart / self.length))

    def among(self, loads: Array) -> Array:
        """The correlation (m, m) of d among measurements at ``loads`` (m,)."""
        return self.between(loads, loads) + self.own * np.eye(len(loads))


@dataclass(frozen=True)
class Independent(MisfitProcess):
    """Misses that say nothing of other loads."""

    length: float = 1.0
    own: float = 1.0


@dataclass(frozen=True)
class Carried:
    """What misses at the calibrated loads say of d at new measurements, for each of s misfit sizes.

    ``gain`` (s, m, k) times the misses (k,) is the mean of d at m new loads; ``covariance`` (s, m, m) is what is left.
    """

    gain: Array
    covariance: Array


def covariance_of(process: MisfitProcess, used: Array, noise: Array, size: float) -> Array:
    """The covariance (k, k) of log measurements at ``used`` (k,) with relative standard errors ``noise`` (k,)."""
    return size**2 * process.among(used) + np.diag(noise**2)


def carried(process: MisfitProcess, used: Array, noise: Array, sizes: Array, loads: Array) -> Carried:
    """The conditional distributions of d at new measurements at ``loads`` (m,), given those at ``used`` (k,)."""
    process = process.seen(used) if len(used) else process
    variance = sizes[:, None, None] ** 2
    alone = variance * process.among(loads)
    if len(used) == 0:
        return Carried(np.zeros((len(sizes), len(loads), 0)), alone)
    shared = variance * process.between(used, loads)
    gain = np.linalg.solve(variance * process.among(used) + np.diag(noise**2), shared).swapaxes(1, 2)
    return Carried(np.asarray(gain, dtype=np.float64), alone - gain @ shared)
