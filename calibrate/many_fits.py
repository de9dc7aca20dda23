"""Least squares of many small problems at once: Levenberg's and Marquardt's descent, vectorised over the problems.

Each problem has the same residuals with numbers of its own, so that one call computes those of all problems and of all
their derivatives. Damping keeps a step short where the residuals hardly depend on a direction, so that a flat valley,
which a lone problem takes hundreds of steps through, costs nothing (Marquardt, SIAM Journal 11, 1963). A parameter at a
bound that the step would cross is held there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from calibrate.discrepancy import Array

Numbers = NDArray[np.intp]

STEPS = 80
LONGEST = 1.0
"""No parameter moves further in one step."""
SETTLED = 1e-9
"""A problem is done when a step lowers its sum of squares by no more than this share, or than this itself."""
_DIFFERENCE = 1e-6
_MOST_DAMPING = 1e8


def descend(
    residuals: Callable[[Array, Numbers], Array], start: Array, low: Array, high: Array, steps: int = STEPS
) -> tuple[Array, Array]:
    """Where the descents from ``start`` (k, d) end, (k, d), and the sums of squares there, (k,).

    ``residuals`` maps parameters (n, d), each row with the number of its problem (n,), to (n, r); ``low`` and ``high``
    (d,) are bounds.
    """
    theta = np.clip(start, low, high)
    missed = residuals(theta, np.arange(len(theta)))
    squares = (missed**2).sum(axis=1)
    damping = np.full(len(theta), 1e-2)
    active = np.arange(len(theta))
    for _ in range(steps):
        if not len(active):
            break
        step = _step(residuals, theta[active], missed[active], active, low, high, damping[active])
        moved = np.clip(theta[active] + step, low, high)
        found = residuals(moved, active)
        reached = (found**2).sum(axis=1)
        gained = squares[active] - reached
        better = gained > 0
        taken = active[better]
        settled = better & (gained <= SETTLED * (1 + squares[active]))
        theta[taken], missed[taken], squares[taken] = moved[better], found[better], reached[better]
        damping[active] *= np.where(better, 0.2, 5.0)
        active = active[~settled & (damping[active] < _MOST_DAMPING)]
    return theta, squares


def _step(
    residuals: Callable[[Array, Numbers], Array], theta: Array, missed: Array, which: Numbers, low: Array, high: Array,
    damping: Array,
) -> Array:  # fmt: skip
    """The next step (k, d) of each problem."""
    k, d = theta.shape
    shift = np.where(theta + _DIFFERENCE > high, -_DIFFERENCE, _DIFFERENCE)
    beside = theta[:, None, :] + shift[:, :, None] * np.eye(d)
    there = residuals(beside.reshape(k * d, d), np.repeat(which, d)).reshape(k, d, -1)
    slopes = (there - missed[:, None, :]) / shift[:, :, None]  # (k, d, r)
    gradient = (slopes @ missed[:, :, None])[:, :, 0]
    held = ((theta <= low) & (gradient > 0)) | ((theta >= high) & (gradient < 0))
    slopes[held] = 0.0
    gradient[held] = 0.0
    square = slopes @ slopes.transpose(0, 2, 1)
    diagonal = np.einsum("kii->ki", square)
    floor = 1e-6 * (1 + diagonal.max(axis=1, keepdims=True))
    damped = square + (damping[:, None] * (diagonal + floor) + 1e-12 * floor)[:, :, None] * np.eye(d)
    step = -np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
    return np.asarray(np.clip(step, -LONGEST, LONGEST))
