"""How customers come when the times between them are not independent: in batches, in bursts, or as recorded.

A plain distribution of times between arrivals (a renewal process) needs nothing from here.  The processes below
say how many come per time unit on average, and how irregularly: the index of dispersion, the variance of the number
that come in a long time over its mean, is 1 for Poisson arrivals, the scv of the gaps for a renewal process, and
far above 1 for bursts.  It, not the scv of single gaps, sets how long queues get.

>>> bursts = OnOff(arrival_rate=10.0, mean_on=1.0, mean_off=4.0)
>>> round(bursts.arrival_rate, 6)
2.0
>>> round(bursts.dispersion, 6)
13.8
>>> Batches(Exponential(2.0), Geometric(mean=4.0)).arrival_rate
2.0
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qsim import _check
from qsim._types import ComplexArray, FloatArray
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError


class ArrivalProcess:
    """A stream of arrivals whose gaps depend on each other.

    >>> from qsim import MarkovModulated, OnOff
    >>> issubclass(MarkovModulated, ArrivalProcess), isinstance(OnOff(2, mean_on=1, mean_off=1), ArrivalProcess)
    (True, True)
    """

    if TYPE_CHECKING:
        # Only for the type checker: a process may have these as fields, which a property here would shadow.
        @property
        def mean(self) -> float:
            """Mean time between one customer and the next."""

        @property
        def dispersion(self) -> float:
            """Index of dispersion: variance over mean of the number of arrivals in a long time."""

    @property
    def arrival_rate(self) -> float:
        """Customers per time unit."""
        return 1 / self.mean

    @property
    def letter(self) -> str:
        """What stands for the arrivals in Kendall's notation."""
        return "G"


@dataclass(frozen=True)
class Geometric:
    """Batch sizes 1, 2, 3, ... with P(k) = (1 - q)·q^(k-1) and q = 1 - 1/mean.

    >>> from qsim import MX1, solve
    >>> solve(MX1(batch_rate=0.25, size=Geometric(mean=2), service_rate=1)).W
    4.0
    """

    mean: float

    def __post_init__(self) -> None:
        value = _check.positive("mean", self.mean)
        if value < 1:
            raise InvalidParameterError(
                "mean", f"must be at least 1, not {self.mean!r}", "no batch is empty", value=self.mean
            )
        object.__setattr__(self, "mean", value)

    @property
    def variance(self) -> float:
        """Variance of the size."""
        return self.mean * (self.mean - 1)

    def pmf(self, k: int) -> float:
        """P(size = k)."""
        return (1 - 1 / self.mean) ** (k - 1) / self.mean if k >= 1 else 0.0

    def generating(self, z: ComplexArray) -> ComplexArray:
        """E[z^size], |z| <= 1."""
        return np.asarray(z / (self.mean - (self.mean - 1) * z))


@dataclass(frozen=True)
class SizeTable:
    """Batch sizes ``sizes[i]`` with ``probabilities[i]``."""

    sizes: tuple[int, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        sizes = tuple(
            _check.count("a batch size", s, remedy="a batch holds one customer or more")
            for s in _check.sequence("sizes", self.sizes)
        )
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "probabilities", _check.weights("probabilities of batch sizes", self.probabilities))
        if len(sizes) != len(self.probabilities):
            raise InvalidParameterError(
                "probabilities",
                f"must be as many as sizes ({len(sizes)}), not {len(self.probabilities)}",
                "give one for each size",
                len(self.probabilities),
            )

    @property
    def mean(self) -> float:
        """Mean size."""
        return math.fsum(p * s for s, p in zip(self.sizes, self.probabilities, strict=True))

    @property
    def variance(self) -> float:
        """Variance of the size."""
        return math.fsum(p * (s - self.mean) ** 2 for s, p in zip(self.sizes, self.probabilities, strict=True))

    def pmf(self, k: int) -> float:
        """P(size = k)."""
        return math.fsum(p for s, p in zip(self.sizes, self.probabilities, strict=True) if s == k)

    def generating(self, z: ComplexArray) -> ComplexArray:
        """E[z^size], |z| <= 1."""
        return np.asarray(sum(p * z**s for s, p in zip(self.sizes, self.probabilities, strict=True)))


Sizes: TypeAlias = Geometric | SizeTable


