"""``qsim measure mlc``: memory, with Intel's Memory Latency Checker where it is installed."""

from __future__ import annotations

from calibrate.cli import parsing
from calibrate.cli.console import Result
from calibrate.cli.measuring.run import PlanOrRun, planned
from calibrate.cli.options import option
from measure.units import counted, format_duration

HELP = """Measure the loaded latency of memory with Intel MLC, where it is installed.

Each combination of mix and buffer is stored before the next begins. As root, MLC switches the hardware prefetchers off
while it measures latency.

\b
Examples:
qsim measure mlc --out mlc
qsim measure mlc --mixes R,W5,W6 --out mixes --dry-run
"""


MIXES = ("R", *(f"W{number}" for number in range(2, 13)))


def measure_mlc(
    *,
    delays: parsing.Numbers | None = option("D,...", parsing.delays, "Injected delays, in cycles.", shown="MLC's own"),
    buffers: parsing.Numbers | None = option("SIZE,...", parsing.sizes, "Buffer of each thread.", shown="MLC's own"),
    mixes: parsing.Words = option(
        "MIX,...",
        parsing.choices(*MIXES),
        "Reads to writes: R, W2 2:1, W3 3:1, W4 3:2, W5 1:1; non-temporal W6 0:1, W7 2:1, W8 1:1, W9 3:1, W10 2:1.",
        default=parsing.Words(("R",)),
        shown="R",
    ),
    repeats: int = option("N", parsing.whole, "Rounds over all runs.", default=1, shown=True),
    output: PlanOrRun,
) -> Result:
    """Plan, say what will be done, do it, print the points."""
    from measure.mlc.plan import plan_mlc
    from measure.mlc.sweep import run_mlc

    sizes = None if buffers is None else [int(b) for b in buffers]
    plan = plan_mlc(delays=delays, buffers=sizes, mixes=mixes, repeats=repeats)
    rows = [{"key": r.key, **r.request(), "command": r.command, "seconds": r.seconds} for r in plan.runs]
    facts = {"seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)}
    return output.measure(
        planned(plan.describe(), rows, facts, plan.commands),
        f"{counted(len(plan.runs), 'run')} of MLC, about {format_duration(plan.seconds())}",
        lambda out, bar: run_mlc(plan, out, bar),
    )
