"""Traces as tables: what each customer finds on arrival."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim import MMc, trace

QUEUE = MMc(1.0, 1.0, 2)


def test_a_table_a_student_can_follow() -> None:
    frame = trace(QUEUE, [1.0, 1.0, 1.0, 1.0], [3.5, 0.5, 2.0, 1.0]).to_frame()
    assert list(frame.columns) == ["arrival", "start", "finish", "server", "wait", "response", "present"]
    assert frame.index.name == "customer"
    assert frame["present"].tolist() == [0, 1, 1, 2]
    assert frame["start"].tolist() == [1.0, 2.0, 3.0, 4.5]
    assert frame["wait"].tolist() == [0.0, 0.0, 0.0, 0.5]


@settings(deadline=None)
@given(
    times=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), servers=st.integers(1, 3)
)
def test_present_is_what_counting_gives(times: list[tuple[int, int]], servers: int) -> None:
    """Whole times, so that many things happen at once."""
    gaps, services = np.array(times, dtype=float).T
    t = trace(MMc(1.0, 10.0, servers), gaps, services)
    counted = [sum(t.finish[j] > t.arrival[i] for j in range(i)) for i in range(len(times))]
    assert t.present.tolist() == counted


def test_who_waits_found_all_servers_taken() -> None:
    rng = np.random.default_rng(1)
    t = trace(QUEUE, rng.exponential(0.6, 5000), rng.exponential(1.0, 5000))
    assert ((t.wait > 0) == (t.present >= 2)).all()
    assert t.present.mean() == pytest.approx(t.response.sum() / t.arrival[-1], rel=0.1)  # Poisson arrivals see L
