"""``qsim measure fio --depths auto``: each next depth where the knee is least certain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from calibrate.cli.console import Result
from calibrate.cli.data import print_sweep_findings
from calibrate.cli.measuring.fio_plan import plan_table
from calibrate.cli.measuring.measured_table import sweep_document
from calibrate.cli.measuring.run import PlanOrRun, PlanTable, keeping
from calibrate.cli.progress import Bar
from measure.store.directory import MANIFEST, SweepStore
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate.next.adaptive import AdaptiveStep
    from measure.fio.sweep import FioPlan

TOLERANCE = 0.1
"""The search ends at a 90 % interval of the knee this narrow."""


def measure_adaptively(plan: FioPlan, output: PlanOrRun, most: int) -> Result:
    """Search the knee in ``most`` points among the plan's depths, say why each was chosen, print how it went."""
    from calibrate.next.adaptive import Search, first_choices
    from calibrate.next.adaptive_fio import HISTORY, adaptive_fio, workloads

    jobs = workloads(plan)
    Search(most, loads=list(jobs), tolerance=TOLERANCE)  # refuses what makes no sense before anything is done
    if output.dry_run:
        return output.planned(_plan_table(plan, [c.load for c in first_choices(list(jobs))], most))
    where = output.directory
    kept = len(SweepStore.read(where).finished()) if (where / MANIFEST).exists() else 0
    left = max(0, most - kept)
    before = f"{kept} points are there already; " if kept else ""
    time = f", about {format_duration(_seconds(plan, left))}, engine {plan.engine}" if left else ""
    opening = f"{before}at most {left} of {len(jobs)}{' more' if kept else ' points'}{time}, into {where}"
    with keeping(where), Bar("measuring", opening=opening) as bar:

        def chosen(choice: AdaptiveStep) -> None:
            bar.say(f"{jobs[choice.load].load_text}: {choice.reason}")

        result = adaptive_fio(plan, where, most, tolerance=TOLERANCE, on_progress=bar.points, on_choice=chosen)
    print_sweep_findings(result.sweep)
    took, whole = (format_duration(n * plan.point_seconds) for n in (len(result.steps), len(result.allowed)))
    return Result(
        lambda: (
            f"{result}\n\n{len(result.steps)} points take about {took}, and all {len(result.allowed)} depths {whole}\n"
            f"saved in {where}, how they were chosen in {where / HISTORY}; next: qsim fit {where}"
        ),
        lambda: {**sweep_document(result.sweep, where), "adaptive": result.to_dict()},
    )


def _plan_table(plan: FioPlan, first: list[float], most: int) -> PlanTable:
    begin = replace(plan, points=tuple(p for p in plan.points if p.job.load in first))
    rest = [p.job.load for p in plan.points if p.job.load not in first]
    seconds = _seconds(plan, most)
    search = {"budget": most, "loads": [p.job.load for p in plan.points], "seconds_at_most": seconds}
    more = f"then at most {most - len(begin.points)} of {', '.join(f'{n:g}' for n in rest)}, or one of these again"
    return plan_table(begin, (), f"{more}: at most {format_duration(seconds)} in all", adaptive=search)


def _seconds(plan: FioPlan, points: int) -> float:
    return plan.fill_seconds() + points * plan.point_seconds if points else 0.0
