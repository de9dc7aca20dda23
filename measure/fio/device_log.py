"""What a known device served: its log, cut at the points of a sweep.

The log tells of each request when it arrived, and how long it waited and was served. Of the requests of a point (those
that arrived while its fio ran, after the ramp) it gives the law that was really served and the response time as the
queue had it, so that three things can be told apart: the noise of a finite draw (served against asked), the error of a
formula (solved against served), and what the way adds (fio's latency against the served response).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.findings import Finding
from measure.fio.command import stagger_s
from measure.fio.points import job_of
from measure.store.directory import SweepStore
from measure.store.stored_point import StoredPoint
from measure.sweep import Sweep
from measure.units import counted, format_duration

FOLDER = "served"
COLUMNS = 4
BATCHES = 20
WAY_SHARE, WAY_LEAST_S = 0.1, 2e-4  # what the way may add to a latency, beyond what the device makes up for
GAPS_OFF, GAPS_ERRORS = 0.1, 4.0  # how far, and by how many standard errors, the gaps may be off those of Poisson

Log = NDArray[np.float64]


@dataclass(frozen=True)
class Served:
    """What was served at one point; times in seconds, and squared coefficients of variation.

    ``response_error_s`` is the standard error of the mean response, from 20 batches of consecutive requests (Law and
    Kelton, Simulation Modeling and Analysis, section 9.5.3: batch means); NaN where there are fewer than 20 a batch.
    """

    served_requests: int
    served_rate_per_s: float
    served_gap_scv: float
    served_service_s: float
    served_service_scv: float
    served_response_s: float
    served_response_error_s: float
    served_late_s: float


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
) -> Served | None:
    """What was served of the requests that arrived between ``start`` and ``end`` (seconds since 1970).

    Of these only the ones of ``runtime_s`` seconds count, after ``ramp_s`` seconds from the first of them: fio's jobs
    end one by one after their time. ``delay_s`` is what a response takes beside its wait and its service. None where
    there are fewer than two.
    """
    rows = log[(log[:, 0] >= start) & (log[:, 0] <= end)]
    if len(rows):
        begin = rows[0, 0] + ramp_s
        rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] <= begin + runtime_s)]
    if len(rows) < 2:
        return None
    gaps, service, response = np.diff(rows[:, 0]), rows[:, 2], rows[:, 1] + rows[:, 2] + delay_s
    return Served(
        served_requests=len(rows), served_rate_per_s=float(1 / gaps.mean()), served_gap_scv=_scv(gaps),
        served_service_s=float(service.mean()), served_service_scv=_scv(service),
        served_response_s=float(response.mean()), served_response_error_s=_batch_error(response),
        served_late_s=float(rows[:, 3].mean()),
    )  # fmt: skip


def with_served(table: pd.DataFrame, store: SweepStore, points: Iterable[StoredPoint]) -> pd.DataFrame:
    """The table of a sweep with the fields of :class:`Served` as columns, where its directory holds a device's log."""
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
            found = served_between(log, start, end, begun, counted, delay_s)
            if found is not None:
                rows[point.raw.name] = asdict(found)
    served = pd.DataFrame.from_dict(rows, orient="index")
    return table.join(served, on="source")


def not_poisson(sweep: Sweep) -> NDArray[np.bool_]:
    """True (n,) for the rows of an open sweep at which requests did not arrive as a Poisson process, by a device's log.

    Gaps of a Poisson process are exponential: their squared coefficient of variation is 1, and that of n of them has a
    standard error of 2 / sqrt(n) (by the delta method, from the moments of the exponential law).
    """
    if not sweep.load_type.is_open or not {"served_gap_scv", "served_requests"} <= set(sweep.points):
        return np.zeros(len(sweep.points), dtype=bool)
    off = np.abs(sweep.points["served_gap_scv"].to_numpy(float) - 1)
    error = 2 / np.sqrt(np.fmax(sweep.points["served_requests"].to_numpy(float), 1.0))
    return np.asarray((off > GAPS_OFF) & (off > GAPS_ERRORS * error))  # False where nothing was logged


def check_arrivals(sweep: Sweep) -> Iterator[Finding]:
    """Open points of a known device at which requests did not arrive as the Poisson process that was asked for."""
    found = sweep.points[not_poisson(sweep)]
    for series, group in found.groupby("series", sort=False):
        worst = group.iloc[int(np.abs(group["served_gap_scv"].to_numpy(float) - 1).argmax())]
        yield Finding(
            "not-poisson", "warning",
            f"at {counted(len(group), 'point')} the gaps between the arrivals that the device logged are not those of "
            "a Poisson process, whose squared coefficient of variation is 1; the worst: "
            f"{worst['served_gap_scv']:.3g} over {worst['served_requests']:,.0f} requests.",
            "other work kept fio from the CPUs, so that requests came late and together, and waited longer than M/M/1 "
            "and its relatives say.",
            "measure again when the machine is idle, or give it priority (sudo chrt -r 20 qsim ...); these "
            "points are left out of a calibration, unless --use names them.",
            str(series), float(worst["load"]),
        )  # fmt: skip


def check_way(sweep: Sweep) -> Iterator[Finding]:
    """Points of a known device whose latency is not the device's own: the way to it, or a busy machine, added to it."""
    if "served_response_s" not in sweep.points:
        return
    rows = sweep.points.dropna(subset=["served_response_s"])
    added = rows["latency_s"] - rows["served_response_s"]
    late = rows[(added > WAY_SHARE * rows["served_response_s"]) & (added > WAY_LEAST_S)]
    for series, group in late.groupby("series", sort=False):
        worst = group.iloc[int((group["latency_s"] / group["served_response_s"]).argmax())]
        yield Finding(
            "way-to-device", "warning",
            f"at {counted(len(group), 'point')} fio's latency exceeds the response time that the device itself logged "
            f"by more than {100 * WAY_SHARE:g} %; the worst: {format_duration(worst['latency_s'])} against "
            f"{format_duration(worst['served_response_s'])}.",
            "other work kept the threads of fio or of the device from the CPUs.",
            "measure again when the machine is idle, or with longer service times.",
            str(series), float(worst["load"]),
        )  # fmt: skip


def _scv(values: NDArray[np.float64]) -> float:
    mean = float(values.mean())
    return float(values.var() / mean**2) if mean > 0 else math.nan


def _batch_error(values: NDArray[np.float64]) -> float:
    size = len(values) // BATCHES
    if size < BATCHES:
        return math.nan
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(BATCHES))
