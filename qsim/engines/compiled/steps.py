"""Small steps of the compiled loop: variates, rows of customers, outputs, choices."""

from __future__ import annotations

import math

from qsim.engines.compiled.queue_kernels import next_finish
from qsim.engines.compiled.tables import (
    FIRST_WAY,
    GAP,
    KIND,
    LAST_COME,
    LOST,
    MARGIN,
    MOST_URGENT,
    NEXT,
    RANDOM,
    ROUND_ROBIN,
    SERVICE,
    SHORTEST,
    SHORTEST_JOB,
    SHORTEST_LEFT,
    URGENCY,
    WAIT,
    WAYS,
    Tables,
)
from qsim.engines.compiled.tournament import set_time
from qsim.engines.jit import kernel
from qsim.engines.plan import NOWHERE


@kernel(inner=True, borrows=True)
def draw(t: Tables, stream: int) -> float:
    """The next variate of a stream."""
    at = room(t, t.used[stream], t.ends[stream])
    t.used[stream] = at + 1
    value: float = t.streams[stream, at]
    return value


@kernel(inner=True, borrows=True)
def room(t: Tables, at: int, end: int) -> int:
    """``at``, before the end of a buffer or an output; pause where the next event may come to the end of it."""
    if at + MARGIN >= end:
        t.state[0].pause = 1
        if at == end:
            t.state[0].overflow = 1
            return at - 1
    return at


@kernel(inner=True, borrows=True)
def reschedule(t: Tables, queue: int) -> None:
    """Set when the next service of a queue ends."""
    place = t.queues[queue].place
    finish = next_finish(t.places[place], t.queues[queue], t.speeds[place], t.tags[queue])
    if finish != t.times[queue]:
        set_time(t.times, t.tree, queue, finish)


@kernel(inner=True, borrows=True)
def remember(t: Tables, entry: int) -> int:
    """A row for a new customer."""
    customer: int = t.state[0].unused
    row = t.customers[customer]
    t.state[0].unused = row.next
    t.state[0].spare -= 1
    row.entry, row.total_wait, row.total_service = entry, 0.0, 0.0
    row.cycling, row.place, row.to = 0, NOWHERE, NOWHERE
    return customer


@kernel(inner=True, borrows=True)
def forget(t: Tables, customer: int) -> None:
    """Give the row of a customer back."""
    t.customers[customer].next = t.state[0].unused
    t.state[0].unused = customer
    t.state[0].spare += 1


@kernel(inner=True, borrows=True)
def finish(t: Tables, customer: int, clock: float) -> None:
    """A passage or a cycle is over: one column of the outcome."""
    row, state = t.customers[customer], t.state[0]
    column = room(t, state.done, t.kinds.size)
    t.outcome[GAP, column] = clock - state.last_finish
    t.outcome[WAIT, column] = row.total_wait
    t.outcome[SERVICE, column] = row.total_service
    t.outcome[LOST, column] = state.lost
    t.kinds[column] = t.entries[row.entry].stream
    row.total_wait, row.total_service = 0.0, 0.0
    state.lost = 0
    state.last_finish = clock
    state.done = column + 1


@kernel(inner=True, borrows=True)
def record_stay(t: Tables, place: int, kind: int, gap: float, wait: float, service: float) -> None:
    """A stay at a station is over; of one alone nothing is kept."""
    if t.stayed.size == 0:
        return
    column = room(t, t.stayed[place], t.stays.shape[2])
    t.stays[place, GAP, column] = gap
    t.stays[place, WAIT, column] = wait
    t.stays[place, SERVICE, column] = service
    t.stays[place, KIND, column] = kind
    t.stayed[place] = column + 1


@kernel(inner=True, borrows=True)
def thinks(t: Tables, customer: int) -> bool:
    """Whether its time at this station is think time."""
    row = t.customers[customer]
    thinks: bool = t.places[row.place].is_delay == 1 and t.entries[row.entry].home != NOWHERE
    return thinks


@kernel(inner=True, borrows=True)
def choose_way(t: Tables, customer: int) -> None:
    """Where it will go next, and in which class."""
    row = t.customers[customer]
    roles = t.roles[row.place, row.kind]
    way = roles[FIRST_WAY]
    if roles[WAYS] > 1:
        u = draw(t, roles[NEXT])
        while u >= t.ways[way].upto:
            way += 1
    row.to, row.becoming = t.ways[way].place, t.ways[way].kind


@kernel(inner=True, borrows=True)
def choose_queue(t: Tables, to: int) -> int:
    """The queue that the arriving customer joins."""
    place = t.places[to]
    chosen: int = place.first_queue
    if place.routing == RANDOM:
        chosen += min(math.floor(draw(t, place.route_stream) * place.queues), place.queues - 1)
    elif place.routing == ROUND_ROBIN:
        chosen += place.turn
        place.turn = (place.turn + 1) % place.queues
    elif place.routing == SHORTEST:
        for other in range(place.first_queue + 1, place.first_queue + place.queues):
            if t.queues[other].present < t.queues[chosen].present:
                chosen = other
    return chosen


@kernel(inner=True, borrows=True)
def take_number(t: Tables, customer: int) -> None:
    """Its position in the order of service: the smallest key goes first, of equal ones the earliest."""
    row = t.customers[customer]
    order = t.places[row.place].order
    row.key, row.order = 0.0, t.state[0].arrivals
    t.state[0].arrivals += 1
    if order in (SHORTEST_JOB, SHORTEST_LEFT):
        row.key = row.need
    elif order == LAST_COME:
        row.key = -float(row.order)
    elif order == MOST_URGENT:
        row.key = float(t.roles[row.place, row.kind, URGENCY])
