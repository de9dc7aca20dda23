"""The structure behind a closed sweep, from its points: servers c, mean service S, delay Z, and kind of queues.

Z is the part of a request's latency that keeps no server busy (the host, the link). A lone request takes Z + S, and the
peak is c / S in any case; so the means of shallow and deep points determine N* = c (1 + Z / S), and only the bend
between them separates c from Z. Its sharpness depends on the variability of service, which the latencies of lone
requests (depth 1) show. Constant times have the sharpest possible bend for any c: then only knowledge of Z determines
c. And no delay is much longer than the shortest latency: where lone requests vary, that bound is enough.

The posterior is computed on a grid, without sampling: every c, Z / S, both kinds of queues, the relative error of the
model; S, which only scales the curve, is integrated in closed form. The priors are

c        proportional to 1/c: each doubling is equally likely
Z        its share of Z + S follows Beta(1/2, 3/2): from 0 to 1, with small shares more likely
queues   one queue and a queue each are equally likely
error    2 %, within a factor of 2 with probability 2/3 (log-normal), in addition to the noise of repeats or, without
         repeats, that of a mean over the number of requests; 4 % where the law of service is unknown
waits    on a busy machine requests also wait for a processor, longer at some depths than at others: Z varies by a
         multiple of the measured wakeup delay, and throughput in proportion to Z's part in it

The interval of c uses none of these priors: it holds every c whose best curve is as likely as the best of all, within
the factor of chi-squared with one degree of freedom (profile likelihood). Those of S and Z span the values that such
c allow.

In units of S a structure's throughput is a number of busy servers, B(N): the bound min(N / (1 + z), c) with z = Z / S,
times exp(-loss). The loss is due to requests that wait for each other below the knee, and it depends on the law of
service through its squared coefficient of variation, scv:

exponential service    exact: the machine repairman for one queue, mean value analysis for a queue each
other laws, one queue  loss of the exponential x scv^0.3 below scv 1 and x scv^0.1 above; below 0.1 it
                       falls as scv^0.55, so that constant times have none
a queue each           loss x ((1 + scv) / 2)^q, q = 0.9 exp(-a loss / log(2 - 1/c)), a = 0.8 below scv 1 and 1.1 above:
                       near the peak about the factor of heavy traffic (Kingman 1962), and weaker for greater loss,
                       which is greatest, log(2 - 1/c), at the crossing

The exponents were set by simulating gamma, lognormal and hyperexponential laws with scv from 0 to 4, c from 1 to 32, z
from 0 to 3. There the error of X has a median of 0.3 % and a maximum of 5 % with one queue; with a queue each a median
of 1 % (1.8 % at scv 4) and a maximum of 8 %.

``ServersAndDelay`` is the posterior as a device model, which what-if questions change; ``servers_and_think`` gives c, S
and Z as parameters with intervals, and the measurement that would separate them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np

from calibrate.inference.parameters import Array, Estimate, IntArray, Mask, Parameter
from calibrate.inference.weights import Weights, quantiles, reaching, reaching_rows
from calibrate.models.curves import ClosedModel
from calibrate.points import Points
from measure.loads import ClosedLoad, CountedLoad
from measure.repeats import first_highest
from measure.units import plain_number

Queues = Literal["shared", "random"]

ERROR_MEDIAN, ERROR_OF_UNKNOWN_LAW, ERROR_LOG_SD = 0.02, 0.04, 0.7
UNKNOWN_SCV = (0.1, 0.5, 1.0, 2.0)
"""Values of scv that are averaged over where the latencies of lone requests are unknown."""
MOST_SCV = 10.0
KINDS: tuple[Queues, ...] = ("shared", "random")
BEYOND = 8.0
"""Peaks up to this multiple of the highest throughput are considered."""
HOST_NOISE = 0.08
"""Share of a lone request's latency by which the mean delay may exceed the shortest latency, as hosts vary."""
WAITS = 2.5
"""A request's wait for a processor, in measured wakeup delays: it waits on its way, and on its way back."""
NOT_BELOW = 0.7
"""The crossing is at least this times the greatest throughput over the greatest throughput per request (noise)."""
LEAST_RATIO = 1e-9
"""Z / S of a delay of zero, so that it has a logarithm."""
_CROSSINGS, _ERRORS, _KNOTS = 120, 7, 14
_STEPS = (np.arange(_CROSSINGS) + 0.5) / _CROSSINGS
_NEGLIGIBLE = 15.0
_AT_ONCE = 4_000_000
"""Crossings times populations computed at once, to limit memory."""


