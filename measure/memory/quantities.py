"""A quantity measured several times: its best, its mean with an interval, its spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from measure.repeats import half_width
from qsim.errors import InvalidParameterError


@dataclass(frozen=True)
class Repeated:
    """A quantity measured several times, in SI units (seconds, bytes a second).

    ``best`` is the one least disturbed by others: the lowest latency, the highest bandwidth.
    """

    values: tuple[float, ...]
    best: float

    @classmethod
    def times(cls, values: Iterable[float]) -> Repeated:
        """Times, of which the lowest is the best. ValueError where there is none."""
        kept = tuple(float(v) for v in values)
        return cls(kept, min(kept))

    @classmethod
    def rates(cls, values: Iterable[float]) -> Repeated:
        """Rates, of which the highest is the best. ValueError where there is none."""
        kept = tuple(float(v) for v in values)
        return cls(kept, max(kept))

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """Standard deviation / mean over the repeats; NaN for one repeat."""
        return statistics.stdev(self.values) / self.mean if len(self.values) > 1 else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval of the mean at ``level``, by Student's t over the repeats; NaN for one repeat.

        It holds where the repeats are alike and disturbed independently; never below zero.
        """
        if not 0 < level < 1:
            raise InvalidParameterError("level", f"{level:g} must lie between 0 and 1, like 0.95", value=level)
        half = half_width([value - self.mean for value in self.values], level)
        return max(0.0, self.mean - half) if math.isfinite(half) else math.nan, self.mean + half
