"""Every random choice in a plan has a role, and every role its own stream of variates.

A stream's seed follows from the role alone.  So the same customers come to every plan that has such a role,
whatever else it has: what differs between two systems is the systems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Distribution, Uniform
from qsim.engines.network_plan import NetworkPlan
from qsim.engines.plan import Plan
from qsim.engines.variates.arrival_streams import Filler, sampler
from qsim.engines.variates.streams import BLOCK, CARRY, VariateStream

ARRIVALS, SERVICE, ROUTE, THINK, VISITS, ORDER, NEXT, PATIENCE, BALK = range(9)
SETUP, TURNAROUND, VACATION, UPTIME, REPAIR = range(20, 25)


@dataclass(frozen=True, order=True)
class Role:
    """What the variates are for, at which place (from 0), for which kind of customer (from 0)."""

    purpose: int
    place: int = 0
    kind: int = 0

    def seed(self, seed: int) -> np.random.SeedSequence:
        """The seed of this role's stream in a run with the given seed."""
        where = () if self.place == self.kind == 0 else (self.place, self.kind)
        return np.random.SeedSequence(seed, spawn_key=(self.purpose, *where))


class Together:
    """The sum of independent times: delays one after another."""

    def __init__(self, parts: Sequence[Distribution]) -> None:
        self._parts = parts

    def fill(self, rng: np.random.Generator, out: FloatArray) -> None:
        first, *others = self._parts
        first.fill(rng, out)
        for part in others:
            out += part.sample(rng, out.size)


def fillers(plan: Plan) -> Iterator[tuple[Role, Filler]]:
    """The roles of a plan and what fills their streams."""
    for kind, arrivals in enumerate(plan.sources):
        yield Role(ARRIVALS, kind=kind), sampler(arrivals)
    for index, place in enumerate(plan.places):
        for kind in range(len(place.service)):
            yield Role(SERVICE, index, kind), place.service[kind]
            if place.think[kind]:
                yield Role(THINK, index, kind), Together(place.think[kind])
        choices = {
            ROUTE: place.routing == "random",
            VISITS: any(v != int(v) for v in place.visits),
            ORDER: place.discipline == "SIRO",
            BALK: bool(place.balking),
        }
        yield from ((Role(purpose, index), Uniform(0.0, 1.0)) for purpose, made in choices.items() if made)
        if place.patience is not None:
            yield Role(PATIENCE, index), place.patience
    if isinstance(plan, NetworkPlan):
        yield from _of_network(plan)


def _of_network(plan: NetworkPlan) -> Iterator[tuple[Role, Filler]]:
    """The roles that only stations of networks have."""
    for index, by_class in enumerate(plan.ways):
        for kind, ways in enumerate(by_class):
            if len(ways) > 1:
                yield Role(NEXT, index, kind), Uniform(0.0, 1.0)
    for index, own in enumerate(plan.equipment):
        for purpose, laws in ((SETUP, own.setup), (TURNAROUND, own.turnaround)):
            for kind, law in enumerate(laws):
                if law is not None:
                    yield Role(purpose, index, kind), law
        for purpose, alone in ((VACATION, own.vacation), (UPTIME, own.uptime), (REPAIR, own.repair)):
            if alone is not None:
                yield Role(purpose, index), alone


def streams_of(plan: Plan, seed: int) -> tuple[dict[Role, VariateStream], FloatArray]:
    """A stream for each role, and the array whose rows are their buffers, in the same order.

    Each has room for two blocks: refilled together, streams run low seldom, though each at a pace of its own.
    """
    named = list(fillers(plan))
    buffers = np.empty((len(named), CARRY + 2 * BLOCK))
    streams = {
        role: VariateStream(filler, role.seed(seed), row) for (role, filler), row in zip(named, buffers, strict=True)
    }
    return streams, buffers
