"""The compiled event loop: any number of stations, queues and kinds of customers, described by small tables.

Every queue keeps its customers in service in a heap by the time they will finish, and those waiting in a linked
list in the order in which they will be taken.  The next event of each queue, of those thinking, and of each source
of arrivals is one leaf of a tournament whose winner comes first; of events at the same time departures go before
returns from thinking, and those before arrivals.

Where everyone is slowed by the others (processor sharing, load-dependent service) a queue has a clock of its own
that runs at the speed at which each of those in service is served: finish times by that clock never change.

The loop runs until an output is full or a stream of variates runs low; the caller empties, refills and calls again.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy.typing as npt

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled.closed_loop import set_time
from qsim.engines.compiled.event_tables import (
    GAP,
    LAST_COME,
    LOST,
    MOST_URGENT,
    NOBODY,
    NOWHERE,
    RANDOM,
    RANDOM_ORDER,
    RESERVE,
    ROUND_ROBIN,
    SERVICE,
    SERVING,
    SHORTEST,
    SHORTEST_JOB,
    THINKING,
    URGENCY,
    WAIT,
)
from qsim.engines.jit import kernel

Table: TypeAlias = npt.NDArray[Any]


@kernel(inner=True)
def _add(tags: FloatArray, who: IntArray, size: int, tag: float, customer: int) -> None:
    """Put a customer into a heap of ``size``."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if tags[parent] <= tag:
            break
        tags[hole], who[hole] = tags[parent], who[parent]
        hole = parent
    tags[hole], who[hole] = tag, customer


@kernel(inner=True)
def _remove(tags: FloatArray, who: IntArray, size: int, hole: int) -> None:
    """Take the entry at ``hole`` out of a heap of ``size``."""
    n = size - 1
    tag, customer = tags[n], who[n]
    while hole > 0 and tags[(hole - 1) >> 1] > tag:
        parent = (hole - 1) >> 1
        tags[hole], who[hole] = tags[parent], who[parent]
        hole = parent
    while True:
        child = 2 * hole + 1
        if child >= n:
            break
        if child + 1 < n and tags[child + 1] < tags[child]:
            child += 1
        if tags[child] >= tag:
            break
        tags[hole], who[hole] = tags[child], who[child]
        hole = child
    tags[hole], who[hole] = tag, customer


@kernel(inner=True)
def _draw(streams: FloatArray, used: IntArray, ends: IntArray, state: Table, stream: int) -> float:
    """The next variate of a stream."""
    at = used[stream]
    used[stream] = at + 1
    if at + 1 + RESERVE > ends[stream]:
        state[0].pause = 1
    value: float = streams[stream, at]
    return value


@kernel(inner=True)
def _speed(place: Any, queue: Any, speeds: FloatArray) -> float:
    """Work done per time unit for each of those in service."""
    if queue.in_service == 0:
        return 0.0
    if place.speeds > 0:
        speed: float = speeds[min(queue.present, place.speeds) - 1] / queue.in_service
        return speed
    return min(1.0, place.servers / queue.present) if place.sharing else 1.0


@kernel(inner=True)
def _advance(place: Any, queue: Any, speeds: FloatArray, clock: float) -> None:
    """Bring a queue's own clock up to date; call before anything changes in it."""
    if place.varying:
        elapsed = clock - queue.seen
        queue.progress += elapsed * _speed(place, queue, speeds)
        if queue.present > 0:
            queue.share += elapsed * min(1.0, place.servers / queue.present)
    else:
        queue.progress = clock
    queue.seen = clock


@kernel(inner=True)
def _next_finish(place: Any, queue: Any, speeds: FloatArray, tags: FloatArray) -> float:
    """When the first of those in service will be done."""
    if queue.in_service == 0:
        return math.inf
    if not place.varying:
        first: float = tags[0]
        return first
    left = max(0.0, tags[0] - queue.progress)
    finish: float = queue.seen + left / _speed(place, queue, speeds)
    return finish


@kernel(inner=True)
def _line_up(queue: Any, customers: Table, customer: int) -> None:
    """Put a customer into the waiting list, where its key and order say."""
    key, order = customers[customer].key, customers[customer].order
    before, after = queue.last, NOBODY
    if before != NOBODY and (
        customers[before].key > key or (customers[before].key == key and customers[before].order > order)
    ):
        before, after = NOBODY, queue.first
        while customers[after].key < key or (customers[after].key == key and customers[after].order < order):
            before, after = after, customers[after].next
    customers[customer].next = after
    if before == NOBODY:
        queue.first = customer
    else:
        customers[before].next = customer
    if after == NOBODY:
        queue.last = customer


