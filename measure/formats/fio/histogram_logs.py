"""Reading ``--write_hist_log``: a histogram of latencies per interval and direction, in pieces of any length."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram, coarse_edges
from measure.formats.fio.log_summary import LONGEST_RUN_S, MOST_NS, MOST_WINDOWS, LogSummary, reader, start_of
from measure.formats.fio.windows import Window, merged
from measure.text_files import check_readable

_CHUNK_ROWS = 1_000


def summarise_histograms(file: Path) -> LogSummary:
    """A histogram log in one pass. Raises DataError naming the file and the line where it is not one."""
    import pandas as pd

    check_readable(file)
    total: NDArray[np.int64] | None = None
    reads = rows = 0
    origin: float | None = None
    windows: list[Window] = []
    last_s, moved = 0.0, 0.0
    blocks: set[float] = set()
    cut = False
    lower = upper = middle = np.empty(0)
    unit_s = 1e-9
    try:
        with reader(file) as lines, pd.read_csv(
            lines, header=None, dtype=np.float64, engine="c", chunksize=_CHUNK_ROWS, skipinitialspace=True,
            encoding="latin-1", quoting=csv.QUOTE_NONE,
        ) as chunks:  # fmt: skip
            for chunk in chunks:
                table = chunk.to_numpy(np.float64)
                if np.isnan(table[-1]).any():
                    cut, table = True, table[:-1]
                with np.errstate(invalid="ignore"):
                    good = ((table >= 0) & (table < MOST_NS)).all(axis=1) & (table[:, 1] <= 2)
                if not good.all():
                    raise DataError(
                        f"{file}: line {rows + int(np.flatnonzero(~good)[0]) + 1} is not a line of a "
                        "histogram log; the log was edited or damaged, so measure again"
                    )
                if not len(table):
                    continue
                if total is None:
                    total = np.zeros(table.shape[1] - 3, dtype=np.int64)
                    lower, upper, unit_s = coarse_edges(len(total))
                    middle = (lower + upper) / 2 * unit_s
                    origin = start_of(table[0, 0])
                rows += len(table)
                counts = table[:, 3:].astype(np.int64)
                total += counts.sum(axis=0)
                each = counts.sum(axis=1)
                reads += int(each[table[:, 1] == 0].sum())
                moved += float(each @ table[:, 2])
                blocks.update(np.unique(table[:, 2])[:3].tolist())
                for time_ms, n, latency in zip(table[:, 0], each, counts @ middle, strict=True):
                    end_s = max(0.0, (time_ms - (origin or 0.0)) / 1e3)
                    windows, last_s = _appended(windows, last_s, end_s, float(n), float(latency))
    except (ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, DataError) and str(file) in str(error):
            raise
        said = " ".join(str(error).split())[:160]
        raise DataError(f"{file} cannot be read as a histogram log of fio's: {said}") from error
    if total is None or not total.any():
        raise DataError(f"{file} holds no whole histogram; measure again, for longer than --log_hist_msec")
    if last_s > LONGEST_RUN_S:
        raise DataError(f"{file} spans {last_s / 86400:.0f} days; no run does, so its times are damaged")
    full = np.flatnonzero(total)
    scale = round(1 / unit_s)
    made = Histogram(lower[full] / scale, upper[full] / scale, total[full])
    runtime_s = max(last_s, 1e-3)
    return LogSummary(
        name=file.name, requests=made.total, reads=reads, runtime_s=runtime_s, mean_s=made.mean_s, sd_s=made.sd_s,
        block_bytes=blocks.pop() if len(blocks) == 1 else math.nan, bandwidth_bytes_per_s=moved / runtime_s,
        histogram=made, windows=merged(windows, MOST_WINDOWS), averaged=False, unit_known=True, cut=cut,
    )  # fmt: skip


def _appended(
    windows: list[Window], last_s: float, end_s: float, requests: float, latency_s: float
) -> tuple[list[Window], float]:
    """The windows with one row more; rows of the same time (reads and writes) share a window."""
    if windows and end_s <= windows[-1].end_s:
        w = windows[-1]
        windows[-1] = Window(w.start_s, w.end_s, w.requests + requests, w.latency_sum_s + latency_s)
    elif requests > 0 and end_s > last_s:
        windows.append(Window(last_s, end_s, requests, latency_s))
    if len(windows) >= 100 * MOST_WINDOWS:
        windows = list(merged(windows, 50 * MOST_WINDOWS))
    return windows, max(last_s, end_s)
