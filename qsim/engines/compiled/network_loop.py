"""The compiled loop of networks: routes, limited places, regions.

As in :mod:`qsim.engines.compiled.event_loop` the next event of each queue and of each source is a leaf of a tournament.
A customer whose service ends goes where it decided to go when it came, unless no place is free there.  What its going
sets free (its place, its seat in a region) is then given away until nobody can move any more: :func:`_settle`.  The
reference engine (:mod:`qsim.engines.reference.network`) has the same steps under the same names.
"""

from __future__ import annotations

import math

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
    ROUND_ROBIN,
    SERVICE,
    SHORTEST,
    SHORTEST_JOB,
    WAIT,
)
from qsim.engines.compiled.network_tables import (
    AFTER,
    AFTER_SERVICE,
    BEFORE,
    BEFORE_SERVICE,
    FIRST_WAY,
    LOST_THERE,
    MARGIN,
    NEXT,
    SERVING,
    URGENCY,
    WAYS,
    NetworkTables,
)
from qsim.engines.compiled.queue_kernels import (
    advance,
    call_up,
    give_server,
    heap_add,
    heap_remove,
    least_urgent,
    line_up,
    next_finish,
)
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def _draw(t: NetworkTables, stream: int) -> float:
    """The next variate of a stream."""
    at = t.used[stream]
    if at == t.ends[stream]:
        t.state[0].overflow = 1
        at -= 1
    t.used[stream] = at + 1
    _pause_near(t, at, t.ends[stream])
    value: float = t.streams[stream, at]
    return value


@kernel(inner=True, borrows=True)
def _pause_near(t: NetworkTables, at: int, end: int) -> None:
    """Pause where the next event may come to the end of a buffer or an output."""
    if at + 1 + MARGIN > end:
        t.state[0].pause = 1


@kernel(inner=True, borrows=True)
def _full(t: NetworkTables, place: int) -> bool:
    full: bool = t.places[place].present >= t.places[place].capacity
    return full


@kernel(inner=True, borrows=True)
def _crosses(t: NetworkTables, customer: int, to: int) -> bool:
    """Whether the way there leads through a gate."""
    crosses: bool = t.places[to].region != NOWHERE and t.places[to].region != t.customers[customer].region
    return crosses


@kernel(inner=True, borrows=True)
def _must_ask(t: NetworkTables, customer: int) -> bool:
    """Whether it needs a place at the next station before it may leave this one."""
    row = t.customers[customer]
    if row.to in (NOWHERE, row.place) or row.reserved == 1 or _crosses(t, customer, row.to):
        return False
    asks: bool = t.places[row.to].when_full != LOST_THERE
    return asks


@kernel(inner=True, borrows=True)
def _reschedule(t: NetworkTables, queue: int) -> None:
    place = t.queues[queue].place
    finish = next_finish(t.places[place], t.queues[queue], t.speeds[place], t.tags[queue])
    set_time(t.times, t.tree, queue, finish)


@kernel(inner=True, borrows=True)
def _mark(t: NetworkTables, place: int) -> None:
    """Something may have become free here."""
    t.places[place].dirty = 1
    if t.places[place].region != NOWHERE:
        t.regions[t.places[place].region].dirty = 1


@kernel(inner=True, borrows=True)
def _leave_region(t: NetworkTables, customer: int) -> None:
    row = t.customers[customer]
    if row.region != NOWHERE:
        t.regions[row.region].inside -= 1
        t.regions[row.region].dirty = 1
        row.region = NOWHERE


@kernel(inner=True, borrows=True)
def _forget(t: NetworkTables, customer: int) -> None:
    _leave_region(t, customer)
    t.customers[customer].next = t.state[0].unused
    t.state[0].unused = customer


