"""Compares the fit of a known device with the truth, parameter by parameter, and with its true curve.

The truth comes from the provenance (:mod:`measure.known_device.server`). The true curve is solved where there is an
exact formula and simulated where there is none:

closed, one queue      X = min(N, c) / S for any law where only the station is visited: at N >= c no server is ever
                       idle, below it no request waits; with a delay Z, exact for exponential service (the machine
                       repairman) and constant times, X = min(N / (Z + S), c / S), simulated otherwise
closed, a queue each   random routing: exact for exponential service (Gordon and Newell 1967), simulated otherwise
open, one queue        M/G/1, M/M/c, M/D/c exactly, simulated otherwise
open, a queue each     c times M/G/1 with a c-th of the arrivals (a random split of a Poisson process is Poisson)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import Array, Estimate
from calibrate.models.open_models import MGcEach
from measure.known_device.server import Truth
from measure.loads import ArrivalRate, ClosedLoad, Load
from qsim import Closed, Delay, Deterministic, Distribution, Exponential, GGc, Metrics, Station, simulate, solve

SIMULATED = 200_000
DRAWN = 24


@dataclass(frozen=True)
class Against:
    """One quantity: truth, estimate, and whether the interval contains the truth (None: no interval)."""

    name: str
    truth: float
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    inside: bool | None


@dataclass(frozen=True)
class TruthCheck:
    """A fit against the truth: its parameters, its knee, and the true curve at the measured loads (m,)."""

    truth: Truth
    parameters: tuple[Against, ...]
    knee: Against
    load: Array
    throughput_per_s: Array
    response_time_s: Array

    @property
    def held(self) -> tuple[Against, ...]:
        """The quantities that have an interval."""
        return tuple(a for a in self.quantities if a.inside is not None)

    @property
    def quantities(self) -> tuple[Against, ...]:
        """The parameters, and the knee where it is none of them, as N* is."""
        named = {a.name for a in self.parameters}
        return self.parameters if "N*" in named else (*self.parameters, self.knee)

    def sentence(self) -> str:
        """The outcome in words."""
        missed, held = [a.name for a in self.held if not a.inside], len(self.held)
        outcome = f"outside theirs: {', '.join(missed)}" if missed else "none is missed"
        return f"{held - len(missed)} of {held} intervals hold the truth ({self.truth.label}); {outcome}."

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        columns = ("load", "throughput_per_s", "response_time_s")
        rows = np.column_stack([getattr(self, name) for name in columns]).tolist()
        return {
            "device": self.truth.to_dict(),
            "parameters": {a.name: asdict(a) for a in self.parameters},
            "knee": asdict(self.knee),
            "sentence": self.sentence(),
            "points": [dict(zip(columns, row, strict=True)) for row in rows],
        }


def check_truth(recorded: Mapping[str, Any], fit: Fit, loads: Array) -> TruthCheck:
    """The fit against the truth in a sweep's provenance. Raises DataError where that is damaged."""
    truth, knee = Truth.from_dict(recorded), fit.knee
    known = _known(truth, fit)
    throughput, response = true_curve(truth, fit.load_type, loads)
    unit = fit.load_type.knee_unit
    return TruthCheck(
        truth,
        tuple(_against(name, known[name], e) for name, e in fit.parameters.items() if name in known),
        _against("knee", known["knee"], Estimate(knee.load, knee.low, knee.high, knee.identified, unit)),
        np.asarray(loads, dtype=float),
        throughput,
        response,
    )


def true_curve(truth: Truth, kind: Load, loads: Array) -> tuple[Array, Array]:
    """Throughput and response time (m,) of the device at ``loads`` (m,); infinite where there is no steady state.

    Between whole numbers of requests, and between the at most 24 loads that are simulated, it is interpolated.
    """
    loads = np.asarray(loads, dtype=float)
    at, response = _response_at(truth, kind, loads)
    drawn = np.exp(np.interp(np.log(loads), np.log(at), np.log(response)))
    if isinstance(kind, ClosedLoad):
        return loads / drawn, drawn
    peak = truth.peak_throughput_per_s
    return np.minimum(loads, peak), np.where(loads < peak, drawn, np.inf)


