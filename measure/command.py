"""Measuring anything with a command of the user's: ``plan_command``, ``run_command``, ``read_command_store``.

    sweep = run_command(plan_command("wrk -t1 -c{N} -d2s --latency http://127.0.0.1:8080/", [1, 2, 4, 8]), Path("out"))

The command holds ``{N}`` (requests in flight) or ``{rate}`` (arrivals a second), which each load replaces. It is split
as a shell would and run without one, unless it is planned for a shell. Each run has its own process group and a time
limit. What a run leaves behind is ended too, where its environment still shows whose it is. Outputs are stored
untouched; :mod:`measure.formats.command_output` reads them.
"""

from __future__ import annotations

import os
import shlex
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from measure.errors import DataError, ToolFailedError
from measure.findings import Finding
from measure.formats.command_output import CommandOutput, Placeholder, command_sweep
from measure.machine.process import Finished, RunByCommand, find_tool, now, run_tool
from measure.store.directory import SweepStore
from measure.store.measuring import (
    Measurement,
    More,
    Outcome,
    Progress,
    Run,
    Tick,
    measure,
    measured_here,
    printed,
    read_kept,
)
from measure.sweep import Sweep
from qsim.errors import InvalidParameterError

LIMIT_S = 600.0
GUESSED_S = 2.0  # the time of a run, before one was made
MARK = "QSIM_RUN"  # the variable in the environment of a run, by which processes that it left behind are known
ENDS_WITHIN_S = 2.0  # how long a process that is killed is waited for
HOST_BUSY = "host_busy"  # the column of the share of this machine's processor time that was in use during a run
SHELL_WORDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>", "&>", "2>/dev/null"})

Watch = Callable[[float, float], None]
"""Called with what was asked for and the throughput, 1/s, when a point was measured."""


@dataclass(frozen=True)
class CommandPoint(RunByCommand):
    """One run: its key in the store, the number for the placeholder, its round, and the words that are run."""

    key: str
    asked: float
    repeat: int
    argv: tuple[str, ...]

    @property
    def place(self) -> str:
        """The load in words."""
        return self.key.rpartition(".")[0].replace("=", " = ")

    def describe(self) -> str:
        """The point in a few words, for a progress bar."""
        return f"{self.place}, round {self.repeat + 1}" if self.repeat else self.place


@dataclass(frozen=True)
class CommandPlan:
    """A command with the points to be measured; ``shell``: run by a shell; ``limit_s``: the time limit of a run."""

    text: str
    placeholder: Placeholder
    shell: bool
    limit_s: float
    points: tuple[CommandPoint, ...] = ()

    @property
    def program(self) -> str:
        """The command's first word, without folders."""
        return Path(next(iter(shlex.split(self.text)), self.text)).name

    def point(self, asked: float, repeat: int = 0) -> CommandPoint:
        """The run at one load."""
        number = f"{asked:.12g}"
        text = self.text.replace(f"{{{self.placeholder}}}", number)
        words = [] if self.shell else shlex.split(self.text)
        argv = tuple(word.replace(f"{{{self.placeholder}}}", number) for word in words) or ("/bin/sh", "-c", text)
        return CommandPoint(f"{self.placeholder}={number}.{repeat}", asked, repeat, argv)

    def settings(self) -> dict[str, Any]:
        """What is fixed for a directory; loads and repeats may be added to it."""
        return {"command": self.text, "shell": self.shell}


def asked_of(key: str) -> float:
    """The number in the key of a point.

    >>> asked_of("N=16.0"), asked_of("rate=0.5.2")
    (16.0, 0.5)
    """
    return float(key.partition("=")[2].rpartition(".")[0])


def plan_command(
    text: str, loads: Sequence[float], *, repeats: int = 1, in_shell: bool = False, limit_s: float = LIMIT_S
) -> CommandPlan:
    """Plan the command at every load, ``repeats`` rounds of all.

    Raises ValueError for a command that cannot be split, is empty, or holds no placeholder or both; ToolMissingError
    where its program does not exist.
    """
    plan = CommandPlan(text, placeholder_of(text), in_shell, limit_s)
    if plan.placeholder == "N" and (odd := [n for n in loads if n != int(n) or n < 1]):
        raise InvalidParameterError("loads", f"{{N}} is a whole number of 1 or more, not {odd[0]:g}", value=odd[0])
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidParameterError("command", f"{text!r} cannot be split ({error}); close its quotes") from error
    if not in_shell and (found := [word for word in words if word in SHELL_WORDS]):
        raise InvalidParameterError("command", f"{found[0]!r} is a word of a shell, which runs it only with --shell")
    program = words[0] if not in_shell else "/bin/sh"
    if os.sep in program and os.path.isfile(program) and not os.access(program, os.X_OK):
        raise ToolFailedError(f"{program} may not be executed; chmod +x {shlex.quote(program)}")
    find_tool(program)
    rounds = [(n, repeat) for repeat in range(repeats) for n in dict.fromkeys(loads)]
    return replace(plan, points=tuple(plan.point(n, repeat) for n, repeat in rounds))


def placeholder_of(text: str) -> Placeholder:
    """What the command varies. Raises ValueError where it holds no placeholder, or both."""
    known: tuple[Placeholder, ...] = ("N", "rate")
    found = [name for name in known if f"{{{name}}}" in text]
    if len(found) == 1:
        return found[0]
    wrong = "holds both {N} and {rate}; a sweep varies one of them" if found else "has no {N}"
    remedy = "" if found else "; put {N} where it takes its number of clients, threads or jobs, or {rate} for a rate"
    raise InvalidParameterError("command", f"{text!r} {wrong}{remedy}", value=text)


