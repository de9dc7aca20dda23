"""``qsim course``: all measurements of the course reports, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.calibration.compare import comparison_document
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.failures import wrong_usage
from calibrate.cli.measuring.run import FileOptions, failing_parts, keeping, minutes, planned_sweeps, target
from calibrate.cli.options import DryRun, Page, conflicts, flag, option, page_in
from calibrate.cli.progress import Bar
from measure.units import counted

if TYPE_CHECKING:
    from calibrate.course import CoursePlan
    from calibrate.report.view import FrontPage, Section
    from measure.suites.runs import SuiteResults

MODELLING = "a minute or two for the models"


@conflicts("--quick", "--budget")
def course(
    *,
    out: Path | None = option("FOLDER", parsing.path, "Directory of the points and report.html."),
    disk: str | None = option("DIR", target, "A directory or a new file on the drive."),
    budget_s: float | None = option("TIME", parsing.seconds, "Time for the whole.", "--budget", shown="10min"),
    quick: bool = flag("--quick", "Fewer and shorter points, a test file of 64MiB: two minutes or so."),
    no_memory: bool = flag("--no-memory", "Leave the memory out."),
    drive: FileOptions,
    dry_run: DryRun = False,
) -> CommandResult:
    """The course in one command: measure the memory and a drive as the course reports did, and write the report.

    Baselines, block sizes, mixes, depths, tails, arrival rates, memory under load, caches: their tables and plots for
    this machine, audited, with a prediction for each sweep, and the method with the exact commands. The time it takes
    is said first; run the same command again to resume.

    \b
    Examples:
    qsim course --disk /mnt/drive --out course --plan
    qsim course --disk /mnt/drive --out course --budget 10min
    """
    if disk is None:
        raise wrong_usage("--disk is missing: name a directory on the drive")
    page = None if dry_run and out is None else _page(out)

    from calibrate.course import course_sections, front_of, plan_course, run_course
    from measure.suites.agreement import between_suites, disagreements

    plan = plan_course(disk, budget_s=budget_s, quick=quick, out_dir=out, memory=not no_memory, **drive.settings())
    if dry_run or out is None or page is None:
        return _planned(plan)
    for line in plan.left_out:
        warn(line)
    time = f"{minutes(plan.seconds())} and then {MODELLING}"
    opening = f"{plan.points} points of {len(plan.sweeps)} sweeps, about {time}, into {out}"
    with keeping(out), Bar("course", opening=opening) as bar:
        results = run_course(plan, out, bar.points)
    with Bar("modelling") as bar:
        sections = course_sections(plan, results, bar.share)
    front = front_of(sections, disagreements(results.sweeps), between_suites(results.sweeps))
    title = _title(plan, results)
    return CommandResult(
        lambda: "\n".join(
            [title, *front.lines(), "", _verdicts(sections), "", f"saved in {out}; look again: qsim show {out}"]
        ),
        lambda: {
            "directory": str(out),
            **_document(front, sections),
            "failed": dict(results.failed),
            "left_out": list(plan.left_out),
        },
        page.write(lambda: sections, title, front),
        failing_parts(results.failed, f"{counted(len(results.failed), 'part')} of the course"),
    )


def _page(out: Path | None) -> Page:
    """Where the page goes, checked before any work."""
    if out is None:
        raise wrong_usage("--out is missing: name the folder to keep everything in, or only look: --dry-run")
    if out.exists() and not out.is_dir():
        raise wrong_usage(f"--out: {out} is a file; name a folder")
    return page_in(out)


def _title(plan: CoursePlan, results: SuiteResults) -> str:
    drive = plan.storage is not None and any(s.directory in results.sweeps for s in plan.storage.steps)
    memory = any(s.directory in results.sweeps for s in plan.memory)
    return f"The {' and the '.join([*['memory'] * memory, *['drive'] * drive])} of this machine"


def _verdicts(sections: Sequence[Section]) -> str:
    """The predictions of each sweep with their errors, and findings of the audit."""
    from calibrate.prediction.comparison_answer import answer, last_lines

    lines: list[str] = []
    for section in sections:
        if section.is_compared:
            done = section.comparisons
            lines_of = (*answer(done), *last_lines(done)) if done else ()
            lines += ["", section.title, *(f"  {line}" for line in (*lines_of, *section.notes))]
            lines += [f"  {name}: not compared: {reason}" for name, reason in section.refused.items()]
            continue
        counts = {s: sum(f.severity == s for f in section.findings) for s in ("error", "warning")}
        found = ", ".join(counted(n, s) for s, n in counts.items() if n)
        said = [f"  {section.lead}"] if any(view.name.startswith("surface") for view in section.views) else []
        if found or said:
            lines += ["", section.title + (f": audit: {found}" if found else ""), *said]
    return "\n".join(lines[1:])


def _document(front: FrontPage, sections: Sequence[Section]) -> dict[str, Any]:
    parts = [
        {"title": s.title, "notes": list(s.notes), **comparison_document(s.comparisons, dict(s.refused))}
        if s.is_compared
        else s.to_dict()
        for s in sections
    ]
    return {"front": front.to_dict(), "sections": parts}


def _planned(plan: CoursePlan) -> CommandResult:
    """A row for each sweep of the memory and of the drive, then the whole."""
    fill_s = plan.fill_seconds
    fill = f"writing the test file takes about {minutes(fill_s)}\n" if fill_s else ""
    facts = {"points": plan.points, "seconds": plan.seconds(), "fill_seconds": fill_s, "left_out": list(plan.left_out)}
    last = f"{fill}about {minutes(plan.seconds())} in all, and then {MODELLING}"
    return planned_sweeps("\n".join(plan.left_out), plan.sweeps, last, facts)
