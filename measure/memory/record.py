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
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from measure.errors import DataError
from measure.memory.plan import Kind
from measure.memory.threads import ChaserCount, LoaderCount
from measure.units import CACHE_LINE_BYTES, counted, format_bytes

SCHEMA = "qsim-memory-probe/1"
_MOST = 2.0**63
_TEXTS = ("kind", "traffic", "started_at")
_LISTS = ("loader_cpus", "huge_page_shares", "trials", "discarded", "loaders")
_PARTS = ("", "chaser", "chunk_ns_per_hop")
_MAY_BE_UNKNOWN = ("chaser_cpu", "loader_cpus", "huge_page_shares", "chaser")


@dataclass(frozen=True)
class Trial:
    """One repeat of a point: when it began (ISO 8601) and what each thread counted."""

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
        """Mean seconds per access of the chaser while every thread was running; DataError where there is none.

        Where the loaders never ran meanwhile (a hopelessly busy machine), the mean over all of its time.
        """
        if self.chaser is None:
            raise DataError("a trial has no chaser, so no latency")
        c = self.chaser
        return (c.loaded_ns / c.loaded_hops if c.loaded_hops > 0 else c.cpu_ns / c.hops) * 1e-9


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
    def label(self) -> str:
        """The traffic with its stride where that is not one line: "read stride 256 B"."""
        apart = "" if self.stride_bytes == CACHE_LINE_BYTES else f" stride {format_bytes(self.stride_bytes)}"
        return f"{self.traffic}{apart}"

    @property
    def series(self) -> str:
        """The curve this point lies on: "read, 1 loader"; over buffer sizes "read, 1 thread"."""
        return f"{self.label}, {counted(len(self.loader_cpus), 'loader' if self.kind == 'loaded' else 'thread')}"

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

    def latencies_s(self) -> list[float]:
        """Seconds per access of the chaser, a trial each."""
        return [trial.latency_s for trial in self.trials]

    def loaders_per_s(self, trial: Trial) -> float:
        """Cache lines a second that the loaders moved while on their CPUs."""
        return sum(c.bursts * self.bus_lines / c.cpu_ns * 1e9 for c in trial.loaders)

    def bandwidths(self) -> list[float]:
        """Bytes a second of all loaders together, a trial each."""
        return [self.loaders_per_s(trial) * CACHE_LINE_BYTES for trial in self.trials]

    def rows(self, source: str = "", chase: ProbeRecord | None = None) -> list[dict[str, Any]]:
        """The rows of the tidy table, one a repeat: of a loaded point, or of a stream with the ``chase`` of its size.

        In the second case latency and throughput are each that of its threads alone, one after the other: no load, so
        N = X R does not hold between them. Repeats are paired in the order of measuring.
        """
        if chase is not None and chase.buffer_bytes != self.buffer_bytes:
            raise DataError(f"{source}: the chase went through another buffer")
        pairs = zip(self.trials if chase is None else chase.trials, self.trials, strict=False)
        return [self._row(k, chased, streamed, source, chase is None) for k, (chased, streamed) in enumerate(pairs)]

    def _row(self, repeat: int, chased: Trial, streamed: Trial, source: str, loaded: bool) -> dict[str, Any]:
        loaders, latency = self.loaders_per_s(streamed), chased.latency_s
        probe = 1 / latency if loaded else 0.0
        own = {"loaders_per_s": loaders, "probe_per_s": probe, "injected_delay_s": self.injected_delay_s}
        quantiles = chased.chaser.chunk_ns_per_hop if chased.chaser else {}
        return {
            "series": self.series,
            "load": float(self.delay_iterations if loaded else self.buffer_bytes),
            "repeat": repeat,
            "throughput_per_s": loaders + probe,
            "bandwidth_bytes_per_s": (loaders + probe) * CACHE_LINE_BYTES,
            "latency_s": latency,
            "latency_median_s": quantiles.get("0.5", math.nan) * 1e-9,
            "read_bytes_per_s": (loaders * self.read_fraction + probe) * CACHE_LINE_BYTES,
            "written_bytes_per_s": loaders * (1 - self.read_fraction) * CACHE_LINE_BYTES,
            **(own if loaded else {}),
            "off_cpu_share": max(chased.off_cpu_share, streamed.off_cpu_share),
            "block_bytes": self.stride_bytes,
            "jobs": len(streamed.loaders),
            "read_fraction": self.read_fraction,
            "source": source,
            "started_at": streamed.started_at,
        }


def parse_record(text: str, source: str = "the record") -> ProbeRecord:
    """The record from its JSON text. DataError naming ``source`` where it is not the probe's, whole and possible."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not a JSON document ({error}); measure the point again") from error
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        raise DataError(f"{source} is not of schema {SCHEMA}; another version or another program wrote it")
    try:
        for name in ("loader_cpus", "huge_page_shares"):
            document[name] = tuple(document[name])
        for name in ("trials", "discarded"):
            document[name] = tuple(_trial(trial) for trial in document[name])
        record = ProbeRecord(**document)
        if not all(map(_is_number, _leaves(asdict(record)))):
            raise TypeError("a value is of another kind than the probe writes")
        possible = record.trials and record.stride_bytes >= CACHE_LINE_BYTES and record.burst_lines > 0
        possible = possible and 0 <= record.streamed_lines <= record.burst_lines and record.bus_lines > 0
        possible = possible and all(map(_possible, (*record.trials, *record.discarded)))
    except (KeyError, TypeError, AttributeError) as error:
        said = " ".join(str(error).split())[:120]
        raise DataError(f"{source} lacks a part of a memory probe's record ({said}); measure it again") from error
    if not possible:
        raise DataError(f"{source} holds counts or times that are not positive; measure the point again")
    return record


def _trial(values: Mapping[str, Any]) -> Trial:
    chaser = None if values["chaser"] is None else ChaserCount(**values["chaser"])
    return Trial(values["started_at"], chaser, tuple(LoaderCount(**count) for count in values["loaders"]))


def _leaves(value: Any, name: str = "") -> Iterator[object]:
    """The values within a document, but for its texts; what should be no list or mapping is given as it is."""
    if isinstance(value, Mapping) and name in _PARTS:
        for key, part in value.items():
            yield from _leaves(part, str(key))
    elif isinstance(value, tuple) and name in _LISTS:
        for part in value:
            yield from _leaves(part, name if name in _MAY_BE_UNKNOWN else "")
    elif value is None:
        yield 0 if name in _MAY_BE_UNKNOWN else None
    elif name not in _TEXTS or not isinstance(value, str):
        yield None if name in (*_TEXTS, "chunk_ns_per_hop") else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST < value < _MOST


def _possible(trial: Trial) -> bool:
    """Whether all counts are there and positive, and the loaded part of the chase has both or none."""
    c, loaders = trial.chaser, trial.loaders
    whole = c is None or (min(c.hops, c.elapsed_ns, c.cpu_ns) > 0 and (c.loaded_hops > 0) == (c.loaded_ns > 0))
    return whole and all(min(count.bursts, count.elapsed_ns, count.cpu_ns) > 0 for count in loaders)
