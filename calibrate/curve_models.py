"""Device models as curves: given parameters and a load, what throughput and response time?

A model is a small object: its parameters with bounds and priors, the curve, and where its knee is. Everything is
vectorised over parameter draws: ``curve(values (w, d), loads (m,))`` gives throughput and response, each (w, m).
Closed models take the load as the number N of outstanding requests and obey Little's law, N = X R.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from calibrate.discrepancy import Discrepancy
from calibrate.posterior import Array, ErrorPrior, Parameter

SHARPNESS_MEDIAN = 2.6
SHARPNESS_LOG_SD = 0.75
"""The default knee sharpness p and how uncertain it is. 2.6 is the middle of public NVMe tables; two thirds of the
devices seen lie within a factor of two of it (a virtual disk near 1, a SATA link 6 and more), hence 0.75."""

CLOSED_ERROR = ErrorPrior(median=0.03)
"""How far a three-parameter curve typically misses a steady point, before any data: 3 %, uncertain by a factor of 2."""


@dataclass(frozen=True)
class KneePoint:
    """A model's knee for each parameter draw: load, throughput, response, each (w,). NaN: not reached."""

    load: Array
    throughput: Array
    response: Array


class CurveModel(ABC):
    """What every device model offers."""

    name: str
    assumption: str
    knee_definition: str
    error_prior: ErrorPrior
    discrepancy: Discrepancy | None = None
    measurable = True
    """Whether it can be calibrated, and not only be made of a fit that was."""

    @abstractmethod
    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        """The parameters, with bounds wide around what these points (m,) can mean."""

    @abstractmethod
    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        """A starting point (d,) for the fit, or several (k, d)."""

    @abstractmethod
    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        """The parameters as people name them, {name: (unit, values (w,))}, from the fitted ones (w, d)."""

    @abstractmethod
    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Throughput and response (w, m) at ``loads`` (m,) for parameter values (w, d)."""

    @abstractmethod
    def knee(self, values: Array) -> KneePoint:
        """The knee for each row of parameter values (w, d)."""

    @abstractmethod
    def observables(self, throughput: Array, response: Array) -> Array:
        """What of the points is fitted, in logarithms, along the last axis: (m,) or (w, m) to (2m,) or (w, 2m)."""

    def predicted(self, values: Array, loads: Array) -> Array:
        """The same of the curve for parameter values (w, d) at ``loads`` (m,)."""
        return self.observables(*self.curve(values, loads))


class ClosedModel(CurveModel):
    """N requests circle; the two asymptotes are N / R1 and Xmax, and the sub-class says how they are joined.

    Asymptotic bounds: Muntz and Wong 1974; Denning and Buzen 1978. R1 (seconds) is the response time of a lone
    request, Xmax (1/second) the peak throughput. They are fitted as the crossing N* = R1 Xmax and Xmax, because
    N* >= 1 is the constraint: c servers of service time S have Xmax = c / S, and a lone request takes at least S.
    """

    knee_definition = "asymptote crossing N* = R1 Xmax"
    error_prior = CLOSED_ERROR

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        crossing, peak = ClosedModel.start(self, loads, throughput, response)
        return (Parameter("N*", "", 1.0, crossing * 100), Parameter("Xmax", "1/s", peak / 1.5, peak * 100))

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        peak = float(throughput.max()) * 1.02
        return np.array([max(float((loads / throughput).min()) * peak, 1.05), peak])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {
            "R1": ("s", values[:, 0] / values[:, 1]),
            "Xmax": ("1/s", values[:, 1]),
            "N*": ("", values[:, 0]),
        }

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        throughput = self.throughput(values, loads)
        return throughput, loads / throughput

    @abstractmethod
    def throughput(self, values: Array, loads: Array) -> Array:
        """X (w, m)."""

    def knee(self, values: Array) -> KneePoint:
        load = values[:, 0]
        rows = zip(values, load, strict=True)
        at_knee = np.array([self.throughput(v[None, :], np.array([n]))[0, 0] for v, n in rows])
        return KneePoint(load, at_knee, load / at_knee)

    def observables(self, throughput: Array, response: Array) -> Array:
        return np.log(throughput)


class PNorm(ClosedModel):
    """X = [(N/R1)^-p + Xmax^-p]^(-1/p): both asymptotes, joined with sharpness p.

    p = infinity is the bound itself, p = 1 random routing to many exponential servers, p near 2.6 an NVMe drive.
    """

    name = "p-norm"
    assumption = "both asymptotes hold; the bend between them has one sharpness p"

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        sharpness = Parameter("p", "", 0.5, 60.0, SHARPNESS_MEDIAN, SHARPNESS_LOG_SD)
        return (*super().parameters(loads, throughput, response), sharpness)

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        return np.append(super().start(loads, throughput, response), SHARPNESS_MEDIAN)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "p": ("", values[:, 2])}

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak, p = (values[:, i, None] for i in range(3))
        # logaddexp: a power like (1e-5)^-60 would overflow
        return np.asarray(peak * np.exp(-np.logaddexp(0.0, -p * np.log(loads[None, :] / crossing)) / p))

    def knee(self, values: Array) -> KneePoint:
        at_knee = values[:, 1] * 2.0 ** (-1.0 / values[:, 2])
        return KneePoint(values[:, 0], at_knee, values[:, 0] / at_knee)


ONSET_LOG_SCALE = 0.15
"""How far R1 / Rbusy is from 1, as a sparse prior's scale: within a factor of 1.2 for most devices, and in long tails
1.5 to 2.5 for those that wait for company (or half, for those that a lone request finds asleep)."""

ONSET_SHARPNESS_LOG_SD = 1.6
"""The prior of p beside an onset is wide: a lone request that is slow and a sharp knee look alike at depths 1 and 4,
and neither may be ruled out. One queue before several servers has the sharpest knee there is."""

ONSET_POWER = 2.0
"""How fast the onset fades, as N^-2: a quarter of it is left at depth 2 and a sixteenth at depth 4."""

ONSET_ERROR = ErrorPrior(median=0.06, log_sd=1.0)
ONSET_DISCREPANCY = Discrepancy(length=1.0, own=0.1)
"""What drives do that no smooth curve does: 6 %, uncertain by a factor of e, alike within a factor e of the depth; a
third of it (2 %) belongs to one measurement alone. Over public sweeps, medians from 4 to 10 % and lengths from 0.7 to
1.5 hold about the same share of held-out points in the bands (86 to 91 % of 57)."""


class OnsetPNorm(PNorm):
    """The p-norm over the latency r(N) of a device that N requests keep awake: N / r(N) in the place of N / R1.

    r(N) = Rbusy (R1 / Rbusy)^(N^-2): R1 for a lone request, Rbusy from a few on. The ratio R1 / Rbusy is the onset:
    below 1 where the device waits for more requests before it answers (coalesced interrupts, batches), above 1 where
    a lone request finds it asleep (power states). N* = Rbusy Xmax takes the latency of the busy device, on which the
    throughput's rise to its peak depends. What the curve misses nonetheless goes together at neighbouring depths. R1
    is reported as the curve's own latency at depth 1, which for N* near 1 the bend lengthens.
    """

    name = "p-norm with onset"
    assumption = "both asymptotes hold, from a few requests on; a lone one may take longer or less than among others"
    knee_definition = "asymptote crossing N* = Rbusy Xmax"
    error_prior = ONSET_ERROR
    discrepancy = ONSET_DISCREPANCY

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        onset = Parameter("onset", "", 0.05, 20.0, 1.0, ONSET_LOG_SCALE, sparse=True)
        crossing, peak, p = super().parameters(loads, throughput, response)
        return crossing, peak, replace(p, prior_log_sd=ONSET_SHARPNESS_LOG_SD), onset

    def start(self, loads: Array, throughput: Array, response: Array) -> Array:
        smooth = super().start(loads, throughput, response)
        return np.array([[*smooth, onset] for onset in (0.67, 1.0, 1.35)])

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        busy = values[:, 0] / values[:, 1]
        lone = 1 / self.throughput(values, np.ones(1))[:, 0]
        return {**super().report(values), "R1": ("s", lone), "Rbusy": ("s", busy), "onset": ("", values[:, 3])}

    def throughput(self, values: Array, loads: Array) -> Array:
        return self._at(values, loads[None, :])

    def knee(self, values: Array) -> KneePoint:
        crossing = values[:, 0]
        at_knee = self._at(values, crossing[:, None])[:, 0]
        return KneePoint(crossing, at_knee, crossing / at_knee)

    def _at(self, values: Array, loads: Array) -> Array:
        """X (w, m) at loads (1, m), or (w, m) of each draw's own."""
        crossing, peak, p, onset = (values[:, i, None] for i in range(4))
        below = np.log(loads / crossing) - np.log(onset) * loads**-ONSET_POWER
        return np.asarray(peak * np.exp(-np.logaddexp(0.0, -p * below) / p))


