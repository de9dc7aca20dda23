"""``qsim measure fio``: a drive over queue depths or arrival rates, block sizes, mixes, patterns and jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.fio_options import (
    FEWEST_REPEATS,
    PRECISION,
    Depths,
    Repeats,
    Runtime,
    depths,
    further_text,
    repeats_of,
    runtime,
)
from calibrate.cli.measuring.run import (
    DriveOptions,
    PlanOrRun,
    Target,
    check_target,
    fio_plan_table,
    kept_in,
    left_text,
    naming_consent,
    one_of,
    ramp_of,
)
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import exclusive
from calibrate.cli.options import ArrivalRates
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.plan import FioPlan, FioPoint
    from measure.store.directory import SweepStore
    from measure.store.measuring import More
    from measure.sweep import Sweep


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

DEFAULT_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
DEFAULT_RUNTIME_S = 5.0
LONGEST_RUNTIME_S = 86400.0
ONE = "a sweep varies one of them"
CHOOSES = "--depths auto chooses its points itself"


@exclusive("--depths", "--arrival-rates", because=ONE)
@exclusive("--runtime", "--budget", because="one follows from the other")
def measure_fio(
    *,
    target: Target,
    asked: Depths | None = option(
        "N,...|auto:K",
        depths,
        "Closed: queue depths, as 1,2,4,8 or 1..64 (doubling); auto:9 finds the knee in at most 9 points.",
        "--depths",
        shown="1, 2, 4, ... 64",
    ),
    arrival_rates: ArrivalRates = None,
    block_bytes: parsing.Numbers = option(
        "SIZE,...", parsing.sizes, "Block sizes.", "--block", default=parsing.Numbers((4096,)), shown="4KiB"
    ),
    read_percent: parsing.Numbers = option(
        "PCT,...",
        parsing.percents,
        "Shares of reads: 100 reads, 0 writes.",
        "--read",
        default=parsing.Numbers((100,)),
        shown="100",
    ),
    pattern: parsing.Words = option(
        "PATTERN,...",
        parsing.choices("random", "sequential"),
        "Addresses: random, sequential or both.",
        default=parsing.Words(("random",)),
        shown="random",
    ),
    jobs: parsing.Numbers | None = option(
        "N,...",
        parsing.depths,
        "Jobs, each at the depth; open: jobs that share the arrivals.",
        shown="1; open: what the rates need",
    ),
    runtime_s: Runtime | None = option(
        "TIME|steady",
        runtime,
        "Time per point, after a ramp of a quarter of it (1s at most); steady: until its throughput is.",
        "--runtime",
        shown="5s",
    ),
    budget_s: float | None = option("TIME", parsing.seconds, "Time for the whole, instead of --runtime.", "--budget"),
    repeats: Repeats = option(
        "N|auto",
        repeats_of,
        f"Rounds over all points; auto (auto:20: at most 20) repeats until means are known within {PRECISION:g} %.",
        default=Repeats(),
        shown="1",
    ),
    drive: DriveOptions,
    output: PlanOrRun,
) -> None:
    """Plan, say what will be done, do it, print the points."""
    check_target(target)
    output.check()

    from measure.fio.settings import FioSettings
    from measure.fio.sweep import plan_workloads, run_fio
    from measure.fio.workload import Pattern, combinations

    points = None if asked is None else asked.points
    if points is not None and (arrival_rates is not None or budget_s is not None or repeats != Repeats()):
        raise wrong_usage(f"{CHOOSES}: leave out --budget and --repeats")
    workloads = combinations(
        _depths(asked),
        arrival_rates=arrival_rates,
        block_bytes=[int(b) for b in block_bytes],
        read_percent=[int(p) for p in read_percent],
        pattern=[one_of(Pattern, p) for p in pattern],
        jobs=None if jobs is None else [int(n) for n in jobs],
    )
    kept = kept_in(output.out)
    seconds = _runtime(runtime_s, budget_s, kept)
    with naming_consent():
        settings = FioSettings(
            seconds,
            ramp_of(seconds),
            repeats=repeats.first if budget_s is None else repeats.most or repeats.first,
            settling=None if runtime_s is None else runtime_s.settling,
            size_bytes=drive.size_bytes,
            consent=drive.consent,
            write_device=drive.allow.write,
            erase=drive.allow.erase,
        )
        plan = plan_workloads(target, workloads, settings)
    if points is not None:
        from calibrate.cli.measuring.adaptive import measure_adaptively

        measure_adaptively(plan, output, points)
        return
    finished = kept.finished() if kept is not None else frozenset[str]()
    if budget_s is not None:
        plan = repeats.first_rounds(_within(plan, budget_s, kept, finished))
    further = further_text(plan, repeats)
    if output.dry_run:
        output.show_plan(fio_plan_table(plan, finished, further))
        return
    then = f"; then {further}" if further else ""
    opening = f"{left_text(plan, finished)}{then}, engine {plan.engine}"
    output.measure(opening, lambda out, bar: run_fio(plan, out, bar, _more(plan, repeats)))


def _depths(asked: Depths | None) -> list[int]:
    if asked is None:
        return list(DEFAULT_DEPTHS)
    if asked.points is None:
        return [int(n) for n in asked.loads]
    from calibrate.next.adaptive_sweep import LOADS

    return [int(n) for n in LOADS]


def _more(plan: FioPlan, repeats: Repeats) -> More[Sweep, FioPoint] | None:
    """With ``--repeats auto``: points are repeated until they are precise, and flagged ones measured again."""
    if repeats.most is None:
        return None
    from measure.again import either, flagged_again, until_precise

    return either(until_precise(plan, PRECISION / 100, max(repeats.most, FEWEST_REPEATS)), flagged_again(plan))


def _runtime(asked: Runtime | None, budget_s: float | None, kept: SweepStore | None) -> float:
    """Time per point: as asked; with a budget that of the directory which is continued, or one to be cut down."""
    if budget_s is not None:
        return float(kept.manifest["settings"].get("runtime_s", DEFAULT_RUNTIME_S)) if kept else LONGEST_RUNTIME_S
    return DEFAULT_RUNTIME_S if asked is None or asked.seconds is None else asked.seconds


def _within(plan: FioPlan, budget_s: float, kept: SweepStore | None, finished: frozenset[str]) -> FioPlan:
    """The plan that fits the budget, with all repeats that there may be. A directory keeps its time per point."""
    if kept is None:
        return plan.within(budget_s)
    if plan.seconds(finished) > budget_s:
        raise wrong_usage(
            f"--budget {format_duration(budget_s)} is too short: the points that are missing in {kept.directory} take "
            f"{format_duration(plan.seconds(finished))}, {format_duration(plan.runtime_s)} each as the others there"
        )
    return plan
