"""The plan of a drive's sweep as a table, and how much of it is left to measure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from calibrate.cli.measuring.run import PlanTable
from measure.units import counted, format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from measure.fio.plan import FioPlan


def left_text(plan: FioPlan, finished: Collection[str]) -> str:
    """How many points there are to measure, and how long they take."""
    left = sum(p.key not in finished for p in plan.points)
    kept = f" ({len(plan.points) - left} of {len(plan.points)} are there already)" if finished else ""
    if not left:
        return f"nothing is left to measure{kept}"
    return f"{counted(left, 'point')}{kept}, about {format_duration(plan.seconds(finished))}"


def plan_table(plan: FioPlan, finished: Collection[str] = (), last: str = "", **facts: Any) -> PlanTable:
    """Every point of a plan with its command; ``seconds`` is for what is not finished, ``last`` what comes after."""
    rows = [
        {
            "key": p.key,
            "load": p.job.load,
            **asdict(p.job),
            "repeat": p.repeat,
            "seconds": plan.point_seconds,
            "finished": p.key in finished,
            "command": p.command,
        }
        for p in plan.points
    ]
    load = "arrivals" if plan.is_open else "depth"
    columns = {
        load: lambda r: format_rate(r["load"]) if plan.is_open else str(r["depth"]),
        "block": lambda r: format_bytes(r["block_bytes"]),
        "pattern": lambda r: str(r["pattern"]),
        "reads": lambda r: f"{r['read_percent']} %",
        "jobs": lambda r: str(r["jobs"]),
        "repeat": lambda r: str(r["repeat"] + 1),
        "time": lambda r: "kept" if r["finished"] else format_duration(r["seconds"]),
    }
    facts |= {"engine": plan.engine, "engine_reason": plan.engine_reason}
    facts |= {"runtime_s": plan.settings.runtime_s, "ramp_s": plan.settings.ramp_s}
    facts |= {"fill_seconds": plan.fill_seconds(), "seconds": plan.seconds(finished)}
    heading = "\n\n".join([plan.describe(), *([left_text(plan, finished)] if finished else [])])
    return PlanTable(heading, rows, columns, facts, plan.commands, last, always=(load, "time"))
