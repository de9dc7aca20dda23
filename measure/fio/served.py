"""What a known device served of the requests of a point: those that arrived while its fio ran, after the ramp.

A known device logs each request: when it arrived, and how long it waited and was served. That gives the law that was
really served and the response time as the queue had it, so that three things are distinguished: the noise of a finite
draw (served against asked), the error of a formula (solved against served), and what the way adds (fio's latency
against the served response).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.fio.command import stagger_s
from measure.fio.points import job_of
from measure.store.directory import SweepStore
from measure.store.stored_point import StoredPoint

FOLDER = "served"
COLUMNS = 4
BATCHES = 20

Log = NDArray[np.float64]


def read_logs(directory: Path) -> Log:
    """All logs in a sweep directory as one table (n, 4), by time of arrival: arrived, waited, served, late.

    An incomplete last row (the device was killed while it wrote) is left out.
    """
    parts = [np.empty((0, COLUMNS))]
    for path in sorted((directory / FOLDER).glob("*.log")):
        raw = path.read_bytes()
        row = 8 * COLUMNS
        parts.append(np.frombuffer(raw[: len(raw) // row * row], dtype=np.float64).reshape(-1, COLUMNS))
    log = np.concatenate(parts)
    return np.asarray(log[np.argsort(log[:, 0], kind="stable")])


def served_between(
    log: Log, start: float, end: float, ramp_s: float = 0.0, runtime_s: float = math.inf, delay_s: float = 0.0
) -> dict[str, float] | None:
    """What was served of the requests that arrived between ``start`` and ``end`` (seconds since 1970), as columns.

    Of these only the ones of ``runtime_s`` seconds count, after ``ramp_s`` seconds from the first of them: fio's jobs
    end one by one after their time. ``delay_s`` is what a response takes besides wait and service. None where there are
    fewer than two. Times in seconds, and squared coefficients of variation; ``served_response_error_s`` is the standard
    error of the mean response, from 20 batches of consecutive requests (Law and Kelton, Simulation Modeling and
    Analysis, section 9.5.3: batch means), NaN where there are fewer than 20 a batch.
    """
    rows = log[(log[:, 0] >= start) & (log[:, 0] <= end)]
    if len(rows):
        begin = rows[0, 0] + ramp_s
        rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] <= begin + runtime_s)]
    if len(rows) < 2:
        return None
    gaps, service, response = np.diff(rows[:, 0]), rows[:, 2], rows[:, 1] + rows[:, 2] + delay_s
    return {
        "served_requests": len(rows),
        "served_rate_per_s": float(1 / gaps.mean()),
        "served_gap_scv": _scv(gaps),
        "served_service_s": float(service.mean()),
        "served_service_scv": _scv(service),
        "served_response_s": float(response.mean()),
        "served_response_error_s": _batch_error(response),
        "served_late_s": float(rows[:, 3].mean()),
    }


def with_served(table: pd.DataFrame, store: SweepStore, points: Iterable[StoredPoint]) -> pd.DataFrame:
    """The table of a sweep with the columns of :func:`served_between`, where its directory holds a device's log."""
    log, settings = read_logs(store.directory), store.manifest["settings"]
    delay_s = float(store.manifest["provenance"].get("details", {}).get("truth", {}).get("delay_s", 0.0))
    if not len(log):
        return table
    rows: dict[str, Mapping[str, float]] = {}
    for point in points:
        if point.raw is not None:
            start, end = (datetime.fromisoformat(point.record[k]).timestamp() for k in ("started_at", "ended_at"))
            begun = settings["ramp_s"] + stagger_s(job_of(point))  # all jobs are counted then, and none has ended
            counted = settings["ramp_s"] + settings["runtime_s"] - begun
            if (found := served_between(log, start, end, begun, counted, delay_s)) is not None:
                rows[point.raw.name] = found
    return table.join(pd.DataFrame.from_dict(rows, orient="index"), on="source")


def _scv(values: NDArray[np.float64]) -> float:
    mean = float(values.mean())
    return float(values.var() / mean**2) if mean > 0 else math.nan


def _batch_error(values: NDArray[np.float64]) -> float:
    size = len(values) // BATCHES
    if size < BATCHES:
        return math.nan
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(BATCHES))
