"""Open device models: requests arrive at a rate lambda, and the load is that measured rate.

One station with c servers, mean service S and peak Xmax = c / S, at rho = lambda / Xmax:

    W = S + V Q(c, rho) / Xmax,     V = (1 + cs2) / 2

where Q is the mean queue of M/M/c in units of the throughput's time (Wq Xmax) and cs2 is the squared coefficient of
variation of service (1 for exponential times). It is exact for M/G/1 (Pollaczek 1930, Khinchine 1932: W = S +
rho S (1 + cs2) / (2 (1 - rho))), and else the approximation of Lee and Longton (1959). c need not be whole: Q is
Sakasegawa's (1977) rho^(sqrt(2 (c + 1)) - 1) / (1 - rho), exact for one server.

Where every server has a queue of its own and requests are routed at random, as blocks are spread over the dies of a
flash drive, each is an M/G/1 at the same rho: Q = c rho / (1 - rho), the rest as above. That is the open law

    W = L0 + a rho / (1 - rho),     L0 = S, a = V S,     with its knee at rho* = 1 / (1 + sqrt(a / L0))

The parameters are c >= 1 and Xmax, so that S = c / Xmax needs no constraint of its own; simpler models fix some.

A device that sleeps between arrivals has a latency that falls with the rate before it rises. An idle device is
switched off after a time t, and takes D to wake (power states of drives, of links, of processors). With Poisson
arrivals at rate lambda a request finds an idle device asleep with p = exp(-lambda t), and M/G/c is longer
by (Welch 1964, Operations Research 12; exact for one server and a constant D)

    p D (1 + lambda D / 2) / (1 + lambda p D)

No other open model falls with the rate, so points identify it. In closed sweeps a slow lone request is the onset of
:class:`~calibrate.models.curves.OnsetPNorm`; a term at depth 1 alone increased the error on 98 public curves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.tables import EVERYWHERE, table_of
from calibrate.inference.weights import Weights
from calibrate.models.curves import CurveModel, KneePoint
from calibrate.points import Points

NEARLY_ONE = 1 - 1e-6
"""Utilizations are limited to this: beyond it, predicted response times are just very large."""

HEADROOM_LOG_SD, SERVERS_LOG_SD = 2.0, 1.5
"""Log standard deviations of the priors of Xmax over the highest rate, minus 1, and of c: both wide."""

SCV_LOG_SD = 1.0
"""The prior of cs2: 1, uncertain by a factor of e; storage services lie between a constant and a few modes."""

_GRID = np.linspace(0.002, 0.998, 499)


class OpenModel(CurveModel):
    """W over lambda with ``servers`` and ``scv`` given, or fitted where None.

    With ``a_queue_each`` the servers share no queue.
    """

    knee_definition = "tangent: rho* of maximal power rho / W"
    misfit = MisfitPrior(median=0.03)
    process = MisfitProcess(length=1.0, own=1.0)
    """The misfit is independent between loads."""

    def __init__(
        self,
        name: str,
        assumption: str,
        *,
        servers: int | None = None,
        scv: float | None = None,
        a_queue_each: bool = False,
    ) -> None:
        self.name = name
        self.assumption = assumption
        self._servers = servers
        self._scv = scv
        self.a_queue_each = a_queue_each
        free = {"c": servers is None, "cs2": scv is None}
        self._free = ["Xmax", *(n for n, is_free in free.items() if is_free)]

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        most, least = float(throughput.max()), float(response.min())
        servers = 1.0 if self._servers is None else float(self._servers)
        peak = max(servers / least, 1.2 * most)
        made = {
            "Xmax": Parameter("headroom", "", 1 - NEARLY_ONE, 1e6, peak / most - 1, HEADROOM_LOG_SD),
            "c": Parameter("c", "", 1.0, 1e6, max(1.05, peak * least), SERVERS_LOG_SD),
            "cs2": Parameter("scv", "", 1e-3, 100.0, 1.0, SCV_LOG_SD),
        }
        return tuple(made[name] for name in self._free if name in made)

    def weights(self, points: Points, peak: float | None = None) -> Weights:
        most = float(points.throughput_per_s.max())

        def as_peak(values: Array) -> Array:  # Xmax is above the highest rate, by a headroom
            return np.column_stack([most * (1 + values[:, :1]), values[:, 1:]])

        table = table_of(
            self.parameters(points.load, points.throughput_per_s, points.response_time_s),
            EVERYWHERE,
            lambda values: np.log(self.curve(as_peak(values), points.load)[1]),
            Observed(points.load, np.log(points.response_time_s), points.noise()[1]),
            self.process,
            self.misfit,
            None,
        )
        return replace(table, values=as_peak(table.values))

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        given = self.given(values)
        labels = {
            "S": ("s", given["c"] / given["Xmax"]),
            "Xmax": ("1/s", given["Xmax"]),
            "c": ("", given["c"]),
            "scv": ("", given["cs2"]),
            "rho*": ("", self._best(values)[0]),
        }
        fixed = {"c": "c", "scv": "cs2"}
        return {k: v for k, v in labels.items() if fixed.get(k, "Xmax") in self._free}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        peak = self.given(values)["Xmax"][:, None]
        rho = loads[None, :] / peak
        return np.minimum(loads[None, :], peak), self._response(values, rho)

    def knee(self, values: Array) -> KneePoint:
        rho, response = self._best(values)
        load = rho * self.given(values)["Xmax"]
        return KneePoint(load, load, response)

    def given(self, values: Array) -> dict[str, Array]:
        """Every quantity (w,), fitted or fixed."""
        fitted = {name: values[:, i] for i, name in enumerate(self._free)}
        ones = np.ones(len(values))
        fixed = {"c": float(self._servers or 1), "cs2": 1.0 if self._scv is None else self._scv}
        return {**{name: value * ones for name, value in fixed.items()}, **fitted}

    def _response(self, values: Array, rho: Array) -> Array:
        """W (w, m) at utilizations (w, m)."""
        g = {name: value[:, None] for name, value in self.given(values).items()}
        rho = np.minimum(rho, NEARLY_ONE)
        waiting = g["c"] * rho / (1 - rho) if self.a_queue_each else sakasegawa(g["c"], rho)
        return np.asarray((g["c"] + 0.5 * (1 + g["cs2"]) * waiting) / g["Xmax"])

    def _best(self, values: Array) -> tuple[Array, Array]:
        """rho* and W there, each (w,)."""
        response = self._response(values, np.broadcast_to(_GRID, (len(values), len(_GRID))))
        rho, _ = highest_of(_GRID, np.log(_GRID) - np.log(response))
        return rho, self._response(values, rho[:, None])[:, 0]


def highest_of(grid: Array, rows: Array) -> tuple[Array, Array]:
    """Where on an even ``grid`` (m,) each of ``rows`` (n, m) is highest, and how high, by a parabola (n,)."""
    at = np.clip(rows.argmax(axis=1), 1, len(grid) - 2)
    left, middle, right = (np.take_along_axis(rows, at[:, None] + k, 1)[:, 0] for k in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = np.clip(np.where(bend < 0, 0.5 * (left - right) / np.where(bend < 0, bend, 1.0), 0.0), -1, 1)
    return grid[at] + shift * (grid[1] - grid[0]), middle - 0.25 * (left - right) * shift


def sakasegawa(servers: Array, rho: Array) -> Array:
    """Wq Xmax of M/M/c for c that need not be whole (Sakasegawa 1977); exact for c = 1, where it is rho / (1 - rho)."""
    return np.asarray(rho ** (np.sqrt(2 * (servers + 1)) - 1) / (1 - rho))


MGc = OpenModel(
    "M/G/c", "Poisson arrivals, one queue, c equal servers, any law of service by its coefficient of variation"
)
MGcEach = OpenModel(
    "M/G/c, a queue each",
    "Poisson arrivals, routed at random to c equal servers with a queue each, any law of service",
    a_queue_each=True,
)
MG1 = OpenModel("M/G/1", "Poisson arrivals, one server, any law of service", servers=1)
MM1 = OpenModel("M/M/1", "Poisson arrivals, one server, exponential service", servers=1, scv=1.0)
MD1 = OpenModel("M/D/1", "Poisson arrivals, one server, constant service", servers=1, scv=0.0)


SETUP_LOG_SD, OFF_LOG_SD = 1.0, 2.0
"""Log standard deviations of D around the observed fall, and of t around the middle of the interarrival times."""

MATTERS = 0.05
"""Setup is considered where the response time falls by more than this share."""

MARGIN = 2.0
"""A queue each, or setup, is chosen where its log evidence exceeds that of one queue by this."""


class SleepingQueue(OpenModel):
    """M/G/c whose device sleeps after an idle time ``off after``, and takes ``setup`` to wake."""

    def __init__(self) -> None:
        super().__init__(
            "M/G/c with setup",
            "Poisson arrivals, one queue, c equal servers; an idle device falls asleep, and the next request wakes it",
        )
        self._free = [*self._free, "setup", "off after"]

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        fall = max(float(response[0] - response.min()), 0.1 * float(response.min()))
        between = float(np.exp(-np.log(loads).mean()))
        return (
            *super().parameters(loads, throughput, response),
            Parameter("setup", "s", 1e-9, 1e4, fall, SETUP_LOG_SD),
            Parameter("off after", "s", 1e-9, 1e6, between, OFF_LOG_SD),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "setup": ("s", values[:, -2]), "off after": ("s", values[:, -1])}

    def _response(self, values: Array, rho: Array) -> Array:
        setup, off_after = values[:, -2, None], values[:, -1, None]
        rate = np.minimum(rho, NEARLY_ONE) * values[:, :1]
        asleep = np.exp(-rate * off_after)
        late = asleep * setup * (1 + rate * setup / 2) / (1 + rate * asleep * setup)
        return np.asarray(super()._response(values, rho) + late)


def falls(points: Points) -> bool:
    """Whether the response time falls with the rate, by more than noise and more than ``MATTERS``."""
    _, noise = points.noise()
    least = int(np.argmin(points.response_time_s))
    fall = np.log(points.response_time_s[0] / points.response_time_s[least])
    return bool(fall > max(MATTERS, 3 * float(np.hypot(noise[0], noise[least]))))


def usual_open(points: Points) -> OpenModel:
    """M/G/c with a queue each, or with setup, where the evidence of two points or more favours it, else with one queue.

    The first two have the same parameters. With one queue W stays at S until shortly before saturation, with a queue
    each it rises from the first request on.
    """
    each, one = (model.weights(points).log_evidence for model in (MGcEach, MGc))
    usual = MGcEach if each > one + MARGIN else MGc
    if not falls(points):
        return usual
    sleeping = SleepingQueue()
    return sleeping if sleeping.weights(points).log_evidence > max(each, one) + MARGIN else usual
