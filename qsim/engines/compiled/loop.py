"""The compiled event loop: any number of stations, queues and classes, described by small tables.

The next event of each queue (see :mod:`qsim.engines.compiled.queue_kernels`) and of each source is a leaf of a
tournament whose winner comes first; of events at the same time departures go before arrivals. The reference engine
(:mod:`qsim.engines.reference.engine`) has the same steps under the same names.

The loop runs until an output is full or a stream of variates runs low; the caller empties, refills and calls again.
"""

from __future__ import annotations

from qsim.engines.compiled.moves import depart, enter
from qsim.engines.compiled.queue_kernels import advance, heap_remove
from qsim.engines.compiled.steps import draw, remember
from qsim.engines.compiled.tables import Tables
from qsim.engines.compiled.tournament import set_time
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def complete(t: Tables, leaf: int, clock: float) -> None:
    """The first of a queue has been served."""
    queue = t.queues[leaf]
    advance(t.places[queue.place], queue, t.speeds[queue.place], clock)
    customer = t.who[leaf, 0]
    heap_remove(t.tags[leaf], t.who[leaf], queue.in_service, 0)
    queue.in_service -= 1
    depart(t, customer, clock)


@kernel(inner=True, borrows=True)
def come(t: Tables, entry: int, clock: float) -> None:
    """A new customer, from outside or to begin with; one that finds no place is lost."""
    to = t.entries[entry].place
    if t.places[to].present >= t.places[to].capacity:
        t.state[0].lost += 1
    else:
        enter(t, remember(t, entry), to, t.entries[entry].kind, clock)


@kernel(borrows=True)
def run_events(t: Tables) -> None:
    """Run until an output is full, a stream runs low, or rows for customers are needed.

    On return all times count from the clock.
    """
    state = t.state[0]
    clock = 0.0
    first_source = t.queues.size
    for entry in range(t.entries.size):
        while t.entries[entry].number > 0 and state.pause == 0:
            t.entries[entry].number -= 1
            come(t, entry, clock)
    while state.pause == 0 and (t.sources.size == 0 or state.spare > 0):
        leaf = t.tree[1]
        now = t.times[leaf]
        t.presence[min(state.present, t.presence.size - 1)] += now - clock
        clock = now
        if leaf < first_source:
            complete(t, leaf, clock)
        else:
            source = leaf - first_source
            set_time(t.times, t.tree, leaf, clock + draw(t, t.sources[source]))
            come(t, source, clock)
    _count_from(t, clock)


@kernel(inner=True, borrows=True, rare=True)
def _count_from(t: Tables, clock: float) -> None:
    """Move the origin of all times to the clock, so that digits are not lost in long runs."""
    t.state[0].last_finish -= clock
    for i in range(t.customers.size):
        t.customers[i].arrived -= clock
        t.customers[i].since -= clock
    for i in range(t.times.size):
        t.times[i] -= clock
    for i in range(t.places.size):
        t.places[i].last_departure -= clock
    for q in range(t.queues.size):
        queue = t.queues[q]
        origin = queue.progress if t.places[queue.place].varying else clock
        for i in range(queue.in_service):
            t.tags[q, i] -= origin
            t.customers[t.who[q, i]].share -= queue.share
        queue.seen -= clock
        queue.crowded -= clock
        queue.progress, queue.share = 0.0, 0.0
