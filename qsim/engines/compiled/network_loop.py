"""The compiled loop of networks: routes, limited places, regions, and servers as devices have them.

As in :mod:`qsim.engines.compiled.event_loop` the next event of each queue and of each source is a leaf of a tournament.
A customer whose service ends goes where it decided to go when it came, unless no place is free there.  What its going
sets free (its place, its seat in a region) is then given away until nobody can move any more:
:func:`~qsim.engines.compiled.network_moves.settle`.  The reference engine (:mod:`qsim.engines.reference.network`) has
the same steps under the same names.
"""

from __future__ import annotations

import math

from qsim.engines.compiled.closed_loop import set_time
from qsim.engines.compiled.event_tables import LEAST_SERVED, NOBODY
from qsim.engines.compiled.network_holding import hold, look_for_deadlock, look_for_deadlock_at
from qsim.engines.compiled.network_moves import depart, go, leave_queue, look_around, settle, take_off
from qsim.engines.compiled.network_servers import repairs
from qsim.engines.compiled.network_steps import draw, forget, full, mark, must_ask, remember, reschedule
from qsim.engines.compiled.network_tables import AFTER, AFTER_SERVICE, SERVING, NetworkTables
from qsim.engines.compiled.queue_kernels import advance, heap_add, heap_remove, serve_least_served
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def complete(t: NetworkTables, leaf: int, clock: float) -> None:
    """The first of a queue has been served, or those who gathered have waited enough."""
    queue = t.queues[leaf]
    place = t.places[queue.place]
    if place.gather > 0:
        place.due = queue.present
        mark(t, queue.place)
        set_time(t.times, t.tree, leaf, math.inf)
        return
    advance(place, queue, t.speeds[queue.place], clock)
    if place.going == 1:
        look_around(t, leaf, clock, True)
        return
    if place.order == LEAST_SERVED and queue.catch_up <= t.tags[leaf, 0]:
        queue.progress = queue.catch_up
        serve_least_served(queue, t.customers, t.tags[leaf], t.who[leaf], clock)
        reschedule(t, leaf)
        return
    customer = t.who[leaf, 0]
    heap_remove(t.tags[leaf], t.who[leaf], queue.in_service, 0)
    queue.in_service -= 1
    row = t.customers[customer]
    if must_ask(t, customer) and full(t, row.to):
        if t.places[row.to].when_full == AFTER:
            hold(t, customer, AFTER_SERVICE)
        else:
            row.work = draw(t, t.roles[row.place, row.kind, SERVING])
            if place.remembers == 1:
                row.work /= t.servers[leaf, row.server].pace
                down = repairs(t, row.place, leaf, row.server, row.work)
                row.need -= down  # no service
                row.wait += down
                row.work += down
            row.need += row.work
            heap_add(t.tags[leaf], t.who[leaf], queue.in_service, queue.progress + row.work, customer)
            queue.in_service += 1
            look_for_deadlock_at(t, row.place)
        reschedule(t, leaf)
        return
    if row.parent != NOBODY:
        whole, need = row.parent, row.need
        leave_queue(t, customer, clock)
        forget(t, customer)
        customer = whole
        t.customers[customer].need += need
        t.customers[customer].parts -= 1
        if t.customers[customer].parts > 0:
            return
    while customer != NOBODY:
        following = t.customers[customer].rider
        t.customers[customer].rider = NOBODY
        take_off(t, customer, clock)
        depart(t, customer, clock)
        customer = following


@kernel(inner=True, borrows=True)
def come(t: NetworkTables, entry: int, clock: float) -> None:
    """A new customer, from outside or to begin with."""
    customer = remember(t, entry)
    go(t, customer, t.entries[entry].place, t.entries[entry].kind, clock)


@kernel(borrows=True)
def run_network(t: NetworkTables) -> None:
    """Run until an output is full, a stream runs low, rows for customers are needed, or stations are deadlocked.

    On return all times count from the clock.
    """
    state = t.state[0]
    clock = state.clock
    first_source = t.queues.size
    for entry in range(t.entries.size):
        while t.entries[entry].number > 0 and state.pause == 0 and state.spare >= state.needed:
            t.entries[entry].number -= 1
            come(t, entry, clock)
            settle(t, clock)
    while state.pause == 0 and state.spare >= state.needed:
        leaf = t.tree[1]
        now = t.times[leaf]
        if now == math.inf:
            look_for_deadlock(t)
            break
        t.presence[min(state.present, t.presence.size - 1)] += now - clock
        clock = now
        if leaf < first_source:
            complete(t, leaf, clock)
        else:
            source = leaf - first_source
            set_time(t.times, t.tree, leaf, clock + draw(t, t.sources[source]))
            come(t, source, clock)
        if state.unsettled == 1:
            settle(t, clock)
    _count_from(t, clock)


@kernel(inner=True, borrows=True, rare=True)
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
        t.places[i].going_since -= clock
    for i in range(t.regions.size):
        t.regions[i].last_admission -= clock
    for q in range(t.queues.size):
        queue = t.queues[q]
        place = t.places[queue.place]
        least = place.order == LEAST_SERVED  # whose progress counts from when each began
        origin = 0.0 if least else queue.progress if place.varying else clock
        for i in range(queue.in_service):
            t.tags[q, i] -= origin
            t.customers[t.who[q, i]].share -= queue.share
        for i in range(t.servers.shape[1]):
            t.servers[q, i].since -= clock
        queue.seen -= clock
        queue.crowded -= clock
        queue.progress, queue.share = queue.progress if least else 0.0, 0.0
