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

from typing import Literal

import numpy as np

from calibrate.inference.parameters import Array, IntArray

Queues = Literal["shared", "random"]


def busy_servers(queues: Queues, servers: int | IntArray, scv: Array, crossing: Array, loads: Array) -> Array:
    """B (k, m): servers busy on average at ``loads`` (m,), where the asymptotes cross at ``crossing`` (k,) >= servers.

    The crossing is c (1 + z), ``scv`` (k,) that of service, ``servers`` one number or one for each crossing (k,).
    """
    each = np.broadcast_to(np.asarray(servers), crossing.shape)[:, None]
    loss = of_law(queues, each, scv[:, None], exponential_loss(queues, servers, crossing, loads))
    return np.asarray(each * np.minimum(loads / crossing[:, None], 1.0) * np.exp(-loss))


def exponential_loss(queues: Queues, servers: int | IntArray, crossing: Array, loads: Array) -> Array:
    """The loss (k, m) with exponential service, at ``crossing`` (k,); ``servers`` is one number or (k,)."""
    from qsim.analytic.closed.populations import one_queue_throughputs, own_queues_throughputs

    exact = one_queue_throughputs if queues == "shared" else own_queues_throughputs
    each = np.broadcast_to(np.asarray(servers), crossing.shape)
    # Beyond these no server is ever idle, or a queue each loses less than a thousandth.
    most = (crossing + 8 * crossing**0.5).astype(int) + 8 if queues == "shared" else (1000 * crossing).astype(int)
    wanted = np.minimum(loads, most.max())
    whole = np.unique(np.concatenate([np.floor(wanted), np.ceil(wanted)]).clip(min=1)).astype(np.int64)
    parts = max(1, int(len(crossing) * whole[-1] / _AT_ONCE))
    loss = np.empty((len(crossing), len(whole)))
    for rows in np.array_split(np.arange(len(crossing)), parts):
        ratio = crossing[rows] / each[rows]
        bound = np.minimum(whole / ratio[:, None], each[rows, None])
        loss[rows] = np.log(bound / exact(whole, ratio - 1.0, 1.0, each[rows]))
    upper = np.searchsorted(whole, wanted).clip(min=1, max=max(1, len(whole) - 1)) % len(whole)
    lower = np.maximum(upper - 1, 0)
    share = ((wanted - whole[lower]) / np.maximum(whole[upper] - whole[lower], 1)).clip(0.0, 1.0)
    return np.asarray(np.maximum((1 - share) * loss[:, lower] + share * loss[:, upper], 0.0))


_AT_ONCE = 4_000_000
"""So many crossings times populations are computed at once, for the sake of memory."""


def of_law(queues: Queues, servers: int | IntArray, scv: Array, loss: Array) -> Array:
    """The loss with service of ``scv``, from that of exponential service; all arrays must broadcast together."""
    little = np.where(scv < 0.1, 0.5 * (scv / 0.1) ** 0.55, scv ** np.where(scv < 1, 0.3, 0.1))
    one_queue = loss * little
    if queues == "shared":
        return np.asarray(one_queue)
    share = loss / np.log(2 - 1 / np.maximum(servers, 2))
    own = loss * ((1 + scv) / 2) ** (0.9 * np.exp(-np.where(scv < 1, 0.8, 1.1) * share))
    return np.asarray(np.where(np.asarray(servers) > 1, own, one_queue))


def formula_error(queues: Queues, scv: Array) -> Array:
    """How far B is from what simulation gives, relative (k,): nothing to speak of but for a queue each."""
    return np.asarray((0.03 if queues == "random" else 0.0) * np.abs(np.log((1 + scv) / 2)))
