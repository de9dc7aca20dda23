"""``qsim measure mlc``: memory, with Intel's Memory Latency Checker where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table
from calibrate.cli.data import tell
from calibrate.cli.measuring.run import PlanOrRun, points_text, sweep_document
from measure.units import counted, format_bandwidth, format_duration

if TYPE_CHECKING:
    from measure.mlc.sweep import MlcFigures, MlcResult

HELP = """Measure memory with Intel MLC, where it is installed: loaded latency, idle latency, matrices, peaks.

Every combination of mode, mix, buffer and stride is a run of its own, stored before the next begins; one that fails is
reported, and the others go on. As root MLC switches the hardware prefetchers off while it measures latency.

\b
Examples:
qsim measure mlc --out mlc
qsim measure mlc --mixes R,W5,W6 --strides 64,256 --out mixes --dry-run
qsim measure mlc --modes idle-latency,latency-matrix,bandwidth-matrix,peak --out nodes
"""


def measure_mlc(
    *,
    modes: Annotated[
        parsing.Words,
        typer.Option(metavar="MODE,...", parser=parsing.words, show_default="loaded-latency,idle-latency",
                     help="loaded-latency, idle-latency, latency-matrix, bandwidth-matrix, peak."),
    ] = parsing.Words(("loaded-latency", "idle-latency")),
    delays: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="D,...", parser=parsing.delays, show_default="MLC's own, 19 from 0 to 20000",
                     help="Injected delays, in core cycles."),
    ] = None,
    buffers: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="SIZE,...", parser=parsing.sizes, show_default="MLC's own",
                     help="Buffer of each thread, as 200MiB,1GiB."),
    ] = None,
    strides: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="SIZE,...", parser=parsing.sizes, show_default="64",
                     help="Bytes from one access to the next, as 64,128,256."),
    ] = None,
    mixes: Annotated[
        parsing.Words,
        typer.Option(metavar="MIX,...", parser=parsing.words, show_default="R",
                     help="Reads to writes by MLC's flags: R reads only; W2 2:1, W3 3:1, W4 3:2, W5 1:1; non-temporal "
                     "writes: W6 0:1, W7 2:1, W8 1:1, W9 3:1, W10 2:1."),
    ] = parsing.Words(("R",)),
    seconds_per_point: Annotated[
        float,
        typer.Option("--time", metavar="TIME", parser=parsing.seconds, show_default="2s",
                     help="Time of each point, whole seconds."),
    ] = 2.0,
    repeats: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Rounds over all runs.")] = 1,
    cores: Annotated[
        str, typer.Option(metavar="CPUS", show_default="all but the chaser", help="CPUs that load, as 1-7,9.")
    ] = "",
    chaser: Annotated[
        int | None, typer.Option(metavar="CPU", parser=parsing.whole, show_default="0", help="CPU that chases.")
    ] = None,
    random_chase: Annotated[
        bool, typer.Option("--random", help="Chase at random: for machines whose prefetchers stay on.")
    ] = False,
    keep_prefetchers: Annotated[
        bool, typer.Option("--keep-prefetchers", help="Leave the hardware prefetchers as they are.")
    ] = False,
    one_thread_per_core: Annotated[
        bool, typer.Option("--one-thread-per-core", help="Leave the second threads of the cores idle.")
    ] = False,
    output: PlanOrRun,
) -> None:  # fmt: skip
    """Plan, say what will be done, do it, print the points and the tables."""
    output.check()

    from measure.mlc.sweep import plan_mlc, run_mlc

    plan = plan_mlc(
        modes, delays=delays, buffers=_whole(buffers), strides=_whole(strides), mixes=mixes,
        seconds_per_point=seconds_per_point, repeats=repeats, cores=cores, chaser=chaser, random_chase=random_chase,
        keep_prefetchers=keep_prefetchers, one_thread_per_core=one_thread_per_core,
    )  # fmt: skip
    if output.dry_run:
        points = [{"key": r.key, **r.request(), "command": r.command, "seconds": r.seconds} for r in plan.runs]
        rows = [(format_duration(run.seconds, 2), run.command) for run in plan.runs]
        output.show_plan(lambda: f"{plan.describe()}\n\n{table((), rows, left=(False, True))}", lambda: {
            "points": points, "commands": list(plan.commands), "seconds": plan.seconds(),
            "settings": plan.settings(), "notes": list(plan.notes),
        })  # fmt: skip
        return
    where = output.directory
    opening = f"{counted(len(plan.runs), 'run')} of MLC, about {format_duration(plan.seconds())}"
    result = output.run(opening, lambda out, bar: run_mlc(plan, out, bar))
    tell(result.findings)
    if output.as_json:
        document = (
            sweep_document(result.sweep, where)
            if result.sweep is not None
            else {"directory": str(where), "points": [], "findings": [f.to_dict() for f in result.findings],
                  "provenance": result.provenance.to_dict()}
        )  # fmt: skip
        figures = [{"mode": f.mode, "mix": f.mix, "buffer_bytes": f.buffer_bytes, "stride_bytes": f.stride_bytes,
                    "repeat": f.repeat, **f.values} for f in result.figures]  # fmt: skip
        print_json({**document, "figures": figures})
    else:
        curves = points_text(result.sweep, where) if result.sweep is not None else f"kept in {where}"
        say("\n\n".join([*_tables(result), curves]))


def _whole(values: parsing.Numbers | None) -> list[int] | None:
    return None if values is None else [int(v) for v in values]


def _tables(result: MlcResult) -> list[str]:
    """The figures beside the curves, each as a table."""
    parts = []
    idle = [f for f in result.figures if "idle_latency_s" in f.values]
    if idle:
        rows = [
            (f.conditions or "MLC's own buffer", format_duration(f.values["idle_latency_s"]),
             f"{f.values['core_hz'] / 1e9:.3g} GHz" if "core_hz" in f.values else "")
            for f in idle
        ]  # fmt: skip
        parts.append(table(("idle latency", "latency", "clock"), rows))
    for figures in result.figures:
        parts += _matrices(figures)
    return parts


def _matrices(figures: MlcFigures) -> list[str]:
    given = f" ({figures.conditions})" if figures.conditions else ""
    parts = []
    for key, title, form in (
        ("idle_latency_matrix_s", "idle latency", format_duration),
        ("bandwidth_matrix_bytes_per_s", "bandwidth", format_bandwidth),
    ):
        matrix: dict[str, list[float | None]] = figures.values.get(key, {})
        if matrix:
            width = max(len(row) for row in matrix.values())
            rows = [(f"node {node}", *_cells(row, width, form)) for node, row in matrix.items()]
            parts.append(f"{title}, CPUs of each node to memory of each node{given}\n" + table(
                ("", *(f"memory {n}" for n in range(width))), rows))  # fmt: skip
    for section, peaks in figures.values.get("bandwidths_bytes_per_s", {}).items():
        rows = [(mix, format_bandwidth(value)) for mix, value in peaks.items()]
        parts.append(f"{section}{given}\n{table(('mix', 'bandwidth'), rows)}")
    return parts


def _cells(row: list[float | None], width: int, form: Any) -> list[str]:
    return ["-" if v is None else form(v) for v in row] + [""] * (width - len(row))
