"""Laws and histograms of times in files: qsim's own, fio's latency histogram, and those of the kernel's tracers.

biolatency (bcc) and bpftrace print histograms in powers of two: a row "512 -> 1023 : 12327" counts requests from 512 to
below 1024 units; bpftrace writes "[512, 1K)", and "[1]" for a single number. Several of one disk are added up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from measure.errors import DataError, MeasureError
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.latency_bins import Histogram
from measure.machine.files import write_new
from measure.text_files import read_document, read_text
from qsim import Distribution, Empirical
from qsim.distributions import law_from_dict, law_to_dict

SCHEMA = "qsim-law/1"
_REMEDY = "write one with: qsim fit-service DATA --out law.json"


def write_law(law: Distribution, path: Path, about: Mapping[str, Any]) -> None:
    """Write ``law`` (times in seconds) to the new file ``path``; ``about`` says where it is from.

    Raises MeasureError where the file exists or cannot be written.
    """
    document = {"schema": SCHEMA, "unit": "s", "law": law_to_dict(law), "about": dict(about)}
    try:
        write_new(path, json.dumps(document, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise MeasureError(f"{path} cannot be written: {error.strerror or error}") from error


def read_law(path: Path) -> Distribution:
    """The law in ``path``, times in seconds, equal to the one that was written.

    Raises DataError naming the file, what is wrong and the remedy.
    """
    document = read_document(path, (SCHEMA,), "a law of qsim", _REMEDY)
    try:
        return law_from_dict(document["law"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path} holds a law that cannot be ({error}); {_REMEDY}") from error


def read_histogram(path: Path) -> Empirical:
    """The law in ``path``, fio's json+ output with one job, in seconds: times are uniform within each bin.

    Raises DataError in one sentence that names the file, what is wrong and the remedy.
    """
    records = parse_fio(read_text(path), path.name)
    if len(records) != 1:
        raise DataError(f"{path.name} holds {len(records)} jobs; give the output of a run with one job")
    bins = records[0].latency.histogram
    if bins is None:
        raise DataError(
            f"{path.name} holds no histogram; measure with --output-format=json+ (and --lat_percentiles=1 for that of "
            "the total latency)"
        )
    return Empirical(
        tuple(bins.lower_s.tolist()), tuple(bins.counts.tolist()), tuple((bins.upper_s - bins.lower_s).tolist())
    )


# --- histograms of the kernel's tracers -------------------------------------------------------------------------------

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
