"""Reading the logs that fio writes with its result: one line per request, or one histogram per interval.

``--write_lat_log=NAME`` writes NAME_lat.1.log, NAME_clat.1.log and NAME_slat.1.log (one set per job), whose lines are
time in ms, latency, direction (0 read, 1 write, 2 trim) and block size, and from version 3 on perhaps the offset and
the priority. ``--write_hist_log=NAME`` writes NAME_clat_hist.1.log: time, direction, block size and the counts of all
bins (see :mod:`measure.formats.fio.latency_bins`). Latencies are in ns from version 3 on and in us before; a log of
requests does not say which, so five columns and more mean version 3, and four are taken for version 3 with a Finding
that says so.

``summarise`` goes through a log in pieces, so that its size does not matter. A log whose lines are means over
``log_avg_msec`` (block size 0) counts intervals and not requests: it is distinguished, and is no distribution.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.formats.fio.latency_bins import BINS_FIO_3, Histogram, bin_edges, bin_of, coarse_edges
from measure.text_files import LONGEST_LINE, Lines, check_readable, read_head

LONGEST_RUN_S = 31 * 86400.0
"""Later times are damaged."""
MOST_NS = 2.0**53
"""Up to here a float holds every whole number; no latency comes near."""
MOST_OF_A_REQUEST = 7  # columns


Table = NDArray[np.float64]


@dataclass(frozen=True)
class LogSummary:
    """One log, read to its end: counts, moments in seconds, and histogram.

    ``unit_known`` is False where the unit of the latencies had to be taken for granted; ``cut`` where the last line
    is not whole.
    """

    name: str
    requests: int
    reads: int
    runtime_s: float
    mean_s: float
    sd_s: float
    block_bytes: float
    bandwidth_bytes_per_s: float
    histogram: Histogram
    averaged: bool
    unit_known: bool
    cut: bool


def _pieces(file: Path, name: str, direction: int, rows: int, **options: Any) -> Iterator[tuple[Table, bool]]:
    """The numbers of a log in pieces of ``rows`` lines, and whether the last line is cut.

    ``name`` is that of a line, ``direction`` its column of the direction, ``options`` are further ones of
    ``pandas.read_csv``. DataError naming the line that is none.
    """
    import pandas as pd

    check_readable(file)
    before = 0
    try:
        with (
            BufferedReader(Lines(file), LONGEST_LINE) as lines,
            pd.read_csv(
                lines,
                header=None,
                dtype=np.float64,
                engine="c",
                chunksize=rows,
                skipinitialspace=True,
                encoding="latin-1",
                quoting=csv.QUOTE_NONE,
                **options,
            ) as chunks,
        ):
            for chunk in chunks:
                table = chunk.to_numpy(np.float64)
                cut = 0 < len(table) < rows and bool(np.isnan(table[-1]).any())
                table = table[:-1] if cut else table
                with np.errstate(invalid="ignore"):
                    good = ((table >= 0) & (table < MOST_NS)).all(axis=1) & (table[:, direction] <= 2)
                if not good.all():
                    raise DataError(
                        f"{file}: line {before + int(np.argmin(good)) + 1} is not a line of a {name}; "
                        "the log was edited or damaged, so measure again"
                    )
                before += len(table)
                if len(table):
                    yield table, cut
    except (ValueError, OverflowError, MemoryError) as error:  # pandas' ParserError and EmptyDataError are ValueErrors
        if isinstance(error, DataError):
            raise
        said = " ".join(str(error).split())[:120]
        raise DataError(
            f"{file} is not a {name} of fio after line {before} ({said}); give the log as fio wrote it"
        ) from error


def _check_span(seconds: float, file: Path) -> None:
    if seconds > LONGEST_RUN_S:
        raise DataError(f"{file} spans {seconds / 86400:.0f} days; no run does, so its times are damaged")


def summarise(file: Path) -> LogSummary:
    """A log of requests or of histograms in one pass and little memory, whatever its size.

    Raises DataError naming the file and the line that is not of such a log.
    """
    columns = read_head(file).partition("\n")[0].count(",") + 1
    return _summarise_histograms(file) if columns > MOST_OF_A_REQUEST else _summarise_requests(file, columns)


def _summarise_histograms(file: Path) -> LogSummary:
    total: NDArray[np.int64] | None = None
    reads = 0
    last_s = moved = 0.0
    blocks: set[float] = set()
    lower = upper = np.empty(0)
    unit_s, cut = 1e-9, False
    for table, cut in _pieces(file, "histogram log", 1, 1_000):  # noqa: B007  (that of the last piece counts)
        counts = table[:, 3:].astype(np.int64)
        if total is None:
            total = np.zeros(counts.shape[1], dtype=np.int64)
            try:
                lower, upper, unit_s = coarse_edges(len(total))
            except DataError as error:
                raise DataError(f"{file} cannot be read as a histogram log of fio's: {error}") from error
        total += counts.sum(axis=0)
        each = counts.sum(axis=1)
        reads += int(each[table[:, 1] == 0].sum())
        moved += float(each @ table[:, 2])
        blocks.update(np.unique(table[:, 2])[:3].tolist())
        last_s = max(last_s, float(table[:, 0].max()) / 1e3)
    if total is None or not total.any():
        raise DataError(f"{file} holds no whole histogram; measure again, for longer than --log_hist_msec")
    _check_span(last_s, file)
    full = np.flatnonzero(total)
    scale = round(1 / unit_s)
    made = Histogram(lower[full] / scale, upper[full] / scale, total[full])
    runtime_s = max(last_s, 1e-3)
    return LogSummary(
        name=file.name,
        requests=made.total,
        reads=reads,
        runtime_s=runtime_s,
        mean_s=made.mean_s,
        sd_s=made.sd_s,
        block_bytes=blocks.pop() if len(blocks) == 1 else math.nan,
        bandwidth_bytes_per_s=moved / runtime_s,
        histogram=made,
        averaged=False,
        unit_known=True,
        cut=cut,
    )


def _summarise_requests(file: Path, columns: int) -> LogSummary:
    count = reads = 0
    mean = second = moved = last_s = 0.0
    blocks: set[float] = set()
    counted = np.zeros(BINS_FIO_3, dtype=np.int64)
    cut = False
    names = {"names": ["time", "value", "direction", "block"], "usecols": [0, 1, 2, 3], "index_col": False}
    for table, cut in _pieces(file, "latency log", 2, 400_000, **names):  # noqa: B007  (that of the last piece counts)
        time_ms, value, direction, block = np.ascontiguousarray(table.T)
        last_s = max(last_s, float(time_ms.max()) / 1e3)
        _check_span(last_s, file)
        counted += np.bincount(np.minimum(bin_of(value), BINS_FIO_3 - 1), minlength=BINS_FIO_3)
        n, value = len(value), value / 1e9
        step = float(value.mean()) - mean  # Chan, Golub and LeVeque 1983, eq. 2.1: moments of two parts joined
        second += float(((value - value.mean()) ** 2).sum()) + step**2 * count * n / (count + n)
        mean += step * n / (count + n)
        count += n
        reads += int((direction == 0).sum())
        moved += float(block.sum())
        blocks.update(np.unique(block)[:3].tolist())
    if not count:
        raise DataError(f"{file} holds no whole line of a latency log; measure again with --write_lat_log=NAME")
    runtime_s = max(last_s, 1e-3)
    full = np.flatnonzero(counted)
    lower, upper = bin_edges(full)
    single = blocks.pop() if len(blocks) == 1 else math.nan
    return LogSummary(
        name=file.name,
        requests=count,
        reads=reads,
        runtime_s=runtime_s,
        mean_s=mean,
        sd_s=math.sqrt(second / count),
        block_bytes=single or math.nan,
        bandwidth_bytes_per_s=moved / runtime_s,
        histogram=Histogram(lower / 1e9, upper / 1e9, counted[full]),
        averaged=single == 0,
        unit_known=columns > 4,
        cut=cut,
    )
