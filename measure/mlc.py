"""Measuring memory with Intel's Memory Latency Checker where it is installed: ``plan_mlc``, ``run_mlc``, ``read_mlc``.

    sweep = run_mlc(plan_mlc(mixes=("R", "W5")), Path("mlc"))

Each traffic mix and buffer has its own process of ``--loaded_latency``, so that a failure of one costs no other.
Its output is stored untouched before the next begins; run again to resume after an interruption. The option names
are those of Intel's readme for version 3 (``mlc --help`` lists them):

- ``-t`` seconds of each point, ``-b`` KiB of buffer per thread
- ``-R`` or ``-W2`` to ``-W12``: the mix of the loading threads (``MIXES``)
- ``-g`` a file with one injected delay a line, in core cycles; without it MLC uses its default list (19 delays)

MLC switches the hardware prefetchers off while it measures latency and on again at its end, for which it must run as
root with the msr driver loaded; otherwise it says so and chases at random. On a stop it gets SIGTERM, and time to
switch them on again, before it is killed.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from measure.errors import DataError, StoreError, ToolMissingError
from measure.findings import Finding
from measure.formats.mlc import W_FLAGS, mlc_sweep
from measure.machine.host import host_facts
from measure.machine.process import WITHOUT_MLC, Finished, RunByCommand, find_tool, run_tool
from measure.store.directory import StoredPoint, SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Tick, measure, measured_here, printed, read_kept
from measure.sweep import Sweep, describe_series, join
from measure.units import Mix, counted, format_bytes, format_duration
from qsim.errors import InvalidParameterError, must_be

MIXES: Mapping[str, Mix] = {"R": Mix(1.0), **{f"W{number}": mix for number, mix in W_FLAGS.items()}}
DELAYS_FILE = "delays.txt"  # in the temporary folder in which MLC runs

SECONDS_PER_POINT = 2
OWN_DELAYS = 19  # length of MLC's default list of delays
START_S = 3.0  # time in which MLC allocates and fills its buffers; for the estimate only
MARGIN_S = 60.0  # a run of this much more than four times its estimate counts as hung
NOT_ROOT = "not root: MLC cannot switch the hardware prefetchers off and will chase at random instead"


@dataclass(frozen=True)
class MlcRun(RunByCommand):
    """One process: its key in the store, what it measures (None: MLC's own choice), and the exact command."""

    key: str
    mix: str
    buffer_bytes: int | None
    delays: tuple[int, ...] | None
    repeat: int
    argv: tuple[str, ...]
    seconds: float

    def describe(self) -> str:
        """The run in a few words, for a progress bar."""
        return self.key

    @property
    def limit_s(self) -> float:
        """The hard time limit, seconds."""
        return 4 * self.seconds + MARGIN_S

    def request(self) -> dict[str, Any]:
        """The settings of the run, JSON-ready."""
        return {name: getattr(self, name) for name in ("mix", "buffer_bytes", "delays", "repeat")}


@dataclass(frozen=True)
class MlcPlan:
    """The runs to be made; ``notes`` are remarks for the user before they start."""

    runs: tuple[MlcRun, ...]
    delays: tuple[int, ...] | None
    notes: tuple[str, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        """Every command, in order."""
        return tuple(run.command for run in self.runs)

    def seconds(self) -> float:
        """The estimated duration, seconds."""
        return sum(run.seconds for run in self.runs)

    def settings(self) -> dict[str, Any]:
        """The settings that are fixed for a directory; mixes and buffers may be added to it."""
        return {"delays": self.delays, "seconds_per_point": SECONDS_PER_POINT}

    def describe(self) -> str:
        """The plan in words."""
        delays = f"the delays {', '.join(map(str, self.delays))}" if self.delays else "MLC's own delays"
        lines = [
            f"{counted(len(self.runs), 'run')} of MLC, {SECONDS_PER_POINT} s a point, {delays} (core cycles)",
            f"about {format_duration(self.seconds(), 2)} in all",
            *self.notes,
        ]
        if self.delays:
            lines.append(f"{DELAYS_FILE} holds the delays, one a line, in a private folder that MLC is started in")
        return "\n".join(lines)


def plan_mlc(
    *,
    delays: Sequence[float] | None = None,
    buffers: Sequence[int] | None = None,
    mixes: Sequence[str] = ("R",),
    repeats: int = 1,
) -> MlcPlan:
    """Plan loaded latency with every mix and buffer, ``repeats`` rounds of all.

    ``delays`` are core cycles, ``buffers`` bytes per thread (None: MLC's default).

    Raises ToolMissingError, with an alternative, where MLC is not installed; ValueError naming a setting.
    """
    try:
        find_tool("mlc")
    except ToolMissingError as error:
        raise ToolMissingError(f"{error}; without it, {WITHOUT_MLC}") from error
    flags = [mix.strip().removeprefix("-").upper() for mix in mixes]
    wanted = _checked("mixes", flags, "R,W3", MIXES.__contains__, f"MLC's own flags are taken: {', '.join(MIXES)}")
    whole = "a delay is a whole number of core cycles from 0 to 100000000"
    cycles: tuple[int, ...] | None = None
    if delays is not None:
        found = _checked("delays", delays, "0,100,1000", lambda d: d == int(d) and 0 <= d <= 10**8, whole)
        cycles = tuple(map(int, found))
    sizes: list[int | None] = [None]
    if buffers is not None:
        sizes = _checked("buffers", buffers, "200MiB", lambda b: b >= 1024 and b % 1024 == 0, "MLC takes whole KiB")
    must_be(1 <= repeats <= 1000, "repeats", repeats, "from 1 to 1000")
    _refuse_more_than_memory(wanted, sizes)
    runs = tuple(_mlc_run(mix, size, cycles, repeat) for repeat, mix, size in product(range(repeats), wanted, sizes))
    root = getattr(os, "geteuid", lambda: 0)() == 0
    return MlcPlan(runs, cycles, () if root else (NOT_ROOT,))


def curve_name(request: Mapping[str, Any]) -> str:
    """A curve's name from the settings of its run: "75/25 mix buffer 200 MiB"."""
    mix, buffer = MIXES[request["mix"]], request["buffer_bytes"]
    twins = [flag for flag, other in MIXES.items() if other == mix]
    parts = [mix.note] if mix.note else []
    if request["mix"] != twins[0]:  # the same ratio, from other streams
        parts.append(f"-{request['mix']}")
    parts += [f"buffer {format_bytes(buffer)}"] if buffer is not None else []
    return describe_series(None, mix.read_fraction, None, parts)


def _mlc_run(mix: str, size: int | None, delays: tuple[int, ...] | None, repeat: int) -> MlcRun:
    buffer = () if size is None else (f"-b{size // 1024}",)
    given = (f"-g{DELAYS_FILE}",) if delays else ()
    return MlcRun(
        f"{'-'.join([mix, *(b.removeprefix('-') for b in buffer)])}.r{repeat}",
        mix,
        size,
        delays,
        repeat,
        ("mlc", "--loaded_latency", *buffer, f"-t{SECONDS_PER_POINT}", f"-{mix}", *given),
        START_S + (len(delays) if delays else OWN_DELAYS) * SECONDS_PER_POINT,
    )


def _checked(name: str, values: Sequence[Any], example: str, holds: Callable[[Any], bool], remedy: str) -> list[Any]:
    """The distinct values; InvalidParameterError naming one that MLC does not accept."""
    if not values:
        raise InvalidParameterError(name, "is empty", f"give for example {example}")
    for value in values:
        if not holds(value):
            raise InvalidParameterError(name, f"holds {value!r}", remedy, value=value)
    return list(dict.fromkeys(values))


def _refuse_more_than_memory(mixes: Sequence[str], sizes: Sequence[int | None]) -> None:
    """ValueError where the buffers of all threads, for reads and for writes, do not fit the free memory."""
    free = host_facts().memory_available_bytes
    largest = max((size for size in sizes if size is not None), default=0)
    taken = largest * (os.cpu_count() or 1) * (1 if mixes == ["R"] else 2)
    if free is not None and taken > free:
        why = f"holds {format_bytes(largest)}, which takes {format_bytes(taken)} for all threads"
        raise InvalidParameterError(
            "buffers", f"{why}, and {format_bytes(free)} of memory are free", "take smaller buffers", largest
        )


GRACE_S = 10.0  # to switch the prefetchers on again
SAID_KEPT = 200

_ASKED = ("mix", "buffer_bytes", "repeat")
_STILL_OFF = "if it had switched the hardware prefetchers off they still are, until MLC ends well once or a restart"
_SIGNALS: Mapping[int, str] = {
    signal.SIGILL: "this build of MLC uses an instruction that the CPU lacks; take the other binary of its package",
    getattr(signal, "SIGKILL", 9): f"killed from outside, as when memory runs out; take smaller buffers; {_STILL_OFF}",
    signal.SIGSEGV: f"it crashed; {_STILL_OFF}",
}
_COMPLAINT = re.compile(
    r"exiting|error|fail|unable|cannot|can't|not supported|not enough|insufficient|invalid|must|need", re.IGNORECASE
)
_NO_PREFETCHERS = re.compile(r"Unable to (?:modify|access)\b.*prefetchers")


def run_mlc(plan: MlcPlan, out_dir: Path, on_progress: Progress | None = None) -> Sweep:
    """Make the missing runs of ``plan`` in the sweep directory ``out_dir``, and return the whole sweep.

    A failed run (crash, hang, incomplete table) is recorded with MLC's message, and the others go on.
    Ctrl-C keeps finished runs. Raises StoreError where the directory holds something else, ToolMissingError, and
    ToolFailedError where no run succeeded.
    """
    return measure(
        Measurement(
            "mlc",
            plan.runs,
            plan.settings(),
            lambda: measured_here("mlc", host_facts().memory_text, {}),
            lambda *_: nullcontext(_run),
            read_mlc,
            lambda run: run.seconds,
        ),
        out_dir,
        on_progress,
    )


def read_mlc(store: SweepStore) -> Sweep:
    """The curves that ``run_mlc`` stored in a directory, one for each mix and buffer.

    Raises DataError where no run is finished, StoreError where the directory is damaged.
    """
    kept = read_kept(store, lambda text, _: text)
    kept.check_any()
    parts = [("", _curve(p, text)) for p, text in zip(kept.finished, kept.values, strict=True)]
    sweep = join(parts, store.directory.name)
    known, buffers = kept.provenance, sweep.provenance.details.get("buffer_bytes")
    return replace(
        sweep,
        provenance=replace(
            known,
            tool_version=sweep.provenance.tool_version,
            details={**known.details, **({"buffer_bytes": buffers} if buffers else {})},
        ),
        findings=(*kept.findings, *_prefetchers(kept.values), *sweep.findings),
        raw=kept.raw,
        name=store.directory.name,
    )


def _run(run: MlcRun, tick: Tick) -> Outcome:
    """Run one process, in a temporary folder that holds its list of delays."""
    with tempfile.TemporaryDirectory(prefix="qsim-mlc-") as folder:
        if run.delays:
            (Path(folder) / DELAYS_FILE).write_text("".join(f"{delay}\n" for delay in run.delays), "ascii")
        finished = run_tool(run.argv, run.limit_s, Path(folder), on_tick=lambda _: tick(run.key), grace_s=GRACE_S)
    return replace(printed(finished, _why_failed(run, finished), run.command, run.request()), raw_suffix=".txt")


def _why_failed(run: MlcRun, finished: Finished) -> str:
    reason = finished.failure(run.key, "MLC", run.limit_s, lambda text: _what_lacks(run, text))
    if not reason:
        return ""
    hint = _SIGNALS.get(-finished.returncode, "")
    reason += f"; {_STILL_OFF}" if finished.timed_out else f" ({hint})" if hint else ""
    said = _complaint(finished.text, finished.stderr.decode("utf-8", "replace"))
    return f"{reason}; MLC said: {said}" if said else reason


def _what_lacks(run: MlcRun, text: str) -> str:
    try:
        sweep = mlc_sweep({run.key: text})
    except DataError as error:
        return str(error)
    if run.delays and set(sweep.points["load"]) != set(run.delays):
        rows = counted(len(sweep), "row")
        return f"{run.key}: MLC printed {rows} for the {len(run.delays)} delays that were asked for"
    return f"{run.key}: {sweep.findings[0].message}" if sweep.findings else ""


def _complaint(text: str, stderr: str) -> str:
    """MLC's error message: its first line of complaint, else the last line of stderr."""
    lines = [line.strip(" *\t") for line in [*text.splitlines(), *stderr.splitlines()] if line.strip(" *\t")]
    said = next((line for line in lines if _COMPLAINT.search(line) and not _NO_PREFETCHERS.search(line)), "")
    if not said and stderr.strip():
        said = stderr.strip().splitlines()[-1].strip()
    return said[:SAID_KEPT]


def _curve(point: StoredPoint, text: str) -> Sweep:
    """The table of a finished run, under the curve's name."""
    asked = _asked(point)
    name = curve_name(asked)
    sweep = mlc_sweep({point.raw.name if point.raw else point.key: text})
    table = sweep.points.assign(
        series=name, repeat=float(asked["repeat"]), started_at=str(point.record.get("started_at", ""))
    )
    buffer = asked["buffer_bytes"] or next(iter(sweep.provenance.details.get("buffer_bytes", {}).values()), None)
    details = {"buffer_bytes": {name: float(buffer)}} if buffer else {}
    findings = tuple(replace(f, series=name) for f in sweep.findings)
    return replace(sweep, points=table, findings=findings, provenance=replace(sweep.provenance, details=details))


def _asked(point: StoredPoint) -> Mapping[str, Any]:
    """The settings of a stored run; StoreError where its record lacks them."""
    asked = point.record.get("request")
    if not isinstance(asked, Mapping) or not set(_ASKED) <= set(asked) or asked["mix"] not in MIXES:
        raise StoreError(f"the record of run {point.key} does not tell what was asked; remove it to measure it again")
    return asked


def _prefetchers(texts: Sequence[str]) -> Iterator[Finding]:
    still_on = sum(_NO_PREFETCHERS.search(text) is not None for text in texts)
    if still_on:
        yield Finding(
            "mlc-prefetchers",
            "info",
            f"in {still_on} of {counted(len(texts), 'run')} MLC could not switch the hardware prefetchers off and "
            "chased at random instead.",
            "it was not run as root, or the msr driver is not loaded, or this is a virtual machine.",
            "as root: modprobe msr, then measure again; compare only latencies that were measured in the same way.",
        )
