"""Every random choice in a plan has a role, and every role its own stream of variates.

A stream's seed follows from the role alone.  So the same customers come to every plan that has such a role,
whatever else it has: what differs between two systems is the systems.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.distributions import Uniform
from qsim.engines.plan import Plan
from qsim.engines.variates.arrival_streams import Filler, sampler
from qsim.engines.variates.streams import BLOCK, CARRY, VariateStream

ARRIVALS, SERVICE, ROUTE, ORDER, NEXT = range(5)


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


def fillers(plan: Plan) -> Iterator[tuple[Role, Filler]]:
    """The roles of a plan and what fills their streams."""
    for kind, arrivals in enumerate(plan.sources):
        yield Role(ARRIVALS, kind=kind), sampler(arrivals)
    for index, place in enumerate(plan.places):
        for kind, law in enumerate(place.service):
            yield Role(SERVICE, index, kind), law
        choices = {ROUTE: place.routing == "random", ORDER: place.discipline == "SIRO"}
        yield from ((Role(purpose, index), Uniform(0.0, 1.0)) for purpose, made in choices.items() if made)
    for index, by_class in enumerate(plan.ways):
        for kind, ways in enumerate(by_class):
            if len(ways) > 1:
                yield Role(NEXT, index, kind), Uniform(0.0, 1.0)


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
