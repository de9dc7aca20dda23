"""The course: what is planned within a budget, what is measured when a part fails, what is predicted beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from calibrate.course import CoursePlan, plan_course, planning, run_course
from calibrate.course.sections import curve_part, method_section, surface_part
from calibrate.report.measured import measured
from measure.datasets import load_dataset
from measure.errors import DataError, StoreError, ToolFailedError
from measure.machine.host import Cache
from measure.memory.plan import MemoryLimits
from measure.memory.probe import MemoryPlan
from measure.suites.runs import SuiteResults


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of two cores with a cache of 32 MiB and memory enough, whatever this one is."""
    facts = MemoryLimits((Cache(3, "Unified", 2**25, 2),), 2**34)
    monkeypatch.setattr("measure.memory.plan.memory_limits", lambda: facts)


@pytest.fixture
def disk_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that fio could measure."""
    monkeypatch.setattr("measure.machine.safety.MEMORY_FILESYSTEMS", frozenset())
    return tmp_path


def memory_of(plan: CoursePlan) -> MemoryPlan:
    loaded = plan.memory[0].plan
    assert isinstance(loaded, MemoryPlan)
    return loaded


def test_a_budget_buys_more_of_the_memory() -> None:
    plans = [plan_course(None, budget_s=budget) for budget in (6, 20, 600)]
    sizes = [plan.points for plan in plans]
    assert sizes == sorted(set(sizes))
    for plan, budget in zip(plans, (6, 20, 600), strict=True):
        assert plan.seconds() <= budget
    assert {t.stride_bytes for t in memory_of(plans[-1]).traffics} == {64, 256}
    assert [s.directory for s in plans[-1].memory] == ["memory", "memory-caches"]


def test_the_memory_takes_its_share_of_a_budget(disk_like: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    plan = plan_course(disk_like, budget_s=600)
    assert sum(s.plan.seconds() for s in plan.memory) <= 0.3 * 600
    assert 500 < plan.seconds() <= 601
    assert plan.storage is not None
    assert {s.suite.name for s in plan.storage.steps} == {"baseline", "block-size", "mix", "depth", "tails", "rate"}


def test_a_budget_that_is_too_small_names_the_least(disk_like: Path, require_tool: Callable[..., str]) -> None:
    require_tool("fio")
    with pytest.raises(ValueError, match=r"budget_s is too short: .* take at least .*; the memory takes"):
        plan_course(disk_like, budget_s=30)
    with pytest.raises(ValueError, match="budget_s must be above 0"):
        plan_course(disk_like, budget_s=0)
    with pytest.raises(ValueError, match="disk is missing"):
        plan_course(None, memory=False)


def test_a_machine_whose_memory_cannot_be_loaded_says_why(
    monkeypatch: pytest.MonkeyPatch, disk_like: Path, require_tool: Callable[..., str]
) -> None:
    require_tool("fio")

    def one_core(*_: object, **__: object) -> MemoryPlan:
        raise ValueError("this process may use one core only")

    monkeypatch.setattr(planning, "plan_memory", one_core)
    plan = plan_course(disk_like, quick=True)
    assert plan.memory == ()
    assert plan.left_out[0] == "memory: this process may use one core only"


def test_a_course_goes_on_with_the_buffers_that_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from measure.store.directory import SweepStore

    less = MemoryLimits((Cache(3, "Unified", 2**25, 2),), 2**29)
    with monkeypatch.context() as context:
        context.setattr("measure.memory.plan.memory_limits", lambda: less)
        first = memory_of(plan_course(None, budget_s=20))
    SweepStore.create(tmp_path / "memory", "memory_probe", first.settings(), {})
    assert memory_of(plan_course(None, budget_s=20)).largest_bytes > first.largest_bytes
    assert memory_of(plan_course(None, budget_s=20, out_dir=tmp_path)).largest_bytes == first.largest_bytes


def test_what_fails_is_told_and_the_rest_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = load_dataset("001-memory")
    told: list[tuple[int, int, float, str]] = []

    def fails(*_: object) -> None:
        raise ToolFailedError("the clock stands still")

    def works_on_buffers(plan: object, __: Path, progress: object) -> object:
        if plan.delays:
            fails()
        progress(1, 2, 5.0, "16 KiB")  # type: ignore[operator]
        return caches

    monkeypatch.setattr(planning, "run_memory", works_on_buffers)
    plan = plan_course(None, budget_s=600)
    results = run_course(plan, tmp_path / "out", lambda *p: told.append(p))
    assert list(results.sweeps) == ["memory-caches"]
    assert results.failed == {"memory": "the clock stands still"}
    assert told == [(plan.sweeps[0].count + 1, plan.points, pytest.approx(5.0), "memory-caches: 16 KiB")]
    monkeypatch.setattr(planning, "run_memory", fails)
    with pytest.raises(ToolFailedError, match="clock"):
        run_course(plan, tmp_path / "out")


def test_places_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    plan = plan_course(None, budget_s=60)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="is a file"):
        run_course(plan, tmp_path / "file")
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(StoreError, match="holds a single sweep"):
        run_course(plan, tmp_path)


def test_the_method_names_every_sweep_and_what_failed() -> None:
    sweep = load_dataset("001-memory")
    plan = plan_course(None, budget_s=60)
    section = method_section(plan, SuiteResults({"memory": sweep}, {"memory-caches": "no time"}))
    assert section.views[0].table["sweep"].tolist() == ["memory"]
    assert "Failed: memory-caches: no time" in section.notes
    assert "Intel Core i7-7700HQ" in section.notes[0]
    assert "pointers" in section.notes[1]


def test_points_that_contradict_themselves_are_not_modelled() -> None:
    sweep = load_dataset("000-ssd")
    part = curve_part(measured(sweep.select("4 KiB read in a file of 16 KiB")), [1, 16])
    assert part.is_compared
    assert not part.comparisons
    assert "contradict themselves: X R / N is" in part.refused["4 KiB read in a file of 16 KiB"]


def test_points_that_scatter_are_modelled_all_the_same() -> None:
    steady = load_dataset("004-ssd-depth")
    noisy = pd.concat(
        [
            steady.points.assign(
                repeat=r,
                throughput_per_s=steady.points["throughput_per_s"] * f,
                latency_s=steady.points["latency_s"] / f,
            )
            for r, f in enumerate((0.5, 1.5))
        ]
    )
    part = curve_part(measured(dataclasses.replace(steady, points=noisy)), [1, 32])
    assert part.is_compared
    assert any(f.check == "repeats-disagree" and f.severity == "error" for f in part.comparisons[0].audit)


def test_tails_that_cannot_be_told_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise DataError("depth 1 is missing")

    monkeypatch.setattr("calibrate.course.sections.fitted_tails", cannot)
    part = curve_part(measured(load_dataset("004-ssd-depth")), [1, 32])
    assert part.is_compared
    assert "the tails: depth 1 is missing" in part.curves[0].left_out


def test_sizes_and_depths_are_predicted_as_one_surface() -> None:
    part = surface_part(measured(load_dataset("003-ssd-read")))
    assert part is not None
    assert "6 of 20 points used, 2 of them asked for" in part.lead
    assert {v.name for v in part.views} >= {"surface-100-percent-read", "surface-points"}
    assert surface_part(measured(load_dataset("004-ssd-depth"))) is None
