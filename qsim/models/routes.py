"""Where customers of a class go from each station: the probabilities, and what follows from them.

Mean visits alone do not say who goes where, and for product form it does not matter.  Then the stations are passed in
their order: each is entered with probability min(v, 1) and, where v > 1, visited again with probability 1 - 1/v.

P is the matrix of transition probabilities between the stations; what is missing to 1 in a row leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qsim._types import BoolArray, FloatArray

OUTSIDE = ""
"""Where customers come from, and go in the end; also the place of no time where a cycle begins that has no Delay."""
ROUNDING = 1e-12


class Way(NamedTuple):
    """From a station on, with probability ``p``, to a station or OUTSIDE."""

    to: str
    p: float


def reached(P: FloatArray, start: int) -> BoolArray:
    """Which stations are reached from one, itself included."""
    seen = np.zeros(len(P), dtype=bool)
    seen[start] = True
    for _ in range(len(P)):
        seen |= (P[seen] > 0).any(axis=0)
    return seen


def leading_to(P: FloatArray, ends: BoolArray) -> BoolArray:
    """From which stations some of these are reached."""
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
    """The ways through stations of these mean visits, from OUTSIDE and back to it."""

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
