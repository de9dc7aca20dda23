"""The highest of several values, where rounding alone may tell equal ones apart.

``argmax`` of equal throughputs that were computed in two ways, or on two processors, is decided by the last bit. Here
the first of those that are equal within ``TIE`` is the highest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TIE = 1e-9
"""Values within this relative distance are equal."""


def first_highest(values: NDArray[np.float64]) -> Any:
    """The index of the first of the highest values along the last axis: an integer, or an array of them.

    >>> first_highest(np.array([90.0, 164.0, 164.00000000000003]))
    1
    """
    highest = values.max(axis=-1, keepdims=True)
    reached = values >= highest - TIE * np.abs(np.where(np.isfinite(highest), highest, 0.0))
    found = reached.argmax(axis=-1)
    return int(found) if found.ndim == 0 else found


def first_lowest(values: NDArray[np.float64]) -> Any:
    """The index of the first of the lowest values along the last axis: an integer, or an array of them."""
    return first_highest(-values)
