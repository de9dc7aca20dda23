"""``simulate``: the one door to both engines."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from qsim import _check
from qsim.distributions import Distribution
from qsim.engines import heavy_tails
from qsim.engines.plan import Plan, servers_of, typical_time
from qsim.engines.precision import PrecisionTarget, run_to_precision
from qsim.engines.runnable import ENDLESS, RELAXATIONS, require_runnable, shortest_run
from qsim.errors import InvalidParameterError, NoEngineError, PrecisionError, SteadyStateError
from qsim.metrics import Metrics
from qsim.models import Network

Engine: TypeAlias = Literal["compiled", "reference"]
Intervals: TypeAlias = Literal["batch means", "regenerative"]

__all__ = ["Engine", "Intervals", "check_arguments", "shortest_run", "simulate"]

METHODS = {"compiled": "compiled engine (numba)", "reference": "reference engine (SimPy)"}

TOO_SHORT = "too short for a steady state: "

FORGET = 3
"""Relaxation times left out at the beginning, at least: what is then left of the start is 5 %."""


def simulate(
    model: Network,
    *,
    customers: float = 1_000_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: Literal["mser5"] | float = "mser5",
    confidence: float = 0.95,
    intervals: Intervals = "batch means",
    precision: float | None = None,
    precision_of: str | Sequence[str] = "W",
    most_customers: float = 1e9,
    states: bool = False,
    allow_short: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Metrics:
    """Simulate a model to its steady state; every value comes with a confidence interval.

    ``customers``: how many to simulate, warm-up included; ``seed``: a whole number, the same numbers for the
    same seed in both engines (None: a fresh one, found afterwards in ``.seed``); ``warmup``: what to leave out at
    the beginning, "mser5" to let the run decide, a share below 1, or a number of customers; ``confidence``: the
    level of the intervals; ``intervals``: how they are made, "batch means" for any model, or "regenerative" from
    the cycles of a first-come-first-served queue that empties (see qsim.engines.output.regenerative; it needs no
    warm-up); ``states``: watch how many are present, for ``.p(n)``, also where waiting times alone would be had
    ten times faster; ``progress``: called now and then with the share done, 0..1.

    With ``precision`` the run is made longer, at least doubled each time, until the half-width of the interval
    of each value named in ``precision_of`` is at most that share of the value: 0.01 for one percent.  Then
    ``customers`` is the first length tried, ``most_customers`` the last, and ``.customers`` of the result the
    one that was enough: simulating that many with the same seed gives the same result again.

    Raises ValueError for arguments that make no sense, UnstableQueueError for an open queue with rho >= 1,
    NoEngineError for a model the engines do not run, and SteadyStateError, which carries the estimate, when
    the run is too short for a steady state or PrecisionError, its subclass, when most_customers do not reach the
    precision; with ``allow_short`` the estimate is returned with its warnings.

    >>> from qsim import MM1
    >>> metrics = simulate(MM1(arrival_rate=0.5, service_rate=1), customers=10_000, seed=1)
    >>> low, high = metrics.interval("W")
    >>> low < metrics.W < high
    True
    """
    n, entropy, chosen_warmup, level = check_arguments(
        model, customers, seed, engine, warmup, confidence, intervals, states
    )

    def once(length: int, progress: Callable[[float], object] | None) -> Metrics:
        return _simulate_once(model, length, entropy, engine, chosen_warmup, level, intervals, states, progress)

    if precision is None:
        metrics = once(n, progress)
    else:
        target = PrecisionTarget.checked(precision, precision_of, most_customers, n)
        enough = 2 * shortest_run(model)
        metrics = run_to_precision(once, target, max(n, enough) if enough < ENDLESS else n, progress)
    if progress is not None:
        progress(1.0)
    if metrics.warnings and not allow_short:
        raise _refusal(model, metrics, precision)
    return metrics


def check_arguments(
    model: Network,
    customers: float,
    seed: int | None,
    engine: str,
    warmup: str | float,
    confidence: float,
    intervals: str,
    states: bool = False,
) -> tuple[int, int, str | float, float]:
    """Customers, seed, warm-up and confidence as ``simulate`` uses them; raises what it raises, before any work."""
    n = _check.count("customers", customers)
    level = _check.fraction("confidence", confidence)
    chosen_warmup = _warmup(warmup, n)
    entropy = _seed(seed)
    if engine not in METHODS:
        raise InvalidParameterError("engine", f"must be 'compiled' or 'reference', not {engine!r}", value=engine)
    if intervals not in ("batch means", "regenerative"):
        raise InvalidParameterError(
            "intervals", f"must be 'batch means' or 'regenerative', not {intervals!r}", value=intervals
        )
    plan = require_runnable(model)
    if intervals == "regenerative":
        _require_cycles(model, plan, states)
    return n, entropy, chosen_warmup, level


def _simulate_once(
    model: Network,
    n: int,
    entropy: int,
    engine: Engine,
    warmup: str | float,
    level: float,
    intervals: Intervals,
    states: bool,
    progress: Callable[[float], object] | None,
) -> Metrics:
    """One run; what makes it too short is in the warnings of its Metrics."""
    from qsim.engines.output import analysis as output_analysis
    from qsim.engines.output import run_metrics as parts
    from qsim.engines.output.recorder import Recorder
    from qsim.engines.output.run_totals import RunTotals

    plan = require_runnable(model)
    recorder = Recorder(n, typical_time(plan), cycles=intervals == "regenerative")
    totals = RunTotals(plan, n, recorder)
    if engine == "compiled":
        from qsim.engines.compiled import engine as compiled

        compiled.run(plan, n, entropy, totals, progress, by_events=states)
    else:
        from qsim.engines.reference import engine as reference

        reference.run(plan, n, entropy, totals, progress, by_events=states)
    needed = shortest_run(model)
    estimate = output_analysis.analyse(recorder, servers_of(plan), warmup, level, needed * FORGET // RELAXATIONS)
    complaints = list(estimate.complaints)
    if needed == ENDLESS:
        complaints.insert(0, "its times have an infinite variance, and no run is long enough for a mean wait")
    elif n - estimate.warmup < needed:
        left = f"{n - estimate.warmup:,} customers after the warm-up"
        complaints.insert(0, f"{left} are fewer than the {needed:,} in which this queue forgets its start")
    elif heavy := heavy_tails.complaint(model, n - estimate.warmup):
        complaints.insert(0, heavy)
    p_block, p_block_interval = parts.blocking(plan, totals, estimate.warmup, level)
    metrics = Metrics(
        model=model,
        throughput=estimate.values["throughput"],
        utilization=estimate.values["utilization"],
        L=estimate.values["L"],
        Lq=estimate.values["Lq"],
        W=estimate.values["W"],
        Wq=estimate.values["Wq"],
        p_wait=estimate.values["p_wait"],
        p_block=p_block,
        kind="simulated",
        method=METHODS[engine] + estimate.method,
        kinds={} if p_block_interval else {"p_block": "exact"},
        intervals={**estimate.intervals, **({"p_block": p_block_interval} if p_block_interval else {})},
        confidence=level,
        customers=n,
        warmup=estimate.warmup,
        seed=entropy,
        warnings=tuple(TOO_SHORT + c for c in complaints),
        states=parts.observed_states(totals),
        times=estimate.times,
    )
    return parts.with_parts(metrics, plan, totals)


def _refusal(model: Network, metrics: Metrics, precision: float | None) -> SteadyStateError:
    """What to raise for a run that fell short, with its estimate and what would be enough."""
    kendall, n = model.kendall, metrics.customers or 0
    if precision is not None:
        return PrecisionError(
            f"{n:,} customers of {kendall}, the most allowed, fall short: {'; '.join(metrics.warnings)}.",
            "Raise {most_customers} or {precision}, or give {allow_short}.",
            metrics,
        )
    complaints = "; ".join(w.removeprefix(TOO_SHORT) for w in metrics.warnings)
    enough = max(4 * n, 2 * shortest_run(model), heavy_tails.customers_needed(model))
    remedy = f"Give at least {_round_up(int(enough)):,} customers, or" if enough < ENDLESS else "Give"
    return SteadyStateError(
        f"the run of {kendall} is too short for a steady state: {complaints}.", f"{remedy} {{allow_short}}.", metrics
    )


def _round_up(n: int) -> int:
    """To two significant digits: advice need not be precise."""
    unit = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // unit) * unit


def _require_cycles(model: Network, plan: Plan, states: bool) -> None:
    """Raises for a model that does not start afresh whenever it empties, or is not recorded in order of arrival."""
    renewal = all(isinstance(source, Distribution) for source in plan.sources)
    if not (renewal and plan.first_come) or states:
        raise NoEngineError(
            f"intervals must not be 'regenerative' for {model.kendall}: cycles are followed in open first-come-"
            "first-served queues without a limit on places, and without states; use intervals='batch means'"
        )


def _warmup(warmup: str | float, customers: int) -> str | float:
    if warmup == "mser5":
        return warmup
    if isinstance(warmup, str):
        raise InvalidParameterError(
            "warmup", f"must be 'mser5', a share below 1 or a number of customers, not {warmup!r}", value=warmup
        )
    value = _check.non_negative("warmup", warmup, "'mser5', a share below 1 or a number of customers")
    if value >= customers:
        raise InvalidParameterError(
            "warmup", f"must be below customers ({customers}), not {warmup!r}", "nothing would be measured", warmup
        )
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
        raise InvalidParameterError(
            "seed", f"must be a whole number, zero or more, not {seed!r}", "None draws a fresh one", value=seed
        )
    return value
