"""``qsim measure memory``: this machine's memory, with the built-in probe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.measuring.plan_table import PlanTable
from calibrate.cli.measuring.run import PlanOrRun
from calibrate.cli.option_groups import option
from calibrate.cli.option_rules import conflicts, exclusive
from measure.memory.traffic import parse_traffics
from measure.units import CACHE_LINE_BYTES, format_duration

if TYPE_CHECKING:
    from measure.memory.probe import BufferPlan, MemoryPlan

HELP = """Measure this machine's memory: latency against bandwidth over injected delays, with nothing to install.

One thread chases pointers; the others load the memory and idle for a delay after each burst.

\b
Examples:
qsim measure memory --out memory
qsim measure memory --traffic read,3:1,1:1,nt-write --out mixes --dry-run
qsim measure memory --buffers 16KiB..1GiB --out caches
"""


@parsing.parser
def _traffics(text: str) -> parsing.Words:
    return parsing.Words(traffic.name for traffic in parse_traffics(text))


OVER_DELAYS = "it goes with a sweep over delays"


@exclusive("--buffers", "--delays", because="a sweep varies one of them")
@conflicts("--buffers", "--buffer", "--strides", because=OVER_DELAYS)
def measure_memory(
    *,
    delays: parsing.Numbers | None = option(
        "D,...", parsing.delays, "Idle loops after a burst.", shown="11 from 0 to 2500"
    ),
    traffic: parsing.Words = option(
        "TRAFFIC,...",
        _traffics,
        "read, mix (2:1), write (1:1), a ratio (3:1), percent of reads (75), past the caches nt-write, nt-1:1.",
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
) -> None:
    """Plan, say what will be done, do it, print the points."""
    counts = None if loaders is None else [int(n) for n in loaders]
    output.check()

    from measure.memory.probe import DEMO_DELAYS, plan_buffers, plan_memory, run_memory

    plan: MemoryPlan | BufferPlan
    if buffers is not None:
        sizes = plan_buffers(
            [int(b) for b in buffers],
            threads=counts,
            repeats=repeats,
            seconds_per_repeat=seconds_per_repeat,
            traffic=traffic,
        )
        plan, what = sizes, f"{len(sizes.sizes)} buffer sizes"
    else:
        curve = plan_memory(
            delays if delays is not None else DEMO_DELAYS,
            buffer_bytes=buffer_bytes,
            loaders=counts,
            repeats=repeats,
            seconds_per_repeat=seconds_per_repeat,
            traffic=traffic,
            strides=[int(s) for s in strides or (CACHE_LINE_BYTES,)],
        )
        plan, what = curve, f"{len(curve.delays)} delays"
    if output.dry_run:
        output.show_plan(_plan_table(plan))
        return
    several = f" of {len(traffic)} traffics" if len(traffic) > 1 else ""
    opening = f"{what}{several}, about {format_duration(plan.seconds())}"
    output.measure(opening, lambda out, bar: run_memory(plan, out, bar))


def _plan_table(plan: MemoryPlan | BufferPlan) -> PlanTable:
    """Every loaded point of the plan with its command, by traffic, loaders and delay; or every buffer size."""
    from measure.memory.probe import BufferPlan

    if isinstance(plan, BufferPlan):
        rows: list[dict[str, Any]] = [
            {"buffer_bytes": size, "command": plan.command(size), "seconds": plan.seconds_at(size)}
            for size in plan.sizes
        ]
    else:
        loaded = [p for p in plan.points() if p.kind == "loaded" and p.traffic is not None]
        rows = [
            {
                "delay": p.delay,
                "traffic": p.traffic.label if p.traffic else None,
                "loaders": p.loaders,
                "command": plan.command(p),
                "seconds": plan.seconds_per_point(),
            }
            for p in sorted(loaded, key=lambda p: (plan.traffics.index(p.traffic), p.loaders, p.delay))
        ]
    facts = {"seconds": plan.seconds(), "settings": plan.settings(), "notes": list(plan.notes)}
    return PlanTable(plan.describe(), rows, {}, facts, [plan.command()])
