"""How customers move in the compiled loop: into a station, to a server, off it, on, out."""

from __future__ import annotations

import math

from qsim.engines.compiled.queue_kernels import (
    advance,
    call_up,
    give_server,
    heap_remove,
    least_urgent,
    line_up,
    slowed,
)
from qsim.engines.compiled.steps import (
    choose_queue,
    choose_way,
    draw,
    finish,
    forget,
    record_stay,
    reschedule,
    take_number,
    thinks,
)
from qsim.engines.compiled.tables import NOBODY, RANDOM_ORDER, SERVING, SHORTEST_LEFT, Tables
from qsim.engines.jit import kernel
from qsim.engines.plan import NOWHERE


@kernel(inner=True, borrows=True)
def go(t: Tables, customer: int, to: int, kind: int, clock: float) -> None:
    """On to a station, or home where a customer that circulates finds no place there."""
    if t.places[to].present >= t.places[to].capacity:
        t.state[0].lost += 1
        t.customers[customer].cycling = 0
        to, kind = t.entries[t.customers[customer].entry].home, t.entries[t.customers[customer].entry].kind
    enter(t, customer, to, kind, clock)


@kernel(inner=True, borrows=True)
def enter(t: Tables, customer: int, to: int, kind: int, clock: float) -> None:
    """Come to a station."""
    row = t.customers[customer]
    if t.entries[row.entry].home == to:
        if row.cycling == 1:
            finish(t, customer, clock)
        row.cycling = 1
    row.kind, row.place = kind, to
    row.arrived, row.since, row.wait = clock, clock, 0.0
    row.need = draw(t, t.roles[to, kind, SERVING])
    row.work = row.need
    row.queue = choose_queue(t, to)
    choose_way(t, customer)
    if not thinks(t, customer):
        t.state[0].present += 1
    t.places[to].present += 1
    join(t, customer, clock)


@kernel(inner=True, borrows=True)
def join(t: Tables, customer: int, clock: float) -> None:
    """Wait, be served at once, or interrupt another."""
    row = t.customers[customer]
    place, queue = t.places[row.place], t.queues[row.queue]
    tags, who = t.tags[row.queue], t.who[row.queue]
    advance(place, queue, t.speeds[row.place], clock)
    row.share = queue.share
    queue.present += 1
    take_number(t, customer)
    starting, waiting = customer, NOBODY
    if not place.sharing and queue.in_service >= place.servers:
        starting, waiting = NOBODY, customer
        if place.order == SHORTEST_LEFT:
            for at in range(queue.in_service):
                t.customers[who[at]].key = tags[at] - queue.progress
        if place.preemptive and queue.in_service > 0:
            worst = least_urgent(queue, t.customers, who)
            other = who[worst]
            if t.customers[other].key > row.key:
                starting, waiting = customer, other
                t.customers[other].work = tags[worst] - queue.progress
                t.customers[other].since = clock
                heap_remove(tags, who, queue.in_service, worst)
                queue.in_service -= 1
    if waiting != NOBODY:
        line_up(queue, t.customers, waiting)
    if starting != NOBODY:
        give_server(queue, t.customers, starting, tags, who, clock)
    reschedule(t, row.queue)


@kernel(inner=True, borrows=True)
def leave_queue(t: Tables, customer: int, clock: float) -> None:
    """Give its server up; the next one is called up."""
    here, chosen = t.customers[customer].place, t.customers[customer].queue
    place, queue = t.places[here], t.queues[chosen]
    advance(place, queue, t.speeds[here], clock)
    queue.present -= 1
    if queue.first != NOBODY and queue.in_service < place.servers:
        ahead = 0
        waiting = queue.present - queue.in_service
        if place.order == RANDOM_ORDER and waiting > 1:
            ahead = min(math.floor(draw(t, place.order_stream) * waiting), waiting - 1)
        called = call_up(queue, t.customers, ahead)
        give_server(queue, t.customers, called, t.tags[chosen], t.who[chosen], clock)
    reschedule(t, chosen)


@kernel(inner=True, borrows=True)
def depart(t: Tables, customer: int, clock: float) -> None:
    """Its stay is over: record it, and go on to the next station or out."""
    row = t.customers[customer]
    here = row.place
    place, queue = t.places[here], t.queues[row.queue]
    response, wait, service = clock - row.arrived, row.wait, row.need
    leave_queue(t, customer, clock)
    if place.sharing:
        if place.speeds > 0:
            service = queue.share - row.share
        wait = slowed(queue, row.arrived, response, service)
    elif place.speeds > 0:
        service = response - wait
    record_stay(t, here, row.kind, clock - place.last_departure, wait, service)
    place.last_departure = clock
    place.present -= 1
    if not thinks(t, customer):
        row.total_wait += wait
        row.total_service += service
        t.state[0].present -= 1
    if row.to == NOWHERE:
        finish(t, customer, clock)
        forget(t, customer)
    else:
        go(t, customer, row.to, row.becoming, clock)
