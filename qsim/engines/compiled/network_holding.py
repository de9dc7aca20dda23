"""Customers that are held where they are until there is a place; and circles of stations that hold each other."""

from __future__ import annotations

from qsim.engines.compiled.event_tables import NOBODY
from qsim.engines.compiled.network_steps import full, must_ask
from qsim.engines.compiled.network_tables import NetworkTables
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True, rare=True)
def hold(t: NetworkTables, customer: int, how: int) -> None:
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
    look_for_deadlock_at(t, row.place)


@kernel(inner=True, borrows=True, rare=True)
def look_for_deadlock_at(t: NetworkTables, place: int) -> None:
    """Something was held at this station, which may have closed a circle."""
    if full(t, place):
        look_for_deadlock(t)


@kernel(inner=True, borrows=True, rare=True)
def look_for_deadlock(t: NetworkTables) -> None:
    """Full stations stay stuck where everyone on a server waits for another of them; pause if any are left."""
    for i in range(t.places.size):
        t.places[i].stuck = 1 if full(t, i) and t.places[i].reserved == 0 else 0
    changed = True
    while changed:
        changed = False
        for q in range(t.queues.size):
            for at in range(t.queues[q].in_service):
                changed |= set_free(t, t.who[q, at])
        for j in range(t.places.size):
            waiting = t.places[j].blocked_first
            while waiting != NOBODY:
                changed |= set_free(t, waiting)
                waiting = t.customers[waiting].next
    if t.places["stuck"].any():
        t.state[0].deadlock = 1
        t.state[0].pause = 1


@kernel(inner=True, borrows=True)
def set_free(t: NetworkTables, customer: int) -> bool:
    """Its station is not stuck after all, unless it waits for one that is; whether that was news."""
    row = t.customers[customer]
    here = t.places[row.place]
    if here.stuck == 0:
        return False
    if must_ask(t, customer) and t.places[row.to].stuck == 1:
        here.waits_for = row.to
        return False
    here.stuck = 0
    return True


@kernel(inner=True, borrows=True)
def reserve(t: NetworkTables, customer: int) -> None:
    row = t.customers[customer]
    row.reserved = 1
    t.places[row.to].present += 1
    t.places[row.to].reserved += 1
