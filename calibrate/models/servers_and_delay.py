"""c, S and Z of a closed sweep as parameters with intervals, and the measurement that would tell them apart."""

from __future__ import annotations

import numpy as np

from calibrate.inference.estimates import Estimate, reaching
from calibrate.models.closed_structures import busy_servers
from calibrate.models.structure import BEYOND, KINDS, StructurePosterior, laws, structure_posterior
from calibrate.points import Points

PINNED = 1.2
"""Numbers of servers whose ends differ by no more than this factor count as known."""
UNLIKELY = 0.08
"""The relative error of the model beyond which every structure is held to be wrong."""
UNSATURATED = 0.1
"""The probability of a peak far above all that was seen, beyond which the points are held not to reach it."""
MOST_CROSSING = 2048.0
"""Where the asymptotes cross beyond so many requests, numbers of servers are not tried."""
MOST_POINTS = 32
"""Of more points so many are taken, evenly over the logarithm of the load."""
UNITS = {"c": "", "S": "s", "Z": "s"}


def servers_and_think(points: Points, level: float) -> dict[str, Estimate]:
    """c, S and Z of a closed sweep with their intervals at ``level``; none where no structure explains the points."""
    if not points.load_type.is_closed:
        return {}
    crossing = float(points.throughput_per_s.max() * (points.load / points.throughput_per_s).min())
    if crossing > MOST_CROSSING:
        why = f"the asymptotes cross at {crossing:.3g} requests: more servers than are tried, {MOST_CROSSING:g}"
        return {name: Estimate(None, None, None, False, unit, why) for name, unit in UNITS.items()}
    points = few_points(points)
    found = structure_posterior(points)
    if (missed := found.median_error) > UNLIKELY:
        why = f"no number of servers explains these points: the best misses them by about {100 * missed:.2g} %"
        return {name: Estimate(None, None, None, False, unit, why) for name, unit in UNITS.items()}
    likely = found.likely_servers(level)
    low, high = likely[0], likely[-1]
    known = high <= PINNED * low
    why = (
        ""
        if known
        else f"any number of servers from {low} to {high} explains these points; {pins(points, found, likely)}"
    )
    tails = (0.5 * (1 - level), 0.5 * (1 + level))
    times = [found.times(found.servers == c, tails) for c in likely]
    s_ends, z_ends = (np.array([one[i] for one in times]).T for i in (0, 1))
    z_low, z_high = float(z_ends[0].min()), float(z_ends[1].max())
    ends = {
        "c": (float(low), float(high)),
        "S": (float(s_ends[0].min()), float(s_ends[1].max())),
        "Z": (reaching(z_low, z_high, 0.0, level), z_high),
    }
    best = found.best_servers()
    service, delay = (float(v[0]) for v in found.times(found.servers == best, (0.5,)))
    middle = {"c": float(best), "S": service, "Z": delay}
    notes = {"c": why, **dict.fromkeys("SZ", "" if known else "depends on c, which these points do not determine")}
    return {n: Estimate(middle[n] if known else None, *ends[n], known, unit, notes[n]) for n, unit in UNITS.items()}


def few_points(points: Points) -> Points:
    """The points, or some of them where they are many."""
    if len(points) <= MOST_POINTS:
        return points
    steps = np.geomspace(points.load[0], points.load[-1], MOST_POINTS)
    return points.at(np.isin(np.arange(len(points)), np.searchsorted(points.load, steps * (1 - 1e-9))))


def pins(points: Points, found: StructurePosterior, likely: list[int]) -> str:
    """The measurement that would tell the ``likely`` numbers of servers apart, in words.

    It is the depth where they differ most, if that is by more than the error of the model; else no depth tells.
    """
    if found.share(found.crossing > 0.5 * BEYOND * found.crossing.min()) > UNSATURATED:
        return f"the peak may lie far beyond these points: measure {points.load_type.at(4 * points.load[-1])}"
    means = np.exp(np.average(np.log(found.crossing), weights=found.mass))
    depths = np.array([n for n in (*range(1, 17), *(2.0**i for i in range(5, 12))) if n <= max(4.0, 2 * means)])
    best_cells = []
    for servers in likely:
        of = np.flatnonzero(found.servers == servers)
        best_cells.append(of[np.argmax(found.log_mass[of])])
    curves = []
    for queues in KINDS:
        rows = [i for i in best_cells if found.own_queues[i] == (queues == "random")]
        if rows:
            scv = next(laws(points, found.ratio[rows]))[0]
            busy = busy_servers(queues, found.servers[rows].astype(int), scv, found.crossing[rows], depths)
            curves.append(np.log(busy / found.service_s[rows, None]))
    apart = np.ptp(np.vstack(curves), axis=0)
    best = int(np.argmax(apart))
    if apart[best] > 2 * found.median_error:
        return f"{points.load_type.at(depths[best])}, measured several times, would tell them apart"
    rate = 0.7 * float(points.throughput_per_s.max())
    return (
        f"no {'other load' if points.load_type.is_counted else 'depth'} would settle it: measure the delay by itself, "
        "or the response time under Poisson arrivals "
        f"(--arrival-rates {rate:.3g}), of which more servers keep fewer waiting"
    )
