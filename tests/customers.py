"""Customers as an engine hands them over, one by one."""

from __future__ import annotations

import numpy as np

from qsim import Model
from qsim._types import FloatArray, IntArray
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import Plan, plan


class Log(RunTotals):
    """Every customer, as an engine hands it over."""

    def __init__(self, planned: Plan, expected: int) -> None:
        super().__init__(planned, expected)
        self.finished: list[FloatArray] = []

    def add_finished(
        self, gaps: FloatArray, waits: FloatArray, services: FloatArray, kinds: IntArray, lost: FloatArray
    ) -> None:
        self.finished.append(np.array([gaps, waits, services, kinds, lost]))
        super().add_finished(gaps, waits, services, kinds, lost)


def both_engines(model: Model, n: int) -> tuple[FloatArray, FloatArray]:
    """Gaps, waits, services, kinds and losses of n customers by the compiled engine, and by the reference engine."""
    from qsim.engines.compiled import engine as compiled
    from qsim.engines.reference import engine as reference

    planned = plan(model)
    logs = Log(planned, n), Log(planned, n)
    compiled.run(planned, n, 3, logs[0], None)
    reference.run(planned, n, 3, logs[1], None)
    one, other = (np.hstack(log.finished) for log in logs)
    assert one.shape == (5, n)
    return one, other
