"""What the points of a closed sweep say of its structure: servers c, mean service S, delay Z, and kind of queues.

Z is the part of a request's latency that keeps no server busy (the host, the link). A request alone takes Z + S, and
the peak is c / S, whatever else holds; so that the means of shallow and deep points tell N* = c (1 + Z / S), and only
the bend between them can tell c from Z. How sharp it is depends on how variable service is, which the latencies of
lone requests (depth 1) show. Constant times have a bend as sharp as can be whatever c is: then nothing but knowledge of
Z can tell c. And no delay is much longer than the shortest latency: where lone requests vary, that alone tells.

The posterior is computed on a grid, without sampling: every c, Z / S, both kinds of queues, the relative error of the
model; S, which only scales the curve, is integrated in closed form. Before any point is seen,

c        is as likely as 1/c: each doubling as likely as the next
Z        has a share of Z + S that follows Beta(1/2, 3/2): anything from 0 to 1, rather less than more
queues   one queue or a queue each, as likely
error    2 %, for two thirds within a factor of 2 (log-normal), beside the noise of repeats or, where nothing was
         repeated, that of a mean over so many requests; 4 % where nothing is known of the law of service
waits    on a busy machine requests wait for a processor besides, at one depth longer than at another: Z is uneven by
         some times the lateness that a sleeping program had meanwhile, and throughput by as much as Z matters to it

The interval of c takes nothing of that: it holds every c whose best curve is as likely as the best of all, up to the
factor that chi-squared of one degree of freedom allows (profile likelihood). Those of S and Z span what each such c
leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrate.inference.mixture import quantiles
from calibrate.inference.parameters import Array, Mask
from calibrate.models.closed_structures import Queues, busy_servers, formula_error
from calibrate.points import Points

ERROR_MEDIAN, ERROR_OF_UNKNOWN_LAW, ERROR_LOG_SD = 0.02, 0.04, 0.7
UNKNOWN_SCV = (0.1, 0.5, 1.0, 2.0)
"""Laws that are averaged over where no latencies of lone requests were kept."""
MOST_SCV = 10.0
BEYOND = 8.0
"""Peaks up to so many times what was seen are thought of."""
HOST_NOISE = 0.08
"""By about how much of a lone request's latency the mean delay may exceed the shortest, as hosts are uneven."""
WAITS = 2.5
"""How many times as long as a sleeper a request waits for a processor: it is woken on its way, and on its way back."""
NOT_BELOW = 0.7
"""The crossing is no less than the greatest throughput over the greatest per request; this times it, as both vary."""
LEAST_RATIO = 1e-9
"""A delay of no more than this times the service is none."""
_CROSSINGS, _ERRORS = 120, 7
_NEGLIGIBLE = 15.0


@dataclass(frozen=True)
class StructurePosterior:
    """The cells of the grid that count, all arrays (n,): how likely each is, and what it says.

    ``log_mass`` (posterior) and ``log_likelihood`` (without what is assumed of c and Z) have 0 at the best cell.
    ``service_s`` is the mean of log-normal values of relative spread ``width``; ``ratio`` is Z / S.
    """

    log_mass: Array
    log_likelihood: Array
    servers: Array
    own_queues: Array
    service_s: Array
    width: Array
    ratio: Array
    error: Array
    crossing: Array

    @cached_property
    def mass(self) -> Array:
        """The probability of each cell."""
        mass = np.exp(self.log_mass)
        return np.asarray(mass / mass.sum())

    def share(self, where: Mask) -> float:
        """The probability of the cells ``where`` (n,)."""
        return float(self.mass[where].sum())

    def likely_servers(self, level: float) -> list[int]:
        """Every number of servers that the points do not rule out at ``level``, ascending."""
        from scipy.special import chdtri

        allowed = -0.5 * float(chdtri(1, 1 - level))
        return sorted({int(c) for c in self.servers[self.log_likelihood >= allowed]})

    def best_servers(self) -> int:
        """The most probable number of servers."""
        counts = np.unique(self.servers)
        return int(counts[np.argmax([self.share(self.servers == c) for c in counts])])

    def random_share(self) -> float:
        """The probability of a queue each rather than one queue, where there are several servers; else 0."""
        several = self.share(self.servers > 1)
        return self.share(self.own_queues > 0) / several if several > 0 else 0.0

    def median_error(self) -> float:
        """The relative error of the model, median."""
        order = np.argsort(self.error)
        return float(self.error[order][np.searchsorted(np.cumsum(self.mass[order]), 0.5)])

    def times(self, where: Mask, shares: Sequence[float]) -> tuple[Array, Array]:
        """Quantiles (k,) at ``shares`` (k,) of S and of Z, in seconds, over the cells ``where`` (n,)."""
        weight = np.exp(self.log_mass[where] - self.log_mass[where].max())
        service, width = np.log(self.service_s[where])[:, None], self.width[where][:, None]
        delay = service + np.log(np.maximum(self.ratio[where], LEAST_RATIO))[:, None]
        s, z = (np.exp(quantiles(log, width, weight, shares))[:, 0] for log in (service, delay))
        return s, z


def structure_posterior(points: Points) -> StructurePosterior:
    """The posterior of the structure, from two points or more of a closed sweep."""
    lowest = max(1.0, float(points.throughput_per_s.max() * (points.load / points.throughput_per_s).min()))
    cells: list[Array] = []
    best, noise, waits = np.array([-np.inf, -np.inf]), _noise(points), _waits(points)
    for queues, servers, prior in _alternatives(lowest):
        crossing, widths = _crossings(servers, lowest)
        for scv, chance in laws(points, crossing / servers - 1):
            found = _cells(points, noise, waits, queues, servers, crossing, scv, prior + chance + np.log(widths))
            best = np.maximum(best, found[:2].max(axis=1))
            cells.append(found[:, (found[:2] > best[:, None] - _NEGLIGIBLE).any(axis=0)])
    kept = np.concatenate(cells, axis=1)
    kept[:2] -= best[:, None]
    return StructurePosterior(*kept[:, (kept[:2] > -_NEGLIGIBLE).any(axis=0)])


