"""A customer of the reference engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class Customer:
    """A customer; what happens to it at the present station, and in all."""

    entry: int
    kind: int = 0
    number: int = 0
    """In the order of arrival, where customers are recorded in that order."""
    cycling: bool = False
    """Whether it has been home."""
    place: int = -1
    queue: int = 0
    to: int = -1
    becoming: int = 0
    arrived: float = 0.0
    service_time: float = 0.0
    wait: float = 0.0
    service: float = 0.0
    total_wait: float = 0.0
    total_service: float = 0.0
    # Where the work left is tracked (work_queue.py).
    key: tuple[float, int] = (0.0, 0)
    work: float = 0.0
    share: float = 0.0
