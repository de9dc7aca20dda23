"""What one pass through a log of fio's tells, whether it lists requests or histograms."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from measure.formats.fio.latency_bins import Histogram
from measure.formats.fio.windows import Window
from measure.text_files import LONGEST_LINE, Lines

LONGEST_RUN_S = 31 * 86400.0
"""Later times are times of the day, or damaged."""
MOST_WINDOWS = 60
MOST_NS = 2.0**53
"""Up to here a float holds every whole number; no latency comes near."""


@dataclass(frozen=True)
class LogSummary:
    """One log, read to its end: counts, moments in seconds, histogram and windows (at most 60).

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
    windows: tuple[Window, ...]
    averaged: bool
    unit_known: bool
    cut: bool


def start_of(first_ms: float) -> float:
    """The time that counts as the start: 0, or the first time where the log is stamped with the time of day."""
    return float(first_ms) if first_ms > 1e3 * LONGEST_RUN_S else 0.0


def reader(file: Path) -> io.BufferedReader:
    """The bytes of a log, refused where a line has no end."""
    return io.BufferedReader(Lines(file), LONGEST_LINE)
