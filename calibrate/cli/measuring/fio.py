"""``qsim measure fio`` and ``qsim measure drive``: a drive over loads, block sizes, mixes and patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.console import Result
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.fio_plan import left_text, plan_table
from calibrate.cli.measuring.run import DriveOptions, PlanOrRun, Target, one_of, ramp_of
from calibrate.cli.option_groups import OptionGroup, option
from calibrate.cli.option_rules import exclusive
from calibrate.cli.options import ArrivalRates
from measure import units
from measure.fio.settings import Settling
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.plan import FioPlan
    from measure.fio.workload import FioJob
    from measure.store.directory import SweepStore

HELP = """Measure a drive with fio over queue depths or arrival rates; each point is stored as it finishes.

With --depths N requests stay outstanding (closed); with --arrival-rates they arrive as a Poisson process (open). All
combinations of what is listed are measured.

TARGET is a directory on the drive, or a new file: qsim fills a test file and removes it at the end. An existing file or
a device is read only with --allow read, and a device written only with --allow write=NAME.

\b
Examples:
qsim measure fio /mnt/drive --out sweep
qsim measure fio /mnt/drive --depths 1,4,16,64 --block 4KiB,16KiB --read 100,70,0 --budget 10min --out mixed
qsim measure fio /mnt/drive --arrival-rates 500,1k,2k --out open
qsim measure fio /mnt/drive --depths auto:9 --out knee
"""

HELP_MEASURE_DRIVE = """Measure a drive with qsim's own probe where fio is not installed; each point is stored.

Threads keep N requests outstanding by direct reads or writes (closed). The probe measures how many requests it could
hand over, and warns where a point needs more than half of that. The points are read like those of qsim measure fio,
which also varies jobs and arrival rates.

TARGET: as for qsim measure fio, without network block devices.

