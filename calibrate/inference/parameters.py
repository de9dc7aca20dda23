"""Parameters of a model and what is assumed of them before any point.

All parameters are positive and are handled as logarithms. A prior is log-normal: a median, and the standard deviation
of the logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Parameter:
    """A positive parameter with bounds, and a log-normal prior where ``prior_median`` is given."""

    name: str
    unit: str
    low: float
    high: float
    prior_median: float | None = None
    prior_log_sd: float | None = None


@dataclass(frozen=True)
class MisfitPrior:
    """Log-normal prior of the misfit's size s: the relative standard deviation of what no curve of the model draws.

    It is represented by ``sizes`` of equal probability or, where the points decide, by their weights.
    """

    median: float
    log_sd: float = 0.7

    def sizes(self) -> tuple[Array, Array]:
        """Sizes (k,), from the largest down, and the logarithms of their prior probabilities (k,)."""
        return self.median * np.exp(self.log_sd * SIZE_NODES), -0.5 * SIZE_NODES**2


SIZE_NODES = np.linspace(2.1, -2.1, 7)
"""Misfit sizes are tried at so many standard deviations of the prior's logarithm."""
