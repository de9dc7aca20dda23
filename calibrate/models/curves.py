"""Device models as curves: given parameters and a load, what throughput and response time?

A model is a small object: its parameters with their priors, the curve, and where its knee is. Everything is vectorised
over rows of parameters: ``curve(values (n, d), loads (m,))`` gives throughput and response, each (n, m). ``weights``
makes the table of what some points say of the parameters (:mod:`calibrate.inference`). Closed models take the load as
the number N of outstanding requests and obey Little's law, N = X R.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from calibrate.inference.misfit import MisfitProcess
from calibrate.inference.nodes import EVERYWHERE, Observed, Scale, Stratum, table_of
from calibrate.inference.parameters import Array, MisfitPrior, Parameter
from calibrate.inference.weights import Weights

if TYPE_CHECKING:
    from calibrate.points import Points

SHARPNESS_MEDIAN, SHARPNESS_LOG_SD = 2.6, 0.75
"""The knee's sharpness p: 2.6 is the middle of public NVMe tables, and two thirds of the devices lie within a factor of
two of it (a virtual disk near 1, a SATA link 6 and more)."""

FINITE = 0.8
"""A quarter of the prior of p is the bound itself; the median of the finite rest is so many times 2.6, and that of both
together 2.9. Chosen over the sweeps of docs/data, where 0.72 (2.6 for both together) misses more from two depths."""

SHARP = 1e4
"""The sharpness that stands for the bound itself: one queue."""

MOST_SHARPNESS = 60.0
"""A sharper knee is reported as this: no measurement tells it from the bound."""

CROSSING_MEDIAN, CROSSING_LOG_SD = 4.0, 2.0
"""N* before any point: 2 to 9 on SATA and RAID, 1 on hard disks, 66 on an NVMe drive; what lies below 1 is 1. From two
points on the prior is centred on where their asymptotes cross, and so wide that it has no say."""

ONSET_LOG_SD = 0.4
"""How far R1 / Rbusy is from 1 on those devices where it is not 1."""

ONSET_POWER = 2.0
"""How fast the onset fades, as N^-2: a quarter of it is left at depth 2 and a sixteenth at depth 4."""

CLOSED_MISFIT = MisfitPrior(median=0.06, log_sd=1.0)
CLOSED_PROCESS = MisfitProcess(length=1.0, own=1 / 6)
"""What devices do that no smooth curve does: 6 %, uncertain by a factor of e, alike within a factor of e of the depth.
A sixth of its variance belongs to one measurement alone."""


@dataclass(frozen=True)
class Peak:
    """A peak throughput that is known from elsewhere: requests (or cache lines) a second, right to ``tolerance``."""

    per_s: float
    tolerance: float = 0.1


@dataclass(frozen=True)
class KneePoint:
    """A model's knee for each row of parameters: load, throughput, response, each (n,). NaN: not reached."""

    load: Array
    throughput: Array
    response: Array


class CurveModel(ABC):
    """What every device model offers."""

    name: str
    assumption: str
    knee_definition: str
    misfit: MisfitPrior
    process: MisfitProcess

    @abstractmethod
    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors wide around what these points (m,) can mean."""

    @abstractmethod
    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        """The parameters as people name them, {name: (unit, values (n,))}, from the fitted ones (n, d)."""

    @abstractmethod
    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        """Throughput and response (n, m) at ``loads`` (m,) for parameter values (n, d)."""

    @abstractmethod
    def knee(self, values: Array) -> KneePoint:
        """The knee for each row of parameter values (n, d)."""

    def knee_load(self, values: Array) -> Array:
        """The load (n,) of the knee alone, which some models know without the rest."""
        return self.knee(values).load

    @abstractmethod
    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        """The table of weights that ``points`` leave, and a ``peak`` from elsewhere where it is known."""


class MemoryModel(CurveModel):
    """A memory's model, whose parameters are reported as they are fitted; ``units`` are theirs, by name, in order."""

    units: ClassVar[Mapping[str, str]]

    @abstractmethod
    def parameters(
        self, loads: Array, throughput: Array, response: Array, known_peak: float = 0.0
    ) -> tuple[Parameter, ...]:
        """The parameters, with bounds and priors; ``known_peak`` is a bandwidth test's result."""

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {name: (unit, values[:, i]) for i, (name, unit) in enumerate(self.units.items())}


