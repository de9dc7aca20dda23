"""Reading the logs that fio writes beside its result: one line per request, or one histogram per interval.

``--write_lat_log=NAME`` writes NAME_lat.1.log, NAME_clat.1.log and NAME_slat.1.log (one set per job), whose lines are
time in ms, latency, direction (0 read, 1 write, 2 trim) and block size, and from version 3 on perhaps the offset and
the priority. ``--write_hist_log=NAME`` writes NAME_clat_hist.1.log: time, direction, block size and the counts of all
bins (see :mod:`measure.formats.fio.latency_bins`). Latencies are in ns from version 3 on and in us before; a log of
requests does not say which, so five columns and more mean version 3, and four are taken for version 3 with a Finding
that says so.

``read_latency_log`` gives every request as arrays; ``summarise`` goes through a log in pieces, so that its size does
not matter. A log whose lines are means over ``log_avg_msec`` (block size 0) counts intervals and not requests: it is
told apart, and is no distribution.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.formats.fio.histogram_logs import summarise_histograms
from measure.formats.fio.latency_bins import BINS_FIO_3, Histogram, bin_edges, bin_of
from measure.formats.fio.log_names import looks_like_histogram_log
from measure.formats.fio.log_summary import LONGEST_RUN_S, MOST_NS, MOST_WINDOWS, LogSummary, reader, start_of
from measure.formats.fio.windows import Window, merged
from measure.text_files import check_readable

Unit = Literal["ns", "us"]

_CHUNK_ROWS = 400_000


@dataclass(frozen=True)
class LatencyLog:
    """Every logged request: arrays (m,) of times since the start and latencies in seconds, directions and block sizes.

    ``direction`` is 0 for reads, 1 for writes, 2 for trims. Where ``averaged`` each row is a mean over an interval.
    """

    time_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    direction: NDArray[np.uint8]
    block_bytes: NDArray[np.uint32]
    unit: Unit
    averaged: bool

    def __len__(self) -> int:
        return len(self.time_s)


def read_latency_log(path: str | Path, unit: Unit | None = None) -> LatencyLog:
    """Every request of a latency log (``NAME_lat.1.log``), about 21 bytes of memory each.

    ``unit`` is that of the latencies; None takes "ns", fio's since version 3. Raises DataError naming the file and the
    line that is not of such a log.
    """
    file = Path(path)
    _check_unit(unit)
    parts = []
    for piece in _pieces(file):
        parts.append((piece.time_ms, piece.value, piece.direction.astype(np.uint8), piece.block.astype(np.uint32)))
    time_ms, value, direction, block = (np.concatenate(column) for column in zip(*parts, strict=True))
    chosen: Unit = unit or "ns"
    time_ms -= start_of(time_ms[0])
    time_ms /= 1e3
    value /= 1e9 if chosen == "ns" else 1e6
    return LatencyLog(time_ms, value, direction, block, chosen, averaged=not block.any())


def summarise(path: str | Path, unit: Unit | None = None) -> LogSummary:
    """A log of requests or of histograms in one pass and little memory, whatever its size.

    Raises DataError naming the file and the line that is not of such a log.
    """
    file = Path(path)
    _check_unit(unit)
    head = _head(file)
    if looks_like_histogram_log(head):
        return summarise_histograms(file)
    return _summarise_requests(file, unit, head)


@dataclass(frozen=True)
class _Piece:
    """Some thousand lines: times in ms, values, directions, block sizes."""

    time_ms: NDArray[np.float64]
    value: NDArray[np.float64]
    direction: NDArray[np.float64]
    block: NDArray[np.float64]
    cut: bool


def _pieces(file: Path) -> Iterator[_Piece]:
    """The log in pieces, each checked; DataError naming the line that is none of a log's."""
    import pandas as pd

    check_readable(file)
    row = 0
    try:
        with reader(file) as lines, pd.read_csv(
            lines, header=None, names=["time", "value", "direction", "block"], usecols=[0, 1, 2, 3], dtype=np.float64,
            engine="c", chunksize=_CHUNK_ROWS, skipinitialspace=True, encoding="latin-1", index_col=False,
            quoting=csv.QUOTE_NONE,
        ) as chunks:  # fmt: skip
            for chunk in chunks:
                table = chunk.to_numpy(np.float64)
                cut = bool(len(table)) and len(table) < _CHUNK_ROWS and bool(np.isnan(table[-1]).any())
                table = table[:-1] if cut else table
                _check_rows(table, row, file)
                row += len(table)
                if len(table):
                    time_ms, value, direction, block = (np.ascontiguousarray(table[:, i]) for i in range(4))
                    yield _Piece(time_ms, value, direction, block, cut)
    except (ValueError, OverflowError, MemoryError) as error:  # pandas' ParserError and EmptyDataError are ValueErrors
        if isinstance(error, DataError):
            raise
        said = " ".join(str(error).split())[:120]
        raise DataError(
            f"{file} is not a latency log of fio after line {row} ({said}); give the log as fio wrote it"
        ) from error
    if row == 0:
        raise DataError(f"{file} holds no whole line of a latency log; measure again with --write_lat_log=NAME")


