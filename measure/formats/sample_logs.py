"""Reads logs over time of users who may pause, so that N = X (R + Z): each number of users that lasted is a run.

JMeter's results have a row a request, and perhaps a number of threads. Locust's ``stats_history.csv`` counts users and
answers over time; ``stats.csv`` has no users.
"""

from __future__ import annotations

import csv
import re
from itertools import groupby

from measure.errors import DataError
from measure.formats.server_reports import ServerRun
from measure.formats.tables.cells import check_rows

LEAST_S = 2
"""Seconds: a number of users that lasted less is left out, as the tool was still starting or stopping them."""

_START, _TOOK, _THREADS, _FINE = "timeStamp", "elapsed", "allThreads", "success"


def looks_like_samples(text: str) -> bool:
    """Whether the first line is the header of JMeter's results."""
    header = from_header(text).partition("\n")[0].strip().split(",")
    return {_START, _TOOK} <= set(header)


def from_header(text: str) -> str:
    """The text from its first line that is no command behind a prompt, and not empty."""
    return re.sub(r"\A\ufeff?(?:[ \t]*\r?\n|[$#>] [^\n]{0,400}\n)*", "", text)


def samples(text: str, name: str) -> list[ServerRun]:
    """A run for each number of threads that lasted. DataError where none did."""
    rows = list(csv.DictReader(from_header(text).splitlines()))
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
            users = float(threads) or None
            run = ServerRun("jmeter", rate, mean, clients=users, unit="users", requests=len(counted), failed=failed)
            runs.append(run)
    return _held(runs, name)


_HISTORY = "Timestamp,User Count,Type,Name,"
_STATS = "Type,Name,Request Count,Failure Count,"


def looks_like_locust(text: str) -> bool:
    """Whether the text is Locust's stats_history.csv or stats.csv."""
    return from_header(text).startswith((_HISTORY, _STATS))


def locust(text: str, name: str) -> list[ServerRun]:
    """A run for each number of users that lasted. DataError for stats.csv, and where none lasted."""
    text = from_header(text)
    if text.startswith(_STATS):
        raise DataError(f"{name} has no number of users; give the other file: ..._stats_history.csv")
    rows = [row for row in csv.DictReader(text.splitlines()) if row["Name"] == "Aggregated"]
    runs = []
    for users, group in groupby(rows, key=lambda row: int(row["User Count"])):
        held = list(group)
        first, last = held[0], held[-1]
        seconds = int(last["Timestamp"]) - int(first["Timestamp"])
        count = int(last["Total Request Count"]) - int(first["Total Request Count"])
        if users and seconds >= LEAST_S and count > 0:
            time_ms = _sum_ms(last) - _sum_ms(first)
            failed = int(last["Total Failure Count"]) - int(first["Total Failure Count"])
            rate, mean = count / seconds, time_ms / count / 1e3
            run = ServerRun("locust", rate, mean, clients=float(users), unit="users", requests=count, failed=failed)
            runs.append(run)
    return _held(runs, name)


def _sum_ms(row: dict[str, str]) -> float:
    return float(row["Total Average Response Time"]) * int(row["Total Request Count"])


def _held(runs: list[ServerRun], name: str) -> list[ServerRun]:
    if not runs:
        raise DataError(f"{name}: no number of users held for {LEAST_S} s with answers; run longer steps")
    return runs
