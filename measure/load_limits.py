"""The most that is taken for a load of each kind, in a module that imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from measure.sweep import LoadKind

MOST_LOAD: dict[LoadKind, float] = {
    "queue_depth": 1e6, "injected_delay": 1e12, "arrival_rate": 1e12, "bandwidth": 1e15,
}  # fmt: skip
"""More than any device was ever given of each: what lies above is another column than the load.

Bandwidths are in B/s, and the memory of one accelerator carries several 1e12.
"""
