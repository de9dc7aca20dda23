"""The memory probe on this machine's memory: against the same measurement in C, under load, and interrupted.

The buffers are of 128 MiB, equal for the probe and for C, even where the machine's last cache is larger: it is the
measuring that is compared, and buffers of four times a cache of hundreds of megabytes would take minutes to fill.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from measure import load
from measure.machine.host import Cache, allowed_cpus
from measure.memory import plan as probe_plan
from measure.memory.placement import allocate, place
from measure.memory.plan import MemoryLimits
from measure.memory.probe import make_loaders, plan_buffers, plan_memory, run_memory
from measure.memory.record import Trial
from measure.memory.threads import Chaser, Loader, compile_kernels, measure_together, on_cpu
from measure.memory.traffic import parse_traffic

pytestmark = pytest.mark.live

HERE = Path(__file__).resolve().parent
ROUNDS = 80  # each is a fifth of a second; a quiet machine needs one or two
BUFFER_BYTES = 128 * 2**20
needs_two_cores = pytest.mark.skipif(len(allowed_cpus()) < 2, reason="a loaded memory needs two cores")


@pytest.fixture
def modest_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last cache of a quarter of BUFFER_BYTES, so that default buffers are of that size on any machine."""
    facts = MemoryLimits((Cache(3, "Unified", BUFFER_BYTES // 4, 1),), 2**36)
    monkeypatch.setattr(probe_plan, "memory_limits", lambda: facts)


def every_cpu() -> tuple[int | None, ...]:
    """A CPU of each core of a memory node."""
    placement = place(None, chases=False)
    return (placement.chaser, *placement.loaders)


@pytest.fixture(scope="module")
def loaders() -> list[Loader]:
    compile_kernels()
    return make_loaders(every_cpu(), [allocate(BUFFER_BYTES) for _ in every_cpu()], parse_traffic("read"))


@pytest.fixture
def reference(require_tool: Callable[..., str], tmp_path: Path) -> Callable[..., float]:
    """``reference("chase" | "read" | "update", cpus)`` measures in C: ns per access, or bytes a second."""
    program = tmp_path / "memory_reference"
    source = HERE / "memory_reference.c"
    flags = ["-O3", "-march=native", "-pthread"]
    subprocess.run([require_tool("gcc", "cc"), *flags, str(source), "-o", str(program)], check=True)

    def run(what: str, cpus: tuple[int | None, ...]) -> float:
        command = [str(program), what, str(BUFFER_BYTES), "0.1", *map(str, cpus)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0])

    return run


def agree(
    ours: Callable[[], float],
    theirs: Callable[[], float],
    best: Callable[..., float],
    taken: Sequence[float] = (),
    within: float = 0.10,
) -> None:
    """Measure both in turns until their bests agree, or the rounds are over; then they must, but for the unrest.

    Others on the machine only ever make a measurement worse, so both bests converge to the undisturbed value. How far a
    best still is from it, the control tells: C against itself, the best of its even rounds and that of its odd ones.
    ``taken`` are the shares of the CPUs that other programs took in each round: loaders that never run side by side
    load the memory less than threads that do, so two loops compare to within the least of them.
    """
    mine, control = list[float](), list[float]()
    for _ in range(ROUNDS):
        mine.append(ours())
        control.append(theirs())
        if best(mine) == pytest.approx(best(control), rel=within):
            return
    unrest = abs(best(control[::2]) / best(control[1::2]) - 1) + abs(best(mine[::2]) / best(mine[1::2]) - 1)
    assert best(mine) == pytest.approx(best(control), rel=within + 2 * unrest + min(taken, default=0.0))


def test_idle_latency_is_that_of_a_pointer_chase_in_c(reference: Callable[..., float]) -> None:
    cpus = (place(1, chases=False).chaser,)
    compile_kernels()
    chaser = on_cpu(cpus[0], lambda: Chaser(cpus[0], allocate(BUFFER_BYTES), seed=1))
    seen = list[float]()

    def ours() -> float:
        seen.append(Trial("", *measure_together(chaser, (), 0, 0.05, 0.1)).latency_s * 1e9)
        return seen[-1]

    agree(ours, lambda: reference("chase", cpus), best=min)
    assert 10 < min(seen) < 2000  # no memory answers faster than a cache, and none this slowly


@pytest.mark.parametrize(("traffic", "work", "within"), [("read", "read", 0.10), ("1:1", "update", 0.25)])
def test_peak_bandwidth_is_that_of_the_same_traffic_in_c(
    reference: Callable[..., float], loaders: list[Loader], traffic: str, work: str, within: float
) -> None:
    """Where a memory is quick enough, updates are held up by our loop: limitations.md says by how much."""
    kind = parse_traffic(traffic)
    for loader in loaders:
        loader.traffic = kind
    cpus = every_cpu()
    taken = list[float]()

    def ours() -> float:
        _, counts = measure_together(None, loaders, 0, 0.05, 0.1)
        taken.append(1 - sum(c.cpu_ns for c in counts) / sum(c.elapsed_ns for c in counts))
        return sum(64e9 * kind.bus_lines * c.bursts / c.cpu_ns for c in counts)

    agree(ours, lambda: reference(work, cpus), best=max, taken=taken, within=within)


def test_caches_show_as_steps(tmp_path: Path) -> None:
    sizes = [2**n for n in (14, 15, 18, 19, 25, 26)]
    plan = plan_buffers(sizes, threads=1, repeats=3, seconds_per_repeat=0.03)
    sweep = run_memory(plan, tmp_path / "caches")
    best = sweep.points.groupby("load")["latency_s"].min()
    assert best[2**14] < 10e-9  # any first-level cache of today
    assert best[2**14] < best[2**18] < best[2**26]
    assert best[2**26] > 4 * best[2**14]
    assert load(tmp_path / "caches").points.equals(sweep.points)


@needs_two_cores
@pytest.mark.usefixtures("modest_caches")
def test_a_sweep_has_falling_bandwidth_and_falls_to_the_idle_latency(tmp_path: Path) -> None:
    plan = plan_memory(delays=(0, 300, 20_000), repeats=2, seconds_per_repeat=0.1, traffic="mix")
    sweep = run_memory(plan, tmp_path / "memory")
    best = sweep.points.groupby("load")["bandwidth_bytes_per_s"].max()
    assert best[0] > best[300] > best[20_000]
    latency = sweep.points.groupby("load")["latency_s"].min()
    idle = sweep.provenance.details["idle_latency_s"]
    assert latency[20_000] < 2 * idle
    assert latency[0] > 0.6 * idle  # which others may have disturbed, before and after
    assert sweep.provenance.details["huge_page_share"] is None or 0 <= sweep.provenance.details["huge_page_share"] <= 1
    assert load(tmp_path / "memory").points.equals(sweep.points)
