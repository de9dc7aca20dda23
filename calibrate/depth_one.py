"""Requests that were alone (depth 1): how variable their latencies are, and how short the shortest."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from measure.sweep import Sweep, histograms

SHORTEST = 0.01
"""The share of latencies below the one that is taken as the shortest: a few stray ones tell nothing."""


@dataclass(frozen=True)
class LoneRequests:
    """The latencies at depth 1: their squared coefficient of variation, and the shortest, in seconds."""

    scv: float
    shortest_s: float


def lone_requests(sweep: Sweep) -> LoneRequests | None:
    """Those of a closed sweep of one series; None where it has no depth 1 or kept no spread of latencies.

    The scv is the mean over repeats. Where there is no histogram, the mean latency takes the place of the shortest,
    which it is for constant times.
    """
    table = sweep.points
    rows = table[(table["load"] == 1) & table["latency_sd_s"].notna()]
    if not sweep.load_type.is_closed or rows.empty:
        return None
    shortest = [h.quantile(SHORTEST) for h in histograms(replace(sweep, points=rows)).values()] or rows[
        "latency_s"
    ].tolist()
    return LoneRequests(float(((rows["latency_sd_s"] / rows["latency_s"]) ** 2).mean()), float(np.median(shortest)))
