"""The compiled event loop: any number of stations, queues and kinds of customers, described by small tables.

The next event of each queue (see :mod:`qsim.engines.compiled.queue_kernels`), of those thinking, and of each source of
arrivals is one leaf of a tournament whose winner comes first; of events at the same time departures go before
returns from thinking, and those before arrivals.

The loop runs until an output is full or a stream of variates runs low; the caller empties, refills and calls again.
"""

from __future__ import annotations

import math
from typing import Any

from qsim._types import FloatArray, IntArray
from qsim.engines.compiled.closed_loop import set_time
from qsim.engines.compiled.event_tables import (
    GAP,
    KIND,
    LAST_COME,
    LEAST_SERVED,
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
    SHORTEST_LEFT,
    THINKING,
    URGENCY,
    WAIT,
)
from qsim.engines.compiled.queue_kernels import (
    Table,
    advance,
    call_up,
    draw_variate,
    give_server,
    heap_add,
    heap_remove,
    least_urgent,
    line_up,
    next_finish,
    put_aside,
    serve_least_served,
    slowed,
)
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def _start_thinking(
    customer: int, until: float, state: Table, tags: FloatArray, who: IntArray, times: FloatArray, tree: IntArray
) -> None:
    """A customer thinks until then; the heap of those who do is the last."""
    thinkers = tags.shape[0] - 1
    heap_add(tags[thinkers], who[thinkers], state[0].thinking, until, customer)
    state[0].thinking += 1
    set_time(times, tree, thinkers, tags[thinkers, 0])


@kernel(inner=True, borrows=True)
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


@kernel(inner=True, borrows=True)
def _end_patience(
    customer: int, state: Table, tags: FloatArray, who: IntArray, times: FloatArray, tree: IntArray
) -> None:
    """A customer of those who wait in the last heap is called up."""
    waiters, at = tags.shape[0] - 1, 0
    while who[waiters, at] != customer:
        at += 1
    heap_remove(tags[waiters], who[waiters], state[0].thinking, at)
    state[0].thinking -= 1
    set_time(times, tree, waiters, tags[waiters, 0] if state[0].thinking > 0 else math.inf)


@kernel(inner=True, borrows=True)
def _give_up(
    customer: int,
    place: Any,
    queue: Any,
    clock: float,
    state: Table,
    customers: Table,
    outcome: FloatArray,
    kinds: IntArray,
) -> None:
    """A waiting customer leaves unserved; it counts among those lost before the next who is served."""
    ahead, other = 0, queue.first
    while other != customer:
        ahead, other = ahead + 1, customers[other].next
    call_up(queue, customers, ahead)
    state[0].present -= 1
    place.present -= 1
    queue.present -= 1
    row, lost = customers[customer], state[0].lost + 1
    row.kind, row.total_wait, state[0].lost = 1, clock - row.since, 0
    _finish(customer, clock, state, customers, outcome, kinds)
    state[0].lost = lost
    row.next = state[0].unused
    state[0].unused = customer


