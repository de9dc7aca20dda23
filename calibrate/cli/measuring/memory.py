"""``qsim measure memory``: this machine's memory, with the built-in probe; ``qsim measure mlc``: with Intel's MLC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.measuring.run import PlanOrRun, planned
from calibrate.cli.options import conflicts, option
from measure.memory.traffic import parse_traffics
from measure.units import CACHE_LINE_BYTES, counted, format_duration

if TYPE_CHECKING:
    from measure.memory.plan import MemoryPlan

_traffics = parsing.parser(lambda text: parsing.Words(traffic.name for traffic in parse_traffics(text)))

OVER_DELAYS = "it goes with a sweep over delays"


@conflicts("--buffers", "--delays", because="a sweep varies one of them")
@conflicts("--buffers", "--buffer", "--strides", because=OVER_DELAYS)
def measure_memory(
    *,
    delays: parsing.Numbers | None = option(
        "D,...", parsing.delays, "Idle loops after a burst.", shown="11 from 0 to 2500"
    ),
    traffic: parsing.Words = option(
        "TRAFFIC,...",
        _traffics,
        "read, mix (2:1), write (1:1), a ratio (3:1), percent of reads (75).",
        default=parsing.Words(("read",)),
        shown="read",
    ),
    loaders: parsing.Numbers | None = option("N,...", parsing.depths, "Loading threads.", shown="every other core"),
    buffer_bytes: int | None = option(
        "SIZE", parsing.size, "Buffer of each thread.", "--buffer", shown="4 times the last cache"
    ),
    buffers: parsing.Numbers | None = option("SIZE,...", parsing.sizes, "Buffer sizes to sweep over, as 16KiB..1GiB."),
    strides: parsing.Numbers | None = option("SIZE,...", parsing.sizes, "Bytes from line to line.", shown="64"),
    repeats: int = option("N", parsing.whole, "Repeats of each point.", default=3, shown=True),
    seconds_per_repeat: float = option(
        "TIME", parsing.seconds, "Time of one repeat.", "--seconds", default=0.2, shown=True
    ),
    output: PlanOrRun,
) -> CommandResult:
    """Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

    One thread chases pointers; the others load the memory and idle for a delay after each burst.

    \b
    Examples:
    qsim measure memory --out memory
    qsim measure memory --traffic read,3:1,1:1 --out mixes --dry-run
    qsim measure memory --buffers 16KiB..1GiB --out caches
    """
    from measure.memory.probe import plan_buffers, plan_memory, run_memory

    counts = None if loaders is None else [int(n) for n in loaders]
    common: dict[str, Any] = {"repeats": repeats, "seconds_per_repeat": seconds_per_repeat, "traffic": traffic}
    plan: MemoryPlan
    if buffers is not None:
        plan = plan_buffers([int(b) for b in buffers], threads=counts, **common)
        opening = f"{len(plan.sizes)} buffer sizes"
    else:
        steps = [int(s) for s in strides or (CACHE_LINE_BYTES,)]
        common |= {} if delays is None else {"delays": delays}
        plan = plan_memory(buffer_bytes=buffer_bytes, loaders=counts, strides=steps, **common)
        opening = f"{len(plan.delays)} delays"
    several = f" of {len(traffic)} traffics" if len(traffic) > 1 else ""
    facts = {"seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)}
    return output.measure(
        planned(plan.describe(), plan.rows(), facts, [plan.command()]),
        f"{opening}{several}, about {format_duration(plan.seconds(), 2)}",
        lambda out, bar: run_memory(plan, out, bar),
    )


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
) -> CommandResult:
    """Measure the loaded latency of memory with Intel MLC, where it is installed.

    Each combination of mix and buffer is stored before the next begins. As root, MLC switches the hardware prefetchers
    off while it measures latency.

    \b
    Examples:
    qsim measure mlc --out mlc
    qsim measure mlc --mixes R,W5,W6 --out mixes --dry-run
    """
    from measure.mlc import plan_mlc, run_mlc

    sizes = None if buffers is None else [int(b) for b in buffers]
    plan = plan_mlc(delays=delays, buffers=sizes, mixes=mixes, repeats=repeats)
    rows = [{"key": r.key, **r.request(), "command": r.command, "seconds": r.seconds} for r in plan.runs]
    facts = {"seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)}
    return output.measure(
        planned(plan.describe(), rows, facts, plan.commands),
        f"{counted(len(plan.runs), 'run')} of MLC, about {format_duration(plan.seconds(), 2)}",
        lambda out, bar: run_mlc(plan, out, bar),
    )
