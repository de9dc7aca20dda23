"""Servers that are not all alike and always ready: which one takes a customer, and what it does before."""

from __future__ import annotations

import math

from qsim.engines.compiled.event_tables import NOBODY, NOWHERE
from qsim.engines.compiled.network_steps import draw
from qsim.engines.compiled.network_tables import TURNING, WAKING, NetworkTables
from qsim.engines.compiled.queue_kernels import give_server
from qsim.engines.jit import kernel
from qsim.engines.network_plan import LONG_AGO


@kernel(inner=True, borrows=True)
def begin(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """Begin its service, at one server of many or at the one that is best."""
    if t.places[t.customers[customer].place].remembers == 1:
        _make_ready(t, queue, customer, clock)
    give_server(t.queues[queue], t.customers, customer, t.tags[queue], t.who[queue], clock)


@kernel(inner=True, borrows=True, rare=True)
def _make_ready(t: NetworkTables, queue: int, customer: int, clock: float) -> None:
    """Of the idle servers the fastest, and of those the last that fell idle; it comes back, wakes up, and turns."""
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
    if turning != NOWHERE and place.polling == 0 and server.kind not in (NOWHERE, row.kind):
        before += draw(t, turning)
    if place.vacation != NOWHERE and clock > server.since > -math.inf:
        before += _away(t, row.place, clock - server.since)
    row.need /= server.pace
    before += repairs(t, row.place, queue, best, row.need)
    row.work = before + row.need
    row.wait += before
    row.server, server.customer, server.kind = best, customer, row.kind


@kernel(inner=True, borrows=True)
def _away(t: NetworkTables, at: int, idle: float) -> float:
    """The rest of the vacation that a server is on; whole means of a long idle time are left out."""
    place = t.places[at]
    skipped = max(0, math.floor(idle / place.away) - LONG_AGO) * place.away
    back = -idle + skipped + draw(t, place.vacation)
    while back < 0 and place.single == 0:
        back += draw(t, place.vacation)
    rest: float = max(back, 0.0)
    return rest


@kernel(inner=True, borrows=True, rare=True)
def repairs(t: NetworkTables, at: int, queue: int, which: int, work: float) -> float:
    """How long a server is down while it does this work."""
    place, server = t.places[at], t.servers[queue, which]
    down = 0.0
    if place.uptime != NOWHERE:
        if math.isnan(server.left):
            server.left = draw(t, place.uptime)
        while work > server.left:
            work -= server.left
            down += draw(t, place.repair)
            server.left = draw(t, place.uptime)
        server.left -= work
    return down