@kernel(borrows=True)
def run_events(  # noqa: PLR0912, PLR0915
    streams: FloatArray,
    used: IntArray,
    ends: IntArray,
    roles: IntArray,
    mean_visits: FloatArray,
    sources: IntArray,
    hold: bool,
    balking: FloatArray,
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
    of each source's gaps; ``hold`` whether a customer without a place is held at the source;
    ``balking`` the probabilities of not joining; ``all_tags`` and
    ``all_who`` the heap of each queue, and in the last row of those thinking.  Outputs: ``presence``, the time with
    0, 1, 2, ... at the stations; a column of ``outcome`` and an entry of ``kinds`` for each customer that has been
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
            advance(place, queue, speeds, clock)
            if place.order == LEAST_SERVED and queue.catch_up <= all_tags[leaf, 0]:
                queue.progress = queue.catch_up
                serve_least_served(queue, customers, all_tags[leaf], who, clock)
                set_time(times, tree, leaf, next_finish(place, queue, speeds, all_tags[leaf]))
            else:
                leaving = who[0]
                heap_remove(all_tags[leaf], who, queue.in_service, 0)
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
                set_time(times, tree, leaf, next_finish(place, queue, speeds, all_tags[leaf]))
        elif leaf == thinkers:
            customer = all_who[leaf, 0]
            heap_remove(all_tags[leaf], all_who[leaf], state[0].thinking, 0)
            state[0].thinking -= 1
            set_time(times, tree, leaf, all_tags[leaf, 0] if state[0].thinking > 0 else math.inf)
            row = customers[customer]
            if is_open:  # those in the last heap wait, and their patience ends
                place, queue = places[row.place], queues[row.queue]
                advance(place, queue, all_speeds[row.place], clock)
                _give_up(customer, place, queue, clock, state, customers, outcome, kinds)
                set_time(times, tree, row.queue, next_finish(place, queue, all_speeds[row.place], all_tags[row.queue]))
            else:
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
                if places[0].balk_stream != NOWHERE:
                    u = draw_variate(streams, used, ends, state, places[0].balk_stream)
                    if u < balking[min(places[0].present, balking.size - 1)]:
                        state[0].lost += 1
                        row.next = state[0].unused
                        state[0].unused = customer
                        to = NOWHERE
                set_time(times, tree, leaf, clock + draw_variate(streams, used, ends, state, sources[kind]))

        # One departure can let another customer move, who was blocked, and so on.
        while leaving != NOBODY or to != NOWHERE:
            freed = NOWHERE
            if leaving != NOBODY:
                customer, row = leaving, customers[leaving]
                leaving, freed, chosen = NOBODY, row.place, row.queue
                place, queue, speeds = places[freed], queues[chosen], all_speeds[freed]
                tags, who = all_tags[chosen], all_who[chosen]
                advance(place, queue, speeds, clock)
                response, wait, service = clock - row.arrived, row.wait, row.need
                if place.sharing or place.order == LEAST_SERVED:
                    if place.speeds > 0:
                        service = queue.share - row.share
                    wait = slowed(place, queue, row.arrived, response, service)
                elif place.speeds > 0 or place.blocking:
                    service = response - wait
                row.total_wait += wait
                row.total_service += service
                if several:
                    column = stayed[freed]
                    stays[freed, GAP, column] = clock - place.last_departure
                    stays[freed, WAIT, column] = wait
                    stays[freed, SERVICE, column] = service
                    stays[freed, KIND, column] = row.kind
                    stayed[freed] = column + 1
                    if column + 1 + RESERVE > stays.shape[2]:
                        state[0].pause = 1
                place.last_departure = clock
                state[0].present -= 1
                place.present -= 1
                queue.present -= 1
                queue.busy -= 1
                if place.order == LEAST_SERVED:
                    serve_least_served(queue, customers, tags, who, clock)
                elif queue.first != NOBODY and queue.busy < place.servers:
                    ahead_of_him = 0
                    waiting = queue.present - queue.busy
                    if place.order == RANDOM_ORDER and waiting > 1:
                        u = draw_variate(streams, used, ends, state, place.order_stream)
                        ahead_of_him = min(math.floor(u * waiting), waiting - 1)
                    called = call_up(queue, customers, ahead_of_him)
                    if place.patience_stream != NOWHERE:
                        _end_patience(called, state, all_tags, all_who, times, tree)
                    give_server(queue, customers, called, tags, who, clock)
                set_time(times, tree, chosen, next_finish(place, queue, speeds, tags))
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
                    if rest > 0.0 and draw_variate(streams, used, ends, state, places[to].visit_stream) < rest:
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
                    think = draw_variate(streams, used, ends, state, role) if role != NOWHERE else 0.0
                    to = places[to].next
                    if think > 0.0:
                        _start_thinking(customer, clock + think, state, all_tags, all_who, times, tree)
                        to = NOWHERE

            if to != NOWHERE:
                row, place, speeds = customers[customer], places[to], all_speeds[to]
                row.place, row.since, row.wait, row.think = to, row.arrived, 0.0, 0.0
                row.need = draw_variate(streams, used, ends, state, roles[to, row.kind, SERVING])
                row.work = row.need
                if row.visits == 1 and roles[to, row.kind, THINKING] != NOWHERE:
                    row.think = draw_variate(streams, used, ends, state, roles[to, row.kind, THINKING])
                chosen = place.first_queue
                if place.routing == RANDOM:
                    u = draw_variate(streams, used, ends, state, place.route_stream)
                    chosen += min(math.floor(u * place.queues), place.queues - 1)
                elif place.routing == ROUND_ROBIN:
                    chosen += place.turn
                    place.turn = (place.turn + 1) % place.queues
                elif place.routing == SHORTEST:
                    for other in range(place.first_queue + 1, place.first_queue + place.queues):
                        if queues[other].present < queues[chosen].present:
                            chosen = other
                queue, tags, who = queues[chosen], all_tags[chosen], all_who[chosen]
                advance(place, queue, speeds, clock)
                row.queue, row.share, row.order = chosen, queue.share, state[0].arrivals
                state[0].arrivals += 1
                state[0].present += 1
                place.present += 1
                queue.present += 1
                row.key = 0.0
                if place.order in (SHORTEST_JOB, SHORTEST_LEFT):
                    row.key = row.need
                elif place.order == LAST_COME:
                    row.key = -float(row.order)
                elif place.order == MOST_URGENT:
                    row.key = float(roles[to, row.kind, URGENCY])
                starting, waiting = customer, NOBODY
                if place.order == LEAST_SERVED:
                    put_aside(queue, customers, tags, who)
                elif not place.sharing and queue.busy >= place.servers:
                    starting, waiting = NOBODY, customer
                    worst = NOBODY
                    if place.order == SHORTEST_LEFT:
                        for at in range(queue.in_service):
                            customers[who[at]].key = tags[at] - queue.progress
                    if place.preemptive and queue.in_service > 0:  # who is blocked cannot be interrupted
                        worst = least_urgent(queue, customers, who)
                    if worst != NOBODY and customers[who[worst]].key > row.key:
                        starting, waiting = customer, who[worst]
                        customers[waiting].work = tags[worst] - queue.progress
                        customers[waiting].since = clock
                        heap_remove(tags, who, queue.in_service, worst)
                        queue.in_service -= 1
                        queue.busy -= 1
                if place.patience_stream != NOWHERE:
                    patience = draw_variate(streams, used, ends, state, place.patience_stream)
                    if waiting != NOBODY:
                        _start_thinking(waiting, clock + patience, state, all_tags, all_who, times, tree)
                if waiting != NOBODY:
                    line_up(queue, customers, waiting)
                if starting != NOBODY:
                    give_server(queue, customers, starting, tags, who, clock)
                set_time(times, tree, chosen, next_finish(place, queue, speeds, tags))
                to = NOWHERE

            if freed != NOWHERE and places[freed].present < places[freed].capacity:
                if places[freed].blocked_first != NOBODY:
                    leaving = places[freed].blocked_first
                    places[freed].blocked_first = customers[leaving].next
                elif freed == 0 and state[0].held != NOBODY:
                    customer, to = state[0].held, 0
                    state[0].held = NOBODY
                    kind = customers[customer].kind
                    gap = draw_variate(streams, used, ends, state, sources[kind])
                    set_time(times, tree, thinkers + 1 + kind, clock + gap)
    _count_from(clock, state, places, queues, customers, all_tags, all_who, times)


@kernel(inner=True, borrows=True)
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
        if places[queue.place].order == LEAST_SERVED:  # counts from when each began
            origin = 0.0
        for i in range(queue.in_service):
            tags[q, i] -= origin
            customers[who[q, i]].share -= queue.share
        queue.seen -= clock
        queue.crowded -= clock
        queue.progress, queue.share = queue.progress if origin == 0.0 else 0.0, 0.0
