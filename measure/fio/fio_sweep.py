"""Measuring a drive with fio: ``plan_fio``, ``run_fio``, and ``read_fio_store`` to read the sweep back.

Each finished point is stored before the next begins, so that a sweep can be stopped at any moment and resumed. A
process measures one point, or several one after another: a process takes about 0.6 s to start and end, so short points
in one process take half the time.

fio counts the requests of each of up to 200 intervals of a run, short enough to show the bursts of a device held to a
rate (``write_iops_log`` with ``log_avg_msec``). Its helper thread does so, and slows no request: with fio's null
engine, at 3 million requests a second, runs with and without the log agreed within 2 %, where a log of latencies
(``write_lat_log``) cost a quarter of the throughput.

fio's options are explained in :mod:`measure.fio.fio_command`.
"""

from __future__ import annotations

import json
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from measure import watching
from measure.errors import DataError, ToolFailedError
from measure.fio.fio_command import FioJob, split_program
from measure.fio.plan import DEFAULT_DEPTHS, MARGIN_S, FioPlan, FioPoint, Pass, plan_fio, plan_workloads
from measure.fio.stored_points import measured, near_ceiling, place, request_of, why_no_point
from measure.formats.fio.record import fio_documents
from measure.formats.fio.runs_as_sweep import sweep_of_points
from measure.formats.fio.steady_state import Intervals, read_interval_logs
from measure.loads import ArrivalRate, Depth
from measure.machine.host import storage_behind
from measure.machine.own_file import check_unchanged, mark_filled, remove_leftover
from measure.machine.process import Finished, run_tool
from measure.machine.scheduling_delay import lateness_notes, sampled_wakeups
from measure.origin import Provenance
from measure.store import measuring
from measure.store.directory import SweepStore
from measure.store.measuring import Outcome, Progress, Tick
from measure.sweep import Sweep

MOST_INTERVALS, SHORTEST_INTERVAL_S = 200, 0.01
GENERAL = ("--output-format", "--eta", "--readonly")  # options of fio itself, given once for a process

_NO_SERVER = re.compile(r"nbd_connect_uri: connect: (?:.*: )?([^:]+)$")
"""What fio's NBD engine says where nobody listens at the address."""

Watch = Callable[[FioPoint, float], None]
"""Called with a point and its throughput (1/s), at its end and, in a joint process, while it is measured."""


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
    """The point's command with options that log its throughput into ``folder`` (an absolute path)."""
    options = (f"--write_iops_log={folder / point.key}", f"--log_avg_msec={_interval_ms(runtime_s)}")
    first = next(i for i, word in enumerate(point.argv) if word.startswith("--name="))
    return (*point.argv[: first + 1], *options, *point.argv[first + 1 :])


def _interval_ms(runtime_s: float) -> int:
    return round(1e3 * max(SHORTEST_INTERVAL_S, runtime_s / MOST_INTERVALS))


def measured_together(
    plan: FioPlan, points: Sequence[FioPoint], tick: Tick, folder: Path, watch: Watch
) -> dict[str, Outcome]:
    """Measure points in one process: outcomes by key, without points that failed here and must be measured alone.

    ``folder`` is an empty one, into which each job writes the log of its throughput when it ends.
    """
    single = [p for p in points if p.job.sections == 1 and not p.job.is_open]
    if len(single) < 2:
        return {}
    runtime_s = plan.settings.runtime_s
    each_s = plan.settings.ramp_s + runtime_s
    device = watching.counted_device(plan.file.path if plan.file is not None else None)

    def look(elapsed_s: float) -> None:
        # fio writes its logs at its end; until then the device's counters give the rate, once fio has begun.
        now_s = time.monotonic()
        start = watching.began(seen) or (now_s if device else now_s - elapsed_s)
        number = min(int((now_s - start) / each_s), len(single) - 1)
        tick(single[number].describe())
        if rate := watching.rate_since(seen, start + number * each_s + plan.settings.ramp_s):
            watch(single[number], rate)

    command = together_command([logged(p, runtime_s, folder) for p in single])
    with sampled_wakeups() as late, watching.counting(device) as seen:
        finished = run_tool(command, len(single) * each_s + MARGIN_S, on_tick=look)
    if finished.returncode != 0 or finished.timed_out:
        return {}
    outcomes = {}
    for point in single:
        intervals = _watched(folder, point, runtime_s, watch)
        text, reason = _of_point(finished.text, point)
        if not reason:
            of_point = replace(finished, stdout=text.encode())
            outcomes[point.key] = _outcome(point, of_point, "", intervals, lateness_notes(late))
    return outcomes


