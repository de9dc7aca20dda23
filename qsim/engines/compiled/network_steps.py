"""Small steps that the compiled loop of networks is made of."""

from __future__ import annotations

from qsim.engines.compiled.closed_loop import set_time
from qsim.engines.compiled.event_tables import GAP, KIND, LOST, LOST_OF_KIND, NOBODY, NOWHERE, SERVICE, WAIT
from qsim.engines.compiled.network_tables import LOST_THERE, MARGIN, NetworkTables
from qsim.engines.compiled.queue_kernels import next_finish
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def draw(t: NetworkTables, stream: int) -> float:
    """The next variate of a stream."""
    at = room(t, t.used[stream], t.ends[stream])
    t.used[stream] = at + 1
    value: float = t.streams[stream, at]
    return value


@kernel(inner=True, borrows=True)
def room(t: NetworkTables, at: int, end: int) -> int:
    """``at``, before the end of a buffer or an output; pause where the next event may come to the end of it."""
    if at + MARGIN >= end:
        t.state[0].pause = 1
        if at == end:
            t.state[0].overflow = 1
            return at - 1
    return at


@kernel(inner=True, borrows=True)
def full(t: NetworkTables, place: int) -> bool:
    full: bool = t.places[place].present >= t.places[place].capacity
    return full


@kernel(inner=True, borrows=True)
def crosses(t: NetworkTables, customer: int, to: int) -> bool:
    """Whether the way there leads through a gate."""
    crosses: bool = t.places[to].region != NOWHERE and t.places[to].region != t.customers[customer].region
    return crosses


@kernel(inner=True, borrows=True)
def must_ask(t: NetworkTables, customer: int) -> bool:
    """Whether it needs a place at the next station before it may leave this one."""
    row = t.customers[customer]
    if row.to in (NOWHERE, row.place) or row.reserved == 1 or crosses(t, customer, row.to):
        return False
    asks: bool = t.places[row.to].when_full != LOST_THERE
    return asks


@kernel(inner=True, borrows=True)
def reschedule(t: NetworkTables, queue: int) -> None:
    place = t.queues[queue].place
    finish = next_finish(t.places[place], t.queues[queue], t.speeds[place], t.tags[queue])
    if finish != t.times[queue]:
        set_time(t.times, t.tree, queue, finish)


@kernel(inner=True, borrows=True)
def mark(t: NetworkTables, place: int) -> None:
    """Something became free here: settle with those who wait for it."""
    here = t.places[place]
    if here.blocked_first != NOBODY or here.due > 0:
        here.dirty = t.state[0].unsettled = 1
    if here.region != NOWHERE:
        mark_gate(t, here.region)


@kernel(inner=True, borrows=True)
def mark_gate(t: NetworkTables, region: int) -> None:
    """As :func:`mark` at the gate of a region."""
    if t.regions[region].first != NOBODY:
        t.regions[region].dirty = t.state[0].unsettled = 1


@kernel(inner=True, borrows=True)
def leave_region(t: NetworkTables, customer: int) -> None:
    row = t.customers[customer]
    if row.region != NOWHERE:
        t.regions[row.region].inside -= 1
        mark_gate(t, row.region)
        row.region = NOWHERE


@kernel(inner=True, borrows=True)
def forget(t: NetworkTables, customer: int) -> None:
    leave_region(t, customer)
    t.customers[customer].next = t.state[0].unused
    t.state[0].unused = customer
    t.state[0].spare += 1


@kernel(inner=True, borrows=True)
def remember(t: NetworkTables, entry: int) -> int:
    """A row for a new customer: from an entry, or a part or a copy of another."""
    customer: int = t.state[0].unused
    row = t.customers[customer]
    t.state[0].unused = row.next
    t.state[0].spare -= 1
    row.entry, row.total_wait, row.total_service = entry, 0.0, 0.0
    row.region, row.reserved, row.held, row.cycling, row.place = NOWHERE, 0, 0, 0, NOWHERE
    row.parent, row.copies, row.to = NOBODY, 0, NOWHERE
    row.rider, row.riding = NOBODY, 0
    return customer


@kernel(inner=True, borrows=True)
def finish(t: NetworkTables, customer: int, clock: float) -> None:
    """A passage or a cycle is over: one column of the outcome."""
    row, state = t.customers[customer], t.state[0]
    if row.entry == NOWHERE:
        return
    column = room(t, state.done, t.kinds.size)
    t.outcome[GAP, column] = clock - state.last_finish
    t.outcome[WAIT, column] = row.total_wait
    t.outcome[SERVICE, column] = row.total_service
    t.outcome[LOST, column] = state.lost
    stream = t.entries[row.entry].stream
    t.kinds[column] = stream
    if t.lost_of.size > 1:
        t.outcome[LOST_OF_KIND, column] = t.lost_of[stream]
        t.lost_of[stream] = 0
    row.total_wait, row.total_service = 0.0, 0.0
    state.lost = 0
    state.last_finish = clock
    state.done = column + 1


@kernel(inner=True, borrows=True)
def record_stay(t: NetworkTables, part: int, kind: int, gap: float, wait: float, service: float) -> None:
    column = room(t, t.stayed[part], t.stays.shape[2])
    t.stays[part, GAP, column] = gap
    t.stays[part, WAIT, column] = wait
    t.stays[part, SERVICE, column] = service
    t.stays[part, KIND, column] = kind
    t.stayed[part] = column + 1


@kernel(inner=True, borrows=True, rare=True)
def turn_away(t: NetworkTables, to: int, kind: int) -> None:
    """A customer finds no place there."""
    record_stay(t, to, kind, 0.0, 0.0, -1.0)


@kernel(inner=True, borrows=True, rare=True)
def lose(t: NetworkTables, customer: int) -> None:
    """A customer that found no place is gone."""
    entry = t.customers[customer].entry
    t.state[0].lost += 1
    if entry != NOWHERE:
        t.lost_of[t.entries[entry].stream] += 1
    forget(t, customer)


@kernel(inner=True, borrows=True)
def thinks(t: NetworkTables, customer: int) -> bool:
    """Whether its time at this station is think time, or a copy's, that nobody waits for."""
    row = t.customers[customer]
    if row.entry == NOWHERE:
        return True
    thinks: bool = t.entries[row.entry].home == row.place and t.places[row.place].thinking == 1
    return thinks
