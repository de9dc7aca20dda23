"""``simulate``: the one door to both engines."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from qsim import _check
from qsim.analytic._stability import require_stable
from qsim.errors import NoEngineError, SteadyStateError
from qsim.metrics import Metrics
from qsim.models import Closed, Model, Open

Engine: TypeAlias = Literal["compiled", "reference"]

METHODS = {"compiled": "compiled engine (numba)", "reference": "reference engine (SimPy)"}

RELAXATIONS = 50
"""A run must last this many relaxation times, the time in which a queue forgets how it started."""

FORGET = 3
"""Relaxation times left out at the beginning, at least: what is then left of the start is 5 %."""


def simulate(
    model: Model,
    *,
    customers: float = 1_000_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: Literal["mser5"] | float = "mser5",
    confidence: float = 0.95,
    allow_short: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Metrics:
    """Simulate a model to its steady state; every value comes with a confidence interval.

    ``customers``: how many to simulate, warm-up included; ``seed``: a whole number, the same numbers for the
    same seed in both engines (None: a fresh one, found afterwards in ``.seed``); ``warmup``: what to leave out at
    the beginning, "mser5" to let the run decide, a share below 1, or a number of customers; ``confidence``: the
    level of the intervals; ``progress``: called now and then with the share done, 0..1.

    Raises ValueError for arguments that make no sense, UnstableQueueError for an open queue with rho >= 1,
    NoEngineError for a model the engines do not run yet, and SteadyStateError, which carries the estimate, when
    the run is too short for a steady state; with ``allow_short`` the estimate is returned with its warnings.
    """
    n = _check.count("customers", customers)
    level = _check.fraction("confidence", confidence)
    chosen_warmup = _warmup(warmup, n)
    entropy = _seed(seed)
    if engine not in METHODS:
        raise ValueError(f"engine must be 'compiled' or 'reference', not {engine!r}")
    servers, typical_time = _require_runnable(model)

    from qsim.engines import output_analysis
    from qsim.engines.recorder import Recorder

    recorder = Recorder(n, typical_time)
    if engine == "compiled":
        from qsim.engines import compiled

        compiled.run(model, n, entropy, recorder, progress)
    else:
        from qsim.engines import reference

        reference.run(model, n, entropy, recorder, progress)
    if progress is not None:
        progress(1.0)
    needed = shortest_run(model)
    estimate = output_analysis.analyse(recorder, servers, chosen_warmup, level, needed * FORGET // RELAXATIONS)
    complaints = list(estimate.complaints)
    if n - estimate.warmup < needed:
        left = f"{n - estimate.warmup:,} customers after the warm-up"
        complaints.insert(0, f"{left} are fewer than the {needed:,} in which this queue forgets its start")
    metrics = Metrics(
        model=model,
        throughput=estimate.values["throughput"],
        utilization=estimate.values["utilization"],
        L=estimate.values["L"],
        Lq=estimate.values["Lq"],
        W=estimate.values["W"],
        Wq=estimate.values["Wq"],
        p_wait=estimate.values["p_wait"],
        p_block=0.0,
        kind="simulated",
        method=METHODS[engine],
        kinds={"p_block": "exact"},
        intervals=estimate.intervals,
        confidence=level,
        customers=n,
        warmup=estimate.warmup,
        seed=entropy,
        warnings=tuple(f"too short for a steady state: {c}" for c in complaints),
        times=estimate.times,
    )
    if complaints and not allow_short:
        raise SteadyStateError(
            f"the run of {model.kendall} is too short for a steady state: {'; '.join(complaints)}. "
            f"Give at least {_round_up(max(4 * n, 2 * needed)):,} customers, "
            "or allow_short=True to see the estimate as it is.",
            metrics,
        )
    return metrics


def shortest_run(model: Model) -> int:
    """Customers for RELAXATIONS relaxation times.

    An open queue forgets its start in about (ca² + cs²)/2 · S/c / (1 - √ρ)², exact for M/M/1 and the
    heavy-traffic value for others; a light one with many servers in a service time (Cohen 1982, The Single
    Server Queue, p. 180; Whitt 1989, Management Science 35, "Planning queueing simulations").  A closed one is
    given as many cycles of its population.
    """
    if isinstance(model, Closed):
        return RELAXATIONS * model.population
    variability = (model.arrivals.scv + model.service.scv) / 2
    relaxations = model.rho * variability / (1 - math.sqrt(model.rho)) ** 2 + model.offered_load
    return math.ceil(RELAXATIONS * relaxations)


def _round_up(n: int) -> int:
    """To two significant digits: advice need not be precise."""
    unit = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // unit) * unit


def _require_runnable(model: Model) -> tuple[int, float]:
    """The number of servers and a typical time; raises for models the engines do not run."""
    if isinstance(model, Open):
        if model.arrival_rate == 0:
            raise ValueError("arrival_rate must be positive for a simulation, not 0: nobody would come; use solve")
        if model.capacity is not None:
            raise NoEngineError(f"{model.kendall} is not simulated yet: its places are limited; leave capacity out")
        require_stable(model)
        return model.servers, model.service.mean
    if not isinstance(model, Closed):
        raise ValueError(f"model must be Open or Closed (MM1(...), MMcN(...), ...), not {model!r}")
    if len(model.queueing) > 1 or len(model.delays) > 1 or model.queueing[0].visits != 1:
        raise NoEngineError(
            f"{model.kendall} is not simulated yet: a closed model may have one Delay and one Station with visits=1"
        )
    return model.queueing[0].servers, model.queueing[0].service.mean


def _warmup(warmup: str | float, customers: int) -> str | float:
    if warmup == "mser5":
        return warmup
    if isinstance(warmup, str):
        raise ValueError(f"warmup must be 'mser5', a share below 1 or a number of customers, not {warmup!r}")
    value = _check.non_negative("warmup", warmup, "'mser5', a share below 1 or a number of customers")
    if value >= customers:
        raise ValueError(f"warmup must be below customers ({customers}), not {warmup!r}: nothing would be measured")
    return value


def _seed(seed: int | None) -> int:
    if seed is None:
        # 53 bits, so that the seed survives any JSON reader.
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 11)
    try:
        value = operator.index(seed)
    except TypeError:
        value = -1
    if value < 0:
        raise ValueError(f"seed must be a whole number, zero or more, not {seed!r}: None draws a fresh one")
    return value