def _response_at(truth: Truth, kind: Load, loads: Array) -> tuple[Array, Array]:
    """Loads at which the response time is computed, and its values, seconds."""
    law, servers, central = truth.service, truth.servers, truth.queueing == "central" or truth.servers == 1
    if isinstance(kind, ClosedLoad):
        at = np.unique(np.concatenate([np.floor(loads), np.ceil(loads), [servers, truth.crossing]]).clip(min=1))
        if central and (not truth.delay_s or isinstance(law, Deterministic)):
            return at, np.maximum(at / servers * law.mean, law.mean + truth.delay_s)
        if not isinstance(law, Exponential):
            at = _fewer(at)
        queues: Literal["shared", "random"] = "shared" if central else "random"
        return at, np.array([_closed(law, servers, queues, truth.delay_s, int(n)) for n in at])
    below = np.unique(loads[loads < truth.peak_throughput_per_s])
    if len(below) == 0:
        below = np.array([0.5 * truth.peak_throughput_per_s])
    one = servers if central else 1
    exact = one == 1 or isinstance(law, Exponential | Deterministic)
    at = below if exact else _fewer(below)
    return at, np.array([_open(law, one, float(rate) * one / servers) for rate in at])


def _closed(
    law: Distribution, servers: int, queues: Literal["shared", "random"], delay_s: float, population: int
) -> float:
    """The response time with ``population`` requests, the delay included, seconds; a lone request never waits."""
    if population == 1:
        return law.mean + delay_s
    station = Station(law, servers=servers, queues=queues)
    model = Closed(population, [Delay(Deterministic(delay_s)), station] if delay_s else [station])
    exact = isinstance(law, Exponential)
    metrics: Metrics = solve(model) if exact else simulate(model, customers=SIMULATED, seed=1, allow_short=True)
    return float(population / metrics.throughput)


def _open(law: Distribution, servers: int, rate: float) -> float:
    """W of M/G/c, seconds."""
    model = GGc(Exponential(1 / rate), law, servers)
    metrics = solve(model)
    if metrics.kind != "exact":
        metrics = simulate(model, customers=5 * SIMULATED, seed=1, allow_short=True)
    return float(metrics.W)


def _fewer(loads: Array) -> Array:
    """At most ``DRAWN`` of ascending loads, both ends among them."""
    return loads if len(loads) <= DRAWN else loads[np.unique(np.linspace(0, len(loads) - 1, DRAWN).astype(int))]


def _known(truth: Truth, fit: Fit) -> dict[str, float]:
    """The true value of every quantity that ``fit`` may estimate; ``c`` where the kinds of queues are the model's."""
    mean, peak = truth.service.mean, truth.peak_throughput_per_s
    lone = mean + truth.delay_s
    known = {"R1": lone, "Rbusy": lone, "onset": 1.0, "Xmax": peak, "N*": truth.crossing}
    if isinstance(fit.load_type, ArrivalRate):
        rho = _best_utilization(truth)
        known = {"S": mean, "Xmax": peak, "scv": truth.service.scv, "rho*": rho, "knee": rho * peak}
        if truth.servers == 1 or (truth.queueing == "per-server") == (fit.model == MGcEach.name):
            known["c"] = float(truth.servers)
    else:
        known["knee"] = known["N*"]
        known.update({"c": float(truth.servers), "S": mean, "Z": truth.delay_s})
    return known


def _best_utilization(truth: Truth) -> float:
    """rho* of maximal power rho / W: 1 / (1 + sqrt((1 + scv) / 2)) for M/G/1, else from the true curve."""
    if truth.servers == 1 or truth.queueing == "per-server":
        return float(1 / (1 + np.sqrt((1 + truth.service.scv) / 2)))
    rho = np.linspace(0.05, 0.95, 91)
    _, response = true_curve(truth, ArrivalRate(), rho * truth.peak_throughput_per_s)
    return float(rho[np.argmax(rho / response)])


def _against(name: str, truth: float, estimate: Estimate) -> Against:
    low, high = estimate.low, estimate.high
    inside = None if low is None or high is None else bool(low <= truth <= high)
    return Against(name, truth, estimate.unit, estimate.estimate, low, high, inside)
