"""Which points are measured again: where the interval is too wide, and where something was flagged."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from measure.again import either, flagged_again, until_precise
from measure.fio.plan import FioPlan, plan_fio
from measure.repeats import flags
from measure.sweep import Sweep

KEYS = {n: f"4096-randread-d{n}-j1" for n in (1, 2, 4)}


@pytest.fixture
def plan(tmp_path: Path, require_tool: Callable[..., str]) -> FioPlan:
    require_tool("fio")
    return plan_fio(tmp_path / "file", (1, 2, 4), size_bytes=2**24, repeats=3)


def swept(rates: dict[int, list[float]], **columns: Any) -> Sweep:
    rows = [
        {
            "series": "c",
            "load": n,
            "repeat": r,
            "throughput_per_s": x,
            "latency_s": n / x,
            "source": f"{KEYS[n]}.r{r}.json",
        }
        for n, values in rates.items()
        for r, x in enumerate(values)
    ]
    return Sweep(pd.DataFrame(rows).assign(**columns))


def test_a_load_is_repeated_until_its_interval_is_narrow(plan: FioPlan) -> None:
    more = until_precise(plan, 0.02, most=5)
    sweep = swept({1: [100.0, 100.1, 99.9], 2: [180.0, 200.0, 220.0], 4: [300.0, 330.0, 310.0, 320.0, 390.0]})
    (named,) = more(sweep)  # depth 1 is known well enough, depth 4 was measured five times
    assert named == plan.point(plan.points[1].job, 3)
    assert named.key == "4096-randread-d2-j1.r3"
    assert named.argv != plan.points[1].argv  # other addresses
    assert not until_precise(plan, 0.6, most=5)(sweep)


@pytest.mark.parametrize(("share", "most", "says"), [(0.0, 5, "precision"), (1.5, 5, "precision"), (0.1, 2, "most")])
def test_what_no_repeats_can_reach_is_refused(plan: FioPlan, share: float, most: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        until_precise(plan, share, most)


def test_flagged_loads_are_measured_again_twice_at_most(plan: FioPlan) -> None:
    sweep = swept({1: [100.0, 101.0, 60.0], 2: [200.0, 201.0, 199.0], 4: [330.0, 331.0, 329.0]})
    assert flags(sweep.points, closed=sweep.load_type.is_closed).tolist() == ["", "", "outlier"] + [""] * 6
    more = flagged_again(plan)
    assert [p.key for p in more(sweep)] == [f"{KEYS[1]}.r3"]
    assert [p.key for p in more(sweep)] == [f"{KEYS[1]}.r3"]
    assert not more(sweep)


def test_a_flag_names_the_first_cause(plan: FioPlan) -> None:
    sweep = swept(
        {1: [100.0] * 3, 2: [200.0] * 3},
        warmup_s=[0.0, 0.2, 0, 0, 0, 0],
        steady=[1.0, 0, 0, 0, math.nan, 1],
        throughput_trend=[0.0, 1, 1, 0, math.nan, 0],
        settled=[1.0, 1, 1, 1, 1, 0],
    )
    assert flags(sweep.points, closed=sweep.load_type.is_closed).tolist() == [
        "",
        "warm-up",
        "drift",
        "",
        "",
        "never settled",
    ]
    assert [p.key for p in flagged_again(plan)(sweep)] == [f"{KEYS[1]}.r3", f"{KEYS[2]}.r3"]


def test_a_point_that_both_name_is_measured_once(plan: FioPlan) -> None:
    sweep = swept({1: [100.0, 101.0, 60.0], 2: [200.0, 201.0, 199.0], 4: [330.0, 331.0, 329.0]})
    assert [p.key for p in either(until_precise(plan, 0.05), flagged_again(plan))(sweep)] == [f"{KEYS[1]}.r3"]
