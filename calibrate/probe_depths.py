"""Which depth to measure next: that after which the least is left to be predicted.

After depth 1 and another it is what :mod:`calibrate.asked_depths` asks for. After other points, the model says what it
knows least. Over the posterior's draws, and over what no curve of the model draws (:mod:`calibrate.discrepancy`), the
log throughputs at all depths have a covariance V. Measuring depth N is expected to take V(n, N)^2 / V(N, N) from the
variance at each depth n (a linear regression on one new observation), and the depth that takes most over all of them is
the one to measure next. That is Bayesian experimental design in its linear-Gaussian form (Chaloner and Verdinelli,
Statistical Science 1995), as in :mod:`calibrate.next_point`, which asks what tells most of the knee instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.asked_depths import SHALLOW_CROSSING, third
from calibrate.fitted import Fit
from calibrate.past_the_peak import DECLINE_FROM
from calibrate.posterior import Array
from calibrate.prediction import expected
from measure.units import format_percent

SHALLOWEST_DEEP = 64

_BUSY = "tells the latency of the busy device, on which the knee hangs"


@dataclass(frozen=True)
class NextDepth:
    """The depth to measure next; the median width of the bands (relative) and the knee's interval, now and then.

    ``why`` is what that depth tells, where a rule chose it and not these widths.
    """

    load: float
    half_width_now: float
    half_width_then: float
    knee_now: tuple[float, float] | None
    knee_then: tuple[float, float] | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the numbers."""
        return {name: value for name, value in asdict(self).items() if name != "why"}

    def __str__(self) -> str:
        now, then = (format_percent(100 * width) for width in (self.half_width_now, self.half_width_then))
        bands = f"the bands from about ±{now} to ±{then}"
        knee = ""
        if self.knee_now is not None and self.knee_then is not None:
            before, after = (f"[{low:.3g}, {high:.3g}]" for low, high in (self.knee_now, self.knee_then))
            knee = f", and the knee from {before} to about {after}" if before != after else ""
        why = f"{self.why}, and " if self.why else ""
        return f"measure depth {self.load:g} next: it {why}would narrow {bands}{knee}"


def next_depth(fit: Fit, loads: Sequence[float] | None = None) -> NextDepth | None:
    """The depth among ``loads`` to measure next; None where the fit is of no queue depths, or nothing is left.

    After depth 1 and another it is what the crossing of the asymptotes that these draw asks for, after others what
    narrows the bands most.

    Depths where throughput may decline are not asked for: they say little of the others. ``loads`` None: doublings of 1
    up to twice the deepest one used, and to 64 at least.
    """
    if fit.load_kind != "queue_depth" or not fit.used:
        return None
    deepest = max(SHALLOWEST_DEEP, 2 * max(fit.used))
    allowed = [2.0**i for i in range(64) if 2.0**i <= deepest] if loads is None else loads
    fresh = np.array(sorted({float(n) for n in allowed if n < DECLINE_FROM and not np.isclose(fit.used, n).any()}))
    if not len(fresh):
        return None
    curves, scatter = expected(fit, fresh)
    left = np.atleast_2d(np.cov(curves.T)) + scatter
    variance = np.diag(left)
    taken = (left**2 / variance[:, None]).sum(axis=1)
    asked_two = len(fit.used) == 2 and fit.used[0] == 1
    best = third(fit.used, fit.used_throughput_per_s, fresh) if asked_two else int(np.argmax(taken))
    now = float(np.sqrt(variance.mean()))
    then = now * float(np.sqrt(max(0.0, 1 - taken[best] / variance.sum())))
    wide = _quantile(fit.level)
    knee = fit.knee
    known = None if knee.low is None or knee.high is None else (knee.low, knee.high)
    narrower = _narrowed(fit, curves[:, best], float(variance[best]))
    at_best = None if known is None or knee.load is None else _interval(knee.load, known, narrower)
    why = _BUSY if asked_two and _tells_busy(fit, float(fresh[best])) else ""
    widths = (float(np.expm1(wide * now)), float(np.expm1(wide * then)))
    return NextDepth(float(fresh[best]), *widths, known, at_best, why)


def _tells_busy(fit: Fit, depth: float) -> bool:
    """Whether ``depth`` was chosen for the shallow crossing of the asymptotes that the two points of ``fit`` draw."""
    low, high = SHALLOW_CROSSING
    crossing = fit.used[0] * fit.used_throughput_per_s[1] / fit.used_throughput_per_s[0]
    return depth == low <= crossing < high


def _narrowed(fit: Fit, at: Array, variance: float) -> float:
    """What is left of the width of the knee's interval after a measurement, expected as ``at`` (w,) over the draws."""
    knee = np.log(fit.curve_model.knee(fit.draws).load)
    together = float(np.cov(knee, at)[0, 1])
    return float(np.sqrt(max(0.0, 1 - together**2 / (variance * max(float(knee.var()), 1e-12)))))


def _interval(middle: float, ends: tuple[float, float], share: float) -> tuple[float, float]:
    """``ends`` drawn towards ``middle``, in logarithms."""
    low, high = (float(middle * (end / middle) ** share) for end in ends)
    return low, high


def _quantile(level: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf(0.5 + level / 2))
