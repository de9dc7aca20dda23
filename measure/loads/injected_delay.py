"""An injected delay: a pause between the accesses of programs that load a memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from measure.loads.base import LoadKind, MemoryLoad

DEFAULT_DELAYS = (0, 20, 50, 100, 150, 200, 300, 500, 700, 1000, 2500)
"""Iterations of the idle loop: half of them in the bend, which lies at 50 to 300 on machines of 2 to 8 loaders."""
QUICK_DELAYS = (0, 50, 100, 200, 2500)


@dataclass(frozen=True, repr=False)
class InjectedDelay(MemoryLoad):
    """A pause between accesses, in the tool's ``unit``: the longer, the lower the throughput, by which a knee is given.

    The pause is think time: N loaders with Z = Z0 + kappa d, where N, Z0 and kappa are unknown.

    >>> InjectedDelay([0, 100], unit="ns").at(100), InjectedDelay(unit="ns").named
    ('delay 100', 'injected delay (ns)')
    """

    unit: str = "cycles"

    kind: ClassVar[LoadKind] = "injected_delay"
    law = "N = X (R + Z), Z = Z0 + κ d"
    name = "injected delay"
    singular = "delay"
    plural = "delays"
    symbol = "delay"
    knee_symbol = "delay"
    knee_unit = "lines/s"
    column = "load"
    option = "--delays"
    more = "more delays: qsim measure memory --delays 0,100,500,2500 --out DIR"
    most = 1e12
    default_points = (0.0, 500.0, 2500.0)
