"""What a measurement tells while it runs."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int, float, str], None]
"""on_progress(points done, points in all, seconds left, what is being done)"""


def silent(_done: int, _total: int, _seconds_left: float, _text: str) -> None:
    """Progress that nobody looks at."""
    return
