"""The probe's threads with their memory filled: one point after the other, and single figures with nothing kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from measure.machine.process import now
from measure.memory.placement import place, place_without_chaser
from measure.memory.plan import (
    COMPILE_S,
    PREPARE_S_PER_BYTE,
    REFILL_S_PER_BYTE,
    WARM_UP_S,
    MemoryPlan,
    Point,
    check_numbers,
    choose_buffer,
    memory_facts,
)
from measure.memory.record import ProbeRecord, Repeated, Trial, off_cpu_share
from measure.memory.sweep import bandwidths, latencies
from measure.memory.threads import (
    Chaser,
    Loader,
    compile_kernels,
    in_threads,
    measure_together,
    on_cpu,
    on_cpus,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic, parse_traffics
from measure.repeats import RETRY_SHARE


@dataclass(frozen=True)
class Bench:
    """A plan with its threads' memory filled and its idle loop timed, ready to measure points."""

    plan: MemoryPlan
    chaser: Chaser
    loaders: tuple[Loader, ...]
    stand_in: Loader  # loads from the chaser's CPU when the peak is measured
    spin_ns: float

    @classmethod
    def prepare(cls, plan: MemoryPlan) -> Bench:
        """Compile, allocate, fill and calibrate: some seconds, most of them for the first touch of the memory."""
        compile_kernels()
        cpu, size, traffic = plan.placement.chaser, plan.buffer_bytes, plan.traffics[0]
        chaser = on_cpu(cpu, lambda: Chaser(cpu, size, plan.seed))
        *loaders, stand_in = make_loaders((*plan.placement.loaders, cpu), size, traffic)
        return cls(plan, chaser, tuple(loaders), stand_in, spin_ns_per_iteration(plan.placement.loaders[0]))

    def measure(self, point: Point) -> ProbeRecord:
        """One point. Raises ToolFailedError where a thread's work is not there."""
        chaser = None if point.kind == "peak" else self.chaser
        loaders = list(self.loaders[: point.loaders])
        if point.kind == "peak":
            loaders.append(self.stand_in)
        traffic = point.traffic or self.plan.traffics[0]
        set_traffic(loaders, traffic)
        return probed(
            point, traffic, self.plan.buffer_bytes, self.spin_ns, chaser, loaders, self.plan.repeats,
            self.plan.seconds_per_repeat,
        )  # fmt: skip


def probed(
    point: Point, traffic: Traffic, buffer_bytes: int, spin_ns: float, chaser: Chaser | None,
    loaders: Sequence[Loader], repeats: int, seconds: float, warm_up_s: float = WARM_UP_S,
) -> ProbeRecord:  # fmt: skip
    """The record of a point: ``repeats`` trials of ``chaser`` and ``loaders``, each of ``seconds``."""
    trials, discarded = calm_trials(lambda: trial(chaser, loaders, point.delay, seconds, warm_up_s), repeats)
    return ProbeRecord(
        kind=point.kind, delay_iterations=point.delay, spin_ns_per_iteration=spin_ns, traffic=traffic.name,
        burst_lines=traffic.burst_lines, updated_lines=traffic.updated_lines, streamed_lines=traffic.streamed_lines,
        stride_bytes=traffic.stride_bytes, buffer_bytes=buffer_bytes, chaser_cpu=chaser.cpu if chaser else None,
        loader_cpus=tuple(x.cpu for x in loaders),
        huge_page_shares=tuple(x.pages.huge_share for x in (*((chaser,) if chaser else ()), *loaders)),
        trials=trials, discarded=discarded,
    )  # fmt: skip


def make_loaders(cpus: Sequence[int | None], size_bytes: int, traffic: Traffic) -> list[Loader]:
    """A loader on each CPU; their buffers are filled side by side."""
    return on_cpus((cpu, partial(Loader, cpu, size_bytes, traffic)) for cpu in cpus)


def set_traffic(loaders: Sequence[Loader], traffic: Traffic) -> None:
    """Give them this traffic; buffers that the last one has changed are refilled, side by side."""
    in_threads([partial(loader.load, traffic) for loader in loaders])


def trial(
    chaser: Chaser | None, loaders: Sequence[Loader], delay: int, seconds: float, warm_up_s: float = WARM_UP_S
) -> Trial:
    """One repeat, with the time of day at which it began."""
    started_at = now()
    return Trial(started_at, *measure_together(chaser, loaders, delay, warm_up_s, seconds))


def calm_trials(measure: Callable[[], Trial], repeats: int) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
    """``repeats`` trials, and those that were set aside because other programs took the CPUs away.

    A disturbed trial is measured again, up to as many times as there are repeats; then the least disturbed count.
    The choice looks at the CPU time only, never at the latency.
    """
    trials: list[Trial] = []
    calm = 0
    while calm < repeats and len(trials) < 2 * repeats:
        trials.append(measure())
        calm += off_cpu_share(trials[-1]) <= RETRY_SHARE
    ranked = sorted(range(len(trials)), key=lambda i: off_cpu_share(trials[i]))
    kept, others = sorted(ranked[:repeats]), ranked[repeats:]
    return tuple(trials[i] for i in kept), tuple(trials[i] for i in others)


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


def peak_bandwidths(
    traffics: str | Sequence[str],
    threads: Sequence[int] | None = None,
    buffer_bytes: int | None = None,
    repeats: int = 3,
    seconds_per_repeat: float = 0.2,
) -> dict[tuple[str, int], Repeated]:
    """Bytes a second that ``threads`` cores (None: all of one memory node) move over the memory bus, without delay.

    {(traffic, threads): ...} for several traffics by several numbers of threads. Works on one core. What counts as
    moved stands in :mod:`measure.memory.traffic`. Parameters and errors as ``plan_memory``.
    """
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
