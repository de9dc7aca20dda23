"""The compiled engine: blocks of variates in, customers out, batch totals kept.

Where customers start in the order of arrival, a table of the times at which servers become free is enough and fastest;
every other plan runs through the event loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from qsim._types import IntArray
from qsim.engines.compiled import tables
from qsim.engines.compiled.first_come import SCAN_LIMIT, few_servers, many_servers, one_server, own_queues
from qsim.engines.compiled.loop import run_events
from qsim.engines.compiled.tables import Table, Tables
from qsim.engines.compiled.tournament import decide, tournament
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import NOWHERE, PREEMPTIVE, Plan, PlannedStation, Way
from qsim.engines.variates.streams import BLOCK, VariateStream
from qsim.engines.variates.variate_streams import ARRIVALS, NEXT, ORDER, ROUTE, SERVICE, Role, streams_of
from qsim.errors import NoEngineError

Progress = Callable[[float], object]

REPORT_EVERY = 64
"""Blocks between two calls of the progress function: a few milliseconds."""

FIRST_ROWS = 1024
"""Customers from outside that there is room for at first; more is made when they come."""


def run(
    plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None, *, by_events: bool = False
) -> None:
    """Simulate until ``customers`` are recorded; ``by_events``: through the event loop even where it is not needed."""
    if plan.first_come and not by_events:
        _run_first_come(plan, customers, seed, totals, progress)
    else:
        _run_events(plan, customers, seed, totals, progress)


def _run_first_come(plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None) -> None:
    (place,) = plan.places
    streams, _ = streams_of(plan, seed)
    arrivals, services = streams[Role(ARRIVALS)], streams[Role(SERVICE)]
    routes = _Routes(place, streams)
    endless = place.servers == math.inf
    free = np.zeros(0 if endless else int(place.all_servers))
    serve = one_server if free.size == 1 else few_servers if free.size <= SCAN_LIMIT else many_servers
    waits = np.zeros(BLOCK)
    for block, first in enumerate(range(0, customers, BLOCK), start=1):
        n = min(BLOCK, customers - first)
        gap, service = arrivals.block()[:n], services.block()[:n]
        if place.queues > 1:
            own_queues(gap, service, routes.block()[:n], free, waits[:n])
        elif not endless:
            serve(gap, service, free, waits[:n])
        totals.add(gap, waits[:n], service)
        if progress is not None and block % REPORT_EVERY == 0:
            progress((first + n) / customers)


class _Routes:
    """Which of a place's queues the next customers join."""

    def __init__(self, place: PlannedStation, streams: dict[Role, VariateStream]) -> None:
        self._queues = place.queues
        self._stream = streams.get(Role(ROUTE))
        self._next = 0

    def block(self) -> IntArray:
        """The queues of the next BLOCK customers."""
        if self._stream is not None:
            return np.minimum((self._stream.block() * self._queues).astype(np.int64), self._queues - 1)
        turns = (self._next + np.arange(BLOCK)) % self._queues
        self._next = (self._next + BLOCK) % self._queues
        return turns


def _run_events(plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None) -> None:
    streams, buffers = streams_of(plan, seed)
    every = list(streams.values())
    index = {role: i for i, role in enumerate(streams)}
    t = _tables(plan, index, buffers, totals)
    first_source = t.queues.size
    t.times[first_source : first_source + t.sources.size] = [every[i].next() for i in t.sources]
    decide(t.times, t.tree)
    finished, calls = 0, 0
    while finished < customers:
        for i, stream in enumerate(every):
            stream.fill_up()
            t.used[i], t.ends[i] = stream.position, stream.end
        t = _with_room(plan, t)
        state = t.state[0]
        state["done"] = state["pause"] = 0
        t.stayed[:] = 0
        run_events(t)
        for i, stream in enumerate(every):
            stream.position = int(t.used[i])
        if state["overflow"]:
            raise NoEngineError(
                f"a network of {len(plan.places)} stations moved more customers at one instant than fit; "
                "use engine='reference'"
            )
        n = min(int(state["done"]), customers - finished)
        gap, wait, service, lost = t.outcome[:, :n]
        totals.add_finished(gap, wait, service, t.kinds[:n], lost)
        for place, count in enumerate(t.stayed.tolist()):
            totals.add_stays(place, *t.stays[place, :, :count])
        finished += n
        calls += 1
        if progress is not None and calls % REPORT_EVERY == 0:
            progress(finished / customers)


