"""Customers as an engine hands them over, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from qsim import Network
from qsim._types import FloatArray
from qsim.engines.numbered import plan
from qsim.engines.recorder import Totals


class Log(Totals):
    """Every customer and every stay, as an engine hands it over: rows of time, wait, service, kind and losses."""

    def __init__(self, planned: Any, expected: int) -> None:
        super().__init__(planned, expected)
        self._finished: list[FloatArray] = []
        self._stays: dict[int, list[FloatArray]] = {place: [] for place in planned.parts}

    def add(self, *rows: Any) -> None:
        self._finished.append(np.array(rows))
        super().add(*rows)

    def add_stays(self, place: int, *rows: Any) -> None:
        self._stays[place].append(np.array(rows))
        super().add_stays(place, *rows)

    @property
    def finished(self) -> FloatArray:
        """All customers, shape (rows, customers)."""
        return np.hstack([rows[: len(self._finished[0])] for rows in self._finished])

    @property
    def stays(self) -> list[FloatArray]:
        """All stays at each part of the plan."""
        return [np.hstack(rows) for rows in self._stays.values()]


def log_of(model: Network, engine: str, n: int, seed: int = 3) -> Log:
    """What an engine hands over of n customers."""
    from qsim.engines import reference
    from qsim.engines.compiled import engine as compiled

    planned = plan(model)
    log = Log(planned, n)
    run = compiled.run if engine == "compiled" else reference.run
    run(planned, n, seed, log, None)
    return log
