"""``qsim measure command``: anything that a command of the user's measures, over loads."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.measuring.run import PlanOrRun, minutes, planned
from calibrate.cli.options import flag, option
from measure.command import LIMIT_S, plan_command, run_command
from measure.units import counted

DEFAULT_LOADS = parsing.Numbers((1, 2, 4, 8, 16, 32))


def measure_command(
    *,
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="What to run, with {N} or {rate} in it.")],
    loads: parsing.Numbers = option(
        "N,...", parsing.rates, "The numbers for {N}, or for {rate}.", default=DEFAULT_LOADS, shown="1..32 (doubling)"
    ),
    repeats: int = option("N", parsing.whole, "Rounds over all loads.", default=1, shown=True),
    limit: float = option("TIME", parsing.seconds, "Time limit of one run.", default=LIMIT_S, shown="10min"),
    shell: bool = flag("--shell", "Let a shell run the command."),
    output: PlanOrRun,
) -> CommandResult:
    """Measure anything that a command measures, over loads; each point is stored as it finishes.

    COMMAND is one quoted string. Each load replaces {N}, the number in flight (clients, threads, jobs), or {rate}, the
    arrivals a second. It is split as a shell would, and runs without one. What it prints is read as by qsim show, else
    its last line of JSON, or of CSV under a header, with throughput (1/s) and latency (s), or units in the names:
    iops,lat_us.

    \b
    Examples:
    qsim measure command 'wrk -t1 -c{N} -d5s --latency http://127.0.0.1:8080/' --out service
    qsim measure command 'pgbench -n -T 5 -c {N} -j 2 bench' --loads 1..32 --repeats 3 --out database
    qsim measure command 'pgbench -n -T 5 -c 20 --rate {rate} bench' --loads 100,200,400 --out open
    """
    plan = plan_command(command, loads, repeats=repeats, in_shell=shell, limit_s=limit)
    rows = [{"key": p.key, "load": p.asked, "repeat": p.repeat, "command": p.command} for p in plan.points]
    text = f"{counted(len(plan.points), 'run')}, at most {minutes(limit)} each"
    return output.measure(
        planned(text, rows, {"limit_s": limit}, [p.command for p in plan.points]),
        text,
        lambda out, bar: run_command(plan, out, bar),
    )
