"""``simulate``: runs either engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from qsim import _check
from qsim.engines import run_length
from qsim.errors import SteadyStateError
from qsim.metrics import Metrics
from qsim.models import Network

Engine: TypeAlias = Literal["compiled", "reference"]
Progress: TypeAlias = Callable[[float], object]

METHODS = {"compiled": "compiled engine (numba)", "reference": "reference engine (SimPy)"}

TOO_SHORT = "too short for a steady state: "

FORGET = 3  # least number of relaxation times left out at the beginning: the effect of the start is then 5 %


def simulate(
    model: Network,
    *,
    customers: float = 1_000_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: float | None = None,
    confidence: float = 0.95,
    allow_short: bool = False,
    progress: Progress | None = None,
) -> Metrics:
    """Simulate a model to its steady state; every value comes with a confidence interval.

    ``customers``: how many to simulate, warm-up included; ``seed``: a whole number, which gives the same variates in
    both engines (None: a new one, in ``.seed`` of the result); ``warmup``: the share of the run to leave out at the
    beginning (None: chosen by MSER-5); ``progress``: called with the share done, 0..1.

    Raises ValueError for arguments that make no sense, UnstableQueueError for an open queue with rho >= 1,
    NoEngineError for a model the engines do not run, and SteadyStateError, which carries the estimate, when the run is
    too short for a steady state; with ``allow_short`` the estimate is returned with its warnings.

    >>> from qsim import MM1
    >>> metrics = simulate(MM1(arrival_rate=0.5, service_rate=1), customers=10_000, seed=1)
    >>> low, high = metrics.interval("W")
    >>> low < metrics.W < high
    True
    """
    n = _check.count("customers", customers)
    confidence = _check.fraction("confidence", confidence)
    share = None if warmup is None else _check.fraction("warmup", warmup)
    _check.one_of("engine", engine, tuple(METHODS))
    if seed is None:
        # 53 bits, so that the seed survives any JSON reader.
        seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 11)
    seed = _check.count("seed", seed, 0, "None draws a fresh one")
    plan = run_length.require_runnable(model)

    from qsim.engines.analysis import analyse, metrics_of, with_longer_tails
    from qsim.engines.recorder import Totals

    if engine == "compiled":
        from qsim.engines.compiled.engine import run
    else:
        from qsim.engines.reference import run
    totals = Totals(plan, n)
    run(plan, n, seed, totals, progress)
    memory = run_length.shortest_run(model) * FORGET // run_length.RELAXATIONS
    estimate = analyse(totals.whole, plan.servers, confidence, memory=memory, share=share)
    short = run_length.shortcoming(model, n - estimate.warmup)
    complaints = (*([short] if short else []), *estimate.complaints)
    facts = {"model": model, "method": METHODS[engine], "confidence": confidence, "seed": seed}
    metrics = metrics_of(estimate, plan, totals, facts)
    if (factor := run_length.stretch_above(model, n - estimate.warmup)) > 1:
        metrics = with_longer_tails(metrics, factor)
    metrics = replace(metrics, warnings=tuple(TOO_SHORT + c for c in complaints))
    if progress is not None:
        progress(1.0)
    if complaints and not allow_short:
        raise _refusal(metrics, "; ".join(complaints), model, n)
    return metrics


def _refusal(metrics: Metrics, complaints: str, model: Network, customers: int) -> SteadyStateError:
    """The error for a run that is too short, with its estimate and the number of customers that would be enough."""
    enough = max(4 * customers, 2 * run_length.shortest_run(model), run_length.customers_needed(model))
    remedy = "Give"
    if enough < run_length.ENDLESS:
        unit = int(10 ** max(0, len(str(int(enough))) - 2))  # two significant digits will do
        remedy = f"Give at least {-(-int(enough) // unit) * unit:,} customers, or"
    return SteadyStateError(
        f"the run of {model.kendall} is too short for a steady state: {complaints}.", remedy, metrics
    )
