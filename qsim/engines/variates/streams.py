"""Streams of random times: one independent generator for each role in a model.

Arrivals, services and routing each have their own stream, so that two engines, or two systems to be compared,
meet the same customers.  Variates are drawn in blocks that stay in the processor's cache: the block length is
part of what a seed means, so both engines use this class.
"""

from __future__ import annotations

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Exponential
from qsim.engines.variates.arrival_streams import Filler
from qsim.engines.variates.ziggurat import FastExponential

BLOCK = 8192
"""Variates drawn at once: 64 KiB a buffer."""

CARRY = 256
"""Variates that may be left over when a buffer is refilled."""


class VariateStream:
    """Successive variates of one distribution, or other source of them.

    ``buffer[position:end]`` are the ones drawn but not used yet; the buffer, at least CARRY + BLOCK long, may be given.
    """

    def __init__(self, filler: Filler, seed: np.random.SeedSequence, buffer: FloatArray | None = None) -> None:
        # Most of a simulation's time goes into drawing, and most of what is drawn is exponential.
        self._filler = FastExponential(filler.mean, seed) if isinstance(filler, Exponential) else filler
        self._rng = np.random.Generator(np.random.SFC64(seed))
        self.buffer: FloatArray = np.empty(CARRY + BLOCK) if buffer is None else buffer
        self.position = 0
        self.end = 0

    def refill(self) -> None:
        """Draw another block behind what is left, for which there must be room."""
        left = self.end - self.position
        self.buffer[:left] = self.buffer[self.position : self.end]
        self._filler.fill(self._rng, self.buffer[left : left + BLOCK])
        self.position, self.end = 0, left + BLOCK

    def fill_up(self) -> None:
        """Draw as many blocks as there is room for behind what is left."""
        while self.end - self.position + BLOCK <= self.buffer.size:
            self.refill()

    def block(self) -> FloatArray:
        """The next BLOCK variates; the array is overwritten by the next call."""
        self._filler.fill(self._rng, self.buffer[:BLOCK])
        return self.buffer[:BLOCK]

    def take(self, out: FloatArray) -> None:
        """Overwrite ``out`` with the next variates, one after another as :meth:`next` gives them."""
        done = 0
        while done < out.size:
            if self.position == self.end:
                self.refill()
            n = min(out.size - done, self.end - self.position)
            out[done : done + n] = self.buffer[self.position : self.position + n]
            self.position += n
            done += n

    def next(self) -> float:
        """One variate."""
        if self.position == self.end:
            self.refill()
        value = float(self.buffer[self.position])
        self.position += 1
        return value