@dataclass(frozen=True)
class Batches(ArrivalProcess):
    """Batches at independent times ``gaps`` apart; the customers of one come at the same instant.

    ``size``: a number for batches of that size, a table {size: probability}, or Geometric(mean).

    >>> from qsim import Exponential, Open, solve
    >>> arrivals = Batches(gaps=Exponential(mean=4), size=2)
    >>> arrivals.mean
    2.0
    >>> solve(Open(arrivals, Exponential(mean=1))).W
    3.0
    """

    gaps: Distribution
    size: Sizes | Mapping[int, float] | int

    def __post_init__(self) -> None:
        require("gaps", self.gaps)
        if isinstance(self.size, Mapping):
            object.__setattr__(self, "size", SizeTable(tuple(self.size), tuple(self.size.values())))
        elif not isinstance(self.size, Geometric | SizeTable):
            remedy = "give a number, a table {size: probability} or Geometric(mean)"
            object.__setattr__(self, "size", SizeTable((_check.count("size", self.size, 1, remedy),), (1.0,)))

    @property
    def sizes(self) -> Sizes:
        """The law of batch sizes."""
        assert isinstance(self.size, Geometric | SizeTable)  # noqa: S101  (__post_init__ made it so)
        return self.size

    @property
    def mean(self) -> float:
        return self.gaps.mean / self.sizes.mean

    @property
    def dispersion(self) -> float:
        """E[X]·(scv of the gaps) + Var[X]/E[X], by the law of total variance over the batches of a long time."""
        return self.sizes.mean * self.gaps.scv + self.sizes.variance / self.sizes.mean

    @property
    def letter(self) -> str:
        return f"{self.gaps.letter}^X"


class HiddenMarkov(ArrivalProcess):
    """Arrivals that come while a hidden Markov chain changes its state, or with a change.

    >>> from qsim import OnOff
    >>> isinstance(OnOff(2, mean_on=1, mean_off=1), HiddenMarkov)
    True
    """

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        """(D0, D1): the rates between states without (diagonal: minus the rate of anything) and with an arrival."""
        raise NotImplementedError

    def _require_one_class(self, name: str) -> None:
        if self._stationary is None:
            raise InvalidParameterError(
                name, "must let every state be reached from every other", "leave out the dead ones"
            )

    @cached_property
    def _stationary(self) -> FloatArray | None:
        without, with_arrival = self.matrices
        q = without + with_arrival
        reach = np.linalg.matrix_power((q != 0) | np.eye(len(q), dtype=bool), len(q)) > 0
        if not reach.all():
            return None
        equations = np.vstack([q.T / np.abs(q).max(initial=1e-300), np.ones(len(q))])
        return np.asarray(np.linalg.lstsq(equations, np.append(np.zeros(len(q)), 1.0), rcond=None)[0])

    @property
    def state_probabilities(self) -> tuple[float, ...]:
        """Long-run share of time the hidden chain spends in each state."""
        assert self._stationary is not None  # noqa: S101  (__post_init__ refused such chains)
        return tuple(float(p) for p in np.maximum(self._stationary, 0.0))

    @cached_property
    def mean(self) -> float:
        rates = self.matrices[1].sum(axis=1).tolist()
        return 1 / math.fsum(p * r for p, r in zip(self.state_probabilities, rates, strict=True))

    @cached_property
    def dispersion(self) -> float:
        """1 + 2·π·D1·D·D1·1/(π·D1·1), where D = (1·π - Q)⁻¹ - 1·π is the chain's deviation matrix.

        For two states of a modulated Poisson process this is Heffes & Lucantoni (1986), IEEE J. Sel. Areas Commun. 4.
        """
        without, with_arrival = self.matrices
        pi = np.asarray(self.state_probabilities)
        ones = np.outer(np.ones(pi.size), pi)
        deviation = np.linalg.inv(ones - without - with_arrival) - ones
        return float(1 + 2 * pi @ with_arrival @ deviation @ with_arrival.sum(axis=1) * self.mean)


