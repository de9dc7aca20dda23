"""Measuring memory with Intel's Memory Latency Checker where it is installed: ``plan_mlc``, ``run_mlc``, ``read_mlc``.

    plan = plan_mlc(("loaded-latency", "bandwidth-matrix"), mixes=("R", "W5"))
    result = run_mlc(plan, Path("mlc"))       # result.sweep: the curves; result.figures: idle latency, matrices, peaks

What MLC printed is stored untouched before the next process begins; run again to go on after an interruption. Which
options it is started with, and why, is in :mod:`measure.mlc.plan`; its text is read by :mod:`measure.formats.mlc`.

MLC may have switched the hardware prefetchers off while it runs, so it is asked to stop (SIGTERM) and given time to
switch them on again before it is killed.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from measure.errors import DataError, StoreError
from measure.findings import Finding
from measure.formats.mlc import mlc_figures, mlc_sweep, mlc_version
from measure.machine.host import host_facts
from measure.machine.process import Finished, run_tool
from measure.mlc.plan import DELAYS_FILE, MIXES, MlcPlan, MlcRun, Mode, curve_name, plan_mlc
from measure.store.directory import SweepStore
from measure.store.measuring import Measurement, Outcome, Progress, Tick, measure, measured_here, printed, read_kept
from measure.store.stored_point import StoredPoint
from measure.sweep import Provenance, Sweep
from measure.units import counted, format_bytes

__all__ = ["MlcFigures", "MlcPlan", "MlcResult", "MlcRun", "plan_mlc", "read_mlc", "read_mlc_store", "run_mlc"]

GRACE_S = 10.0  # to switch the prefetchers on again
SAID_KEPT = 200

_EXPECTED: Mapping[Mode, str] = {
    "idle-latency": "idle_latency_s",
    "latency-matrix": "idle_latency_matrix_s",
    "bandwidth-matrix": "bandwidth_matrix_bytes_per_s",
    "peak": "bandwidths_bytes_per_s",
}
_ASKED = ("mode", "mix", "buffer_bytes", "stride_bytes", "repeat")
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


@dataclass(frozen=True)
class MlcFigures:
    """What one process measured besides curves.

    ``values`` by name, in SI units: ``idle_latency_s`` and ``core_hz``; ``idle_latency_matrix_s`` and
    ``bandwidth_matrix_bytes_per_s`` ({node of the CPUs: [one per memory node]}); ``bandwidths_bytes_per_s`` (peaks by
    mix); ``matrices`` as printed. ``mix``, ``buffer_bytes`` and ``stride_bytes`` are None where MLC chose.
    """

    mode: Mode
    mix: str | None
    buffer_bytes: int | None
    stride_bytes: int | None
    repeat: int
    values: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, the values among the rest."""
        return {**{name: getattr(self, name) for name in _ASKED}, **self.values}

    @property
    def conditions(self) -> str:
        """Mix, stride and buffer in words; "" where MLC chose them all."""
        mix = [curve_name({"mix": self.mix, "stride_bytes": None, "buffer_bytes": None})] if self.mix else []
        stride = [] if self.stride_bytes is None else [f"stride {format_bytes(self.stride_bytes)}"]
        buffer = [] if self.buffer_bytes is None else [f"buffer {format_bytes(self.buffer_bytes)}"]
        return ", ".join([*mix, *stride, *buffer])


@dataclass(frozen=True)
class MlcResult:
    """A directory of MLC runs: the curves (None where no loaded latency was measured), the other figures, findings."""

    sweep: Sweep | None
    figures: tuple[MlcFigures, ...]
    provenance: Provenance
    findings: tuple[Finding, ...]


def run_mlc(plan: MlcPlan, out_dir: Path, on_progress: Progress | None = None) -> MlcResult:
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
            sweep_of=lambda result: result.sweep,
            failure="MLC measured nothing",
        ),
        out_dir,
        on_progress,
    )


