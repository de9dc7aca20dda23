"""Closed models whose service need not be exponential: c servers with one queue or a queue each, and a delay.

The curve is that of :mod:`calibrate.models.closed_structures`, whose corrections for the variability of service were
set by simulation. Between the crossings and variabilities of a table it is interpolated.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from calibrate.inference.parameters import Array, Parameter
from calibrate.models.closed_structures import Queues, exponential_loss, of_law
from calibrate.models.curves import CROSSING_LOG_SD, Tabulated
from measure.units import counted

SCV_MEDIAN, SCV_LOG_SD = 0.5, 1.0
"""The squared coefficient of variation of service, between constant and exponential, and for two thirds of devices
within a factor of e."""

LEAST_SCV, MOST_SCV = 0.01, 10.0
KNOTS_OF_SCV = np.array([0.0, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0, 1.6, 2.5, 5.0, MOST_SCV])
KNOTS_OF_DELAY = 40
LONGEST = 1000.0
"""The table ends where a lone request takes so many times its service."""

KINDS: dict[str, Queues] = {"one queue": "shared", "a queue each": "random"}


class GeneralService(Tabulated):
    """Delay and ``servers`` with one queue or a queue each, whose service has a variability of its own."""

    def __init__(self, servers: int, kind: str = "one queue") -> None:
        self.servers, self.kind = servers, kind
        self.name = f"delay + G/{servers}, {kind}"
        self.assumption = f"a delay and {counted(servers, 'server')}, {kind}, whose service times vary as they like"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        crossing, peak = super().parameters(loads, throughput, response)
        middle = max(crossing.prior_median or 1.0, 1.05 * self.servers)
        at_least = Parameter("N*", "", float(self.servers), 1e9, middle, CROSSING_LOG_SD)
        return at_least, peak, Parameter("scv", "", LEAST_SCV, MOST_SCV, SCV_MEDIAN, SCV_LOG_SD)

    def lone(self, values: Array) -> Array:
        return np.asarray(values[:, 0] / values[:, 1])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "scv": ("", values[:, 2])}

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak, scv = values.T
        ratio = np.clip(crossing / self.servers, 1.0, LONGEST)
        table = _losses(KINDS[self.kind], self.servers, tuple(loads.tolist()))
        at_ratio = np.log(ratio) / np.log(LONGEST) * (KNOTS_OF_DELAY - 1)
        at_scv = np.interp(np.sqrt(scv), np.sqrt(KNOTS_OF_SCV), np.arange(len(KNOTS_OF_SCV)))
        i = np.minimum(at_ratio.astype(int), KNOTS_OF_DELAY - 2)
        j = np.minimum(at_scv.astype(int), len(KNOTS_OF_SCV) - 2)
        u, v = (at_ratio - i)[:, None], (at_scv - j)[:, None]
        loss = (1 - u) * ((1 - v) * table[i, j] + v * table[i, j + 1]) + u * (
            (1 - v) * table[i + 1, j] + v * table[i + 1, j + 1]
        )
        share = np.minimum(loads[None, :] / crossing[:, None], 1.0)
        return np.asarray(peak[:, None] * share * np.exp(-loss))


@lru_cache(maxsize=256)
def _losses(queues: Queues, servers: int, loads: tuple[float, ...]) -> Array:
    """How far the throughput is below its bound, in logarithms: (delays, variabilities, loads)."""
    at = np.array(loads)
    crossing = servers * np.geomspace(1.0, LONGEST, KNOTS_OF_DELAY)
    loss = exponential_loss(queues, servers, crossing, at)
    return of_law(queues, servers, np.array(KNOTS_OF_SCV)[:, None], loss[:, None, :])


def general_named(name: str) -> GeneralService | None:
    """The model of that name; None where it is another kind."""
    servers, comma, kind = name.removeprefix("delay + G/").partition(", ")
    if not name.startswith("delay + G/") or not servers.isdigit() or int(servers) < 1:
        return None
    return GeneralService(int(servers), kind if comma else "one queue") if not comma or kind in KINDS else None
