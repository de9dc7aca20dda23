"""A device calibrated under thinking users or arrivals: the curve X(n) of requests present, seen through its chain.

The parameters are those of the p-norm with onset. Each possible curve gives the response time at every measured load
by the chain of :mod:`qsim.analytic.any_load`. Where the curve is wrong by a share e around a load, ln R is wrong by
s e, s being the load's sensitivity, and the mean of n requests that queue has a relative error of about 2 s / sqrt(n):

    ln R ~ N(ln R of the chain, noise^2 + s^2 (misfit^2 + 4 / n))

which gives little weight to points near the peak. The spread of service times acts on waiting: it is that of lone
requests where known, more where the curve bends softly, else a parameter, ``scv``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrate.inference.parameters import Array, MisfitProcess, Parameter
from calibrate.inference.tables import Refining, Stratum, table_by_likelihood
from calibrate.inference.weights import SPREAD, Weights
from calibrate.models.curves import SHARP, TOLERANCE, KneePoint, OnsetPNorm
from calibrate.models.open_models import highest_of
from calibrate.points import Points
from measure.auditing.curve_shape import BUSY, rise
from measure.loads import ArrivalRate, Clients, ClosedLoad, Depth, Load, Outstanding
from qsim.analytic.any_load import COARSE, Curves, Present, nodes

SCV_LOG_SD = 1.0
"""The prior of the squared coefficient of variation of service, where nothing tells it: 1, uncertain by a factor of e.
"""

CONSTANT = 0.01
"""The squared coefficient of variation that stands for constant service times, a tenth of the prior."""

SCV = 4
"""The column of the scv."""

HEADROOM, HEADROOM_LOG_SD = 0.2, 2.0
"""The prior of the peak over the highest throughput, minus 1."""

LEAST_CROSSING = 1.05
"""The least prior of N*: at 1 itself all loads queue."""

WHOLE, WHOLE_LOG_SD = 1.01, 1.0
"""By how much fewer requests must be present than there are whole servers, as responses vary a little; and the prior
width of the headroom to their peak."""

BY_CHANCE = 0.9
"""Users may complete more than the device's peak by chance; an arrival rate above it would not be served."""

CAPACITY_ERROR = 0.03
"""The relative error of the peak where it was measured as a capacity."""

COUNT = 192
"""Nodes of a set: each costs a chain at every point."""

FEWER = Refining(wider=1.5, wider_by_power=1.0, rounds=3, enough=30.0, rows=SPREAD)
"""Sets are narrower than for other models, and so fewer: the weight by a power is wide itself. Rows cost chains."""

DEEPER, LEAST_TOP = 4.0, 64.0
"""The chain reaches to this many times the number present, and to this number at least."""

IMPOSSIBLE = -1e6
"""The log likelihood of a device that does not serve what was served."""

NOT_SERVED = 1e6
"""The response time of a rate that is not served, in lone requests."""

SHARES = np.linspace(0.02, 0.98, 25)
"""Shares of the peak among which the one of maximal power is sought."""


