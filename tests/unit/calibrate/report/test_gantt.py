"""The strip of a sample path: waits before services, a colour for each server."""

from __future__ import annotations

import pytest

from calibrate.report.gantt import MOST, gantt_view
from qsim import MMc, trace


def test_a_strip_has_the_wait_then_the_service_of_each_customer() -> None:
    one = gantt_view(trace(MMc(1, 1, servers=2), [0, 1, 1, 1], [3, 3, 1, 1]))
    assert one.figure is not None
    waits, first, second, arrivals = one.figure.to_plotly().data
    assert list(waits.base) == [0, 1, 2, 3]
    assert list(waits.x) == pytest.approx([0, 0, 1, 1])
    assert (first.name, list(first.y)) == ("served by server 1", [1, 3, 4])
    assert list(second.base) == pytest.approx([1])
    assert list(arrivals.x) == [0, 1, 2, 3]
    assert one.caption == "2 of 4 customers wait; customer 3 waits longest, 1."


def test_a_long_path_is_cut_and_says_so_and_times_have_their_unit() -> None:
    one = gantt_view(trace(MMc(1, 1, servers=1), [1e-3] * 60, [2e-3] * 60), 1e-3, "ms")
    assert one.figure is not None
    assert len(one.figure.to_plotly().data[0].y) == MOST
    assert one.caption == "59 of 60 customers wait; customer 60 waits longest, 59 ms. The first 40 are drawn."
    assert len(one.table) == 60


def test_where_nobody_waits_the_strip_says_so() -> None:
    assert gantt_view(trace(MMc(1, 1, servers=1), [1, 1], [0.5, 0.5])).caption == "None of 2 customers waits."
