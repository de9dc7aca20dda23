"""Customers as an engine hands them over, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from qsim import Network
from qsim._types import FloatArray
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import Plan, plan


class Log(RunTotals):
    """Every customer, as an engine hands it over."""

    def __init__(self, planned: Plan, expected: int) -> None:
        super().__init__(planned, expected)
        self.finished: list[FloatArray] = []
        self.stays: list[list[FloatArray]] = [[] for _ in planned.part_of]

    def add_finished(self, *rows: Any, **others: Any) -> None:
        self.finished.append(np.array(rows[:5]))
        super().add_finished(*rows, **others)

    def add_stays(self, place: int, *rows: Any, **others: Any) -> None:
        self.stays[place].append(np.array(rows))
        super().add_stays(place, *rows, **others)


def both_engines(model: Network, n: int) -> tuple[FloatArray, FloatArray]:
    """Gaps, waits, services, kinds and losses of n customers by the compiled engine, and by the reference engine."""
    one, other = (np.hstack(log.finished) for log in both_logs(model, n))
    assert one.shape == (5, n)
    return one, other


def both_logs(model: Network, n: int) -> tuple[Log, Log]:
    """What the compiled engine and the reference engine hand over of n customers."""
    from qsim.engines.compiled import engine as compiled
    from qsim.engines.reference import engine as reference

    planned = plan(model)
    logs = Log(planned, n), Log(planned, n)
    compiled.run(planned, n, 3, logs[0], None)
    reference.run(planned, n, 3, logs[1], None)
    return logs
