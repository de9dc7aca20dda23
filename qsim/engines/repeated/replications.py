"""Independent replications: the same model again and again with other seeds, and one interval from all of them.

The replications' values are independent and identically distributed, so no batch length need be chosen; but each
of them starts empty, and what is left of that after its warm-up does not average out.  They are the way to use
several cores, to judge the intervals of single runs, and to compare two models (qsim.engines.repeated.common_numbers).
Source: Law (2015), Simulation Modeling and Analysis, section 9.5.2 (replication/deletion).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.engines.repeated.parallel import check_workers, spread
from qsim.engines.run import Engine, check_arguments, shortest_run, simulate
from qsim.errors import SteadyStateError
from qsim.metrics import SHARES, SYMBOLS, Interval, Metrics
from qsim.models import Network


@dataclass(frozen=True)
class Replication:
    """One run, to be made anywhere: the arguments of ``simulate`` that matter for its outcome."""

    model: Network
    customers: int
    seed: int
    engine: Engine = "compiled"
    warmup: Literal["mser5"] | float = "mser5"
    confidence: float = 0.95
    states: bool = False

    def metrics(self) -> Metrics:
        """Make the run; whether it was long enough is said in the warnings."""
        return simulate(
            self.model,
            customers=self.customers,
            seed=self.seed,
            engine=self.engine,
            warmup=self.warmup,
            confidence=self.confidence,
            states=self.states,
            allow_short=True,
        )

    def replications(self, count: int) -> list[Replication]:
        """This run with ``count`` other seeds."""
        return [replace(self, seed=seed) for seed in run_seeds(self.seed, count)]


def run_seeds(seed: int, count: int) -> list[int]:
    """Seeds of ``count`` independent runs; asking for more of them keeps the first."""
    children = np.random.SeedSequence(seed).spawn(count)
    return [int(child.generate_state(1, np.uint64)[0] >> 11) for child in children]


def replicate(
    model: Network,
    *,
    replications: int = 20,
    customers: float = 100_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: Literal["mser5"] | float = "mser5",
    confidence: float = 0.95,
    states: bool = False,
    allow_short: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    progress: Callable[[float], object] | None = None,
) -> Metrics:
    """Simulate ``replications`` independent runs of ``customers`` each; intervals come from their spread.

    ``workers`` processes share the work (-1: one per core), or the Dask cluster at the address ``cluster``: the
    numbers are the same.  The other arguments are those of ``simulate``; ``.customers`` and ``.warmup`` of the
    result count those of all runs.

    Raises what ``simulate`` raises; SteadyStateError, with the estimate, when more than half of the runs are each
    too short for a steady state.

    >>> from qsim import MM1
    >>> metrics = replicate(MM1(0.5, 1), replications=5, customers=10_000, seed=1)
    >>> low, high = metrics.interval("W")
    >>> low < metrics.W < high
    True
    """
    count = _check.count("replications", replications, 2, "an interval needs at least two")
    first = checked_run(model, customers, seed, engine, warmup, confidence, states)
    check_workers(workers, cluster)
    runs = spread(Replication.metrics, first.replications(count), workers=workers, cluster=cluster, progress=progress)
    metrics = replace(pooled(runs, first.confidence), seed=first.seed)
    return metrics if allow_short else require_long(model, metrics)


def checked_run(
    model: Network,
    customers: float,
    seed: int | None,
    engine: Engine,
    warmup: Literal["mser5"] | float,
    confidence: float,
    states: bool = False,
) -> Replication:
    """The run that these arguments of ``simulate`` describe; raises what it raises."""
    n, entropy, _, level = check_arguments(model, customers, seed, engine, warmup, confidence, "batch means", states)
    return Replication(model, n, entropy, engine, warmup, level, states)


def require_long(model: Network, metrics: Metrics) -> Metrics:
    """The metrics, unless a warning says that the runs were too short."""
    if metrics.warnings:
        raise SteadyStateError(
            f"the runs of {model.kendall} fall short: {'; '.join(metrics.warnings)}.",
            f"Give customers of at least {2 * shortest_run(model):,} for each, better several times that, "
            "or {allow_short}.",
            metrics,
        )
    return metrics


def pooled(runs: Sequence[Metrics], confidence: float) -> Metrics:
    """The mean of independent runs of one model, with intervals from their spread."""
    first = runs[0]
    values = {name: np.array([getattr(run, name) for run in runs]) for name in SYMBOLS}
    means = {name: float(v.mean()) for name, v in values.items()}
    warned = [run.warnings for run in runs if run.warnings]
    # A rule that looks at every run strikes now and then by chance: it takes a majority to be believed.
    believed = 2 * len(warned) > len(runs)
    said = f"{len(warned)} of {len(runs)} runs complain, the first: {'; '.join(warned[0])}" if believed else ""
    return replace(
        first,
        throughput=means["throughput"],
        utilization=means["utilization"],
        L=means["L"],
        Lq=means["Lq"],
        W=means["W"],
        Wq=means["Wq"],
        p_wait=means["p_wait"],
        p_block=means["p_block"],
        method=f"{first.method}, {len(runs)} replications",
        intervals={name: interval_of_mean(values[name], confidence, name) for name in first.intervals},
        confidence=confidence,
        customers=sum(run.customers or 0 for run in runs),
        warmup=sum(run.warmup or 0 for run in runs),
        seed=None,
        warnings=(said,) if believed else (),
        stations=tuple(pooled(parts, confidence) for parts in zip(*(run.stations for run in runs), strict=True)),
        classes=tuple(pooled(parts, confidence) for parts in zip(*(run.classes for run in runs), strict=True)),
        states=None if first.states is None else PooledStates(tuple(runs)),
        times=None if first.times is None else PooledTimes(tuple(runs), confidence),
    )


def interval_of_mean(values: FloatArray, confidence: float, name: str = "") -> Interval:
    """Confidence interval of the mean of independent values; those of ``name`` have no sense below zero."""
    from qsim.engines.output.analysis import reaches

    mean = float(values.mean())
    below, above = reaches(values - mean, confidence, independent=True)
    if not name:
        return (mean - below, mean + above)
    return (max(0.0, mean - below), min(1.0, mean + above) if name in SHARES else mean + above)


@dataclass(frozen=True)
class PooledStates:
    """The distribution of the number present, averaged over runs."""

    runs: tuple[Metrics, ...]

    def p(self, n: int) -> float:
        """Mean share of time with exactly ``n`` present."""
        return float(np.mean([run.p(n) for run in self.runs]))


@dataclass(frozen=True)
class PooledTimes:
    """Quantiles averaged over runs, their interval from the spread."""

    runs: tuple[Metrics, ...]
    confidence: float

    def quantile(self, q: float, of: str) -> float:
        """Mean of the runs' q-quantiles."""
        return float(np.mean(self._each(q, of)))

    def survival(self, t: float, of: str) -> float:
        """Mean of the runs' shares beyond t."""
        return float(np.mean([run.survival(t, of) for run in self.runs]))

    def variance(self, of: str) -> float:
        """Mean of the runs' variances."""
        return float(np.mean([run.variance(of) for run in self.runs]))

    def quantile_interval(self, q: float, of: str) -> Interval:
        """Its confidence interval."""
        return interval_of_mean(self._each(q, of), self.confidence, of)

    def _each(self, q: float, of: str) -> FloatArray:
        return np.array([run.quantile(q, of) for run in self.runs])
