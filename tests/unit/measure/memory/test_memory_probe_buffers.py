"""Planning, running, resuming and reading a sweep over buffer sizes; on small buffers, so that it is quick."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from measure import load
from measure.errors import StoreError
from measure.machine.host import Cache
from measure.memory import plan as probe_plan
from measure.memory.placement import Placement
from measure.memory.plan import MOST_WARM_UP_S, WARM_UP_S, MemoryLimits, MemoryPlan, Point
from measure.memory.probe import Bench, plan_buffers, run_memory
from measure.memory.threads import Chaser, Loader
from measure.memory.traffic import parse_traffics

KiB, MiB, GiB = 2**10, 2**20, 2**30
CACHES = (Cache(1, "Data", 32 * KiB, 1), Cache(2, "Unified", MiB, 1), Cache(3, "Unified", 32 * MiB, 8))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of four cores and 24 GiB, whatever runs the tests."""

    def place(threads: int | None, *, chases: bool) -> Placement:
        assert not chases
        return Placement(3, (0, 1, 2)[: 3 if threads is None else threads - 1], ("two stay idle",))

    monkeypatch.setattr(probe_plan, "place", place)
    monkeypatch.setattr(probe_plan, "memory_limits", lambda: MemoryLimits(CACHES, 24 * GiB))


@pytest.fixture
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_plan, "WARM_UP_S", 0.0)


def small(*sizes: int, traffic: str = "read", threads: tuple[int, ...] = (1, 2)) -> MemoryPlan:
    return MemoryPlan(
        sizes=sizes or (16 * KiB, 64 * KiB),
        traffics=parse_traffics(traffic),
        loader_counts=threads,
        placement=Placement(None, (None,)),
        repeats=2,
        seconds_per_repeat=0.01,
        seed=1,
    )


@pytest.mark.usefixtures("machine")
def test_one_thread_and_all_cores_by_default() -> None:
    plan = plan_buffers([MiB, 16 * KiB, MiB])
    assert plan.sizes == (16 * KiB, MiB)
    assert plan.loader_counts == (1, 4)
    assert plan.placement == Placement(3, (0, 1, 2), ("two stay idle",))
    points = ["idle", "read-1", "read-4"]
    assert sorted(p.key for p in plan.points()) == [f"buffer-{size}-{p}" for size in (MiB, 16 * KiB) for p in points]
    assert "the largest buffer is less than 4 times the L3 cache of 32 MiB" in plan.notes[1]
    assert plan_buffers([128 * MiB]).notes == ("two stay idle",)
    assert plan_buffers([MiB], threads=2).placement.loaders == (0,)


@pytest.mark.usefixtures("machine")
def test_the_plan_says_what_and_how_long_and_can_be_typed_again() -> None:
    plan = plan_buffers([16 * KiB, GiB], threads=(1, 2), traffic="read,write")
    for part in ("CPU 3", "1 and 2 threads", "1 GiB", "traffic write", "s in all"):
        assert part in plan.describe()
    assert plan.command().startswith("qsim measure memory --buffers 16384,1073741824 --loaders 1,2 ")
    chases = {p.buffer_bytes: p for p in plan.points() if p.kind == "idle"}
    assert "--traffic read,write" in plan.command()
    assert plan.seconds() > plan.seconds_of(chases[GiB]) > plan.seconds_of(chases[16 * KiB]) > 0


def test_the_warm_up_goes_once_round() -> None:
    def chase_s(size: int) -> float:
        return small().warm_up_s(Point("any", "idle", size, varied=True))

    assert chase_s(16 * KiB) == WARM_UP_S
    assert chase_s(64 * MiB) == pytest.approx(0.157, rel=0.01)  # 2^20 lines of 150 ns
    assert chase_s(64 * GiB) == MOST_WARM_UP_S
    assert small().warm_up_s(Point("any", "peak", GiB, varied=True)) < chase_s(GiB)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("sizes", "wrong", "message"),
    [
        ([], {}, "buffers is empty"),
        ([4 * KiB], {}, "buffers: 4 KiB is too small.*begin at 8 KiB"),
        ([16 * KiB + 1], {}, "expected a multiple of a cache line"),
        ([64 * GiB], {}, "do not fit in half of the free memory .24 GiB.*end at 2.398 GiB"),
        ([MiB], {"threads": 0}, "loaders=0: there must be at least one"),
        ([MiB], {"seconds_per_repeat": 1e6}, "seconds_per_repeat is 1e.06"),
    ],
)
def test_what_cannot_be_measured_is_refused(sizes: list[int], wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        plan_buffers(sizes, **wrong)
    assert "\n" not in str(refusal.value)


def test_every_thread_goes_through_a_buffer_of_the_size_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[int] = set()

    def together(chaser: Chaser | None, loaders: list[Loader], *_: float) -> tuple[None, tuple[()]]:
        used.update(thread.words.nbytes for thread in (chaser, *loaders) if thread is not None)
        return None, ()

    monkeypatch.setattr("measure.memory.threads.measure_together", together)
    bench = Bench(small())
    for point in small().points():
        used.clear()
        bench.measure(point)
        assert used == {point.buffer_bytes}


@pytest.mark.usefixtures("no_warm_up")
def test_a_run_gives_latency_and_bandwidth_of_each_size(tmp_path: Path) -> None:
    told: list[tuple[int, int, float, str]] = []
    sweep = run_memory(small(traffic="read,write"), tmp_path / "m", lambda *about: told.append(about))
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("buffer_size", "B")
    assert set(sweep.series) == {f"{t}, {n}" for t in ("read", "write") for n in ("1 thread", "2 threads")}
    assert sorted(set(sweep.points["load"])) == [16 * KiB, 64 * KiB]
    assert len(sweep) == 2 * 4 * 2  # sizes, series, repeats
    points = sweep.points
    np.testing.assert_allclose(points["bandwidth_bytes_per_s"], 64 * points["throughput_per_s"])
    chase = points.groupby(["load", "repeat"])["latency_s"]
    assert (chase.nunique() == 1).all()  # one chase a size, beside every stream
    assert set(sweep.provenance.details) >= {"host_facts", "spin_ns_per_iteration"}
    assert "idle_latency_s" not in sweep.provenance.details
    assert [t[0] for t in told] == sorted(t[0] for t in told)
    assert (told[-1][0], told[-1][2]) == (told[-1][1], 0.0)
    assert load(tmp_path / "m").points.equals(points)


@pytest.mark.usefixtures("no_warm_up")
def test_a_directory_is_of_one_kind(tmp_path: Path) -> None:
    run_memory(small(16 * KiB), tmp_path / "m")
    plan = replace(small(MiB), delays=(0,))
    with pytest.raises(StoreError, match="mode: there 'buffers', now 'delays'"):
        run_memory(plan, tmp_path / "m")
