"""Streams of random times: one independent generator for each role in a plan.

A stream's seed depends on its role alone, so every plan with that role has the same customers, and two results differ
only through the systems. Variates are drawn in blocks that stay in the processor's cache. The block length decides
which variates a seed gives, so both engines use this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution
from qsim.engines.numbered import Plan

BLOCK = 8192  # variates drawn at once: 64 KiB a buffer

CARRY = 256  # variates that may be left over when a buffer is refilled

ARRIVALS, SERVICE, ROUTE, NEXT, VISITS = range(5)


class _Uniform(Distribution):
    """Variates between 0 and 1."""

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.random(out=out)


class _Counts(Distribution):
    """How often a customer is served: the whole number below or above a mean."""

    def __init__(self, mean: float) -> None:
        self._whole = math.floor(mean)
        self._share = mean - self._whole

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.random(out=out)
        out[:] = self._whole + (out < self._share)


class Role(NamedTuple):
    """The use of a stream's variates, the index of the place, and that of the kind of customer."""

    purpose: int
    place: int = 0
    kind: int = 0

    def seed(self, seed: int) -> np.random.SeedSequence:
        """The seed of this role's stream in a run with the given seed."""
        where = () if self.place == self.kind == 0 else (self.place, self.kind)
        return np.random.SeedSequence(seed, spawn_key=(self.purpose, *where))


class VariateStream:
    """Successive variates of one law.

    ``buffer[position:end]`` are the variates not used yet; a given buffer is at least CARRY + BLOCK long.
    """

    def __init__(self, law: Distribution, seed: np.random.SeedSequence, buffer: FloatArray | None = None) -> None:
        self._law = law
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self.buffer: FloatArray = np.empty(CARRY + BLOCK) if buffer is None else buffer
        self.position = 0
        self.end = 0

    def fill_up(self) -> None:
        """Move the unused variates to the front of the buffer, and draw as many blocks as fit behind them."""
        while self.end - self.position + BLOCK <= self.buffer.size:
            left = self.end - self.position
            self.buffer[:left] = self.buffer[self.position : self.end]
            self._law.fill(self._rng, self.buffer[left : left + BLOCK])
            self.position, self.end = 0, left + BLOCK

    def block(self) -> FloatArray:
        """The next BLOCK variates; the array is overwritten by the next call."""
        self._law.fill(self._rng, self.buffer[:BLOCK])
        return self.buffer[:BLOCK]

    def next(self) -> float:
        """One variate."""
        if self.position == self.end:
            self.fill_up()
        value = float(self.buffer[self.position])
        self.position += 1
        return value


def streams_of(plan: Plan, seed: int) -> tuple[dict[Role, VariateStream], FloatArray]:
    """A stream for each role, and the array whose rows are their buffers and one more number, in the same order.

    Each buffer has room for two blocks, so that streams, which run low at different times, are refilled seldom.
    """
    laws = list(_laws(plan))
    buffers = np.zeros((len(laws), CARRY + 2 * BLOCK + 1))
    rows = zip(laws, buffers[:, :-1], strict=True)
    streams = {role: VariateStream(law, role.seed(seed), row) for (role, law), row in rows}
    return streams, buffers


def _laws(plan: Plan) -> Iterator[tuple[Role, Distribution]]:
    """The roles of a plan and the distributions of their streams."""
    uniform = _Uniform()
    for kind, arrivals in enumerate(plan.sources):
        yield Role(ARRIVALS, kind=kind), arrivals
    for index, place in enumerate(plan.places):
        for kind, law in enumerate(place.service):
            yield Role(SERVICE, index, kind), law
        if place.routing == "random":
            yield Role(ROUTE, index), uniform
        for kind, ways in enumerate(plan.ways[index]):
            if len(ways) > 1:
                yield Role(NEXT, index, kind), uniform
        for kind, visits in enumerate(place.visits):
            if visits % 1 > 0:
                yield Role(VISITS, index, kind), _Counts(visits)
