"""fio's processes: one for a point, or one for several whose jobs run one after another, each a point of its own.

A process for each point takes about 0.6 s to start and to end; short points are measured in half the time together.

fio counts the requests of each of some 25 intervals of a run (``write_iops_log`` with ``log_avg_msec``). Its helper
thread does so, and no request is slowed: with fio's null engine, at 3 million requests a second, runs with and without
the log were alike within 2 %, where a log of latencies (``write_lat_log``) took a quarter of the throughput.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from measure.errors import DataError
from measure.fio.command import split_program
from measure.fio.plan import MARGIN_S, FioPlan, FioPoint
from measure.fio.points import request_of, why_no_point
from measure.formats.fio.documents import fio_documents
from measure.formats.fio.steady_state import Intervals, read_interval_logs
from measure.machine.process import Finished, run_tool
from measure.machine.scheduling_delay import NOTE, Wakeups
from measure.store.measuring import Outcome, Tick, printed
from measure.watching.counters import counters_now
from measure.watching.device_counters import counted_device

INTERVALS = 25
SHORTEST_INTERVAL_S = 0.02
_FOLDER = ".logs-"
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
    program, _ = split_program(points[0].argv)
    options = [split_program(p.argv)[1] for p in points]
    general = dict.fromkeys(word for words in options for word in words if word.startswith(GENERAL))
    jobs = (w for words in options for w in (*(w for w in words if not w.startswith(GENERAL)), "--stonewall"))
    return (*program, *general, *jobs)


Watch = Callable[[FioPoint, float], None]
"""Called with a point and its throughput as soon as it was measured, and with a preview of it before."""
PREVIEW_S = 0.2
"""How long a point runs before its throughput is previewed."""


class Preview:
    """The device's own rate while ``points`` run one after another, each for ``each_s``; fio prints theirs at its end.

    ``completed`` gives the requests that the device completed so far.
    """

    def __init__(self, points: Sequence[FioPoint], each_s: float, ramp_s: float, completed: Callable[[], int]) -> None:
        self._points, self._each_s, self._ramp_s, self._completed = points, each_s, ramp_s, completed
        self._begun: dict[int, tuple[float, int]] = {}

    def at(self, elapsed_s: float) -> tuple[FioPoint, float] | None:
        """The point that runs now and its rate until now; None in its ramp."""
        number = min(int(elapsed_s / self._each_s), len(self._points) - 1)
        if elapsed_s - number * self._each_s < self._ramp_s:
            return None
        done = self._completed()
        begun_s, before = self._begun.setdefault(number, (elapsed_s, done))
        if elapsed_s - begun_s < PREVIEW_S or done == before:
            return None
        return self._points[number], (done - before) / (elapsed_s - begun_s)


def _completed_by(device: str) -> int:
    counters = counters_now().get(device)
    return counters.reads + counters.writes if counters else 0


def measured_together(
    plan: FioPlan, points: Sequence[FioPoint], tick: Tick, folder: Path, watch: Watch = lambda *_: None
) -> dict[str, Outcome]:
    """The outcome of each point by its key; none of points that this run does not give: measure them by themselves.

    ``folder`` is an empty one, into which each job writes the log of its throughput when it ends.
    """
    single = [p for p in points if p.job.sections == 1 and not p.job.is_open]
    if len(single) < 2 or plan.settling is not None:
        return {}
    each_s = plan.ramp_s + plan.runtime_s
    logged = [replace(p, argv=(*p.argv, *interval_options(plan.runtime_s, f"{folder}/{p.key}"))) for p in single]
    waiting = list(single)
    device, _ = counted_device(plan.file.path if plan.file is not None else None)
    preview = Preview(single, each_s, plan.ramp_s, partial(_completed_by, device)) if device else None

    def look(elapsed_s: float) -> None:
        if preview and (seen_now := preview.at(elapsed_s)):
            watch(*seen_now)
        while waiting and len(seen := _intervals(folder, waiting[0])):
            watch(waiting.pop(0), sum(seen.throughput_per_s) / len(seen))
        if waiting:
            tick(single[min(int(elapsed_s / each_s), len(single) - 1)].describe())

    with Wakeups() as woken:
        finished = run_tool(together_command(logged), len(single) * each_s + MARGIN_S, on_tick=look)
    if finished.returncode != 0 or finished.timed_out:
        return {}
    preview = None
    look(len(single) * each_s)  # what fio measured
    late = woken.lateness()
    notes = {NOTE: late.to_dict()} if late else {}
    outcomes = (
        (p, _outcome(plan, p, finished, {**notes, "intervals": _intervals(folder, p).to_dict()})) for p in single
    )
    return {point.key: outcome for point, outcome in outcomes if not outcome.reason}


@contextmanager
def log_folder(directory: Path) -> Iterator[Path]:
    """A folder in the sweep's directory for fio to write its logs into, removed at the end.

    What killed runs left of theirs is removed: only for who holds the directory.
    """
    for left in directory.glob(f"{_FOLDER}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_FOLDER, dir=directory.absolute()) as folder:
        yield Path(folder)


def run_with_intervals(
    argv: Sequence[str],
    runtime_s: float,
    timeout_s: float,
    folder: Path,
    on_tick: Callable[[float], None] | None = None,
) -> tuple[Finished, Intervals]:
    """Run a fio command that measures for ``runtime_s``, and its intervals with it.

    The logs are left in ``folder``, an absolute path to an empty one. Options before the first job's name are for all
    jobs. A command that asks for logs itself is run as it is, in ``folder``, since fio has one averaging for all of
    them. Raises as :func:`measure.machine.process.run_tool`.
    """
    if any(option.startswith("--write_") for option in argv):
        return run_tool(argv, timeout_s, folder, on_tick=on_tick), Intervals()
    program, options = split_program(argv)
    logged = (*program, *interval_options(runtime_s, f"{folder}/run"), *options)
    finished = run_tool(logged, timeout_s, on_tick=on_tick)
    texts = [path.read_text("ascii", "replace") for path in folder.glob("run_iops*.log")]
    return finished, read_interval_logs(texts)


def interval_options(runtime_s: float, prefix: str) -> tuple[str, ...]:
    """fio's options that log the throughput of a run of ``runtime_s`` to ``prefix``_iops.1.log and so on."""
    each_s = max(SHORTEST_INTERVAL_S, runtime_s / INTERVALS)
    return (f"--write_iops_log={prefix}", f"--log_avg_msec={round(each_s * 1e3)}")


def _intervals(folder: Path, point: FioPoint) -> Intervals:
    return read_interval_logs([p.read_text("ascii", "replace") for p in folder.glob(f"{point.key}_iops*.log")])


def _outcome(plan: FioPlan, point: FioPoint, finished: Finished, notes: dict[str, Any]) -> Outcome:
    """What the run says of one point: fio's document with the jobs of its name alone."""
    try:
        document = fio_documents(finished.text)[0][0]
        jobs = [job for job in document["jobs"] if job["jobname"] == point.key]
        text = json.dumps({**document, "jobs": jobs})
        reason = why_no_point(text, point.key, point.job)
    except (DataError, LookupError, TypeError) as error:
        text, reason = "", f"{point.key}: fio's output holds no such job ({error})"
    notes |= {"preconditioned": plan.preconditioned} if plan.preconditioned else {}
    of_point = replace(finished, stdout=text.encode())
    return printed(of_point, reason, point.command, request_of(point.job, point.repeat), **notes)
