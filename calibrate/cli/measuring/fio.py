"""``qsim measure fio``: a drive over queue depths or arrival rates, block sizes, mixes, patterns and jobs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.adaptive import (
    Adaptive,
    Tolerance,
    check_adaptive,
    depths_to_choose_among,
    measure_adaptively,
)
from calibrate.cli.measuring.hosts import hosts_of, measure_on_hosts, refuse_with_hosts
from calibrate.cli.measuring.plan_table import kept_in, left_text, plan_document, plan_text
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
from calibrate.cli.measuring.run import DriveOptions, PlanOrRun, Seed, Target, check_target, naming_consent, one_of
from calibrate.cli.options import ArrivalRates, LoadOrder, Ramp
from measure.units import format_duration

if TYPE_CHECKING:
    from measure.fio.sweep import FioPlan
    from measure.store.directory import SweepStore

HELP = """Measure a drive with fio over queue depths or arrival rates, each point kept as it is finished.

Over --depths so many requests circulate (closed); over --arrival-rates they arrive as a Poisson process, whether or not
the drive keeps up (open). Several block sizes, shares of reads, patterns and jobs are measured in every combination.

TARGET is a directory on the drive, or a file that does not exist yet: qsim creates a test file, fills it once, and
removes it at the end. A file that exists is never written to, and read only with --allow-read; a block device is
written to only with --write-device.

\b
Examples:
qsim measure fio /mnt/drive --depths 1..64 --out sweep
qsim measure fio /mnt/drive --depths 1,4,16,64 --block 4KiB,16KiB --read 100,70,0 --budget 10min --out mixed
qsim measure fio /mnt/drive --arrival-rates 500,1k,2k --out open
qsim measure fio /mnt/drive --adaptive 9 --out knee
qsim measure fio /dev/nvme1n1 --allow-read --out whole-drive --dry-run
qsim measure fio /mnt/drive --hosts node1,node2:8766 --out cluster
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
    depths: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="N,...", parser=parsing.depths, show_default="1..64",
                     help="Closed: queue depths, as 1,2,4,8 or 1..64 (doubling)."),
    ] = None,
    arrival_rates: ArrivalRates = None,
    block_bytes: Annotated[
        parsing.Numbers,
        typer.Option("--block", metavar="SIZE,...", parser=parsing.sizes, show_default="4KiB", help="Block sizes."),
    ] = DEFAULT_BLOCKS,
    read_percent: Annotated[
        parsing.Numbers,
        typer.Option("--read", metavar="PCT,...", parser=parsing.percents, show_default="100",
                     help="Shares of reads: 100 reads, 0 writes."),
    ] = DEFAULT_READS,
    pattern: Annotated[
        parsing.Words,
        typer.Option(metavar="PATTERN,...", parser=parsing.choices("random", "sequential"), show_default="random",
                     help="Addresses: random, sequential or both."),
    ] = DEFAULT_PATTERNS,
    mixing: Annotated[
        str,
        typer.Option(metavar="HOW", parser=parsing.choice("mixed", "parallel"),
                     help="Reads with writes: mixed (each request is one or the other) or parallel (a reading and a "
                     "writing job at the same time, which share the depth)."),
    ] = "mixed",
    runtime_s: Annotated[
        float | None,
        typer.Option("--runtime", metavar="TIME", parser=parsing.seconds, show_default="5s", help="Time per point."),
    ] = None,
    budget_s: Annotated[
        float | None,
        typer.Option("--budget", metavar="TIME", parser=parsing.seconds, show_default=False,
                     help="Instead of --runtime: the time for everything, shared by the points."),
    ] = None,
    ramp_s: Ramp = 1.0,
    drive: DriveOptions,
    repeats: HowOften = ONCE,
    precision: Precision = None,
    steady: Steady = None,
    remeasure: Remeasure = False,
    adaptive: Adaptive = None,
    tolerance: Tolerance = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="fio's I/O engine: auto, io_uring, libaio, posixaio, psync.")
    ] = "auto",
    jobs: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="N,...", parser=parsing.depths, show_default="1; for arrival rates what they need",
                     help="Jobs, each at the depth; or the jobs that share the arrivals."),
    ] = None,
    order: LoadOrder = "ascending",
    seed: Seed = 1,
    log: Annotated[
        bool,
        typer.Option("--log", help="Keep the latency of every request (30 bytes each), beside the histograms that are "
                     "always kept."),
    ] = False,
    write_device: Annotated[
        str | None,
        typer.Option("--write-device", metavar="/dev/NAME", show_default=False,
                     help="Consent to DESTROYING what this block device holds: its name, typed a second time."),
    ] = None,
    hosts: Annotated[
        parsing.Words | None,
        typer.Option(metavar="HOST,...", parser=parsing.words, show_default=False,
                     help="Measure on these hosts at once, NAME or NAME:PORT; fio --server runs on each. TARGET is a "
                     "directory there."),
    ] = None,
    hosts_file: Annotated[
        Path | None,
        typer.Option("--hosts-file", metavar="FILE", parser=parsing.path, show_default=False,
                     help="The same from a file, one host a line."),
    ] = None,
    output: PlanOrRun,
) -> None:  # fmt: skip
    """Plan, say what will be done, do it, print the points."""
    _refuse_contradictions(
        closed=depths is not None, is_open=arrival_rates is not None, timed=runtime_s is not None,
        budgeted=budget_s is not None, mixing=mixing,
    )  # fmt: skip
    check_adaptive(adaptive, tolerance, {
        "--arrival-rates": arrival_rates, "--budget": budget_s, "--repeats": repeats != ONCE, "--remeasure": remeasure,
        "--order": order != "ascending", "--hosts": hosts, "--hosts-file": hosts_file,
    })  # fmt: skip
    check_target(target)
    output.check()

    from measure.fio.settings import FioSettings, RunSettings
    from measure.fio.sweep import plan_workloads, run_fio
    from measure.fio.workload import Mixing, Order, Pattern, combinations

    workloads = combinations(
        [int(n) for n in depths or (DEFAULT_DEPTHS if adaptive is None else depths_to_choose_among())],
        arrival_rates=arrival_rates,
        block_bytes=[int(b) for b in block_bytes], read_percent=[int(p) for p in read_percent],
        pattern=[one_of(Pattern, p) for p in pattern],
        jobs=None if jobs is None else [int(n) for n in jobs],
        mixing=one_of(Mixing, mixing),
    )  # fmt: skip
    if remote := hosts_of(hosts, hosts_file):
        refuse_with_hosts({
            "--arrival-rates": arrival_rates, "--mixing parallel": mixing == "parallel", "--budget": budget_s,
            "--keep": drive.keep, "--write-device": write_device, "--precision": precision, "--steady": steady,
            "--remeasure": remeasure, "--repeats auto": repeats.most is not None,
            "--precondition": drive.precondition != "auto", "--log": log,
        })  # fmt: skip
        measure_on_hosts(target, remote, workloads, output, RunSettings(
            _runtime(runtime_s, None, None), ramp_s, drive.size_bytes, repeats.first, engine, seed,
            one_of(Order, order), drive.consent,
        ))  # fmt: skip
        return

    kept = kept_in(output.out)
    with naming_consent():
        settings = FioSettings(
            _runtime(runtime_s, budget_s, kept), ramp_s, engine=engine, seed=seed, order=one_of(Order, order),
            repeats=repeats.first if budget_s is None else repeats.most or repeats.first, write_device=write_device,
            log=log, settling=steady, **drive.settings(),
        )  # fmt: skip
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
    """CommandError for two options of which one rules out the other."""
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
