"""A rate that varies with time: a number, a table of steps, or a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.errors import InvalidParameterError

GivenRate: TypeAlias = float | Mapping[float, float] | Callable[[float], float]

POINTS = 4097
"""At which a function is looked at, from zero to the end, before anything else."""

HEADROOM = 1.05
"""By which the most a function may reach exceeds the most that was seen of it."""


@dataclass(frozen=True)
class RateOfTime:
    """``steps``: times and the rates from there on, constant in between; or a ``function`` of time, up to ``most``."""

    steps: tuple[tuple[float, float], ...]
    function: Callable[[float], float] | None
    most: float

    @classmethod
    def checked(cls, name: str, given: GivenRate, until: float) -> RateOfTime:
        """Raises ValueError for a rate that is negative, not finite or not known at some time up to ``until``.

        >>> RateOfTime.checked("arrival_rate", {0: 10.0, 9: 60.0}, until=24).at(9.5)
        60.0
        """
        if callable(given):
            highest = max(_at(name, given, t) for t in np.linspace(0.0, until, POINTS).tolist())
            return cls((), given, HEADROOM * highest)
        if isinstance(given, Mapping):
            steps = sorted((_check.number(f"{name}: time", t), r) for t, r in given.items())
            if not steps or steps[0][0] > 0:
                raise InvalidParameterError(name, "must say the rate from time 0 on", "begin it with {0: ...}", given)
            checked = tuple((t, _check.non_negative(f"{name} at t = {t:g}", r)) for t, r in steps)
        else:
            checked = ((0.0, _check.non_negative(name, given)),)
        return cls(checked, None, max(rate for _, rate in checked))

    def at(self, t: float) -> float:
        """The rate at time t."""
        if self.function is not None:
            return _at("arrival_rate", self.function, t)
        return next(rate for begin, rate in reversed(self.steps) if begin <= t)

    def each(self, times: FloatArray) -> FloatArray:
        """The rates at these times."""
        if self.function is not None:
            return np.array([self.at(t) for t in times.tolist()])
        begins, rates = np.array(self.steps).T
        return np.asarray(rates[np.maximum(np.searchsorted(begins, times, side="right") - 1, 0)])

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where a table steps."""
        return tuple(t for t, _ in self.steps[1:])


def _at(name: str, function: Callable[[float], float], t: float) -> float:
    rate = _check.number(f"{name}({t:g})", function(t))
    if not 0 <= rate < math.inf:
        raise InvalidParameterError(
            name,
            f"must be zero or positive at every time, not {rate:g} at t = {t:g}",
            "cut it off with max(0, ...)",
            rate,
        )
    return rate
