"""Several points by one fio process: its jobs run one after another, and each gives a point of its own.

A process for each point takes about 0.6 s to start and to end; short points are measured in half the time this way.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from measure.errors import DataError
from measure.fio.plan import MARGIN_S, FioPlan, FioPoint
from measure.fio.points import request_of, why_no_point
from measure.formats.fio.documents import fio_documents
from measure.machine.process import Finished, run_tool
from measure.store.measuring import Outcome, Tick, printed

GENERAL = ("--output-format", "--eta", "--readonly")
"""Options of fio itself, which a process has once."""


def together_command(points: Sequence[FioPoint]) -> tuple[str, ...]:
    """The command that measures all ``points``, each of one section, one after another (``stonewall``).

    >>> from measure.fio.plan import FioPoint
    >>> from measure.fio.workload import FioJob
    >>> jobs = {n: FioJob(n, 1, 4096, 100, "random") for n in (1, 2)}
    >>> points = [
    ...     FioPoint(f"d{n}", job, 0, ("fio", "--eta=never", f"--name=d{n}", f"--iodepth={n}"))
    ...     for n, job in jobs.items()
    ... ]
    >>> " ".join(together_command(points))
    'fio --eta=never --name=d1 --iodepth=1 --stonewall --name=d2 --iodepth=2 --stonewall'
    """
    general = dict.fromkeys(word for p in points for word in p.argv[1:] if word.startswith(GENERAL))
    jobs = (
        word for p in points for word in (*(word for word in p.argv[1:] if not word.startswith(GENERAL)), "--stonewall")
    )
    return (points[0].argv[0], *general, *jobs)


def measured_together(plan: FioPlan, points: Sequence[FioPoint], tick: Tick) -> dict[str, Outcome]:
    """The outcome of each point by its key; none of points that this run does not give: measure them by themselves."""
    single = [p for p in points if p.job.sections == 1 and not p.job.is_open]
    if len(single) < 2 or plan.settling is not None or plan.log:
        return {}
    each_s = plan.ramp_s + plan.runtime_s

    def running(elapsed_s: float) -> None:
        tick(single[min(int(elapsed_s / each_s), len(single) - 1)].describe())

    finished = run_tool(together_command(single), len(single) * each_s + MARGIN_S, on_tick=running)
    if finished.returncode != 0 or finished.timed_out:
        return {}
    outcomes = ((point, _outcome(plan, point, finished)) for point in single)
    return {point.key: outcome for point, outcome in outcomes if not outcome.reason}


def _outcome(plan: FioPlan, point: FioPoint, finished: Finished) -> Outcome:
    """What the run says of one point: fio's document with the jobs of its name alone."""
    try:
        document = fio_documents(finished.text)[0][0]
        jobs = [job for job in document["jobs"] if job["jobname"] == point.key]
        text = json.dumps({**document, "jobs": jobs})
        reason = why_no_point(text, point.key, point.job)
    except (DataError, LookupError, TypeError) as error:
        text, reason = "", f"{point.key}: fio's output holds no such job ({error})"
    notes = {"preconditioned": plan.preconditioned} if plan.preconditioned else {}
    of_point = replace(finished, stdout=text.encode())
    return printed(of_point, reason, point.command, request_of(point.job, point.repeat), **notes)
