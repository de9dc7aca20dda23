"""How customers move in the compiled loop of networks: into a station, to a server, off it, through gates, out."""

from __future__ import annotations

import math

from qsim.engines.compiled.closed_loop import set_time
from qsim.engines.compiled.event_tables import (
    LAST_COME,
    LEAST_SERVED,
    MOST_URGENT,
    NOBODY,
    NOWHERE,
    RANDOM,
    RANDOM_ORDER,
    ROUND_ROBIN,
    SHORTEST,
    SHORTEST_JOB,
    SHORTEST_LEFT,
    UNLIMITED,
)
from qsim.engines.compiled.network_holding import hold, look_for_deadlock_at, reserve
from qsim.engines.compiled.network_servers import begin
from qsim.engines.compiled.network_steps import (
    draw,
    finish,
    forget,
    full,
    leave_region,
    lose,
    mark,
    mark_gate,
    must_ask,
    record_stay,
    remember,
    reschedule,
    thinks,
    turn_away,
)
from qsim.engines.compiled.network_tables import (
    AFTER_SERVICE,
    BEFORE,
    BEFORE_SERVICE,
    COPY_KIND,
    COPY_PLACE,
    FIRST_WAY,
    GATED,
    LIMITED,
    LOST_THERE,
    NEXT,
    SERVING,
    TURNING,
    URGENCY,
    WAYS,
    NetworkTables,
)
from qsim.engines.compiled.queue_kernels import (
    advance,
    call_up,
    heap_remove,
    least_urgent,
    line_up,
    put_aside,
    serve_least_served,
    slowed,
)
from qsim.engines.jit import kernel
from qsim.engines.network_plan import LONG_AGO


