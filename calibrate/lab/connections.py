"""Connections that cannot be held open: a request has a time limit, and an address and the lab a number of connections.

waitress reads a request completely before a thread takes it, so slow senders hold no thread; but it stops accepting at
its limit of connections and waits for minutes. Here a request that is not complete in time is dropped, and a new
connection beyond a limit takes the place of the one that has been silent for the longest time.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from waitress.channel import HTTPChannel

REQUEST_S = 10.0
"""The time for headers and body together: requests of the page have a few kilobytes."""
MOST_HALF_OPEN = 128
"""Connections of one address without a complete request."""
MOST_OPEN = 900
"""Connections of all addresses; a process may usually open 1,024 files."""


class TimedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that knows since when its request has been incomplete."""

    waiting_since: float | None = None

    def __init__(self, server: Any, sock: Any, addr: tuple[str, int], adj: Any, map: Any = None) -> None:  # noqa: A002
        """Makes room for itself."""
        super().__init__(server, sock, addr, adj, map=map)
        self.waiting_since = time.monotonic()
        make_room(list(server.active_channels.values()), addr[0])

    def received(self, data: bytes) -> bool:
        """The next part of a request."""
        taken = bool(super().received(data))
        if self.request is None:
            self.waiting_since = None
        elif self.waiting_since is None:
            self.waiting_since = time.monotonic()
        return taken

    def readable(self) -> bool:
        """Asked in each round of the server's loop."""
        if self.waiting_since is not None and time.monotonic() - self.waiting_since > REQUEST_S:
            self.will_close = True
        return bool(super().readable())

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        return not self.requests and not self.total_outbufs_len and not self.will_close


def make_room(channels: list[TimedChannel], address: str) -> None:
    """Drop the longest silent connection where a new one of ``address`` is beyond a limit."""
    half_open = [c for c in channels if c.addr[0] == address and c.waiting_since is not None and not c.will_close]
    if len(half_open) > MOST_HALF_OPEN:
        min(half_open, key=lambda c: c.last_activity).will_close = True
    idle = [c for c in channels if c.is_idle]
    if len(channels) > MOST_OPEN and idle:
        open_of = Counter(c.addr[0] for c in idle)
        min(idle, key=lambda c: (-open_of[c.addr[0]], c.last_activity)).will_close = True
