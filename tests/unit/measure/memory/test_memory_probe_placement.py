"""Which CPUs the probe takes on machines of many shapes, given as facts."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from measure.machine.host import parse_cpu_list
from measure.memory.placement import cpu_quota, pin, place, read_nodes, read_siblings


def alone(cpu: int) -> frozenset[int]:
    return frozenset({cpu})


def hyperthreads(cpu: int) -> frozenset[int]:
    return frozenset({cpu % 4, cpu % 4 + 4})


def one_node(_: int) -> int:
    return 0


needs_pinning = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not pin threads")


@needs_pinning
def test_all_other_cores_load_and_the_last_one_chases() -> None:
    placement = place(None, (0, 1, 2, 3), alone, one_node, quota=8)
    assert (placement.chaser, placement.loaders, placement.notes) == (3, (0, 1, 2), ())


@needs_pinning
def test_one_thread_per_core_and_never_the_chasers_sibling() -> None:
    placement = place(None, tuple(range(8)), hyperthreads, one_node, quota=8)
    assert placement.chaser == 7
    assert placement.loaders == (0, 1, 2)
    assert any("one thread per core" in note for note in placement.notes)


@needs_pinning
def test_other_memory_nodes_stay_idle() -> None:
    placement = place(None, (0, 1, 2, 3), alone, lambda cpu: cpu // 2, quota=8)
    assert (placement.chaser, placement.loaders) == (3, (2,))
    assert any("memory nodes" in note for note in placement.notes)


@needs_pinning
def test_a_quota_of_cpu_time_limits_the_loaders() -> None:
    placement = place(None, (0, 1, 2, 3), alone, one_node, quota=2.5)
    assert placement.loaders == (0,)
    assert any("control group" in note for note in placement.notes)


def test_more_loaders_than_cores_are_refused_with_the_most_that_works() -> None:
    with pytest.raises(ValueError, match=r"loaders=4 needs 5 cores, as one chases; 4 can be used; ask for at most 3"):
        place(4, (0, 1, 2, 3), alone, one_node, quota=8)
    with pytest.raises(ValueError, match=r"loaders=5 needs 5 cores; 4 can be used; ask for at most 4"):
        place(5, (0, 1, 2, 3), alone, one_node, quota=8, chases=False)


@needs_pinning
def test_where_nothing_is_chased_one_thread_takes_the_chasers_cpu() -> None:
    for threads, loaders in ((None, (0, 1, 2)), (2, (0,)), (1, ())):
        assert place(threads, (0, 1, 2, 3), alone, one_node, quota=8, chases=False).loaders == loaders


def test_one_core_can_only_chase() -> None:
    assert place(0, (5,), alone, one_node, quota=8).loaders == ()
    with pytest.raises(ValueError, match="only the idle latency"):
        place(1, (5,), alone, one_node, quota=8)


def test_without_pinning_the_threads_float_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    placement = place(2, (0, 1, 2), alone, one_node, quota=8)
    assert (placement.chaser, placement.loaders) == (None, (None, None))
    assert any("not pinned" in note for note in placement.notes)
    assert pin(0) is False


@needs_pinning
def test_pin_binds_the_calling_thread_only() -> None:
    before = os.sched_getaffinity(0)
    cpu = min(before)
    inside: list[set[int]] = []

    def run() -> None:
        assert pin(cpu)
        inside.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert inside == [{cpu}]
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1;2", "1 2"])
def test_cpu_lists_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="invalid CPUs"):
        parse_cpu_list(text)


def test_facts_from_the_system_tree(tmp_path: Path) -> None:
    (tmp_path / "cpu/cpu1/topology").mkdir(parents=True)
    (tmp_path / "cpu/cpu1/topology/thread_siblings_list").write_text("1,5\n")
    for node, cpus in (("node0", "0-1\n"), ("node1", "2-3\n")):
        (tmp_path / "node" / node).mkdir(parents=True)
        (tmp_path / "node" / node / "cpulist").write_text(cpus)
    assert read_siblings(1, tmp_path) == {1, 5}
    assert read_siblings(2, tmp_path) == {2}
    assert read_nodes(tmp_path) == {0: 0, 1: 0, 2: 1, 3: 1}
    assert read_nodes(tmp_path / "nowhere") == {}


@pytest.mark.parametrize(("text", "quota"), [("max 100000\n", None), ("150000 100000\n", 1.5), ("rubbish", None)])
def test_quota(tmp_path: Path, text: str, quota: float | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpu_quota(tmp_path) == quota
    assert cpu_quota(tmp_path / "nowhere") is None
