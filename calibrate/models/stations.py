"""The stations behind a closed curve as a device model: c servers of mean service S, and a delay Z.

A row of the table is a possible device: c, S, Z / S, whether each server has a queue of its own, and the squared
coefficient of variation of service. Their posterior is that of :mod:`calibrate.models.structure`. What-if questions
change them. ``servers_and_think`` gives c, S and Z as parameters with intervals, and the measurement that would
separate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrate.inference.parameters import Array, Estimate, MisfitProcess, Parameter
from calibrate.inference.weights import Weights, reaching
from calibrate.models.closed import ClosedModel
from calibrate.models.curves import TIMES, CurveModel
from calibrate.models.structure import (
    BEYOND,
    KINDS,
    LEAST_RATIO,
    StructurePosterior,
    busy_servers,
    laws,
    structure_posterior,
)
from calibrate.points import Points
from measure.loads import ClosedLoad, CountedLoad
from measure.ties import first_highest
from measure.units import plain_number
from qsim.errors import InvalidParameterError

SERVICE = 1
"""The column of S, by which alone the curve of a row scales."""


class ServersAndDelay(ClosedModel):
    """``c, S, Z / S, own queues, scv`` a row; ``servers`` is their number where it is known."""

    name = "servers and delay"
    assumption = "c equal servers with one queue or a queue each, and a delay without queueing"
    is_formula = False

    def __init__(self, servers: int | None = None) -> None:
        self.servers = servers

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        return ()

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        found = structure_posterior(few_points(points), self.servers)
        ratio = np.maximum(found.ratio, LEAST_RATIO)
        values = np.column_stack([found.servers, found.service_s, ratio, found.own_queues, found.scv])
        along = np.zeros((len(values), values.shape[1], 1))
        along[:, SERVICE, 0] = found.width
        return Weights.of(values, found.error, found.log_mass, along, SERVICE)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        own = {"R1": ("s", self.lone(values)), "Xmax": ("1/s", self.peak(values)), "N*": ("", self.knee_load(values))}
        return {**own, "c": ("", values[:, 0]), "S": ("s", values[:, 1]), "Z": ("s", values[:, 1] * values[:, 2])}

    def throughput(self, values: Array, loads: Array) -> Array:
        found = np.empty((len(values), len(loads)))
        crossing = values[:, 0] * (1 + values[:, 2])
        for kind in KINDS:
            rows = np.flatnonzero((values[:, 3] > 0.5) == (kind == "random"))
            if len(rows):
                servers = np.rint(values[rows, 0]).astype(np.int64)
                busy = busy_servers(kind, servers, values[rows, 4], crossing[rows], np.maximum(loads, 1.0))
                found[rows] = busy * np.minimum(loads, 1.0) / values[rows, 1, None]
        return found

    def peak(self, values: Array) -> Array:
        return np.asarray(values[:, 0] / values[:, 1])

    def lone(self, values: Array) -> Array:
        return np.asarray(values[:, 1] * (1 + values[:, 2]))


@dataclass(frozen=True)
class SharedLoad(MisfitProcess):
    """The misfit of one of ``factor`` copies, which depends on its share of the load."""

    factor: float = 1.0

    def place(self, loads: Array) -> Array:
        return np.asarray(np.log(np.maximum(loads / self.factor, 1.0) + self.pivot))


class Copies(ClosedModel):
    """``factor`` copies of a device that share the load evenly; a lone request takes as long as on one.

    Each copy has 1 / factor of the load; below one request its throughput is proportional to the load.
    """

    def __init__(self, base: ClosedModel, factor: float) -> None:
        self.base = base
        self.factor = factor
        self.name = f"{base.name}{TIMES}{factor:.12g}"
        self.assumption = f"{base.assumption}; {factor:g} times as many of it, with the load spread evenly"
        self.process = SharedLoad(base.process.length, base.process.own, base.process.pivot, factor)
        self.misfit = base.misfit
        self.declines, self.is_formula = base.declines, base.is_formula

    def parameters(self, loads: Array, throughput: Array, response: Array) -> Sequence[Parameter]:  # type: ignore[override]
        return self.base.parameters(loads, throughput, response)

    def throughput(self, values: Array, loads: Array) -> Array:
        each = loads / self.factor
        return np.asarray(self.factor * self.base.throughput(values, np.maximum(each, 1.0)) * np.minimum(each, 1.0))

    def peak(self, values: Array) -> Array:
        return self.factor * self.base.peak(values)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {"R1": ("s", self.lone(values)), "Xmax": ("1/s", self.peak(values)), "N*": ("", self.knee_load(values))}


def copies(base: CurveModel, factor: str) -> Copies:
    """``factor`` copies of ``base``. Raises ValueError where ``factor`` is not a number, or ``base`` not closed."""
    try:
        times = float(factor)
    except ValueError:
        times = -1.0
    if not isinstance(base, ClosedModel) or times <= 0:
        raise InvalidParameterError("model", f"'{base.name}{TIMES}{factor}' is unknown", value=factor)
    return Copies(base, times)


PINNED = 1.2
"""c counts as known where the ends of its interval differ by at most this factor."""
UNLIKELY = 0.08
"""The relative error of the model beyond which no structure explains the points."""
UNSATURATED = 0.1
"""The probability of a peak far above the highest throughput beyond which the points do not reach saturation."""
MOST_CROSSING = 2048.0
"""Structures are not fitted where the asymptotes cross beyond this number of requests."""
MOST_POINTS = 32
"""Larger sweeps are thinned to this number of points, evenly over the logarithm of the load."""
UNITS = {"c": "", "S": "s", "Z": "s"}


def servers_and_think(points: Points, level: float) -> dict[str, Estimate]:
    """c, S and Z of a closed sweep with their intervals at ``level``; none where no structure explains the points."""
    if not isinstance(points.load_type, ClosedLoad):
        return {}
    crossing = float(points.throughput_per_s.max() * (points.load / points.throughput_per_s).min())
    if crossing > MOST_CROSSING:
        why = f"the asymptotes cross at {crossing:.3g} requests: more servers than are tried, {MOST_CROSSING:g}"
        return {name: Estimate(None, None, None, False, unit, why) for name, unit in UNITS.items()}
    points = few_points(points)
    found = structure_posterior(points, None)
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
    times = [found.times(rows, tails) for rows in found.rows_of(likely)]
    s_ends, z_ends = (np.array([one[i] for one in times]).T for i in (0, 1))
    z_low, z_high = float(z_ends[0].min()), float(z_ends[1].max())
    ends = {
        "c": (float(low), float(high)),
        "S": (float(s_ends[0].min()), float(s_ends[1].max())),
        "Z": (reaching(z_low, z_high, 0.0, level), z_high),
    }
    best = found.best_servers()
    service, delay = (float(v[0]) for v in found.times(np.flatnonzero(found.servers == best), (0.5,)))
    middle = {"c": float(best), "S": service, "Z": delay}
    notes = {"c": why, **dict.fromkeys("SZ", "" if known else "depends on c, which these points do not determine")}
    return {n: Estimate(middle[n] if known else None, *ends[n], known, unit, notes[n]) for n, unit in UNITS.items()}


def few_points(points: Points) -> Points:
    """The points, thinned to ``MOST_POINTS``."""
    if len(points) <= MOST_POINTS:
        return points
    steps = np.geomspace(points.load[0], points.load[-1], MOST_POINTS)
    return points.at(np.isin(np.arange(len(points)), np.searchsorted(points.load, steps * (1 - 1e-9))))


def pins(points: Points, found: StructurePosterior, likely: list[int]) -> str:
    """The measurement that would decide between the ``likely`` numbers of servers, in words.

    It is the depth where they differ most, if that is by more than the error of the model; else no depth decides.
    """
    if found.share(found.crossing > 0.5 * BEYOND * found.crossing.min()) > UNSATURATED:
        return "the peak may lie far beyond these points"
    means = np.exp(np.average(np.log(found.crossing), weights=found.mass))
    depths = np.array([n for n in (*range(1, 17), *(2.0**i for i in range(5, 12))) if n <= max(4.0, 2 * means)])
    best_cells = [of[np.argmax(found.log_mass[of])] for of in found.rows_of(likely)]
    curves = []
    for queues in KINDS:
        rows = [i for i in best_cells if found.own_queues[i] == (queues == "random")]
        if rows:
            scv = next(laws(points, found.ratio[rows]))[0]
            busy = busy_servers(queues, found.servers[rows].astype(int), scv, found.crossing[rows], depths)
            curves.append(np.log(busy / found.service_s[rows, None]))
    apart = np.ptp(np.vstack(curves), axis=0)
    best = first_highest(apart)
    if apart[best] > 2 * found.median_error:
        return f"{points.load_type.at(depths[best])}, measured several times, would tell them apart"
    rate = 0.7 * float(points.throughput_per_s.max())
    none = "no other load" if isinstance(points.load_type, CountedLoad) else "no depth"
    return (
        f"{none} would settle it: measure the response time "
        f"under Poisson arrivals (--arrival-rates {plain_number(rate)}): the more servers, the fewer wait"
    )