@dataclass(frozen=True)
class MarkovModulated(HiddenMarkov):
    """Poisson arrivals whose rate is ``rates[i]`` while a hidden Markov chain is in state i (MMPP).

    ``generator[i][j]`` is the rate of going from state i to j; each row adds up to zero.
    Source: Fischer & Meier-Hellstern (1993), "The MMPP cookbook", Performance Evaluation 18, 149-171.

    >>> arrivals = MarkovModulated(rates=(4, 0), generator=((-1, 1), (1, -1)))
    >>> arrivals.mean
    0.5
    """

    rates: tuple[float, ...]
    generator: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        rates = _check.non_negatives("rates", self.rates)
        if not rates or max(rates) == 0:
            raise InvalidParameterError(
                "rates", f"must not all be zero, not {self.rates!r}", "nobody would ever come", value=self.rates
            )
        rows = tuple(
            tuple(_check.number(f"generator[{i}][{j}]", x) for j, x in enumerate(_check.sequence("generator", row)))
            for i, row in enumerate(_check.sequence("generator", self.generator))
        )
        if len(rows) != len(rates) or any(len(row) != len(rates) for row in rows):
            raise InvalidParameterError(
                "generator", f"must have {len(rates)} rows of {len(rates)} rates, one for each of rates"
            )
        for i, row in enumerate(rows):
            if any(x < 0 for j, x in enumerate(row) if j != i):
                raise InvalidParameterError(
                    f"generator[{i}]", f"must not be negative off the diagonal, not {row!r}", value=row
                )
            if abs(math.fsum(row)) > 1e-9 * max(abs(x) for x in (*row, 1e-300)):
                raise InvalidParameterError(
                    f"generator[{i}]",
                    f"must add up to zero, not {math.fsum(row)!r}",
                    "the diagonal is minus the sum of the others",
                    math.fsum(row),
                )
        object.__setattr__(self, "rates", rates)
        object.__setattr__(self, "generator", rows)
        self._require_one_class("generator")

    @property
    def matrices(self) -> tuple[FloatArray, FloatArray]:
        with_arrival = np.diag(self.rates)
        return np.asarray(self.generator) - with_arrival, with_arrival

    @property
    def letter(self) -> str:
        return "MMPP"


def OnOff(arrival_rate: float, mean_on: float, mean_off: float) -> MarkovModulated:  # noqa: N802
    """Bursts: Poisson arrivals of ``arrival_rate`` during exponential on-times, none during exponential off-times.

    >>> round(OnOff(arrival_rate=4, mean_on=1, mean_off=3).mean, 6)
    1.0
    """
    rate = _check.positive("arrival_rate", arrival_rate, "give the arrivals per time unit while it is on")
    on, off = 1 / _check.positive("mean_on", mean_on), 1 / _check.positive("mean_off", mean_off)
    return MarkovModulated((rate, 0.0), ((-on, on), (off, -off)))


@dataclass(frozen=True)
class RecordedArrivals(ArrivalProcess):
    """Arrivals at the recorded instants ``times`` (from zero, never falling), played back in that order.

    A simulation of at most as many customers plays them once; a longer one starts the record again where it ended.

    >>> RecordedArrivals([0.0, 1.0, 4.0]).times
    (0.0, 1.0, 4.0)
    """

    times: Sequence[float]

    def __post_init__(self) -> None:
        times = tuple(_check.non_negatives("times", self.times))
        if not times:
            raise InvalidParameterError("times", "must not be empty", "give the instants at which customers came")
        for i in range(1, len(times)):
            if times[i] < times[i - 1]:
                raise InvalidParameterError(
                    f"times[{i}]",
                    f"must not be before the one ahead of it ({times[i - 1]!r}), not {times[i]!r}",
                    "sort them",
                    value=times[i],
                )
        if times[-1] == 0:
            raise InvalidParameterError("times", "must not all be zero", "a rate of arrivals needs some time to pass")
        object.__setattr__(self, "times", times)

    @property
    def mean(self) -> float:
        return self.times[-1] / len(self.times)

    @cached_property
    def dispersion(self) -> float:
        """The scv of the gaps: how they hang together is not estimated from one record."""
        gaps = np.diff(np.asarray(self.times), prepend=0.0)
        return float(gaps.var() / gaps.mean() ** 2)

    @property
    def letter(self) -> str:
        return "trace"


Arrivals: TypeAlias = Distribution | ArrivalProcess
"""Independent times between arrivals, or a process whose gaps depend on each other."""


def require_arrivals(name: str, value: object) -> Arrivals:
    """The value when it says how customers come; a Poisson process of rate zero is let through."""
    if isinstance(value, ArrivalProcess) or (isinstance(value, Exponential) and math.isinf(value.mean)):
        return value
    return require(name, value)


def dispersion_of(arrivals: Arrivals) -> float:
    """Index of dispersion of the arrivals: of a renewal process the scv of its gaps (Cox 1962, section 4.2)."""
    return arrivals.scv if isinstance(arrivals, Distribution) else arrivals.dispersion
