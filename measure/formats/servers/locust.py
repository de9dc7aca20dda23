"""Locust's CSV files: stats_history.csv tells users and answers over time; stats.csv tells no users."""

from __future__ import annotations

import csv
from itertools import groupby

from measure.errors import DataError
from measure.formats.servers.run import ServerRun, circulating

_HISTORY = "Timestamp,User Count,Type,Name,"
_STATS = "Type,Name,Request Count,Failure Count,"
LEAST_S = 2
"""A number of users that held for less is left out: Locust was still starting or stopping them."""


def looks_like_locust(text: str) -> bool:
    """Whether the text is one of the two."""
    return text.startswith((_HISTORY, _STATS))


def locust(text: str, name: str) -> list[ServerRun]:
    """A run for each number of users that held. DataError for stats.csv, and where none held."""
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
            load, notes = circulating(float(users), rate * mean)
            runs.append(
                ServerRun(
                    "locust",
                    rate,
                    mean,
                    clients=load,
                    unit="users",
                    requests=count,
                    failed=failed,
                    seconds=seconds,
                    notes=notes,
                )
            )
    if not runs:
        raise DataError(f"{name}: no number of users held for {LEAST_S} s with answers; run longer steps")
    return runs


def _sum_ms(row: dict[str, str]) -> float:
    return float(row["Total Average Response Time"]) * int(row["Total Request Count"])
