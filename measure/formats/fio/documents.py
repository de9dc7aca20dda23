"""The JSON documents in what fio printed, among messages, cut off or several in one text; and their fields.

Each document is an object with "fio version" and a list of jobs. Of a run that printed a snapshot every so often
(``--status-interval``) the last one counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from measure.formats.fio.record import IMPOSSIBLE

MAX_FAILED_DOCUMENTS = 64  # a bound on the work that a hostile or damaged text can cause

_START = re.compile(r'\{\s*"fio version"')


def fio_documents(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Every fio document in the text, and whether one was begun and not finished."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    failed, end = 0, 0
    for match in _START.finditer(text):
        if match.start() < end:
            continue
        try:
            document, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failed += 1
            if failed >= MAX_FAILED_DOCUMENTS:
                break
            continue
        if _is_fio(document):
            found.append(document)
    return found, failed > 0


def _is_fio(document: Mapping[str, Any]) -> bool:
    return "fio version" in document and isinstance(document.get("jobs"), list)


def jobs_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The jobs of a document."""
    return [job for job in document["jobs"] if isinstance(job, dict)]


def last_of_runs(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last document of each run: the only one, or the last of the cumulative snapshots of --status-interval."""
    last: list[dict[str, Any]] = []
    for document in documents:
        if last and _continues(last[-1], document):
            last.pop()
        last.append(document)
    return last


def _continues(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether ``later`` is a further snapshot of the same run: same jobs, same start, counters that only grew."""

    def identity(document: Mapping[str, Any]) -> list[Any]:
        return [[j.get("jobname"), j.get("groupid"), j.get("job options")] for j in jobs_of(document)]

    def progress(document: Mapping[str, Any]) -> tuple[float, float]:
        parts = [section_of(j, d) for j in jobs_of(document) for d in ("read", "write", "trim", "mixed")]
        return max((number_in(p, "runtime") for p in parts), default=0.0), sum(number_in(p, "io_bytes") for p in parts)

    if earlier.get("fio version") != later.get("fio version") or identity(earlier) != identity(later):
        return False
    (runtime_0, bytes_0), (runtime_1, bytes_1) = progress(earlier), progress(later)
    if runtime_1 < runtime_0 or bytes_1 < bytes_0:
        return False
    time_0, time_1 = number_in(earlier, "timestamp_ms"), number_in(later, "timestamp_ms")
    if not time_0 or not time_1:
        return runtime_1 > runtime_0
    return abs((time_1 - time_0) - (runtime_1 - runtime_0)) <= max(500.0, 0.25 * (runtime_1 - runtime_0))


def section_of(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; empty where there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def number_in(section: Mapping[str, Any], key: str) -> float:
    """The number under a key; 0 where there is none that a drive could show."""
    return positive(section.get(key))


def positive(value: Any) -> float:
    """A positive number that a drive could show, from a number or a string of one; 0 for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 < number < IMPOSSIBLE else 0.0
