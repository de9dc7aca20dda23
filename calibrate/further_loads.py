"""Which delay, bandwidth or arrival rate to measure next, and which parameter it would pin.

Over the posterior's draws, what would be measured at a load goes along with a parameter, or it does not. Measuring the
latency there (and the throughput, where that is not the load itself), each with the model's own error s, is expected to
take from the variance of a parameter's logarithm the share c' (V + s^2)^-1 c / var, with V the covariance of what is
measured, in logarithms, and c its covariance with the parameter: a linear regression on new observations (Chaloner and
Verdinelli, Statistical Science 1995). The load with the greatest share is the one that would pin the parameter, if any
does: some parameters no load tells from the others. For queue depths there is :mod:`calibrate.probe_depths`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.estimates import middle, quantity
from calibrate.fitted import Fit
from calibrate.points import GIVEN
from calibrate.posterior import Array
from measure.dataset import LoadKind
from measure.units import format_bandwidth, format_rate

SHARES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
"""Rates and bandwidths that may be asked for, of the least peak that the points allow."""

LEAST_SHARE = 0.2
"""A load that takes less than this from a parameter's variance leaves its interval more than 0.9 times as wide."""

NEW = 0.05
"""How far, relatively, a load must be from those that were used."""


@dataclass(frozen=True)
class NextLoad:
    """The load to measure next, and the interval of a parameter or of the knee (``name``), now and then."""

    load: float
    load_kind: LoadKind
    name: str
    unit: str
    now: tuple[float, float]
    then: tuple[float, float]

    @property
    def where(self) -> str:
        """``delay 100``, ``8.00 k/s``, ``a bandwidth near 80.0 GB/s``."""
        if self.load_kind == "arrival_rate":
            return f"rate {format_rate(self.load)}"
        return f"delay {self.load:g}" if self.load_kind == "injected_delay" else f"near {format_bandwidth(self.load)}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return asdict(self)

    def __str__(self) -> str:
        now, then = (f"[{quantity(a, self.unit)}, {quantity(b, self.unit)}]" for a, b in (self.now, self.then))
        return f"measure {self.where} next: it would narrow {self.name} from {now} to about {then}"


def next_load(fit: Fit) -> NextLoad | None:
    """The load to measure next for the knee.

    None where the fit is of queue depths or of no points, where the knee is out of reach, and where no load tells more.
    """
    knee = fit.knee
    if knee.load is None or knee.low is None or knee.high is None:
        return None
    values = fit.curve_model.knee(fit.draws).load
    unit = {"arrival_rate": "1/s", "bandwidth": "B/s"}.get(fit.load_kind, "")
    return _for(fit, np.where(np.isfinite(values), values, knee.high), "the knee", unit, (knee.low, knee.high))


def pinning(fit: Fit, names: Iterable[str] | None = None) -> Mapping[str, NextLoad]:
    """The load that would narrow each parameter of ``names``, or each that is not identified.

    Of those left out no load tells more.
    """
    wanted = {n for n, e in fit.parameters.items() if not e.identified} if names is None else set(names)
    found = {
        name: _for(fit, values, name, unit, middle(values, fit.level)[1:])
        for name, (unit, values) in fit.curve_model.report(fit.draws).items()
        if name in wanted
    }
    return {name: load for name, load in found.items() if load is not None}


def told_of_parameters(fit: Fit) -> str:
    """What would pin the parameters that are not identified, and which nothing would; empty where all are."""
    if fit.load_kind == "queue_depth" or not fit.used:
        return ""
    loads = pinning(fit)
    better = [
        f"{n.where} would narrow {name} to about [{quantity(n.then[0], n.unit)}, {quantity(n.then[1], n.unit)}]"
        for name, n in loads.items()
    ]
    never = [name for name, e in fit.parameters.items() if not e.identified and name not in loads]
    what = {"injected_delay": "delay", "arrival_rate": "rate"}.get(fit.load_kind, "bandwidth")
    none = [f"no further {what} tells {', '.join(never)} from the other parameters"] if never else []
    return "; ".join([*better, *none])


def _for(fit: Fit, values: Array, name: str, unit: str, now: tuple[float, float]) -> NextLoad | None:
    """The load that tells most of ``values`` (w,), which the draws give a quantity."""
    loads = _candidates(fit)
    if not len(loads):
        return None
    shares = _explained(fit, np.log(np.maximum(values, 1e-300)), loads)
    best = int(np.argmax(shares))
    if shares[best] < LEAST_SHARE:
        return None
    centre, left = float(np.sqrt(now[0] * now[1])), float(np.sqrt(1 - shares[best]))
    low, high = (centre * (end / centre) ** left for end in now)
    return NextLoad(float(loads[best]), fit.load_kind, name, unit, now, (low, high))


def _explained(fit: Fit, wanted: Array, loads: Array) -> Array:
    """The share (m,) of the variance of ``wanted`` (w,) that measuring at each of ``loads`` (m,) would take away."""
    curve = fit.curve_model.curve(fit.draws, loads)
    seen = np.log(np.stack([np.broadcast_to(c, (len(wanted), len(loads))) for c in curve]))
    seen = seen[1:] if fit.load_kind in GIVEN else seen
    apart = seen - seen.mean(axis=1, keepdims=True)
    error = float(np.median(fit.error_draws)) ** 2
    own = np.einsum("iwm,jwm->mij", apart, apart) / len(wanted) + error * np.eye(len(seen))
    with_it = np.einsum("iwm,w->mi", apart, wanted - wanted.mean()) / len(wanted)
    taken = np.einsum("mi,mi->m", with_it, np.linalg.solve(own, with_it[..., None])[..., 0])
    return np.asarray(np.clip(taken / max(float(wanted.var()), 1e-12), 0.0, 0.99))


def _candidates(fit: Fit) -> Array:
    """Loads that may be asked for: none near to those used, rates and bandwidths below the least possible peak."""
    if fit.load_kind == "queue_depth" or not fit.used:
        return np.array([])
    used = np.array(fit.used)
    if fit.load_kind == "injected_delay":
        decades = 10.0 ** np.arange(1, np.ceil(np.log10(max(float(used.max()), 10.0))) + 1)
        steps = np.outer(decades, [1, 2, 5]).ravel()
        loads = np.concatenate([[0.0], steps[steps <= max(float(used.max()), 10.0)]])
    else:
        name = "B" if fit.load_kind == "bandwidth" else "Xmax"
        peak = float(np.percentile(fit.curve_model.report(fit.draws)[name][1], 5))
        loads = np.array([float(f"{share * peak:.2g}") for share in SHARES])
    far = np.abs(loads[:, None] - used[None, :]) > NEW * np.maximum(loads[:, None], used[None, :])
    return np.asarray(loads[far.all(axis=1)])
