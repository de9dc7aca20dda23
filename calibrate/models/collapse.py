"""Services beyond the deepest measured load: throughput may collapse there, at an unpredictable load.

Thread pools, databases and servers lose throughput past some number Nc of clients: X(N) = f(N) max(1, N / Nc)^-gamma.
ln Nc lies an exponential time of mean 1 / ``HAZARD`` beyond the deepest load measured or the knee, whichever is more,
and gamma is log-normal about 1. On public services the 90 % bands beyond the deepest load then hold 90 to 94 % of the
points instead of 75 to 81 %, and medians hardly move.
"""

from __future__ import annotations

import numpy as np

from calibrate.inference.parameters import Array

HAZARD = 0.2
"""Expected number of collapses in a factor e of the load."""

GAMMA_LOG_SD = 0.5
"""The median of gamma is 1: throughput falls as 1 / N."""

DELAYS = -np.log1p(-(np.arange(10) + 0.5) / 10) / HAZARD
"""Even quantiles of ln Nc minus its origin."""

GAMMAS = np.exp(GAMMA_LOG_SD * np.array([-1.2, 0.0, 1.2]))
GAMMA_WEIGHTS = np.array([0.25, 0.5, 0.25])

SHARES: tuple[float, ...] = tuple(((np.arange(400) + 0.5) / 400).tolist())
"""A distribution is represented by this many even quantiles."""


def losses(loads: Array, origin: float) -> tuple[Array, Array]:
    """Logarithms (k, m) of possible factors on throughput at ``loads`` (m,), and the probability of each row (k,).

    >>> log_loss, weight = losses(np.array([64.0, 1e5]), 64.0)
    >>> log_loss.max(axis=0).round(1).tolist(), round(float(weight.sum()), 9)
    ([0.0, 12.9], 1.0)
    """
    beyond = np.maximum(np.log(loads / origin)[None, :] - DELAYS[:, None], 0.0)
    log_loss = (GAMMAS[:, None, None] * beyond).reshape(-1, len(loads))
    return log_loss, np.repeat(GAMMA_WEIGHTS, len(DELAYS)) / len(DELAYS)


def collapsing(known: Array, loads: Array, origin: float, shares: tuple[float, ...]) -> Array:
    """Quantiles (k, m) of the throughput at ``loads`` (m,) where it may collapse.

    ``known`` are the quantiles (len(SHARES), m) of the throughput without a collapse.
    """
    log_loss, weight = losses(loads, origin)
    logs = np.log(known)[:, None, :] - log_loss[None, :, :]
    weights = np.broadcast_to(weight / len(SHARES), logs.shape[:2]).ravel()
    found = np.empty((len(shares), len(loads)))
    for i, column in enumerate(logs.reshape(-1, len(loads)).T):
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(weights[order]) - 0.5 * weights[order]
        found[:, i] = np.exp(np.interp(shares, reached, column[order]))
    return found