def _check_rows(table: NDArray[np.float64], before: int, file: Path) -> None:
    """DataError where a row is none that fio writes: no number, negative, another direction."""
    with np.errstate(invalid="ignore"):
        good = (table >= 0).all(axis=1) & (table < MOST_NS).all(axis=1) & (table[:, 2] <= 2)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        raise DataError(
            f"{file}: line {before + row + 1} is not a line of a latency log (time in ms, latency, "
            "direction 0 to 2, block size); the log was edited or damaged, so measure again"
        )


def _summarise_requests(file: Path, unit: Unit | None, head: str) -> LogSummary:
    scale = 1e6 if unit == "us" else 1e9
    count = reads = 0
    mean = second = moved = 0.0
    origin: float | None = None
    last_ms = 0.0
    blocks: set[float] = set()
    counted = np.zeros(BINS_FIO_3, dtype=np.int64)
    seconds: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    cut = False
    for piece in _pieces(file):
        origin = start_of(piece.time_ms[0]) if origin is None else origin
        time_ms = np.maximum(piece.time_ms - origin, 0.0)
        last_ms = max(last_ms, float(time_ms.max()))
        if last_ms > 1e3 * LONGEST_RUN_S:
            raise DataError(f"{file} spans {last_ms / 86.4e6:.0f} days; no run does, so its times are damaged")
        n, value = len(time_ms), piece.value / scale
        step = float(value.mean()) - mean  # Chan, Golub and LeVeque 1983, eq. 2.1: moments of two parts joined
        second += float(((value - value.mean()) ** 2).sum()) + step**2 * count * n / (count + n)
        mean += step * n / (count + n)
        count += n
        reads += int((piece.direction == 0).sum())
        moved += float(piece.block.sum())
        blocks.update(np.unique(piece.block)[:3].tolist())
        counted += np.bincount(np.minimum(bin_of(piece.value), BINS_FIO_3 - 1), minlength=BINS_FIO_3)
        second_of = (time_ms / 1e3).astype(np.int64)
        which, where = np.unique(second_of, return_inverse=True)
        seconds.append((which, np.bincount(where).astype(np.int64), np.bincount(where, value).astype(np.float64)))
        cut = cut or piece.cut
    runtime_s = max(last_ms / 1e3, 1e-3)
    full = np.flatnonzero(counted)
    lower, upper = bin_edges(full)
    columns = max(len(line.split(",")) for line in head.splitlines()[:1])
    single = blocks.pop() if len(blocks) == 1 else math.nan
    return LogSummary(
        name=file.name, requests=count, reads=reads, runtime_s=runtime_s, mean_s=mean, sd_s=math.sqrt(second / count),
        block_bytes=single or math.nan, bandwidth_bytes_per_s=moved / runtime_s,
        histogram=Histogram(lower / scale, upper / scale, counted[full]), windows=_by_second(seconds, runtime_s),
        averaged=single == 0, unit_known=unit is not None or columns > 4, cut=cut,
    )  # fmt: skip


def _by_second(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]], runtime_s: float
) -> tuple[Window, ...]:
    """Windows of whole seconds, added up where there are more than 60."""
    which, requests, latency = (np.concatenate([p[i] for p in parts]) for i in range(3))
    distinct, where = np.unique(which, return_inverse=True)
    counts, sums = np.bincount(where, weights=requests), np.bincount(where, weights=latency)
    windows = [
        Window(float(s), min(float(s + 1), runtime_s), float(n), float(total))
        for s, n, total in zip(distinct, counts, sums, strict=True)
        if s < runtime_s and n > 0 and total > 0
    ]
    if len(windows) > 1 and windows[-1].end_s - windows[-1].start_s < 0.5:
        windows.pop()  # the rest of a second, in which the run drains
    return merged(windows, MOST_WINDOWS)


def _check_unit(unit: Unit | None) -> None:
    if unit not in (None, "ns", "us"):
        raise ValueError(f"invalid unit {unit!r}: expected 'ns' (fio 3) or 'us' (fio 2)")


def _head(file: Path) -> str:
    check_readable(file)
    with file.open("rb") as stream:
        return stream.read(65536).decode("latin-1")
