"""How many servers, and how long a delay, explain the points of a closed sweep."""

from __future__ import annotations

import numpy as np

from calibrate.curve_models import DelayMMc, PNorm, server_counts
from calibrate.fitting import Estimate, mode_of, reaching
from calibrate.points import Points
from calibrate.posterior import Array

LIKELY = 2.71
"""The rise of the squared misfit, in standard errors, that a 90 % profile-likelihood interval allows."""


UNLIKELY = 4.0
"""The mean squared misfit beyond which a model is held to be wrong: two standard errors a point."""


def servers_and_think(points: Points, mode: Array, draws: Array, level: float) -> dict[str, Estimate]:
    """Which numbers of servers c, and so which delays Z, explain the points about as well as the best one does.

    Each c is fitted as delay + M/M/c; those within ``LIKELY`` of the best squared misfit are kept. Means alone rarely
    tell c, so this is an interval and seldom more. Where even the best c misses the points, c is None. The delay
    Z = R1 - c / Xmax is as uncertain as R1 and Xmax are, which the ``draws`` (n, 3) of N* and Xmax tell.
    """
    if points.load_kind != "queue_depth":
        return {}
    error = float(np.hypot(PNorm.error_prior.median, np.median(points.noise(1))))
    misfits: dict[int, tuple[float, float]] = {}
    for servers in server_counts(float(mode[0])):
        crossing, peak = mode_of(points, DelayMMc(servers))
        throughput, _ = DelayMMc(servers).curve(np.array([[crossing, peak]]), points.load)
        squared = float((np.log(throughput[0] / points.throughput_per_s) ** 2).sum()) / error**2
        misfits[servers] = (squared, max(crossing - servers, 0.0) / peak)
    least = min(squared for squared, _ in misfits.values())
    if least > UNLIKELY * len(points):
        missed = f"{100 * error * np.sqrt(least / len(points)):.2g} %"
        why = f"no number of servers behind one queue explains these points: the best misses them by {missed}"
        return {"c": Estimate(None, None, None, False, "", why), "Z": Estimate(None, None, None, False, "s", why)}
    likely = {c: think for c, (squared, think) in misfits.items() if squared <= least + LIKELY}
    low, high = min(likely), max(likely)
    known = low == high
    why = "" if known else f"any number of servers from {low} to {high} explains these means"
    tails = [50 * (1 - level), 50 * (1 + level)]
    ends = np.array([np.percentile(np.maximum(draws[:, 0] - c, 0.0) / draws[:, 1], tails) for c in likely])
    least_z, most_z = float(ends[:, 0].min()), float(ends[:, 1].max())
    return {
        "c": Estimate(float(low) if known else None, float(low), float(high), known, "", why),
        "Z": Estimate(likely[low] if known else None, reaching(least_z, most_z, 0.0, level), most_z, known, "s", why),
    }