class AsymptoticBounds(ClosedModel):
    """X = min(N / R1, Xmax): the optimistic bound, a knee without a bend."""

    name = "asymptotic bounds"
    assumption = "no request ever waits before the peak is reached"

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak = values[:, 0, None], values[:, 1, None]
        return np.asarray(peak * np.minimum(loads[None, :] / crossing, 1.0))


class RandomRouting(ClosedModel):
    """X = N / (N + k - 1) Xmax with k = R1 Xmax: k exponential servers, each request sent to one at random.

    Product form (Gordon and Newell 1967) for balanced stations without think time; k need not be whole here.
    """

    name = "random routing"
    assumption = "k equal servers, each with a queue of its own, requests routed at random, exponential service"

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak = values[:, 0, None], values[:, 1, None]
        return np.asarray(peak * loads[None, :] / (loads[None, :] + crossing - 1.0))


class DelayMMc(ClosedModel):
    """Delay Z and one shared queue before c exponential servers: the machine repairman M/M/c//N.

    R1 = Z + S and Xmax = c / S for a given c, so that c is what bends the curve; c lies between 1 and R1 Xmax.
    """

    def __init__(self, servers: int) -> None:
        self.servers = servers
        self.name = f"delay + M/M/{servers}"
        self.assumption = f"one queue shared by {servers} exponential servers, and a delay without queueing"

    def throughput(self, values: Array, loads: Array) -> Array:
        crossing, peak = values[:, 0], values[:, 1]
        delays = np.clip(np.log(np.maximum(crossing / self.servers, 1.0)), 0.0, LONGEST_DELAY)  # c <= N*
        return np.asarray(peak[:, None] * np.exp(_log_shares(self.servers, tuple(loads.tolist()))(delays)))


