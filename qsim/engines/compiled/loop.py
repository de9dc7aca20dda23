"""The compiled event loop: any number of stations, queues and classes, described by small tables.

A tournament holds the time of the next event of each queue and each source; its winner is the next event. Of events at
the same time departures go before arrivals. The reference engine has the same steps under the same names.

The loop runs until an output is full or a stream of variates is used up; the caller empties, refills and calls again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qsim.engines.compiled import queues, tables
from qsim.engines.compiled.tables import State
from qsim.engines.jit import kernel


@kernel(borrows=True)
def run_events(t: State) -> None:
    """Run until all is recorded, an output is full, a stream is used up, or rows for customers are needed."""
    moment = t.moment[0]
    first_source: Any = np.uint32(t.queues.size)
    while True:
        events = room(t)
        if events <= 0:
            return
        for _ in range(events):
            row = first_source
            if moment.outside == 0:
                row = t.tree[1]
                moment.clock = queues.time_of(t.times[row])
            customer = complete(t, row) if row < first_source else arrive(t, row - t.queues.size)
            if customer != tables.NOBODY:
                enter(t, customer)


@kernel(inner=True, borrows=True)
def room(t: State) -> int:
    """Events that surely find variates, columns and rows: none takes two of the same stream, output or table."""
    moment = t.moment[0]
    events: Any = moment.wanted - np.int64(t.filled[0])
    if t.sources.size > 0:
        events = min(events, moment.spare)
    for stream in t.streams:
        events = min(events, np.int64(stream.end) - np.int64(stream.used))
    for filled in t.filled:
        events = min(events, t.outputs.shape[2] - np.int64(filled))
    return int(events)


@kernel(inner=True, borrows=True)
def arrive(t: State, entry: int) -> int:
    """The next of the customers that circulate, until all have begun, then one from a source; NOBODY if it is lost."""
    moment = t.moment[0]
    if moment.outside > 0:
        moment.outside -= 1
        entry = t.sources.size
        while t.entries[entry].number == 0:
            entry += 1
        t.entries[entry].number -= 1
    else:
        next_time = moment.clock + draw(t, t.sources[entry])
        queues.set_time(t.times, t.tree, t.queues.size + entry, next_time)
    to = t.entries[entry].place
    if t.places[to].present >= t.places[to].capacity:
        moment.lost += 1
        return tables.NOBODY
    customer: int = moment.unused
    row = t.customers[customer]
    moment.unused = row.next
    moment.spare -= 1
    row.entry, row.kind, row.to = entry, t.entries[entry].kind, to
    row.total_wait, row.total_service = 0.0, 0.0
    return customer


@kernel(inner=True, borrows=True)
def enter(t: State, customer: int) -> None:
    """Draw the customer's service time at its next station and let it join a queue; then draw where it goes next."""
    row, clock = t.customers[customer], t.moment[0].clock
    to = row.to
    need = draw(t, t.roles[to, row.kind].serving)
    row.place, row.arrived, row.need = to, clock, need
    t.places[to].present += 1
    queue: Any = np.uint32(choose_queue(t, to))
    if t.places[to].in_order:
        line_up(t, customer, queue, need)
    else:
        join(t, customer, to, queue, need)
    choose_way(t, customer, to)


@kernel(inner=True, borrows=True)
def line_up(t: State, customer: int, at: int, need: float) -> None:
    """Let the customer join a queue that is left in the order of arrival: it is known when its service will end."""
    row, queue, clock = t.customers[customer], t.queues[at], t.moment[0].clock
    start = max(clock, queue.progress)
    finish = start + need
    row.wait, row.finish, row.next = start - clock, finish, tables.NOBODY
    queue.progress = finish
    queue.present += 1
    if queue.first == tables.NOBODY:
        queue.first = customer
        queues.set_time(t.times, t.tree, at, finish)
    else:
        t.customers[queue.last].next = customer
    queue.last = customer


@kernel(inner=True, borrows=True)
def join(t: State, customer: int, to: int, at: int, need: float) -> None:
    """Let the customer start service, interrupt another, or wait."""
    row, clock = t.customers[customer], t.moment[0].clock
    place, queue = t.places[to], t.queues[at]
    tags, ids = t.tags[at], t.ids[at]
    row.since, row.wait, row.work = clock, 0.0, need
    queues.advance(place, queue, t.speeds[to], clock)
    row.share = queue.share
    queue.present += 1
    row.order = t.moment[0].arrivals
    t.moment[0].arrivals += 1
    row.key = -float(row.order) if place.last_come else t.roles[to, row.kind].urgency
    starting, waiting = customer, tables.NOBODY
    if not place.sharing and queue.in_service >= place.servers:
        starting, waiting = tables.NOBODY, customer
        if place.preemptive and queue.in_service > 0:
            worst = queues.least_urgent(queue, t.customers, ids)
            other = ids[worst]
            if t.customers[other].key > row.key:
                starting, waiting = customer, other
                t.customers[other].work = tags[worst] - queue.progress
                t.customers[other].since = clock
                queues.heap_remove(tags, ids, queue.in_service, worst)
                queue.in_service -= 1
    if waiting != tables.NOBODY:
        queues.enqueue(queue, t.customers, waiting)
    if starting != tables.NOBODY:
        queues.start_service(queue, t.customers, starting, tags, ids, clock)
    reschedule(t, to, at)


