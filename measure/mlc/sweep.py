"""Measuring memory with Intel's Memory Latency Checker where it is installed: ``plan_mlc``, ``run_mlc``, ``read_mlc``.

    sweep = run_mlc(plan_mlc(mixes=("R", "W5")), Path("mlc"))

What MLC printed is stored untouched before the next process begins; run again to go on after an interruption. Which
options it is started with, and why, is in :mod:`measure.mlc.plan`; its text is read by :mod:`measure.formats.mlc`.

MLC may have switched the hardware prefetchers off while it runs, so it is asked to stop (SIGTERM) and given time to
switch them on again before it is killed.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError, StoreError
from measure.findings import Finding
from measure.formats.mlc import mlc_sweep
from measure.machine.host import host_facts
from measure.machine.process import Finished, run_tool
from measure.mlc.plan import DELAYS_FILE, MIXES, MlcPlan, MlcRun, curve_name
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Tick, measure, measured_here, printed, read_kept
from measure.store.stored_point import StoredPoint
from measure.sweep import Provenance, Sweep
from measure.units import counted

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
    """Run what is missing of ``plan`` in the sweep directory ``out_dir``, and return all of it.

    A run that fails (crash, hang, refusal, half a table) is recorded with what MLC said, and the others go on.
    Ctrl-C keeps what is finished. Raises StoreError where the directory holds something else, ToolMissingError, and
    ToolFailedError where nothing at all could be measured.
    """
    return measure(
        Measurement(
            "mlc",
            plan.runs,
            plan.settings(),
            _provenance,
            lambda *_: nullcontext(_run),
            read_mlc,
            lambda run: run.seconds,
        ),
        out_dir,
        on_progress,
    )


def read_mlc(store: SweepStore) -> Sweep:
    """The curves that ``run_mlc`` keeps in a directory, one for each mix and buffer.

    Raises DataError where no run is finished, StoreError where the directory is damaged.
    """
    kept = read_kept(store, lambda text, _: text)
    kept.check_any()
    parts = [_curve(p, text) for p, text in zip(kept.finished, kept.values, strict=True)]
    buffers = {s: b for part in parts for s, b in part.provenance.details.get("buffer_bytes", {}).items()}
    known = kept.provenance
    return Sweep(
        pd.concat([part.points for part in parts], ignore_index=True),
        "injected_delay",
        "cycles",
        replace(
            known,
            tool_version=", ".join(dict.fromkeys(v for part in parts if (v := part.provenance.tool_version))),
            details={**known.details, **({"buffer_bytes": buffers} if buffers else {})},
        ),
        (*kept.findings, *_prefetchers(kept.values), *(f for part in parts for f in part.findings)),
        tuple(p.raw for p in kept.finished if p.raw is not None),
        store.directory.name,
    )


def _run(run: MlcRun, tick: Tick) -> Outcome:
    """One process, in a private folder that holds its list of delays."""
    with tempfile.TemporaryDirectory(prefix="qsim-mlc-") as folder:
        if run.delays:
            (Path(folder) / DELAYS_FILE).write_text("".join(f"{delay}\n" for delay in run.delays), "ascii")
        finished = run_tool(run.argv, run.limit_s, Path(folder), on_tick=lambda _: tick(run.key), grace_s=GRACE_S)
    return replace(printed(finished, _why_failed(run, finished), run.command, run.request()), raw_suffix=".txt")


def _why_failed(run: MlcRun, finished: Finished) -> str:
    """One sentence, or "" where MLC ended well and printed all that was asked for."""
    reason = finished.failure(run.key, "MLC", run.limit_s, lambda text: _what_lacks(run, text))
    if not reason:
        return ""
    hint = _SIGNALS.get(-finished.returncode, "")
    reason += f"; {_STILL_OFF}" if finished.timed_out else f" ({hint})" if hint else ""
    said = _complaint(finished.text, finished.stderr.decode("utf-8", "replace"))
    return f"{reason}; MLC said: {said}" if said else reason


def _what_lacks(run: MlcRun, text: str) -> str:
    """Why the text is not what was asked for; "" where it is."""
    try:
        sweep = mlc_sweep({run.key: text})
    except DataError as error:
        return str(error)
    if run.delays and set(sweep.points["load"]) != set(run.delays):
        rows = counted(len(sweep), "row")
        return f"{run.key}: MLC printed {rows} for the {len(run.delays)} delays that were asked for"
    return f"{run.key}: {sweep.findings[0].message}" if sweep.findings else ""


def _complaint(text: str, stderr: str) -> str:
    """What MLC said of its failure: its first line of complaint, else the last of stderr."""
    lines = [line.strip(" *\t") for line in [*text.splitlines(), *stderr.splitlines()] if line.strip(" *\t")]
    said = next((line for line in lines if _COMPLAINT.search(line) and not _NO_PREFETCHERS.search(line)), "")
    if not said and stderr.strip():
        said = stderr.strip().splitlines()[-1].strip()
    return said[:SAID_KEPT]


def _curve(point: StoredPoint, text: str) -> Sweep:
    """The one table of a finished run under the name of what was asked for."""
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
    """What the run was asked for; StoreError where its record does not tell."""
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


def _provenance() -> Provenance:
    return measured_here("mlc", host_facts().memory_text, {})
