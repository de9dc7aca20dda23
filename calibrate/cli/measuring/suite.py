"""``qsim measure suite``: named questions about a drive, measured and shown in one command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.measuring.run import FileOptions, PlanOrRun, Target, failing_parts, minutes, planned_sweeps
from calibrate.cli.measuring.show import drawn, section_text
from calibrate.cli.options import conflicts, flag, option, page_in
from measure.loads import ClosedLoad
from measure.suites.agreement import between_suites, disagreements, relative_ends
from measure.suites.runs import SUITE_NAMES
from measure.units import counted, format_bandwidth, format_bytes, format_duration, format_rate
from qsim.result import labelled

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.report.view import Section
    from measure.suites.runs import SuitePlan, SuiteResults
    from measure.units import Figure


@conflicts("--quick", "--budget")
def measure_suite(
    *,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", parser=parsing.choice(*SUITE_NAMES), help=f"One of {', '.join(SUITE_NAMES)}."),
    ],
    target: Target,
    budget_s: float | None = option(
        "TIME", parsing.seconds, "Time for the whole.", "--budget", shown="2s a point, 3 rounds"
    ),
    quick: bool = flag("--quick", "Fewer and shorter points, 64MiB: under a minute."),
    drive: FileOptions,
    output: PlanOrRun,
) -> CommandResult:
    """Measure what a report on a drive wants, by name, and write its tables and plots.

    \b
    baseline     one request at a time: mean, deviation, p95, p99
    block-size   throughput and latency over the block size
    mix          every mix of reads and writes at several sizes
    depth        throughput and latency over depths, and the knee
    tails        p50 to p99.9 over depths
    rate         latency of requests that arrive by themselves (open loop)
    course       all of them

    TARGET: as for qsim measure fio. Run the same command again to resume.

    \b
    Examples:
    qsim measure suite course /mnt/drive --out course --budget 10min
    qsim measure suite course /mnt/drive --quick --plan
    """
    from calibrate.report.measured import measured
    from measure.suites.runs import plan_suites, run_suites

    page = page_in(output.out)
    plan = plan_suites(name, target, quick=quick, budget_s=budget_s, **drive.settings())
    if output.dry_run:
        return _planned(plan)
    for line in plan.left_out:
        warn(line)
    opening = f"{plan.points} points of {counted(len(plan.steps), 'sweep')}, about {minutes(plan.seconds())}"
    results = output.run(opening, lambda out, bar: run_suites(plan, out, bar), name)
    # The peak only serves the rates.
    steps = [s for s in plan.steps if s.directory in results.sweeps and (s.after or not s.suite.fractions)]
    shown = [measured(results.sweeps[s.directory], s.directory) for s in steps]
    sections, fitted = drawn(shown, [s.suite.purpose for s in steps])
    return CommandResult(
        lambda: _text(results, [s.directory for s in steps], sections, fitted, output.directory),
        lambda: {
            "suite": plan.name,
            "directory": str(output.directory),
            "sections": [s.to_dict() for s in sections],
            "disagreements": [f.to_dict() for f in disagreements(results.sweeps)],
            "failed": dict(results.failed),
            "left_out": list(plan.left_out),
        },
        page.write(
            lambda: sections, f"{plan.name} of {plan.target if '://' in plan.target else Path(plan.target).resolve()}"
        ),
        failing_parts(results.failed, f"{len(results.failed)} of {len(plan.steps)} sweeps"),
    )


def _text(
    results: SuiteResults,
    names: Sequence[str],
    sections: Sequence[Section],
    fitted: Sequence[Mapping[str, Fit]],
    where: Path,
) -> str:
    """The answer, the tables of every suite, by ``names``, and the next command."""
    sources = [shlex.quote(str(where / name)) for name in names]
    parts = zip(sections, fitted, sources, (results.sweeps[name] for name in names), strict=True)
    tables = "\n\n\n".join(section_text(*one, details=False, answered=True) for one in parts)
    closed = next((d for d in ("depth", "tails") if d in results.sweeps), None)
    following = f"qsim compare {where / closed}" if closed else f"qsim show {where}"
    saved = f"saved in {where}; next: {following} --report {'compare' if closed else 'again'}.html"
    return "\n\n".join(["\n".join(_answer(results, fitted)), tables, saved])


def _answer(results: SuiteResults, fitted: Sequence[Mapping[str, Fit]]) -> list[str]:
    """The knee where depths were measured, the quickest lone request, the highest throughput and bandwidth."""
    import pandas as pd

    from calibrate.fitting.fit_answer import knee_lines, knees_labelled

    lines = []
    moves = between_suites(results.sweeps)
    fits = [(f.series, replace(f, between_runs=max(f.between_runs, moves))) for one in fitted for f in one.values()]
    if fits:
        lines += knees_labelled(fits) if len(fits) > 1 else knee_lines(fits[0][1])
    closed = [sweep.mean_points() for sweep in results.sweeps.values() if isinstance(sweep.load_type, ClosedLoad)]
    if not closed:
        return lines
    points = pd.concat(closed, ignore_index=True)
    alone = points[points["load"] == 1]
    if len(alone):
        first = alone.iloc[int(alone["latency_s"].argmin())]
        p99 = format_duration(first["latency_p99_s"], 2)
        idle = _with_ends(format_duration, first, "latency_s", moves)
        lines.append(labelled("IDLE", f"{idle}, p99 {p99}: {_place(first)}"))
    most, widest = (points.iloc[int(points[c].argmax())] for c in ("throughput_per_s", "bandwidth_bytes_per_s"))
    rate = _with_ends(format_rate, most, "throughput_per_s", moves)
    bandwidth = _with_ends(format_bandwidth, widest, "bandwidth_bytes_per_s", moves)
    lines.append(labelled("MOST", f"{rate}: {_place(most)};   {bandwidth}: {_place(widest)}"))
    if apart := disagreements(results.sweeps):
        more = f" ({len(apart) - 1} more like it)" if len(apart) > 1 else ""
        lines.append(labelled("SUITES", f"{apart[0].message}{more}"))
    return lines


def _with_ends(show: Figure, point: Any, column: str, moves: float) -> str:
    """A mean with its 95 % interval over repeats and between suites; ``measured once`` where nothing gives one."""
    from measure.units import with_interval

    name = "latency" if column == "latency_s" else "throughput"
    mean = point["latency_s" if name == "latency" else "throughput_per_s"]
    ends = relative_ends(point[f"{name}_low"], mean, point[f"{name}_high"], moves)
    value = point[column]
    return with_interval(show, value, *(e * value for e in ends)) if ends else f"{show(value, 2)} (measured once)"


def _place(point: Any) -> str:
    return f"{point['series']} at depth {point['load']:g}"


def _planned(plan: SuitePlan) -> CommandResult:
    size = "" if plan.size_bytes is None else f", {format_bytes(plan.size_bytes)} of it"
    fill = f"writing the test file takes about {minutes(plan.fill_seconds)}\n" if plan.fill_seconds else ""
    last = f"{fill}about {minutes(plan.seconds())} in all, each point after a ramp of {minutes(plan.ramp_s)}"
    names = ("target", "size_bytes", "repeats", "ramp_s", "fill_seconds", "points")
    facts = {"suite": plan.name, **{name: getattr(plan, name) for name in names}, "seconds": plan.seconds()}
    heading = "\n".join([f"{plan.name} on {plan.target}{size}", *plan.left_out])
    return planned_sweeps(heading, plan.sweeps, last, {**facts, "left_out": list(plan.left_out)})