def measured_alone(plan: FioPlan, point: FioPoint, tick: Tick, folder: Path, watch: Watch) -> Outcome:
    """Measure one point in a process of its own."""
    text, runtime_s = point.describe(), plan.settings.runtime_s
    folder = folder / point.key  # a joint run left files in the folder above
    folder.mkdir()
    with sampled_wakeups() as late:
        finished = run_tool(logged(point, runtime_s, folder), plan.point_limit_s, on_tick=lambda _: tick(text))
    notes = lateness_notes(late)
    tool = "fio" if plan.tool == "fio" else "qsim's probe"
    reason = why_failed(finished, point.key, point.job, plan.point_limit_s, tool)
    intervals = _watched(folder, point, runtime_s, watch)
    return _outcome(point, finished, reason, intervals, notes)


def why_failed(finished: Finished, name: str, job: FioJob, limit_s: float, tool: str = "fio") -> str:
    """Why a run failed, in one sentence; "" where the tool ended well and its output is a usable point of ``job``."""
    if refused := _NO_SERVER.search(finished.complaint):
        return f"no NBD server answers there ({refused[1]}); start it, or correct the address"
    reason = finished.failure(name, tool, limit_s, lambda text: why_no_point(text, name, job))
    return f"{reason} ({finished.complaint})" if reason and finished.complaint else reason


def _of_point(text: str, point: FioPoint) -> tuple[str, str]:
    """fio's document reduced to the jobs of this point, and why it is not a valid point ("" if it is)."""
    try:
        document = fio_documents(text)[0][0]
        jobs = [job for job in document["jobs"] if job["jobname"] == point.key]
        own = json.dumps({**document, "jobs": jobs})
    except (DataError, LookupError, TypeError) as error:
        return "", f"{point.key}: fio's output holds no such job ({error})"
    return own, why_no_point(own, point.key, point.job)


def _outcome(point: FioPoint, finished: Finished, reason: str, intervals: Intervals, notes: dict[str, Any]) -> Outcome:
    if len(intervals):
        notes["intervals"] = intervals.to_dict()
    return measuring.printed(finished, reason, point.command, request_of(point.job, point.repeat), **notes)


def _watched(folder: Path, point: FioPoint, runtime_s: float, watch: Watch) -> Intervals:
    """The intervals that fio logged of a point that has ended; ``watch`` gets their mean."""
    logs = [p.read_text("ascii", "replace") for p in folder.glob(f"{point.key}_iops*.log")]
    intervals = read_interval_logs(logs, _interval_ms(runtime_s) / 1e3)
    if len(intervals):
        watch(point, sum(intervals.throughput_per_s) / len(intervals))
    return intervals


__all__ = [
    "DEFAULT_DEPTHS",
    "FioJob",
    "FioPlan",
    "FioPoint",
    "Progress",
    "plan_fio",
    "plan_workloads",
    "read_fio_store",
    "run_fio",
]


