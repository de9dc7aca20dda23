"""From a description of arrivals to the gaps between them, block after block.

A distribution draws independent gaps and remembers nothing.  The processes of qsim.arrivals remember where in a
batch, a burst or a record they are: a sampler holds that memory for one run.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.arrivals import Arrivals, Batches, Geometric, HiddenMarkov, RecordedArrivals
from qsim.distributions import Distribution
from qsim.engines.jit import kernel
from qsim.errors import InvalidParameterError


class Filler(Protocol):
    """Whatever overwrites an array with the next variates."""

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        """Draw the next ``out.size`` variates."""
        ...


def sampler(arrivals: Arrivals) -> Filler:
    """A fresh source of successive gaps."""
    if isinstance(arrivals, Distribution):
        return arrivals
    if isinstance(arrivals, Batches):
        return _BatchGaps(arrivals)
    if isinstance(arrivals, HiddenMarkov):
        return _ModulatedGaps(arrivals)
    if isinstance(arrivals, RecordedArrivals):
        return _RecordedGaps(arrivals)
    raise InvalidParameterError(
        "arrivals", f"must be a Distribution or one of qsim.arrivals, not {arrivals!r}", value=arrivals
    )


class _BatchGaps:
    """The first of a batch comes a gap after the batch before, the others at once."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._left: FloatArray = np.empty(0)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        parts, drawn = [self._left], self._left.size
        while drawn < out.size:
            sizes = self._draw_sizes(rng, math.ceil((out.size - drawn) / self._batches.sizes.mean) + 1)
            gaps = np.zeros(int(sizes.sum()))
            gaps[np.cumsum(sizes) - sizes] = self._batches.gaps.sample(rng, sizes.size)
            parts.append(gaps)
            drawn += gaps.size
        every = np.concatenate(parts)
        out[:] = every[: out.size]
        self._left = every[out.size :]

    def _draw_sizes(self, rng: np.random.Generator, n: int) -> IntArray:
        law = self._batches.sizes
        if isinstance(law, Geometric):
            return rng.geometric(1 / law.mean, n)
        column = np.searchsorted(np.cumsum(law.probabilities)[:-1], rng.random(n), side="right")
        return np.asarray(law.sizes, dtype=np.int64)[column]


class _RecordedGaps:
    """Gap after gap of the record, and again from its beginning."""

    def __init__(self, trace: RecordedArrivals) -> None:
        self._gaps = np.diff(np.asarray(trace.times, dtype=np.float64), prepend=0.0)
        self._next = 0

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        np.take(self._gaps, np.arange(self._next, self._next + out.size), mode="wrap", out=out)
        self._next = (self._next + out.size) % self._gaps.size


class _ModulatedGaps:
    """The hidden chain starts in a state drawn from its long-run probabilities."""

    def __init__(self, process: HiddenMarkov) -> None:
        without, with_arrival = process.matrices
        outflow = -np.diag(without)  # arrivals and changes of state together
        moves = np.hstack([with_arrival, np.where(np.eye(outflow.size, dtype=bool), 0.0, without)])
        self._leaving = np.where(outflow > 0, outflow, 1.0)
        self._upto = np.cumsum(moves / self._leaving[:, np.newaxis], axis=1)
        self._start = np.cumsum(process.state_probabilities)
        self._state = np.array([-1], dtype=np.int64)
        self._since = np.zeros(1)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        if self._state[0] < 0:
            self._state[0] = min(int(np.searchsorted(self._start, rng.random(), side="right")), self._start.size - 1)
        done = 0
        while done < out.size:
            times, choices = rng.standard_exponential(out.size), rng.random(out.size)
            done += _modulate(times, choices, self._leaving, self._upto, self._state, self._since, out[done:])


@kernel()
def _modulate(
    times: FloatArray,
    choices: FloatArray,
    leaving: FloatArray,
    upto: FloatArray,
    state: IntArray,
    since: FloatArray,
    out: FloatArray,
) -> int:
    """Let the chain move ``times.size`` times; the first half of the columns are moves with an arrival."""
    now, waited, done = state[0], since[0], 0
    for i in range(times.size):
        if done == out.size:
            break
        waited += times[i] / leaving[now]
        move = 0
        while move < upto.shape[1] - 1 and choices[i] >= upto[now, move]:
            move += 1
        now = move % leaving.size
        if move < leaving.size:
            out[done] = waited
            waited = 0.0
            done += 1
    state[0], since[0] = now, waited
    return done
