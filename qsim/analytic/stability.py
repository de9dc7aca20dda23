"""The one condition every open queue without a limit on places must meet."""

from __future__ import annotations

from qsim.analytic.views import OpenQueue
from qsim.errors import UnstableQueueError

ROUNDING = 1e-12
"""Rates are held as mean times, so 9 arrivals on 3 servers of rate 3 may come out a rounding below rho = 1."""


def require_stable(model: OpenQueue) -> None:
    """Raise UnstableQueueError unless rho < 1 or places are limited."""
    if model.capacity is None and model.rho > 1 - ROUNDING:
        pace = model.most_work / model.servers  # 1 unless the speed depends on how many are present
        raise UnstableQueueError(model.kendall, model.arrival_rate, model.service_rate * pace, model.servers)
