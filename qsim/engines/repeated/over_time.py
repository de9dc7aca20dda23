"""A queue as time passes, simulated: many runs from the same start, and how many are present at given times.

Arrivals of a rate λ(t) are made by thinning: of Poisson arrivals at the highest rate each stays with probability
λ(t)/highest.  The intervals come from the spread of the runs, at each time by itself.

Source: Lewis & Shedler (1979), Naval Res. Logist. 26, "Simulation of nonhomogeneous Poisson processes by thinning".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.transient.birth_death import checked_times
from qsim.analytic.transient.over_time import OverTime
from qsim.analytic.transient.rate_of_time import GivenRate, RateOfTime
from qsim.distributions import Distribution
from qsim.engines.repeated.replications import interval_of_mean
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Model, Open


def simulate_over_time(
    model: Model,
    times: Sequence[float] | FloatArray,
    start: int = 0,
    arrival_rate: GivenRate | None = None,
    *,
    replications: int = 1000,
    seed: int | None = None,
    confidence: float = 0.95,
    progress: Callable[[float], object] | None = None,
) -> OverTime:
    """The mean number present at each of ``times``, over ``replications`` runs that begin with ``start`` customers.

    ``model`` is G/G/c or G/G/c/K in order of arrival, of any service law.  ``arrival_rate`` makes the arrivals Poisson
    with a rate that varies, a table {time: rate from there on} or a function of time, in place of the model's own.

    Raises ValueError for a rate that is negative at some time, NoEngineError for other models.

    >>> from qsim import MM1, transient
    >>> queue, times = MM1(arrival_rate=0.8, service_rate=1.0), [1, 10]
    >>> simulated, exact = simulate_over_time(queue, times, seed=1), transient(queue, times)
    >>> bool(((simulated.low <= exact.L) & (exact.L <= simulated.high)).all())
    True
    """
    from qsim.engines.compiled.presence import count_present

    at = checked_times(times)
    if not (isinstance(model, Open) and model.plain):
        raise NoEngineError(
            f"{model.kendall} is not simulated over time: only G/G/c and G/G/c/K in order of arrival are; "
            "simulate gives its steady state"
        )
    start = _check.count("start", start, minimum=0)
    runs = _check.count("replications", replications, 2, "an interval needs at least two")
    level = _check.fraction("confidence", confidence)
    if model.capacity is not None and start > model.capacity:
        raise InvalidParameterError("start", f"must be at most the {model.capacity} places, not {start}", value=start)
    rate = None if arrival_rate is None else RateOfTime.checked("arrival_rate", arrival_rate, float(at[-1]))
    entropy = np.random.SeedSequence(seed).entropy if seed is None else _check.count("seed", seed, minimum=0)
    children = np.random.SeedSequence(entropy).spawn(runs)
    present = np.empty((runs, at.size))
    for run, child in enumerate(children):
        rng = np.random.default_rng(child)
        arrivals = _arrivals(model, rate, float(at[-1]), rng)
        arrivals = np.concatenate((np.zeros(start), arrivals))
        services = model.service.sample(rng, arrivals.size)
        counts = np.zeros(at.size, dtype=np.int64)
        count_present(arrivals, services, np.zeros(model.servers), model.capacity or 0, at, counts)
        present[run] = counts
        if progress is not None:
            progress((run + 1) / runs)
    ends = np.array([interval_of_mean(present[:, k], level, "L") for k in range(at.size)])
    return OverTime(
        model=model,
        times=at,
        L=present.mean(axis=0),
        Lq=np.maximum(present - model.servers, 0).mean(axis=0),
        arrival_rate=np.full(at.size, model.arrival_rate) if rate is None else rate.each(at),
        kind="simulated",
        method=f"{runs:,} replications" + ("" if rate is None else ", arrivals by thinning"),
        low=ends[:, 0],
        high=ends[:, 1],
        confidence=level,
        seed=int(entropy),  # type: ignore[arg-type]
    )


def _arrivals(model: Open, rate: RateOfTime | None, until: float, rng: np.random.Generator) -> FloatArray:
    """When customers come, up to ``until``."""
    if rate is None:
        assert isinstance(model.arrivals, Distribution)  # noqa: S101
        if math.isinf(model.arrivals.mean):
            return np.empty(0)
        come = np.empty(0)
        while come.size == 0 or come[-1] <= until:
            more = model.arrivals.sample(rng, 16 + math.ceil(1.1 * until / model.arrivals.mean))
            come = np.concatenate((come, (come[-1] if come.size else 0.0) + np.cumsum(more)))
        return np.asarray(come[come <= until])
    candidates = np.sort(rng.uniform(0.0, until, rng.poisson(rate.most * until)))
    kept = rate.each(candidates)
    if kept.max(initial=0.0) > rate.most:
        t = float(candidates[kept.argmax()])
        raise InvalidParameterError(
            "arrival_rate",
            f"has a peak of {kept.max():g} at t = {t:g} that is too narrow",
            "give it as a table of steps",
            float(kept.max()),
        )
    return np.asarray(candidates[rng.uniform(0.0, 1.0, candidates.size) * rate.most < kept])
