"""The compiled event loop: any number of stations, queues and classes, described by small tables.

A tournament tree holds the next event of each queue and each source; its winner is the next event. Of events at the
same time departures go before arrivals. The reference engine has the same steps under the same names.

The loop runs until an output is full or a stream of variates runs low; the caller empties, refills and calls again.
"""

from __future__ import annotations

import math

from qsim.engines.compiled import queues, tables
from qsim.engines.compiled.tables import State
from qsim.engines.jit import kernel


@kernel(borrows=True)
def run_events(t: State) -> None:
    """Run until all is recorded, an output is full, a stream runs low, or rows for customers are needed."""
    moment = t.moment[0]
    first_source = t.queues.size
    while moment.pause == 0 and (t.sources.size == 0 or moment.spare > 0):
        if moment.outside > 0:
            customer = begin(t)
        else:
            leaf = t.tree[1]
            moment.clock = t.times[leaf]
            customer = complete(t, leaf) if leaf < first_source else come(t, leaf - first_source)
        if customer != tables.NONE:
            enter(t, customer)


@kernel(inner=True, borrows=True)
def begin(t: State) -> int:
    """Add the next of the customers that circulate."""
    t.moment[0].outside -= 1
    entry = t.sources.size
    while t.entries[entry].number == 0:
        entry += 1
    t.entries[entry].number -= 1
    return arrive(t, entry)


@kernel(inner=True, borrows=True)
def come(t: State, source: int) -> int:
    """Add a customer from a source, which has its next arrival then."""
    queues.set_time(t.times, t.tree, t.queues.size + source, t.moment[0].clock + draw(t, t.sources[source]))
    return arrive(t, source)


@kernel(inner=True, borrows=True)
def arrive(t: State, entry: int) -> int:
    """The customer that arrives, from outside or of a closed class at the start; one that finds no place is lost."""
    to, moment = t.entries[entry].place, t.moment[0]
    if t.places[to].present >= t.places[to].capacity:
        moment.lost += 1
        return tables.NONE
    customer: int = moment.unused
    row = t.customers[customer]
    moment.unused = row.next
    moment.spare -= 1
    row.entry, row.kind, row.to = entry, t.entries[entry].kind, to
    row.total_wait, row.total_service = 0.0, 0.0
    return customer


@kernel(inner=True, borrows=True)
def enter(t: State, customer: int) -> None:
    """Draw the customer's service time at its next station, its queue there and the station after that."""
    row, clock = t.customers[customer], t.moment[0].clock
    to = row.to
    row.place, row.arrived = to, clock
    row.need = draw(t, t.roles[to, row.kind].serving)
    t.places[to].present += 1
    row.since, row.wait, row.work = clock, 0.0, row.need
    row.queue = choose_queue(t, to)
    choose_way(t, customer)
    join(t, customer)


@kernel(inner=True, borrows=True)
def join(t: State, customer: int) -> None:
    """Let the customer start service, interrupt another, or wait."""
    row, clock = t.customers[customer], t.moment[0].clock
    place, queue = t.places[row.place], t.queues[row.queue]
    tags, ids = t.tags[row.queue], t.ids[row.queue]
    queues.advance(place, queue, t.speeds[row.place], clock)
    row.share = queue.share
    queue.present += 1
    row.order = t.moment[0].arrivals
    t.moment[0].arrivals += 1
    row.key = -float(row.order) if place.last_come else t.roles[row.place, row.kind].urgency
    starting, waiting = customer, tables.NONE
    if not place.sharing and queue.in_service >= place.servers:
        starting, waiting = tables.NONE, customer
        if place.preemptive and queue.in_service > 0:
            worst = queues.least_urgent(queue, t.customers, ids)
            other = ids[worst]
            if t.customers[other].key > row.key:
                starting, waiting = customer, other
                t.customers[other].work = tags[worst] - queue.progress
                t.customers[other].since = clock
                queues.heap_remove(tags, ids, queue.in_service, worst)
                queue.in_service -= 1
    if waiting != tables.NONE:
        queues.enqueue(queue, t.customers, waiting)
    if starting != tables.NONE:
        queues.start_service(queue, t.customers, starting, tags, ids, clock)
    reschedule(t, row.queue)