@kernel(inner=True, borrows=True)
def leave(t: State, at: int) -> int:
    """End the first service of a queue and start the next customer's; the customer that was served."""
    queue, clock = t.queues[at], t.moment[0].clock
    if queue.in_order:
        queue.present -= 1
        customer: int = queue.first
        queue.first = t.customers[customer].next
        queues.set_time(t.times, t.tree, at, t.customers[queue.first].finish)
        return customer
    place, tags, ids = t.places[queue.place], t.tags[at], t.ids[at]
    queues.advance(place, queue, t.speeds[queue.place], clock)
    queue.present -= 1
    customer = ids[0]
    queues.heap_remove(tags, ids, queue.in_service, 0)
    queue.in_service -= 1
    if queue.first != tables.NOBODY and queue.in_service < place.servers:
        called = queue.first
        queue.first = t.customers[called].next
        if queue.first == tables.NOBODY:
            queue.last = tables.NOBODY
        queues.start_service(queue, t.customers, called, tags, ids, clock)
    reschedule(t, queue.place, at)
    return customer


@kernel(inner=True, borrows=True)
def complete(t: State, at: int) -> int:
    """Record the stay that ends at a queue, and the passage or cycle; the customer, or NOBODY if it goes away."""
    customer, moment = leave(t, at), t.moment[0]
    queue, row, clock = t.queues[at], t.customers[customer], moment.clock
    place = t.places[queue.place]
    wait, service = row.wait, row.need
    if place.varying:
        response = clock - row.arrived
        if not place.sharing:
            service = response - wait
        else:
            if place.speeds > 0:
                service = queue.share - row.share
            wait = queues.slowed(queue, row.arrived, response, service)
    if place.part != tables.NONE:
        record(t, place.part, wait, service, row.kind, 0)
    place.present -= 1
    home = t.entries[row.entry].home
    if not place.is_delay or home == tables.NONE:  # a customer that circulates thinks at a delay
        row.total_wait += wait
        row.total_service += service
    if row.to == home:  # a passage (neither has a home, nor goes on) or a cycle is over
        record(t, 0, row.total_wait, row.total_service, row.kind, moment.lost)
        row.total_wait, row.total_service, moment.lost = 0.0, 0.0, 0
    to = row.to
    if to != tables.NONE and t.places[to].present >= t.places[to].capacity:
        moment.lost += 1
        row.to = to = home  # a customer that circulates thinks again
    if to == tables.NONE:
        row.next, moment.unused = moment.unused, customer
        moment.spare += 1
        return tables.NOBODY
    return customer


@kernel(inner=True, borrows=True)
def record(t: State, output: int, wait: float, service: float, kind: int, lost: int) -> None:
    """Write one column of an output."""
    column = t.filled[output]
    clock = t.moment[0].clock
    t.outputs[output, tables.GAP, column] = clock - t.last[output]
    t.outputs[output, tables.WAITING, column] = wait
    t.outputs[output, tables.SERVED, column] = service
    t.outputs[output, tables.KIND, column] = kind
    t.outputs[output, tables.LOST, column] = lost
    t.last[output] = clock
    t.filled[output] = column + 1


@kernel(inner=True, borrows=True)
def draw(t: State, stream: int) -> float:
    """The next variate of a stream."""
    row = t.streams[stream]
    value: float = row.next
    row.used += 1
    row.next = t.variates[row.used]
    return value


@kernel(inner=True, borrows=True)
def reschedule(t: State, place: int, at: int) -> None:
    """Update the time at which the next service of a queue ends."""
    queue = t.queues[at]
    finish = t.tags[at, 0]
    if t.places[place].varying and queue.in_service > 0:
        left = finish - queue.progress
        speed = queues.speed_of(t.places[place], queue, t.speeds[place])
        finish = queue.seen + (left / speed if left > 0.0 else 0.0)
    if finish != queues.time_of(t.times[at]):
        queues.set_time(t.times, t.tree, at, finish)


@kernel(inner=True, borrows=True)
def choose_way(t: State, customer: int, here: int) -> None:
    """Find the next station of a customer: this one until it has been served as often as it shall be."""
    row = t.customers[customer]
    role = t.roles[here, row.kind]
    if row.visits_left == 0:
        row.visits_left = role.visits
        if role.counts != tables.NONE:
            row.visits_left = int(draw(t, role.counts))
    row.visits_left -= 1
    if row.visits_left > 0:
        row.to = here
        return
    way = np.int64(role.first_way)
    if role.ways > 1:
        u = draw(t, role.next)
        while u >= t.ways[queues.unsigned(way)].upto:
            way += 1
    row.to = t.ways[queues.unsigned(way)].place


@kernel(inner=True, borrows=True)
def choose_queue(t: State, to: int) -> int:
    """The queue that the arriving customer joins."""
    place = t.places[to]
    chosen: Any = np.int64(place.first_queue)
    if place.routing == tables.RANDOM:
        chosen += min(math.floor(draw(t, place.route_stream) * place.queues), np.int64(place.queues) - 1)
    elif place.routing == tables.ROUND_ROBIN:
        chosen += place.turn
        place.turn = (place.turn + 1) % place.queues
    elif place.routing == tables.SHORTEST:
        for other in range(place.first_queue + 1, place.first_queue + place.queues):
            if t.queues[other].present < t.queues[chosen].present:
                chosen = other
    return int(chosen)
