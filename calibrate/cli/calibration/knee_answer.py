"""What ``qsim knee`` says of its points: the robust reading, a limit, deeper points, what doubling buys, the doubts."""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import calibrate
import measure
from calibrate.cli.calibration.fit import asked_lines, first_lines, fit_document
from calibrate.cli.console import CommandResult
from calibrate.cli.data import print_findings
from calibrate.cli.measuring.run import DriveOptions, points_table
from calibrate.cli.options import Page
from calibrate.cli.parsing import Objective
from calibrate.fitting.calibrating import on_course, use_of
from calibrate.fitting.objectives import Doubling, doubling
from calibrate.inference.parameters import quantity
from measure.command import HOST_BUSY
from measure.loads import Load, ThroughputLoad
from measure.units import format_bandwidth, format_bytes, format_duration, format_rate, significant, with_interval
from qsim.result import labelled

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.report.view import Section
    from measure.command import CommandPlan
    from measure.fio.plan import FioPlan

FLAT, ROUND_WITHIN = 0.01, 0.007
"""A plateau's points lie within the first share of each other, and a limit within the second of a round number."""
LIMITS = (1.0, 1.2, 1.25, 1.5, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 6.4, 7.5, 8.0)
"""First digits of the rates to which volumes are held: 3000 /s, 16 k/s, 125 MB/s."""
LONG_PLATEAU = 3
MIB = 2.0**20
HOST_BUSY_FROM = 0.8  # the share of processor time from which the host is called the limit
NOT_BUSY = "neither the machine nor the host's processors were busy"
NO_DOUBT_OF_A_COMMAND = "none that the audit sees, and this machine had processor time left"


@dataclass(frozen=True)
class Asked:
    """What was asked for beside the points: an objective, the directory that keeps them, a page; and since when."""

    slo: Objective | None
    out: Path | None
    page: Page
    started: float


def answered(sweep: measure.Sweep, asked: Asked, name: str, tool: str, deeper: str) -> CommandResult:
    """The answer of one measured curve; ``deeper`` is the command that measures larger loads."""
    found, out = robust_fit(sweep), asked.out
    first = asked_lines(found, asked.slo, sweep)
    written = asked.page.write(lambda: _sections(sweep, name, found.used), f"The knee of {name}")
    doubts = doubts_about(sweep, found)
    measured = {
        "depths": [int(n) if n == int(n) else n for n in sweep.points["load"].tolist()],
        "seconds": time.monotonic() - asked.started,
        "tool": tool,
        "directory": None if out is None else str(out),
    }
    print_findings(sweep.findings)
    kept = f"saved in {out}; next: qsim compare {shlex.quote(str(out))}" if out else "--out DIR: keep the points"
    return CommandResult(
        lambda: "\n\n".join(
            [
                "\n".join([*first, *first_lines("", [found]), *further_lines(sweep, found, deeper)]),
                points_table(sweep, set(sweep.points["load"]) - set(found.used)),
                "\n".join(labelled("DOUBT", doubt) for doubt in doubts or [no_doubt(sweep)]),
                f"MORE    {kept};   --report knee.html: plots",
            ]
        ),
        lambda: {
            **fit_document(found, asked.slo, sweep),
            "measured": measured,
            "points": points_of(sweep, found),
            "doubts": doubts,
        },
        written,
    )


def _sections(sweep: measure.Sweep, name: str, used: Sequence[float]) -> list[Section]:
    """The measured points with the curve through those ``used``, its bands and its knees."""
    from calibrate.report.compared import compared_section, views_of

    return [compared_section(name, [views_of(calibrate.compare(sweep, used))])]


def robust_fit(sweep: measure.Sweep) -> calibrate.Fit:
    """The fit to the points of one curve without those that are unsteady or off its course; else to all."""
    kept = on_course(sweep)
    every = calibrate.fit(sweep, kept)
    off = sorted(set(sweep.points["load"]) - set(kept))
    if not off:
        return every
    load = every.load_type
    return replace(every, doubted=every.doubted or f"{load.at(*off)} {load.are(*off)} left out")