def _crossings(servers: int, lowest: float) -> tuple[Array, Array]:
    """Crossings c / (1 - share) to try (k,), denser near the least possible, and the prior mass that each stands for.

    The share of Z follows Beta(1/2, 3/2), whose density is share^-1/2 (1 - share)^1/2.
    """
    least = max(float(servers), NOT_BELOW * lowest)
    wide = np.log(max(BEYOND * lowest, 2 * servers) / least)
    step = (np.arange(_CROSSINGS) + 0.5) / _CROSSINGS
    crossing = least * np.exp(wide * step**2)
    share = 1 - servers / crossing
    return crossing, 2 * wide * step / _CROSSINGS * share**-0.5 * (1 - share) ** 1.5


def _cells(
    points: Points, noise: Array, waits: Array, queues: Queues, servers: int, crossing: Array, scv: Array, prior: Array
) -> Array:  # fmt: skip
    """Everything (9, n) that a ``StructurePosterior`` holds, of one number of servers and kind of queues."""
    ratio = crossing / servers - 1
    z = np.linspace(-2.5, 2.5, _ERRORS)
    errors = (ERROR_OF_UNKNOWN_LAW if points.alone is None else ERROR_MEDIAN) * np.exp(ERROR_LOG_SD * z)
    busy = busy_servers(queues, servers, scv, crossing, points.load)
    lost = _lost(np.log(crossing), np.log(busy), np.log1p(waits)) if waits.any() else 0.0
    fixed = noise**2 + formula_error(queues, scv)[None, :, None] ** 2 + lost**2
    weights = 1 / (errors[:, None, None] ** 2 + fixed)  # (e, k, m)
    total = weights.sum(axis=2)
    off = (np.log(points.throughput_per_s) - np.log(busy))[None, :, :]  # -log S, and what is missed
    centre = (weights * off).sum(axis=2) / total
    misfit = (weights * (off - centre[:, :, None]) ** 2).sum(axis=2)
    service = np.exp(-centre)
    likelihood = -0.5 * misfit + 0.5 * np.log(weights).sum(axis=2) - 0.5 * np.log(total) - 0.5 * z[:, None] ** 2
    likelihood = likelihood + _of_delay(points, ratio * service)
    mass = likelihood + prior
    rows = (
        mass, likelihood, float(servers), float(queues == "random"), service, 1 / np.sqrt(total), ratio,
        errors[:, None], crossing,
    )  # fmt: skip
    return np.stack([np.broadcast_to(row, mass.shape) for row in rows]).reshape(len(rows), -1)


def _alternatives(lowest: float) -> Iterator[tuple[Queues, int, float]]:
    """Queues, servers, log prior. Every whole number to 16, then one in fifteen percent."""
    most = max(2, round(BEYOND * lowest))
    counts = sorted({*range(1, 17), *(round(16 * 1.1**i) for i in range(1, 200))})
    kept = [c for c in counts if c <= most]
    for c, after in zip(kept, [*kept[1:], kept[-1] + 1], strict=True):
        prior = float(np.log(np.log(after / c)))
        yield "shared", c, prior
        if c > 1:
            yield "random", c, prior


def laws(points: Points, ratio: Array) -> Iterator[tuple[Array, float]]:
    """The scv of service (k,), for each ``ratio`` Z / S (k,), and its log probability.

    That of lone requests is less, by the constant part of their latency.
    """
    if points.alone is not None:
        yield np.clip(points.alone.scv * (1 + ratio) ** 2, 1e-6, MOST_SCV), 0.0
        return
    for scv in UNKNOWN_SCV:
        yield np.full_like(ratio, scv), -float(np.log(len(UNKNOWN_SCV)))


def _noise(points: Points) -> Array:
    """Relative standard errors (m,): of repeats, but no less than a mean over so many requests has."""
    known = points.noise()[0]
    if points.alone is None or points.requests is None:
        return known
    return np.maximum(known, np.sqrt(points.alone.scv / np.maximum(points.requests, 1.0)))


def _waits(points: Points) -> Array:
    """By how much a request's wait for a processor makes latencies uneven, relative to the shortest (m,)."""
    if points.woken_late_s is None:
        return np.zeros(len(points))
    return np.asarray(WAITS * points.woken_late_s / points.response_time_s[0])


def _lost(crossing: Array, busy: Array, longer: Array) -> Array:
    """The log throughput (k, m) lost at each load where lone requests, and with them the crossing, are ``longer`` (m,).

    All are logarithms: ``crossing`` (k,), ``busy`` (k, m). Past the knee nothing is lost, below it all of it.
    """
    return np.column_stack([
        column - np.interp(crossing + more, crossing, column) for column, more in zip(busy.T, longer, strict=True)
    ])  # fmt: skip


def _of_delay(points: Points, delay: Array) -> Array:
    """Log likelihood of delays: none is far above the shortest latency, nor far from one that was measured."""
    found = np.zeros_like(delay)
    wait_s = float(_waits(points)[0] * points.response_time_s[0])
    if points.alone is not None:
        from scipy.special import log_ndtr

        spread = np.hypot(HOST_NOISE * points.response_time_s[0], wait_s)
        found += log_ndtr((points.alone.shortest_s - delay) / spread)
    if points.delay is not None:
        mean, error = points.delay
        found += -0.5 * ((delay - mean) / np.hypot(error, wait_s)) ** 2
    return found
