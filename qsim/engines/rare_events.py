"""Probabilities of one in a million and less, by importance sampling: simulate what makes the event likely, weigh it.

**Tails of G/G/1.**  Wq exceeds t when the random walk of steps X = S - A ever passes t.  With θ the solution of
E[e^(θX)] = 1, service times drawn from e^(θs)·f(s)/E[e^(θS)], and gaps from e^(-θa)·g(a)/E[e^(-θA)], the walk drifts
upwards and always passes t; each run weighs e^(-θ·(where it passes)).  For W the service of the customer itself is
drawn in that way too.  The relative error stays bounded however small the probability.

**Loss of M/M/1/K.**  Exchange λ and μ until the queue is full: a cycle that begins with an arrival at an empty queue
then fills it with a good chance, and weighs (λ/μ)^(K-1).  From there on, and for the arrivals of a cycle, nothing is
changed: P(loss) = P(a cycle fills the queue)·E[losses of a cycle that does]/E[arrivals of a cycle].

Source: Siegmund (1976), Annals Stat. 4, 673-684; Asmussen & Glynn (2007), Stochastic Simulation, chapter VI;
exchange of rates: Parekh & Walrand (1989), IEEE Trans. Automatic Control 34.

>>> from qsim import MM1, solve
>>> model = MM1(arrival_rate=0.5, service_rate=1.0)
>>> found = rare_tail(model, 40.0, seed=1)
>>> found.low < solve(model).survival(40.0) < found.high, f"{found.value:.2g}"
(True, '2.1e-09')
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.analytic.stability import require_stable
from qsim.distributions import Deterministic, Distribution, Erlang, Exponential, Gamma, HyperExponential
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Model, Open

RUNS = 20_000
MOST_STEPS = 1e10


@dataclass(frozen=True)
class RareEstimate:
    """A value with its confidence interval.

    >>> RareEstimate(value=2e-9, low=1.9e-9, high=2.1e-9)
    RareEstimate(value=2e-09, low=1.9e-09, high=2.1e-09)
    """

    value: float
    low: float
    high: float


@singledispatch
def _tilted(law: object, theta: float) -> tuple[Distribution, float]:
    """The law with density e^(θx)·f(x)/E[e^(θX)], and log E[e^(θX)]."""
    raise NoEngineError(
        f"rare events need times that can be tilted (Exponential, Erlang, Gamma, HyperExponential, Deterministic), "
        f"not {type(law).__name__}; use simulate"
    )


@_tilted.register
def _(law: Exponential, theta: float) -> tuple[Distribution, float]:
    left = 1 - theta * law.mean
    return Exponential(law.mean / left), -math.log(left)


@_tilted.register
def _(law: Erlang, theta: float) -> tuple[Distribution, float]:
    left = 1 - theta * law.mean / law.k
    return Erlang(law.k, law.mean / left), -law.k * math.log(left)


@_tilted.register
def _(law: Gamma, theta: float) -> tuple[Distribution, float]:
    left = 1 - theta * law.mean * law.scv
    return Gamma(law.mean / left, law.scv), -math.log(left) / law.scv


@_tilted.register
def _(law: HyperExponential, theta: float) -> tuple[Distribution, float]:
    left = 1 - theta * np.asarray(law.means)
    weights = np.asarray(law.probabilities) / left
    return HyperExponential(tuple(weights / weights.sum()), tuple(law.means / left)), math.log(weights.sum())


@_tilted.register
def _(law: Deterministic, theta: float) -> tuple[Distribution, float]:
    return law, theta * law.mean


def _largest_tilt(law: Distribution) -> float:
    """E[e^(θX)] is finite below this."""
    if isinstance(law, Deterministic):
        return math.inf
    if isinstance(law, HyperExponential):
        return 1 / max(law.means)
    return 1 / (law.mean * law.scv)


def _one_server(model: Model) -> Open:
    if not (
        isinstance(model, Open) and model.plain and model.servers == 1 and isinstance(model.arrivals, Distribution)
    ):
        name = getattr(model, "kendall", repr(model))
        raise NoEngineError(
            f"rare events are estimated of first-come-first-served queues with one server, not {name}; use simulate"
        )
    return model


def _decay(model: Open) -> float:
    """θ > 0 with E[e^(θS)]·E[e^(-θA)] = 1: the rate at which the tail of the wait falls."""
    from scipy.optimize import brentq

    arrivals, service = model.arrivals, model.service
    assert isinstance(arrivals, Distribution)  # noqa: S101

    def excess(theta: float) -> float:
        return _tilted(service, theta)[1] + _tilted(arrivals, -theta)[1]

    _tilted(service, 0.0), _tilted(arrivals, 0.0)
    if service.scv == 0 == arrivals.scv:
        raise NoEngineError(f"nobody ever waits in {model.kendall}")
    most, high = _largest_tilt(service), 1e-3 / service.mean
    while excess(high) < 0:
        high = 2 * high if 2 * high < most else (high + most) / 2
        if not most - high > 1e-12 * high:
            raise NoEngineError(
                f"the load of {model.rho:.2g} is too low to estimate the waits of {model.kendall}; use simulate"
            )
    low = high
    while excess(low) > 0:
        low /= 2
    return float(brentq(excess, low, high, xtol=1e-15 * high, rtol=1e-12))


def _passages(model: Open, t: float, of: str, runs: int, seed: int, theta: float) -> FloatArray:
    """The weight of each run."""
    rng = np.random.default_rng(seed)
    service, growth = _tilted(model.service, theta)
    gaps, _ = _tilted(model.arrivals, -theta)
    drift = service.mean - gaps.mean
    # The longest of the runs go on alone for about variance/drift² steps, which cost more than steps of all together.
    steps = (runs * t + 1000 * (service.scv * service.mean**2 + gaps.scv * gaps.mean**2) / drift) / drift
    if steps > MOST_STEPS:
        raise NoEngineError(
            f"the tail of {model.kendall} with rho = {model.rho:.6g} at {t:.4g} would take some {steps:.0e} steps, "
            f"more than {MOST_STEPS:.0e}; give fewer runs or a smaller t, or use solve"
        )
    reached = service.sample(rng, runs) if of == "W" else np.zeros(runs)
    going = np.flatnonzero(reached <= t)
    while going.size:
        reached[going] += service.sample(rng, going.size) - gaps.sample(rng, going.size)
        going = going[reached[going] <= t]
    return np.asarray(np.exp((growth if of == "W" else 0.0) - theta * reached))


def _estimate(weights: FloatArray, confidence: float) -> RareEstimate:
    from scipy.stats import norm

    mean = float(weights.mean())
    reach = float(norm.ppf((1 + confidence) / 2) * weights.std() / math.sqrt(weights.size))
    return RareEstimate(mean, max(0.0, mean - reach), min(1.0, mean + reach))


def rare_tail(
    model: Model, t: float, of: str = "W", *, runs: float = RUNS, seed: int = 0, confidence: float = 0.95
) -> RareEstimate:
    """P(W > t), or P(Wq > t), of a G/G/1 queue, however small.

    Raises UnstableQueueError for rho >= 1, and NoEngineError for other queues and for laws without exponential moments.

    >>> from qsim import Erlang, GG1
    >>> found = rare_tail(GG1(Erlang(2, 1.25), Erlang(4, 1.0)), 30.0, "Wq")
    >>> f"{found.value:.2g}", (found.high - found.low) / found.value < 0.02
    ('5.7e-08', True)
    """
    queue = _one_server(model)
    level = _check.non_negative("t", t)
    _check.one_of("of", of, ("W", "Wq"))
    if queue.capacity is not None:
        raise NoEngineError(f"rare_tail takes queues without a limit on places, not {queue.kendall}; use rare_loss")
    require_stable(queue)
    weights = _passages(queue, level, of, _check.count("runs", runs, 100), _check.count("seed", seed, 0), _decay(queue))
    return _estimate(weights, _check.fraction("confidence", confidence))


def rare_quantile(
    model: Model, q: float, of: str = "W", *, runs: float = RUNS, seed: int = 0, confidence: float = 0.95
) -> RareEstimate:
    """The time that a share ``q`` of the customers stays below, as 0.9999 or 1 - 1e-9; raises what rare_tail raises.

    >>> from qsim import MM1, solve
    >>> found = rare_quantile(MM1(0.8, 1.0), 0.9999)
    >>> found.low < solve(MM1(0.8, 1.0)).quantile(0.9999) < found.high
    True
    """
    rare = 1 - _check.fraction("q", q)
    at, low, high = 0.0, 0.0, math.inf
    theta = _decay(_one_server(model))
    while True:  # the logarithm of the tail is nearly straight, with the slope -θ
        tail = rare_tail(model, at, of, runs=runs, seed=seed, confidence=confidence)
        if at == 0.0 and tail.value <= rare:
            return RareEstimate(0.0, 0.0, 0.0)
        low, high = (at, high) if tail.value > rare else (low, at)
        step, reach = math.log(tail.value / rare) / theta, (tail.high - tail.low) / 2 / tail.value / theta
        value = at + step
        if abs(step) <= reach or high - low <= 1e-9 * low:
            value = min(max(value, low), high)  # the tail of times of one length jumps
            return RareEstimate(value, max(0.0, value - reach), value + reach)
        at = value if low < value < high else (low + high) / 2


def rare_loss(model: Model, *, runs: float = RUNS, seed: int = 0, confidence: float = 0.95) -> RareEstimate:
    """The share of arrivals that an M/M/1/K queue with rho < 1 turns away, however small.

    >>> from qsim import MM1K, solve
    >>> found = rare_loss(MM1K(0.5, 1.0, 29))
    >>> found.low < solve(MM1K(0.5, 1.0, 29)).p_block < found.high, f"{found.value:.1g}"
    (True, '9e-10')
    """
    queue = _one_server(model)
    exponential = isinstance(queue.arrivals, Exponential) and isinstance(queue.service, Exponential)
    if not exponential or queue.capacity is None:
        raise NoEngineError(f"rare_loss takes M/M/1/K, not {queue.kendall}; use simulate")
    if not 0 < queue.rho < 1:
        raise InvalidParameterError("model", f"must have rho between 0 and 1, not {queue.rho:.4g}", "use simulate")
    rng, n = np.random.default_rng(_check.count("seed", seed, 0)), _check.count("runs", runs, 100)
    level = _check.fraction("confidence", confidence)
    K, up = queue.capacity, queue.rho / (1 + queue.rho)
    filled = _walks(rng, n, 1, K, 1 - up)[0] == K
    lost = _walks(rng, n, K, None, up, K)[1]
    coming = 1 + _walks(rng, n, 1, None, up, K)[2]
    # The three parts are independent: relative variances add up.
    parts = [filled * queue.rho ** (K - 1.0), lost.astype(float), coming.astype(float)]
    means = [float(part.mean()) for part in parts]
    spread = math.sqrt(sum(float(p.var()) / n / m**2 for p, m in zip(parts, means, strict=True)))
    value = means[0] * means[1] / means[2]
    from scipy.stats import norm

    factor = math.exp(float(norm.ppf((1 + level) / 2)) * spread)
    return RareEstimate(value, value / factor, min(1.0, value * factor))


def _walks(
    rng: np.random.Generator, runs: int, start: int, top: int | None, up: float, places: int = 0
) -> tuple[IntArray, IntArray, IntArray]:
    """Walks from ``start`` to 0 or ``top``: where each ends, its arrivals lost at ``places``, and all of them."""
    at = np.full(runs, start)
    lost, coming = np.zeros(runs, dtype=np.int64), np.zeros(runs, dtype=np.int64)
    going = np.flatnonzero(at != top)
    while going.size:
        rise = rng.random(going.size) < up
        full = rise & (at[going] == places) if top is None else np.zeros(going.size, dtype=bool)
        coming[going] += rise
        lost[going] += full
        at[going] += np.where(rise, ~full, -1)
        going = going[(at[going] > 0) & (at[going] != top)]
    return at, lost, coming
