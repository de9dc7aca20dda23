"""``qsim measure fio`` and ``qsim measure drive``: a drive over loads, block sizes, mixes and patterns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.failures import CommandError, wrong_usage
from calibrate.cli.measuring.run import DriveOptions, PlanOrRun, Target, one_of, planned, ramp_of
from calibrate.cli.options import ArrivalRates, OptionGroup, conflicts, option
from measure.units import counted, format_duration

if TYPE_CHECKING:
    from measure.fio.fio_command import FioJob
    from measure.fio.plan import FioPlan, FioPoint
    from measure.sweep import Sweep

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32, 64))
DEFAULT_RUNTIME_S = 5.0
AUTO_DEPTHS = 6
LEAST_DEPTHS = 3


@dataclass(frozen=True)
class Auto:
    """``auto:6``: at most six depths, each where the knee is least certain."""

    most: int


@parsing.parser
def depths_or_auto(text: str) -> Auto | parsing.Numbers:
    """``1,4,16``, ``1..64``, ``auto``, ``auto:6``."""
    word, colon, most = text.strip().partition(":")
    if word != "auto":
        return parsing.depths(text)
    count = parsing.whole(most) if colon else AUTO_DEPTHS
    if count < LEAST_DEPTHS:
        raise ValueError(f"invalid {text!r}: give auto:{LEAST_DEPTHS} or more, two ends and one between")
    return Auto(count)


@dataclass(frozen=True)
class Requests(OptionGroup):
    """The kinds of requests: all combinations of block sizes, shares of reads and patterns."""

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
        from measure.fio.fio_command import Pattern, combinations

        return combinations(
            list(map(int, depths)),
            arrival_rates=arrival_rates,
            block_bytes=list(map(int, self.block_bytes)),
            read_percent=list(map(int, self.read_percent)),
            pattern=[one_of(Pattern, p) for p in self.pattern],
            jobs=None if jobs is None else list(map(int, jobs)),
        )


@conflicts("--depths", "--arrival-rates", because="a sweep varies one of them")
def measure_fio(
    *,
    target: Target,
    depths: Any = option(
        "N,...|auto:K",
        depths_or_auto,
        "Closed: queue depths; auto:6: at most 6, each where the knee is least certain.",
        default=DEFAULT_DEPTHS,
        shown="1..64 (doubling)",
    ),
    arrival_rates: ArrivalRates = None,
    requests: Requests,
    jobs: parsing.Numbers | None = option(
        "N,...",
        parsing.depths,
        "Jobs, each at the depth; open: jobs that share the arrivals.",
        shown="1; open: what the rates need",
    ),
    runtime: float = option(
        "TIME",
        parsing.seconds,
        "Time per point, after a ramp of a quarter of it (1s at most).",
        default=DEFAULT_RUNTIME_S,
        shown="5s",
    ),
    repeats: int = option("N", parsing.whole, "Rounds over all points.", default=1, shown=True),
    drive: DriveOptions,
    output: PlanOrRun,
) -> CommandResult:
    """Measure a drive with fio over queue depths or arrival rates; each point is stored as it finishes.

    With --depths N requests stay outstanding (closed); with --arrival-rates they arrive as a Poisson process (open).
    All combinations of what is listed are measured.

    TARGET is a directory on the drive, or a new file: qsim fills a test file and removes it at the end. An existing
    file or a device is read only with --allow read, and a device written only with --allow write=NAME.

    \b
    Examples:
    qsim measure fio /mnt/drive --out sweep
    qsim measure fio /mnt/drive --depths 1,4,16,64 --block 4KiB,16KiB --read 100,70,0 --out mixed
    qsim measure fio /mnt/drive --depths auto:6 --out knee
    qsim measure fio /mnt/drive --arrival-rates 500,1k,2k --out open
    """
    if isinstance(depths, Auto):
        return _measure(target, *_adaptive(requests, jobs, depths.most, repeats), runtime, repeats, drive, output)
    return _measure(target, requests.at(depths, arrival_rates, jobs), None, runtime, repeats, drive, output)


def measure_drive(
    *,
    target: Target,
    depths: parsing.Numbers = option(
        "N,...", parsing.depths, "Queue depths.", default=DEFAULT_DEPTHS, shown="1..64 (doubling)"
    ),
    requests: Requests,
    runtime: float = option("TIME", parsing.seconds, "Time per point.", default=DEFAULT_RUNTIME_S, shown="5s"),
    repeats: int = option("N", parsing.whole, "Rounds over all points.", default=1, shown=True),
    drive: DriveOptions,
    output: PlanOrRun,
) -> CommandResult:
    """Measure a drive with qsim's own probe where fio is not installed; each point is stored.

    Threads keep N requests outstanding by direct reads or writes (closed). The probe measures how many requests it
    could hand over, and warns where a point needs more than half of that. The points are read like those of qsim
    measure fio, which also varies jobs and arrival rates.

    TARGET: as for qsim measure fio, without network block devices.

    \b
    Examples:
    qsim measure drive . --out sweep
    qsim measure drive /mnt/drive --depths 1,4,16,64 --block 4KiB,64KiB --read 100,70 --out mixed
    """
    from measure.fio.fio_command import PROBE

    return _measure(target, requests.at(depths), None, runtime, repeats, drive, output, PROBE)


def _adaptive(
    requests: Requests, jobs: parsing.Numbers | None, most: int, repeats: int
) -> tuple[list[FioJob], Callable[[Sweep], FioJob | None]]:
    """The two depths to begin with, and what each next workload is; None when the search is over."""
    from calibrate.next import PAIR, next_depth

    first = requests.at(PAIR, jobs=jobs)
    if len(first) != len(PAIR) or repeats != 1:
        raise wrong_usage("--depths auto varies the depth alone: give one value of every other option")

    def choose(sweep: Sweep) -> FioJob | None:
        if len(sweep.series) > 1:
            raise CommandError(f"{sweep.name} holds other workloads too: give --depths auto a directory of its own")
        depth = next_depth(sweep, most)
        return None if depth is None else requests.at([depth], jobs=jobs)[0]

    return first, choose


def _measure(
    target: str,
    workloads: Sequence[FioJob],
    choose: Callable[[Sweep], FioJob | None] | None,
    runtime_s: float,
    repeats: int,
    drive: DriveOptions,
    output: PlanOrRun,
    engine: Literal["auto", "probe"] = "auto",
) -> CommandResult:
    """Show or run the plan, which counts the points that are in the directory already; ``choose`` adds workloads."""
    from measure.fio.fio_sweep import plan_workloads, run_fio
    from measure.fio.plan import FioSettings
    from measure.store.directory import MANIFEST, SweepStore

    settings = FioSettings(runtime_s, ramp_of(runtime_s), repeats=repeats, engine=engine, **drive.settings())
    plan = plan_workloads(target, workloads, settings)
    kept = output.out is not None and (output.out / MANIFEST).exists()
    finished = SweepStore.read(output.out).contents().finished if output.out is not None and kept else frozenset[str]()
    then = ", then those that narrow the knee most" if choose else ""
    opening = f"{left_text(plan, finished)}{then}, engine {plan.engine}"

    def more(sweep: Sweep) -> list[FioPoint]:
        job = choose(sweep) if choose else None
        return [] if job is None else [plan.point(job, 0)]

    return output.measure(_planned(plan, finished), opening, lambda out, bar: run_fio(plan, out, bar, more))


def left_text(plan: FioPlan, finished: Collection[str]) -> str:
    """The number of points to measure, and the estimated time."""
    left = sum(p.key not in finished for p in plan.points)
    kept = f" ({len(plan.points) - left} of {len(plan.points)} are there already)" if finished else ""
    if not left:
        return f"nothing is left to measure{kept}"
    return f"{counted(left, 'point')}{kept}, about {format_duration(plan.seconds(finished), 2)}"


def _planned(plan: FioPlan, finished: Collection[str]) -> CommandResult:
    """The plan in words with every command; as JSON with every point. ``seconds`` is for what is not finished."""
    rows = [
        {
            "key": p.key,
            "load": p.job.load,
            **asdict(p.job),
            "repeat": p.repeat,
            "seconds": plan.point_seconds,
            "finished": p.key in finished,
            "command": p.command,
        }
        for p in plan.points
    ]
    facts = {
        "engine": plan.engine,
        "engine_reason": plan.engine_reason,
        "runtime_s": plan.settings.runtime_s,
        "ramp_s": plan.settings.ramp_s,
        "fill_seconds": plan.fill_seconds(),
        "seconds": plan.seconds(finished),
    }
    left = f"\n{left_text(plan, finished)}" if finished else ""
    return planned(f"{plan.describe()}{left}", rows, facts, plan.commands)
