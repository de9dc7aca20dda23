"""Where customers go from each station: the probabilities, and what follows from them.

Mean visits alone do not say who goes where, and for product form it does not matter.  Then the stations are passed in
their order: each is entered with probability min(v, 1) and, where v > 1, visited again with probability 1 - 1/v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from qsim._types import BoolArray, FloatArray

OUTSIDE = ""
"""Where customers come from, and go in the end; also the place of no time where a cycle begins that has no Delay."""
ROUNDING = 1e-12


class Way(NamedTuple):
    """From a station on, with probability ``p``: to a station (or OUTSIDE), in a class."""

    to: str
    name: str
    p: float


@dataclass(frozen=True)
class Routes:
    """The transition probabilities between states, a state being a class at a station."""

    stations: tuple[str, ...]
    classes: tuple[str, ...]
    P: FloatArray
    """Shape (states, states); what is missing to 1 leaves."""

    @property
    def shape(self) -> tuple[int, int]:
        """Stations and classes."""
        return len(self.stations), len(self.classes)

    def state(self, station: str, name: str) -> int:
        """The row of a class at a station."""
        return self.stations.index(station) * len(self.classes) + self.classes.index(name)

    def place(self, state: int) -> tuple[str, str]:
        """The station and the class of a row."""
        station, name = divmod(state, len(self.classes))
        return self.stations[station], self.classes[name]

    def reached(self, start: int) -> BoolArray:
        """Which states are reached from one, itself included."""
        seen = np.zeros(len(self.P), dtype=bool)
        seen[start] = True
        for _ in range(len(self.P)):
            seen |= (self.P[seen] > 0).any(axis=0)
        return seen

    def leading_to(self, ends: BoolArray) -> BoolArray:
        """From which states some of these are reached."""
        found = ends.copy()
        for _ in range(len(self.P)):
            found |= (self.P[:, found] > 0).any(axis=1)
        return found

    def rates(self, outside: FloatArray) -> FloatArray:
        """The traffic equations λ = γ + λP (Jackson 1957): customers per time unit, shape (stations, classes).

        ``outside`` is γ, the arrivals from outside in each state.
        """
        used = outside > 0
        for _ in range(len(self.P)):
            used |= (self.P[used] > 0).any(axis=0)
        rates = np.zeros(len(self.P))
        rates[used] = np.linalg.solve(np.eye(int(used.sum())) - self.P[np.ix_(used, used)].T, outside[used])
        return rates.reshape(self.shape)

    def cycle_visits(self, home: int) -> FloatArray:
        """Visits to each station in each class between two visits to the home station, shape (stations, classes)."""
        seen = np.flatnonzero(self.reached(home))
        P = self.P[np.ix_(seen, seen)]
        balance = np.vstack([P.T - np.eye(seen.size), np.ones(seen.size)])
        share = np.linalg.lstsq(balance, np.append(np.zeros(seen.size), 1.0), rcond=None)[0]
        visits = np.zeros(len(self.P))
        visits[seen] = np.maximum(share, 0.0)
        shaped = visits.reshape(self.shape)
        scaled: FloatArray = shaped / shaped[home // len(self.classes)].sum()
        return scaled


def passing(stations: Sequence[str], visits: Sequence[float], name: str) -> dict[str, list[Way]]:
    """The ways of a class through stations of these mean visits, from OUTSIDE and back to it."""

    def entered(first: int) -> list[Way]:
        found, missed = [], 1.0
        for station, v in zip(stations[first:], visits[first:], strict=True):
            if min(v, 1.0) * missed > 0:
                found.append(Way(station, name, min(v, 1.0) * missed))
            missed *= 1 - min(v, 1.0)
        return [*found, Way(OUTSIDE, name, missed)] if missed > ROUNDING else found

    rows = {OUTSIDE: entered(0)}
    for i, (station, v) in enumerate(zip(stations, visits, strict=True), start=1):
        again = 1 - 1 / v if v > 1 else 0.0
        onwards = [Way(to, name, (1 - again) * p) for to, _, p in entered(i)]
        rows[station] = [Way(station, name, again), *onwards] if again > 0 else onwards
    return rows
