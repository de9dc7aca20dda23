"""The memory probe's raw record: a JSON document for each point and round, with the threads' counts and times.

It holds no derived values, so that a definition can change and old measurements be read again. ``kind`` is "loaded"
(chaser and loaders at a delay), "idle" (the chaser alone) or "peak" (loaders on every core, no chaser).

Derived from the counts:

latency      ns / hops of the chaser, over the chunks during which every loader was running, in its CPU time. Time in
             which other programs kept a thread off its CPU is left out.
throughput   cache lines a second on the memory bus while all ran: each loader's lines / its CPU time, plus the
             chaser's 1 / latency. A line that is read counts once; one that is updated counts twice, read and
             written back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from measure.errors import DataError
from measure.memory.plan import Kind
from measure.memory.threads import ChaserCount, LoaderCount
from measure.memory.traffic import Traffic
from measure.units import CACHE_LINE_BYTES, counted

SCHEMA = "qsim-memory-probe/1"
_MOST = 2.0**63


@dataclass(frozen=True)
class Trial:
    """One repeat of a point: its start (ISO 8601) and each thread's counts."""

    started_at: str
    chaser: ChaserCount | None
    loaders: tuple[LoaderCount, ...]

    @property
    def off_cpu_share(self) -> float:
        """The largest share of its time that any thread was kept off its CPU."""
        counts = (*self.loaders, *([self.chaser] if self.chaser else ()))
        return max((max(0.0, 1 - c.cpu_ns / c.elapsed_ns) for c in counts), default=0.0)

    @property
    def latency_s(self) -> float:
        """Mean seconds per access of the chaser while every thread was running; DataError without a chaser.

        Where the loaders never all ran (a very busy machine), the mean over all of its time.
        """
        if self.chaser is None:
            raise DataError("a trial has no chaser, so no latency")
        c = self.chaser
        return (c.loaded_ns / c.loaded_hops if c.loaded_hops > 0 else c.cpu_ns / c.hops) * 1e-9


@dataclass(frozen=True)
class ProbeRecord:
    """One point as measured: its settings, its CPUs and pages, and the counts of every repeat.

    ``delay_iterations`` are idle-loop iterations after each burst of ``burst_lines`` cache lines, of which
    ``updated_lines`` are read and written back; they lie ``stride_bytes`` apart.
    ``huge_page_shares`` are per buffer, the chaser's first; None where unknown.
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
    stride_bytes: int = CACHE_LINE_BYTES

    def to_json(self) -> str:
        """The document that is stored as raw output."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1) + "\n"

    @property
    def load(self) -> Traffic:
        """The traffic of the loaders."""
        read_lines = self.burst_lines - self.updated_lines
        return Traffic(self.traffic, read_lines, self.updated_lines, self.stride_bytes // CACHE_LINE_BYTES)

    @property
    def series(self) -> str:
        """The name of this point's curve: "read, 1 loader"; over buffer sizes "read, 1 thread"."""
        return f"{self.load.label}, {counted(len(self.loader_cpus), 'loader' if self.kind == 'loaded' else 'thread')}"

    @property
    def point(self) -> tuple[str, str, int, int]:
        """What was measured: the same for all rounds of a point."""
        return self.kind, self.series, self.delay_iterations, self.buffer_bytes

    def latencies_s(self) -> list[float]:
        """Seconds per access of the chaser, a trial each."""
        return [trial.latency_s for trial in self.trials]

    def loaders_per_s(self, trial: Trial) -> float:
        """Cache lines a second that the loaders moved while on their CPUs."""
        return sum(c.bursts * self.load.bus_lines / c.cpu_ns * 1e9 for c in trial.loaders)

    def bandwidths(self) -> list[float]:
        """Bytes a second of all loaders together, a trial each."""
        return [self.loaders_per_s(trial) * CACHE_LINE_BYTES for trial in self.trials]

    def rows(self, source: str = "", chase: ProbeRecord | None = None) -> list[dict[str, Any]]:
        """The rows of the tidy table, one a repeat: of a loaded point, or of a stream with the ``chase`` of its size.

        In the second case latency and throughput were measured one after the other, so N = X R does not hold between
        them. Repeats are paired in the order of measuring.
        """
        pairs = zip(self.trials if chase is None else chase.trials, self.trials, strict=False)
        return [self._row(k, chased, streamed, source, chase is None) for k, (chased, streamed) in enumerate(pairs)]

    def _row(self, repeat: int, chased: Trial, streamed: Trial, source: str, loaded: bool) -> dict[str, Any]:
        latency = chased.latency_s
        throughput = self.loaders_per_s(streamed) + (1 / latency if loaded else 0.0)
        return {
            "series": self.series,
            "load": float(self.delay_iterations if loaded else self.buffer_bytes),
            "repeat": repeat,
            "throughput_per_s": throughput,
            "bandwidth_bytes_per_s": throughput * CACHE_LINE_BYTES,
            "latency_s": latency,
            "block_bytes": self.stride_bytes,
            "jobs": len(streamed.loaders),
            "read_fraction": self.load.read_fraction,
            "source": source,
            "started_at": streamed.started_at,
        }


def parse_record(text: str, source: str = "the record") -> ProbeRecord:
    """The record from its JSON text. DataError naming ``source`` where it is foreign, incomplete or impossible."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not a JSON document ({error}); measure the point again") from error
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        raise DataError(f"{source} is not of schema {SCHEMA}; another version or another program wrote it")
    try:
        record = _record(document)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        said = " ".join(str(error).split())[:120]
        raise DataError(f"{source} lacks a part of a memory probe's record ({said}); measure it again") from error
    load = record.load
    possible = record.trials and record.burst_lines > 0 and load.bus_lines > 0 and load.stride_lines > 0
    if not (possible and all(map(_possible, record.trials))):
        raise DataError(f"{source} holds counts or times that are not positive; measure the point again")
    return record


def _record(document: Mapping[str, Any]) -> ProbeRecord:
    """The record with every part of the right type; else an error of Python's own."""
    lists = {name: tuple(document[name]) for name in ("loader_cpus", "huge_page_shares")}
    record = ProbeRecord(**{**document, **lists, "trials": tuple(map(_trial, document["trials"]))})
    counts = ("delay_iterations", "burst_lines", "updated_lines", "stride_bytes", "buffer_bytes")
    numbers = [record.spin_ns_per_iteration, *(getattr(record, name) for name in counts)]
    known = (record.chaser_cpu, *record.loader_cpus, *record.huge_page_shares)
    _check_numbers([*numbers, *(value for value in known if value is not None)])
    _check_texts(record.kind, record.traffic)
    return record


def _trial(values: Mapping[str, Any]) -> Trial:
    chaser = None if values["chaser"] is None else ChaserCount(**values["chaser"])
    loaders = tuple(LoaderCount(**count) for count in values["loaders"])
    for count in (chaser, *loaders):
        _check_numbers([] if count is None else vars(count).values())
    _check_texts(values["started_at"])
    return Trial(values["started_at"], chaser, loaders)


def _check_numbers(values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_MOST < value < _MOST:
            raise TypeError(f"{value!r} is no number of the probe")


def _check_texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a text is of another kind than the probe writes")


def _possible(trial: Trial) -> bool:
    """Whether all counts are positive, and the loaded part of the chase has both hops and time, or neither."""
    c, loaders = trial.chaser, trial.loaders
    whole = c is None or (min(c.hops, c.elapsed_ns, c.cpu_ns) > 0 and (c.loaded_hops > 0) == (c.loaded_ns > 0))
    return whole and all(min(count.bursts, count.elapsed_ns, count.cpu_ns) > 0 for count in loaders)
