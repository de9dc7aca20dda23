"""The compiled engine: blocks of variates in, waiting times out, batch totals kept.

Where customers start in the order in which they come, tables of the times at which servers become free are enough
and fastest; every other plan runs through the event loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled import event_loop as events
from qsim.engines.compiled import event_tables as tables
from qsim.engines.compiled.closed_loop import closed_own, closed_shared, decide, tournament
from qsim.engines.compiled.network_engine import run_through_network
from qsim.engines.compiled.open_loops import SCAN_LIMIT, few_servers, many_servers, one_server, own_queues
from qsim.engines.network_plan import NetworkPlan
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import PREEMPTIVE, Plan, PlannedStation
from qsim.engines.variates.streams import BLOCK, VariateStream
from qsim.engines.variates.variate_streams import (
    ARRIVALS,
    BALK,
    ORDER,
    PATIENCE,
    ROUTE,
    SERVICE,
    THINK,
    VISITS,
    Role,
    streams_of,
)

Progress = Callable[[float], object]

REPORT_EVERY = 64
"""Blocks between two calls of the progress function: a few milliseconds."""

FIRST_ROWS = 1024
"""Customers an open system has room for at first; more is made when they come."""


def run(
    plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None, *, by_events: bool = False
) -> None:
    """Simulate until ``customers`` are recorded; ``by_events``: through the event loop even where it is not needed."""
    if isinstance(plan, NetworkPlan):
        run_through_network(plan, customers, seed, totals, progress)
    elif by_events or not plan.first_come:
        _run_events(plan, customers, seed, totals, progress)
    elif plan.sources:
        _run_open(plan, customers, seed, totals, progress)
    else:
        _run_closed(plan, customers, seed, totals, progress)


def _run_open(plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None) -> None:
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


def _run_closed(plan: Plan, customers: int, seed: int, totals: RunTotals, progress: Progress | None) -> None:
    (place,), (population,) = plan.places, plan.population
    streams, _ = streams_of(plan, seed)
    services, thinking = streams[Role(SERVICE)], streams.get(Role(THINK))
    routes = _Routes(place, streams)
    think = np.zeros(BLOCK)
    coming, coming_tree = tournament(population)
    coming[:population] = [thinking.next() for _ in range(population)] if thinking else 0.0
    coming[:population] -= coming.min()
    decide(coming, coming_tree)
    free, free_tree = tournament(int(place.all_servers))
    gaps, waits = np.empty(BLOCK), np.empty(BLOCK)
    for block, first in enumerate(range(0, customers, BLOCK), start=1):
        n = min(BLOCK, customers - first)
        service = services.block()[:n]
        if thinking:
            thinking.take(think[:n])
        if place.queues > 1:
            closed_own(think, service, routes.block(), coming, coming_tree, free, gaps[:n], waits[:n])
        else:
            closed_shared(think, service, coming, coming_tree, free, free_tree, gaps[:n], waits[:n])
        totals.add(gaps[:n], waits[:n], service)
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
    used, ends = np.zeros(len(every), dtype=np.int64), np.zeros(len(every), dtype=np.int64)
    system = _System(plan, list(streams), every)
    several = len(plan.places) > 1
    outcome, kinds = np.empty((4, BLOCK)), np.empty(BLOCK, dtype=np.int64)
    stays = np.empty((len(plan.places) if several else 1, 4, BLOCK))
    stayed = np.zeros(len(plan.places), dtype=np.int64)
    finished, calls = 0, 0
    while finished < customers:
        for i, stream in enumerate(every):
            stream.fill_up()
            used[i], ends[i] = stream.position, stream.end
        system.make_room()
        stayed[:] = 0
        system.run(buffers, used, ends, totals.presence, outcome, kinds, stays, stayed)
        for i, stream in enumerate(every):
            stream.position = int(used[i])
        n = min(system.done, customers - finished)
        gap, wait, service, lost = outcome[:, :n]
        totals.add_finished(gap, wait, service, kinds[:n], lost)
        if several:
            for place, count in enumerate(stayed.tolist()):
                totals.add_stays(place, *stays[place, :, :count])
        finished += n
        calls += 1
        if progress is not None and calls % REPORT_EVERY == 0:
            progress(finished / customers)


class _System:
    """The tables of the event loop for one run."""

    def __init__(self, plan: Plan, roles: list[Role], streams: list[VariateStream]) -> None:
        index = {role: i for i, role in enumerate(roles)}
        self._open = bool(plan.sources)
        self._hold = plan.hold
        self._sources = np.array([index[Role(ARRIVALS, kind=k)] for k in range(len(plan.sources))], dtype=np.int64)
        self._roles = np.array(
            [
                [
                    (index[Role(SERVICE, p, k)], index.get(Role(THINK, p, k), tables.NOWHERE), plan.urgency[k])
                    for k in range(plan.kinds)
                ]
                for p in range(len(plan.places))
            ],
            dtype=np.int64,
        )
        self._visits = np.array([place.visits for place in plan.places], dtype=np.float64)
        self._places = self._place_table(plan, index)
        self._queues = np.zeros(sum(place.queues for place in plan.places), dtype=tables.QUEUE)
        self._queues["first"] = self._queues["last"] = tables.NOBODY
        self._queues["place"] = np.repeat(np.arange(len(plan.places)), [place.queues for place in plan.places])
        self._speeds = np.zeros((len(plan.places), max(1, *(len(place.speeds) for place in plan.places))))
        for row, place in zip(self._speeds, plan.places, strict=True):
            row[: len(place.speeds)] = place.speeds
        population = sum(plan.population)
        rows = population or FIRST_ROWS
        self._state = np.zeros(1, dtype=tables.STATE)
        self._state["held"] = tables.NOBODY
        self._customers = np.zeros(rows, dtype=tables.CUSTOMER)
        self._customers["next"] = np.append(np.arange(1, rows), tables.NOBODY)
        self._all_at_once = any(place.discipline in ("PS", "FB") or place.servers == math.inf for place in plan.places)
        self._all_at_once |= plan.outcomes > plan.kinds  # all who wait are in one heap
        self._balking = np.array(plan.places[0].balking)
        most_in_service = max((int(p.servers) for p in plan.places if p.servers < math.inf), default=1)
        width = max(most_in_service, population, rows if self._all_at_once else 1)
        self._tags = np.zeros((self._queues.size + 1, width))
        self._who = np.zeros((self._queues.size + 1, width), dtype=np.int64)
        self._times, self._tree = tournament(self._queues.size + 1 + len(plan.sources))
        self._times[:] = math.inf
        if self._open:
            first = self._queues.size + 1
            self._times[first : first + len(plan.sources)] = [streams[i].next() for i in self._sources]
        else:
            self._everyone_thinks(plan, streams)
        decide(self._times, self._tree)

    @property
    def done(self) -> int:
        """Customers finished in the last run."""
        return int(self._state[0]["done"])

    def run(self, buffers: FloatArray, used: IntArray, ends: IntArray, *outputs: Any) -> None:
        """Run until something has to be emptied, refilled or enlarged."""
        self._state["done"] = self._state["pause"] = 0
        events.run_events(
            buffers,
            used,
            ends,
            self._roles,
            self._visits,
            self._sources,
            self._hold,
            self._balking,
            self._state,
            self._places,
            self._queues,
            self._customers,
            self._speeds,
            self._tags,
            self._who,
            self._times,
            self._tree,
            *outputs,
        )

    def make_room(self) -> None:
        """More rows for customers, if none is left."""
        if not self._open or self._state[0]["unused"] != tables.NOBODY:
            return
        old = self._customers.size
        more = np.zeros(old, dtype=tables.CUSTOMER)
        more["next"] = np.append(np.arange(old + 1, 2 * old), tables.NOBODY)
        self._customers = np.concatenate([self._customers, more])
        self._state["unused"] = old
        if self._all_at_once:
            wider = ((0, 0), (0, max(0, 2 * old - self._tags.shape[1])))
            self._tags, self._who = np.pad(self._tags, wider), np.pad(self._who, wider)

    def _everyone_thinks(self, plan: Plan, streams: list[VariateStream]) -> None:
        """A closed system starts with everyone on the way from the last place to the first."""
        last = len(plan.places) - 1
        times = []
        for kind, population in enumerate(plan.population):
            stream = int(self._roles[last, kind, tables.THINKING])
            times += [streams[stream].next() if stream >= 0 else 0.0 for _ in range(population)]
        self._customers["kind"] = np.repeat(np.arange(plan.kinds), plan.population)
        self._customers["place"] = last
        order = np.argsort(times, kind="stable")  # a sorted list is a heap
        self._tags[-1, : order.size] = np.asarray(times)[order]
        self._who[-1, : order.size] = order
        self._state["thinking"] = order.size
        self._times[self._queues.size] = self._tags[-1, 0]

    @staticmethod
    def _place_table(plan: Plan, index: dict[Role, int]) -> np.ndarray[Any, Any]:
        table = np.zeros(len(plan.places), dtype=tables.PLACE)
        first = 0
        for i, (row, place) in enumerate(zip(table, plan.places, strict=True)):
            after = i + 1 if i + 1 < len(plan.places) else (tables.NOWHERE if plan.sources else 0)
            row["first_queue"], row["queues"] = first, place.queues
            row["servers"] = tables.UNLIMITED if place.servers == math.inf else place.servers
            row["routing"], row["order"] = tables.ROUTINGS[place.routing], tables.ORDERS[place.discipline]
            row["preemptive"] = place.discipline in PREEMPTIVE
            row["sharing"] = place.discipline == "PS"
            row["varying"] = place.discipline in ("PS", "FB") or bool(place.speeds)
            row["speeds"] = len(place.speeds)
            row["capacity"] = tables.UNLIMITED if place.capacity is None else place.capacity
            row["next"] = after
            row["blocking"] = bool(plan.sources) and after >= 0 and plan.places[after].capacity is not None
            row["route_stream"] = index.get(Role(ROUTE, i), tables.NOWHERE)
            row["order_stream"] = index.get(Role(ORDER, i), tables.NOWHERE)
            row["visit_stream"] = index.get(Role(VISITS, i), tables.NOWHERE)
            row["patience_stream"] = index.get(Role(PATIENCE, i), tables.NOWHERE)
            row["balk_stream"] = index.get(Role(BALK, i), tables.NOWHERE)
            row["blocked_first"] = row["blocked_last"] = tables.NOBODY
            first += place.queues
        return table
