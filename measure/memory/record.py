"""The memory probe's raw record: one JSON document a point, with counts and times as the threads returned them.

Nothing in it is derived, so that a definition can change and old measurements be read again. ``kind`` is "loaded"
(chaser and loaders at a delay), "idle" (the chaser alone) or "peak" (loaders on every core, no chaser).

What is made of the counts:

latency      ns / hops of the chaser, over the chunks of its chase during which every loader was running, on its CPU's
             clock. Time in which other programs had taken one of the threads off its CPU is not the memory's.
throughput   cache lines that crossed the memory bus, a second, while all ran: each loader's lines / its time on its
             CPU, plus the chaser's 1 / latency. A line that is read counts once; one that is updated counts twice,
             read and written back; one that is written past the caches counts once, as written.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measure.errors import DataError
from measure.memory.plan import Kind
from measure.memory.threads import ChaserCount, LoaderCount
from measure.repeats import half_width
from measure.units import CACHE_LINE_BYTES, format_bytes
from qsim.errors import InvalidParameterError

SCHEMA = "qsim-memory-probe/1"
_MOST = 2.0**63


@dataclass(frozen=True)
class Repeated:
    """A quantity measured several times, in SI units (seconds, bytes a second).

    ``best`` is the one least disturbed by others: the lowest latency, the highest bandwidth.
    """

    values: tuple[float, ...]
    best: float

    @classmethod
    def times(cls, values: Iterable[float]) -> Repeated:
        """Times, of which the lowest is the best. ValueError where there is none."""
        kept = tuple(float(v) for v in values)
        return cls(kept, min(kept))

    @classmethod
    def rates(cls, values: Iterable[float]) -> Repeated:
        """Rates, of which the highest is the best. ValueError where there is none."""
        kept = tuple(float(v) for v in values)
        return cls(kept, max(kept))

    @property
    def mean(self) -> float:
        """The mean over the repeats."""
        return statistics.fmean(self.values)

    @property
    def spread(self) -> float:
        """Standard deviation / mean over the repeats; NaN for one repeat."""
        return statistics.stdev(self.values) / self.mean if len(self.values) > 1 else float("nan")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval of the mean at ``level``, by Student's t over the repeats; NaN for one repeat.

        It holds where the repeats are alike and disturbed independently; never below zero.
        """
        if not 0 < level < 1:
            raise InvalidParameterError("level", f"{level:g} must lie between 0 and 1, like 0.95", value=level)
        half = half_width([value - self.mean for value in self.values], level)
        return max(0.0, self.mean - half) if math.isfinite(half) else math.nan, self.mean + half


@dataclass(frozen=True)
class Trial:
    """One repeat of a point: when it began (ISO 8601) and what each thread counted."""

    started_at: str
    chaser: ChaserCount | None
    loaders: tuple[LoaderCount, ...]