@kernel(inner=True, borrows=True)
def _finish(t: NetworkTables, customer: int, clock: float) -> None:
    """A passage or a cycle is over: one column of the outcome."""
    row, state = t.customers[customer], t.state[0]
    column = state.done
    if column == t.kinds.size:
        state.overflow = 1
        return
    t.outcome[GAP, column] = clock - state.last_finish
    t.outcome[WAIT, column] = row.total_wait
    t.outcome[SERVICE, column] = row.total_service
    t.outcome[LOST, column] = state.lost
    t.kinds[column] = t.entries[row.entry].stream
    row.total_wait, row.total_service = 0.0, 0.0
    state.lost = 0
    state.last_finish = clock
    state.done = column + 1
    _pause_near(t, column, t.kinds.size)


@kernel(inner=True, borrows=True)
def _record_stay(t: NetworkTables, part: int, gap: float, wait: float, service: float, lost: int) -> None:
    column = t.stayed[part]
    if column == t.stays.shape[2]:
        t.state[0].overflow = 1
        return
    t.stays[part, GAP, column] = gap
    t.stays[part, WAIT, column] = wait
    t.stays[part, SERVICE, column] = service
    t.stays[part, LOST, column] = lost
    t.stayed[part] = column + 1
    _pause_near(t, column, t.stays.shape[2])


@kernel(inner=True, borrows=True)
def _hold(t: NetworkTables, customer: int, how: int) -> None:
    """It stays on its server until the next station has a place."""
    row = t.customers[customer]
    row.held = how
    row.next = NOBODY
    ahead = t.places[row.to]
    if ahead.blocked_first == NOBODY:
        ahead.blocked_first = customer
    else:
        t.customers[ahead.blocked_last].next = customer
    ahead.blocked_last = customer
    _look_for_deadlock_at(t, row.place)


@kernel(inner=True, borrows=True)
def _look_for_deadlock_at(t: NetworkTables, place: int) -> None:
    """Something was held at this station, which may have closed a circle."""
    if _full(t, place):
        _look_for_deadlock(t)


@kernel(inner=True, borrows=True)
def _look_for_deadlock(t: NetworkTables) -> None:
    """Full stations stay stuck where everyone on a server waits for another of them; pause if any are left."""
    for i in range(t.places.size):
        t.places[i].stuck = 1 if _full(t, i) and t.places[i].reserved == 0 else 0
    changed = True
    while changed:
        changed = False
        for q in range(t.queues.size):
            for at in range(t.queues[q].in_service):
                changed |= _set_free(t, t.who[q, at])
        for j in range(t.places.size):
            waiting = t.places[j].blocked_first
            while waiting != NOBODY:
                changed |= _set_free(t, waiting)
                waiting = t.customers[waiting].next
    if t.places["stuck"].any():
        t.state[0].deadlock = 1
        t.state[0].pause = 1


@kernel(inner=True, borrows=True)
def _set_free(t: NetworkTables, customer: int) -> bool:
    """Its station is not stuck after all, unless it waits for one that is; whether that was news."""
    row = t.customers[customer]
    here = t.places[row.place]
    if here.stuck == 0:
        return False
    if _must_ask(t, customer) and t.places[row.to].stuck == 1:
        here.waits_for = row.to
        return False
    here.stuck = 0
    return True


