"""What the log of a known device says against its sweep: arrivals that are not Poisson, and time lost on the way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from measure.findings import Finding
from measure.sweep import Sweep
from measure.units import counted, format_duration

WAY_SHARE, WAY_LEAST_S = 0.1, 2e-4  # what the way may add to a latency, beyond what the device makes up for
GAPS_OFF, GAPS_ERRORS = 0.1, 4.0  # how far, and by how many standard errors, the gaps may be off those of Poisson


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
