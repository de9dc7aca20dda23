"""The tournament of the compiled engine: the winner is the row of the smallest time, the lowest row of equal times."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from qsim.engines.compiled.queues import set_time, tournament


@pytest.mark.parametrize("rows", [1, 2, 3, 6, 8, 13, 40])
def test_the_winner_is_the_first_of_the_smallest_times(rows: int) -> None:
    rng = np.random.default_rng(rows)
    known = rng.integers(0, 5, rows).astype(float)  # few values, so that many are equal
    times, tree = tournament(known)
    assert tree[1] == np.argmin(known)
    for row in rng.integers(0, rows, 500).tolist():
        known[row] = rng.choice([0.0, 0.25, 1.5, 3e5, np.inf])
        cast(Any, set_time).py_func(times, tree, row, known[row])
        assert tree[1] == np.argmin(known)
