"""Reads fio's terse output (--minimal, --output-format=terse): a line of semicolons a job, by the place of its fields.

Versions 3, 4 and 5 are read. A line begins with the version, fio's version, the job, its group and its error; then each
direction has a section (reads, writes, and trims from version 4 on), and behind them stand processor use and the depths
reached. The depth itself is not written: the load is throughput x latency.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from measure.errors import DataError
from measure.formats.fio.record import FioRecord, Flow, Moments, positive, record_of

_LINE = re.compile(r"^(?:\S+ )?([2-5]);fio-[\d.]", re.MULTILINE)
_SECTION = {"3": (41, 2), "4": (41, 3), "5": (47, 3)}
"""Version -> the fields of a direction's section, and how many sections there are."""
_FIRST, _LEVELS = 5, ("1", "2", "4", "8", "16", "32", ">=64")
_KIB, _MS, _US = 1024.0, 1e3, 1e6
_IOPS, _RUNTIME, _BANDWIDTH, _PERCENTS, _MEAN, _SD = 2, 3, 1, slice(12, 32), 34, 35
"""Places in a section, of the total latency where there are two."""
_PROCESSOR = 5


def looks_like_terse(text: str) -> bool:
    """Whether a line of terse output is in the text."""
    return _LINE.search(text) is not None


def parse_terse(text: str, name: str) -> list[FioRecord]:
    """The records of the lines, one a job. DataError for version 2, and for a line that is cut off."""
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _LINE.match(line)) is None:
            continue
        if match[1] not in _SECTION:
            raise DataError(f"{name}: terse version 2 of fio has no total latency; run with --output-format=json")
        cells = line[match.start(1) :].split(";")
        width, sections = _SECTION[match[1]]
        if len(cells) < _FIRST + width * sections + _PROCESSOR + len(_LEVELS):
            raise DataError(f"{name}: line {number} of fio's terse output is cut off; measure that point again")
        records.append(_record(cells, width, sections, name))
    return records


def _record(cells: Sequence[str], width: int, sections: int, name: str) -> FioRecord:
    parts = [cells[_FIRST + k * width : _FIRST + (k + 1) * width] for k in range(2)]
    flows = [_flow(part, way) for part, way in zip(parts, ("read", "write"), strict=True) if positive(part[_IOPS])]
    behind = _FIRST + width * sections + _PROCESSOR
    levels = {level: positive(cells[behind + k].rstrip("%")) for k, level in enumerate(_LEVELS)}
    return record_of(
        flows,
        source=name,
        job=cells[2],
        options={},
        records=1,
        error=int(positive(cells[4])),
        version=cells[1],
        started_at="",
        iodepth_levels=levels,
        all_options=False,
    )


def _flow(part: Sequence[str], way: str) -> Flow:
    """One direction; percentiles are those of the completion latency, the only ones that are written."""
    runtime_s, rate = positive(part[_RUNTIME]) / _MS, positive(part[_IOPS])
    listed = (cell.partition("%=") for cell in part[_PERCENTS])
    percentiles = {positive(p): positive(t) / _US for p, _, t in listed if positive(p) and positive(t)}
    requests = float(round(rate * runtime_s))
    latency = Moments(positive(part[_MEAN]) / _US, positive(part[_SD]) / _US, "lat", percentiles)
    reads = requests if way == "read" else 0.0
    return Flow(rate, positive(part[_BANDWIDTH]) * _KIB, requests, reads, runtime_s, latency, way)
