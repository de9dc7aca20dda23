"""Bounds of closed networks, and what describes no network."""

from __future__ import annotations

import pytest

from qsim import balanced_bounds


def test_bounds_meet_at_one_customer_and_refuse_nonsense() -> None:
    b = balanced_bounds([1], 3.0, [1.0, 2.0])
    assert [float(b.throughput_low[0]), float(b.throughput_high[0])] == pytest.approx([1 / 6, 1 / 6])
    assert (b.kind, b.knee) == ("bound", pytest.approx(3.0))
    for wrong, name in [(([0.5], 1, [1]), "populations"), (([1], -1, [1]), "think_time"), (([1], 1, []), "demands")]:
        with pytest.raises(ValueError, match=name):
            balanced_bounds(*wrong)  # type: ignore[arg-type]