def deeper_command(target: str, plan: FioPlan, deepest: int, drive: DriveOptions, out: Path | None) -> str:
    """The command that measures deeper points with the same settings, into the same directory where there is one.

    A device that was written holds what this run wrote, so its name stands once more, as the one to erase.
    """
    allow = replace(drive.allow, erase=drive.allow.erase or drive.allow.write)
    job = plan.points[0].job
    first = 2 * deepest if out is not None else 1
    words = ["qsim", "measure", "fio" if plan.tool == "fio" else "drive", target]
    words += ["--depths", f"{first}..{4 * deepest}", "--block", exact_bytes(job.block_bytes)]
    words += ["--read", f"{job.read_percent}"]
    words += ["--jobs", str(job.jobs)] if plan.tool == "fio" else []
    words += ["--runtime", f"{plan.settings.runtime_s:g}s"]
    words += ["--size", exact_bytes(drive.size_bytes)] if drive.size_bytes is not None else []
    words += ["--allow", str(allow)] if str(allow) else []
    return shlex.join([*words, "--out", str(out) if out is not None else "deeper"])


def larger_command(plan: CommandPlan, largest: float, asked: Asked) -> str:
    """The command that measures larger loads of a command, into the same directory where there is one."""
    first = 2 * largest if asked.out is not None else plan.points[0].asked
    loads = f"{first:g}..{4 * largest:g}{'/s' if plan.placeholder == 'rate' else ''}"
    words = ["qsim", "measure", "command", plan.text, "--loads", loads, *(["--shell"] if plan.shell else [])]
    return shlex.join([*words, "--out", str(asked.out or "larger")])


def exact_bytes(size: int) -> str:
    """A size that reads back as the same number: ``128KiB``, ``1000``."""
    return f"{size // 1024}KiB" if size % 1024 == 0 else str(size)


def further_lines(sweep: measure.Sweep, fit: calibrate.Fit, deeper: str) -> Iterator[str]:
    """The most that was measured, a limit, what deeper points would show, and what twice the knee's load brings."""
    kept = sweep.points[sweep.points["load"].isin(fit.used)]
    best = kept.nlargest(1, "throughput_per_s").iloc[0]
    rate, size = format_rate(best["throughput_per_s"]), best["block_bytes"]
    if not math.isnan(size):
        rate += f" of {format_bytes(size)}, {format_bandwidth(best['bandwidth_bytes_per_s'])},"
    yield labelled("MOST", f"{rate} measured at {fit.load_type.at(best['load'])}")
    if limit := round_limit(fit, kept):
        yield labelled("LIMIT", limit)
    if isinstance(fit.load_type, ThroughputLoad):  # twice the arrivals may be more than is served
        return
    deepest = max(fit.used)
    if fit.rises:
        bought = doubling(fit, deepest)
        grows = f"throughput still rises at {fit.load_type.at(deepest)}; twice that would bring {_gained(bought)}"
        yield labelled("DEEPER", f"{grows}: {deeper}")
    if fit.knee.load is not None:
        bought = doubling(fit, fit.knee.load)
        (x, twice), (r, longer) = bought.throughput_per_s, bought.response_time_s
        rates = f"{format_rate(x)} to {format_rate(twice)}"
        times = f"{format_duration(r)} to {format_duration(longer)}"
        place = f"{fit.load_type.place(significant(2 * fit.knee.load, 2))}, twice where queueing starts"
        cost = 100 * (longer / r - 1)
        yield labelled("DOUBLE", f"{place}: {_gained(bought)}, {rates}; {round(cost):+d} % latency, {times}")


def _gained(bought: Doubling) -> str:
    """``+38 % throughput (30 to 44)``."""
    gain, low, high = (round(100 * (factor - 1)) for factor in (bought.gain, bought.low, bought.high))
    return f"{gain:+d} % throughput ({low} to {high})"


def round_limit(fit: calibrate.Fit, points: pd.DataFrame) -> str:
    """What says that a plateau is a limit set for the volume: its points agree, and on a round number; else empty."""
    ordered = points.sort_values("load")
    rates, loads = (ordered[name].to_numpy(float) for name in ("throughput_per_s", "load"))
    middle, block = float(np.median(rates[-LONG_PLATEAU:])), float(points["block_bytes"].iloc[0])
    first = int(np.flatnonzero(np.abs(rates / middle - 1) > FLAT).max(initial=-1)) + 1
    if math.isnan(block) or len(rates) - first < LONG_PLATEAU:
        return ""
    over = [fit.load_type.at(n) for n in loads[:first][rates[:first] > middle]]
    burst = f", which {' and '.join(over)} exceeded for a while" if over else ""
    for figure, unit in ((middle, "/s"), (middle * block, "B/s"), (middle * block / MIB, "MiB/s")):
        digits = float(figure / 10.0 ** math.floor(math.log10(figure)))  # from 1 to below 10
        nearest = min(LIMITS, key=lambda one, of=digits: abs(of / one - 1))  # type: ignore[misc]
        if abs(digits / nearest - 1) <= ROUND_WITHIN:
            limit = figure * nearest / digits
            of = f"{limit:g} MiB/s" if unit == "MiB/s" else quantity(limit, "1/s" if unit == "/s" else unit)
            flat = f"flat at {format_rate(middle)} from {fit.load_type.at(loads[first])} on"
            return f"{flat}, {of}: likely a limit of the volume{burst}"
    return ""