def run_command(
    plan: CommandPlan,
    out_dir: Path,
    on_progress: Progress | None = None,
    more: More[CommandPoint] | None = None,
    *,
    watch: Watch = lambda *_: None,
) -> Sweep:
    """Measure the missing points of the plan in the directory ``out_dir``, and return the whole sweep.

    Then ``more(sweep)`` is called for further points, as by :func:`measure.fio.fio_sweep.run_fio`. A run that fails is
    recorded with its stderr, and the others go on. Raises StoreError (the directory holds something else),
    ToolFailedError (no point could be measured), DataError (the outputs are no sweep).
    """
    return measure(
        Measurement(
            "command",
            plan.points,
            plan.settings(),
            lambda: measured_here(plan.program, plan.text, plan.settings()),
            partial(_ready, plan, watch=watch),
            read_command_store,
            lambda _: GUESSED_S,
        ),
        out_dir,
        on_progress,
        more,
    )


def read_command_store(store: SweepStore) -> Sweep:
    """The sweep that ``run_command`` stored in a directory: finished points, and a finding for each that failed.

    Raises DataError where no point is finished or their outputs are no sweep, StoreError for a damaged directory.
    """
    kept = read_kept(store, lambda text, point: (point, CommandOutput(text, point.asked("load"))))
    kept.check_any()
    text = str(store.manifest.get("settings", {}).get("command", ""))
    known = kept.provenance
    outputs = {point.key: output for point, output in kept.values}
    sweep = command_sweep(outputs, placeholder_of(text), known.tool)
    records = {point.key: point.record for point, _ in kept.values}
    own = [records[source] for source in sweep.points["source"]]
    points = sweep.points.assign(
        started_at=[record["started_at"] for record in own], repeat=sweep.points.groupby(["series", "load"]).cumcount()
    )
    points[HOST_BUSY] = [float(record.get(HOST_BUSY, "nan")) for record in own]
    left = [Finding("left-behind", "info", str(note)) for r in records.values() if (note := r.get("left_behind"))]
    return replace(
        sweep,
        points=points,
        findings=(*kept.findings, *left[:1], *sweep.findings),
        raw=kept.raw,
        name=store.directory.name,
        provenance=replace(known, tool=sweep.provenance.tool, details={**known.details, **sweep.provenance.details}),
    )


@contextmanager
def _ready(
    plan: CommandPlan, _store: SweepStore, _missing: Sequence[CommandPoint], _tick: Tick, *, watch: Watch
) -> Iterator[Run[CommandPoint]]:
    """Give the function that measures a point."""

    def run(point: CommandPoint, tick: Tick) -> Outcome:
        outcome, throughput_per_s = measured(plan, point, tick)
        if throughput_per_s is not None:
            watch(point.asked, throughput_per_s)
        return outcome

    yield run


def measured(plan: CommandPlan, point: CommandPoint, tick: Tick) -> tuple[Outcome, float | None]:
    """Run the command at one load: the outcome, and its throughput, None where it failed."""
    mark = uuid.uuid4().hex
    notes: dict[str, Any] = {}
    request = {"load": point.asked, "repeat": point.repeat}
    clock = _HostClock()
    try:
        finished = run_tool(
            point.argv, plan.limit_s, on_tick=lambda _: tick(point.describe()), environment={MARK: mark}
        )
    except ToolFailedError as error:  # it could not be started, or printed without end
        at, reason = now(), str(error)
        record = {"command": point.command, "request": request, "started_at": at, "ended_at": at, "stderr": reason}
        return Outcome(None, record, reason), None
    finally:
        if left := end_left_behind(mark):
            notes["left_behind"] = f"{plan.program} left {', '.join(left)} running, which was ended after its run"
    notes[HOST_BUSY] = clock.busy()
    reason, throughput_per_s = _judged(plan, point, finished)
    outcome = printed(finished, reason, point.command, request, **notes)
    return replace(outcome, raw_suffix=".txt", place=point.place), throughput_per_s


def _judged(plan: CommandPlan, point: CommandPoint, finished: Finished) -> tuple[str, float | None]:
    """Why a run is no point, "" where it is one, and its throughput."""
    name = point.describe()
    reason = finished.failure(name, plan.program, plan.limit_s, lambda _: "")
    if reason:
        said = finished.complaint or (finished.text.strip().splitlines() or [""])[-1]
        remedy = "; let it end by itself, or allow it more time" if finished.timed_out else ""
        return f"{reason}{f' ({said})' if said else ''}{remedy}", None
    if not finished.text.strip():
        said = f"; on stderr: {finished.complaint}" if finished.complaint else ""
        return f"{name}: {plan.program} printed nothing on stdout{said}", None
    try:
        outputs = {name: CommandOutput(finished.text, point.asked)}
        sweep = command_sweep(outputs, plan.placeholder, plan.program)
    except DataError as error:
        return str(error), None
    return "", float(sweep.points["throughput_per_s"].iloc[0])


def end_left_behind(mark: str) -> list[str]:
    """End every process whose environment holds the mark; their names."""
    import psutil

    ended, names = [], []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark:
                names.append(process.name())
                process.kill()
                ended.append(process)
    psutil.wait_procs(ended, timeout=ENDS_WITHIN_S)
    return names


class _HostClock:
    """The share of this machine's processor time that is in use from its making on."""

    def __init__(self) -> None:
        self._began, self._idle = time.monotonic(), self._idle_s()

    def busy(self) -> float:
        """0 idle, 1 all processors busy."""
        whole = (time.monotonic() - self._began) * (os.cpu_count() or 1)
        return max(0.0, min(1.0, 1 - (self._idle_s() - self._idle) / whole))

    @staticmethod
    def _idle_s() -> float:
        import psutil

        times = psutil.cpu_times()
        return float(times.idle + getattr(times, "iowait", 0.0))
