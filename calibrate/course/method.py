"""The method of a course, written out: what was measured with what, and for how long."""

from __future__ import annotations

import pandas as pd

from calibrate.course.planning import CoursePlan, CourseResults
from calibrate.report.measured import shown
from calibrate.report.view import Section, View
from measure.fio.plan import writes_at_random
from measure.sweep import Sweep
from measure.units import counted, format_bytes

_LEAD = (
    "This machine, measured as the course reports measured theirs. Each sweep is shown as it was measured, audited, "
    "and then predicted from a few of its own points; a point that calibrated a model is no evidence for it. The exact "
    "commands, those that prepare the test file too, stand at the end of each part."
)


def method_section(plan: CoursePlan, results: CourseResults) -> Section:
    """The section that a reader needs in order to repeat the measurement."""
    table = pd.DataFrame([_row(plan, name, sweep) for name, sweep in results.sweeps.items()])
    caption = "Every sweep with its points; a point's time is without its ramp."
    view = View("method", "What was measured", caption, table, None, shown(table))
    return Section("Method", (view,), lead=_LEAD, notes=tuple(_sentences(plan, results)), name="method")


def _row(plan: CoursePlan, name: str, sweep: Sweep) -> dict[str, object]:
    points = sweep.points
    times = {step.directory: step.plan.seconds_per_repeat for step in plan.memory}
    if plan.storage is not None:
        times |= {step.directory: plan.storage.runtime_of(step) for step in plan.storage.steps}
    return {
        "sweep": name,
        "curves": len(sweep.series),
        "workloads": len(points[["series", "load"]].drop_duplicates()),
        "runs": len(points),
        "load": sweep.load_kind.replace("_", " "),
        "a point": f"{times[name]:g} s" if name in times else "",
    }


def _sentences(plan: CoursePlan, results: CourseResults) -> list[str]:
    lines = [_machine(results)]
    for step in plan.memory:
        if step.directory not in results.sweeps:
            continue
        memory = step.plan
        if memory.delays:
            loaders = " or ".join(map(str, memory.loader_counts))
            lines.append(
                "Memory: one thread chases pointers through a random ring of cache lines and times them, with "
                f"{loaders} streaming through buffers of {format_bytes(memory.largest_bytes)} each and pausing for "
                "the injected delay after each burst of lines. Every point is measured "
                f"{counted(memory.repeats, 'time')} for {memory.seconds_per_repeat:g} s, the delays in a random order."
            )
        else:
            lines.append(
                f"Caches: the same chase, and streams, through buffers of {format_bytes(memory.sizes[0])} to "
                f"{format_bytes(memory.sizes[-1])}, with no load."
            )
    storage = plan.storage
    if storage is not None and storage.file is not None:
        at_random = writes_at_random([w for s in storage.steps for w in s.workloads])
        before = "written over at random before" if at_random else "written from end to end before"
        before = before if storage.file.kind == "own file" else "taken as it was"
        size = "" if storage.size_bytes is None else f" of {format_bytes(storage.size_bytes)}"
        lines.append(
            f"Drive: fio on one test file{size}, direct I/O, {before}. Every point runs "
            f"for {storage.settings.runtime_s:g} s (tails twice as long) after a ramp of {storage.ramp_s:g} s that is "
            f"not counted, {counted(storage.repeats, 'time')}; rounds go over all points, so that a drift is not taken "
            "for a curve. Open points send Poisson arrivals from many jobs, so that a late answer delays no later "
            "request."
        )
    lines += [f"Left out: {reason}." for reason in plan.left_out]
    return lines + [f"Failed: {name}: {reason}" for name, reason in results.failed.items()]


def _machine(results: CourseResults) -> str:
    every = [s.provenance for s in results.sweeps.values()]
    drives = dict.fromkeys(s.provenance.device for s in results.sweeps.values() if s.load_type.is_closed)
    known = {"CPU": every[0].cpu, "kernel": every[0].kernel, "drive": "; ".join(d for d in drives if d)}
    facts = ", ".join(f"{name} {value}" for name, value in known.items() if value)
    tools = dict.fromkeys(f"{p.tool} {p.tool_version}".strip() for p in every)
    return f"Machine: {facts}. Tools: {', '.join(t for t in tools if t)}. Begun {every[0].started_at}."