@kernel(inner=True, borrows=True)
def complete(t: State, leaf: int) -> int:
    """End the first service of a queue: record the stay, start the next customer; the one that goes on, or NONE."""
    queue, moment = t.queues[leaf], t.moment[0]
    place, clock = t.places[queue.place], moment.clock
    queues.advance(place, queue, t.speeds[queue.place], clock)
    customer: int = t.ids[leaf, 0]
    queues.heap_remove(t.tags[leaf], t.ids[leaf], queue.in_service, 0)
    queue.in_service -= 1
    queue.present -= 1
    if queue.first != tables.NONE and queue.in_service < place.servers:
        called = queue.first
        queue.first = t.customers[called].next
        if queue.first == tables.NONE:
            queue.last = tables.NONE
        queues.start_service(queue, t.customers, called, t.tags[leaf], t.ids[leaf], clock)
    reschedule(t, leaf)

    row = t.customers[customer]
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
        if t.filled[0] >= moment.wanted:
            moment.pause = 1
        row.total_wait, row.total_service, moment.lost = 0.0, 0.0, 0
    to = row.to
    if to != tables.NONE and t.places[to].present >= t.places[to].capacity:
        moment.lost += 1
        row.to = to = home  # a customer that circulates thinks again
    if to == tables.NONE:
        row.next, moment.unused = moment.unused, customer
        moment.spare += 1
        return tables.NONE
    return customer


@kernel(inner=True, borrows=True)
def record(t: State, output: int, wait: float, service: float, kind: int, lost: int) -> None:
    """Write one column of an output."""
    column = room(t, t.filled[output], t.outputs.shape[2])
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
    at = room(t, t.used[stream], t.ends[stream])
    t.used[stream] = at + 1
    value: float = t.streams[stream, at]
    return value


@kernel(inner=True, borrows=True)
def room(t: State, at: int, end: int) -> int:
    """The index ``at``, below ``end``; sets ``pause`` where the next event may reach the end of the array."""
    if at + tables.MARGIN >= end:
        t.moment[0].pause = 1
        if at == end:
            t.moment[0].overflow = 1
            return 0
    return at


@kernel(inner=True, borrows=True)
def reschedule(t: State, queue: int) -> None:
    """Update the time at which the next service of a queue ends."""
    place = t.queues[queue].place
    finish = queues.next_finish(t.places[place], t.queues[queue], t.speeds[place], t.tags[queue])
    if finish != t.times[queue]:
        queues.set_time(t.times, t.tree, queue, finish)


@kernel(inner=True, borrows=True)
def choose_way(t: State, customer: int) -> None:
    """Find the next station of a customer: this one until it has been served as often as it shall be."""
    row = t.customers[customer]
    role = t.roles[row.place, row.kind]
    if row.visits_left == 0:
        row.visits_left = role.visits
        if role.counts != tables.NONE:
            row.visits_left = int(draw(t, role.counts))
    row.visits_left -= 1
    if row.visits_left > 0:
        row.to = row.place
        return
    way = role.first_way
    if role.ways > 1:
        u = draw(t, role.next)
        while u >= t.ways[way].upto:
            way += 1
    row.to = t.ways[way].place


@kernel(inner=True, borrows=True)
def choose_queue(t: State, to: int) -> int:
    """The queue that the arriving customer joins."""
    place = t.places[to]
    chosen: int = place.first_queue
    if place.routing == tables.RANDOM:
        chosen += min(math.floor(draw(t, place.route_stream) * place.queues), place.queues - 1)
    elif place.routing == tables.ROUND_ROBIN:
        chosen += place.turn
        place.turn = (place.turn + 1) % place.queues
    elif place.routing == tables.SHORTEST:
        for other in range(place.first_queue + 1, place.first_queue + place.queues):
            if t.queues[other].present < t.queues[chosen].present:
                chosen = other
    return chosen
