"""Closed curves of a device that is a few numbers: c servers of mean service S and a delay Z, before N requests.

In units of S a structure's throughput is a number of busy servers, B(N): the bound min(N / (1 + z), c) with z = Z / S,
times exp(-loss). The loss is what requests wait for each other below the knee, and it depends on the law of service
through its squared coefficient of variation, scv:

exponential service    exact: the machine repairman for one queue, mean value analysis for a queue each
other laws, one queue  loss of the exponential x scv^0.3 below scv 1 and x scv^0.1 above; below 0.1 it
                       falls as scv^0.55, so that constant times have none
a queue each           loss x ((1 + scv) / 2)^q, q = 0.9 exp(-a loss / log(2 - 1/c)), a = 0.8 below scv 1 and 1.1 above:
                       near the peak about the factor of heavy traffic (Kingman 1962), and less of it the greater the
                       loss, which is greatest, log(2 - 1/c), at the crossing

The exponents were set by simulating gamma, lognormal and hyperexponential laws with scv from 0 to 4, c from 1 to 32, z
from 0 to 3. Over these X is met by a median of 0.3 % and everywhere within 5 % with one queue; with a queue each by a
median of 1 % (1.8 % at scv 4) and everywhere within 8 %.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from calibrate.inference.parameters import Array

Queues = Literal["shared", "random"]


def busy_servers(queues: Queues, servers: int, scv: Array, crossing: Array, loads: Array) -> Array:
    """B (k, m): servers busy on average at ``loads`` (m,), where the asymptotes cross at ``crossing`` (k,) >= servers.

    The crossing is c (1 + z), and ``scv`` (k,) that of service. The loss is computed at some crossings and interpolated
    between them.
    """
    known = np.geomspace(float(crossing.min()) / servers, float(crossing.max()) / servers * (1 + 1e-9), _KNOTS)
    table = _losses(queues, servers, tuple(known.round(12)), tuple(loads.tolist()))
    at = np.log(crossing / servers)
    loss = np.column_stack([np.interp(at, np.log(known), column) for column in table.T])
    bound = servers * np.minimum(loads[None, :] / crossing[:, None], 1.0)
    return np.asarray(bound * np.exp(-_of_law(queues, servers, scv[:, None], loss)))


_KNOTS = 14


@lru_cache(maxsize=4096)
def _losses(queues: Queues, servers: int, ratios: tuple[float, ...], loads: tuple[float, ...]) -> Array:
    """The loss with exponential service (k, m) at crossings of ``ratios`` times the servers."""
    from qsim.analytic.closed import random_routing, repairman

    exact = repairman.throughputs if queues == "shared" else random_routing.throughputs
    crossing = servers * np.array(ratios)
    # Beyond these no server is ever idle, or a queue each loses less than a thousandth.
    most = (crossing + 8 * crossing**0.5).astype(int) + 8 if queues == "shared" else (1000 * crossing).astype(int)
    wanted = np.minimum(np.asarray(loads)[None, :], most[:, None])
    whole = np.unique(np.concatenate([np.floor(wanted), np.ceil(wanted)]).clip(min=1)).astype(np.int64)
    bound = np.minimum(whole / np.array(ratios)[:, None], float(servers))
    loss = np.log(bound / exact(whole, np.array(ratios) - 1.0, 1.0, servers))
    rows = [np.interp(at, whole, row) for at, row in zip(wanted, loss, strict=True)]
    return np.asarray(np.maximum(np.array(rows), 0.0), dtype=np.float64)


def _of_law(queues: Queues, servers: int, scv: Array, loss: Array) -> Array:
    if queues == "shared" or servers == 1:
        little = 0.5 * (scv / 0.1) ** 0.55
        return np.asarray(loss * np.where(scv < 0.1, little, scv ** np.where(scv < 1, 0.3, 0.1)))
    share = loss / np.log(2 - 1 / servers)
    return np.asarray(loss * ((1 + scv) / 2) ** (0.9 * np.exp(-np.where(scv < 1, 0.8, 1.1) * share)))


def formula_error(queues: Queues, scv: Array) -> Array:
    """How far B is from what simulation gives, relative (k,): nothing to speak of but for a queue each."""
    return np.asarray((0.03 if queues == "random" else 0.0) * np.abs(np.log((1 + scv) / 2)))
