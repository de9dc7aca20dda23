"""Suites: what they ask for, how long they take, what a budget buys, and how they go on after a failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from made_up import points_at

from measure import Sweep
from measure.errors import StoreError, ToolFailedError
from measure.fio.fio_sweep import FioPlan
from measure.suites import runs as suite_runs
from measure.suites.runs import SUITE_NAMES, SuitePlan, arrivals, plan_suites, run_suites, suites
from measure.units import parse_duration

MIB = 2**20


@pytest.fixture(autouse=True)
def fio_here(require_tool: Callable[..., str]) -> None:
    require_tool("fio")


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


@pytest.fixture
def planned(disk: Path) -> Callable[..., SuitePlan]:
    def plan(name: str = "course", **more: Any) -> SuitePlan:
        return plan_suites(name, disk, **{"size_bytes": 64 * MIB, **more})

    return plan


def sweep(load: list[float], throughput: list[float], latency: list[float]) -> Sweep:
    return Sweep(points_at(load, throughput, latency, series="4 KiB random read", block_bytes=4096))


# --- what they are -------------------------------------------------------------------------------------------------


def test_the_course_is_all_of_them() -> None:
    names = [s.name for s in suites("course")]
    assert names == ["baseline", "block-size", "mix", "depth", "tails", "rate"]
    assert [*names, "course"] == list(SUITE_NAMES)
    assert [suites(n)[0] for n in names] == list(suites("course"))


def test_a_quick_suite_measures_some_of_the_points_of_the_whole_one() -> None:
    for quick, whole in zip(suites("course", quick=True), suites("course"), strict=True):
        assert set(quick.workloads) <= set(whole.workloads), quick.name


def test_the_knee_is_sought_for_4_kib_reads_writes_and_half_of_each_and_for_larger_reads() -> None:
    (whole,), (quick,) = suites("depth"), suites("depth", quick=True)
    depths = [(w.block_bytes, w.read_percent, w.depth) for w in whole.workloads if w.depth in (1, 1024)]
    assert sorted(depths) == [
        *((4096, read, depth) for read in (0, 50, 100) for depth in (1, 1024)),
        *((32768, 100, depth) for depth in (1, 1024)),
    ]
    assert {(w.block_bytes, w.read_percent) for w in quick.workloads} == {(4096, 0), (4096, 100)}


# --- plans ------------------------------------------------------------------------------------------------------------


def test_the_time_is_that_of_every_point_and_of_the_file(planned: Callable[..., SuitePlan]) -> None:
    plan = planned("tails", runtime_s=2.0)
    assert plan.sweeps[0].point_s == 4.0
    each = 4.0 + 0.5 + suite_runs.START_S
    assert plan.seconds() == pytest.approx(plan.fill_seconds + 36 * each)
    assert plan.fill_seconds > 0


def test_every_sweep_measures_as_much_of_the_target_as_was_asked_for(planned: Callable[..., SuitePlan]) -> None:
    plan = planned("baseline")
    assert plan.size_bytes == 64 * MIB
    files = [plan.fio_plan(step, {}).file for step in plan.steps]
    assert [file and file.size_bytes for file in files] == [64 * MIB]
    assert plan_suites("baseline", "nbd+unix:///?socket=/a/socket").size_bytes is None


@pytest.mark.parametrize(("budget_s", "repeats"), [(150.0, 1), (400.0, 2), (7200.0, 3)])
def test_a_budget_buys_repeats_before_longer_runs(
    planned: Callable[..., SuitePlan], budget_s: float, repeats: int
) -> None:
    plan = planned(budget_s=budget_s)
    assert 0.98 * budget_s < plan.seconds() <= budget_s
    assert plan.repeats == repeats


def test_a_budget_that_is_too_small_names_the_least_one(planned: Callable[..., SuitePlan]) -> None:
    with pytest.raises(ValueError, match="budget_s is too short") as error:
        planned(budget_s=10)
    told = re.search(r"at least ([\d.]+ \w+)", str(error.value))
    assert told is not None
    assert planned(budget_s=parse_duration(told.group(1))).seconds() <= parse_duration(told.group(1)) + 0.1


# --- rates ------------------------------------------------------------------------------------------------------------


def test_rates_are_shares_of_the_peak_among_jobs_that_are_seldom_busy() -> None:
    jobs = arrivals(sweep([1, 32], [10_000, 100_000], [100e-6, 320e-6]), (0.1, 0.5, 0.8))
    assert [w.arrival_rate_per_s for w in jobs] == [10_000, 50_000, 80_000]
    # At half of the peak: 50k/s x 100 us / (1 - 0.5) = 10 under way, of jobs that may be 5 % busy.
    assert [w.jobs for w in jobs] == [32, 200, 512]
    assert {w.block_bytes for w in jobs} == {4096}


# --- runs, with the measuring itself played ---------------------------------------------------------------------------


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let ``run_fio`` give a sweep at once, or fail in the directories named; the list fills with what was run."""

    def playing(failing: tuple[str, ...] = (), error: BaseException | None = None) -> list[str]:
        ran: list[str] = []

        def run(plan: FioPlan, out: Path, on_progress: Any = None) -> Sweep:
            ran.append(out.name)
            if out.name in failing:
                raise error or ToolFailedError(f"{out.name} broke")
            if on_progress is not None:
                for done in range(len(plan.points) + 1):
                    on_progress(done, len(plan.points), (len(plan.points) - done) * plan.point_seconds, "point")
            return sweep([1, 32], [1e4, 1e5], [1e-4, 3e-4])

        monkeypatch.setattr(suite_runs, "run_fio", run)
        return ran

    return playing


def test_a_failed_suite_does_not_stop_the_others(
    planned: Callable[..., SuitePlan], play: Callable[..., list[str]], tmp_path: Path
) -> None:
    ran = play(failing=("mix",))
    results = run_suites(planned(), tmp_path / "out")
    assert ran == ["baseline", "block-size", "mix", "depth", "tails", "rate-peak", "rate"]
    assert results.failed == {"mix": "mix broke"}
    assert list(results.sweeps) == [n for n in ran if n != "mix"]


def test_progress_goes_over_the_whole(
    planned: Callable[..., SuitePlan], play: Callable[..., list[str]], tmp_path: Path
) -> None:
    play()
    plan, seen = planned(), []
    run_suites(plan, tmp_path / "out", lambda *step: seen.append(step))
    done = [s[0] for s in seen]
    left = [s[2] for s in seen]
    assert done == sorted(done)
    assert {s[1] for s in seen} == {plan.points}
    assert done[-1] == plan.points
    assert left[0] == pytest.approx(plan.seconds() - plan.fill_seconds)
    assert all(a >= b - 1e-6 for a, b in pairwise(left))
    assert left[-1] == 0
    assert seen[0][3] == "baseline: point"


@pytest.mark.parametrize("keep", [False, True])
def test_an_interruption_leaves_no_test_file_unless_it_is_kept(
    disk: Path, planned: Callable[..., SuitePlan], play: Callable[..., list[str]], tmp_path: Path, keep: bool
) -> None:
    plan = planned(keep=keep)
    assert plan.file is not None
    from measure.machine.own_file import held

    with held(plan.file, keep=True):
        pass
    assert plan.file.path.exists()
    play(failing=("mix",), error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_suites(plan, tmp_path / "out")
    assert plan.file.path.exists() == keep


def test_a_place_that_holds_something_else_is_refused(planned: Callable[..., SuitePlan], tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(StoreError, match="a single sweep"):
        run_suites(planned(), tmp_path)
    with pytest.raises(StoreError, match="is a file"):
        run_suites(planned(), tmp_path / "sweep.json")
