"""Queues followed by hand: the events, the averages of the table, and Little's law on them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim import MM1, MM1K, MMc, NoEngineError, trace
from qsim.engines.by_hand import draw, events, totals

ONE, TWO = MMc(1.0, 1.0, 1), MMc(1.0, 1.0, 2)


def test_the_events_of_a_table_that_is_known() -> None:
    happened = events(trace(ONE, [0.0, 2.0, 1.0, 4.0], [3.0, 3.0, 1.0, 2.0]))
    assert [(e.time, e.what, e.customer, e.present, e.waiting) for e in happened] == [
        (0, "arrival", 0, 1, 1),
        (0, "start", 0, 1, 0),
        (2, "arrival", 1, 2, 1),
        (3, "finish", 0, 1, 1),
        (3, "start", 1, 1, 0),
        (3, "arrival", 2, 2, 1),
        (6, "finish", 1, 1, 1),
        (6, "start", 2, 1, 0),
        (7, "finish", 2, 0, 0),
        (7, "arrival", 3, 1, 1),
        (7, "start", 3, 1, 0),
        (9, "finish", 3, 0, 0),
    ]


def test_averages_that_one_can_check_in_the_head() -> None:
    found = totals(trace(ONE, [0.0, 2.0, 1.0, 4.0], [3.0, 3.0, 1.0, 2.0]), servers=1)
    assert (found.customers, found.span, found.utilization) == (4, 9, 1)
    assert found.W == (3 + 4 + 4 + 2) / 4
    assert found.Wq == (0 + 1 + 3 + 0) / 4
    assert found.L == pytest.approx(13 / 9)
    assert found.p_wait == 0.5


@settings(deadline=None)
@given(
    times=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30).filter(
        lambda ts: any(a + b for a, b in ts)
    ),
    servers=st.integers(1, 3),
)
def test_what_holds_on_every_table(times: list[tuple[int, int]], servers: int) -> None:
    """Whole times, so that many things happen at once."""
    gaps, services = np.array(times, dtype=float).T
    path = trace(MMc(1.0, 10.0, servers), gaps, services)
    happened = events(path)
    found = totals(path, servers)
    assert found == totals(path, servers, happened)
    before = [0, *(e.present for e in happened)]
    seen = {e.customer: before[i] for i, e in enumerate(happened) if e.what == "arrival"}
    assert [seen[i] for i in range(len(times))] == path.present.tolist()
    assert all(0 <= e.present - e.waiting <= servers for e in happened if e.what != "arrival")
    assert min(e.waiting for e in happened) == 0
    assert happened[-1].present == 0
    assert found.L == pytest.approx(found.throughput * found.W)
    assert found.Lq == pytest.approx(found.throughput * found.Wq)
    assert found.L - found.Lq == pytest.approx(servers * found.utilization)


def test_a_long_table_comes_close_to_the_formula() -> None:
    model = MM1(0.5, 1.0)
    found = totals(trace(model, *draw(model, 100_000, seed=1)), servers=1)
    assert found.L == pytest.approx(1.0, rel=0.05)
    assert found.p_wait == pytest.approx(0.5, rel=0.05)


def test_a_seed_draws_the_same_customers_and_more_of_them() -> None:
    few, more = draw(TWO, 3, seed=7), draw(TWO, 5, seed=7)
    assert few[0].tolist() == more[0][:3].tolist()
    assert few[1].tolist() == more[1][:3].tolist()
    assert draw(TWO, 3, seed=8)[0].tolist() != few[0].tolist()


def test_what_is_refused() -> None:
    with pytest.raises(NoEngineError, match="trace follows"):
        draw(MM1K(1.0, 1.0, 3), 10, seed=1)
    with pytest.raises(ValueError, match="customers"):
        draw(ONE, 0, seed=1)
    with pytest.raises(ValueError, match="no time passes"):
        totals(trace(ONE, [0.0], [0.0]), servers=1)