LONGEST_DELAY = 9.0
"""The logarithm of (Z + S) / S up to which M/M/c//N is tabulated, and in how many steps."""

DELAY_KNOTS = 81


@lru_cache(maxsize=256)
def _log_shares(servers: int, loads: tuple[float, ...]) -> Callable[[Array], Array]:
    """ln X / Xmax of M/M/c//N at ``loads`` (m,), as a function of ln (Z + S) / S (w,): a spline through exact values.

    A load between two whole numbers is interpolated: for drawing only.
    """
    from scipy.interpolate import CubicSpline

    from qsim.analytic.repairman import curve

    at = np.array(loads)
    whole = np.unique(np.concatenate([np.floor(at), np.ceil(at)]).clip(min=1)).astype(np.int64)
    knots = LONGEST_DELAY * np.linspace(0.0, 1.0, DELAY_KNOTS) ** 2  # closer where the delay is short, and bends sharp
    rows = [np.interp(at, whole, curve(whole, float(np.expm1(knot)), 1.0, servers).throughput) for knot in knots]
    return CubicSpline(knots, np.log(np.array(rows) / servers))


def server_counts(crossing: float) -> list[int]:
    """Numbers of servers worth trying for a device whose asymptotes cross at ``crossing``: 1, doublings, all of it."""
    return sorted({1, *(c for c in (2, 4, 8, 16, 32, 64, 128, 256) if c < crossing), max(1, round(crossing))})