class AnyLoad(OnsetPNorm):
    """X(n) as the p-norm with onset, from points of ``load``; a row is N*, Xmax, p, onset and scv.

    ``curve`` and ``knee`` are over the values of ``load``, ``throughput`` is X(n) over the requests present.
    """

    name = "p-norm with onset, any load"
    assumption = "while n requests are present they are served at a rate X(n), a p-norm with onset, however they come"
    process = MisfitProcess(length=1.0, own=1.0)
    plain = None
    strata: Sequence[Stratum] = (
        Stratum(0.1, {"p": SHARP, "onset": 1.0, "scv": CONSTANT}),
        Stratum(0.2, {"p": SHARP, "onset": 1.0}),
        Stratum(0.3, {"onset": 1.0}),
        Stratum(0.4),
    )
    is_formula = False

    def __init__(self, load: ArrivalRate | ClosedLoad | None = None) -> None:
        self.load = Depth() if load is None else load
        open_knee = "tangent: the rate of maximal power X / R"
        closed_knee = "N* = (R1 + Z) Xpeak" if self.load.thinking_s else "N* = R1 Xpeak"
        self.knee_definition = open_knee if isinstance(self.load, ArrivalRate) else closed_knee

    def under(self, load: Load) -> AnyLoad:
        return AnyLoad(load) if isinstance(load, ArrivalRate | ClosedLoad) else self

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        if not len(loads):  # without points, the widths of the priors alone
            loads = throughput = response = np.ones(1)
        crossing, _, *shape = super().parameters(loads, throughput, response)
        first = max(float(response.min() * throughput.max()) * (1 + HEADROOM), LEAST_CROSSING)
        headroom = Parameter(*_HEADROOM, HEADROOM, HEADROOM_LOG_SD)
        scv = Parameter("scv", "", 1e-3, 100.0, 1.0, SCV_LOG_SD)
        return (replace(crossing, prior_median=first), headroom, *shape, scv)

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        kinds = (points, *points.also)
        columns = ("load", "throughput_per_s", "response_time_s")
        first, headroom, *others = self.parameters(*(np.concatenate([getattr(p, c) for p in kinds]) for c in columns))
        seen = [_Seen.of(p, self.misfit.sizes()[0]) for p in kinds]
        top, most = max(kind.top for kind in seen), max(kind.most for kind in seen)
        if (capacity := points.capacity_per_s) is not None:
            most = min(most, BY_CHANCE * capacity)
            headroom = _headroom_to(capacity, most, CAPACITY_ERROR)
        elif peak is not None:
            headroom = _headroom_to(peak, most, TOLERANCE)
        elif (whole := _whole_servers(kinds)) is not None:
            first, headroom = replace(first, prior_median=whole[0]), Parameter(*_HEADROOM, whole[1], WHOLE_LOG_SD)
        alone = [p.closed.alone for p in kinds if p.closed.alone is not None]
        known = {"scv": alone[0].scv} if alone else {}
        strata = [Stratum(one.share, {**one.fixed, **known}) for one in self.strata]

        def as_peak(values: Array) -> Array:  # Xmax is above the highest throughput, by a headroom
            return np.column_stack([values[:, :1], most * (1 + values[:, 1:2]), values[:, 2:]])

        def scv(values: Array, curves: Curves) -> Array:
            return curves.service_scv(alone[0].scv) if alone else values[:, SCV]

        def log_likelihood(values: Array) -> Array:
            curves = self.curves(as_peak(values), top)
            each = [kind.log_likelihood(curves, scv(values, curves)) for kind in seen]
            return np.asarray(np.sum(each, axis=0))

        table = table_by_likelihood((first, headroom, *others), strata, log_likelihood, self.misfit, COUNT, FEWER)
        found = as_peak(table.values)
        found[:, SCV] = scv(found, self.curves(found, top))
        return replace(table, values=found)

    def curves(self, values: Array, top: float) -> Curves:
        """X(n) of each row, to ``top`` requests present."""
        n = nodes(top, COARSE)
        return Curves(n, self.log_throughput(values, n), spacing=COARSE)

    def _present(self, curves: Curves, load: float, values: Array) -> Present:
        return self.load.present(curves, float(load), values[:, SCV])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "N*": ("", self._crossing(values)), "scv": ("", values[:, SCV])}

    def _crossing(self, values: Array) -> Array:
        """(R1 + Z) Xpeak (n,); under arrivals that of requests present, R1 Xpeak."""
        return np.asarray(np.maximum((self.lone(values) + self.load.thinking_s) * self.peak(values), 1.0))

    def knee_load(self, values: Array) -> Array:
        return self.knee(values).load if isinstance(self.load, ArrivalRate) else self._crossing(values)

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        if isinstance(self.load, Depth | Clients) and not self.load.thinking_s:
            return super().curve(values, loads)
        slowest = NOT_SERVED * self.lone(values)
        curves = self.curves(values, self._top(values))
        found = [self._present(curves, load, values) for load in loads]
        response = np.array([np.minimum(one.response, slowest) for one in found]).T
        return np.array([one.throughput for one in found]).T, response

    def _top(self, values: Array) -> float:
        return max(LEAST_TOP, 2 * DEEPER * float(np.median(values[:, 0])))

    def knee(self, values: Array) -> KneePoint:
        if not isinstance(self.load, ArrivalRate):
            load = self._crossing(values)
            there = [self.curve(row[None], np.array([n])) for row, n in zip(values, load, strict=True)]
            return KneePoint(load, *(np.array([one[k][0, 0] for one in there]) for k in (0, 1)))
        peak = self.peak(values)
        curves = self.curves(values, self._top(values))
        by_peak = replace(curves, log_rate=curves.log_rate - np.log(peak)[:, None])
        found = self.load.present(by_peak, SHARES[:, None], values[:, SCV]).response.T
        share, highest = highest_of(SHARES, np.log(SHARES) - np.log(np.minimum(found, NOT_SERVED)))
        return KneePoint(share * peak, share * peak, share / np.exp(highest) / peak)


