"""The compiled engine on a network: tables made from its plan, the loop run, results handed over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from qsim.engines.compiled import event_tables
from qsim.engines.compiled import network_tables as tables
from qsim.engines.compiled.closed_loop import decide, tournament
from qsim.engines.compiled.network_loop import run_network
from qsim.engines.compiled.queue_kernels import Table
from qsim.engines.network_plan import NetworkPlan, Way
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import PREEMPTIVE
from qsim.engines.variates.streams import BLOCK
from qsim.engines.variates.variate_streams import (
    ARRIVALS,
    NEXT,
    ORDER,
    REPAIR,
    ROUTE,
    SERVICE,
    SETUP,
    TURNAROUND,
    UPTIME,
    VACATION,
    Role,
    streams_of,
)
from qsim.errors import DeadlockError, NoEngineError

Progress = Callable[[float], object]

REPORT_EVERY = 64
FIRST_ROWS = 1024
"""Customers an open network has room for at first, beside those who circle."""

MODES = {
    "lost": tables.LOST_THERE,
    "after service": tables.AFTER,
    "before service": tables.BEFORE,
    "repetitive": tables.REPEAT,
}
VISITS = {"": 0, "exhaustive": tables.EXHAUSTIVE, "gated": tables.GATED, "limited": tables.LIMITED}


def run_through_network(
    plan: NetworkPlan, customers: int, seed: int, totals: RunTotals, progress: Progress | None
) -> None:
    """Simulate until ``customers`` passages and cycles are recorded; raises DeadlockError with the circle."""
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
        run_network(t)
        for i, stream in enumerate(every):
            stream.position = int(t.used[i])
        if state["overflow"]:
            raise NoEngineError(
                f"a network of {len(plan.places)} stations moved more customers at one instant than fit; "
                "use engine='reference'"
            )
        n = min(int(state["done"]), customers - finished)
        gap, wait, service, *losses = t.outcome[:, :n]
        totals.add_finished(gap, wait, service, t.kinds[:n], *losses)
        for part, count in enumerate(t.stayed.tolist()):
            totals.add_stays(part, *t.stays[part, :, :count])
        finished += n
        if state["deadlock"] and finished < customers:
            raise DeadlockError("the network", _circle(plan, t.places))
        calls += 1
        if progress is not None and calls % REPORT_EVERY == 0:
            progress(finished / customers)


def _circle(plan: NetworkPlan, places: Table) -> tuple[str, ...]:
    """From a stuck station along those it waits for, to where the way comes round."""
    way = [int(np.flatnonzero(places["stuck"])[0])]
    while (following := int(places[way[-1]]["waits_for"])) not in way:
        way.append(following)
    return tuple(plan.places[i].name for i in way[way.index(following) :])


def _with_room(plan: NetworkPlan, t: tables.NetworkTables) -> tables.NetworkTables:
    """More rows for customers, if too few are left."""
    state = t.state[0]
    if state["spare"] >= state["needed"]:
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


def _all_at_once(plan: NetworkPlan) -> bool:
    return any(place.discipline in ("PS", "FB") or place.servers == math.inf for place in plan.places)


def _tables(plan: NetworkPlan, index: dict[Role, int], buffers: Any, totals: RunTotals) -> tables.NetworkTables:
    size = len(plan.places)
    queues = np.zeros(sum(place.queues for place in plan.places), dtype=event_tables.QUEUE)
    queues["first"] = queues["last"] = event_tables.NOBODY
    queues["place"] = np.repeat(np.arange(size), [place.queues for place in plan.places])
    population = sum(plan.population)
    multiplies = any(own.split or any(own.copies) for own in plan.equipment)
    rows = population + (2 * FIRST_ROWS if multiplies else FIRST_ROWS if plan.sources else 0)
    customers = np.zeros(rows, dtype=tables.CUSTOMER)
    customers["next"] = np.append(np.arange(1, rows), event_tables.NOBODY)
    most = max((int(p.servers) for p in plan.places if p.servers < math.inf), default=1)
    width = max(most, rows if _all_at_once(plan) else 1)
    speeds = np.zeros((size, max(1, *(len(place.speeds) for place in plan.places))))
    for row, place in zip(speeds, plan.places, strict=True):
        row[: len(place.speeds)] = place.speeds
    times, tree = tournament(queues.size + len(plan.sources))
    times[:] = math.inf
    state = np.zeros(1, dtype=tables.STATE)
    state["spare"], state["needed"] = rows, FIRST_ROWS if multiplies else 1 if plan.sources else 0
    roles, ways = _ways(plan, index)
    parts = len(plan.parts)
    return tables.NetworkTables(
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
        regions=np.array(
            [(r.capacity, 0, event_tables.NOBODY, event_tables.NOBODY, 0, 0.0) for r in plan.regions],
            dtype=tables.REGION,
        ),
        servers=_servers(plan, queues),
        speeds=speeds,
        tags=np.zeros((queues.size, width)),
        who=np.zeros((queues.size, width), dtype=np.int64),
        times=times,
        tree=tree,
        presence=totals.presence,
        outcome=np.empty((5 if plan.kinds > 1 else 4, BLOCK)),
        kinds=np.empty(BLOCK, dtype=np.int64),
        stays=np.empty((parts, 4, BLOCK)),
        stayed=np.zeros(parts, dtype=np.int64),
        lost_of=np.zeros(plan.kinds, dtype=np.int64),
    )


def _ways(plan: NetworkPlan, index: dict[Role, int]) -> tuple[Any, Table]:
    roles = np.zeros((len(plan.places), len(plan.classes), 9), dtype=np.int64)
    ways: list[Way] = []
    for p in range(len(plan.places)):
        for k in range(len(plan.classes)):
            following = index.get(Role(NEXT, p, k), event_tables.NOWHERE)
            mine = plan.ways[p][k]
            waking = index.get(Role(SETUP, p, k), event_tables.NOWHERE)
            turning = index.get(Role(TURNAROUND, p, k), event_tables.NOWHERE)
            copy = plan.equipment[p].copies[k] or (event_tables.NOWHERE, 0)
            urgency = plan.urgencies[p][k]
            roles[p, k] = (index[Role(SERVICE, p, k)], urgency, following, len(ways), len(mine), waking, turning, *copy)
            ways += mine
    return roles, np.array(ways, dtype=tables.WAY)


def _servers(plan: NetworkPlan, queues: Table) -> Table:
    """What each server did before, where stations remember."""
    most = max((int(p.servers) for p, own in zip(plan.places, plan.equipment, strict=True) if own.remembers), default=0)
    table = np.zeros((queues.size, most), dtype=tables.SERVER)
    table["customer"], table["kind"] = event_tables.NOBODY, event_tables.NOWHERE
    table["since"], table["pace"], table["left"] = -math.inf, 1.0, math.nan
    for place, own in enumerate(plan.equipment):
        if own.paces:
            mine = queues["place"] == place
            table["pace"][mine, : int(plan.places[place].servers)] = np.reshape(own.paces, (int(mine.sum()), -1))
    return table


def _places(plan: NetworkPlan, index: dict[Role, int]) -> Table:
    table = np.zeros(len(plan.places), dtype=tables.PLACE)
    homes = {entry.home for entry in plan.entries}
    first = 0
    for i, (row, place) in enumerate(zip(table, plan.places, strict=True)):
        row["first_queue"], row["queues"] = first, place.queues
        row["servers"] = event_tables.UNLIMITED if place.servers == math.inf else place.servers
        row["routing"] = event_tables.ROUTINGS.get(place.routing, event_tables.ANY)
        row["order"] = event_tables.ORDERS[place.discipline]
        row["preemptive"] = place.discipline in PREEMPTIVE
        row["sharing"] = place.discipline == "PS"
        row["varying"] = place.discipline in ("PS", "FB") or bool(place.speeds)
        row["speeds"] = len(place.speeds)
        row["capacity"] = event_tables.UNLIMITED if place.capacity is None else place.capacity
        row["when_full"], row["region"] = MODES[plan.when_full[i]], plan.region_of(i)
        row["thinking"] = i in homes and place.servers == math.inf
        row["route_stream"] = index.get(Role(ROUTE, i), event_tables.NOWHERE)
        row["order_stream"] = index.get(Role(ORDER, i), event_tables.NOWHERE)
        own = plan.equipment[i]
        row["remembers"], row["off_after"], row["split"] = own.remembers, own.off_after, own.split
        row["gather"], row["after"] = own.gather, own.after
        row["polling"], row["round"] = VISITS[own.polling], plan.way_round(i)
        row["at"], row["going"] = len(plan.classes) - 1, 2 if own.polling else 0
        row["batch"], row["least"] = own.batch, own.batch_least
        row["vacation"] = index.get(Role(VACATION, i), event_tables.NOWHERE)
        row["uptime"] = index.get(Role(UPTIME, i), event_tables.NOWHERE)
        row["repair"] = index.get(Role(REPAIR, i), event_tables.NOWHERE)
        row["away"], row["single"] = own.vacation.mean if own.vacation is not None else 0.0, own.single
        row["overflow"], row["orbit"] = own.overflow, own.orbit
        row["blocked_first"] = row["blocked_last"] = event_tables.NOBODY
        first += place.queues
    return table
