"""Streams of random times: one independent generator for each role in a model.

Arrivals, services and routing each have their own stream, so that two engines, or two systems to be compared,
meet the same customers.  Variates are drawn in blocks that stay in the processor's cache: the block length is
part of what a seed means, so both engines use this class.
"""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution

BLOCK = 8192
"""Variates drawn at once: 64 KiB a buffer."""

CARRY = 8
"""Variates that may be left over when a buffer is refilled."""


class Uniform(Distribution):
    """Uniform on [0, 1): what a random choice of server is made of."""

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        rng.random(out=out)


class VariateStream:
    """Successive variates of one distribution.

    ``buffer[position:end]`` are the ones drawn but not used yet.
    """

    def __init__(self, distribution: Distribution, seed: np.random.SeedSequence) -> None:
        self._distribution = distribution
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self.buffer: FloatArray = np.empty(CARRY + BLOCK)
        self.position = 0
        self.end = 0

    def refill(self) -> None:
        """Draw another block behind what is left (at most CARRY variates)."""
        left = self.end - self.position
        self.buffer[:left] = self.buffer[self.position : self.end]
        self._distribution.fill(self._rng, self.buffer[left : left + BLOCK])
        self.position, self.end = 0, left + BLOCK

    def block(self) -> FloatArray:
        """The next BLOCK variates; the array is overwritten by the next call."""
        self._distribution.fill(self._rng, self.buffer[:BLOCK])
        return self.buffer[:BLOCK]

    def next(self) -> float:
        """One variate."""
        if self.position == self.end:
            self.refill()
        value = float(self.buffer[self.position])
        self.position += 1
        return value


def spawn(seed: int, roles: int) -> list[np.random.SeedSequence]:
    """Independent seeds, one for each role."""
    return np.random.SeedSequence(seed).spawn(roles)