\b
Examples:
qsim measure drive . --out sweep
qsim measure drive /mnt/drive --depths 1,4,16,64 --block 4KiB,64KiB --read 100,70 --out mixed
"""

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32, 64))
DEFAULT_RUNTIME_S = 5.0
LONGEST_RUNTIME_S = 86400.0
FEWEST_POINTS, USUAL_POINTS = 3, 9
FEWEST_REPEATS, MOST_REPEATS = 3, 10
PRECISION = 2.0
"""The half width of 95 % intervals, in percent, at which ``--repeats auto`` ends."""


def _auto(text: str, usual: int, least: int, what: str) -> int | None:
    """The number in ``auto:9``, ``usual`` for ``auto`` alone; None where the text is something else."""
    word, colon, most = text.strip().lower().partition(":")
    if word != "auto":
        return None
    found = units.parse_count(most) if colon else usual
    if found != int(found) or found < least:
        raise ValueError(f"invalid value {text!r}: auto takes {least} {what} at least, as auto:{usual}")
    return int(found)


@dataclass(frozen=True)
class Depths:
    """Depths as typed; ``points`` is the most that ``auto`` may measure, None where depths are listed."""

    loads: Sequence[float] = DEFAULT_DEPTHS
    points: int | None = None


@parsing.parser
def depths_or_auto(text: str) -> Depths:
    """``1,2,4``, ``1..64``, ``auto:9``."""
    if (points := _auto(text, USUAL_POINTS, FEWEST_POINTS, "points")) is None:
        return Depths(parsing.depths(text))
    from calibrate.next.adaptive import LOADS

    return Depths(LOADS, points)


@dataclass(frozen=True)
class Runtime:
    """The time per point, or how it settles (None: it is not waited for)."""

    seconds: float = DEFAULT_RUNTIME_S
    settling: Settling | None = None


@parsing.parser
def runtime_or_steady(text: str) -> Runtime:
    """``5s``, ``steady``."""
    if text.strip().lower() == "steady":
        return Runtime(settling=Settling())
    return Runtime(units.parse_duration(text))


@dataclass(frozen=True)
class Repeats:
    """``first`` rounds over all points, and ``most`` of each point (None: no more than the rounds)."""

    first: int = 1
    most: int | None = None

    def further(self, plan: FioPlan) -> str:
        """What may come after the first rounds, in words; empty where nothing can."""
        if self.most is None:
            return ""
        longest = format_duration(len({p.job for p in plan.points}) * (self.most - self.first) * plan.point_seconds)
        return (
            f"up to {self.most} repeats of each point until its mean is known within {PRECISION:g} %: up to {longest} "
            "more; flagged points again, twice at most"
        )


@parsing.parser
def repeats_or_auto(text: str) -> Repeats:
    """``3``, ``auto``, ``auto:20``."""
    if (most := _auto(text, MOST_REPEATS, FEWEST_REPEATS, "repeats")) is not None:
        return Repeats(FEWEST_REPEATS, most)
    rounds = units.parse_count(text)
    if rounds != int(rounds):
        raise ValueError(f"{text!r} is not a whole number; write it like 3, auto or auto:20")
    return Repeats(int(rounds))


@dataclass(frozen=True)
class Requests(OptionGroup):
    """What the requests are: all combinations of block sizes, shares of reads and patterns."""

    block_bytes: parsing.Numbers = option(
        "SIZE,...", parsing.sizes, "Block sizes.", "--block", default=parsing.Numbers((4096,)), shown="4KiB"
    )
    read_percent: parsing.Numbers = option(
        "PCT,...",
        parsing.percents,
        "Shares of reads: 100 reads, 0 writes.",
        "--read",
        default=parsing.Numbers((100,)),
        shown="100",
    )
    pattern: parsing.Words = option(
        "PATTERN,...",
        parsing.choices("random", "sequential"),
        "Addresses: random, sequential or both.",
        default=parsing.Words(("random",)),
        shown="random",
    )

    def at(
        self, depths: Sequence[float], arrival_rates: Sequence[float] | None = None, jobs: Sequence[float] | None = None
    ) -> list[FioJob]:
        """The workloads at depths or, open, at arrival rates."""
        from measure.fio.workload import Pattern, combinations

        return combinations(
            list(map(int, depths)),
            arrival_rates=arrival_rates,
            block_bytes=list(map(int, self.block_bytes)),
            read_percent=list(map(int, self.read_percent)),
            pattern=[one_of(Pattern, p) for p in self.pattern],
            jobs=None if jobs is None else list(map(int, jobs)),
        )


@exclusive("--depths", "--arrival-rates", because="a sweep varies one of them")
@exclusive("--runtime", "--budget", because="one follows from the other")
def measure_fio(
    *,
    target: Target,
    depths: Depths = option(
        "N,...|auto:K",
        depths_or_auto,
        "Closed: queue depths, as 1,2,4,8 or 1..64 (doubling); auto:9 finds the knee in at most 9 points.",
        default=Depths(),
        shown="1, 2, 4, ... 64",
    ),
    arrival_rates: ArrivalRates = None,
    requests: Requests,
    jobs: parsing.Numbers | None = option(
        "N,...",
        parsing.depths,
        "Jobs, each at the depth; open: jobs that share the arrivals.",
        shown="1; open: what the rates need",
    ),
    runtime_s: Runtime = option(
        "TIME|steady",
        runtime_or_steady,
        "Time per point, after a ramp of a quarter of it (1s at most); steady: until its throughput is.",
        "--runtime",
        default=Runtime(),
        shown="5s",
    ),
    budget_s: float | None = option("TIME", parsing.seconds, "Time for the whole, instead of --runtime.", "--budget"),
    repeats: Repeats = option(
        "N|auto",
        repeats_or_auto,
        f"Rounds over all points; auto (auto:20: at most 20) repeats until means are known within {PRECISION:g} %.",
        default=Repeats(),
        shown="1",
    ),
    drive: DriveOptions,
    output: PlanOrRun,
) -> Result:
    """Plan, say what will be done, do it, print the points."""
    if depths.points is not None and (arrival_rates is not None or budget_s is not None or repeats != Repeats()):
        raise wrong_usage("--depths auto chooses its points itself: leave out --budget and --repeats")
    workloads = requests.at(depths.loads, arrival_rates, jobs)
    kept = _kept(output.out)
    plan = _plan(target, workloads, runtime_s, repeats, drive, budget_s, kept)
    if depths.points is not None:
        from calibrate.cli.measuring.adaptive import measure_adaptively

        return measure_adaptively(plan, output, depths.points)
    return _measure(plan, repeats, output, kept)


def measure_drive(
    *,
    target: Target,
    depths: parsing.Numbers = option(
        "N,...", parsing.depths, "Queue depths, as 1,2,4,8 or 1..64 (doubling).", default=DEFAULT_DEPTHS, shown="1..64"
    ),
    requests: Requests,
    runtime_s: float = option(
        "TIME", parsing.seconds, "Time per point.", "--runtime", default=DEFAULT_RUNTIME_S, shown="5s"
    ),
    repeats: int = option("N", parsing.whole, "Rounds over all points.", default=1, shown=True),
    drive: DriveOptions,
    output: PlanOrRun,
) -> Result:
    """The same by the probe, over depths alone."""
    from measure.fio.command import PROBE

    rounds = Repeats(repeats)
    plan = _plan(target, requests.at(depths), Runtime(runtime_s), rounds, drive, engine=PROBE)
    return _measure(plan, rounds, output, _kept(output.out))


def _plan(
    target: str,
    workloads: Sequence[FioJob],
    runtime: Runtime,
    repeats: Repeats,
    drive: DriveOptions,
    budget_s: float | None = None,
    kept: SweepStore | None = None,
    engine: str = "auto",
) -> FioPlan:
    """The first rounds of the plan. With a budget it has room for all repeats; a directory keeps its time per point."""
    from measure.fio.settings import FioSettings
    from measure.fio.sweep import plan_workloads

    seconds = runtime.seconds
    if budget_s is not None:
        seconds = float(kept.manifest["settings"].get("runtime_s", seconds)) if kept else LONGEST_RUNTIME_S
    settings = FioSettings(
        seconds,
        ramp_of(seconds),
        repeats=repeats.first if budget_s is None else repeats.most or repeats.first,
        engine=engine,
        settling=runtime.settling,
        **drive.settings(),
    )
    plan = plan_workloads(target, workloads, settings)
    if budget_s is None:
        return plan
    if kept is None:
        plan = plan.within(budget_s)
    elif (left_s := plan.seconds(kept.finished())) > budget_s:
        raise wrong_usage(
            f"--budget {format_duration(budget_s)} is too short: the points that are missing in {kept.directory} take "
            f"{format_duration(left_s)}, {format_duration(plan.settings.runtime_s)} each as the others there"
        )
    return replace(plan, points=tuple(p for p in plan.points if p.repeat < repeats.first))


def _measure(plan: FioPlan, repeats: Repeats, output: PlanOrRun, kept: SweepStore | None) -> Result:
    """Show or run the plan; with ``--repeats auto`` until points are precise, and flagged ones again."""
    from measure.again import either, flagged_again, until_precise
    from measure.fio.sweep import run_fio

    finished = kept.finished() if kept is not None else frozenset[str]()
    more = None
    if repeats.most is not None:
        more = either(until_precise(plan, PRECISION / 100, repeats.most), flagged_again(plan))
    then = f"then {further}" if (further := repeats.further(plan)) else ""
    opening = f"{left_text(plan, finished)}{f'; {then}' if then else ''}, engine {plan.engine}"
    return output.measure(plan_table(plan, finished, then), opening, lambda out, bar: run_fio(plan, out, bar, more))


def _kept(directory: Path | None) -> SweepStore | None:
    """The sweep that is in the directory already."""
    from measure.store.directory import MANIFEST, SweepStore

    return SweepStore.read(directory) if directory is not None and (directory / MANIFEST).exists() else None