@kernel(inner=True)
def _call_up(queue: Any, customers: Table, ahead: int) -> int:
    """Take the customer with ``ahead`` others before it out of the waiting list."""
    before, customer = NOBODY, queue.first
    for _ in range(ahead):
        before, customer = customer, customers[customer].next
    after = customers[customer].next
    if before == NOBODY:
        queue.first = after
    else:
        customers[before].next = after
    if after == NOBODY:
        queue.last = before
    chosen: int = customer
    return chosen


@kernel(inner=True)
def _serve(queue: Any, customers: Table, customer: int, tags: FloatArray, who: IntArray, clock: float) -> None:
    """Give a customer a server."""
    row = customers[customer]
    row.wait += clock - row.since
    _add(tags, who, queue.in_service, queue.progress + row.work, customer)
    queue.in_service += 1
    queue.busy += 1


@kernel(inner=True)
def _least_urgent(queue: Any, customers: Table, who: IntArray) -> int:
    """Where in the heap the one stands who would be interrupted first."""
    worst = 0
    for at in range(1, queue.in_service):
        one, other = customers[who[at]], customers[who[worst]]
        if one.key > other.key or (one.key == other.key and one.order > other.order):
            worst = at
    return worst


@kernel(inner=True)
def _start_thinking(
    customer: int, until: float, state: Table, tags: FloatArray, who: IntArray, times: FloatArray, tree: IntArray
) -> None:
    """A customer thinks until then; the heap of those who do is the last."""
    thinkers = tags.shape[0] - 1
    _add(tags[thinkers], who[thinkers], state[0].thinking, until, customer)
    state[0].thinking += 1
    set_time(times, tree, thinkers, tags[thinkers, 0])


@kernel(inner=True)
def _finish(customer: int, clock: float, state: Table, customers: Table, outcome: FloatArray, kinds: IntArray) -> None:
    """A customer has been everywhere: one column of the outcome."""
    row, column = customers[customer], state[0].done
    outcome[GAP, column] = clock - state[0].last_finish
    outcome[WAIT, column] = row.total_wait
    outcome[SERVICE, column] = row.total_service
    outcome[LOST, column] = state[0].lost
    kinds[column] = row.kind
    row.total_wait, row.total_service = 0.0, 0.0
    state[0].lost = 0
    state[0].last_finish = clock
    state[0].done = column + 1


