"""``qsim knee TARGET``: where queueing starts on a drive, in fifteen seconds."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.calibration.fits import asked_lines, first_lines, fit_document
from calibrate.cli.console import Result, labelled
from calibrate.cli.data import print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.measured_table import points_table
from calibrate.cli.measuring.run import Consent, DriveOptions, Target, keeping, ramp_of
from calibrate.cli.options import Page, option
from calibrate.cli.progress import Bar
from measure.errors import DataError
from measure.units import format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from rich.table import Table

    from calibrate.report.view import Section
    from measure.fio.plan import FioPlan, FioPoint

HELP = """Measure a drive at depths 1 to 64 in fifteen seconds, and say where queueing starts.

One fio process measures every depth for about 1.4 s; where fio is not installed, qsim's own probe does. While the last
doubling of the depth still adds 5 % of throughput, deeper ones follow, as long as all takes at most a quarter more than
--seconds. The points are an ordinary sweep: --out keeps them for qsim compare, predict and fit. With another --block,
--read or --jobs, the same directory holds a curve for each; the answer is about the one just asked for.

TARGET: as for qsim measure fio.

\b
Examples:
qsim knee .
qsim knee /mnt/drive --block 128KiB --out quick --report knee.html
qsim knee /dev/nvme0n1 --allow read --slo 1ms
"""

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
DEEPEST = 1024
RUNS = 0.8
"""The share of a depth's time that is measured; the rest is its ramp, as qsim measure fio has it."""
GAIN = 1.05
"""Deeper points follow while a doubling of the depth raises the throughput by this factor."""
BUDGET = 1.25
"""The time for all points, as a multiple of that for the first depths: 15 s for 12 s."""
SHORTEST_S, LONGEST_S = 0.5, 600.0
WIDTH = 30
"""Width of the curve in the terminal, characters."""


def knee(
    *,
    target: Target,
    block_bytes: int = option("SIZE", parsing.size, "Block size.", "--block", default=4096, shown="4KiB"),
    read_percent: float = option(
        "PCT", parsing.percent, "Share of reads: 100 reads, 0 writes.", "--read", default=100.0, shown="100"
    ),
    seconds: float = option("TIME", parsing.seconds, "Time for all depths.", default=12.0, shown="12s"),
    jobs: int = option("N", parsing.whole, "Jobs, each at the depth.", default=1, shown=True),
    drive: DriveOptions,
    slo: o.Objective = None,
    out: Path | None = option("DIR", parsing.path, "Keep the points in this directory, an ordinary sweep."),
    page: Page,
) -> Result:
    """Measure the depths, fit all points, print the knee."""
    from calibrate.cli.calibration import knee_answer

    started = time.monotonic()
    if not SHORTEST_S <= RUNS * seconds / len(DEPTHS) <= LONGEST_S:
        least = len(DEPTHS) * SHORTEST_S / RUNS
        raise wrong_usage(f"--seconds {format_duration(seconds)} is out of reach; give {least:.2g}s to 1h")
    plan = plan_knee(target, seconds, drive, block_bytes=block_bytes, read_percent=round(read_percent), jobs=jobs)
    with keeping(out) as directory:
        sweep = measure_knee(plan, directory, started + BUDGET * seconds, f", into {out}" if out else "")
        found = knee_answer.robust_fit(sweep)
        asked = asked_lines(found, slo, sweep)
        written = page.write(lambda: _sections(sweep, target, found.used), f"The knee of {target}")
    doubts = knee_answer.doubts_about(sweep, found)
    deeper = knee_answer.deeper_command(target, plan, int(sweep.points["depth"].max()), drive, out)
    measured = {
        "depths": [int(n) for n in sweep.points["depth"]],
        "seconds": time.monotonic() - started,
        "tool": plan.tool,
        "directory": None if out is None else str(out),
    }
    print_findings(sweep.findings)
    kept = f"saved in {out}; next: qsim compare {shlex.quote(str(out))}" if out else "--out DIR: keep the points"
    return Result(
        lambda: "\n\n".join(
            [
                "\n".join([*asked, *first_lines("", [found]), *knee_answer.further_lines(sweep, found, deeper)]),
                points_table(sweep, set(sweep.points["load"]) - set(found.used)),
                "\n".join(labelled("DOUBT", doubt) for doubt in doubts or [knee_answer.NO_DOUBT]),
                f"MORE    {kept};   --report knee.html: plots",
            ]
        ),
        lambda: {
            **fit_document(found, slo, sweep),
            "measured": measured,
            "points": knee_answer.points_of(sweep, found),
            "doubts": doubts,
        },
        written,
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
    from measure.fio.command import PROBE
    from measure.fio.sweep import plan_fio

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
    from measure.fio.sweep import run_fio

    def deeper(sweep: measure.Sweep) -> Sequence[FioPoint]:
        sweep = curve_of(plan, sweep)
        depth = 2 * max(plan.points[-1].job.depth, int(sweep.points["depth"].max()))
        in_time = time.monotonic() + plan.point_seconds <= end
        if not still_grows(sweep) or depth > DEEPEST or not in_time:
            return ()
        return [plan.point(replace(plan.points[-1].job, depth=depth), 0)]

    curve: dict[int, float] = {}
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
            watch=lambda point, throughput_per_s: curve.update({point.job.outstanding: throughput_per_s}),
        )
    return curve_of(plan, whole)


def curve_of(plan: FioPlan, sweep: measure.Sweep) -> measure.Sweep:
    """The curve of ``sweep`` to which the points of the plan belong. Raises DataError where none was measured."""
    keys = {point.key for point in plan.points}
    own = [Path(source).stem in keys for source in sweep.points["source"]]
    if not any(own):
        raise DataError(f"{sweep.name}: no point of {plan.label} could be measured at {plan.points[0].describe()}")
    return sweep.select(sweep.points["series"][own].iloc[0])


def _drawn(curve: Mapping[int, float]) -> Table:
    """The curve as measured until now, for a terminal: a bar for the throughput of each depth."""
    from rich.table import Table

    drawn = Table.grid(padding=(0, 2))
    for depth, throughput_per_s in curve.items():
        length = round(WIDTH * throughput_per_s / max(curve.values()))
        latency = format_duration(depth / throughput_per_s, 2) if throughput_per_s else ""
        drawn.add_row(f"depth {depth}", "━" * length, format_rate(throughput_per_s), latency)
    return drawn


def still_grows(sweep: measure.Sweep) -> bool:
    """Whether the last doubling of the depth raised the throughput 5 % above all earlier ones."""
    rates = sweep.points.sort_values("load")["throughput_per_s"].to_numpy()
    return len(rates) > 1 and bool(rates[-1] > GAIN * rates[:-1].max())


def _sections(sweep: measure.Sweep, target: str, used: Sequence[float]) -> list[Section]:
    """The measured points with the curve through those ``used``, its bands and its knees."""
    from calibrate.report.compared import compared_section, evidence_of

    comparison = calibrate.compare(sweep, used)
    return [compared_section(target, [evidence_of(comparison, sweep)], {})]
