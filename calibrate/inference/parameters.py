"""Priors: the parameters of a model, and the misfit that no curve of the model explains.

All parameters are positive and are handled as logarithms. A prior is log-normal: a median, and the standard deviation
of the logarithm.

A curve with few parameters does not pass through a device's points, and where it is too low at depth 8 it is mostly too
low at depth 12 as well. So the logarithm of a measurement is

    log y(load) = log f(load; parameters) + d(load) + noise,

with d of mean 0, standard deviation s and correlation ``own`` [a = b] + (1 - own) exp(-|place(a) - place(b)| / length)
(Kennedy and O'Hagan, Bayesian calibration of computer models, JRSS B 2001). ``own`` is the share of the variance that
is independent between measurements. s is inferred; ``length`` and ``own`` are given.

>>> process = MisfitProcess(length=1.0, own=0.2)
>>> process.between(np.array([8.0]), np.array([8.0, 800.0])).round(3).tolist()
[[0.8, 0.008]]
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration, format_rate, plain_number

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
class Observed:
    """Measurements at the loads ``used`` (k, ...): logarithms (k,) and relative standard errors ``noise`` (k,)."""

    used: Array
    log: Array
    noise: Array


@dataclass(frozen=True)
class MisfitPrior:
    """Log-normal prior of the misfit's size s: the relative standard deviation of a device around the model's curve.

    It is represented by a few ``sizes`` with their probabilities.
    """

    median: float
    log_sd: float = 0.7

    def sizes(self) -> tuple[Array, Array]:
        """Sizes (k,), from the largest down, and the logarithms of their prior probabilities (k,)."""
        return self.median * np.exp(self.log_sd * SIZE_NODES), -0.5 * SIZE_NODES**2


SIZE_NODES = np.linspace(2.1, -2.1, 7)
"""The sizes to try, in standard deviations of the prior's logarithm."""


@dataclass(frozen=True)
class MisfitProcess:
    """The misfit's correlation ``length`` in ln(load + ``pivot``), and the independent share ``own`` of its variance.

    A ``pivot`` above zero is for loads that may be zero, such as injected delays; loads well below it hardly differ.
    """

    length: float
    own: float
    pivot: float = 0.0

    def seen(self, used: Array) -> MisfitProcess:
        """The process given the calibration loads, from which some kinds compute distances."""
        return self

    def place(self, loads: Array) -> Array:
        """Coordinates of loads, (m,) or (m, dimensions), whose differences are distances."""
        return np.asarray(np.log(loads + self.pivot))

    def between(self, some: Array, others: Array) -> Array:
        """The correlation (m, k) of d at ``some`` loads (m,) and at ``others`` (k,): different measurements."""
        here, there = (np.column_stack([self.place(loads)]) for loads in (some, others))
        apart = np.abs(here[:, None] - there).sum(axis=2)
        return np.asarray((1 - self.own) * np.exp(-apart / self.length))

    def among(self, loads: Array) -> Array:
        """The correlation (m, m) of d among measurements at ``loads`` (m,)."""
        return self.between(loads, loads) + self.own * np.eye(len(loads))


def covariance_of(process: MisfitProcess, used: Array, noise: Array, size: float) -> Array:
    """The covariance (k, k) of log measurements at ``used`` (k,) with relative standard errors ``noise`` (k,)."""
    return size**2 * process.among(used) + np.diag(noise**2)


def carried(process: MisfitProcess, used: Array, noise: Array, sizes: Array, loads: Array) -> tuple[Array, Array]:
    """The conditional distributions of d at new measurements at ``loads`` (m,), for each of s misfit sizes.

    The first (s, m, k) times the residuals at ``used`` (k,) is the mean of d; the second (s, m, m) is its covariance.
    """
    variance = sizes[:, None, None] ** 2
    if len(used) == 0:
        return np.zeros((len(sizes), len(loads), 0)), variance * process.among(loads)
    process = process.seen(used)
    shared = variance * process.between(used, loads)
    gain = np.linalg.solve(variance * process.among(used) + np.diag(noise**2), shared).swapaxes(1, 2)
    return np.asarray(gain, dtype=np.float64), variance * process.among(loads) - gain @ shared


LEVEL, LOWEST_LEVEL = 0.9, 0.5

ROUGH = 2.0
"""A number is rough where the ends of its interval differ by more than this factor."""

ASSUMED = 0.6
"""A quantity comes mostly from the prior where its log width is more than this share of the prior's."""


@dataclass(frozen=True)
class Estimate:
    """A parameter [low estimate high]; ``identified`` is False where the points do not determine it (``note``: why)."""

    estimate: float | None
    low: float | None
    high: float | None
    identified: bool
    unit: str = ""
    note: str = ""

    def moved_to(self, estimate: float, *held: float) -> Estimate:
        """The same with another ``estimate``, its interval made to hold that, and other values that it must hold."""
        low, high = min(self.low or estimate, estimate), max(self.high or estimate, estimate, *held)
        narrow = self.identified and high < ROUGH * low
        return replace(self, estimate=estimate, low=low, high=high, identified=narrow)

    def __str__(self) -> str:
        estimate, low, high = (quantity(value, self.unit) for value in (self.estimate, self.low, self.high))
        return f"{estimate}  [{low}, {high}]" if low and high else estimate


def how_sure(identified: bool, low: float | None, high: float | None) -> str:
    """``sure``; ``rough``: the interval spans more than a factor of two; ``assumed``: the number comes from the prior.

    >>> how_sure(True, 2.0, 2.9), how_sure(False, 13, 158), how_sure(False, 0, 1), how_sure(False, 1, 2)
    ('sure', 'rough', 'rough', 'assumed')
    """
    if identified:
        return "sure"
    return "rough" if low is None or high is None or low <= 0 or high / low > ROUGH else "assumed"


def quantity(value: float | None, unit: str) -> str:
    """A parameter's value with its unit, for people, a memory's cache lines as a bandwidth; empty for None."""
    if value is None:
        return ""
    if unit == "1/s":
        return format_rate(value)
    if unit == "lines/s":
        return format_bandwidth(value * CACHE_LINE_BYTES)
    if unit == "B/s":
        return format_bandwidth(value)
    if unit == "B":
        return format_bytes(value, digits=3)
    base, per, rest = unit.partition(" per ")
    return format_duration(value) + per + rest if base == "s" else f"{plain_number(value)} {unit}".strip()
