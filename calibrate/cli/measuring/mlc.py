"""``qsim measure mlc``: memory, with Intel's Memory Latency Checker where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.console import Result, table
from calibrate.cli.data import print_findings
from calibrate.cli.measuring.measured_table import points_text, sweep_document
from calibrate.cli.measuring.run import Column, PlanOrRun, PlanTable
from calibrate.cli.option_groups import option
from measure.units import counted, format_bandwidth, format_duration

if TYPE_CHECKING:
    from measure.mlc.sweep import MlcFigures

HELP = """Measure memory with Intel MLC, where it is installed: loaded latency, idle latency, matrices, peaks.

Each combination of mode, mix, buffer and stride is stored before the next begins. As root, MLC switches the hardware
prefetchers off while it measures latency.

\b
Examples:
qsim measure mlc --out mlc
qsim measure mlc --mixes R,W5,W6 --strides 64,256 --out mixes --dry-run
qsim measure mlc --modes idle-latency,latency-matrix,bandwidth-matrix,peak --out nodes
"""


def measure_mlc(
    *,
    modes: parsing.Words = option(
        "MODE,...",
        parsing.words,
        "loaded-latency, idle-latency, latency-matrix, bandwidth-matrix, peak.",
        default=parsing.Words(("loaded-latency", "idle-latency")),
        shown="loaded-latency,idle-latency",
    ),
    delays: parsing.Numbers | None = option("D,...", parsing.delays, "Injected delays, in cycles.", shown="MLC's own"),
    buffers: parsing.Numbers | None = option("SIZE,...", parsing.sizes, "Buffer of each thread.", shown="MLC's own"),
    strides: parsing.Numbers | None = option("SIZE,...", parsing.sizes, "Bytes from access to access.", shown="64"),
    mixes: parsing.Words = option(
        "MIX,...",
        parsing.words,
        "Reads to writes: R, W2 2:1, W3 3:1, W4 3:2, W5 1:1; non-temporal W6 0:1, W7 2:1, W8 1:1, W9 3:1, W10 2:1.",
        default=parsing.Words(("R",)),
        shown="R",
    ),
    repeats: int = option("N", parsing.whole, "Rounds over all runs.", default=1, shown=True),
    output: PlanOrRun,
) -> Result:
    """Plan, say what will be done, do it, print the points and the tables."""
    from measure.mlc.sweep import plan_mlc, run_mlc

    plan = plan_mlc(
        modes, delays=delays, buffers=_whole(buffers), strides=_whole(strides), mixes=mixes, repeats=repeats
    )
    if output.dry_run:
        rows = [{"key": r.key, **r.request(), "command": r.command, "seconds": r.seconds} for r in plan.runs]
        facts = {"seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)}
        columns: dict[str, Column] = {"time": lambda r: format_duration(r["seconds"], 2)}
        return output.planned(PlanTable(plan.describe(), rows, columns, facts, plan.commands))
    where = output.directory
    opening = f"{counted(len(plan.runs), 'run')} of MLC, about {format_duration(plan.seconds())}"
    result = output.run(opening, lambda out, bar: run_mlc(plan, out, bar))
    print_findings(result.findings)
    sweep = result.sweep
    tables = [table for figures in result.figures for table in _tables(figures)]
    return Result(
        lambda: "\n\n".join([*tables, points_text(sweep, where) if sweep is not None else f"saved in {where}"]),
        lambda: {
            "directory": str(where),
            "points": [],
            "findings": [f.to_dict() for f in result.findings],
            "provenance": result.provenance.to_dict(),
            **({} if sweep is None else sweep_document(sweep, where)),
            "figures": [f.to_dict() for f in result.figures],
        },
    )


def _whole(values: parsing.Numbers | None) -> list[int] | None:
    return None if values is None else [int(v) for v in values]


def _tables(figures: MlcFigures) -> Iterator[str]:
    """The latency of the idle memory in a line, matrices of nodes, and the peaks of each mix."""
    given = f" ({figures.conditions})" if figures.conditions else ""
    values = figures.values
    if "idle_latency_s" in values:
        clock = f" at {values['core_hz'] / 1e9:.3g} GHz" if "core_hz" in values else ""
        yield f"idle latency {format_duration(values['idle_latency_s'])}{clock}{given}"
    for key, title, form in (
        ("idle_latency_matrix_s", "idle latency", format_duration),
        ("bandwidth_matrix_bytes_per_s", "bandwidth", format_bandwidth),
    ):
        if matrix := values.get(key):
            width = max(map(len, matrix.values()))
            header = ("", *(f"memory {n}" for n in range(width)))
            rows = [
                (f"node {node}", *("-" if v is None else form(v) for v in row), *[""] * (width - len(row)))
                for node, row in matrix.items()
            ]
            yield f"{title}, CPUs of each node to memory of each node{given}\n{table(header, rows)}"
    for section, peaks in values.get("bandwidths_bytes_per_s", {}).items():
        rows = [(mix, format_bandwidth(value)) for mix, value in peaks.items()]
        yield f"{section}{given}\n{table(('mix', 'bandwidth'), rows)}"
