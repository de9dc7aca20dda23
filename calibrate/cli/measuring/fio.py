"""``qsim measure fio``: a drive over queue depths or arrival rates, block sizes, mixes, patterns and jobs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.adaptive import (
    Adaptive,
    Tolerance,
    check_adaptive,
    depths_to_choose_among,
    measure_adaptively,
)
from calibrate.cli.measuring.repeating import (
    HowOften,
    Precision,
    Remeasure,
    Repeats,
    Steady,
    first_rounds,
    further_points,
    further_text,
)
from calibrate.cli.measuring.run import (
    DriveOptions,
    PlanOrRun,
    Seed,
    Target,
    check_target,
    kept_in,
    left_text,
    naming_consent,
    one_of,
    plan_document,
    plan_text,
)
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import ArrivalRates, LoadOrder, Ramp
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.sweep import FioPlan
    from measure.store.directory import SweepStore


HELP = """Measure a drive with fio over queue depths or arrival rates; each point is stored as it finishes.

--depths keeps so many requests outstanding (closed); with --arrival-rates they arrive as a Poisson process (open). All
combinations of what is listed are measured.

TARGET is a directory on the drive, or a new file: qsim fills a test file and removes it at the end. An existing file is
only read, with --allow-read; a block device is written to only with --write-device.

