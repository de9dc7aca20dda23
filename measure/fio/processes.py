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
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure.errors import DataError
from measure.fio.command import split_program
from measure.fio.plan import MARGIN_S, FioPlan, FioPoint
from measure.fio.points import request_of, why_no_point
from measure.fio.workload import FioJob
from measure.formats.fio.documents import fio_documents
from measure.formats.fio.steady_state import Intervals, read_interval_logs
from measure.machine.process import Finished, run_tool
from measure.machine.scheduling_delay import lateness_notes, napping
from measure.store.measuring import Outcome, Tick, printed
from measure.watching import device_counters

INTERVALS = 25
SHORTEST_INTERVAL_S = 0.02
_FOLDER = ".logs-"
GENERAL = ("--output-format", "--eta", "--readonly")
"""Options of fio itself, which a process has once."""

Watch = Callable[[FioPoint, float], None]
"""Called with a point and its throughput while it is measured together with others, and when that is known."""


def together_command(commands: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The command that runs all ``commands``, each of one section, one after another (``stonewall``).

    >>> " ".join(together_command([("fio", "--eta=never", f"--name=d{n}", f"--iodepth={n}") for n in (1, 2)]))
    'fio --eta=never --name=d1 --iodepth=1 --stonewall --name=d2 --iodepth=2 --stonewall'
    """
    program, _ = split_program(commands[0])
    options = [split_program(command)[1] for command in commands]
    general = dict.fromkeys(word for words in options for word in words if word.startswith(GENERAL))
    jobs = (w for words in options for w in (*(w for w in words if not w.startswith(GENERAL)), "--stonewall"))
    return (*program, *general, *jobs)


def logged(point: FioPoint, runtime_s: float, folder: Path) -> tuple[str, ...]:
    """The point's command with the options that log the throughput of its run into ``folder`` (an absolute path)."""
    each_s = max(SHORTEST_INTERVAL_S, runtime_s / INTERVALS)
    options = (f"--write_iops_log={folder / point.key}", f"--log_avg_msec={round(each_s * 1e3)}")
    first = next(i for i, word in enumerate(point.argv) if word.startswith("--name="))
    return (*point.argv[: first + 1], *options, *point.argv[first + 1 :])


@contextmanager
def log_folder(directory: Path) -> Iterator[Path]:
    """A folder in the sweep's directory for fio to write its logs into, removed at the end.

    What killed runs left of theirs is removed: only for who holds the directory.
    """
    for left in directory.glob(f"{_FOLDER}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_FOLDER, dir=directory.absolute()) as folder:
        yield Path(folder)


def measured_together(
    plan: FioPlan, points: Sequence[FioPoint], tick: Tick, folder: Path, watch: Watch
) -> dict[str, Outcome]:
    """The outcome of each point by its key; none of points that this run does not give: measure them by themselves.

    ``folder`` is an empty one, into which each job writes the log of its throughput when it ends.
    """
    single = [p for p in points if p.job.sections == 1 and not p.job.is_open]
    if len(single) < 2:
        return {}
    runtime_s = plan.settings.runtime_s
    each_s = plan.settings.ramp_s + runtime_s
    device = device_counters.counted_device(plan.file.path if plan.file is not None else None)

    def look(elapsed_s: float) -> None:
        # fio writes its logs at its end; until then the device's own counters give the rate, from when fio is at work.
        now_s = time.monotonic()
        start = device_counters.began(seen) or (now_s if device else now_s - elapsed_s)
        number = min(int((now_s - start) / each_s), len(single) - 1)
        tick(single[number].describe())
        if rate := device_counters.rate_since(seen, start + number * each_s + plan.settings.ramp_s):
            watch(single[number], rate)

    command = together_command([logged(p, runtime_s, folder) for p in single])
    with napping() as late, device_counters.counting(device) as seen:
        finished = run_tool(command, len(single) * each_s + MARGIN_S, on_tick=look)
    if finished.returncode != 0 or finished.timed_out:
        return {}
    outcomes = {}
    for point in single:
        if len(intervals := _intervals(folder, point)):
            watch(point, sum(intervals.throughput_per_s) / len(intervals))
        text, reason = _of_point(finished.text, point)
        if not reason:
            of_point = replace(finished, stdout=text.encode())
            outcomes[point.key] = _outcome(point, of_point, "", folder, lateness_notes(late))
    return outcomes


def measured_alone(plan: FioPlan, point: FioPoint, tick: Tick, folder: Path, watch: Watch) -> Outcome:
    """Run ``point`` as ``plan`` says."""
    text, runtime_s = point.describe(), plan.settings.runtime_s
    folder = folder / point.key  # beside what a run of several points left
    folder.mkdir()
    with napping() as late:
        finished = run_tool(logged(point, runtime_s, folder), plan.point_limit_s, on_tick=lambda _: tick(text))
    notes = lateness_notes(late)
    reason = why_failed(finished, point.key, point.job, plan.point_limit_s)
    if len(intervals := _intervals(folder, point)):
        watch(point, sum(intervals.throughput_per_s) / len(intervals))
    return _outcome(point, finished, reason, folder, notes)


def why_failed(finished: Finished, name: str, job: FioJob, limit_s: float) -> str:
    """One sentence, or "" where fio ended well and its output is a usable point of ``job``."""
    reason = finished.failure(name, "fio", limit_s, lambda text: why_no_point(text, name, job))
    return f"{reason} ({finished.complaint})" if reason and finished.complaint else reason


def _of_point(text: str, point: FioPoint) -> tuple[str, str]:
    """fio's document reduced to the jobs of this point, and the reason why it is no valid point ("" if it is)."""
    try:
        document = fio_documents(text)[0][0]
        jobs = [job for job in document["jobs"] if job["jobname"] == point.key]
        own = json.dumps({**document, "jobs": jobs})
    except (DataError, LookupError, TypeError) as error:
        return "", f"{point.key}: fio's output holds no such job ({error})"
    return own, why_no_point(own, point.key, point.job)


def _outcome(point: FioPoint, finished: Finished, reason: str, folder: Path, notes: dict[str, Any]) -> Outcome:
    if len(intervals := _intervals(folder, point)):
        notes["intervals"] = intervals.to_dict()
    return printed(finished, reason, point.command, request_of(point.job, point.repeat), **notes)


def _intervals(folder: Path, point: FioPoint) -> Intervals:
    return read_interval_logs([p.read_text("ascii", "replace") for p in folder.glob(f"{point.key}_iops*.log")])