@dataclass(frozen=True)
class ProbeRecord:
    """One point as measured: what was asked, on which CPUs and pages, and the counts of every repeat.

    ``delay_iterations`` are idle-loop iterations after each burst of ``burst_lines`` cache lines, of which
    ``updated_lines`` are read and written back, and ``streamed_lines`` written only; they lie ``stride_bytes`` apart.
    ``huge_page_shares`` are per buffer, the chaser's first; None where the system does not tell. ``discarded`` trials
    were measured again because other programs took the CPUs away.
    """

    kind: Kind
    delay_iterations: int
    spin_ns_per_iteration: float
    traffic: str
    burst_lines: int
    updated_lines: int
    buffer_bytes: int
    chaser_cpu: int | None
    loader_cpus: tuple[int | None, ...]
    huge_page_shares: tuple[float | None, ...]
    trials: tuple[Trial, ...]
    discarded: tuple[Trial, ...] = ()
    streamed_lines: int = 0
    stride_bytes: int = CACHE_LINE_BYTES

    def to_json(self) -> str:
        """The document that is stored as raw output."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"

    @property
    def series(self) -> str:
        """The curve this point lies on: "read, 1 loader"."""
        count = len(self.loader_cpus)
        return f"{self.label}, {count} loader{'s' if count != 1 else ''}"

    @property
    def label(self) -> str:
        """The traffic with its stride where that is not one line: "read stride 256 B"."""
        apart = "" if self.stride_bytes == CACHE_LINE_BYTES else f" stride {format_bytes(self.stride_bytes)}"
        return f"{self.traffic}{apart}"

    @property
    def bus_lines(self) -> int:
        """Lines that a burst moves over the memory bus: updated ones count twice, read and written back."""
        return self.burst_lines + self.updated_lines

    @property
    def read_fraction(self) -> float:
        """Lines read / (lines read + lines written) on the memory bus, by the loaders."""
        return (self.burst_lines - self.streamed_lines) / self.bus_lines

    @property
    def injected_delay_s(self) -> float:
        """The idle time after each burst, in seconds."""
        return self.delay_iterations * self.spin_ns_per_iteration * 1e-9

    def loaders_per_s(self, trial: Trial) -> float:
        """Cache lines a second that the loaders moved while on their CPUs."""
        return sum(c.bursts * self.bus_lines / c.cpu_ns * 1e9 for c in trial.loaders)

    def rows(self, source: str = "") -> list[dict[str, Any]]:
        """The rows of the tidy table, one a repeat, of a loaded point."""
        return [self._row(repeat, trial, source) for repeat, trial in enumerate(self.trials)]

    def _row(self, repeat: int, trial: Trial, source: str) -> dict[str, Any]:
        if trial.chaser is None:
            raise DataError(f"{source or 'the record'}: repeat {repeat} has no chaser, so no latency")
        loaders = self.loaders_per_s(trial)
        latency = latency_s(trial.chaser)
        probe = 1 / latency
        return {
            "series": self.series,
            "load": float(self.delay_iterations),
            "repeat": repeat,
            "throughput_per_s": loaders + probe,
            "bandwidth_bytes_per_s": (loaders + probe) * CACHE_LINE_BYTES,
            "latency_s": latency,
            "latency_median_s": trial.chaser.chunk_ns_per_hop.get("0.5", math.nan) * 1e-9,
            "read_bytes_per_s": (loaders * self.read_fraction + probe) * CACHE_LINE_BYTES,
            "written_bytes_per_s": loaders * (1 - self.read_fraction) * CACHE_LINE_BYTES,
            "loaders_per_s": loaders,
            "probe_per_s": probe,
            "injected_delay_s": self.injected_delay_s,
            "off_cpu_share": off_cpu_share(trial),
            "block_bytes": self.stride_bytes,
            "jobs": len(trial.loaders),
            "read_fraction": self.read_fraction,
            "source": source,
            "started_at": trial.started_at,
        }


def latency_s(chaser: ChaserCount) -> float:
    """Mean seconds per access of the chaser while every thread was running.

    Where the loaders never ran beside it (a hopelessly busy machine), the mean over all of its time; such a trial is
    seen by its ``off_cpu_share``.
    """
    if chaser.loaded_hops > 0:
        return chaser.loaded_ns / chaser.loaded_hops * 1e-9
    return chaser.cpu_ns / chaser.hops * 1e-9


def off_cpu_share(trial: Trial) -> float:
    """The largest share of its time that any thread of the trial was kept off its CPU."""
    counts: Sequence[ChaserCount | LoaderCount] = [*trial.loaders, *([trial.chaser] if trial.chaser else [])]
    return max((max(0.0, 1 - c.cpu_ns / c.elapsed_ns) for c in counts), default=0.0)


def parse_record(text: str, source: str = "the record") -> ProbeRecord:
    """The record from its JSON text. DataError naming ``source`` where it is not one of ours, whole and possible."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not a JSON document ({error}); measure the point again") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise DataError(f"{source} is not of schema {SCHEMA}; another version or another program wrote it")
    values = {k: v for k, v in document.items() if k != "schema"}
    try:
        for name in ("loader_cpus", "huge_page_shares"):
            values[name] = tuple(values[name])
        for name in ("trials", "discarded"):
            values[name] = tuple(_trial(trial) for trial in values[name])
        record = ProbeRecord(**values)
        if not _of_right_kind(record):
            raise TypeError("a value is of another kind than the probe writes")
        possible = record.trials and all(_possible(trial) for trial in record.trials)
        possible = possible and record.stride_bytes >= CACHE_LINE_BYTES and record.burst_lines > 0
        possible = possible and 0 <= record.streamed_lines <= record.burst_lines
    except (KeyError, TypeError, AttributeError) as error:
        said = " ".join(str(error).split())[:120]
        raise DataError(f"{source} lacks a part of a memory probe's record ({said}); measure it again") from error
    if not possible:
        raise DataError(f"{source} holds counts or times that are not positive; measure the point again")
    return record


def _trial(values: Mapping[str, Any]) -> Trial:
    return Trial(
        values["started_at"],
        None if values["chaser"] is None else ChaserCount(**values["chaser"]),
        tuple(LoaderCount(**count) for count in values["loaders"]),
    )


def _of_right_kind(record: ProbeRecord) -> bool:
    """Whether everything that is counted with is a number, and every name a text."""
    trials = (*record.trials, *record.discarded)
    chasers = [trial.chaser for trial in trials if trial.chaser is not None]
    counts = [vars(count) for trial in trials for count in (trial.chaser, *trial.loaders) if count is not None]
    numbers = [
        record.delay_iterations,
        record.spin_ns_per_iteration,
        record.burst_lines,
        record.updated_lines,
        record.streamed_lines,
        record.buffer_bytes,
        *(n for n in (record.chaser_cpu, *record.loader_cpus, *record.huge_page_shares) if n is not None),
        *(n for count in counts for name, n in count.items() if name != "chunk_ns_per_hop"),
        *(n for chaser in chasers for n in chaser.chunk_ns_per_hop.values()),
    ]
    texts = (record.kind, record.traffic, *(trial.started_at for trial in trials))
    return all(map(_is_number, numbers)) and all(isinstance(text, str) for text in texts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST < value < _MOST


def _possible(trial: Trial) -> bool:
    chaser = trial.chaser
    return (
        chaser is None
        or (
            min(chaser.hops, chaser.elapsed_ns, chaser.cpu_ns) > 0
            and (chaser.loaded_hops > 0) == (chaser.loaded_ns > 0)
        )
    ) and all(count.bursts > 0 and count.elapsed_ns > 0 and count.cpu_ns > 0 for count in trial.loaders)
