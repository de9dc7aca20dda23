"""A plan of fio's points before anything runs: each point, how long it takes, and what is measured already."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import table
from measure.units import format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    from measure.fio.sweep import FioPlan
    from measure.store.directory import SweepStore


def kept_in(directory: Path | None) -> SweepStore | None:
    """The sweep that is in the directory already."""
    from measure.store.directory import MANIFEST, SweepStore

    return SweepStore.read(directory) if directory is not None and (directory / MANIFEST).exists() else None


def plan_text(plan: FioPlan, finished: Collection[str] = (), then: str = "") -> str:
    """What is planned in words, a line for each point, every command, and what comes ``then``."""
    jobs = [p.job for p in plan.points]
    columns = varying({
        "block": [format_bytes(j.block_bytes) for j in jobs],
        "pattern": [j.pattern for j in jobs],
        "reads": [f"{j.read_percent} %" for j in jobs],
        "jobs": [str(j.jobs) for j in jobs],
        "repeat": [str(p.repeat + 1) for p in plan.points],
    })  # fmt: skip
    load = [format_rate(j.load) if plan.is_open else str(j.depth) for j in jobs]
    time = ["kept" if p.key in finished else format_duration(plan.point_seconds) for p in plan.points]
    shown = {"arrivals" if plan.is_open else "depth": load, **columns, "time": time}
    parts = [plan.describe()]
    if finished:
        parts.append(left_text(plan, finished))
    parts += [table(list(shown), list(zip(*shown.values(), strict=True)), left=0), "\n".join(plan.commands)]
    return "\n\n".join(parts) + then


def left_text(plan: FioPlan, finished: Collection[str]) -> str:
    """How many points there are to measure, and how long they take."""
    left = sum(p.key not in finished for p in plan.points)
    kept = f" ({len(plan.points) - left} of {len(plan.points)} are there already)" if finished else ""
    if not left:
        return f"nothing is left to measure{kept}"
    return f"{left} point{'s' if left > 1 else ''}{kept}, about {format_duration(plan.seconds(finished))}"


def plan_document(plan: FioPlan, finished: Collection[str] = ()) -> dict[str, Any]:
    """The plan in JSON; ``seconds`` is for what is not finished."""
    points = [
        {"key": p.key, "load": p.job.load, **asdict(p.job), "repeat": p.repeat, "seconds": plan.point_seconds,
         "finished": p.key in finished, "command": p.command}
        for p in plan.points
    ]  # fmt: skip
    return {
        "points": points, "commands": list(plan.commands), "engine": plan.engine,
        "engine_reason": plan.engine_reason, "runtime_s": plan.runtime_s, "ramp_s": plan.ramp_s,
        "fill_seconds": plan.fill_seconds(), "seconds": plan.seconds(finished),
    }  # fmt: skip


def varying(columns: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The columns that hold more than one value."""
    return {name: values for name, values in columns.items() if len(set(values)) > 1}
