"""Independent replications: the same model again and again with other seeds, and one interval from all of them.

The replications' values are independent and identically distributed, so no batch length need be chosen; but each of
them starts empty, and what is left of that after its warm-up does not average out.
Source: Law (2015), Simulation Modeling and Analysis, section 9.5.2 (replication/deletion).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.engines.run import Engine, Warmup, checked_run, simulate_once
from qsim.engines.run_length import shortest_run
from qsim.errors import SteadyStateError
from qsim.metrics import SYMBOLS, Interval, Metrics
from qsim.models import Network


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
    warmup: Warmup = "mser5",
    confidence: float = 0.95,
    allow_short: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Metrics:
    """Simulate ``replications`` independent runs of ``customers`` each; intervals come from their spread.

    The other arguments are those of ``simulate``; ``.customers`` and ``.warmup`` of the result count those of all runs.
    Quantiles and states are those of single runs: see ``simulate``.

    Raises what ``simulate`` raises; SteadyStateError, with the estimate, when more than half of the runs are each
    too short for a steady state.

    >>> from qsim import MM1
    >>> metrics = replicate(MM1(0.5, 1), replications=5, customers=10_000, seed=1)
    >>> low, high = metrics.interval("W")
    >>> low < metrics.W < high
    True
    """
    count = _check.count("replications", replications, 2, "an interval needs at least two")
    first = checked_run(model, customers, seed, engine, warmup, confidence)
    runs = []
    for one in run_seeds(first.seed, count):
        runs.append(simulate_once(first._replace(seed=one)))
        if progress is not None:
            progress(len(runs) / count)
    metrics = replace(_pooled(runs, first.confidence), seed=first.seed)
    if metrics.warnings and not allow_short:
        raise SteadyStateError(
            f"the runs of {model.kendall} fall short: {'; '.join(metrics.warnings)}.",
            f"Give customers of at least {2 * shortest_run(model):,} for each, better several times that, "
            "or {allow_short}.",
            metrics,
        )
    return metrics


def _pooled(runs: Sequence[Metrics], confidence: float) -> Metrics:
    """The mean of independent runs of one model, with intervals from their spread."""
    first = runs[0]
    values = {name: np.array([getattr(run, name) for run in runs]) for name in SYMBOLS}
    means: dict[str, float] = {name: float(v.mean()) for name, v in values.items()}
    warned = [run.warnings for run in runs if run.warnings]
    # A rule that looks at every run strikes now and then by chance: it takes a majority to be believed.
    believed = 2 * len(warned) > len(runs)
    said = f"{len(warned)} of {len(runs)} runs complain, the first: {'; '.join(warned[0])}" if believed else ""
    parts = {
        which: tuple(_pooled(each, confidence) for each in zip(*(getattr(run, which) for run in runs), strict=True))
        for which in ("stations", "classes")
    }
    changes = {
        **means,
        **parts,
        "method": f"{first.method}, {len(runs)} replications",
        "intervals": {name: _interval(values[name], confidence, name) for name in first.intervals},
        "customers": sum(run.customers or 0 for run in runs),
        "warmup": sum(run.warmup or 0 for run in runs),
        "seed": None,
        "warnings": (said,) if believed else (),
        "states": None,
        "times": None,
    }
    return replace(first, **changes)  # type: ignore[arg-type]


def _interval(values: FloatArray, confidence: float, name: str) -> Interval:
    """Confidence interval of the mean of independent values."""
    from qsim.engines.analysis import reaches, within_bounds

    mean = float(values.mean())
    return within_bounds(name, mean, reaches(values - mean, confidence, independent=True))