def points_of(sweep: measure.Sweep, fit: calibrate.Fit) -> list[dict[str, float | bool]]:
    """The measured points in JSON; ``left_out``: the curve does not follow it."""
    columns = {"load": "load", "throughput_per_s": "throughput_per_s", "latency_s": "response_time_s"}
    rows = sweep.points.sort_values("load")[list(columns)].rename(columns=columns).to_dict("records")
    return [{**{str(k): float(v) for k, v in row.items()}, "left_out": row["load"] not in fit.used} for row in rows]


def doubts_about(sweep: measure.Sweep, fit: calibrate.Fit) -> list[str]:
    """Doubts about the answer: points left out, the audit's warnings, unsteady points, a host that is the limit."""
    doubts = []
    for row in points_of(sweep, fit):
        if row["left_out"]:
            told = calibrate.predict(fit, [row["load"]], refuse=False).throughput_band(0)
            there = with_interval(format_rate, *told)
            off = f"{fit.load_type.at(row['load'])} {fit.load_type.are(row['load'])} left out of the curve"
            doubts.append(
                f"{off}: {format_rate(row['throughput_per_s'])} was measured, where the other points say {there}; "
                "measure that again. Other commands take it in, unless you give qsim fit, compare or predict "
                f"{use_of(fit.used)}"
            )
    named = ("no-saturated-point", *(["outlier"] if doubts else []))
    doubts += [f.message for f in measure.audit(sweep) if f.severity != "info" and f.check not in named]
    return [*doubts, *([host] if (host := _host_limit(sweep)) else [])]


def _host_limit(sweep: measure.Sweep) -> str:
    """The warning that the host's processors, not the device, are the limit; empty where not, or unknown."""
    from measure.formats.fio.record import HOST_TIME

    points = sweep.points.sort_values("load")
    if HOST_BUSY in points:
        return _machine_limit(points, sweep.load_type)
    if HOST_TIME not in points:
        return ""
    here = os.cpu_count() or 1
    submitting = here if (points["engine"] == "probe").all() else points["jobs"].clip(upper=here)
    busy = points["throughput_per_s"] * points[HOST_TIME] / submitting
    over = points["load"][busy > HOST_BUSY_FROM]
    if not len(over):
        return ""
    share = f"{100 * min(1.0, float(busy.max())):.0f} %"
    return (
        f"the host is the limit from depth {over.iloc[0]:g} on: its processors are busy {share} of the time; "
        "measure with more --jobs"
    )


def _machine_limit(points: pd.DataFrame, load: Load) -> str:
    """The warning that this machine was busy while a command ran; empty where it was not."""
    busy = points[points[HOST_BUSY] > HOST_BUSY_FROM]
    if busy.empty:
        return ""
    share = f"{100 * float(busy[HOST_BUSY].max()):.0f} %"
    return (
        f"this machine's processors were busy {share} of the time from {load.at(busy['load'].iloc[0])} on, other "
        "programs included: they may be the limit; run the service and what loads it on machines of their own"
    )


def no_doubt(sweep: measure.Sweep) -> str:
    """The line where there is no doubt: what was looked at, and what these runs do not show."""
    if HOST_BUSY in sweep.points:
        return NO_DOUBT_OF_A_COMMAND
    if "steady" not in sweep.points:
        return f"none: {NOT_BUSY}; whether the runs were steady was not seen"
    unsteady, runs = int(sweep.points["steady"].eq(0).sum()), len(sweep.points)
    if not unsteady:
        return f"none: the points are steady, and {NOT_BUSY}"
    varied = f"{unsteady} of {runs} runs varied more than SNIA's steady state allows"
    return f"none: {NOT_BUSY}; but {varied}: longer runs (--seconds) would settle it"
