"""``qsim measure fio --adaptive``: each next depth where the knee is least certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.data import tell_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import PlanOrRun, keeping, kept_in, plan_document, plan_text, sweep_document
from calibrate.cli.option_groups import shared
from calibrate.cli.progress import Bar
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate.next.adaptive_sweep import AdaptiveResult
    from measure.fio.sweep import FioPlan

TOLERANCE = 10.0
FEWEST = 3

Adaptive: TypeAlias = Annotated[
    int | None, shared("K", parsing.whole, "Find the knee in at most K points, among --depths (or 28 from 1 to 256).")
]
Tolerance: TypeAlias = Annotated[
    float | None,
    shared("PCT", parsing.percent, "With --adaptive: stop at a 90 % interval of the knee this narrow.", shown="10%"),
]


def check_adaptive(budget: int | None, tolerance_pct: float | None, others: Mapping[str, object]) -> None:
    """CommandError where the options contradict each other; ``others`` are those that do not go with --adaptive."""
    if budget is None:
        if tolerance_pct is not None:
            raise wrong_usage("--tolerance is for --adaptive K, which stops as soon as the knee is known that well")
        return
    if budget < FEWEST:
        raise wrong_usage(f"--adaptive {budget} is too few: it takes {FEWEST} points, the two ends and one to choose")
    if tolerance_pct is not None and not 0 < tolerance_pct < 100:
        raise wrong_usage(f"--tolerance {tolerance_pct:g} must lie between 0 and 100 percent, like 10%")
    for name, value in others.items():
        if value not in (None, False):
            raise wrong_usage(f"{name} and --adaptive were both given: an adaptive sweep chooses its points itself")


def depths_to_choose_among() -> tuple[float, ...]:
    """Those that an adaptive sweep may take where none are named."""
    from calibrate.next.adaptive_sweep import LOADS

    return LOADS


def measure_adaptively(plan: FioPlan, output: PlanOrRun, budget: int, tolerance_pct: float | None) -> None:
    """Search the knee among the plan's depths, say why each was chosen, print how it went."""
    from calibrate.next.adaptive import LoadChoice, first_choices
    from calibrate.next.adaptive_fio import adaptive_fio, workloads
    from calibrate.next.adaptive_sweep import Search

    tolerance = (TOLERANCE if tolerance_pct is None else tolerance_pct) / 100
    jobs = workloads(plan)
    Search(budget, loads=list(jobs), tolerance=tolerance)  # refuses what makes no sense before anything is done
    if output.dry_run:
        _show_plan(plan, [c.load for c in first_choices(list(jobs))], budget, output)
        return
    store = kept_in(output.out)
    kept = len(store.finished()) if store is not None else 0
    left = max(0, budget - kept)
    before = f"{kept} points are there already; " if kept else ""
    time = f", about {format_duration(_seconds(plan, left))}, engine {plan.engine}" if left else ""
    opening = f"{before}at most {left} of {len(jobs)}{' more' if kept else ' points'}{time}, into {output.directory}"
    with keeping(output.directory), Bar("measuring", opening=opening) as bar:

        def tell(choice: LoadChoice) -> None:
            bar.say(f"{jobs[choice.load].load_text}: {choice.reason}")

        result = adaptive_fio(
            plan, output.directory, budget, tolerance=tolerance, on_progress=bar.points, on_choice=tell
        )
    tell_findings(result.sweep)
    if output.as_json:
        print_json({**sweep_document(result.sweep, output.directory), "adaptive": result.to_dict()})
    else:
        say(_outcome_text(result, plan, output.directory))


def _show_plan(plan: FioPlan, first: list[float], budget: int, output: PlanOrRun) -> None:
    begin = replace(plan, points=tuple(p for p in plan.points if p.job.load in first))
    rest = [p.job.load for p in plan.points if p.job.load not in first]
    seconds = _seconds(plan, budget)
    chosen_among = {"budget": budget, "loads": [p.job.load for p in plan.points], "seconds_at_most": seconds}
    more = f"then at most {budget - len(begin.points)} of {', '.join(f'{n:g}' for n in rest)}, or one of these again"
    output.show_plan(
        lambda: f"{plan_text(begin)}\n\n{more}: at most {format_duration(seconds)} in all",
        lambda: {**plan_document(begin), "adaptive": chosen_among},
    )


def _seconds(plan: FioPlan, points: int) -> float:
    return plan.fill_seconds() + points * plan.point_seconds if points else 0.0


def _outcome_text(result: AdaptiveResult, plan: FioPlan, where: Path) -> str:
    """How each point was chosen, the knee, what all depths would have cost, and the next command."""
    from calibrate.next.adaptive_fio import HISTORY

    took, whole = (format_duration(n * plan.point_seconds) for n in (len(result.steps), len(result.allowed)))
    return (
        f"{result}\n\n{len(result.steps)} points take about {took}, and all {len(result.allowed)} depths {whole}\n"
        f"saved in {where}, how they were chosen in {where / HISTORY}; next: qsim fit {where}"
    )
