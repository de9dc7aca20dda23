"""Plans the course, with its duration, and measures it.

OUT/memory/          latency and bandwidth under injected delay, several traffics and strides
OUT/memory-caches/   latency and bandwidth over buffer sizes
OUT/baseline/ ...    the drive, see :mod:`measure.suites.runs`

Failures are reported and the rest is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from measure.fio.fio_sweep import Progress
from measure.loads.memory_loads import DEFAULT_DELAYS, QUICK_DELAYS
from measure.memory.probe import MemoryPlan, plan_buffers, plan_memory, run_memory
from measure.store.directory import MANIFEST, SweepStore
from measure.suites.runs import COURSE, PlannedSweep, SuitePlan, SuiteResults, plan_suites, run_sweeps
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

BUDGET_S = 600.0
MEMORY_SHARE = 0.3  # the largest share of a budget for the memory

MEMORY, CACHES = "memory", "memory-caches"
_SMALLEST_BUFFER, _LARGEST_BUFFER = 2**14, 2**30


@dataclass(frozen=True)
class MemoryStep:
    """One sweep of the memory: its directory, its purpose, and its plan."""

    directory: str
    purpose: str
    plan: MemoryPlan

    @property
    def planned(self) -> PlannedSweep:
        """Its part of the course."""

        def run(directory: Path, progress: Progress, _: Mapping[str, Sweep]) -> Sweep:
            return run_memory(self.plan, directory, progress)

        count, plan = len(self.plan.points()), self.plan
        return PlannedSweep(self.directory, self.purpose, count, plan.seconds(), plan.seconds_per_repeat, run)


@dataclass(frozen=True)
class CoursePlan:
    """A checked plan. ``storage`` is None where no drive is measured; ``left_out``: what is not measured, and why."""

    memory: tuple[MemoryStep, ...]
    storage: SuitePlan | None
    left_out: tuple[str, ...] = ()

    @property
    def sweeps(self) -> tuple[PlannedSweep, ...]:
        """Those of the memory, then those of the drive."""
        return (*(step.planned for step in self.memory), *(() if self.storage is None else self.storage.sweeps))

    @property
    def points(self) -> int:
        """How many points there are, repeats included."""
        return sum(sweep.count for sweep in self.sweeps)

    @property
    def fill_seconds(self) -> float:
        """How long writing the test file takes."""
        return 0.0 if self.storage is None else self.storage.fill_seconds

    def seconds(self) -> float:
        """How long the whole will about take."""
        return self.fill_seconds + sum(sweep.seconds for sweep in self.sweeps)


@dataclass(frozen=True)
class _Pace:
    traffics: tuple[str, ...]
    strides: tuple[int, ...]
    delays: Sequence[float]
    repeats: int
    seconds_per_repeat: float
    caches: bool


_PACES = (
    _Pace(("read", "3:1", "mix", "write"), (64, 256), DEFAULT_DELAYS, 3, 0.2, True),
    _Pace(("read", "3:1", "mix", "write"), (64,), DEFAULT_DELAYS, 3, 0.2, True),
    _Pace(("read", "mix"), (64,), DEFAULT_DELAYS, 3, 0.2, True),
    _Pace(("read", "mix"), (64,), DEFAULT_DELAYS, 2, 0.1, False),
    _Pace(("read",), (64,), QUICK_DELAYS, 1, 0.1, False),
)
"""The first that fits its share of the budget is taken, the last one in any case."""


def plan_course(
    disk: str | Path | None,
    *,
    budget_s: float | None = None,
    quick: bool = False,
    out_dir: Path | None = None,
    memory: bool = True,
    size_bytes: int | None = None,
    seed: int = 1,
    keep: bool = False,
    consent: Literal["read"] | None = None,
) -> CoursePlan:
    """Plan the course on the drive behind ``disk`` (see :func:`measure.suites.runs.plan_suites`); nothing is written.

    ``budget_s`` is how long the whole may take (default 10 minutes, and with ``quick`` what that takes); the memory
    gets at most 30 % of it. ``out_dir`` is where it will be kept: what is there already decides the size of the
    memory's buffers, so that a course goes on.

    Raises ValueError (a setting, named; a budget that is too small, with the least one) and what
    :func:`measure.fio.plan.plan_workloads` raises.
    """
    if budget_s is not None and budget_s <= 0:
        raise InvalidParameterError("budget_s", f"must be above 0, not {budget_s:g}", value=budget_s)
    if disk is None and not memory:
        raise InvalidParameterError("disk", "is missing: name a directory on the drive, or measure the memory at least")
    whole_s = BUDGET_S if budget_s is None and not quick else budget_s
    share_s = None if whole_s is None else whole_s * (MEMORY_SHARE if disk is not None else 1.0)
    steps, reason = _memory_steps(share_s, out_dir, seed) if memory else ((), "")
    left_out = (f"{MEMORY}: {reason}",) if reason else ()
    if disk is None:
        return CoursePlan(steps, None, left_out)
    spent_s = sum(s.plan.seconds() for s in steps)
    try:
        storage = plan_suites(
            COURSE,
            disk,
            quick=quick,
            budget_s=None if whole_s is None else whole_s - spent_s,
            size_bytes=size_bytes,
            seed=seed,
            keep=keep,
            consent=consent,
        )
    except InvalidParameterError as error:
        if spent_s and error.parameter == "budget_s":
            remedy = f"{error.remedy}; the memory takes {format_duration(spent_s, 2)} more"
            raise InvalidParameterError(error.parameter, error.problem, remedy, error.value) from error
        raise
    return CoursePlan(steps, storage, (*left_out, *storage.left_out))


def _memory_steps(share_s: float | None, out_dir: Path | None, seed: int) -> tuple[tuple[MemoryStep, ...], str]:
    """The sweeps of the memory within ``share_s`` (None: the shortest), or the reason why there are none."""
    paces = _PACES if share_s is not None else _PACES[-1:]
    for pace in paces:
        try:
            steps = _at(pace, None if out_dir is None else _kept_buffer(out_dir / MEMORY), seed)
        except ValueError as error:  # one core, or no room for buffers larger than the caches
            return (), str(error)
        if share_s is None or pace is paces[-1] or sum(s.plan.seconds() for s in steps) <= share_s:
            return steps, ""
    raise AssertionError("the last pace is always taken")


def _at(pace: _Pace, buffer_bytes: int | None, seed: int) -> tuple[MemoryStep, ...]:
    plan = plan_memory(
        pace.delays,
        buffer_bytes=buffer_bytes,
        repeats=pace.repeats,
        seconds_per_repeat=pace.seconds_per_repeat,
        traffic=pace.traffics,
        strides=pace.strides,
        seed=seed,
    )
    loaded = MemoryStep(MEMORY, "What memory takes to answer while it is busy: latency against bandwidth.", plan)
    if not pace.caches:
        return (loaded,)
    sizes = [_SMALLEST_BUFFER]
    while 2 * sizes[-1] <= min(plan.largest_bytes, _LARGEST_BUFFER):
        sizes.append(2 * sizes[-1])
    caches = plan_buffers(sizes, repeats=pace.repeats, seconds_per_repeat=pace.seconds_per_repeat, seed=seed)
    return (loaded, MemoryStep(CACHES, "Where the caches end: latency and bandwidth over the buffer's size.", caches))


def _kept_buffer(directory: Path) -> int | None:
    """The buffer size of a sweep begun in a directory: free memory changes from run to run."""
    if not (directory / MANIFEST).exists():
        return None
    settings = SweepStore.read(directory).manifest.get("settings", {})
    kept = settings.get("buffer_bytes") if isinstance(settings, dict) else None
    return kept if isinstance(kept, int) else None


def run_course(plan: CoursePlan, out_dir: Path, on_progress: Progress | None = None) -> SuiteResults:
    """Measure the missing points below ``out_dir``, as :func:`measure.suites.runs.run_sweeps` does."""
    with nullcontext() if plan.storage is None else plan.storage.file_removed():
        return run_sweeps(plan.sweeps, out_dir, on_progress)
