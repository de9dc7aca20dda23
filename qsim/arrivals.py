"""How customers come when the times between them are recorded, not drawn from a law.

A plain distribution of times between arrivals (a renewal process) needs nothing from here.

>>> RecordedArrivals([0.0, 1.0, 4.0]).arrival_rate
0.75
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qsim import _check
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError


class ArrivalProcess:
    """A stream of arrivals whose gaps depend on each other.

    >>> isinstance(RecordedArrivals([0.0, 1.0]), ArrivalProcess)
    True
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


Source: TypeAlias = Distribution | ArrivalProcess
"""Independent times between arrivals, or a process whose gaps depend on each other."""


def require_arrivals(name: str, value: object) -> Source:
    """The value when it says how customers come; a Poisson process of rate zero is let through."""
    if isinstance(value, ArrivalProcess) or (isinstance(value, Exponential) and math.isinf(value.mean)):
        return value
    return require(name, value)


def dispersion_of(arrivals: Source) -> float:
    """Index of dispersion of the arrivals: of a renewal process the scv of its gaps (Cox 1962, section 4.2)."""
    return arrivals.scv if isinstance(arrivals, Distribution) else arrivals.dispersion
