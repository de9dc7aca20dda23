"""How many workers serve a rate: the utilization law, X S of them busy, whatever the laws of arrivals and service.

Where the points tell c and S, they tell X S. Where they do not, a request takes a worker for no longer than the idle
latency R1, so that at most X R1 are busy; and X / Xmax times the workers there are do it, however many those are
(Denning & Buzen 1978, ACM Computing Surveys 10, "The operational analysis of queueing network models").
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from calibrate.fitting.fitted import Fit
from measure.errors import DataError
from measure.units import counted, format_duration, format_percent, format_rate, plain_number

ROOM = 0.8
"""The share of its time that a worker should be busy, so that waiting stays short."""


@dataclass(frozen=True)
class WorkersNeeded:
    """For ``rate_per_s``: ``busy`` workers on average with the ends of their interval, and how many times the peak.

    ``is_bound`` where c and S are not told apart: then ``busy`` is the most that it can be, and ``low`` is None.
    """

    rate_per_s: float
    busy: float
    low: float | None
    high: float
    times_the_peak: float
    is_bound: bool
    now: float | None
    service_s: float

    @property
    def wanted(self) -> int:
        """So many that each is busy for at most ``ROOM`` of its time, also at the end of the interval."""
        return math.ceil(self.high / ROOM)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "wanted": self.wanted}

    def __str__(self) -> str:
        each, rate = format_duration(self.service_s, 2), format_rate(self.rate_per_s, 2)
        take = f"take {self.wanted}, each busy at most {100 * ROOM:g} % of the time"
        times = f"{plain_number(self.times_the_peak, 2)} times"
        if self.is_bound:
            enough = f"{times} the workers there are do it, too"
            if self.times_the_peak <= 1:
                enough = f"The workers there are do it at {format_percent(100 * self.times_the_peak)} of their peak"
            return (
                f"{rate} keep at most {plain_number(self.high, 2)} workers busy, since a request takes one for at most "
                f"the idle latency, {each} (c is unknown): {take}. {enough}."
            )
        there = f"{counted(round(self.now or 0), 'worker')} there {'is' if self.now == 1 else 'are'}"
        if self.times_the_peak <= 1:
            return f"{rate} is within the peak of the {there}: {plain_number(self.busy, 2)} busy on average."
        return (
            f"{rate} keep {plain_number(self.busy, 2)} ({plain_number(self.low or 0.0, 2)} to "
            f"{plain_number(self.high, 2)}) workers busy, {each} a request: {take}. "
            f"It is {times} the peak of the {there}."
        )


def workers_for(fit: Fit, rate_per_s: float) -> WorkersNeeded:
    """How many workers serve ``rate_per_s`` requests a second.

    Raises DataError for a fit that is over no number of requests or clients, or whose peak is not known.

    >>> from calibrate import from_datasheet
    >>> print(workers_for(from_datasheet(idle_latency=2e-3, peak_iops=1e3), 3000).wanted)
    10
    """
    peak, idle = (fit.parameters.get(name) for name in ("Xmax", "R1"))
    if not fit.load_type.is_closed or peak is None or peak.estimate is None or idle is None or idle.high is None:
        raise DataError(
            f"{fit.series or 'the fit'} does not tell how many workers a rate takes; fit a sweep over requests "
            "outstanding, clients or connections"
        )
    count, service = fit.parameters.get("c"), fit.parameters.get("S")
    times = rate_per_s / peak.estimate
    if (
        count is None
        or service is None
        or not count.identified
        or service.estimate is None
        or service.low is None
        or service.high is None
    ):
        most = rate_per_s * idle.high
        return WorkersNeeded(rate_per_s, most, None, most, times, True, None, idle.high)
    busy, low, high = (rate_per_s * s for s in (service.estimate, service.low, service.high))
    return WorkersNeeded(rate_per_s, busy, low, high, times, False, count.estimate, service.estimate)