class ClosedModel(CurveModel):
    """N requests circle; the two asymptotes are N / R1 and Xmax, and the sub-class says how they are joined.

    Asymptotic bounds: Muntz and Wong 1974; Denning and Buzen 1978. R1 (seconds) is the response time of a lone
    request, Xmax (1/second) the peak throughput. They are fitted as the crossing N* = R1 Xmax and Xmax, because
    N* >= 1 is the constraint: c servers of service time S have Xmax = c / S, and a lone request takes at least S.
    Throughput is in proportion to Xmax, which is therefore integrated out exactly.
    """

    knee_definition = "N* = R1 Xpeak"
    misfit = CLOSED_MISFIT
    process = CLOSED_PROCESS
    strata: Sequence[Stratum] = EVERYWHERE
    declines = False
    """Whether throughput may fall past the peak."""

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        crossing = CROSSING_MEDIAN
        if len(loads) > 1:
            crossing = max(float((loads / throughput).min() * throughput.max()), 1.0)
        most = max(float(throughput.max()), 1e-300)
        return (
            Parameter("N*", "", 1.0, 1e9, crossing, CROSSING_LOG_SD),
            Parameter("Xmax", "1/s", most * 1e-6, most * 1e9),
        )

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {"R1": ("s", self.lone(values)), "Xmax": ("1/s", values[:, 1]), "N*": ("", self.knee_load(values))}

    def curve(self, values: Array, loads: Array) -> tuple[Array, Array]:
        throughput = self.throughput(values, loads)
        return throughput, loads / throughput

    def throughput(self, values: Array, loads: Array) -> Array:
        """X (n, m) at ``loads`` (m,)."""
        return self._at(values, loads[None, :])

    def at_own(self, values: Array, loads: Array) -> Array:
        """X (n,) of each row at a load (n,) of its own."""
        return np.asarray(self._at(values, loads[:, None])[:, 0])

    @abstractmethod
    def _at(self, values: Array, loads: Array) -> Array:
        """X (n, m) at loads (1, m), or (n, m) of each row's own."""

    def peak(self, values: Array) -> Array:
        """The highest throughput (n,) at any depth."""
        return np.asarray(values[:, 1])

    def lone(self, values: Array) -> Array:
        """R1 (n,): the response time of a lone request."""
        return np.asarray(1 / self.throughput(values, np.ones(1))[:, 0])

    def knee_load(self, values: Array) -> Array:
        return np.asarray(np.maximum(self.lone(values) * self.peak(values), 1.0))

    def knee(self, values: Array) -> KneePoint:
        load = self.knee_load(values)
        at_knee = self.at_own(values, load)
        return KneePoint(load, at_knee, load / at_knee)

    def parameters_of(self, points: Points) -> tuple[Parameter, ...]:
        """The parameters with the priors that all that is known of ``points`` leads to."""
        return self.parameters(points.load, points.throughput_per_s, points.response_time_s)

    def weights(self, points: Points, peak: Peak | None = None) -> Weights:
        crossing, *others = self.parameters_of(points)
        scale = Scale("Xmax")
        if peak is not None:
            scale = Scale("Xmax", float(np.log(peak.per_s)), peak.tolerance)
            known = max(float((points.load / points.throughput_per_s).min() * peak.per_s), 1.0)
            crossing = replace(crossing, prior_median=known)
        return table_of(
            (crossing, *others),
            self.strata,
            lambda values: np.log(self.throughput(values, points.load)),
            Observed(points.load, np.log(points.throughput_per_s), points.noise()[0]),
            self.process,
            self.misfit,
            scale,
        )


class PNorm(ClosedModel):
    """X = [(N/R1)^-p + Xmax^-p]^(-1/p): both asymptotes, joined with sharpness p.

    p = infinity is the bound itself, p = 1 random routing to many exponential servers, p near 2.6 an NVMe drive. A
    quarter of the prior is the bound: many devices are one queue.
    """

    name = "p-norm"
    assumption = "both asymptotes hold; the bend between them has one sharpness p"
    strata: Sequence[Stratum] = (Stratum(0.25, {"p": SHARP}), Stratum(0.75))

    def __init__(self, sharpness: float | None = None) -> None:
        """With a ``sharpness`` that is known to be about this, the bound itself is ruled out."""
        self.sharpness = FINITE * SHARPNESS_MEDIAN if sharpness is None else sharpness
        if sharpness is not None:
            self.strata = EVERYWHERE

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        sharpness = Parameter("p", "", 0.3, MOST_SHARPNESS, self.sharpness, SHARPNESS_LOG_SD)
        return (*super().parameters(loads, throughput, response), sharpness)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        return {**super().report(values), "p": ("", np.minimum(values[:, 2], MOST_SHARPNESS))}

    def _at(self, values: Array, loads: Array) -> Array:
        crossing, peak, p = (values[:, i, None] for i in range(3))
        # logaddexp: a power like (1e-5)^-60 would overflow
        return np.asarray(peak * np.exp(-np.logaddexp(0.0, -p * self._below(values, loads, crossing)) / p))

    def _below(self, values: Array, loads: Array, crossing: Array) -> Array:
        """ln of the first asymptote over the second."""
        return np.asarray(np.log(loads / crossing))


