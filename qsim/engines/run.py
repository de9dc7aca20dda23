"""``simulate``: the one door to both engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from qsim import _check
from qsim.engines.run_length import ENDLESS, RELAXATIONS, customers_needed, require_runnable, shortcoming, shortest_run
from qsim.errors import InvalidParameterError, PrecisionError, SteadyStateError
from qsim.metrics import Metrics
from qsim.models import Network

Engine: TypeAlias = Literal["compiled", "reference"]
Warmup: TypeAlias = Literal["mser5"] | float
Progress: TypeAlias = Callable[[float], object]

METHODS = {"compiled": "compiled engine (numba)", "reference": "reference engine (SimPy)"}

TOO_SHORT = "too short for a steady state: "

FORGET = 3
"""Relaxation times left out at the beginning, at least: what is then left of the start is 5 %."""

MARGIN = 1.2
"""The next run is chosen this much longer than the last one's interval asks for."""

STRETCH = 16
"""A run is at most this many times as long as the one before: short runs misjudge their own spread."""


class Run(NamedTuple):
    """One run, checked: the arguments of ``simulate`` that matter for its outcome."""

    model: Network
    customers: int
    seed: int
    engine: Engine
    warmup: Warmup
    confidence: float
    states: bool


def simulate(
    model: Network,
    *,
    customers: float = 1_000_000,
    seed: int | None = None,
    engine: Engine = "compiled",
    warmup: Warmup = "mser5",
    confidence: float = 0.95,
    precision: float | None = None,
    most_customers: float = 1e9,
    states: bool = False,
    allow_short: bool = False,
    progress: Progress | None = None,
) -> Metrics:
    """Simulate a model to its steady state; every value comes with a confidence interval.

    ``customers``: how many to simulate, warm-up included; ``seed``: a whole number, the same numbers for the
    same seed in both engines (None: a fresh one, found afterwards in ``.seed``); ``warmup``: what to leave out at
    the beginning, "mser5" to let the run decide, a share below 1, or a number of customers; ``states``: watch how many
    are present, for ``.p(n)``, also where waiting times alone are ten times faster; ``progress``: called with the share
    done, 0..1.

    With ``precision`` the run is made longer, at least doubled each time, until the half-width of the interval of W is
    at most that share of it: 0.01 for one percent. Then ``customers`` is the first length tried, ``most_customers`` the
    last, and ``.customers`` of the result the one that was enough: simulating that many with the same seed gives the
    same result again.

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
    n = _check.count("customers", customers)
    level = _check.fraction("confidence", confidence)
    run = Run(model, n, _seed(seed), engine, _warmup(warmup, n), level, states)
    _check.one_of("engine", engine, tuple(METHODS))
    require_runnable(model)
    if precision is None:
        metrics = simulate_once(run, progress)
    else:
        wanted = _check.fraction("precision", precision)
        remedy = f"the first run already takes customers={run.customers}"
        most = _check.count("most_customers", most_customers, run.customers, remedy)
        metrics = _to_precision(run, wanted, most, progress)
    if progress is not None:
        progress(1.0)
    if metrics.warnings and not allow_short:
        raise _refusal(model, metrics, precision)
    return metrics


def simulate_once(run: Run, progress: Progress | None = None) -> Metrics:
    """Make the run; what makes it too short is in the warnings of its Metrics."""
    from qsim.engines.analysis import analyse
    from qsim.engines.results import metrics_of
    from qsim.engines.totals import Totals

    plan = require_runnable(run.model)
    totals = Totals(plan, run.customers)
    if run.engine == "compiled":
        from qsim.engines.compiled.engine import run as follow
    else:
        from qsim.engines.reference.engine import run as follow
    follow(plan, run.customers, run.seed, totals, progress, by_events=run.states)
    memory = shortest_run(run.model) * FORGET // RELAXATIONS
    estimate = analyse(totals.whole, plan.servers, run.warmup, run.confidence, memory)
    short = shortcoming(run.model, run.customers - estimate.warmup)
    complaints = (*([short] if short else []), *estimate.complaints)
    facts = {"model": run.model, "method": METHODS[run.engine], "confidence": run.confidence, "seed": run.seed}
    metrics = metrics_of(estimate, plan, totals, facts)
    return replace(metrics, warnings=tuple(TOO_SHORT + c for c in complaints))


def half_width(metrics: Metrics) -> float:
    """Half the length of the interval of W, as a share of W."""
    low, high = metrics.interval("W")
    reach = max(high - metrics.W, metrics.W - low)  # an interval may be cut off at zero
    return 0.0 if reach == 0 else reach / metrics.W if metrics.W > 0 else math.inf


def _to_precision(run: Run, precision: float, most: int, progress: Progress | None) -> Metrics:
    """The first run long enough, or one of ``most`` customers whose warnings say what it missed.

    An interval shrinks with the square root of the run, so one run says about how long the next must be. It is at least
    doubled: a half-width from 20 batches is itself uncertain by a sixth, and looking after every customer would stop at
    the luckiest moment. Each run starts afresh with the same seed.
    Source: Law (2015), Simulation Modeling and Analysis, section 9.5.3, relative precision by repeated doubling.
    """
    enough = 2 * shortest_run(run.model)
    customers, left = min(max(run.customers, enough) if enough < ENDLESS else run.customers, most), 1.0
    while True:
        metrics = simulate_once(run._replace(customers=customers), _second_half(progress, left))
        width = half_width(metrics)
        if width <= precision and not metrics.warnings:
            return metrics
        if customers == most:
            missed = (f"the interval of W is ± {100 * width:.2g} % wide",) if width > precision else ()
            return replace(metrics, warnings=(*metrics.warnings, *missed))
        factor = min(STRETCH, max(2.0, MARGIN * (width / precision) ** 2))
        customers = min(most, math.ceil(customers * factor))
        left /= 2


def _second_half(progress: Progress | None, left: float) -> Progress | None:
    """Progress of a run that may not be the last: it takes half of what is left."""
    return None if progress is None else lambda share: progress(1 - left + left / 2 * min(share, 1.0))


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
    enough = max(4 * n, 2 * shortest_run(model), customers_needed(model))
    remedy = "Give"
    if enough < ENDLESS:
        unit = int(10 ** max(0, len(str(int(enough))) - 2))  # two significant digits will do
        remedy = f"Give at least {-(-int(enough) // unit) * unit:,} customers, or"
    return SteadyStateError(
        f"the run of {kendall} is too short for a steady state: {complaints}.", f"{remedy} {{allow_short}}.", metrics
    )


def _warmup(warmup: Warmup, customers: int) -> Warmup:
    if warmup == "mser5":
        return warmup
    choices = "'mser5', a share below 1 or a number of customers"
    if isinstance(warmup, str):
        raise InvalidParameterError("warmup", f"must be {choices}, not {warmup!r}", value=warmup)
    value = _check.non_negative("warmup", warmup, choices)
    if value >= customers:
        raise InvalidParameterError(
            "warmup", f"must be below customers ({customers}), not {warmup!r}", "nothing would be measured", warmup
        )
    return value


def _seed(seed: int | None) -> int:
    if seed is None:
        # 53 bits, so that the seed survives any JSON reader.
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 11)
    return _check.count("seed", seed, 0, "None draws a fresh one")
