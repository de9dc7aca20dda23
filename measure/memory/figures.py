"""Single figures of this machine's memory in seconds: idle latency and peak bandwidth, with nothing kept."""

from __future__ import annotations

from collections.abc import Sequence

from measure.memory.bench import make_loaders, set_traffic, trial
from measure.memory.placement import place, place_without_chaser
from measure.memory.plan import (
    COMPILE_S,
    PREPARE_S_PER_BYTE,
    REFILL_S_PER_BYTE,
    WARM_UP_S,
    check_numbers,
    choose_buffer,
    memory_facts,
)
from measure.memory.record import Repeated
from measure.memory.sweep import bandwidths, latencies
from measure.memory.threads import Chaser, compile_kernels, on_cpu
from measure.memory.traffic import parse_traffics


def idle_latency(
    buffer_bytes: int | None = None, repeats: int = 3, seconds_per_repeat: float = 0.2, seed: int = 1
) -> Repeated:
    """Seconds per dependent access while nobody else loads the memory; works on one core.

    Parameters and errors as ``plan_memory``.
    """
    check_numbers(repeats, seconds_per_repeat, seed)
    cpu = place(0).chaser
    size, _ = choose_buffer(buffer_bytes, 1, memory_facts())
    compile_kernels()
    chaser = on_cpu(cpu, lambda: Chaser(cpu, size, seed))
    return latencies([trial(chaser, (), 0, seconds_per_repeat) for _ in range(repeats)])


def peak_bandwidth(
    buffer_bytes: int | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
    traffic: str = "read",
    threads: int | None = None,
) -> Repeated:
    """Bytes a second that ``threads`` cores (None: all of one memory node) move over the memory bus, without delay.

    Works on one core. What counts as moved stands in :mod:`measure.memory.traffic`. Parameters and errors as
    ``plan_memory``.
    """
    counts = None if threads is None else (threads,)
    return next(iter(peak_bandwidths((traffic,), counts, buffer_bytes, repeats, seconds_per_repeat).values()))


def peak_bandwidths(
    traffics: str | Sequence[str],
    threads: Sequence[int] | None = None,
    buffer_bytes: int | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
) -> dict[tuple[str, int], Repeated]:
    """``peak_bandwidth`` of several traffics by several numbers of threads (None: all): {(traffic, threads): ...}."""
    check_numbers(repeats, seconds_per_repeat, seed=0)
    kinds = parse_traffics(traffics)
    cpus = loading_cpus(threads)
    size, _ = choose_buffer(buffer_bytes, len(cpus), memory_facts())
    compile_kernels()
    loaders = make_loaders(cpus, size, kinds[0])
    found: dict[tuple[str, int], Repeated] = {}
    for kind in kinds:
        set_traffic(loaders, kind)
        for count in sorted(set(threads or (len(cpus),))):
            trials = [trial(None, loaders[:count], 0, seconds_per_repeat) for _ in range(repeats)]
            found[kind.name, count] = bandwidths(trials, kind.bus_lines)
    return found


def seconds_for_figures(
    idle: bool,
    traffics: Sequence[str],
    threads: Sequence[int] | None = None,
    buffer_bytes: int | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
) -> float:
    """Seconds that ``idle_latency`` (where ``idle``) and ``peak_bandwidths`` (of ``traffics``, maybe none) take.

    Errors as theirs, so that a plan is refused before anything runs.
    """
    check_numbers(repeats, seconds_per_repeat, seed=0)
    facts = memory_facts()
    each = repeats * (WARM_UP_S + seconds_per_repeat + 0.01)
    seconds = COMPILE_S
    if idle:
        seconds += choose_buffer(buffer_bytes, 1, facts)[0] * 2 * PREPARE_S_PER_BYTE + each
    if traffics:
        cpus, kinds = loading_cpus(threads), parse_traffics(traffics)
        filled = len(cpus) * choose_buffer(buffer_bytes, len(cpus), facts)[0]
        seconds += filled * (PREPARE_S_PER_BYTE + (len(kinds) - 1) * REFILL_S_PER_BYTE)
        seconds += len(kinds) * len(set(threads or (0,))) * each
    return seconds


def loading_cpus(threads: Sequence[int] | None) -> tuple[int | None, ...]:
    """The CPUs of the most loaders asked for, the chaser's own first. ValueError where there are fewer cores."""
    placement = place_without_chaser(threads)
    return (placement.chaser, *placement.loaders)
