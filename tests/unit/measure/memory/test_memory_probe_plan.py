"""What plan_memory decides and what it refuses, on machines given as facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from measure.loads.memory_loads import DEFAULT_DELAYS, QUICK_DELAYS
from measure.machine.host import Cache
from measure.memory import plan as probe_plan
from measure.memory.placement import Placement
from measure.memory.plan import MemoryLimits, choose_buffer, left_to_allocate
from measure.memory.probe import MLC_DELAYS, MemoryPlan, plan_memory

MiB, GiB = 2**20, 2**30
CACHES = (Cache(1, "Data", 32 * 2**10, 1), Cache(2, "Unified", MiB, 1), Cache(3, "Unified", 32 * MiB, 8))
ROOMY = MemoryLimits(CACHES, 24 * GiB)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of four cores and 24 GiB, whatever runs the tests."""

    def place(loaders: int | None, *, chases: bool) -> Placement:
        assert chases
        return Placement(3, tuple(range(3 if loaders is None else loaders)))

    monkeypatch.setattr(probe_plan, "place", place)
    monkeypatch.setattr(probe_plan, "memory_limits", lambda: ROOMY)


def test_the_default_is_four_caches_and_every_other_core() -> None:
    plan = plan_memory()
    assert plan.sizes == (128 * MiB,)
    assert (plan.loader_counts, plan.buffers) == ((3,), 5)
    assert plan.delays == DEFAULT_DELAYS
    assert plan.notes == ()


def loaded(plan: MemoryPlan) -> list[int]:
    return [point.delay for point in plan.points() if point.kind == "loaded"]


def test_order_is_shuffled_complete_and_by_seed() -> None:
    plan = plan_memory(delays=MLC_DELAYS, repeats=1)
    assert sorted(loaded(plan)) == list(MLC_DELAYS)
    assert [p.kind for p in plan.points() if p.kind != "loaded"] == ["idle", "peak", "idle"]
    order = loaded(plan)
    assert order != list(MLC_DELAYS)
    assert order == loaded(plan_memory(delays=MLC_DELAYS, repeats=1))
    assert order != loaded(plan_memory(delays=MLC_DELAYS, repeats=1, seed=2))


def test_repeats_are_rounds_over_all_points_each_in_an_order_of_its_own() -> None:
    plan = plan_memory(delays=MLC_DELAYS, repeats=3)
    count = len(MLC_DELAYS)
    rounds = [loaded(plan)[i * count : (i + 1) * count] for i in range(3)]
    assert [sorted(each) for each in rounds] == [list(MLC_DELAYS)] * 3
    assert len({tuple(each) for each in rounds}) == 3
    assert [p.kind for p in plan.points() if p.kind != "loaded"] == ["idle", *["peak"] * 3, "idle"]
    assert sum(p.trials for p in plan.points()) == 3 * (count + 3)
    more = plan_memory(delays=MLC_DELAYS, repeats=4)
    assert [p.key for p in more.points()][: 3 * count] == [p.key for p in plan.points()][: 3 * count]
    assert more.settings() == plan.settings()  # so a directory is extended by further rounds


@pytest.mark.parametrize("delays", [DEFAULT_DELAYS, QUICK_DELAYS])
def test_the_default_delays_touch_the_bend(delays: tuple[int, ...]) -> None:
    assert {0, 50, 100, 200, 2500} <= set(delays)
    assert delays == tuple(sorted(delays))


def test_description_and_command_name_what_will_happen() -> None:
    plan = plan_memory(traffic="mix,read", delays=(0, 700), loaders=(1, 3))
    for part in ("on CPU 3;", "1 and 3 threads, on CPU 0, 1, 2", "66.7 % reads on the bus", "128 MiB", "s in all"):
        assert part in plan.describe()
    command = "qsim measure memory --delays 0,700 --buffer 134217728 --loaders 1,3 --repeats 3 --seconds 0.2"
    assert plan.command() == f"{command} --traffic mix,read --strides 64"


def test_every_traffic_and_number_of_loaders_has_its_points() -> None:
    plan = plan_memory(delays=(0, 100), traffic="read,mix,2:1,write", loaders=(1, 3, 3))
    assert [t.name for t in plan.traffics] == ["read", "mix", "write"]  # 2:1 is mix
    assert plan.loader_counts == (1, 3)
    keys = [p.key for p in plan.points()]
    assert len(set(keys)) == len(keys) == 2 + 3 * 3 * (2 * 2 + 1)
    assert plan.buffers == 5


def test_settings_leave_the_delays_out() -> None:
    assert plan_memory(delays=(0,)).settings() == plan_memory(delays=(0, 100), traffic="mix", loaders=1).settings()
    assert plan_memory(delays=(0,)).settings() != plan_memory(delays=(0,), seed=3).settings()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delays": []}, "delays is empty"),
        ({"delays": [0, -1]}, "delays: -1 is not"),
        ({"delays": [1.5]}, "delays: 1.5 is not"),
        ({"delays": [float("nan")]}, "delays: nan is not"),
        ({"loaders": 0}, "loaders=0: .*at least one.*idle latency"),
        ({"loaders": []}, "loaders=.*at least one"),
        ({"traffic": ["read", "1:2"]}, "traffic '1:2' writes more than it reads"),
        ({"repeats": 0}, "repeats is 0"),
        ({"seconds_per_repeat": float("nan")}, "seconds_per_repeat is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"buffer_bytes": 32 * MiB}, "fits the L3 cache of 32 MiB.*at least 128 MiB"),
        ({"buffer_bytes": 20 * GiB}, "do not fit in half of the free memory .24 GiB.*take at most"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        plan_memory(**wrong)
    assert "\n" not in str(refusal.value)


def test_one_core_is_refused_with_what_still_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_plan, "place", lambda loaders, chases: Placement(0, ()))
    with pytest.raises(ValueError, match=r"one core only.*--buffers"):
        plan_memory()


def test_a_buffer_just_above_the_cache_is_taken_and_said() -> None:
    size, notes = choose_buffer(33 * MiB, 2, ROOMY)
    assert size == 34 * MiB  # whole huge pages
    assert "up to 94 % of the accesses may hit the cache" in notes[0]


def test_little_memory_makes_smaller_buffers_and_says_so() -> None:
    size, notes = choose_buffer(None, 4, MemoryLimits(CACHES, 512 * MiB))
    assert size == 64 * MiB
    assert "free memory allows 64 MiB a buffer, not 128 MiB" in notes
    assert any("up to 50 %" in note for note in notes)


def test_memory_that_only_gives_cache_sized_buffers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no memory for the buffers.*fits the L3 cache of 32 MiB"):
        choose_buffer(None, 4, MemoryLimits(CACHES, 256 * MiB))


def test_unknown_caches_are_assumed_and_unknown_memory_is_trusted() -> None:
    size, notes = choose_buffer(None, 4, MemoryLimits((), None))
    assert size == 256 * MiB
    assert "does not tell its caches" in notes[0]
    with pytest.raises(ValueError, match="fits the L3 cache of 64 MiB"):
        choose_buffer(64 * MiB, 4, MemoryLimits((), None))


@pytest.mark.parametrize(
    ("limit", "left"), [("max", 1000), ("900", 600), ("100", 0), ("5000", 1000), ("rubbish", 1000), (None, 1000)]
)
def test_the_control_groups_limit_counts(tmp_path: Path, limit: str | None, left: int) -> None:
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit + "\n")
        (tmp_path / "memory.current").write_text("300\n")
    assert left_to_allocate(1000, tmp_path) == left
