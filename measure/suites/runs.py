"""Suites: named questions about a drive, each with the workloads that answer it.

Together (``course``) they measure the topics of the published course reports: baselines, block sizes, mixes, depths,
tails, and arrival rates. Only drives are measured here; the memory has its own probe.

A run has one sweep directory for each suite, and one test file for all of them.

    OUT/baseline/    a sweep of :mod:`measure.fio.fio_sweep`, as every other
    OUT/rate-peak/   the closed points from which the rates are derived
    OUT/rate/        the open ones
    ...

The file is written once and reused by every suite. A suite that fails is reported and the others are measured; starting
again measures what is missing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from typing import Literal

from measure.errors import MeasureError, StoreError, ToolFailedError
from measure.fio.fio_command import SLOWEST_SUBMITTER_PER_S, FioJob, submitters
from measure.fio.fio_sweep import run_fio
from measure.fio.plan import GAPS, START_S, FioPlan, FioSettings, passes, plan_workloads
from measure.fio.stored_points import BUSY
from measure.machine.own_file import Target, remove_leftover
from measure.machine.safety import test_file
from measure.store.directory import MANIFEST
from measure.store.measuring import Progress
from measure.sweep import Sweep
from measure.units import format_duration
from qsim.errors import InvalidParameterError

KIB = 1024


@dataclass(frozen=True)
class Suite:
    """One question with its workloads, all closed.

    A point of a suite with ``patience`` 2 runs twice as long as the others. ``fractions`` make it an open one: its
    workloads only find the peak and the latency of a lone request; then requests arrive at these shares of the peak.
    """

    name: str
    purpose: str
    workloads: tuple[FioJob, ...]
    patience: float = 1.0
    fractions: tuple[float, ...] = ()

    def reading(self) -> Suite:
        """The suite without workloads that write; it may have none left."""
        return replace(self, workloads=tuple(w for w in self.workloads if w.read_percent == 100))


def _all(quick: bool) -> tuple[Suite, ...]:
    def reads_and_writes(depths: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[FioJob, ...]:
        shares = (100, 0)
        return tuple(FioJob(n, 1, size * KIB, read, "random") for read in shares for n in depths for size in sizes)

    sizes, shares = ((4, 64), (100, 50, 0)) if quick else ((4, 16, 64), (100, 70, 50, 30, 0))
    depths = (1, 4, 16, 64) if quick else (1, 2, 4, 8, 16, 32, 64, 256, 1024)
    curves = ((4, 100), (4, 0)) if quick else ((4, 100), (32, 100), (4, 50), (4, 0))
    return (
        Suite(
            "baseline",
            "What one request takes by itself: 4 KiB random and 128 KiB sequential, read and write.",
            (*reads_and_writes((1,), (4,)), *(FioJob(1, 1, 128 * KIB, read, "sequential") for read in (100, 0))),
        ),
        Suite(
            "block-size",
            "Where not the number of requests but their bytes become the limit: one request at a time.",
            reads_and_writes((1,), (4, 16, 64, 256) if quick else (4, 8, 16, 32, 64, 128, 256, 512)),
        ),
        Suite(
            "mix",
            "What reads and writes do to each other: every mix of several sizes, one request at a time.",
            tuple(FioJob(1, 1, size * KIB, read, "random") for size in sizes for read in shares),
        ),
        Suite(
            "depth",
            "What more requests at once bring, and from where on they only wait: the knee.",
            tuple(FioJob(depth, 1, size * KIB, read, "random") for size, read in curves for depth in depths),
        ),
        Suite(
            "tails",
            "How long the unlucky ones wait: p50 to p99.9 of 4 KiB reads and writes, in longer runs.",
            reads_and_writes((1, 4, 16) if quick else (1, 2, 4, 8, 16, 32), (4,)),
            patience=2.0,
        ),
        Suite(
            "rate",
            "What requests wait that arrive by themselves: 4 KiB reads at shares of the peak measured just before.",
            tuple(FioJob(depth, 1, 4 * KIB, 100, "random") for depth in (1, 32)),
            fractions=(0.3, 0.6, 0.8) if quick else (0.1, 0.3, 0.5, 0.7, 0.8),
        ),
    )


COURSE = "course"
SUITE_NAMES = (*(suite.name for suite in _all(quick=True)), COURSE)


def suites(name: str, *, quick: bool = False) -> tuple[Suite, ...]:
    """The suites of a name: one, or all of them (``course``). ``quick`` uses fewer points.

    Raises ValueError listing the names.
    """
    if name not in SUITE_NAMES:
        raise ValueError(f"there is no suite {name!r}; there are {', '.join(SUITE_NAMES)}")
    return tuple(suite for suite in _all(quick) if name in (COURSE, suite.name))


QUICK_FILE_BYTES = 64 * 2**20
RUNTIME_S, QUICK_RUNTIME_S = 2.0, 0.5
REPEATS = 3
OPEN_RAMP_S = 0.5  # the first requests of all jobs come at once, and their queue takes a while to clear
SHORTEST_OPEN_S = OPEN_RAMP_S + GAPS / SLOWEST_SUBMITTER_PER_S
"""The least runtime, seconds, that is valid at any rate of :func:`arrivals`, see ``shortest_run_s``."""
RAMP_SHARE = 0.25  # ramp before a point is counted, as a share of the runtime
SHORTEST_MS = 100  # fio's least runtime
SHORTEST_S = 0.3  # a shorter run is mostly start and end
MOST_JOBS = 512  # jobs that wait for arrivals: more would take the processors from the device
WORTH_REPEATING_S = 1.0  # a budget buys repeats only while runs last at least this


@dataclass(frozen=True)
class PlannedSweep:
    """One sweep of several: its directory, purpose, number of points, seconds of all and of one, and its run.

    ``run(directory, on_progress, measured)`` has the sweeps before it by directory.
    """

    directory: str
    purpose: str
    count: int
    seconds: float
    point_s: float
    run: Callable[[Path, Progress, Mapping[str, Sweep]], Sweep]


@dataclass(frozen=True)
class SuiteResults:
    """The sweeps by directory, in order, and the reasons why others are missing."""

    sweeps: Mapping[str, Sweep]
    failed: Mapping[str, str] = field(default_factory=dict)


def run_sweeps(planned: Sequence[PlannedSweep], out_dir: Path, on_progress: Progress | None = None) -> SuiteResults:
    """Measure the missing points of every sweep below ``out_dir``; one that fails does not stop the others.

    ``on_progress(done, total, seconds_left, text)`` counts over all sweeps. Raises StoreError where ``out_dir`` holds
    something else, and the first failure where every sweep failed.
    """
    if out_dir.exists() and not out_dir.is_dir():
        raise StoreError(f"{out_dir} is a file, not a directory; choose another --out")
    if (out_dir / MANIFEST).exists():
        raise StoreError(f"{out_dir} holds a single sweep, not several; choose another --out")

    def progress_of(place: int) -> Progress:
        before, total = sum(s.count for s in planned[:place]), sum(s.count for s in planned)
        later_s = sum(s.seconds for s in planned[place + 1 :])

        def report(done: int, _: int, seconds_left: float, text: str) -> None:
            if on_progress is not None:
                on_progress(before + done, total, seconds_left + later_s, f"{planned[place].directory}: {text}")

        return report

    sweeps: dict[str, Sweep] = {}
    failures: dict[str, MeasureError] = {}
    for place, sweep in enumerate(planned):
        try:
            sweeps[sweep.directory] = sweep.run(out_dir / sweep.directory, progress_of(place), sweeps)
        except MeasureError as error:
            failures[sweep.directory] = error
    if not sweeps:
        raise next(iter(failures.values()))
    return SuiteResults(sweeps, {name: str(error) for name, error in failures.items()})


@dataclass(frozen=True)
class SuiteStep:
    """One sweep directory of a suite: its workloads, or its rates, from the peak that the step ``after`` found."""

    directory: str
    suite: Suite
    after: str = ""


@dataclass(frozen=True)
class SuitePlan:
    """A checked plan of suites. ``left_out`` says what is not measured, and why.

    ``settings`` are those of a closed point with ``patience`` 1.
    """

    name: str
    steps: tuple[SuiteStep, ...]
    target: str
    settings: FioSettings
    fill_seconds: float
    left_out: tuple[str, ...] = ()
    file: Target | None = None

    @property
    def repeats(self) -> int:
        """The number of rounds over the points."""
        return self.settings.repeats

    @property
    def size_bytes(self) -> int | None:
        """Bytes of the target that are measured; None: all."""
        return None if self.file is None else self.file.size_bytes

    @property
    def ramp_s(self) -> float:
        """Seconds that a closed point runs before it is counted."""
        return round(RAMP_SHARE * self.settings.runtime_s, 3)

    @property
    def sweeps(self) -> tuple[PlannedSweep, ...]:
        """The sweep of each step."""
        return tuple(map(self._planned, self.steps))

    def _planned(self, step: SuiteStep) -> PlannedSweep:
        def run(directory: Path, progress: Progress, measured: Mapping[str, Sweep]) -> Sweep:
            return run_fio(self.fio_plan(step, measured), directory, progress)

        settings, suite = self._settings_of(step), step.suite
        count = self.repeats * len(suite.fractions if step.after else suite.workloads)
        seconds = count * (settings.runtime_s + settings.ramp_s + START_S)
        return PlannedSweep(step.directory, suite.purpose, count, seconds, settings.runtime_s, run)

    def _settings_of(self, step: SuiteStep) -> FioSettings:
        runtime_s, ramp_s = round(self.settings.runtime_s * step.suite.patience, 3), self.ramp_s
        if step.after:
            runtime_s, ramp_s = max(runtime_s, SHORTEST_OPEN_S), OPEN_RAMP_S
        details = {"suite": step.suite.name}
        return replace(
            self.settings, runtime_s=runtime_s, ramp_s=ramp_s, size_bytes=self.size_bytes, keep=True, details=details
        )

    @property
    def points(self) -> int:
        """The number of points, repeats included."""
        return sum(sweep.count for sweep in self.sweeps)

    def seconds(self) -> float:
        """Estimated seconds of all suites."""
        return self.fill_seconds + sum(sweep.seconds for sweep in self.sweeps)

    @contextmanager
    def file_removed(self) -> Iterator[None]:
        """Remove the test file at the end of the block, whatever happens, unless it is kept."""
        try:
            yield
        finally:
            if self.file is not None and not self.settings.keep:
                remove_leftover(self.file)

    def within(self, budget_s: float) -> SuitePlan:
        """The plan with the most repeats (up to 3) that leave runs of a second, and the longest runs within the budget.

        ValueError naming the least budget where none fits.
        """
        for repeats in range(REPEATS, 0, -1):
            plan = self._at(repeats, self._longest_runtime(repeats, budget_s))
            if plan.settings.runtime_s >= (SHORTEST_S if repeats == 1 else WORTH_REPEATING_S):
                return plan
        least_s = format_duration(ceil(self._at(1, SHORTEST_S).seconds()))
        raise InvalidParameterError(
            "budget_s",
            f"is too short: {self.points // self.repeats} workloads take at least {least_s}",
            "give more time, or ask for fewer points",
        )

    def _longest_runtime(self, repeats: int, budget_s: float) -> float:
        """The longest runtime of whole milliseconds within the budget, or the shortest valid one; seconds."""
        runtimes = range(SHORTEST_MS, max(round(1000 * budget_s), 1000))
        fits = bisect_right(runtimes, budget_s, key=lambda ms: self._at(repeats, ms / 1000).seconds())
        return runtimes[max(fits - 1, 0)] / 1000

    def _at(self, repeats: int, runtime_s: float) -> SuitePlan:
        return replace(self, settings=replace(self.settings, repeats=repeats, runtime_s=runtime_s))

    def fio_plan(self, step: SuiteStep, measured: Mapping[str, Sweep]) -> FioPlan:
        """The plan of one step; ``measured`` holds the sweeps of earlier steps, by directory.

        Raises what :func:`measure.fio.plan.plan_workloads` does, and ToolFailedError where the peak is missing.
        """
        workloads = step.suite.workloads
        if step.after:
            if step.after not in measured:
                raise ToolFailedError(f"the rates of {step.directory} are shares of a peak that was not measured")
            workloads = arrivals(measured[step.after], step.suite.fractions)
        return plan_workloads(self.target, workloads, self._settings_of(step))


def plan_suites(
    name: str,
    target: str | Path,
    *,
    quick: bool = False,
    runtime_s: float | None = None,
    budget_s: float | None = None,
    size_bytes: int | None = None,
    seed: int = 1,
    keep: bool = False,
    consent: Literal["read"] | None = None,
) -> SuitePlan:
    """Plan the suite ``name`` (see :mod:`measure.suites.runs`) on ``target``; nothing is written.

    ``budget_s`` limits the whole time, instead of ``runtime_s`` a point: it buys repeats (at most 3) as long as runs
    last a second, and the rest goes into longer runs. On a target that is not qsim's own file the suites only read,
    and ``left_out`` says so.

    Raises ValueError (a setting, named; a budget that is too small, with the least one), and what
    :func:`measure.fio.plan.plan_workloads` raises.
    """
    if budget_s is not None and runtime_s is not None:
        raise InvalidParameterError("budget_s", "and runtime_s were both given", "give one of them")
    chosen = suites(name, quick=quick)
    if size_bytes is None and quick and not test_file(Path(target)).exists():
        size_bytes = QUICK_FILE_BYTES
    usual_s, repeats = (QUICK_RUNTIME_S, 1) if quick else (RUNTIME_S, REPEATS)
    settings = FioSettings(
        runtime_s=usual_s if runtime_s is None else runtime_s,
        ramp_s=0.0,
        repeats=repeats,
        size_bytes=size_bytes,
        seed=seed,
        keep=keep,
        consent=consent,
    )
    reading = tuple(s.reading() for s in chosen)
    # A read-only plan shows whether the target may be written.
    file = plan_workloads(target, [w for s in reading for w in s.workloads], settings).file
    allowed: tuple[Suite, ...] = chosen
    left_out: tuple[str, ...] = ()
    if file is None or file.kind != "own file":
        allowed = reading
        names = [s.name for s, reads in zip(chosen, reading, strict=True) if s != reads]
        left_out = tuple(f"{n}: the writes are left out, since {target} is not a test file of qsim" for n in names)
    steps = tuple(step for s in allowed for step in _steps(s))
    # Also where the file is there already, so that a budget always buys the same.
    new = None if file is None else replace(file, filled=False, scattered=False)
    fill_s = sum(p.seconds for p in passes(new, "", [w for s in allowed for w in s.workloads]))
    plan = SuitePlan(name, steps, str(target), settings, fill_s, left_out, file)
    return plan if budget_s is None else plan.within(budget_s)


def run_suites(plan: SuitePlan, out_dir: Path, on_progress: Progress | None = None) -> SuiteResults:
    """Measure what is missing of every suite below ``out_dir``, as :func:`run_sweeps`.

    The test file is removed at the end, whatever happens, unless the plan keeps it.
    """
    with plan.file_removed():
        return run_sweeps(plan.sweeps, out_dir, on_progress)


def arrivals(peak: Sweep, fractions: Sequence[float]) -> tuple[FioJob, ...]:
    """Open workloads at ``fractions`` of the largest throughput in ``peak``, each with enough jobs to be seldom busy.

    On average rate times latency requests are outstanding: with the latency of the least depth, times about
    1 / (1 - fraction) for queueing near the peak.
    """
    points = peak.mean_points().sort_values("load")
    most = float(points["throughput_per_s"].max())
    lone_s, block_bytes = (float(points[c].iloc[0]) for c in ("latency_s", "block_bytes"))
    workloads = []
    for fraction in fractions:
        rate = max(1.0, float(f"{fraction * most:.3g}"))
        wanted = min(ceil(rate * lone_s / (1 - fraction) / BUSY), MOST_JOBS, int(rate / SLOWEST_SUBMITTER_PER_S))
        workloads.append(FioJob.open(rate, block_bytes=int(block_bytes), jobs=max(submitters(rate), wanted)))
    return tuple(workloads)


def _steps(suite: Suite) -> tuple[SuiteStep, ...]:
    """The sweeps of a suite: one, or the peak and then the rates derived from it."""
    if not suite.fractions:
        return (SuiteStep(suite.name, suite),) if suite.workloads else ()
    peak = f"{suite.name}-peak"
    return SuiteStep(peak, suite), SuiteStep(suite.name, suite, after=peak)
