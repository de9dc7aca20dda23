"""Reads histograms of latencies in powers of two, as biolatency (bcc) and bpftrace print them.

A row "512 -> 1023 : 12327" counts requests from 512 to below 1024 units; bpftrace writes "[512, 1K)", and "[1]" for a
single number. Several of one disk, one for each interval, are added up.
"""

from __future__ import annotations

import re

import numpy as np

from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram

_ROW = re.compile(
    r"^\s*(?:(\d{1,18}) -> (\d{1,18})\s*:\s*(\d{1,18})"
    r"|\[(\d{1,18}[KMG]?)(?:, (\d{1,18}[KMG]?)\)|\])\s+(\d{1,18})) *\|",
    re.M,
)
_UNIT = re.compile(r"^\s*([nmu])secs\s*:\s*count|^@(?:\w*_)?([nmu])s(?:ecs?)?\b.*:", re.M)
_DISK = re.compile(r"^disk = '?([\w-]+)", re.M)
_SCALES = {"n": 1e9, "u": 1e6, "m": 1e3}
_LARGE = {"K": 2**10, "M": 2**20, "G": 2**30}


def looks_like_kernel_histogram(text: str) -> bool:
    """Whether rows of such a histogram are in the text."""
    return len(_ROW.findall(text[: 2**16])) > 1


def kernel_histogram(text: str, name: str) -> Histogram:
    """The histogram in a text, seconds. DataError where its unit is not in it, or it is of several disks."""
    unit = _UNIT.search(text)
    if unit is None:
        raise DataError(
            f"{name} does not say the unit of its histogram; name bpftrace's map after it: @usecs = hist(...)"
        )
    disks = sorted(set(_DISK.findall(text)))
    if len(disks) > 1:
        raise DataError(f"{name} holds histograms of {', '.join(disks)}; give that of one (biolatency -d {disks[0]})")
    scale = _SCALES[unit[1] or unit[2]]
    bins: dict[tuple[int, int], int] = {}
    for low, last, count, start, end, counted in _ROW.findall(text):
        row = (int(low), int(last) + 1) if low else (_whole(start), _whole(end) if end else _whole(start) + 1)
        bins[row] = bins.get(row, 0) + int(count or counted)
    if any(low >= high for low, high in bins) or not any(bins.values()):
        raise DataError(f"{name} holds no request, or a row that ends before it begins; measure again")
    edges = np.array(sorted(bins), dtype=float)
    counts = np.array([bins[key] for key in sorted(bins)], dtype=np.int64)
    if np.any(edges[1:, 0] < edges[:-1, 1]):
        raise DataError(f"{name} holds rows of several widths; give one histogram at a time")
    return Histogram(edges[:, 0] / scale, edges[:, 1] / scale, counts, "lat")


def _whole(text: str) -> int:
    return int(text.rstrip("KMG")) * _LARGE.get(text[-1], 1)
