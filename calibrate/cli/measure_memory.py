"""``qsim measure memory``: this machine's memory, with the built-in probe."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.data import tell_findings
from calibrate.cli.measuring import directory, keeping, points_text, sweep_document
from calibrate.cli.options import AsJson, DryRun, SweepDirectory
from calibrate.cli.progress import Bar
from measure.units import format_duration

HELP = """Measure this machine's memory: latency against bandwidth over injected delays, nothing to install.

One thread chases pointers and times them; the others load the memory and idle for a delay after each burst.

\b
Examples:
qsim measure memory --out memory
qsim measure memory --delays 0,100,500,2000,20000 --traffic mix --out mixed --dry-run
"""


def measure_memory(
    out: SweepDirectory = None,
    delays: Annotated[
        parsing.Numbers | None,
        typer.Option(metavar="D,...", parser=parsing.loads, show_default="a list of 11 from 0 to 20000",
                     help="Idle-loop iterations after each burst of lines."),
    ] = None,
    buffer_bytes: Annotated[
        int | None,
        typer.Option("--buffer", metavar="SIZE", parser=parsing.size, show_default="4 times the last cache",
                     help="Each thread's own buffer; one that fits a cache is refused."),
    ] = None,
    loaders: Annotated[
        int | None,
        typer.Option(metavar="N", parser=parsing.whole, show_default="every other core", help="Loading threads."),
    ] = None,
    repeats: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Repeats of each point.")] = 3,
    seconds_per_repeat: Annotated[
        float, typer.Option("--seconds", metavar="TIME", parser=parsing.seconds, help="Time of one repeat.")
    ] = 0.2,
    traffic: Annotated[
        str,
        typer.Option(metavar="TRAFFIC", parser=parsing.choice("read", "mix", "write"),
                     help="read, mix (2 reads to 1 write) or write (1 to 1)."),
    ] = "read",
    seed: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Seed of the order and the ring.")] = 1,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Plan, say what will be done, do it, print the points."""
    where = None if dry_run and out is None else directory(out)

    from measure.memory_probe import DEMO_DELAYS, plan_memory, run_memory

    plan = plan_memory(
        delays if delays is not None else DEMO_DELAYS, buffer_bytes=buffer_bytes, loaders=loaders, repeats=repeats,
        seconds_per_repeat=seconds_per_repeat, traffic=traffic, seed=seed,
    )  # fmt: skip
    if dry_run or where is None:
        if as_json:
            points = [{"delay": d, "command": plan.command([d])} for d in plan.delays]
            print_json({"dry_run": True, "points": points, "commands": [plan.command(plan.delays)],
                        "seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)})  # fmt: skip
        else:
            say(plan.describe() + "\n\n" + plan.command(plan.delays))
        return
    opening = f"{len(plan.delays)} delays, about {format_duration(plan.seconds())}, into {where}"
    with keeping(where), Bar("measuring", opening=opening) as bar:
        sweep = run_memory(plan, where, bar.points)
    tell_findings(sweep)
    if as_json:
        print_json(sweep_document(sweep, where))
    else:
        say(points_text(sweep, where))
