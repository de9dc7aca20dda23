"""The tournament of the compiled engine: the winner is the row of the smallest time, the lowest row of equal times."""

from __future__ import annotations

import numpy as np
import pytest

from qsim.engines.compiled.queues import set_time, tournament


@pytest.mark.parametrize("rows", [1, 2, 3, 6, 8, 13, 40])
def test_the_winner_is_the_first_of_the_smallest_times(rows: int) -> None:
    rng = np.random.default_rng(rows)
    times, tree = tournament(rows)
    for row in rng.integers(0, rows, 500).tolist():
        set_time(times, tree, row, float(rng.integers(0, 5)))  # few values, so that many are equal
        assert tree[1] == np.argmin(times)
