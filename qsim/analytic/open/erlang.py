"""Erlang's formulas turned round: how many servers, or how much load, for a given quality of service.

The blocking probability B(c, a) falls with the servers c and rises with the offered load a (in erlangs), and so do
the probability of waiting C(c, a) and the mean wait, C(c, a)·S/(c - a).  So the servers are found by counting up,
with the recursion for B, and the load by bisection.

Source: Erlang (1917); Jagerman (1974), Bell System Tech. J. 53, "Some properties of the Erlang loss function" (that
B is monotone in both); Cooper (1981), Introduction to Queueing Theory, sections 3.3 and 5.6.

>>> round(load_for_blocking(servers=15, target=0.01), 3)
8.108
>>> servers_for_blocking(offered_load=8.108, target=0.01)
15
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from qsim import _check
from qsim.analytic.open.mmc import erlang_b, erlang_c
from qsim.errors import InvalidParameterError

MOST_SERVERS, STABLE = 10_000_000, 1 - 1e-15


def servers_for_blocking(offered_load: float, target: float) -> int:
    """The fewest servers that lose at most the share ``target`` of the arrivals when nobody may wait.

    >>> servers_for_blocking(offered_load=8, target=0.01)
    15
    """
    target = _check.fraction("target", target)
    return next(c for c, blocked, _ in _systems(offered_load) if blocked <= target)


def servers_for_waiting(offered_load: float, target: float) -> int:
    """The fewest servers at which an arrival waits with a probability of at most ``target``.

    >>> servers_for_waiting(offered_load=8, target=0.2)
    12
    """
    target = _check.fraction("target", target)
    return next(c for c, _, waits in _systems(offered_load) if waits <= target)


def servers_for_wait(arrival_rate: float, service_time: float, target: float) -> int:
    """The fewest servers at which the mean wait Wq is at most ``target`` (a time above zero).

    >>> servers_for_wait(arrival_rate=8, service_time=1, target=0.1)
    11
    """
    rate, S = _check.non_negative("arrival_rate", arrival_rate), _check.positive("service_time", service_time)
    target, a = _check.positive("target", target, "give the mean waiting time that is allowed"), rate * S
    return next(c for c, _, waits in _systems(a) if c > a and waits * S / (c - a) <= target)


def load_for_blocking(servers: int, target: float) -> float:
    """The offered load, in erlangs, at which ``servers`` servers lose the share ``target`` of it.

    >>> round(load_for_blocking(servers=10, target=0.01), 2)
    4.46
    """
    c, target = _check.count("servers", servers), _check.fraction("target", target)
    high = float(c)
    while erlang_b(c, high) < target:
        high *= 2
    return _root(lambda a: erlang_b(c, a) - target, high)


def load_for_waiting(servers: int, target: float) -> float:
    """The offered load, in erlangs and below ``servers``, at which an arrival waits with probability ``target``.

    >>> round(load_for_waiting(servers=10, target=0.2), 2)
    6.85
    """
    c, target = _check.count("servers", servers), _check.fraction("target", target)
    return _root(lambda a: erlang_c(c, a) - target, c * STABLE)


def rate_for_wait(servers: int, service_time: float, target: float) -> float:
    """The arrival rate at which the mean wait Wq is ``target`` (a time above zero).

    >>> round(rate_for_wait(servers=1, service_time=1, target=4), 6)
    0.8
    """
    c, S = _check.count("servers", servers), _check.positive("service_time", service_time)
    target = _check.positive("target", target, "give the mean waiting time that is allowed")
    return _root(lambda a: erlang_c(c, a) * S - target * (c - a), c * STABLE) / S


def _systems(offered_load: float) -> Iterator[tuple[int, float, float]]:
    """(c, B(c, a), C(c, a)) for c = 1, 2, ...; C is 1 where the queue is not stable."""
    a = _check.non_negative("offered_load", offered_load, "arrival rate times mean service time")
    if a > MOST_SERVERS / 2:
        raise InvalidParameterError(
            "offered_load", f"must be below {MOST_SERVERS // 2} erlangs, not {offered_load!r}", value=offered_load
        )
    blocked = 1.0
    for c in range(1, MOST_SERVERS):
        blocked = a * blocked / (c + a * blocked)
        yield c, blocked, blocked / (1 - a / c * (1 - blocked)) if c > a else 1.0


def _root(excess: Callable[[float], float], high: float) -> float:
    """Where a rising function passes zero between 0 and ``high``; ``high`` where it has not by then."""
    from scipy.optimize import brentq

    return high if excess(high) <= 0 else float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-15))
