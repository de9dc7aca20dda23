"""A customer of the reference engine."""

from __future__ import annotations

from dataclasses import dataclass

import simpy


@dataclass(eq=False)
class Customer:
    """A customer; what happens to it at the present station, and in all."""

    kind: int
    arrived: float = 0.0
    number: int = 0
    service_time: float = 0.0
    think_time: float = 0.0
    wait: float = 0.0
    service: float = 0.0
    total_wait: float = 0.0
    total_service: float = 0.0
    # Where the work left is tracked (work_queue.py).
    key: tuple[float, int] = (0.0, 0)
    work: float = 0.0
    share: float = 0.0
    done: simpy.Event | None = None
    gave_up: bool = False
    # On its way through a network (network.py).
    entry: int | None = None
    """None for a part, or for a copy, that nobody waits for."""
    place: int = -1
    queue: int = 0
    to: int = -1
    becoming: int = 0
    region: int = -1
    reserved: bool = False
    held: str = ""
    cycling: bool = False
    whole: Customer | None = None
    """Whose part it is."""
    parts: int = 1
    riders: tuple[Customer, ...] = ()
    """Those whose service it leads."""
    rides: bool = False
    then: tuple[int, int] | None = None
    """Where it goes, and as what, after it has sent its copy ``to``."""
