"""The audit's silence says nothing of what it could not look at, and that is named."""

from __future__ import annotations

import pandas as pd

from measure import Sweep, load
from measure.auditing.all_checks import not_checked
from measure.loads import InjectedDelay

ROWS = pd.DataFrame({"series": "a", "load": [1, 8], "throughput_per_s": [1e4, 6e4], "latency_s": [1e-4, 8 / 6e4]})


def test_repeats_are_checked_where_one_load_was_measured_twice() -> None:
    twice = pd.concat([ROWS.assign(repeat=0), ROWS.tail(1).assign(repeat=1)], ignore_index=True)
    assert [what.split(" (")[0] for what in not_checked(Sweep(twice))] == ["drift within runs"]
    assert not_checked(Sweep(ROWS, InjectedDelay())) == ["repeats (every load was measured once)"]


def test_a_computed_column_leaves_littles_law_open(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("iodepth,iops\n1,10000\n8,60000\n32,90000\n")
    assert "Little's law (latency computed at 3 of 3 points)" in not_checked(load(tmp_path / "t.csv"))
