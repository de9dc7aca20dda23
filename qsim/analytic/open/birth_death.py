"""Birth and death: Poisson arrivals, work done at speed s(n) with n present, and perhaps K places.

The flow between neighbouring states balances, λ·p(n) = s(n+1)/S·p(n + 1), taken in logarithms so that no power
overflows.  The last speed stays, so without a limit the states are geometric beyond its place; with one there are no
states beyond K, every load has a steady state, and p(K) of the arrivals are lost.  W, Wq and P(wait) are those of the
customers that are admitted, at rate X = λ·(1 - p(K)).

- **M/M/c/K**: s(n) = min(n, c).
- **M/G/c/c**, Erlang's loss system: of the service law only the mean counts (Sevastyanov 1957).
- **Load-dependent service**: any ``speeds``, as of a disk that schedules better when deeper.  Exact for exponential
  services in any order that does not look at sizes, and for any law under processor sharing.

Source: Erlang (1917); Sevastyanov (1957), Theory Prob. Appl. 2; Kleinrock (1975), Queueing Systems I, sections 3.2, 3.6
and 3.7; Kelly (1979), Reversibility and Stochastic Networks, section 3.3 (insensitivity).

>>> from qsim import Deterministic, Exponential, MMcK, Open, solve
>>> round(solve(MMcK(arrival_rate=8, service_rate=1, servers=10, capacity=10)).p_block, 6)
0.121661
>>> round(solve(Open(Exponential(1 / 8), Deterministic(1.0), servers=10, capacity=10)).p_block, 6)
0.121661
>>> round(solve(Open(Exponential(1 / 1.5), Exponential(1.0), speeds=(1.0, 2.0))).L, 6)  # as M/M/2
3.428571
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.times import poisson_window, quantile
from qsim.analytic.views import BY_SIZE, Formula, OpenQueue, open_queue
from qsim.distributions import Distribution, Exponential
from qsim.errors import NoFormulaError
from qsim.metrics import Described, ExactTimes, Metrics, TimeDistribution

LIMITED = "M/M/c/K birth-death in logarithms (Kleinrock 1975, section 3.6)"
LOSS = "Erlang B (Erlang 1917), insensitive to the service law (Sevastyanov 1957)"
SPEEDS = "birth-death with speeds by the number present (Kleinrock 1975, section 3.2)"

MOST_STATES = 2_000_000  # the longest table of probabilities: some hundred megabytes


def require_few_states(model: Described, states: int) -> None:
    """Raise NoFormulaError for more than ``MOST_STATES`` states."""
    if states > MOST_STATES:
        raise NoFormulaError(model.kendall, f"it has {states:,} states, more than the {MOST_STATES:,} of a table")


def weights(log_ratios: FloatArray) -> FloatArray:
    """p(0), p(1), ... up to a common factor, the largest of them 1, from log(p(n + 1)/p(n)); a chain in each row."""
    logs = np.zeros((*log_ratios.shape[:-1], log_ratios.shape[-1] + 1))
    np.cumsum(log_ratios, axis=-1, out=logs[..., 1:])
    logs -= logs.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(logs, out=logs))


@dataclass(frozen=True)
class TabulatedStates:
    """p(0), ..., p(m) as a table, geometric with ``ratio`` beyond."""

    table: tuple[float, ...]
    ratio: float = 0.0

    def p(self, n: int) -> float:
        last = len(self.table) - 1
        return self.table[n] if n <= last else self.table[last] * self.ratio ** (n - last)


@dataclass(frozen=True)
class ServiceTimes(ExactTimes):
    """Where nobody waits, W is the service time."""

    service: Distribution

    def quantile(self, q: float, of: str) -> float:
        return self.service.quantile(q) if of == "W" else 0.0

    def survival(self, t: float, of: str) -> float:
        return float(self.service.survival(t)) if of == "W" else 0.0

    def variance(self, of: str) -> float:
        return self.service.variance if of == "W" else 0.0


def _states(load: float, speeds: Sequence[float], most: int, limited: bool) -> tuple[FloatArray, float]:
    """p(0), ..., p(most) and the ratio beyond."""
    speed = np.asarray(speeds)[np.minimum(np.arange(most), len(speeds) - 1)]
    ratio = 0.0 if limited else load / speeds[-1]
    with np.errstate(divide="ignore"):  # without arrivals, log(0)
        w = weights(np.log(load) - np.log(speed))
    return w / (w.sum() + w[-1] * ratio / (1 - ratio)), ratio


def solve(model: OpenQueue) -> Metrics:
    """Exact; raises UnstableQueueError when more work comes than the last speed does and places are not limited."""
    model.require_stable()
    c, S, lam, K = model.servers, model.service.mean, model.arrival_rate, model.capacity
    if K is not None:
        require_few_states(model, K)
    speeds = model.speeds or tuple(float(k) for k in range(1, (c if K is None else min(c, K)) + 1))
    p, ratio = _states(model.offered_load, speeds, max(len(speeds), c) if K is None else K, K is not None)
    n, lost = np.arange(p.size), 0.0 if K is None else float(p[-1])
    # Beyond the table p(m + k) = p(m)·ratio^k, whose sums over k and over k·ratio^k are known.
    beyond, further = float(p[-1]) * ratio / (1 - ratio), float(p[-1]) * ratio / (1 - ratio) ** 2
    queued = float(p @ np.maximum(n - c, 0)) + beyond * (p.size - 1 - c) + further
    busy = float(p @ np.minimum(n, c)) + beyond * c
    found = p if K is None else p[:-1] / p[:-1].sum()  # seen by customers that are admitted
    X = lam if K is None else lam * float(p[:-1].sum())
    first_come = K is not None and model.discipline == "FCFS" and model.speeds is None
    times: TimeDistribution | None = None
    if first_come and isinstance(model.service, Exponential):
        times = FirstComeTimes(tuple(found.tolist()), S, c)
    elif c == K and model.speeds is None:
        times = ServiceTimes(model.service)
    return Metrics.from_times(
        model,
        throughput=X,
        utilization=min(X * S / (c if model.speeds is None else max(speeds)), 1.0),
        service=busy / X if X > 0 else S / speeds[0],
        servers=c,
        Wq=queued / X if X > 0 else 0.0,
        # Where service is shared or interrupted, whether an arrival is held up does not follow from what it finds.
        p_wait=math.nan if model.discipline in ("PS", "LCFS-PR") and c != K else float(found[c:].sum()) + beyond,
        p_block=lost,
        method=SPEEDS if model.speeds is not None else LIMITED if isinstance(model.service, Exponential) else LOSS,
        states=TabulatedStates(tuple(p.tolist()), ratio),
        times=times,
    )


def is_limited(model: OpenQueue) -> bool:
    """M/M/c/K."""
    return model.plain and model.markovian and model.capacity is not None


def is_loss(model: OpenQueue) -> bool:
    """M/G/c/c: Poisson arrivals, places equal to servers, any order of service."""
    in_order = model.plain or model.discipline in ("SJF", "PS")
    return (
        model.poisson
        and model.capacity == model.servers
        and model.queues == "shared"
        and model.speeds is None
        and in_order
    )


def has_speeds(model: OpenQueue) -> bool:
    """Poisson arrivals at one queue with ``speeds``; exponential services, or processor sharing."""
    blind = isinstance(model.service, Exponential) and model.discipline not in BY_SIZE
    return model.speeds is not None and model.poisson and (blind or model.discipline == "PS")


LIMITED_FORMULA = Formula(open_queue, is_limited, solve)
LOSS_FORMULA = Formula(open_queue, is_loss, solve)
SPEEDS_FORMULA = Formula(open_queue, has_speeds, solve)


@dataclass(frozen=True)
class FirstComeTimes(ExactTimes):
    """Times in any exponential c-server queue served first come, first served, from what an arrival finds there.

    It does not matter why the arrival finds n customers: in a closed system, or one with limited places, only those
    probabilities differ.  Source: Kleinrock (1975), Queueing Systems I, section 5.8; Cooper (1981), section 5.6.

    An arrival that finds n >= c waits for n - c + 1 departures at rate c/S, then is served.  While it is served, one
    in c of the events at this rate is its own departure.  After n events it still waits with probability w(n), or is
    in service with probability s(n) = s(n-1)·(c-1)/c + P(its service begins with event n); the number of events by
    time t is Poisson with mean c·t/S.
    """

    seen: tuple[float, ...]  # probabilities of the number an arrival finds: 0, 1, 2,
    service_time: float
    servers: int

    def quantile(self, q: float, of: str) -> float:
        return quantile(lambda t: self.survival(t, of), q, self.service_time)

    def survival(self, t: float, of: str) -> float:
        """P(W > t), or P(Wq > t)."""
        from scipy.signal import lfilter

        c = self.servers
        first, weights = poisson_window(c * t / self.service_time)
        end = first + weights.size
        begins = np.concatenate(([math.fsum(self.seen[:c])], self.seen[c:], np.zeros(end)))
        lasting = np.cumsum(begins[:0:-1])[::-1]
        if of == "W":
            lasting = lasting + lfilter([1.0], [1.0, 1 / c - 1], begins[:-1])
        return float(weights @ lasting[first:end])
