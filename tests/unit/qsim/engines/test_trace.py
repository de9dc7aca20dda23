"""Traces: what each customer finds, the events, the averages of the table, and Little's law on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim import MM1, MM1K, Exponential, MMc, MMcN, NoEngineError, Open, trace
from qsim.engines.trace import FreeTimes, averages, draw, events

ONE, TWO = MMc(1.0, 1.0, 1), MMc(1.0, 1.0, 2)


def test_a_table_a_student_can_follow() -> None:
    frame = trace(TWO, [1.0, 1.0, 1.0, 1.0], [3.5, 0.5, 2.0, 1.0]).to_frame()
    assert list(frame.columns) == ["arrival", "start", "finish", "server", "wait", "response", "present"]
    assert frame.index.name == "customer"
    assert frame["present"].tolist() == [0, 1, 1, 2]
    assert frame["start"].tolist() == [1.0, 2.0, 3.0, 4.5]
    assert frame["wait"].tolist() == [0.0, 0.0, 0.0, 0.5]
    assert frame["server"].tolist() == [0, 1, 1, 0]


def test_an_arrival_waits_where_it_finds_all_servers_busy() -> None:
    rng = np.random.default_rng(1)
    t = trace(TWO, rng.exponential(0.6, 5000), rng.exponential(1.0, 5000))
    assert ((t.wait > 0) == (t.present >= 2)).all()
    assert t.present.mean() == pytest.approx(t.response.sum() / t.arrival[-1], rel=0.1)  # Poisson arrivals see L


def test_the_events_and_averages_of_a_known_table() -> None:
    path = trace(ONE, [0.0, 2.0, 1.0, 4.0], [3.0, 3.0, 1.0, 2.0])
    assert [(e.time, e.what, e.customer, e.present, e.waiting) for e in events(path)] == [
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
    found = averages(path, servers=1)
    assert (found.customers, found.span, found.utilization, found.p_wait) == (4, 9, 1, 0.5)
    assert (found.W, found.Wq) == ((3 + 4 + 4 + 2) / 4, (0 + 1 + 3 + 0) / 4)
    assert found.L == pytest.approx(13 / 9)


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
    counted = [sum(path.finish[j] > path.arrival[i] for j in range(i)) for i in range(len(times))]
    assert path.present.tolist() == counted
    line = FreeTimes(servers)
    assert list(zip(path.start, path.server, strict=True)) == list(map(line.admit, path.arrival, services))
    happened = events(path)
    found = averages(path, servers)
    before = [0, *(e.present for e in happened)]
    seen = {e.customer: before[i] for i, e in enumerate(happened) if e.what == "arrival"}
    assert [seen[i] for i in range(len(times))] == counted
    assert all(0 <= e.present - e.waiting <= servers for e in happened if e.what != "arrival")
    assert min(e.waiting for e in happened) == happened[-1].present == 0
    assert found.L == pytest.approx(found.throughput * found.W)
    assert found.Lq == pytest.approx(found.throughput * found.Wq)
    assert found.L - found.Lq == pytest.approx(servers * found.utilization)


def test_a_seed_draws_the_same_customers_and_more_of_them() -> None:
    few, more = draw(TWO, 3, seed=7), draw(TWO, 5, seed=7)
    assert few[0].tolist() == more[0][:3].tolist()
    assert few[1].tolist() == more[1][:3].tolist()
    assert draw(TWO, 3, seed=8)[0].tolist() != few[0].tolist()
    found = averages(trace(MM1(0.5, 1.0), *draw(MM1(0.5, 1.0), 100_000, seed=1)), servers=1)
    assert found.L == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("interarrivals", "services", "message"),
    [
        ([], [], "interarrivals must be a list of at least one"),
        ([1.0], [1.0, 2.0], "services must be as many"),
        ([1.0, -1.0], [1.0, 1.0], r"interarrivals\[1\]"),
        ([1.0, 1.0], [1.0, float("nan")], r"services\[1\]"),
        (np.array([1.0, np.inf]), [1.0, 1.0], r"interarrivals\[1\]"),
        ([[1.0]], [1.0], "interarrivals"),
    ],
)
def test_traces_refuse_nonsense(interarrivals: Any, services: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trace(ONE, interarrivals, services)


def test_what_is_refused() -> None:
    shared = Open(Exponential(1.0), Exponential(0.5), discipline="PS")
    for other in (MM1K(1.0, 1.0, 3), MMcN(2, 1, 1), shared):
        with pytest.raises(NoEngineError, match="trace follows"):
            draw(other, 10, seed=1)
    with pytest.raises(ValueError, match="customers"):
        draw(ONE, 0, seed=1)
    with pytest.raises(ValueError, match="no time passes"):
        averages(trace(ONE, [0.0], [0.0]), servers=1)
