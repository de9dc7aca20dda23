"""The customers of a network, open (from outside) and closed (circulating), and their routes.

The routes of a class are a matrix P of probabilities between stations; what a row lacks to 1 leaves the network.
Mean visits alone do not determine routes, and under product form need not.  Stations are then passed in their
order: each is entered with probability min(v, 1) and, where v > 1, visited again with probability 1 - 1/v.  These
routes have the same means as visits that are counted, which is what the engines do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from qsim import _check
from qsim._types import BoolArray, FloatArray
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.station import ByName
from qsim.models.written import as_written


@dataclass(frozen=True, repr=False)
class Arrivals:
    """Customers of a class that come from outside and finally leave.

    ``rate``: the rate of a Poisson process; or the law of independent times between arrivals; or one of these for
    each station at which they enter, by its name. Without a name they pass the stations by their visits, or enter at
    the first one of the network.

    >>> from qsim import Exponential, Network, Station, solve
    >>> solve(Network({"cpu": Station(Exponential(0.25))}, Arrivals(2))).W
    0.5
    """

    rate: float | Distribution | Mapping[str, float | Distribution]

    __repr__ = as_written

    def __post_init__(self) -> None:
        checked: Any
        if isinstance(self.rate, Mapping):
            if not self.rate:
                raise InvalidParameterError("rate", "must not be empty", "give a rate or law for each station")
            checked = ByName({str(s): _source(f"arrivals at {s}", v) for s, v in self.rate.items()})
        else:
            checked = _source("arrivals", self.rate)
        _check.keep(self, rate=checked)

    @property
    def sources(self) -> dict[str | None, Distribution]:
        """Times between arrivals at each station; under None where the network decides the station."""
        if isinstance(self.rate, Mapping):
            return dict(self.rate)  # type: ignore[arg-type]
        return {None: self.rate}  # type: ignore[dict-item]


Customers: TypeAlias = int | Arrivals  # the population of a closed class, or the arrivals of an open one


def customers_of(given: object, parameter: str = "customers") -> Customers:
    """The customers of one class, checked; ``given``: a population or Arrivals."""
    if isinstance(given, Arrivals):
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return _check.count(parameter.replace("customers", "population", 1), given)
    raise InvalidParameterError(
        parameter,
        f"must be a whole number of customers that circulate, or Arrivals(rate), not {given!r}",
        "with several classes give one of these for each, by its name",
        given,
    )


def _source(parameter: str, given: object) -> Distribution:
    """A law of times between arrivals; a number is a Poisson rate."""
    if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        return Exponential(_check.mean_of(parameter, given, "give the mean number of arrivals per time unit"))
    return require_arrivals(parameter, given)


def require_arrivals(parameter: str, given: object) -> Distribution:
    """The value when it is a law of times between arrivals; an infinite exponential one is a Poisson rate of zero."""
    return given if isinstance(given, Exponential) else require(parameter, given)


OUTSIDE = ""  # the outside of the network; also the start of a cycle without a Delay, where no time passes
ROUNDING = 1e-12


class Way(NamedTuple):
    """One route from a station: with probability ``p``, to a station or OUTSIDE."""

    to: str
    p: float


def reached(P: FloatArray, start: int) -> BoolArray:
    """Which stations can be reached from ``start``, itself included."""
    seen = np.zeros(len(P), dtype=bool)
    seen[start] = True
    for _ in range(len(P)):
        seen |= (P[seen] > 0).any(axis=0)
    return seen


def leading_to(P: FloatArray, ends: BoolArray) -> BoolArray:
    """From which stations one of ``ends`` can be reached."""
    found = ends.copy()
    for _ in range(len(P)):
        found |= (P[:, found] > 0).any(axis=1)
    return found


def rates(P: FloatArray, outside: FloatArray) -> FloatArray:
    """The traffic equations λ = γ + λP (Jackson 1957): customers per time unit at each station.

    ``outside`` is γ, the arrivals from outside at each station.
    """
    used = np.logical_or.reduce([reached(P, int(i)) for i in np.flatnonzero(outside)])
    found = np.zeros(len(P))
    found[used] = np.linalg.solve(np.eye(int(used.sum())) - P[np.ix_(used, used)].T, outside[used])
    return found


def cycle_visits(P: FloatArray, home: int) -> FloatArray:
    """Visits to each station between two visits to the home station."""
    seen = np.flatnonzero(reached(P, home))
    inner = P[np.ix_(seen, seen)]
    balance = np.vstack([inner.T - np.eye(seen.size), np.ones(seen.size)])
    share = np.linalg.lstsq(balance, np.append(np.zeros(seen.size), 1.0), rcond=None)[0]
    visits = np.zeros(len(P))
    visits[seen] = np.maximum(share, 0.0)
    scaled: FloatArray = visits / visits[home]
    return scaled


def passing(stations: Sequence[str], visits: Sequence[float]) -> dict[str, list[Way]]:
    """The routes through stations with these mean visits, from OUTSIDE and back to it."""

    def entered(first: int) -> list[Way]:
        found, missed = [], 1.0
        for station, v in zip(stations[first:], visits[first:], strict=True):
            if min(v, 1.0) * missed > 0:
                found.append(Way(station, min(v, 1.0) * missed))
            missed *= 1 - min(v, 1.0)
        return [*found, Way(OUTSIDE, missed)] if missed > ROUNDING else found

    rows = {OUTSIDE: entered(0)}
    for i, (station, v) in enumerate(zip(stations, visits, strict=True), start=1):
        again = 1 - 1 / v if v > 1 else 0.0
        onwards = [Way(to, (1 - again) * p) for to, p in entered(i)]
        rows[station] = [Way(station, again), *onwards] if again > 0 else onwards
    return rows
