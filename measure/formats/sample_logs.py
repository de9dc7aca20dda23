"""Reads logs of single requests with their starts and durations, as JMeter writes them: what was in flight is counted.

JMeter's threads may pause between two requests, so they are users of whom N = X (R + Z) holds; where the file has no
number of threads, the mean number in flight is the sum of all durations over the time.
"""

from __future__ import annotations

import csv
from itertools import groupby

from measure.errors import DataError
from measure.formats.server_reports import LEAST_S, ServerRun
from measure.text_files import check_rows

_START, _TOOK, _THREADS, _FINE = "timeStamp", "elapsed", "allThreads", "success"


def looks_like_samples(text: str) -> bool:
    """Whether the first line is the header of JMeter's results."""
    header = text.lstrip("\ufeff").partition("\n")[0].strip().split(",")
    return {_START, _TOOK} <= set(header)


def samples(text: str, name: str) -> list[ServerRun]:
    """A run for each number of threads that lasted. DataError where none did."""
    rows = list(csv.DictReader(text.lstrip("\ufeff").splitlines()))
    check_rows(len(rows), name)
    try:
        listed = [
            (float(r[_START]) / 1e3, float(r[_TOOK]) / 1e3, int(r.get(_THREADS) or 0), r.get(_FINE)) for r in rows
        ]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name}: a row has no start or no duration in ms ({error}); it was cut off: remove it"
        ) from error
    listed.sort(key=lambda sample: sample[0] + sample[1])
    runs = []
    for threads, group in groupby(listed, key=lambda sample: sample[2]):
        held = list(group)
        begin, end = held[0][0] + held[0][1], held[-1][0] + held[-1][1]
        counted = held[1:]
        if end - begin >= LEAST_S and counted:
            rate, mean = len(counted) / (end - begin), sum(took for _, took, _, _ in counted) / len(counted)
            failed = sum(fine == "false" for *_, fine in counted)
            count = float(threads) or max(1.0, float(round(rate * mean)))
            run = ServerRun("jmeter", rate, mean, clients=count, unit="users", requests=len(counted), failed=failed)
            runs.append(run)
    if not runs:
        raise DataError(f"{name}: no number of threads held for {LEAST_S} s with answers; run longer steps")
    return runs
