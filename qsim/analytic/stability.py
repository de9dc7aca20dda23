"""The one condition every open queue without a limit on places must meet."""

from __future__ import annotations

from qsim.errors import UnstableQueueError
from qsim.models import Open

ROUNDING = 1e-12
"""Rates are held as mean times, so 9 arrivals on 3 servers of rate 3 may come out a rounding below rho = 1."""


def require_stable(model: Open) -> None:
    """Raise UnstableQueueError unless rho < 1, places are limited or customers give up."""
    joining = 1 - model.balking[-1] if model.balking else 1.0
    if model.capacity is None and model.patience is None and model.rho * joining > 1 - ROUNDING:
        pace = model.most_work / model.servers  # 1 unless the speed depends on how many are present
        raise UnstableQueueError(model.kendall, model.arrival_rate, model.service_rate * pace / joining, model.servers)