def read_mlc(store: SweepStore) -> MlcResult:
    """What ``run_mlc`` keeps in a directory.

    Raises DataError where no run is finished, StoreError where the directory is damaged.
    """
    kept = read_kept(store, lambda text, _: text)
    kept.check_any()
    texts = {p.key: text for p, text in zip(kept.finished, kept.values, strict=True)}
    values = {key: found for key, text in texts.items() if (found := mlc_figures(text))}
    figures = tuple(_figures(p, values[p.key]) for p in kept.finished if p.key in values)
    findings = (*kept.findings, *_prefetchers(texts))
    curves = [p for p in kept.finished if _asked(p)["mode"] == "loaded-latency"]
    parts = [_curve(p, texts[p.key], curve_name(_asked(p))) for p in curves]
    buffers = {s: b for part in parts for s, b in part.provenance.details.get("buffer_bytes", {}).items()}
    known = kept.provenance
    provenance = replace(
        known,
        tool_version=", ".join(dict.fromkeys(v for t in texts.values() if (v := mlc_version(t)))),
        details={**known.details, **values, **({"buffer_bytes": buffers} if buffers else {})},
    )
    if not parts:
        return MlcResult(None, figures, provenance, findings)
    sweep = Sweep(
        pd.concat([part.points for part in parts], ignore_index=True),
        "injected_delay",
        "cycles",
        provenance,
        (*findings, *(f for part in parts for f in part.findings)),
        tuple(p.raw for p in curves if p.raw is not None),
        store.directory.name,
    )
    return MlcResult(sweep, figures, provenance, sweep.findings)


def read_mlc_store(store: SweepStore) -> Sweep:
    """The curves in a directory of MLC runs. As ``read_mlc``, and DataError where there is no curve."""
    sweep = read_mlc(store).sweep
    if sweep is None:
        raise DataError(
            f"{store.directory} holds runs of MLC without a loaded-latency table; add one with the same command and "
            "--modes loaded-latency"
        )
    return sweep


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
    if run.mode != "loaded-latency":
        return "" if _EXPECTED[run.mode] in mlc_figures(text) else f"{run.key}: MLC printed no result"
    try:
        sweep = mlc_sweep({run.key: text})
    except DataError as error:
        return str(error)
    rows = len(sweep)
    if run.delays and set(sweep.points["load"]) != set(run.delays):
        return f"{run.key}: MLC printed {counted(rows, 'row')} for the {len(run.delays)} delays that were asked for"
    if sweep.findings:
        return f"{run.key}: {sweep.findings[0].message}"
    return ""


def _complaint(text: str, stderr: str) -> str:
    """What MLC said of its failure: its first line of complaint, else the last of stderr."""
    lines = [line.strip(" *\t") for line in [*text.splitlines(), *stderr.splitlines()] if line.strip(" *\t")]
    said = next((line for line in lines if _COMPLAINT.search(line) and not _NO_PREFETCHERS.search(line)), "")
    if not said and stderr.strip():
        said = stderr.strip().splitlines()[-1].strip()
    return said[:SAID_KEPT]


def _curve(point: StoredPoint, text: str, name: str) -> Sweep:
    """The one table of a finished run under the name of what was asked for."""
    sweep = mlc_sweep({point.raw.name if point.raw else point.key: text})
    table = sweep.points.assign(
        series=name, repeat=float(_asked(point)["repeat"]), started_at=str(point.record.get("started_at", ""))
    )
    buffer = _asked(point)["buffer_bytes"] or next(
        iter(sweep.provenance.details.get("buffer_bytes", {}).values()), None
    )
    details = {"buffer_bytes": {name: float(buffer)}} if buffer else {}
    findings = tuple(replace(f, series=name) for f in sweep.findings)
    return replace(sweep, points=table, findings=findings, provenance=replace(sweep.provenance, details=details))


def _figures(point: StoredPoint, values: Mapping[str, Any]) -> MlcFigures:
    asked = _asked(point)
    return MlcFigures(
        asked["mode"], asked["mix"], asked["buffer_bytes"], asked["stride_bytes"], asked["repeat"], values
    )


def _asked(point: StoredPoint) -> Mapping[str, Any]:
    """What the run was asked for; StoreError where its record does not tell."""
    asked = point.record.get("request")
    if not isinstance(asked, Mapping) or not set(_ASKED) <= set(asked) or (asked["mix"] or "R") not in MIXES:
        raise StoreError(f"the record of run {point.key} does not tell what was asked; remove it to measure it again")
    return asked


def _prefetchers(texts: Mapping[str, str]) -> Iterator[Finding]:
    runs = [key for key, text in texts.items() if _NO_PREFETCHERS.search(text)]
    if runs:
        yield Finding(
            "mlc-prefetchers",
            "info",
            f"in {len(runs)} of {counted(len(texts), 'run')} MLC could not switch the hardware prefetchers off and "
            "chased at random instead.",
            "it was not run as root, or the msr driver is not loaded, or this is a virtual machine.",
            "as root: modprobe msr, then measure again; compare only latencies that were measured in the same way.",
        )


def _provenance() -> Provenance:
    return measured_here("mlc", host_facts().memory_text, {})
