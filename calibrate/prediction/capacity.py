"""How many of a device or service a rate takes, when the load is spread evenly over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibrate.fitting.fit import Fit
from measure.errors import DataError
from measure.units import format_percent, format_rate

ROOM = 0.8
"""The share of its peak at which each should be busy, so that waiting stays short."""


@dataclass(frozen=True)
class Capacity:
    """``needed`` of a ``kind`` serve ``rate_per_s``, and ``roomy`` stay below 80 % of their peak."""

    rate_per_s: float
    peak_per_s: float
    needed: int
    roomy: int
    kind: str = "today's kind"

    def __str__(self) -> str:
        rate, share = format_rate(self.rate_per_s, 2), format_percent(100 * self.rate_per_s / self.peak_per_s)
        if self.roomy == 1:
            return f"{rate} is {share} of the peak of {self.kind}: one is enough."
        return f"For {rate} you need {self.needed} of {self.kind}; {self.roomy} to stay below {100 * ROOM:g} % busy."


def capacity_for(fit: Fit, rate_per_s: float, kind: str = "today's kind") -> Capacity:
    """How many of the device serve a rate. Raises DataError for a fit over no number of requests or clients.

    >>> from calibrate import from_datasheet
    >>> print(capacity_for(from_datasheet(idle_latency=2e-3, peak_iops=1e3), 3000))
    For 3.0 k/s you need 4 of today's kind; 4 to stay below 80 % busy.
    """
    peak = fit.parameters.get("Xmax")
    if not fit.load_type.is_closed or peak is None or peak.estimate is None:
        raise DataError(
            f"{fit.series or 'the fit'} has no peak throughput; fit a sweep over requests outstanding, clients or "
            "connections"
        )
    each = peak.estimate
    return Capacity(rate_per_s, each, math.ceil(rate_per_s / each), math.ceil(rate_per_s / (ROOM * each)), kind)