@kernel(inner=True, borrows=True)
def _serve(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """A server turns to it, and begins unless a place must be reserved that is not free."""
    row = t.customers[customer]
    if row.to != NOWHERE and t.places[row.to].when_full == BEFORE and _must_ask(t, customer):
        if _full(t, row.to):
            t.queues[queue].busy += 1
            _hold(t, customer, BEFORE_SERVICE)
            return
        _reserve(t, customer)
    give_server(t.queues[queue], t.customers, customer, t.tags[queue], t.who[queue], clock)


@kernel(inner=True, borrows=True)
def _reserve(t: NetworkTables, customer: int) -> None:
    row = t.customers[customer]
    row.reserved = 1
    t.places[row.to].present += 1
    t.places[row.to].reserved += 1


@kernel(inner=True, borrows=True)
def _enter(t: NetworkTables, customer: int, to: int, kind: int, clock: float) -> None:
    """Come to a station that has a place for it."""
    row, place = t.customers[customer], t.places[to]
    had_reserved = row.reserved == 1
    if had_reserved:
        row.reserved = 0
        place.reserved -= 1
    else:
        place.present += 1
    if t.entries[row.entry].home == to:
        if row.cycling == 1:
            _finish(t, customer, clock)
        row.cycling = 1
    row.kind, row.place, row.region, row.held = kind, to, place.region, 0
    row.arrived, row.since, row.wait = clock, clock, 0.0
    row.need = _draw(t, t.roles[to, kind, SERVING])
    row.work = row.need
    row.queue = _choose_queue(t, to)
    way = t.roles[to, kind, FIRST_WAY]
    if t.roles[to, kind, WAYS] > 1:
        u = _draw(t, t.roles[to, kind, NEXT])
        while u >= t.ways[way].upto:
            way += 1
    row.to, row.becoming = t.ways[way].place, t.ways[way].kind
    if not _thinks(t, customer):
        t.state[0].present += 1
    _join(t, customer, clock)
    if had_reserved:
        _look_for_deadlock_at(t, to)


@kernel(inner=True, borrows=True)
def _thinks(t: NetworkTables, customer: int) -> bool:
    """Whether its time at this station is think time."""
    row = t.customers[customer]
    thinks: bool = t.entries[row.entry].home == row.place and t.places[row.place].thinking == 1
    return thinks


@kernel(inner=True, borrows=True)
def _choose_queue(t: NetworkTables, to: int) -> int:
    """The queue that the arriving customer joins."""
    place = t.places[to]
    chosen: int = place.first_queue
    if place.routing == RANDOM:
        chosen += min(math.floor(_draw(t, place.route_stream) * place.queues), place.queues - 1)
    elif place.routing == ROUND_ROBIN:
        chosen += place.turn
        place.turn = (place.turn + 1) % place.queues
    elif place.routing == SHORTEST:
        for other in range(place.first_queue + 1, place.first_queue + place.queues):
            if t.queues[other].present < t.queues[chosen].present:
                chosen = other
    return chosen


@kernel(inner=True, borrows=True)
def _join(t: NetworkTables, customer: int, clock: float) -> None:
    """Wait, be served at once, or interrupt somebody."""
    row = t.customers[customer]
    place, queue = t.places[row.place], t.queues[row.queue]
    tags, who = t.tags[row.queue], t.who[row.queue]
    advance(place, queue, t.speeds[row.place], clock)
    row.share, row.order = queue.share, t.state[0].arrivals
    t.state[0].arrivals += 1
    queue.present += 1
    row.key = 0.0
    if place.order == SHORTEST_JOB:
        row.key = row.need
    elif place.order == LAST_COME:
        row.key = -float(row.order)
    elif place.order == MOST_URGENT:
        row.key = float(t.roles[row.place, row.kind, URGENCY])
    starting, waiting = customer, NOBODY
    if not place.sharing and queue.busy >= place.servers:
        starting, waiting = NOBODY, customer
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
        _serve(t, row.queue, starting, clock)
    _reschedule(t, row.queue)


@kernel(inner=True, borrows=True)
def _take_off(t: NetworkTables, customer: int, clock: float) -> None:
    """It leaves its station; the next one there is called up."""
    row = t.customers[customer]
    here, chosen = row.place, row.queue
    place, queue = t.places[here], t.queues[chosen]
    advance(place, queue, t.speeds[here], clock)
    response, wait, service = clock - row.arrived, row.wait, row.need
    if place.sharing:
        if place.speeds > 0:
            service = queue.share - row.share
        wait = response - service
        if wait < 1e-9 * response:  # never shared, rounding apart
            wait = 0.0
    elif place.speeds > 0 or row.held == AFTER_SERVICE:
        service = response - wait
    _record_stay(t, here, clock - place.last_departure, wait, service, place.lost)
    place.lost = 0
    place.last_departure = clock
    if not _thinks(t, customer):
        row.total_wait += wait
        row.total_service += service
        t.state[0].present -= 1
    place.present -= 1
    queue.present -= 1
    queue.busy -= 1
    if queue.first != NOBODY and queue.busy < place.servers:
        ahead = 0
        waiting = queue.present - queue.busy
        if place.order == RANDOM_ORDER and waiting > 1:
            ahead = min(math.floor(_draw(t, place.order_stream) * waiting), waiting - 1)
        _serve(t, chosen, call_up(queue, t.customers, ahead), clock)
    _reschedule(t, chosen)
    _mark(t, here)


@kernel(inner=True, borrows=True)
def _go(t: NetworkTables, customer: int, to: int, kind: int, clock: float) -> None:
    """On to the next station, to a gate, or out; it has left the one before."""
    row = t.customers[customer]
    if to == NOWHERE:
        _finish(t, customer, clock)
        _forget(t, customer)
        return
    region = t.places[to].region
    if region != row.region:
        _leave_region(t, customer)
        if region != NOWHERE:
            row.to, row.becoming, row.since = to, kind, clock
            t.state[0].present += 1
            row.next = NOBODY
            if t.regions[region].first == NOBODY:
                t.regions[region].first = customer
            else:
                t.customers[t.regions[region].last].next = customer
            t.regions[region].last = customer
            t.regions[region].dirty = 1
            return
    if row.reserved == 0 and _full(t, to):
        _lose(t, customer, to)
    else:
        _enter(t, customer, to, kind, clock)


@kernel(inner=True, borrows=True)
def _lose(t: NetworkTables, customer: int, to: int) -> None:
    t.places[to].lost += 1
    t.state[0].lost += 1
    _forget(t, customer)


@kernel(inner=True, borrows=True)
def _admit(t: NetworkTables, region: int, clock: float) -> bool:
    """Let the first at a gate in, if it can come in."""
    gate = t.regions[region]
    customer = gate.first
    if customer == NOBODY or gate.inside >= gate.capacity:
        return False
    row = t.customers[customer]
    to = row.to
    full = _full(t, to)
    if full and t.places[to].when_full != LOST_THERE:
        return False
    gate.first = row.next
    if gate.first == NOBODY:
        gate.last = NOBODY
    t.state[0].present -= 1
    wait = clock - row.since
    row.total_wait += wait
    _record_stay(t, t.places.size + region, clock - gate.last_admission, wait, 0.0, 0)
    gate.last_admission = clock
    if full:
        _lose(t, customer, to)
        return True
    gate.inside += 1
    row.region = region
    _enter(t, customer, to, row.becoming, clock)
    return True


@kernel(inner=True, borrows=True)
def _release(t: NetworkTables, place: int, clock: float) -> bool:
    """Give a free place to the first who is held for it."""
    customer = t.places[place].blocked_first
    if customer == NOBODY or _full(t, place):
        return False
    row = t.customers[customer]
    t.places[place].blocked_first = row.next
    if row.next == NOBODY:
        t.places[place].blocked_last = NOBODY
    if row.held == AFTER_SERVICE:
        _take_off(t, customer, clock)
        _go(t, customer, place, row.becoming, clock)
    else:
        row.held = 0
        queue = row.queue
        advance(t.places[row.place], t.queues[queue], t.speeds[row.place], clock)
        _reserve(t, customer)
        t.queues[queue].busy -= 1
        give_server(t.queues[queue], t.customers, customer, t.tags[queue], t.who[queue], clock)
        _reschedule(t, queue)
    return True


@kernel(inner=True, borrows=True)
def _settle(t: NetworkTables, clock: float) -> None:
    """Give away what became free, lowest place first, then the gates, until nobody can move."""
    while True:
        moved = False
        for place in range(t.places.size):
            if t.places[place].dirty == 1:
                if _release(t, place, clock):
                    moved = True
                    break
                t.places[place].dirty = 0
        if moved:
            continue
        for region in range(t.regions.size):
            if t.regions[region].dirty == 1:
                if _admit(t, region, clock):
                    moved = True
                    break
                t.regions[region].dirty = 0
        if not moved:
            return


@kernel(inner=True, borrows=True)
def _complete(t: NetworkTables, leaf: int, clock: float) -> None:
    """The first of a queue has been served."""
    queue = t.queues[leaf]
    place = t.places[queue.place]
    advance(place, queue, t.speeds[queue.place], clock)
    customer = t.who[leaf, 0]
    heap_remove(t.tags[leaf], t.who[leaf], queue.in_service, 0)
    queue.in_service -= 1
    row = t.customers[customer]
    if _must_ask(t, customer) and _full(t, row.to):
        if t.places[row.to].when_full == AFTER:
            _hold(t, customer, AFTER_SERVICE)
        else:
            row.work = _draw(t, t.roles[row.place, row.kind, SERVING])
            row.need += row.work
            heap_add(t.tags[leaf], t.who[leaf], queue.in_service, queue.progress + row.work, customer)
            queue.in_service += 1
            _look_for_deadlock_at(t, row.place)
        _reschedule(t, leaf)
        return
    to, kind = row.to, row.becoming
    _take_off(t, customer, clock)
    _go(t, customer, to, kind, clock)


@kernel(inner=True, borrows=True)
def _come(t: NetworkTables, entry: int, clock: float) -> None:
    """A new customer, from outside or to begin with."""
    customer = t.state[0].unused
    row = t.customers[customer]
    t.state[0].unused = row.next
    row.entry, row.total_wait, row.total_service = entry, 0.0, 0.0
    row.region, row.reserved, row.held, row.cycling, row.place = NOWHERE, 0, 0, 0, NOWHERE
    _go(t, customer, t.entries[entry].place, t.entries[entry].kind, clock)


@kernel(borrows=True)
def run_network(t: NetworkTables) -> None:
    """Run until an output is full, a stream runs low, rows for customers are needed, or stations are deadlocked.

    On return all times count from the clock.
    """
    state = t.state[0]
    clock = state.clock
    first_source = t.queues.size
    for entry in range(t.entries.size):
        while t.entries[entry].number > 0 and state.pause == 0:
            t.entries[entry].number -= 1
            _come(t, entry, clock)
            _settle(t, clock)
    while state.pause == 0 and (t.sources.size == 0 or state.unused != NOBODY):
        leaf = t.tree[1]
        now = t.times[leaf]
        if now == math.inf:
            _look_for_deadlock(t)
            break
        t.presence[min(state.present, t.presence.size - 1)] += now - clock
        clock = now
        if leaf < first_source:
            _complete(t, leaf, clock)
        else:
            source = leaf - first_source
            set_time(t.times, t.tree, leaf, clock + _draw(t, t.sources[source]))
            _come(t, source, clock)
        _settle(t, clock)
    _count_from(t, clock)


@kernel(inner=True, borrows=True)
def _count_from(t: NetworkTables, clock: float) -> None:
    """Move the origin of all times to the clock, so that digits are not lost in long runs."""
    t.state[0].last_finish -= clock
    t.state[0].clock = 0.0
    for i in range(t.customers.size):
        t.customers[i].arrived -= clock
        t.customers[i].since -= clock
    for i in range(t.times.size):
        t.times[i] -= clock
    for i in range(t.places.size):
        t.places[i].last_departure -= clock
    for i in range(t.regions.size):
        t.regions[i].last_admission -= clock
    for q in range(t.queues.size):
        queue = t.queues[q]
        origin = queue.progress if t.places[queue.place].varying else clock
        for i in range(queue.in_service):
            t.tags[q, i] -= origin
            t.customers[t.who[q, i]].share -= queue.share
        queue.seen -= clock
        queue.progress, queue.share = 0.0, 0.0
