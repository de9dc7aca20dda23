"""p(n, t) of queues that go up and down by one: M/M/c, M/M/c/K and M/M/c/K//N, with an arrival rate that may vary.

The number present goes up at rate λ(t) and down at rate min(n, c)·μ; p(t) follows by uniformisation.  A rate that
varies smoothly is held constant over short pieces, at its value in the middle of each, and the pieces are halved until
L no longer changes; a rate that steps is exact.  Without a limit on places the states are cut where nobody comes: a
queue that starts with n is never longer, in law, than n more than one in its long run, nor than n and all arrivals.

Source: uniformisation: Grassmann (1977), Comput. Oper. Res. 4; M(t)/M/c: Green & Kolesar (1991), Management Sci. 37;
the middle of a piece: Magnus (1954), as in Hairer, Lubich & Wanner (2006), section IV.7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.analytic.chains.uniformisation import advanced
from qsim.analytic.transient.over_time import OverTime
from qsim.analytic.transient.rate_of_time import GivenRate, RateOfTime
from qsim.distributions import Exponential
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.models import Closed, Model, Open

METHOD = "uniformisation (Grassmann 1977)"

DEVIATIONS, ROOM = 12, 40
"""How far beyond its mean a number is followed: so many standard deviations, and so many more."""
MOST_STATES = 200_000
OVER_TIME = "simulate_over_time(model, times)"
MOST_PIECES = 2**14
PRECISION = 1e-5
"""The pieces of a rate that varies are short enough when L changes by less than this, relative to its largest."""


def transient(
    model: Model, times: Sequence[float] | FloatArray, start: int = 0, arrival_rate: GivenRate | None = None
) -> OverTime:
    """The number present at each of ``times``, rising, when ``start`` customers are there at time 0.

    ``model`` is M/M/c with or without limited places, M/M/∞, or one station with a population and exponential times.
    ``arrival_rate`` lets the rate of an open one vary: a table {time: rate from there on} or a function of time.

    Raises ValueError for a rate that is negative at some time, NoFormulaError for other models (``simulate_over_time``
    takes any service law).

    >>> from qsim import MMc
    >>> office = MMc(arrival_rate=20, service_rate=12, servers=2)  # an hour; a rush from 9 to 10
    >>> found = transient(office, times=[8, 9, 9.5, 10, 12], arrival_rate={0: 5, 9: 40, 10: 5})
    >>> found.L.round(2).tolist()
    [0.44, 0.44, 9.88, 17.97, 0.55]
    """
    at = checked_times(times)
    rate, down, closed = _rates(model, arrival_rate, start, float(at[-1]))
    start = _check.count("start", start, minimum=0)
    if start >= down.size:
        raise InvalidParameterError("start", f"must be at most the {down.size - 1} places, not {start}", value=start)
    n = np.arange(down.size)
    servers = model.servers if isinstance(model, Open) else model.queueing[0].servers  # type: ignore[union-attr]
    pieces, states, before = 1, np.empty((0, 0)), None
    while True:
        states = _states(at, start, rate, down, closed, pieces)
        L = states @ n
        if rate.function is None or (before is not None and np.abs(L - before).max() <= PRECISION * max(L.max(), 1e-9)):
            break
        if pieces * at.size > MOST_PIECES:
            raise InvalidParameterError("arrival_rate", "varies too fast to follow", "give it as a table of steps")
        pieces, before = 2 * pieces, L
    return OverTime(
        model=model,
        times=at,
        L=L,
        Lq=np.asarray(states @ np.maximum(n - servers, 0)),
        arrival_rate=rate.each(at) if closed is None else states @ (rate.most * closed),
        kind="exact" if rate.function is None else "approximation",
        method=METHOD if rate.function is None else f"{METHOD}, rate held over {pieces} pieces between times",
        states=states,
    )


def checked_times(times: Sequence[float] | FloatArray) -> FloatArray:
    """The times as an array; ValueError unless they rise from zero or later."""
    at = np.array(_check.non_negatives("times", times))
    if at.size == 0 or np.any(np.diff(at) <= 0):
        raise InvalidParameterError("times", "must rise, with at least one", "sort them and leave out repeated ones")
    return at


def _rates(
    model: Model, arrival_rate: GivenRate | None, start: int, until: float
) -> tuple[RateOfTime, FloatArray, FloatArray | None]:
    """The arrival rate, the rates of leaving n = 0, 1, ..., and of a closed model the share of it that n leave."""
    if isinstance(model, Closed) and _one_station(model) and model.think_time > 0:
        if arrival_rate is not None:
            raise InvalidParameterError("arrival_rate", "must be None for a closed model", "its customers come back")
        station, N = model.queueing[0], model.population
        n = np.arange(min(N, station.capacity or N) + 1)
        rate = RateOfTime.checked("arrival_rate", N / model.think_time, until)
        return rate, np.minimum(n, station.servers) / station.service.mean, np.append((N - n[:-1]) / N, 0.0)
    if not _open(model):
        raise NoFormulaError(model.kendall, "over time only M/M/c, M/M/c/K, M/M/inf and M/M/c//N", OVER_TIME)
    rate = RateOfTime.checked("arrival_rate", model.arrival_rate if arrival_rate is None else arrival_rate, until)  # type: ignore[union-attr]
    most = _most(model, rate.most, until) + start if model.capacity is None else model.capacity  # type: ignore[union-attr]
    if most > MOST_STATES:
        raise NoFormulaError(model.kendall, f"over so long a time {most:,} may be present", OVER_TIME)
    return rate, np.minimum(np.arange(most + 1), model.servers) * model.service_rate, None  # type: ignore[union-attr]


def _open(model: Model) -> bool:
    return (
        isinstance(model, Open)
        and (model.plain or model.servers == math.inf)
        and isinstance(model.arrivals, Exponential)
        and isinstance(model.service, Exponential)
    )


def _one_station(model: Closed) -> bool:
    station = model.queueing[0]
    plain = (
        station.speeds is None and station.discipline == "FCFS" and (station.queues == "shared" or station.servers == 1)
    )
    thinking = all(isinstance(d.distribution, Exponential) for d in model.delays) and len(model.delays) == 1
    once = len(model.queueing) == 1 and station.visits == 1
    return once and plain and thinking and isinstance(station.service, Exponential)


def _most(model: Model, highest: float, until: float) -> int:
    """How many more than at the start there will be at most: those that come, or the long run of the highest rate."""
    assert isinstance(model, Open)  # noqa: S101
    come, load = _hardly_passed(highest * until), highest / model.service_rate
    if load >= 0.999 * model.servers:
        return math.ceil(come)
    if load == 0:
        return 1
    queue = 0.0 if model.servers == math.inf else model.servers + ROOM / -math.log(load / model.servers)
    return math.ceil(min(come, _hardly_passed(load) + queue))  # in service, as if there were servers for all; waiting


def _hardly_passed(mean: float) -> float:
    """What a Poisson number of this mean next to never passes."""
    return mean + DEVIATIONS * math.sqrt(mean) + ROOM


def _states(
    at: FloatArray, start: int, rate: RateOfTime, down: FloatArray, closed: FloatArray | None, pieces: int
) -> FloatArray:
    """p(n, t) at each time, shape (times, states); ``pieces`` to each stretch between times over which a function is
    held."""
    from scipy.sparse import csr_array, diags_array

    up = np.append(np.ones(down.size - 1), 0.0) if closed is None else closed

    def generator(lam: float) -> csr_array:
        rising = lam * up
        return csr_array(diags_array((rising[:-1], -rising - down, down[1:]), offsets=(1, 0, -1)))  # type: ignore[arg-type]

    p = np.eye(1, down.size, start)[0]
    now, found = 0.0, []
    for t in at.tolist():
        cuts = [now, *(b for b in rate.breaks if now < b < t), t]
        if rate.function is not None:
            cuts = np.linspace(now, t, pieces + 1).tolist()
        for begin, end in pairwise(cuts):
            p = advanced(p, generator(rate.at((begin + end) / 2)), end - begin)
        found.append(p)
        now = t
    return np.array(found)
