"""From a description of arrivals to the gaps between them, block after block.

A distribution draws independent gaps and remembers nothing.  A record remembers where it is: a
sampler holds that memory for one run.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from qsim._types import FloatArray
from qsim.arrivals import RecordedArrivals, Source
from qsim.distributions import Distribution
from qsim.errors import InvalidParameterError


class Filler(Protocol):
    """Whatever overwrites an array with the next variates."""

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Draw the next ``out.size`` variates."""
        ...


def sampler(arrivals: Source) -> Filler:
    """A fresh source of successive gaps."""
    if isinstance(arrivals, Distribution):
        return arrivals
    if isinstance(arrivals, RecordedArrivals):
        return _RecordedGaps(arrivals)
    raise InvalidParameterError(
        "arrivals", f"must be a Distribution or one of qsim.arrivals, not {arrivals!r}", value=arrivals
    )


class _RecordedGaps:
    """Gap after gap of the record, and again from its beginning."""

    def __init__(self, trace: RecordedArrivals) -> None:
        self._gaps = np.diff(np.asarray(trace.times, dtype=np.float64), prepend=0.0)
        self._next = 0

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        np.take(self._gaps, np.arange(self._next, self._next + out.size), mode="wrap", out=out)
        self._next = (self._next + out.size) % self._gaps.size