CV_AT, CV_MEDIAN, CV_POWER = 0.24, 1.82, -0.37
TAIL_AT, TAIL_MEDIAN, TAIL_POWER = 0.47, 1.97, -0.23
"""How the median of p falls with the spread of latencies, learned from 78 sweeps of 14 families of drives."""

NORMAL_P99 = 2.33
"""The p99 of a normal distribution in standard deviations above its mean."""

SPREADS = (0.01, 3.0)


def sharpness_by_spread(cv: float, p99: float) -> float | None:
    """The median of p before any throughput, by ``cv`` or ``p99``: those of the latencies, over their mean.

    One server in turn gives nearly equal latencies and a sharp knee, parallel queues give unequal ones and a soft
    knee. None where both are unknown (NaN).

    >>> round(sharpness_by_spread(0.24, float("nan")), 2), round(sharpness_by_spread(float("nan"), 2.1), 2)
    (1.82, 1.97)
    """
    if np.isfinite(cv):
        return float(CV_MEDIAN * (np.clip(cv, *SPREADS) / CV_AT) ** CV_POWER)
    if np.isfinite(p99):
        return float(TAIL_MEDIAN * (np.clip((p99 - 1) / NORMAL_P99, *SPREADS) / TAIL_AT) ** TAIL_POWER)
    return None


class OnsetPNorm(PNorm):
    """The p-norm over the latency r(N) of a device that N requests keep awake: N / r(N) in the place of N / R1.

    r(N) = Rbusy (R1 / Rbusy)^(N^-2): R1 for a lone request, Rbusy from a few on. The ratio R1 / Rbusy is the onset:
    below 1 where the device waits for more requests before it answers (coalesced interrupts, batches), above 1 where
    a lone request finds it asleep (power states). Half of the prior has no onset, so that a simple device stays simple;
    the fitted crossing is Rbusy Xmax.
    """

    name = "p-norm with onset"
    assumption = "both asymptotes hold, from a few requests on; a lone one may take longer or less than among others"
    strata = (
        Stratum(0.2, {"p": SHARP, "onset": 1.0}),
        Stratum(0.05, {"p": SHARP}),
        Stratum(0.3, {"onset": 1.0}),
        Stratum(0.45),
    )

    def parameters(self, loads: Array, throughput: Array, response: Array) -> tuple[Parameter, ...]:
        onset = Parameter("onset", "", 0.05, 20.0, 1.0, ONSET_LOG_SD)
        return (*super().parameters(loads, throughput, response), onset)

    def parameters_of(self, points: Points) -> tuple[Parameter, ...]:
        """With the sharpness that the spread of latencies at the deepest point tells."""
        known = super().parameters_of(points)
        cv, p99 = (np.nan if v is None else float(v[-1]) for v in (points.latency_cv, points.latency_p99))
        told = sharpness_by_spread(cv, p99)
        if told is None:
            return known
        return tuple(replace(p, prior_median=told) if p.name == "p" else p for p in known)

    def report(self, values: Array) -> dict[str, tuple[str, Array]]:
        busy = values[:, 0] / values[:, 1]
        return {**super().report(values), "Rbusy": ("s", busy), "onset": ("", values[:, 3])}

    def _below(self, values: Array, loads: Array, crossing: Array) -> Array:
        return np.asarray(np.log(loads / crossing) - np.log(values[:, 3, None]) * loads**-ONSET_POWER)


class AsymptoticBounds(ClosedModel):
    """X = min(N / R1, Xmax): the optimistic bound, a knee without a bend."""

    name = "asymptotic bounds"
    assumption = "no request ever waits before the peak is reached"

    def _at(self, values: Array, loads: Array) -> Array:
        crossing, peak = values[:, 0, None], values[:, 1, None]
        return np.asarray(peak * np.minimum(loads / crossing, 1.0))


class Tabulated(ClosedModel):
    """A closed model whose curve is computed at one set of loads for all rows."""

    @abstractmethod
    def throughput(self, values: Array, loads: Array) -> Array:
        """X (n, m) at ``loads`` (m,)."""

    def at_own(self, values: Array, loads: Array) -> Array:
        """X (n,), interpolated between some loads that reach from the least to the greatest."""
        at = np.unique(np.geomspace(loads.min(), loads.max() * (1 + 1e-9), 48))
        curves = np.log(self.throughput(values, at))
        rows = zip(loads, curves, strict=True)
        return np.exp([np.interp(np.log(n), np.log(at), curve) for n, curve in rows])

    def _at(self, values: Array, loads: Array) -> Array:
        raise NotImplementedError("a tabulated model has one set of loads")


DOUBLINGS = tuple(2**i for i in range(9))
"""Numbers of servers that are tried of every device."""


def server_counts(crossing: float) -> list[int]:
    """Numbers of servers worth trying for a device whose asymptotes cross at ``crossing``: 1, doublings, all of it."""
    return sorted({1, *(c for c in DOUBLINGS if c < crossing), max(1, round(crossing))})