_HEADROOM: tuple[str, str, float, float] = ("headroom", "", 1e-6, 1e6)
"""The name, unit and bounds of the peak over the highest throughput, minus 1."""


def _headroom_to(peak: float, most: float, error: float) -> Parameter:
    """The headroom above ``most`` to a known ``peak`` with a relative ``error``."""
    return Parameter(*_HEADROOM, peak / most - 1, error * peak / (peak - most))


def _whole_servers(kinds: Sequence[Points]) -> tuple[float, float] | None:
    """N* and the headroom of the fewest whole servers that hold the requests present; None where any show a queue."""
    load, sent, response = kinds[0].load_type, kinds[0].throughput_per_s, kinds[0].response_time_s
    if len(kinds) > 1 or not isinstance(load, ArrivalRate) or load.gap_scv or rise(response) >= BUSY:
        return None
    present = float(np.median(response) * sent.max())
    servers = math.ceil(WHOLE * present)
    return max(servers, LEAST_CROSSING), servers / present - 1


@dataclass(frozen=True)
class _Seen:
    """Measured log responses (m,) at the values ``sent`` of a load, with squares of their noise and error of sampling.

    ``sizes`` (k,) are those of the misfit; the chain reaches to ``top`` present, and the peak is above ``most``.
    """

    load: ArrivalRate | ClosedLoad
    sent: list[float]
    log_response: Array
    noise: Array
    sampling: Array
    sizes: Array
    top: float
    most: float

    @classmethod
    def of(cls, points: Points, sizes: Array) -> _Seen:
        sent, load = points.load, points.load_type
        if not isinstance(load, ArrivalRate | ClosedLoad):
            load = Depth()
        if isinstance(load, Outstanding):  # its rate is X, and its number present is no setting
            load, sent = ArrivalRate(), points.throughput_per_s
        spread = np.nan_to_num(points.response_spread, nan=0.0) ** 2 / np.maximum(points.repeats, 1)
        requests = np.full(len(points), np.inf) if points.requests is None else points.requests
        present = float((points.throughput_per_s * points.response_time_s).max())
        most = float(points.throughput_per_s.max()) * (1.0 if isinstance(load, ArrivalRate) else BY_CHANCE)
        sampling, top = 4 / np.maximum(requests, 1.0), max(DEEPER * present, LEAST_TOP)
        return cls(load, sent.tolist(), np.log(points.response_time_s), spread, sampling, sizes, top, most)

    def log_likelihood(self, curves: Curves, scv: Array) -> Array:
        """(k, n) of n devices of these ``curves`` whose service times have the ``scv`` (n,)."""
        if isinstance(self.load, ArrivalRate):  # all rates in one chain
            chained = [self.load.present(curves, np.array(self.sent)[:, None], scv)]
        else:
            chained = [self.load.present(curves, n, scv) for n in self.sent]
        response, sensitivity = (np.vstack([getattr(one, c) for one in chained]) for c in ("response", "sensitivity"))
        served = np.isfinite(response)
        missed = self.log_response[:, None] - np.log(np.where(served, response, 1.0))
        moved = np.where(served, sensitivity, 1.0) ** 2
        error = self.sizes[:, None] ** 2 + self.sampling[:, None, None]
        variance = self.noise[:, None, None] + moved[:, None] * error
        found = 0.5 * missed[:, None] ** 2 / variance + 0.5 * np.log(variance)
        return np.asarray(-np.where(served[:, None], found, -IMPOSSIBLE).sum(axis=0))
