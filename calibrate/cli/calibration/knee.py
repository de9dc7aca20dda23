"""``qsim knee``: where queueing starts on a drive, or on anything that a command measures, in fifteen seconds."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.failures import CommandError, wrong_usage
from calibrate.cli.measuring.run import TARGET_HELP, Consent, DriveOptions, keeping, ramp_of
from calibrate.cli.measuring.run import target as a_target
from calibrate.cli.options import Page, conflicts, flag, option, requires
from calibrate.cli.progress import Bar
from measure.errors import DataError
from measure.units import format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from rich.table import Table

    from calibrate.cli.calibration.knee_answer import Asked
    from measure.command import CommandPlan, CommandPoint
    from measure.fio.plan import FioPlan, FioPoint

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
DEEPEST = 1024
RUNS = 0.8  # the share of a depth's time that is measured; the rest is its ramp, as qsim measure fio has it
GAIN = 1.05  # larger loads follow while a doubling raises the throughput by this factor
BUDGET = 1.25  # the time for all points, as a multiple of --seconds: 15 s for 12 s
MOST_CLIENTS, FEWEST_LOADS = 4096, 3
FIRST_RATE, OF_ONE_SERVER = 10.0, 0.25
"""Arrivals a second to begin with; the share of one server that the second rate keeps busy, if that is higher."""
SHORTEST_S, LONGEST_S = 0.5, 600.0
WIDTH = 30  # width of the curve in the terminal, characters


@conflicts("--run", "TARGET", because="give a drive or a command")
@conflicts("--run", "--block", "--read", "--jobs", "--size", "--allow", because="they are about a drive")
@requires("--shell", "--run")
def knee(
    *,
    target: Annotated[str | None, typer.Argument(metavar="TARGET", parser=a_target, help=TARGET_HELP)] = None,
    run: str | None = option("COMMAND", None, "Instead of a drive: a command with {N}, or {rate}; no shell runs it."),
    shell: bool = flag("--shell", "Let a shell run the command."),
    block_bytes: int = option("SIZE", parsing.size, "Block size.", "--block", default=4096, shown="4KiB"),
    read_percent: float = option(
        "PCT", parsing.percent, "Share of reads: 100 reads, 0 writes.", "--read", default=100.0, shown="100"
    ),
    seconds: float = option("TIME", parsing.seconds, "Time for all loads.", default=12.0, shown="12s"),
    jobs: int = option("N", parsing.whole, "Jobs, each at the depth.", default=1, shown=True),
    drive: DriveOptions,
    slo: o.Objective = None,
    out: Path | None = option("DIR", parsing.path, "Keep the points in this directory, an ordinary sweep."),
    page: Page,
) -> CommandResult:
    """Say where queueing starts, in fifteen seconds: on a drive, or on anything that a command measures.

    One fio process measures every depth for about 1.4 s; where fio is not installed, qsim's own probe does. While the
    last doubling of the depth still adds 5 % of throughput, deeper ones follow, as long as all takes at most a quarter
    more than --seconds. The points are an ordinary sweep: --out keeps them for qsim compare, predict and fit. With
    another --block, --read or --jobs, the same directory holds a curve for each; the answer is about the one just asked
    for.

    With --run, the command runs at 1, 2, 4, ... in place of {N} while throughput grows. Its output is read as qsim show
    reads it: wrk, ab, hey, oha, pgbench, sysbench, redis-benchmark, fio and others, else its last line of JSON, or of
    CSV under a header, with throughput (1/s) and latency (s), or units in the names: iops,lat_us. {rate} is arrivals a
    second.

    TARGET: as for qsim measure fio.

    \b
    Examples:
    qsim knee .
    qsim knee /mnt/drive --block 128KiB --out quick --report knee.html
    qsim knee /dev/nvme0n1 --allow read --slo 1ms
    qsim knee --run 'wrk -t1 -c{N} -d2s --latency http://127.0.0.1:8080/'
    """
    from calibrate.cli.calibration import knee_answer

    asked = knee_answer.Asked(slo, out, page, started=time.monotonic())
    if run is not None:
        return _knee_of_command(run, shell, seconds, asked)
    if target is None:
        raise wrong_usage("TARGET is missing: name a directory on the drive, or a command: --run 'COMMAND {N}'")
    if not SHORTEST_S <= RUNS * seconds / len(DEPTHS) <= LONGEST_S:
        least = len(DEPTHS) * SHORTEST_S / RUNS
        raise wrong_usage(f"--seconds {format_duration(seconds)} is out of reach; give {least:.2g}s to 1h")
    plan = plan_knee(target, seconds, drive, block_bytes=block_bytes, read_percent=round(read_percent), jobs=jobs)
    with keeping(out) as directory:
        sweep = measure_knee(plan, directory, asked.started + BUDGET * seconds, f", into {out}" if out else "")
        deepest = int(sweep.points["depth"].max())
        deeper = knee_answer.deeper_command(target, plan, deepest, drive, out)
        return knee_answer.answered(sweep, asked, target, plan.tool, deeper)


def _knee_of_command(text: str, shell: bool, seconds: float, asked: Asked) -> CommandResult:
    """The knee of what a command measures, from runs at 1, 2, 4, ... within ``seconds``."""
    from calibrate.cli.calibration import knee_answer
    from measure.command import asked_of, placeholder_of, plan_command

    first = FIRST_RATE if placeholder_of(text) == "rate" else 1
    plan = plan_command(text, [first], in_shell=shell, limit_s=BUDGET * seconds)
    with keeping(asked.out) as directory:
        after = f", into {asked.out}" if asked.out else ""
        sweep = measure_command(plan, directory, seconds, asked.started, after)
        largest = max(asked_of(source) for source in sweep.points["source"])
        return knee_answer.answered(sweep, asked, text, plan.program, knee_answer.larger_command(plan, largest, asked))


def measure_command(
    plan: CommandPlan, directory: Path, seconds: float, started: float, after: str = ""
) -> measure.Sweep:
    """Run the command at one load after another, until more adds no throughput, one fails, or the time is over.

    ``started`` is a time of ``time.monotonic``. Raises as ``run_command``, and CommandError where fewer than three
    loads could be measured.
    """
    from measure.command import run_command

    end = started + BUDGET * seconds
    points, began_s = [plan.points[0]], [time.monotonic()]

    def larger(sweep: measure.Sweep) -> Sequence[CommandPoint]:
        began_s.append(time.monotonic())
        load = _next_load(plan, points[-1].asked, sweep)
        in_time = began_s[-1] + _longest(began_s) <= end
        if load is None or not in_time or points[-1].key not in set(sweep.points["source"]):
            return ()
        points.append(plan.point(load))
        return points[-1:]

    curve: dict[str, tuple[float, float | None]] = {}

    def drawn(asked: float, throughput_per_s: float) -> None:
        in_flight = asked if plan.placeholder == "N" else None
        curve[f"{plan.placeholder} = {asked:g}"] = (throughput_per_s, in_flight)

    opening = f"{plan.text}: {{{plan.placeholder}}} doubles, about {format_duration(seconds, 2)}{after}"
    with Bar("measuring", opening=opening, above=lambda: _drawn(curve)) as bar:
        sweep = run_command(plan, directory, bar.points, larger, watch=drawn)
    if sweep.points["load"].nunique() < FEWEST_LOADS:
        raise _too_few(sweep, _longest(began_s), seconds)
    return sweep


def _longest(began_s: Sequence[float]) -> float:
    return max((after - before for before, after in pairwise(began_s)), default=0.0)


def _next_load(plan: CommandPlan, last: float, sweep: measure.Sweep) -> float | None:
    """What to ask for after ``last``; None where two doublings of N added nothing."""
    means = sweep.points.groupby("load")[["throughput_per_s", "latency_s"]].mean()
    rates = means["throughput_per_s"].tolist()
    if plan.placeholder == "rate":
        one_server = OF_ONE_SERVER / float(means["latency_s"].iloc[0])
        return max(2 * last, float(f"{one_server:.2g}") if len(means) == 1 else 0.0)
    grew = [rate > GAIN * max(rates[:place]) for place, rate in enumerate(rates) if place]
    goes_on = len(grew) < 2 or any(grew[-2:])
    return 2 * last if goes_on and 2 * last <= MOST_CLIENTS else None


def _too_few(sweep: measure.Sweep, longest_s: float, seconds: float) -> CommandError:
    """The failure of a measurement with fewer loads than a knee needs."""
    rows = sweep.points[["throughput_per_s", "load"]].itertuples(index=False)
    figures = ", ".join(f"{format_rate(rate)} at {sweep.load_type.at(load)}" for rate, load in rows)
    these = "this" if len(sweep.points) == 1 else "these"
    measured = f"a knee needs {FEWEST_LOADS} loads, and only {these} could be measured: {figures}"
    if failed := [finding for finding in sweep.findings if finding.check == "point-failed"]:
        at = f"at {failed[0].where}: " if failed[0].where else ""
        return CommandError(f"{measured}; {at}{failed[0].message}")
    needed = math.ceil((FEWEST_LOADS + 1) * longest_s)
    return CommandError(
        f"{measured}; a run takes {format_duration(longest_s, 2)}, and --seconds is {format_duration(seconds)}; "
        f"shorten the run in the command, or give --seconds {needed}s"
    )


def plan_knee(
    target: str,
    seconds: float,
    drive: DriveOptions = DriveOptions(None, Consent()),
    *,
    block_bytes: int = 4096,
    read_percent: int = 100,
    jobs: int = 1,
) -> FioPlan:
    """The depths in ``seconds``, with fio or, where that is not installed, the drive probe. Raises as ``plan_fio``."""
    from measure.fio.fio_command import PROBE
    from measure.fio.fio_sweep import plan_fio

    runtime_s = round(RUNS * seconds / len(DEPTHS), 3)
    return plan_fio(
        target,
        DEPTHS,
        block_bytes=block_bytes,
        read_percent=read_percent,
        jobs=jobs,
        runtime_s=runtime_s,
        ramp_s=ramp_of(runtime_s),
        engine="auto" if "://" in target or (shutil.which("fio") and hasattr(os, "O_DIRECT")) else PROBE,
        size_bytes=drive.size_bytes,
        **drive.allow.settings(),
    )


def measure_knee(plan: FioPlan, directory: Path, end: float, after: str = "", before: str = "") -> measure.Sweep:
    """Measure the depths of the plan, and deeper ones while throughput rises until ``end``, and show the curve.

    ``end`` is a time of ``time.monotonic``. The sweep is the plan's curve alone: ``directory`` may hold others, of
    other blocks, mixes or jobs. Raises as ``run_fio``.
    """
    from measure.fio.fio_sweep import run_fio

    def deeper(sweep: measure.Sweep) -> Sequence[FioPoint]:
        sweep = curve_of(plan, sweep)
        depth = 2 * max(plan.points[-1].job.depth, int(sweep.points["depth"].max()))
        in_time = time.monotonic() + plan.point_seconds <= end
        if not still_grows(sweep) or depth > DEEPEST or not in_time:
            return ()
        return [plan.point(replace(plan.points[-1].job, depth=depth), 0)]

    curve: dict[str, tuple[float, float | None]] = {}
    size = "" if plan.file is None else f", {format_bytes(plan.file.size_bytes)} of it"
    time_text = format_duration(plan.fill_seconds() + plan.together_seconds(), 2)
    probe = "" if plan.tool == "fio" else "; fio is not installed: with qsim's own probe"
    opening = f"{before}{len(DEPTHS)} depths of {plan.label}{size}, about {time_text}{after}{probe}"
    with Bar("measuring", opening=opening, above=lambda: _drawn(curve)) as bar:
        whole = run_fio(
            plan,
            directory,
            bar.points,
            deeper,
            together=True,
            watch=lambda point, rate: curve.update({f"depth {point.job.outstanding}": (rate, point.job.outstanding)}),
        )
    return curve_of(plan, whole)


def curve_of(plan: FioPlan, sweep: measure.Sweep) -> measure.Sweep:
    """The curve of ``sweep`` to which the points of the plan belong. Raises DataError where none was measured."""
    keys = {point.key for point in plan.points}
    own = [Path(source).stem in keys for source in sweep.points["source"]]
    if not any(own):
        raise DataError(f"{sweep.name}: no point of {plan.label} could be measured at {plan.points[0].describe()}")
    return sweep.select(sweep.points["series"][own].iloc[0])


def _drawn(curve: Mapping[str, tuple[float, float | None]]) -> Table:
    """The curve until now for a terminal, (throughput, N) by the load's name: a bar each; N / X where N is known."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2))
    most = max((rate for rate, _ in curve.values()), default=0.0)
    for name, (rate, in_flight) in curve.items():
        latency = format_duration(in_flight / rate, 2) if rate and in_flight else ""
        drawn.add_row(name, "━" * round(WIDTH * rate / most), format_rate(rate), latency)
    return drawn


def still_grows(sweep: measure.Sweep) -> bool:
    """Whether the last doubling of the depth raised the throughput 5 % above all earlier ones."""
    rates = sweep.points.sort_values("load")["throughput_per_s"].to_numpy()
    return len(rates) > 1 and bool(rates[-1] > GAIN * rates[:-1].max())
