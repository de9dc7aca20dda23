"""What if?  Two models met by the same customers, and the interval of their difference.

Chance that strikes both alike cancels in the difference: with the same seed an arrival stream and a service
stream give both models the same customers (qsim.engines.variates.streams), and over replications

    Var(B - A) = Var(A) + Var(B) - 2 Cov(A, B),

where independent runs would leave the covariance out.  The interval is that of paired differences.
Source: Law (2015), Simulation Modeling and Analysis, section 11.2 (common random numbers), 10.2.1 (paired t).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from qsim import _check
from qsim.engines.repeated.parallel import check_workers, spread
from qsim.engines.repeated.replications import Replication, checked_run, interval_of_mean, pooled, require_long
from qsim.engines.run import Engine
from qsim.errors import InvalidParameterError
from qsim.metrics import SYMBOLS, Interval, Metrics
from qsim.models import Model
from qsim.text_table import table


@dataclass(frozen=True)
class PairedDifference:
    """What changes from model ``a`` to model ``b``: value of b minus value of a, by the names of Metrics.

    ``a`` and ``b`` are the Metrics of each over all replications.  ``variance_reduction`` says by what factor the
    variance of a difference is smaller than independent runs of the same length would have left it (nan: neither
    varies).

    >>> from qsim import MM1, MMc, difference
    >>> found = difference(MM1(0.8, 1), MMc(0.8, 1, servers=2), replications=5, customers=10_000, seed=1)
    >>> low, high = found.intervals["W"]
    >>> high < 0
    True
    """

    a: Metrics
    b: Metrics
    values: Mapping[str, float]
    intervals: Mapping[str, Interval]
    variance_reduction: Mapping[str, float]
    confidence: float

    def value(self, name: str) -> float:
        """b minus a."""
        self._require(name)
        return self.values[name]

    def interval(self, name: str) -> Interval:
        """The confidence interval of b minus a."""
        self._require(name)
        return self.intervals[name]

    def is_clear(self, name: str) -> bool:
        """Whether zero lies outside the interval: the two differ, and it is known in which direction."""
        low, high = self.interval(name)
        return low > 0 or high < 0

    def rows(self) -> list[tuple[str, ...]]:
        """The printed table: (symbol, a, b, b - a, interval, variance reduction)."""
        rows: list[tuple[str, ...]] = []
        for name, difference in self.values.items():
            low, high = self.intervals[name]
            times = self.variance_reduction[name]
            rows.append(
                (
                    SYMBOLS[name][0],
                    f"{getattr(self.a, name):.6g}",
                    f"{getattr(self.b, name):.6g}",
                    f"{difference:+.6g}",
                    f"{low:+.6g} .. {high:+.6g}",
                    "" if math.isnan(times) else f"{times:.3g} x",
                )
            )
        return rows

    def __str__(self) -> str:
        head = ("", "a", "b", "b - a", f"{100 * self.confidence:g} % interval", "variance reduced")
        kendall = f"a: {self.a.model.kendall}, b: {self.b.model.kendall}"
        return f"{kendall}: simulated, {self.a.method}, common random numbers\n{table(head, self.rows())}"

    def _require(self, name: str) -> None:
        if name not in self.values:
            raise InvalidParameterError("name", f"must be one of {', '.join(self.values)}, not {name!r}", value=name)


def difference(
    a: Model,
    b: Model,
    *,
    replications: int = 20,
    customers: float = 100_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: Literal["mser5"] | float = "mser5",
    confidence: float = 0.95,
    allow_short: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> PairedDifference:
    """Simulate both models with the same customers; the differences b - a come with confidence intervals.

    "What would one more channel bring?" is ``difference(MMc(2.7, 1.0, 3), MMc(2.7, 1.0, 4))``.  Each of the
    ``replications`` simulates ``customers`` through both models with a seed of its own; the arguments are those of
    ``replicate``, which raises the same errors.

    >>> from qsim import MM1, MMc
    >>> found = difference(MM1(0.8, 1), MMc(0.8, 1, servers=2), replications=5, customers=10_000, seed=1)
    >>> found.values["W"] < 0
    True
    """
    count = _check.count("replications", replications, 2, "an interval needs at least two")
    first = checked_run(a, customers, seed, engine, warmup, confidence)
    second = checked_run(b, customers, first.seed, engine, warmup, confidence)
    check_workers(workers, cluster)
    work = first.replications(count) + second.replications(count)
    runs = spread(Replication.metrics, work, workers=workers, cluster=cluster, progress=progress)
    sides = runs[:count], runs[count:]
    metrics = [replace(pooled(side, first.confidence), seed=first.seed) for side in sides]
    if not allow_short:
        for side in metrics:
            require_long(side)
    values: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    reduction: dict[str, float] = {}
    for name in SYMBOLS:
        of_a, of_b = (np.array([getattr(run, name) for run in side]) for side in sides)
        change = of_b - of_a
        if np.isnan(change).any():
            continue  # a value that one of the models does not have
        values[name] = float(change.mean())
        intervals[name] = interval_of_mean(change, first.confidence)
        apart = float(of_a.var(ddof=1) + of_b.var(ddof=1))
        together = float(change.var(ddof=1))
        reduction[name] = apart / together if together > 0 else math.inf if apart > 0 else math.nan
    return PairedDifference(metrics[0], metrics[1], values, intervals, reduction, first.confidence)