def run_fio(
    plan: FioPlan,
    out_dir: Path,
    on_progress: Progress | None = None,
    more: measuring.More[FioPoint] | None = None,
    *,
    together: bool = False,
    watch: Watch = lambda *_: None,
) -> Sweep:
    """Measure the missing points of ``plan`` in the sweep directory ``out_dir``, and return the whole sweep.

    Then ``more(sweep)`` is called for further points of this plan (``plan.point(job, repeat)``), which are measured on
    the same file, and called again until it returns no new point.

    A point that fails (crash, hang, I/O error) is recorded with its stderr and the sweep goes on; Ctrl-C keeps every
    finished point. With ``together`` one fio process measures all points, which saves start-up time; an interruption
    then keeps none of them. The test file is always removed at the end, unless the plan keeps it.
    ``watch(point, throughput)`` is called when a point was measured, and ``on_progress(done, total, seconds_left,
    text)`` a few times a second.

    Raises StoreError (the directory holds something else), UnsafeTargetError, ToolMissingError, ToolFailedError
    (the file cannot be filled, or no point could be measured).
    """
    file, keep = plan.file, plan.settings.keep
    return measuring.measure(
        measuring.Measurement(
            plan.tool,
            plan.points,
            plan.fixed(),
            partial(_provenance, plan),
            partial(_ready, plan, together=together, watch=watch),
            read_fio_store,
            lambda _: 0.0 if together else plan.point_seconds,
            plan.fill_seconds() + (plan.together_seconds() if together else 0.0),
            hold=plan.held,
            tidy=lambda _: remove_leftover(file) if file is not None and not keep else None,
        ),
        out_dir,
        on_progress,
        more,
    )


def read_fio_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_fio`` stored in a directory: the finished points, and a finding for each that failed.

    Raises DataError where no point is finished, StoreError where the directory is damaged.
    """
    kept = measuring.read_kept(store, measured)
    kept.check_any()
    placed, noticed = place(kept.values)
    noticed += near_ceiling(kept.values)
    if not placed:
        raise DataError(f"{store.directory} holds no usable point: {noticed[0].message} {noticed[0].remedy}")
    sweep = sweep_of_points(placed, [*kept.findings, *noticed])
    is_open = kept.values[0].job.is_open
    known = kept.provenance
    return replace(
        sweep,
        raw=kept.raw,
        name=store.directory.name,
        provenance=replace(known, details={**sweep.provenance.details, **known.details}),
        load_type=ArrivalRate() if is_open else Depth(),
    )


@contextmanager
def _ready(
    plan: FioPlan, store: SweepStore, missing: Sequence[FioPoint], tick: Tick, *, together: bool, watch: Watch
) -> Iterator[measuring.Run[FioPoint]]:
    """Fill the file, and give the function that measures a point; the file is checked after each."""
    for step in plan.passes:
        _write(plan, step, tick)
    with tempfile.TemporaryDirectory(prefix="qsim-logs-") as logs:
        folder = Path(logs)
        known = measured_together(plan, missing, tick, folder, watch) if together else {}

        def run(point: FioPoint, tick: Tick) -> Outcome:
            outcome = known.pop(point.key, None) or measured_alone(plan, point, tick, folder, watch)
            if plan.file is not None:
                check_unchanged(plan.file)
            return outcome

        yield run


def _write(plan: FioPlan, step: Pass, tick: Tick) -> None:
    """Make one write pass over the file; ToolFailedError where that fails."""
    if plan.file is None:
        return
    finished = run_tool(step.argv, step.limit_s, on_tick=lambda _: tick(step.text))
    reason = why_no_point(finished.text, step.text, step.job)
    if finished.returncode != 0 or finished.timed_out or reason:
        why = finished.complaint or reason or f"fio ended with exit code {finished.returncode}"
        raise ToolFailedError(f"the test file {plan.file.path} could not be filled: {why}")
    if plan.file.path.stat().st_blocks * 512 < 0.95 * plan.file.size_bytes:
        raise ToolFailedError(
            f"the test file {plan.file.path} still has holes after fio filled it; name another target"
        )
    mark_filled(plan.file, scattered=step.job.pattern == "random")


def _provenance(plan: FioPlan) -> Provenance:
    path = plan.file.path if plan.file is not None else None
    storage = storage_behind(path) if path is not None else None
    # Latencies of different submission are not comparable.
    shared = f"open: Poisson arrivals, shared among {plan.engine} jobs at depth 1"
    details: dict[str, Any] = {
        "engine": plan.engine,
        "engine_reason": plan.engine_reason,
        "submission": shared if plan.is_open else "inline",
        "preconditioning": [shlex.join(p.argv) for p in plan.passes],
        **plan.settings.details,
        **({"storage": asdict(storage)} if storage is not None else {}),
    }
    tool = plan.tool if plan.tool == "fio" else "qsim drive probe"
    return measuring.measured_here(tool, str(storage or plan.label), details, plan.fio_version)
