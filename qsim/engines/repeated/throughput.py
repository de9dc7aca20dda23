"""The throughput of a network from its start: how many finish in each stretch of time, over many runs.

A write cache is fast until it is full; a steady state says nothing of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.transient.birth_death import checked_times
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.repeated.replications import interval_of_mean
from qsim.engines.runnable import require_runnable
from qsim.errors import InvalidParameterError
from qsim.models import Network

MOST_FINISHED = 1e8


@dataclass(frozen=True)
class ThroughputOverTime:
    """Mean completions per time unit from each of ``times`` to the next, with the interval of the mean of the runs."""

    times: FloatArray
    throughput: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float
    seed: int


class _Finished(RunTotals):
    """When each customer finished."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.gaps: list[FloatArray] = []

    def add_finished(self, gaps: FloatArray, *_: Any, **__: Any) -> None:
        self.gaps.append(gaps.copy())


def simulate_throughput(
    model: Network,
    times: Sequence[float] | FloatArray,
    *,
    replications: int = 20,
    seed: int = 0,
    confidence: float = 0.95,
) -> ThroughputOverTime:
    """How many pass through an empty network, or come round in a closed one, between each of ``times`` and the next.

    >>> from qsim import Exponential, WriteCache
    >>> cache = WriteCache(8, 0.0, cache=Exponential(20e-6), disk=Exponential(100e-6), places=4000)
    >>> run = simulate_throughput(cache, [0, 0.05, 0.2, 0.3], seed=1)
    >>> [round(x, -3) for x in run.throughput.tolist()]
    [50000.0, 23000.0, 10000.0]
    """
    edges = np.concatenate(([0.0], checked_times([t for t in times if t != 0])))
    if edges.size < 2:
        raise InvalidParameterError("times", "must hold at least one time after 0")
    if not isinstance(model, Network):
        raise InvalidParameterError("model", f"must be a Network, not {model!r}", value=model)
    runs = _check.count("replications", replications, 2, "an interval needs at least two")
    level = _check.fraction("confidence", confidence)
    entropy = _check.count("seed", seed, minimum=0)
    seeds = np.random.SeedSequence(entropy).generate_state(runs)
    rates = np.array([_counts(model, edges, int(one)) for one in seeds]) / np.diff(edges)
    ends = np.array([interval_of_mean(column, level, "throughput") for column in rates.T])
    return ThroughputOverTime(edges, rates.mean(axis=0), ends[:, 0], ends[:, 1], level, entropy)


def _counts(model: Network, edges: FloatArray, seed: int) -> FloatArray:
    """Completions between the edges, in one run that is made longer until it reaches the last of them."""
    from qsim.engines.compiled import engine

    plan, customers = require_runnable(model), 4096
    while True:
        totals = _Finished(plan, customers)
        engine.run(plan, customers, seed, totals, None)
        finished = np.cumsum(np.concatenate(totals.gaps))
        if finished[-1] > edges[-1]:
            return np.diff(np.searchsorted(finished, edges)).astype(float)
        customers = int(customers * min(16.0, max(1.5, 1.2 * edges[-1] / finished[-1])))
        if customers > MOST_FINISHED:
            raise InvalidParameterError(
                "times",
                f"must end before {finished[-1]:.3g}, not at {edges[-1]:.3g}",
                f"more than {MOST_FINISHED:,.0f} would finish until then",
            )