@kernel(inner=True, borrows=True)
def serve(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """A server turns to it, and begins unless a place must be reserved that is not free."""
    row = t.customers[customer]
    if row.to != NOWHERE and t.places[row.to].when_full == BEFORE and must_ask(t, customer):
        if full(t, row.to):
            t.queues[queue].busy += 1
            hold(t, customer, BEFORE_SERVICE)
            return
        reserve(t, customer)
    begin(t, queue, customer, clock)


@kernel(inner=True, borrows=True)
def enter(t: NetworkTables, customer: int, to: int, kind: int, clock: float) -> None:
    """Come to a station that has a place for it."""
    row, place = t.customers[customer], t.places[to]
    had_reserved = row.reserved == 1
    if had_reserved:
        row.reserved = 0
        place.reserved -= 1
    else:
        place.present += 1
    if row.entry != NOWHERE and t.entries[row.entry].home == to:
        if row.cycling == 1:
            finish(t, customer, clock)
        row.cycling = 1
    row.kind, row.place, row.region, row.held = kind, to, place.region, 0
    row.arrived, row.since, row.wait = clock, clock, 0.0
    row.parts = place.queues if place.split == 1 else 1
    if place.split == 0:
        row.need = draw(t, t.roles[to, kind, SERVING])
        row.work = row.need
        row.queue = choose_queue(t, to)
    else:
        row.need, row.queue = 0.0, place.first_queue
    choose_way(t, customer)
    if not thinks(t, customer):
        t.state[0].present += 1
    if place.gather > 0:
        gather(t, customer, clock)
    else:
        for part in range(row.parts):
            join(t, part_of(t, customer, part, clock) if place.split == 1 else customer, clock)
    if had_reserved:
        look_for_deadlock_at(t, to)


@kernel(inner=True, borrows=True)
def choose_way(t: NetworkTables, customer: int) -> None:
    """Where it will go, and its copy before it."""
    row = t.customers[customer]
    roles = t.roles[row.place, row.kind]
    way = roles[FIRST_WAY]
    if roles[WAYS] > 1:
        u = draw(t, roles[NEXT])
        while u >= t.ways[way].upto:
            way += 1
    row.to, row.becoming = t.ways[way].place, t.ways[way].kind
    row.copies = 1 if roles[COPY_PLACE] != NOWHERE else 0
    if row.copies == 1:
        row.then, row.then_kind = row.to, row.becoming
        row.to, row.becoming = roles[COPY_PLACE], roles[COPY_KIND]


@kernel(inner=True, borrows=True, rare=True)
def part_of(t: NetworkTables, customer: int, number: int, clock: float) -> int:
    """What a customer brings to one of the queues of a station that splits."""
    part = remember(t, NOWHERE)
    row, whole = t.customers[part], t.customers[customer]
    row.parent, row.kind, row.place, row.queue = customer, whole.kind, whole.place, whole.queue + number
    row.arrived, row.since, row.wait = clock, clock, 0.0
    row.need = draw(t, t.roles[whole.place, whole.kind, SERVING])
    row.work = row.need
    return part


@kernel(inner=True, borrows=True, rare=True)
def gather(t: NetworkTables, customer: int, clock: float) -> None:
    """Wait for the others; the last to come, or the clock, lets all go."""
    row = t.customers[customer]
    place, queue = t.places[row.place], t.queues[row.queue]
    row.key, row.order = 0.0, t.state[0].arrivals
    t.state[0].arrivals += 1
    line_up(queue, t.customers, customer)
    queue.present += 1
    waiting = queue.present - place.due
    if waiting >= place.gather:
        place.due += waiting
        mark(t, row.place)
        set_time(t.times, t.tree, row.queue, math.inf)
    elif waiting == 1:
        set_time(t.times, t.tree, row.queue, clock + place.after)


@kernel(inner=True, borrows=True)
def choose_queue(t: NetworkTables, to: int) -> int:
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
def join(t: NetworkTables, customer: int, clock: float) -> None:
    """Wait, be served at once, or interrupt somebody."""
    row = t.customers[customer]
    place, queue = t.places[row.place], t.queues[row.queue]
    tags, who = t.tags[row.queue], t.who[row.queue]
    advance(place, queue, t.speeds[row.place], clock)
    row.share = queue.share
    queue.present += 1
    take_number(t, customer)
    starting, waiting = customer, NOBODY
    if place.polling > 0:
        line_up(queue, t.customers, customer)
        if place.going == 2:
            set_out(t, row.queue, clock)
        elif place.going == 0:
            reschedule(t, row.queue)
        return
    if place.order == LEAST_SERVED:
        put_aside(queue, t.customers, tags, who)
    elif place.batch > 1 or (not place.sharing and queue.busy >= place.servers):
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
                queue.busy -= 1
    if waiting != NOBODY:
        line_up(queue, t.customers, waiting)
    if starting != NOBODY:
        serve(t, row.queue, starting, clock)
    if place.batch > 1:
        fill_server(t, row.queue, clock)
    reschedule(t, row.queue)


@kernel(inner=True, borrows=True)
def take_number(t: NetworkTables, customer: int) -> None:
    """Where it stands in the order of service: the smallest key goes first, of equal ones the earliest."""
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


@kernel(inner=True, borrows=True, rare=True)
def set_out(t: NetworkTables, queue: int, clock: float) -> None:
    """Somebody came while the server went round and found nobody: when will it be at the next class, and which?"""
    place = t.places[t.queues[queue].place]
    if place.round == 0:
        look_around(t, queue, clock, False)
        return
    idle = clock - place.going_since
    there = -idle + max(0, math.floor(idle / place.round) - LONG_AGO) * place.round
    while there < 0:
        there += to_next_class(t, t.queues[queue].place)
    place.going = 1
    set_time(t.times, t.tree, queue, clock + there)


@kernel(inner=True, borrows=True)
def to_next_class(t: NetworkTables, at: int) -> float:
    """The server sets out for the next class: how long it will walk."""
    place = t.places[at]
    place.at, place.visit = (place.at + 1) % t.roles.shape[1], 0
    turning = t.roles[at, place.at, TURNING]
    return draw(t, turning) if turning != NOWHERE else 0.0


@kernel(inner=True, borrows=True, rare=True)
def look_around(t: NetworkTables, queue: int, clock: float, arriving: bool) -> None:
    """A free server serves the next of the class where it is, if its visit allows; else it goes on."""
    row = t.queues[queue]
    place = t.places[row.place]
    while True:
        number, ahead = 0, -1
        customer = row.first
        for i in range(row.present - row.busy):
            if t.customers[customer].kind == place.at:
                ahead = i if ahead < 0 else ahead
                number += 1
            customer = t.customers[customer].next
        if arriving:
            place.visit = number if place.polling == GATED else 1 if place.polling == LIMITED else UNLIMITED
        if place.visit > 0 and ahead >= 0:
            place.going = 0
            place.visit -= 1
            serve(t, queue, call_up(row, t.customers, ahead), clock)
            reschedule(t, queue)
            return
        if row.present == row.busy:
            place.going, place.going_since = 2, clock
            set_time(t.times, t.tree, queue, math.inf)
            return
        step = to_next_class(t, row.place)
        if step > 0:
            place.going = 1
            set_time(t.times, t.tree, queue, clock + step)
            return
        arriving = True


@kernel(inner=True, borrows=True, rare=True)
def fill_server(t: NetworkTables, queue: int, clock: float) -> None:
    """A free server takes as many as go in at once, if enough of them wait; the first leads, the others ride along."""
    row = t.queues[queue]
    place = t.places[row.place]
    waiting = row.present - row.busy - row.riding
    if row.busy >= place.servers or waiting < place.least:
        return
    leader = call_up(row, t.customers, 0)
    serve(t, queue, leader, clock)
    ahead = leader
    for _ in range(min(place.batch, waiting) - 1):
        rider = call_up(row, t.customers, 0)
        own, first = t.customers[rider], t.customers[leader]
        own.wait += clock - own.since + first.work - first.need
        own.need, own.riding, own.server = first.need, 1, first.server
        t.customers[ahead].rider = rider
        row.riding += 1
        ahead = rider


@kernel(inner=True, borrows=True)
def leave_queue(t: NetworkTables, customer: int, clock: float) -> None:
    """Give its server up; the next one is called up."""
    here, chosen = t.customers[customer].place, t.customers[customer].queue
    place, queue = t.places[here], t.queues[chosen]
    advance(place, queue, t.speeds[here], clock)
    if place.remembers == 1:
        t.servers[chosen, t.customers[customer].server].customer = NOBODY
        t.servers[chosen, t.customers[customer].server].since = clock
    queue.present -= 1
    if t.customers[customer].riding == 1:
        t.customers[customer].riding = 0
        queue.riding -= 1
        return
    queue.busy -= 1
    if place.polling > 0:
        look_around(t, chosen, clock, False)
        return
    if place.order == LEAST_SERVED:
        serve_least_served(queue, t.customers, t.tags[chosen], t.who[chosen], clock)
    elif place.batch > 1:
        fill_server(t, chosen, clock)
    elif queue.first != NOBODY and queue.busy < place.servers:
        ahead = 0
        waiting = queue.present - queue.busy
        if place.order == RANDOM_ORDER and waiting > 1:
            ahead = min(math.floor(draw(t, place.order_stream) * waiting), waiting - 1)
        serve(t, chosen, call_up(queue, t.customers, ahead), clock)
    reschedule(t, chosen)


@kernel(inner=True, borrows=True)
def take_off(t: NetworkTables, customer: int, clock: float) -> None:
    """It leaves its station, where its stay is over."""
    row = t.customers[customer]
    here = row.place
    place, queue = t.places[here], t.queues[row.queue]
    response, wait, service = clock - row.arrived, row.wait, row.need
    if place.split == 1:
        service /= place.queues
        wait = response - service
    elif place.gather > 0:
        wait = response
        queue.present -= 1
    else:
        leave_queue(t, customer, clock)
        if place.sharing or place.order == LEAST_SERVED:
            if place.speeds > 0:
                service = queue.share - row.share
            wait = slowed(place, queue, row.arrived, response, service)
        elif place.speeds > 0 or row.held == AFTER_SERVICE:
            service = response - wait
        elif place.orbit == 1:
            wait, service = response, 0.0
    record_stay(t, here, row.kind, clock - place.last_departure, wait, service)
    place.last_departure = clock
    if not thinks(t, customer):
        row.total_wait += wait
        row.total_service += service
        t.state[0].present -= 1
    place.present -= 1
    mark(t, here)


@kernel(inner=True, borrows=True)
def go(t: NetworkTables, customer: int, to: int, kind: int, clock: float) -> None:
    """On to the next station, to a gate, or out; it has left the one before."""
    row = t.customers[customer]
    if to == NOWHERE:
        finish(t, customer, clock)
        forget(t, customer)
        return
    while True:
        region = t.places[to].region
        if region != row.region:
            leave_region(t, customer)
            if region != NOWHERE:
                wait_at_gate(t, customer, to, kind, clock)
                return
        if row.reserved == 1 or not full(t, to):
            enter(t, customer, to, kind, clock)
            return
        turn_away(t, to, kind)
        to = t.places[to].overflow
        if to == NOWHERE:
            lose(t, customer)
            return


@kernel(inner=True, borrows=True, rare=True)
def wait_at_gate(t: NetworkTables, customer: int, to: int, kind: int, clock: float) -> None:
    row, gate = t.customers[customer], t.regions[t.places[to].region]
    row.to, row.becoming, row.since = to, kind, clock
    t.state[0].present += 1
    row.next = NOBODY
    if gate.first == NOBODY:
        gate.first = customer
    else:
        t.customers[gate.last].next = customer
    gate.last = customer
    mark_gate(t, t.places[to].region)


@kernel(inner=True, borrows=True)
def depart(t: NetworkTables, customer: int, clock: float) -> None:
    """On to where it goes, or its copy there and it to where it goes then; it has left its station."""
    row = t.customers[customer]
    to, kind, moving, sender = row.to, row.becoming, customer, NOBODY
    if row.copies == 1:
        moving, sender = remember(t, NOWHERE), customer
        t.customers[moving].reserved, row.reserved = row.reserved, 0
    while moving != NOBODY:
        go(t, moving, to, kind, clock)
        moving, sender = sender, NOBODY
        to, kind = row.then, row.then_kind


@kernel(inner=True, borrows=True, rare=True)
def admit(t: NetworkTables, region: int, clock: float) -> bool:
    """Let the first at a gate in, if it can come in."""
    gate = t.regions[region]
    customer = gate.first
    if customer == NOBODY or gate.inside >= gate.capacity:
        return False
    row = t.customers[customer]
    to = row.to
    without_place = full(t, to)
    if without_place and t.places[to].when_full != LOST_THERE:
        return False
    gate.first = row.next
    if gate.first == NOBODY:
        gate.last = NOBODY
    t.state[0].present -= 1
    wait = clock - row.since
    row.total_wait += wait
    record_stay(t, t.places.size + region, row.becoming, clock - gate.last_admission, wait, 0.0)
    gate.last_admission = clock
    if without_place:
        turn_away(t, to, row.becoming)
        if t.places[to].overflow != NOWHERE:
            go(t, customer, t.places[to].overflow, row.becoming, clock)
            return True
        lose(t, customer)
        return True
    gate.inside += 1
    row.region = region
    enter(t, customer, to, row.becoming, clock)
    return True


@kernel(inner=True, borrows=True, rare=True)
def release(t: NetworkTables, place: int, clock: float) -> bool:
    """Let the first go who leaves with others, or give a free place to the first who is held for it."""
    if t.places[place].due > 0:
        t.places[place].due -= 1
        leaving = call_up(t.queues[t.places[place].first_queue], t.customers, 0)
    else:
        leaving = t.places[place].blocked_first
        if leaving == NOBODY or full(t, place):
            return False
        t.places[place].blocked_first = t.customers[leaving].next
        if t.customers[leaving].next == NOBODY:
            t.places[place].blocked_last = NOBODY
        if t.customers[leaving].held == BEFORE_SERVICE:
            row = t.customers[leaving]
            row.held = 0
            queue = row.queue
            advance(t.places[row.place], t.queues[queue], t.speeds[row.place], clock)
            reserve(t, leaving)
            t.queues[queue].busy -= 1
            begin(t, queue, leaving, clock)
            reschedule(t, queue)
            return True
    take_off(t, leaving, clock)
    depart(t, leaving, clock)
    return True


@kernel(inner=True, borrows=True, rare=True)
def settle(t: NetworkTables, clock: float) -> None:
    """Give away what became free, lowest place first, then the gates, until nobody can move."""
    while t.state[0].unsettled == 1:
        moved = False
        for place in range(t.places.size):
            if t.places[place].dirty == 1:
                if release(t, place, clock):
                    moved = True
                    break
                t.places[place].dirty = 0
        if moved:
            continue
        for region in range(t.regions.size):
            if t.regions[region].dirty == 1:
                if admit(t, region, clock):
                    moved = True
                    break
                t.regions[region].dirty = 0
        if not moved:
            t.state[0].unsettled = 0
