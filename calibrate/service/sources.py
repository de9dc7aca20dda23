"""Service times from a list of latencies, a histogram of the kernel, or a sweep: its histograms, else percentiles."""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calibrate.service.observed_times import Times, of_histogram, of_percentiles, of_samples
from measure.datasets import about, dataset_latencies
from measure.errors import DataError
from measure.formats.by_format import InputFile, sniff, sweep_of
from measure.formats.law_file import kernel_histogram, looks_like_kernel_histogram
from measure.loading import load
from measure.sweep import Sweep, histograms
from measure.text_files import STDIN, read_head, read_text
from measure.units import parse_duration

COLUMNS: Mapping[str, float] = {
    "latency_p50_s": 0.5,
    "latency_p95_s": 0.95,
    "latency_p99_s": 0.99,
    "latency_p999_s": 0.999,
}
PER_SECOND: Mapping[str, float] = {"ns": 1e9, "us": 1e6, "µs": 1e6, "ms": 1e3, "s": 1.0}
"""Units of a list of latencies, each by its number in a second."""
_LATENCY = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(ns|us|µs|ms|s)?")
_ONE_COLUMN = re.compile(r"[^\n,;\t{}\[<|]+\n\s*\d[^\n,;\t ]*\s*\n")
"""Matches the first lines of a file with one value a line."""
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)\s*=\s*(\S+)")


def service_times(sweep: Sweep, series: str, requests: float | None = None) -> Times:
    """The times at the smallest load, all repeats together.

    ``requests`` is needed only where the sweep has only percentiles. Raises DataError where the distribution of
    latencies is unknown.

    >>> import pandas as pd
    >>> from measure import Sweep
    >>> row = {"series": "4 KiB read", "load": 1, "throughput_per_s": 12e3, "latency_s": 83e-6}
    >>> percentiles = {"latency_p50_s": 80e-6, "latency_p95_s": 110e-6, "latency_p99_s": 150e-6}
    >>> times = service_times(Sweep(pd.DataFrame([row | percentiles])), "4 KiB read")
    >>> times.kind
    'percentiles'
    """
    rows = sweep.select(series).points
    load = rows["load"].min()
    if bins := [h for key, h in histograms(sweep).items() if key[:2] == (series, load)]:
        return of_histogram(bins, f"{series} at load {load:g}")
    return table_times(rows, series, requests)


def table_times(rows: pd.DataFrame, series: str, requests: float | None = None) -> Times:
    """The times by a table's percentile columns at the smallest load (means over repeats).

    DataError where it has fewer than two.
    """
    rows = rows[rows["series"] == series]
    load = rows["load"].min()
    chosen, where = rows[rows["load"] == load], f"{series} at load {load:g}"
    means = {share: _mean(chosen, column) for column, share in COLUMNS.items()}
    known = {share: value for share, value in means.items() if math.isfinite(value)}
    if len(known) < 2:
        raise DataError(
            f"{where}: neither a histogram nor percentiles are there; measure again with "
            "--output-format=json+ (qsim measure fio does)"
        )
    return of_percentiles(known, requests, where)


def published_percentiles(name: str) -> pd.DataFrame:
    """The percentiles over depth of a published table without throughputs. DataError where it has none."""
    points = dataset_latencies(name).points
    if points["load"].isna().any():
        info = about(name)
        raise DataError(f"{name} is no table of percentiles over depth: {info.why_no_curve}; run: {info.instead}")
    return points


def times_or_sweep(path: Path) -> Times | Sweep:
    """The times in a file or the standard input, one a line or counted by the kernel, else the sweep that it holds."""
    if path.is_dir():
        return load(path)
    name = "stdin" if path == STDIN else path.name
    head = "" if path == STDIN else read_head(path)
    if head and not _ONE_COLUMN.match(head) and not looks_like_kernel_histogram(head):
        return load(path)
    text = read_text(path)
    if looks_like_kernel_histogram(text):
        return of_histogram([kernel_histogram(text, name)], name)
    if (times := parse_latencies(text, name)) is not None:
        return times
    return sweep_of(sniff(text, name), [InputFile(name, path, text)])


def parse_latencies(text: str, source: str) -> Times | None:
    """The times in a text with one latency a line; None for other text.

    A first line may name the column. The unit is that of each value (``80us``), else that at the end of the name
    (``latency_us``). Raises DataError where both lack it.

    >>> parse_latencies("latency_us\\n80\\n95\\n120", "requests.txt").total
    3.0
    """
    lines = (line for row in io.StringIO(text) if (line := row.strip()))
    first = next(lines, "")
    header = [] if first[:1].isdigit() else re.split(r"[^a-zµ]+", first.lower())
    named = next((word for word in reversed(header) if word in PER_SECOND), "")
    found, unknown = array("d"), False
    for line in lines if header else chain([first], lines):  # one at a time: there may be millions
        if (value := _LATENCY.fullmatch(line)) is None:
            return None
        number, unit = value.groups()
        unknown = unknown or not (unit or named)
        found.append(float(number) / PER_SECOND[unit or named or "s"])
    if len(found) < 2:
        return None
    if unknown:
        what = f"{source}: its {len(found)} latencies have no unit"
        raise DataError(f"{what}; name the column latency_us, or write 80us in each line")
    return of_samples(np.frombuffer(found), source)


def parse_percentiles(text: str) -> dict[float, float]:
    """``p50=80us,p99=300us`` as {0.5: 80e-6, 0.99: 300e-6}. Raises ValueError naming an invalid part."""
    found: dict[float, float] = {}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        match = _PERCENTILE.fullmatch(part)
        if match is None or not 0 < float(match[1]) < 100:
            raise ValueError(f"invalid percentile {part!r}: expected e.g. p50=80us,p95=120us,p99.9=1.2ms")
        share = round(float(match[1]) / 100, 12)
        if share in found:
            raise ValueError(f"p{float(match[1]):g} is given twice")
        found[share] = parse_duration(match[2], part)
    return found


def _mean(rows: pd.DataFrame, column: str) -> float:
    values: Any = rows[column] if column in rows else pd.Series(dtype=float)
    return float(values.mean()) if values.notna().any() else math.nan
