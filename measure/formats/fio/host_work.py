"""The work of the host on a request: the processor time of fio's jobs, in user and in kernel mode.

fio tells both as percentages of the time that its jobs ran (``usr_cpu``, ``sys_cpu``, of ``job_runtime``, the sum over
the clones of a group, or in older versions of what that would be). Interrupts and the kernel's own threads, which no
job is charged for, are not in it; a job that polls for completions is at 100 % however little it does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from measure.formats.fio.documents import number_in

if TYPE_CHECKING:
    from measure.formats.fio.record import FioRecord

COLUMN = "host_cpu_s"
"""Processor time of a request, seconds; in a table where it is known."""


def processor_time(clones: Iterable[Mapping[str, Any]], runtime_s: float, jobs: int) -> float:
    """What all ``clones`` (records of fio's JSON) took, seconds; NaN where one of them does not tell.

    ``jobs`` ran for ``runtime_s``, shared evenly among the clones, where a clone does not tell how long it ran.
    """
    clones = list(clones)
    total = 0.0
    for clone in clones:
        if not ("usr_cpu" in clone and "sys_cpu" in clone):
            return math.nan
        share = (number_in(clone, "usr_cpu") + number_in(clone, "sys_cpu")) / 100
        total += share * (number_in(clone, "job_runtime") / 1e3 or runtime_s * jobs / len(clones))
    return total


def host_columns(record: FioRecord) -> dict[str, float]:
    """The column of a point; none where fio does not tell."""
    known = math.isfinite(record.cpu_s) and record.cpu_s > 0 and record.requests > 0
    return {COLUMN: record.cpu_s / record.requests} if known else {}
