"""Servers that are not all alike and always ready: which one takes a customer, and what it does before."""

from __future__ import annotations

from qsim.engines.compiled.event_tables import NOBODY, NOWHERE
from qsim.engines.compiled.network_steps import draw
from qsim.engines.compiled.network_tables import TURNING, WAKING, NetworkTables
from qsim.engines.compiled.queue_kernels import give_server
from qsim.engines.jit import kernel


@kernel(inner=True, borrows=True)
def begin(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """Begin its service, at one server of many or at the one that is best."""
    if t.places[t.customers[customer].place].remembers == 1:
        _make_ready(t, queue, customer, clock)
    give_server(t.queues[queue], t.customers, customer, t.tags[queue], t.who[queue], clock)


@kernel(inner=True, borrows=True)
def _make_ready(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """Of the idle servers the fastest, and of those the last that fell idle; it wakes up, and turns to the class."""
    row = t.customers[customer]
    place, servers = t.places[row.place], t.servers[queue]
    best = NOWHERE
    for s in range(place.servers):
        if servers[s].customer == NOBODY and (
            best == NOWHERE
            or servers[s].pace > servers[best].pace
            or (servers[s].pace == servers[best].pace and servers[s].since > servers[best].since)
        ):
            best = s
    server = servers[best]
    before = 0.0
    waking, turning = t.roles[row.place, row.kind, WAKING], t.roles[row.place, row.kind, TURNING]
    if waking != NOWHERE and clock - server.since > place.off_after:
        before += draw(t, waking)
    if turning != NOWHERE and server.kind not in (NOWHERE, row.kind):
        before += draw(t, turning)
    row.need /= server.pace
    row.work = before + row.need
    row.wait += before
    row.server, server.customer, server.kind = best, customer, row.kind
