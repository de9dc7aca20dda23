"""Arrivals that were recorded, not drawn from a law.

A plain distribution of times between arrivals (a renewal process) needs nothing from here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qsim import _check
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError


@dataclass(frozen=True)
class RecordedArrivals:
    """Arrivals at the recorded instants ``times`` (from zero, never falling), played back in that order.

    A simulation of at most as many customers plays them once; a longer one starts the record again where it ended.

    >>> RecordedArrivals([0.0, 1.0, 4.0]).arrival_rate
    0.75
    """

    times: Sequence[float]

    def __post_init__(self) -> None:
        times = _check.non_negatives("times", self.times)
        if not times or times[-1] == 0:
            raise InvalidParameterError("times", "must hold an instant above zero", "a rate needs some time to pass")
        for i, (before, after) in enumerate(itertools.pairwise(times), start=1):
            if after < before:
                problem = f"must not be before the one ahead of it ({before!r}), not {after!r}"
                raise InvalidParameterError(f"times[{i}]", problem, "sort them", value=after)
        object.__setattr__(self, "times", times)

    @property
    def mean(self) -> float:
        """Mean time between one customer and the next."""
        return self.times[-1] / len(self.times)

    @property
    def arrival_rate(self) -> float:
        """Customers per time unit."""
        return 1 / self.mean

    @property
    def letter(self) -> str:
        """What stands for the arrivals in Kendall's notation."""
        return "trace"


Source: TypeAlias = Distribution | RecordedArrivals
"""Independent times between arrivals, or a record of arrivals."""


def require_arrivals(name: str, value: object) -> Source:
    """The value when it describes arrivals; a Poisson process of rate zero is let through."""
    if isinstance(value, RecordedArrivals) or (isinstance(value, Exponential) and math.isinf(value.mean)):
        return value
    return require(name, value)


def dispersion_of(arrivals: Source) -> float:
    """Index of dispersion of the arrivals: of a renewal process the scv of its gaps (Cox 1962, section 4.2).

    Of a record, too: how its gaps depend on each other is not estimated from one record.
    """
    if isinstance(arrivals, Distribution):
        return arrivals.scv
    gaps = np.diff(np.asarray(arrivals.times), prepend=0.0)
    return float(gaps.var() / gaps.mean() ** 2)