@kernel()
def run_events(  # noqa: PLR0912, PLR0915
    streams: FloatArray,
    used: IntArray,
    ends: IntArray,
    roles: IntArray,
    mean_visits: FloatArray,
    sources: IntArray,
    hold: bool,
    state: Table,
    places: Table,
    queues: Table,
    customers: Table,
    all_speeds: FloatArray,
    all_tags: FloatArray,
    all_who: IntArray,
    times: FloatArray,
    tree: IntArray,
    presence: FloatArray,
    outcome: FloatArray,
    kinds: IntArray,
    stays: FloatArray,
    stayed: IntArray,
) -> None:
    """Run until an output is full, a stream runs low or more rows for customers are needed.

    ``roles[place, kind]`` holds the streams of service and of think times, and the urgency; ``sources`` the stream
    of each source's gaps; ``hold`` whether a customer without a place is held at the source; ``all_tags`` and
    ``all_who`` the heap of each queue, and in the last row of those thinking.  Outputs: ``presence``, the time with
    0, 1, 2, ... at the stations; a column of ``outcome`` and an entry of ``kinds`` for each customer who has been
    everywhere; with several places a column of ``stays[place]`` for each stay.  On return all times count from the
    clock.
    """
    thinkers = queues.size
    last = places.size - 1
    several = stays.shape[0] > 1
    is_open = sources.size > 0
    clock = state[0].clock
    while state[0].pause == 0 and state[0].done + 1 < kinds.size and (not is_open or state[0].unused != NOBODY):
        leaf = tree[1]
        now = times[leaf]
        presence[min(state[0].present, presence.size - 1)] += now - clock
        clock = now

        # What happens: a customer leaves its place, or is on the way `to` one.
        leaving, customer, to = NOBODY, NOBODY, NOWHERE
        if leaf < thinkers:
            queue, who = queues[leaf], all_who[leaf]
            place, speeds = places[queue.place], all_speeds[queue.place]
            _advance(place, queue, speeds, clock)
            leaving = who[0]
            _remove(all_tags[leaf], who, queue.in_service, 0)
            queue.in_service -= 1
            if place.blocking and places[place.next].present >= places[place.next].capacity:  # it keeps its server
                ahead = places[place.next]
                customers[leaving].next = NOBODY
                if ahead.blocked_first == NOBODY:
                    ahead.blocked_first = leaving
                else:
                    customers[ahead.blocked_last].next = leaving
                ahead.blocked_last = leaving
                leaving = NOBODY
                set_time(times, tree, leaf, _next_finish(place, queue, speeds, all_tags[leaf]))
        elif leaf == thinkers:
            customer = all_who[leaf, 0]
            _remove(all_tags[leaf], all_who[leaf], state[0].thinking, 0)
            state[0].thinking -= 1
            set_time(times, tree, leaf, all_tags[leaf, 0] if state[0].thinking > 0 else math.inf)
            row = customers[customer]
            row.arrived, row.visits = clock, 0
            to = places[row.place].next
        else:
            kind = leaf - thinkers - 1
            customer = state[0].unused
            row = customers[customer]
            state[0].unused = row.next
            row.kind, row.arrived, row.visits, row.total_wait, row.total_service = kind, clock, 1, 0.0, 0.0
            if hold and places[0].present >= places[0].capacity:
                state[0].lost += 1
                state[0].held = customer
                set_time(times, tree, leaf, math.inf)
            else:
                to = 0
                set_time(times, tree, leaf, clock + _draw(streams, used, ends, state, sources[kind]))

        # One departure can let another customer move, who was blocked, and so on.
        while leaving != NOBODY or to != NOWHERE:
            freed = NOWHERE
            if leaving != NOBODY:
                customer, row = leaving, customers[leaving]
                leaving, freed, chosen = NOBODY, row.place, row.queue
                place, queue, speeds = places[freed], queues[chosen], all_speeds[freed]
                tags, who = all_tags[chosen], all_who[chosen]
                _advance(place, queue, speeds, clock)
                response, wait, service = clock - row.arrived, row.wait, row.need
                if place.sharing:
                    if place.speeds > 0:
                        service = queue.share - row.share
                    wait = response - service
                    if wait < 1e-9 * response:  # never shared, rounding apart
                        wait = 0.0
                elif place.speeds > 0 or place.blocking:
                    service = response - wait
                row.total_wait += wait
                row.total_service += service
                if several:
                    column = stayed[freed]
                    stays[freed, GAP, column] = clock - place.last_departure
                    stays[freed, WAIT, column] = wait
                    stays[freed, SERVICE, column] = service
                    stayed[freed] = column + 1
                    if column + 1 + RESERVE > stays.shape[2]:
                        state[0].pause = 1
                place.last_departure = clock
                state[0].present -= 1
                place.present -= 1
                queue.present -= 1
                queue.busy -= 1
                if queue.first != NOBODY and queue.busy < place.servers:
                    ahead_of_him = 0
                    waiting = queue.present - queue.busy
                    if place.order == RANDOM_ORDER and waiting > 1:
                        u = _draw(streams, used, ends, state, place.order_stream)
                        ahead_of_him = min(math.floor(u * waiting), waiting - 1)
                    _serve(queue, customers, _call_up(queue, customers, ahead_of_him), tags, who, clock)
                set_time(times, tree, chosen, _next_finish(place, queue, speeds, tags))
                # Where it goes.
                row.arrived = clock
                row.visits -= 1
                if row.visits > 0:
                    to = freed
                else:
                    if freed == last:
                        _finish(customer, clock, state, customers, outcome, kinds)
                    if place.next == NOWHERE:
                        row.next = state[0].unused
                        state[0].unused = customer
                    elif row.think > 0.0:
                        _start_thinking(customer, clock + row.think, state, all_tags, all_who, times, tree)
                    else:
                        to = place.next
                        row.visits = 1 if is_open else 0

            while to != NOWHERE and (customers[customer].visits == 0 or places[to].present >= places[to].capacity):
                # Not yet known how often it will visit this place, or there is no room for it.
                row = customers[customer]
                if row.visits == 0:
                    row.visits = math.floor(mean_visits[to, row.kind])
                    rest = mean_visits[to, row.kind] - row.visits
                    if rest > 0.0 and _draw(streams, used, ends, state, places[to].visit_stream) < rest:
                        row.visits += 1
                    if row.visits > 0 and places[to].present < places[to].capacity:
                        break
                if row.visits > 0:
                    state[0].lost += 1
                elif to == last:
                    _finish(customer, clock, state, customers, outcome, kinds)
                row.visits, row.place = 0, to
                if is_open:
                    row.next = state[0].unused
                    state[0].unused = customer
                    to = NOWHERE
                else:
                    role = roles[to, row.kind, THINKING]
                    think = _draw(streams, used, ends, state, role) if role != NOWHERE else 0.0
                    to = places[to].next
                    if think > 0.0:
                        _start_thinking(customer, clock + think, state, all_tags, all_who, times, tree)
                        to = NOWHERE

            if to != NOWHERE:
                row, place, speeds = customers[customer], places[to], all_speeds[to]
                row.place, row.since, row.wait, row.think = to, row.arrived, 0.0, 0.0
                row.need = _draw(streams, used, ends, state, roles[to, row.kind, SERVING])
                row.work = row.need
                if row.visits == 1 and roles[to, row.kind, THINKING] != NOWHERE:
                    row.think = _draw(streams, used, ends, state, roles[to, row.kind, THINKING])
                chosen = place.first_queue
                if place.routing == RANDOM:
                    u = _draw(streams, used, ends, state, place.route_stream)
                    chosen += min(math.floor(u * place.queues), place.queues - 1)
                elif place.routing == ROUND_ROBIN:
                    chosen += place.turn
                    place.turn = (place.turn + 1) % place.queues
                elif place.routing == SHORTEST:
                    for other in range(place.first_queue + 1, place.first_queue + place.queues):
                        if queues[other].present < queues[chosen].present:
                            chosen = other
                queue, tags, who = queues[chosen], all_tags[chosen], all_who[chosen]
                _advance(place, queue, speeds, clock)
                row.queue, row.share, row.order = chosen, queue.share, state[0].arrivals
                state[0].arrivals += 1
                state[0].present += 1
                place.present += 1
                queue.present += 1
                row.key = 0.0
                if place.order == SHORTEST_JOB:
                    row.key = row.need
                elif place.order == LAST_COME:
                    row.key = -float(row.order)
                elif place.order == MOST_URGENT:
                    row.key = float(roles[to, row.kind, URGENCY])
                starting, waiting = customer, NOBODY
                if not place.sharing and queue.busy >= place.servers:
                    starting, waiting = NOBODY, customer
                    worst = _least_urgent(queue, customers, who) if place.preemptive else NOBODY
                    if worst != NOBODY and customers[who[worst]].key > row.key:
                        starting, waiting = customer, who[worst]
                        customers[waiting].work = tags[worst] - queue.progress
                        customers[waiting].since = clock
                        _remove(tags, who, queue.in_service, worst)
                        queue.in_service -= 1
                        queue.busy -= 1
                if waiting != NOBODY:
                    _line_up(queue, customers, waiting)
                if starting != NOBODY:
                    _serve(queue, customers, starting, tags, who, clock)
                set_time(times, tree, chosen, _next_finish(place, queue, speeds, tags))
                to = NOWHERE

            if freed != NOWHERE and places[freed].present < places[freed].capacity:
                if places[freed].blocked_first != NOBODY:
                    leaving = places[freed].blocked_first
                    places[freed].blocked_first = customers[leaving].next
                elif freed == 0 and state[0].held != NOBODY:
                    customer, to = state[0].held, 0
                    state[0].held = NOBODY
                    kind = customers[customer].kind
                    gap = _draw(streams, used, ends, state, sources[kind])
                    set_time(times, tree, thinkers + 1 + kind, clock + gap)
    _count_from(clock, state, places, queues, customers, all_tags, all_who, times)


@kernel(inner=True)
def _count_from(
    clock: float,
    state: Table,
    places: Table,
    queues: Table,
    customers: Table,
    tags: FloatArray,
    who: IntArray,
    times: FloatArray,
) -> None:
    """Move the origin of all times to the clock, so that digits are not lost in long runs."""
    state[0].last_finish -= clock
    state[0].clock = 0.0
    for i in range(customers.size):
        customers[i].arrived -= clock
        customers[i].since -= clock
    for i in range(times.size):
        times[i] -= clock
    for i in range(places.size):
        places[i].last_departure -= clock
    for i in range(state[0].thinking):
        tags[queues.size, i] -= clock
    for q in range(queues.size):
        queue = queues[q]
        origin = queue.progress if places[queue.place].varying else clock
        for i in range(queue.in_service):
            tags[q, i] -= origin
            customers[who[q, i]].share -= queue.share
        queue.seen -= clock
        queue.progress, queue.share = 0.0, 0.0
