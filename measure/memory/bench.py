"""The probe's threads with their memory filled, ready to measure one point after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from measure.machine.process import now
from measure.memory.plan import WARM_UP_S, MemoryPlan, Point
from measure.memory.record import ProbeRecord, Trial, off_cpu_share
from measure.memory.threads import (
    Chaser,
    Loader,
    compile_kernels,
    in_threads,
    measure_together,
    on_cpu,
    spin_ns_per_iteration,
)
from measure.memory.traffic import Traffic
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

    def make(cpu: int | None) -> Callable[[], Loader]:
        return lambda: on_cpu(cpu, lambda: Loader(cpu, size_bytes, traffic))

    return in_threads([make(cpu) for cpu in cpus], stop=lambda: None)


def set_traffic(loaders: Sequence[Loader], traffic: Traffic) -> None:
    """Give them this traffic; buffers that the last one has changed are refilled, side by side."""

    def give(loader: Loader) -> Callable[[], None]:
        return lambda: loader.load(traffic)

    in_threads([give(loader) for loader in loaders], stop=lambda: None)


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
