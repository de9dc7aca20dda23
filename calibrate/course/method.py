"""The method of a course, written out: what was measured with what, for how long, and the exact commands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import pandas as pd

from calibrate.course.planning import CoursePlan, CourseResults
from calibrate.report.measured import shown
from calibrate.report.view import Section, View
from measure.fio.preconditioning import chosen_state
from measure.sweep import Sweep
from measure.units import counted, format_bytes


def method_section(plan: CoursePlan, results: CourseResults) -> Section:
    """The section that a reader needs in order to repeat the measurement."""
    rows = [_row(plan, name, sweep) for name, sweep in results.sweeps.items()]
    table = pd.DataFrame(rows)
    sweeps = View(
        "method",
        "method",
        "What was measured",
        "Every sweep with its points; a point's time is without its ramp.",
        table,
        None,
        shown(_as_typed(table)),
    )
    exact = View(
        "method", "commands", "The exact commands", _COMMANDS, _commands(results), None, shown(_commands(results))
    )
    return Section("Method", (sweeps, exact), lead=_LEAD, notes=tuple(_sentences(plan, results)), name="method")


_LEAD = (
    "This machine, measured as the course reports measured theirs. Each sweep is shown as it was measured, audited, "
    "and then predicted from a few of its own points; a point that calibrated a model is no evidence for it."
)


_COMMANDS = (
    "One a point, as they were run. What prepares the test file comes first: the others read and write that file, and "
    "it was removed at the end. A memory's command makes a sweep of its own where --out names another folder."
)


def _commands(results: CourseResults) -> pd.DataFrame:
    """Every command with the sweep that it belongs to; what prepares the file appears once."""
    rows: dict[str, str] = {}
    for sweep in results.sweeps.values():
        prepared = sweep.provenance.details.get("preconditioning")
        for command in prepared if isinstance(prepared, list) else ():
            rows.setdefault(str(command), "preparation")
    found = [{"sweep": what, "command": command} for command, what in rows.items()]
    found += [
        {"sweep": name, "command": command}
        for name, sweep in results.sweeps.items()
        for command in dict.fromkeys(sweep.provenance.commands)
    ]
    return pd.DataFrame(found, columns=["sweep", "command"])


def _row(plan: CoursePlan, name: str, sweep: Sweep) -> dict[str, object]:
    points = sweep.points
    row: dict[str, object] = {
        "sweep": name,
        "curves": len(sweep.series),
        "workloads": len(points[["series", "load"]].drop_duplicates()),
        "runs": len(points),
        "load": sweep.load_kind.replace("_", " "),
    }
    for step in plan.memory:
        if step.directory == name:
            return row | {"point_s": step.plan.seconds_per_repeat, "ramp_s": float("nan")}
    for suite in () if plan.storage is None else plan.storage.steps:
        if plan.storage is not None and suite.directory == name:
            return row | {"point_s": plan.storage.runtime_of(suite), "ramp_s": plan.storage.ramp_of(suite)}
    return row


def _sentences(plan: CoursePlan, results: CourseResults) -> list[str]:
    lines = [_machine(results)]
    for step in plan.memory:
        if step.directory not in results.sweeps:
            continue
        if step.plan.delays:
            lines.append(
                f"Memory: one thread chases pointers through a random ring of cache lines and times them, with "
                f"{_threads(step.plan.loader_counts)} streaming through buffers of "
                f"{format_bytes(step.plan.largest_bytes)} each and pausing for the injected delay after each burst of "
                f"lines. Every point is measured {counted(step.plan.repeats, 'time')} for "
                f"{_time(step.plan.seconds_per_repeat)}, "
                "the delays in a random order."
            )
        else:
            lines.append(
                f"Caches: the same chase, and streams, through buffers of {format_bytes(step.plan.sizes[0])} to "
                f"{format_bytes(step.plan.sizes[-1])}, with no load."
            )
    storage = plan.storage
    if storage is not None and storage.file is not None:
        jobs = [w for s in storage.steps for w in s.workloads]
        state = chosen_state(storage.file, jobs)
        size = "" if storage.size_bytes is None else f" of {format_bytes(storage.size_bytes)}"
        lines.append(
            f"Drive: fio on one test file{size}, direct I/O, {_before(state)} Every point runs for "
            f"{_time(storage.settings.runtime_s)} (tails twice as long) after a ramp of "
            f"{_time(storage.ramp_s)} that is not counted, {counted(storage.repeats, 'time')}; rounds go "
            "over all points, so that a drift is not taken for a curve. Open points send Poisson arrivals from many "
            "jobs, so that a late answer delays no later request."
        )
    lines += [f"Left out: {reason}." for reason in plan.left_out]
    lines += [f"Failed: {name}: {reason}" for name, reason in results.failed.items()]
    return lines


def _machine(results: CourseResults) -> str:
    first = next(iter(results.sweeps.values())).provenance
    devices = dict.fromkeys(s.provenance.device for s in results.sweeps.values() if s.load_type.is_closed)
    known = {"CPU": first.cpu, "kernel": first.kernel, "drive": "; ".join(d for d in devices if d)}
    tools = dict.fromkeys(f"{p.tool} {p.tool_version}".strip() for p in (s.provenance for s in results.sweeps.values()))
    facts = [f"{name} {value}" for name, value in known.items() if value]
    return f"Machine: {', '.join(facts)}. Tools: {', '.join(t for t in tools if t)}. Begun {_moment(first.started_at)}."


def _as_typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its times as people type them."""
    names = {"point_s": "a point", "ramp_s": "its ramp"}
    return table.assign(**{c: table[c].map(_time) for c in names if c in table}).rename(columns=names)


def _time(seconds: float) -> str:
    """A setting as it was typed: ``500 ms``, ``1 s``."""
    if not seconds > 0:
        return ""
    return f"{seconds:g} s" if seconds >= 1 else f"{1e3 * seconds:g} ms"


def _threads(counts: Sequence[int]) -> str:
    return " or ".join(map(str, counts)) + (" thread" if list(counts) == [1] else " threads")


def _moment(text: str) -> str:
    """A time as people write it: ``2026-11-22 22:33 UTC``; another text as it is."""
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return text


def _before(state: str) -> str:
    return {"random": "written over at random before.", "sequential": "written from end to end before."}.get(
        state, "taken as it was."
    )