def _with_room(plan: Plan, t: Tables) -> Tables:
    """More rows for customers, if too few are left."""
    state = t.state[0]
    if not plan.sources or state["spare"] > 0:
        return t
    old = t.customers.size
    more = np.zeros(old, dtype=tables.CUSTOMER)
    more["next"] = np.append(np.arange(old + 1, 2 * old), state["unused"])
    state["unused"] = old
    state["spare"] += old
    wider = ((0, 0), (0, max(0, 2 * old - t.tags.shape[1]) if _all_at_once(plan) else 0))
    return t._replace(
        customers=np.concatenate([t.customers, more]), tags=np.pad(t.tags, wider), who=np.pad(t.who, wider)
    )


def _all_at_once(plan: Plan) -> bool:
    return any(place.discipline == "PS" or place.servers == math.inf for place in plan.places)


def _tables(plan: Plan, index: dict[Role, int], buffers: Any, totals: RunTotals) -> Tables:
    size = len(plan.places)
    queues = np.zeros(sum(place.queues for place in plan.places), dtype=tables.QUEUE)
    queues["first"] = queues["last"] = tables.NOBODY
    queues["place"] = np.repeat(np.arange(size), [place.queues for place in plan.places])
    rows = plan.population + (FIRST_ROWS if plan.sources else 0)
    customers = np.zeros(rows, dtype=tables.CUSTOMER)
    customers["next"] = np.append(np.arange(1, rows), tables.NOBODY)
    most = max((int(p.servers) for p in plan.places if p.servers < math.inf), default=1)
    width = max(most, rows if _all_at_once(plan) else 1)
    speeds = np.zeros((size, max(1, *(len(place.speeds) for place in plan.places))))
    for row, place in zip(speeds, plan.places, strict=True):
        row[: len(place.speeds)] = place.speeds
    times, tree = tournament(queues.size + len(plan.sources))
    state = np.zeros(1, dtype=tables.STATE)
    state["spare"] = rows
    roles, ways = _ways(plan, index)
    recorded = size if plan.parts else 0
    return Tables(
        streams=buffers,
        used=np.zeros(len(index), dtype=np.int64),
        ends=np.zeros(len(index), dtype=np.int64),
        sources=np.array([index[Role(ARRIVALS, kind=k)] for k in range(len(plan.sources))], dtype=np.int64),
        roles=roles,
        ways=ways,
        entries=np.array([(e.stream, e.place, e.kind, e.home, e.number) for e in plan.entries], dtype=tables.ENTRY),
        state=state,
        places=_places(plan, index),
        queues=queues,
        customers=customers,
        speeds=speeds,
        tags=np.zeros((queues.size, width)),
        who=np.zeros((queues.size, width), dtype=np.int64),
        times=times,
        tree=tree,
        presence=totals.presence,
        outcome=np.empty((4, BLOCK)),
        kinds=np.empty(BLOCK, dtype=np.int64),
        stays=np.empty((recorded, 4, BLOCK)),
        stayed=np.zeros(recorded, dtype=np.int64),
    )


def _ways(plan: Plan, index: dict[Role, int]) -> tuple[Any, Table]:
    roles = np.zeros((len(plan.places), len(plan.classes), 5), dtype=np.int64)
    ways: list[Way] = []
    for p, place in enumerate(plan.places):
        for k in range(len(plan.classes)):
            following = index.get(Role(NEXT, p, k), NOWHERE)
            mine = plan.ways[p][k]
            roles[p, k] = (index[Role(SERVICE, p, k)], place.urgency[k], following, len(ways), len(mine))
            ways += mine
    return roles, np.array(ways, dtype=tables.WAY)


def _places(plan: Plan, index: dict[Role, int]) -> Table:
    table = np.zeros(len(plan.places), dtype=tables.PLACE)
    first = 0
    for i, (row, place) in enumerate(zip(table, plan.places, strict=True)):
        row["first_queue"], row["queues"] = first, place.queues
        row["servers"] = tables.UNLIMITED if place.servers == math.inf else place.servers
        row["routing"], row["order"] = tables.ROUTINGS[place.routing], tables.ORDERS[place.discipline]
        row["preemptive"] = place.discipline in PREEMPTIVE
        row["sharing"] = place.discipline == "PS"
        row["varying"] = place.discipline == "PS" or bool(place.speeds)
        row["speeds"] = len(place.speeds)
        row["capacity"] = tables.UNLIMITED if place.capacity is None else place.capacity
        row["is_delay"] = place.is_delay
        row["route_stream"] = index.get(Role(ROUTE, i), NOWHERE)
        row["order_stream"] = index.get(Role(ORDER, i), NOWHERE)
        first += place.queues
    return table
