"""Whether a device or a service moved between two sweeps: idle latency, peak and knee at the loads that both have.

Nothing is modelled: the ratio of what was measured at the same load, with the noise of repeats. The relative variance
of a repeat is pooled over all loads of both sweeps. Where nothing was repeated, neighbouring loads stand for repeats:
the ratio of two curves is smooth over the load, and what is left of its second differences is noise (their variance is
six times that of one ratio). Intervals are Student's t. They know the noise within the sweeps and not that between
days: to know it, compare two sweeps of the same build.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.points import Points
from measure.errors import DataError

LEAST_COMMON = 4
"""So many common loads at least where nothing was repeated."""


@dataclass(frozen=True)
class Change:
    """``quantity`` in ``unit`` before and after, and the ratio after / before with the ends of its interval.

    ``worse`` is by which share it got worse: a latency longer, a peak lower; the knee alone is neither.
    """

    quantity: str
    unit: str
    before: float
    after: float
    low: float
    high: float
    level: float

    @property
    def ratio(self) -> float:
        """After / before."""
        return self.after / self.before

    @property
    def moved(self) -> bool:
        """Whether it moved by more than the noise."""
        return not self.low <= 1 <= self.high

    @property
    def worse(self) -> float:
        """The share by which it got worse; 0 where it moved within the noise, got better, or is the knee."""
        if not self.moved or self.quantity == "knee":
            return 0.0
        return max(0.0, self.ratio - 1 if self.unit == "s" else 1 - self.ratio)


def changes(before: Points, after: Points, level: float = 0.9) -> tuple[Change, ...]:
    """Idle latency at the lowest common load, peak throughput at the highest, and their product, the knee.

    Raises DataError for loads of different kinds, no common load, or noise that nothing tells.

    >>> from calibrate import points_of
    >>> from measure import load_dataset
    >>> points = points_of(load_dataset("004-ssd-depth", corrected=True))
    >>> [(c.quantity, c.ratio, c.moved) for c in changes(points, points)][:2]
    [('idle latency', 1.0, False), ('peak', 1.0, False)]
    """
    if before.load_kind != after.load_kind:
        raise DataError(f"{before.series} and {after.series} vary different loads; compare sweeps of one kind")
    common = np.intersect1d(before.load, after.load)
    if len(common) == 0:
        raise DataError(f"{before.series} and {after.series} have no common load; measure both at the same ones")
    old, new = before.at(np.isin(before.load, common)), after.at(np.isin(after.load, common))
    first, last = (0, -1) if not before.load_type.is_delay else (-1, 0)
    errors = _error(old, new, "response", level), _error(old, new, "throughput", level)
    idle = _changed(
        "idle latency", "s", old.response_time_s[first], new.response_time_s[first], errors[0][first], level
    )
    peak = _changed("peak", "1/s", old.throughput_per_s[last], new.throughput_per_s[last], errors[1][last], level)
    both = math.hypot(errors[0][first], errors[1][last])
    knee = _changed("knee", "requests", idle.before * peak.before, idle.after * peak.after, both, level)
    return (idle, peak, knee)


def _changed(quantity: str, unit: str, before: float, after: float, half: float, level: float) -> Change:
    ratio = after / before
    return Change(quantity, unit, float(before), float(after), ratio * math.exp(-half), ratio * math.exp(half), level)


def _error(old: Points, new: Points, which: str, level: float) -> Array:
    """Half the width (m,) of the interval of the logarithm of each ratio."""
    from scipy.stats import t

    spreads = [(getattr(p, f"{which}_spread"), p.repeats) for p in (old, new)]
    freedom = sum(float((n - 1)[n > 1].sum()) for _, n in spreads)
    if freedom:
        squares = sum(float(((n - 1) * s**2)[n > 1].sum()) for s, n in spreads)
        error = np.sqrt(squares / freedom * (1 / old.repeats + 1 / new.repeats))
    else:
        name = "response_time_s" if which == "response" else "throughput_per_s"
        ratio = np.log(getattr(new, name) / getattr(old, name))
        if len(ratio) < LEAST_COMMON:
            raise DataError(
                f"{old.series}: nothing was measured twice, and {len(ratio)} common loads tell no noise; measure with "
                f"--repeats 3, or at {LEAST_COMMON} common loads and more"
            )
        freedom = float(len(ratio) - 2)
        error = np.full(len(ratio), math.sqrt(float((np.diff(ratio, 2) ** 2).mean()) / 6))
    return np.asarray(t.ppf(0.5 + level / 2, freedom) * error)