\b
Examples:
qsim measure fio /mnt/drive --out sweep
qsim measure fio /mnt/drive --depths 1,4,16,64 --block 4KiB,16KiB --read 100,70,0 --budget 10min --out mixed
qsim measure fio /mnt/drive --arrival-rates 500,1k,2k --out open
qsim measure fio /mnt/drive --adaptive 9 --out knee
"""

DEFAULT_DEPTHS = parsing.Numbers((1, 2, 4, 8, 16, 32, 64))
DEFAULT_BLOCKS = parsing.Numbers((4096,))
DEFAULT_READS = parsing.Numbers((100,))
DEFAULT_PATTERNS = parsing.Words(("random",))
DEFAULT_RUNTIME_S = 5.0
LONGEST_RUNTIME_S = 86400.0
ONCE = Repeats()


def measure_fio(
    *,
    target: Target,
    depths: parsing.Numbers | None = option(
        "N,...", parsing.depths, "Closed: queue depths, as 1,2,4,8 or 1..64 (doubling).", shown="1, 2, 4, ... 64"
    ),
    arrival_rates: ArrivalRates = None,
    block_bytes: parsing.Numbers = option(
        "SIZE,...", parsing.sizes, "Block sizes.", "--block", default=DEFAULT_BLOCKS, shown="4KiB"
    ),
    read_percent: parsing.Numbers = option(
        "PCT,...",
        parsing.percents,
        "Shares of reads: 100 reads, 0 writes.",
        "--read",
        default=DEFAULT_READS,
        shown="100",
    ),
    pattern: parsing.Words = option(
        "PATTERN,...",
        parsing.choices("random", "sequential"),
        "Addresses: random, sequential or both.",
        default=DEFAULT_PATTERNS,
        shown="random",
    ),
    mixing: str = option(
        "HOW",
        parsing.choice("mixed", "parallel"),
        "Reads with writes: mixed in one job, or parallel, a job each.",
        default="mixed",
        shown=True,
    ),
    runtime_s: float | None = option("TIME", parsing.seconds, "Time per point.", "--runtime", shown="5s"),
    budget_s: float | None = option("TIME", parsing.seconds, "Time for the whole, instead of --runtime.", "--budget"),
    ramp_s: Ramp = 1.0,
    drive: DriveOptions,
    repeats: HowOften = ONCE,
    precision: Precision = None,
    steady: Steady = None,
    remeasure: Remeasure = False,
    adaptive: Adaptive = None,
    tolerance: Tolerance = None,
    engine: str = option(
        "NAME", None, "fio's I/O engine: auto, io_uring, libaio, posixaio, psync.", default="auto", shown=True
    ),
    jobs: parsing.Numbers | None = option(
        "N,...",
        parsing.depths,
        "Jobs, each at the depth; open: jobs that share the arrivals.",
        shown="1; open: what the rates need",
    ),
    order: LoadOrder = "ascending",
    seed: Seed = 1,
    log: bool = flag("--log", "Keep the latency of every request (30 bytes each)."),
    write_device: str | None = option(
        "NAME", None, "Consent to writing to this block device or NBD export: its name again. It must be blank."
    ),
    erase: str | None = option(
        "NAME", None, "Consent to DESTROYING what it may hold, where it is not blank: its name once more."
    ),
    output: PlanOrRun,
) -> None:
    """Plan, say what will be done, do it, print the points."""
    _refuse_contradictions(
        closed=depths is not None,
        is_open=arrival_rates is not None,
        timed=runtime_s is not None,
        budgeted=budget_s is not None,
        mixing=mixing,
    )
    check_adaptive(
        adaptive,
        tolerance,
        {
            "--arrival-rates": arrival_rates,
            "--budget": budget_s,
            "--repeats": repeats != ONCE,
            "--remeasure": remeasure,
            "--order": order != "ascending",
        },
    )
    check_target(target)
    output.check()

    from measure.fio.settings import FioSettings
    from measure.fio.sweep import plan_workloads, run_fio
    from measure.fio.workload import Mixing, Order, Pattern, combinations

    workloads = combinations(
        [int(n) for n in depths or (DEFAULT_DEPTHS if adaptive is None else depths_to_choose_among())],
        arrival_rates=arrival_rates,
        block_bytes=[int(b) for b in block_bytes],
        read_percent=[int(p) for p in read_percent],
        pattern=[one_of(Pattern, p) for p in pattern],
        jobs=None if jobs is None else [int(n) for n in jobs],
        mixing=one_of(Mixing, mixing),
    )
    kept = kept_in(output.out)
    with naming_consent():
        settings = FioSettings(
            _runtime(runtime_s, budget_s, kept),
            ramp_s,
            engine=engine,
            seed=seed,
            order=one_of(Order, order),
            repeats=repeats.first if budget_s is None else repeats.most or repeats.first,
            write_device=write_device,
            erase=erase,
            log=log,
            settling=steady,
            **drive.settings(),
        )
        plan = plan_workloads(target, workloads, settings)
    if adaptive is not None:
        measure_adaptively(plan, output, adaptive, tolerance)
        return
    finished = kept.finished() if kept is not None else frozenset[str]()
    if budget_s is not None:
        plan = first_rounds(_within(plan, budget_s, kept, finished), repeats)
    more = further_points(plan, repeats, precision, remeasure)
    further = further_text(plan, repeats, precision, remeasure)
    if output.dry_run:
        text = partial(plan_text, plan, finished, f"\n\nthen {further}" if further else "")
        output.show_plan(text, lambda: plan_document(plan, finished))
        return
    then = f"; then {further}" if further else ""
    output.measure(
        f"{left_text(plan, finished)}{then}, engine {plan.engine}", lambda out, bar: run_fio(plan, out, bar, more)
    )


def _refuse_contradictions(*, closed: bool, is_open: bool, timed: bool, budgeted: bool, mixing: str) -> None:
    if closed and is_open:
        raise wrong_usage("--depths (closed) and --arrival-rates (open) were both given: a sweep varies one of them")
    if timed and budgeted:
        raise wrong_usage("--runtime and --budget were both given: one follows from the other")
    if mixing == "parallel" and is_open:
        raise wrong_usage("--mixing is for --depths: reads and writes that arrive at a rate have jobs of their own")


def _runtime(asked_s: float | None, budget_s: float | None, kept: SweepStore | None) -> float:
    """Time per point: as asked; with a budget that of the directory which is continued, or one to be cut down."""
    if budget_s is not None:
        return float(kept.manifest["settings"].get("runtime_s", DEFAULT_RUNTIME_S)) if kept else LONGEST_RUNTIME_S
    return DEFAULT_RUNTIME_S if asked_s is None else asked_s


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