@dataclass(frozen=True)
class StructurePosterior:
    """The cells of the grid that are not negligible, all arrays (n,): their probabilities and parameters.

    ``log_mass`` (posterior) and ``log_likelihood`` (without the priors of c and Z) are 0 at the best cell.
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
    scv: Array

    @cached_property
    def mass(self) -> Array:
        """The probability of each cell."""
        mass = np.exp(self.log_mass)
        return np.asarray(mass / mass.sum())

    def share(self, where: Mask) -> float:
        """The probability of the cells ``where`` (n,)."""
        return float(self.mass[where].sum())

    def likely_servers(self, level: float) -> list[int]:
        """Numbers of servers that the points do not rule out at ``level``, ascending."""
        allowed = -0.5 * NormalDist().inv_cdf(0.5 + level / 2) ** 2
        return [int(c) for c in np.unique(self.servers[self.log_likelihood >= allowed])]

    def rows_of(self, servers: Sequence[int]) -> list[IntArray]:
        """The cells of each number of ``servers``, in their order."""
        order = np.argsort(self.servers, kind="stable")
        first, end = (np.searchsorted(self.servers, servers, side, order) for side in ("left", "right"))
        return [order[i:j] for i, j in zip(first, end, strict=True)]

    def best_servers(self) -> int:
        """The most probable number of servers."""
        return int(np.bincount(self.servers.astype(int), self.mass).argmax())

    @cached_property
    def median_error(self) -> float:
        """The relative error of the model, median."""
        order = np.argsort(self.error, kind="stable")
        return float(self.error[order][reaching_rows(self.mass[order], np.array(0.5))])

    def times(self, rows: IntArray, shares: Sequence[float]) -> tuple[Array, Array]:
        """Quantiles (k,) at ``shares`` (k,) of S and of Z, in seconds, over the cells ``rows`` (n,)."""
        weight = np.exp(self.log_mass[rows] - self.log_mass[rows].max())
        service, width = np.log(self.service_s[rows]), self.width[rows]
        delay = service + np.log(np.maximum(self.ratio[rows], LEAST_RATIO))
        s, z = np.exp(quantiles(np.stack([service, delay], axis=1), np.stack([width, width], axis=1), weight, shares)).T
        return s, z


@lru_cache(maxsize=16)
def structure_posterior(points: Points, servers: int | None) -> StructurePosterior:
    """The posterior of the structure, from two points or more of a closed sweep; ``servers`` where c is known."""
    lowest = max(1.0, float(points.throughput_per_s.max() * (points.load / points.throughput_per_s).min()))
    cells = np.concatenate([rows for queues in KINDS for rows in _of_kind(points, queues, lowest, servers)], axis=1)
    cells[:2] -= cells[:2].max(axis=1, keepdims=True)
    return StructurePosterior(*cells[:, (cells[:2] > -_NEGLIGIBLE).any(axis=0)])


def _of_kind(points: Points, queues: Queues, lowest: float, known: int | None) -> Iterator[Array]:
    """The cells (10, n) with one kind of queues, of each law of service."""
    servers, log_prior = _numbers(queues, lowest)
    if known is not None:
        servers, log_prior = np.array([known]), np.zeros(1)
        if known == 1 and queues == "random":
            return
    crossing, widths = _crossings(servers, lowest)
    loss = _losses(queues, servers, crossing, points.load)
    prior = (log_prior[:, None] + np.log(widths)).ravel()
    servers, crossing = np.repeat(servers, _CROSSINGS), crossing.ravel()
    bound = np.log(servers[:, None] * np.minimum(points.load / crossing[:, None], 1.0))
    for scv, chance in laws(points, crossing / servers - 1):
        log_busy = bound - of_law(queues, servers[:, None], scv[:, None], loss)
        yield _cells(points, queues, servers, crossing, log_busy, scv, prior + chance)


def _numbers(queues: Queues, lowest: float) -> tuple[IntArray, Array]:
    """Numbers of servers (a,) to try, every one to 16, then one in ten percent; and their log prior (a,)."""
    most = max(2, round(BEYOND * lowest))
    counts = np.array(sorted({*range(1, 17), *(round(16 * 1.1**i) for i in range(1, 200))}))
    counts = counts[counts <= most]
    prior = np.log(np.log(np.append(counts[1:], counts[-1] + 1) / counts))
    first = 0 if queues == "shared" else 1  # of one server the queue is one queue
    return counts[first:], prior[first:]


def _crossings(servers: IntArray, lowest: float) -> tuple[Array, Array]:
    """Crossings c / (1 - share) to try (a, k) for each of ``servers`` (a,), and the prior mass that each stands for."""
    least = np.maximum(servers, NOT_BELOW * lowest)[:, None]
    wide = np.log(np.maximum(BEYOND * lowest, 2 * servers)[:, None] / least)
    crossing = least * np.exp(wide * _STEPS**2)
    share = 1 - servers[:, None] / crossing
    return crossing, 2 * wide * _STEPS / _CROSSINGS * share**-0.5 * (1 - share) ** 1.5


def _losses(queues: Queues, servers: IntArray, crossing: Array, loads: Array) -> Array:
    """The loss (a k, m) with exponential service at ``crossing`` (a, k), interpolated between some of each row."""
    ends = np.log(crossing[:, [0, -1]])
    knots = np.exp(ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * np.linspace(0.0, 1.0, _KNOTS))
    known = exponential_loss(queues, np.repeat(servers, _KNOTS), knots.ravel(), loads).reshape(len(servers), _KNOTS, -1)
    place = (_STEPS**2 - _STEPS[0] ** 2) / (_STEPS[-1] ** 2 - _STEPS[0] ** 2) * (_KNOTS - 1)
    hat = np.maximum(1 - np.abs(place[:, None] - np.arange(_KNOTS)), 0.0)
    return np.asarray((hat @ known).reshape(crossing.size, len(loads)))


def _cells(
    points: Points, queues: Queues, servers: IntArray, crossing: Array, log_busy: Array, scv: Array, prior: Array
) -> Array:
    """Everything (10, n) that a ``StructurePosterior`` holds, of r servers, crossings and laws, where it counts."""
    ratio = crossing / servers - 1
    z = np.linspace(-2.5, 2.5, _ERRORS)[:, None]
    errors = (ERROR_OF_UNKNOWN_LAW if points.closed.alone is None else ERROR_MEDIAN) * np.exp(ERROR_LOG_SD * z)
    weights = 1 / (errors[:, :, None] ** 2 + _variance(points, queues, crossing, log_busy, scv))  # (e, r or 1, m)
    total = weights.sum(axis=2)
    off = np.log(points.throughput_per_s) - log_busy  # -log S, and what is missed
    middle = off.mean(axis=1)
    off -= middle[:, None]
    centre = np.einsum("erm,rm->er", weights, off) / total
    misfit = np.maximum(np.einsum("erm,rm->er", weights, off**2) - total * centre**2, 0.0)
    likelihood = 0.5 * np.log(weights).sum(axis=2) - 0.5 * np.log(total) - 0.5 * z**2 - 0.5 * misfit
    service = np.exp(-centre - middle)
    likelihood = likelihood + _of_delay(points, ratio * service)
    mass = likelihood + prior
    counts = (mass > mass.max() - _NEGLIGIBLE) | (likelihood > likelihood.max() - _NEGLIGIBLE)
    own, width = float(queues == "random"), 1 / np.sqrt(total)
    rows = (mass, likelihood, servers, own, service, width, ratio, errors, crossing, scv)
    r, e = np.nonzero(counts.T)  # the errors of a structure together
    return np.stack([np.broadcast_to(row, mass.shape)[e, r] for row in rows])


def _variance(points: Points, queues: Queues, crossing: Array, log_busy: Array, scv: Array) -> Array:
    """Relative variances (r, m) without the model's error; (1, m) where all rows have the same."""
    of_formula = formula_error(queues, scv)[:, None] ** 2
    if (of_formula == of_formula[0]).all():
        of_formula = of_formula[:1]
    variance = _noise(points) ** 2 + of_formula
    if (waits := _waits(points)).any():
        rows = (len(crossing) // _CROSSINGS, _CROSSINGS)
        longer, x = np.log1p(waits), np.log(crossing).reshape(rows)
        by_number = zip(x, log_busy.reshape(*rows, -1), strict=True)
        variance = variance + np.vstack([_lost(at, busy, longer) for at, busy in by_number]) ** 2
    return np.asarray(variance)


def laws(points: Points, ratio: Array) -> Iterator[tuple[Array, float]]:
    """The scv of service (k,), for each ``ratio`` Z / S (k,), and its log probability.

    That of lone requests is less, by the constant part of their latency.
    """
    if points.closed.alone is not None:
        yield np.clip(points.closed.alone.scv * (1 + ratio) ** 2, 1e-6, MOST_SCV), 0.0
        return
    for scv in UNKNOWN_SCV:
        yield np.full_like(ratio, scv), -float(np.log(len(UNKNOWN_SCV)))


def _noise(points: Points) -> Array:
    """Relative standard errors (m,): of repeats or sampling, and what an unsteady run changed by meanwhile."""
    known = points.noise()[0]
    if points.closed.alone is not None and points.requests is not None:
        known = np.maximum(known, np.sqrt(points.closed.alone.scv / np.maximum(points.requests, 1.0)))
    return known if points.closed.unsteady is None else np.hypot(known, np.nan_to_num(points.closed.unsteady))


def _waits(points: Points) -> Array:
    """Variation of latencies by waits for a processor, relative to the shortest latency (m,)."""
    if points.closed.woken_late_s is None:
        return np.zeros(len(points))
    return np.asarray(WAITS * points.closed.woken_late_s / points.response_time_s[0])


def _lost(crossing: Array, busy: Array, longer: Array) -> Array:
    """The log throughput (k, m) lost at each load where lone requests, and with them the crossing, are ``longer``."""
    return np.column_stack(
        [column - np.interp(crossing + more, crossing, column) for column, more in zip(busy.T, longer, strict=True)]
    )


def _of_delay(points: Points, delay: Array) -> Array:
    """Log likelihood of delays, which falls above the shortest latency."""
    if points.closed.alone is None:
        return np.zeros_like(delay)
    from scipy.special import log_ndtr

    spread = points.response_time_s[0] * np.hypot(HOST_NOISE, _waits(points)[0])
    return np.asarray(log_ndtr((points.closed.alone.shortest_s - delay) / spread))


def busy_servers(queues: Queues, servers: int | IntArray, scv: Array, crossing: Array, loads: Array) -> Array:
    """B (k, m): servers busy on average at ``loads`` (m,), where the asymptotes cross at ``crossing`` (k,) >= servers.

    The crossing is c (1 + z), ``scv`` (k,) that of service, ``servers`` one number or one for each crossing (k,).
    """
    each = np.broadcast_to(np.asarray(servers), crossing.shape)[:, None]
    loss = of_law(queues, each, scv[:, None], exponential_loss(queues, servers, crossing, loads))
    return np.asarray(each * np.minimum(loads / crossing[:, None], 1.0) * np.exp(-loss))


def exponential_loss(queues: Queues, servers: int | IntArray, crossing: Array, loads: Array) -> Array:
    """The loss (k, m) with exponential service, at ``crossing`` (k,); ``servers`` is one number or (k,)."""
    from qsim.analytic.repairman import one_queue_throughputs, own_queues_throughputs

    exact = one_queue_throughputs if queues == "shared" else own_queues_throughputs
    each = np.broadcast_to(np.asarray(servers), crossing.shape)
    # Beyond these loads no server is ever idle, or with a queue each less than a thousandth is lost.
    most = (crossing + 8 * crossing**0.5).astype(int) + 8 if queues == "shared" else (1000 * crossing).astype(int)
    wanted = np.minimum(loads, most.max())
    whole = np.unique(np.concatenate([np.floor(wanted), np.ceil(wanted)]).clip(min=1)).astype(np.int64)
    parts = max(1, int(len(crossing) * whole[-1] / _AT_ONCE))
    loss = np.empty((len(crossing), len(whole)))
    for rows in np.array_split(np.arange(len(crossing)), parts):
        ratio = crossing[rows] / each[rows]
        bound = np.minimum(whole / ratio[:, None], each[rows, None])
        loss[rows] = np.log(bound / exact(whole, ratio - 1.0, 1.0, each[rows]))
    upper = np.searchsorted(whole, wanted).clip(min=1, max=max(1, len(whole) - 1)) % len(whole)
    lower = np.maximum(upper - 1, 0)
    share = ((wanted - whole[lower]) / np.maximum(whole[upper] - whole[lower], 1)).clip(0.0, 1.0)
    return np.asarray(np.maximum((1 - share) * loss[:, lower] + share * loss[:, upper], 0.0))


def of_law(queues: Queues, servers: int | IntArray, scv: Array, loss: Array) -> Array:
    """The loss with service of ``scv``, from that of exponential service; all arrays must broadcast together."""
    little = np.where(scv < 0.1, 0.5 * (scv / 0.1) ** 0.55, scv ** np.where(scv < 1, 0.3, 0.1))
    one_queue = loss * little
    if queues == "shared":
        return np.asarray(one_queue)
    share = loss / np.log(2 - 1 / np.maximum(servers, 2))
    own = loss * ((1 + scv) / 2) ** (0.9 * np.exp(-np.where(scv < 1, 0.8, 1.1) * share))
    return np.asarray(np.where(np.asarray(servers) > 1, own, one_queue))


def formula_error(queues: Queues, scv: Array) -> Array:
    """Relative error (k,) of B against simulation: negligible except for a queue each."""
    return np.asarray((0.03 if queues == "random" else 0.0) * np.abs(np.log((1 + scv) / 2)))


SERVICE = 1
"""The column of S, by which alone the curve of a row scales."""


class ServersAndDelay(ClosedModel):
    """``c, S, Z / S, own queues (0 or 1), scv`` a row: a possible device; ``servers`` is c where it is known."""

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
        servers, service, ratio = values[:, :3].T
        return {**super().report(values), "c": ("", servers), "S": ("s", service), "Z": ("s", service * ratio)}

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
        return _unknown(
            f"the asymptotes cross at {crossing:.3g} requests: more servers than are tried, {MOST_CROSSING:g}"
        )
    points = few_points(points)
    found = structure_posterior(points, None)
    if (missed := found.median_error) > UNLIKELY:
        return _unknown(
            f"no number of servers explains these points: the best misses them by about {100 * missed:.2g} %"
        )
    likely, notes = found.likely_servers(level), ("", "", "")
    low, high = likely[0], likely[-1]
    if not (known := high <= PINNED * low):
        why = f"any number of servers from {low} to {high} explains these points; {pins(points, found, likely)}"
        notes = (why, *("depends on c, which these points do not determine",) * 2)
    tails = (0.5 * (1 - level), 0.5 * (1 + level))
    times = np.array([found.times(rows, tails) for rows in found.rows_of(likely)])  # (likely, S and Z, ends)
    (s_low, z_low), (s_high, z_high) = times[:, :, 0].min(axis=0).tolist(), times[:, :, 1].max(axis=0).tolist()
    ends = ((float(low), float(high)), (s_low, s_high), (reaching(z_low, z_high, 0.0, level), z_high))
    best = found.best_servers()
    service, delay = (float(v[0]) for v in found.times(np.flatnonzero(found.servers == best), (0.5,)))
    middle = (float(best), service, delay) if known else (None, None, None)
    each = zip(UNITS.items(), middle, ends, notes, strict=True)
    return {name: Estimate(at, *between, known, unit, note) for (name, unit), at, between, note in each}


def _unknown(why: str) -> dict[str, Estimate]:
    return {name: Estimate(None, None, None, False, unit, why) for name, unit in UNITS.items()}


def few_points(points: Points) -> Points:
    """The points, thinned to ``MOST_POINTS``."""
    if len(points) <= MOST_POINTS:
        return points
    steps = np.geomspace(points.load[0], points.load[-1], MOST_POINTS)
    return points.at(np.isin(np.arange(len(points)), np.searchsorted(points.load, steps * (1 - 1e-9))))


def pins(points: Points, found: StructurePosterior, likely: list[int]) -> str:
    """The measurement that would decide between the ``likely`` numbers of servers, in words: a depth, if any does."""
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
