"""Percentiles, survival and variances that are called exact, against another way to them, for laws of any scv.

First come first served against a lattice of times, rounded down and rounded up. A larger number of random models:

    QSIM_MODELS=200 python -m pytest -n 0 tests/agreement/test_times_agree.py
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mpf
from scipy.optimize import brentq

from qsim import (
    BurrXII,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    GGc,
    HyperExponential,
    LogNormal,
    Mixture,
    Open,
    Shifted,
    Weibull,
    solve,
)
from qsim._types import FloatArray

MODELS = int(os.environ.get("QSIM_MODELS", "5"))
POINTS = 2**15
QUANTILES = (0.1, 0.5, 0.9, 0.99, 0.9999)
LOADS = (0.3, 0.7, 0.9, 0.99, 0.999, 0.9999)
SCV = (0.3, 1.5, 10.0, 100.0, 1000.0)


def root(gap: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(gap, low, high))


ANY: tuple[Callable[[float], Distribution], ...] = (
    lambda scv: Gamma(1.0, scv),
    lambda scv: LogNormal(1.0, scv),
    lambda scv: Weibull(root(lambda shape: Weibull(shape, 1.0).scv - scv, 0.05, 50.0), 1.0),
    lambda scv: BurrXII(root(lambda c: BurrXII(c, 1.0, 1.0).scv - scv, 2 + 1e-9, 1e3), 1.0, 1.0),
    lambda scv: HyperExponential.from_moments(1.0, max(scv, 1.0)),
    lambda scv: Mixture((Deterministic(0.5), Empirical([0.2], widths=[0.8]), LogNormal(1.0, scv)), (0.5, 0.2, 0.3)),
    lambda scv: Empirical([0.2, 1.0, 1 + scv], [0.5, 0.4, 0.1]),
    lambda scv: Shifted(Gamma(0.5, scv), 0.5),
    lambda _: Deterministic(1.0),
    lambda _: Erlang(3, 1.0),
)


def drawn(rng: np.random.Generator) -> tuple[Distribution, float]:
    """A service and the arrival rate that goes with a load."""
    law = ANY[rng.integers(len(ANY))](float(rng.choice(SCV)))
    return law, float(rng.choice(LOADS)) / law.mean


class Bracket:
    """P(Wq > t) and P(W > t) of M/G/1 from both sides: services and what is left of them on a lattice."""

    def __init__(self, law: Distribution, rate: float, reach: float) -> None:
        self.step, rho = reach / POINTS, rate * law.mean
        times = self.step * np.arange(POINTS + 1)
        residual = np.diff(np.concatenate(([0.0], integral_of_survival(law, times[1:]) / law.mean)))
        service = np.diff(np.asarray(law.cdf(times)), prepend=0.0)
        circle = 10.0 ** (-8 / POINTS)
        self.bounds: dict[str, list[FloatArray]] = {"Wq": [], "W": []}
        for down in (True, False):
            piece = residual if down else np.append(0.0, residual[:-1])
            own = np.append(service[0] + service[1], service[2:]) if down else service[:-1]
            damp = circle ** np.arange(POINTS)
            g, b = np.fft.fft(piece * damp), np.fft.fft(own * damp)
            for of, series in (("Wq", (1 - rho) / (1 - rho * g)), ("W", (1 - rho) * b / (1 - rho * g))):
                self.bounds[of].append(1 - np.cumsum(np.fft.ifft(series).real / damp))

    def at(self, t: float, of: str) -> tuple[float, float]:
        """Bounds on P(T > t)."""
        low, high = self.bounds[of]
        return float(low[math.ceil(t / self.step)]), float(high[math.floor(t / self.step)])


def integral_of_survival(law: Distribution, x: FloatArray) -> FloatArray:
    """E[min(T, x)] by Simpson's rule over cells that no jump of these laws lies inside of."""
    beyond = [start + np.geomspace(1e-15 * x[-1], x[-1], 10_000) for start in (0.0, 0.2, 0.5, 1.0)]  # laws begin there
    edges = np.unique(np.concatenate([*beyond, x, [0.0, 0.2, 0.5, 1.0]]))
    edges = edges[edges <= x[-1]]
    atoms = law.values if isinstance(law, Empirical) else ()
    edges = np.unique(np.concatenate([edges, [p for p in atoms if p < x[-1]]]))
    a, b = edges[:-1], edges[1:]
    inside = (law.survival(a) + law.survival(np.nextafter(b, 0.0)) + 4 * law.survival((a + b) / 2)) / 6 * (b - a)
    return np.asarray(np.append(0.0, np.cumsum(inside))[np.searchsorted(edges, x)])


def assert_inside(bracket: Bracket, survival: Callable[[float], float], t: float, of: str, slack: float) -> None:
    low, high = bracket.at(t, of)
    assert low - slack <= survival(t) <= high + slack, (t, of, low, survival(t), high)


@pytest.mark.parametrize("seed", range(MODELS))
def test_first_come_first_served_is_inside_the_bracket(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law, rate = drawn(rng)
    r = solve(Open(Exponential(1 / rate), law))
    for q in QUANTILES:
        for of in ("W", "Wq"):
            t = r.quantile(q, of)
            assert (t > 0) == (of == "W" or q > 1 - r.p_wait + 1e-12)
            low, high = r.quantile_interval(q, of)
            assert low <= t * (1 + 1e-12)
            assert t <= high * (1 + 1e-12)
            if t > 0:
                bracket = Bracket(law, rate, 3 * t)
                assert_inside(bracket, lambda t, of=of: r.survival(t, of), t, of, 2e-6)  # type: ignore[misc]
                below, above = bracket.at(t * (1 + 1e-4), of)[0], bracket.at(t * (1 - 1e-4), of)[1]
                assert below - 2e-6 <= 1 - q <= above + 2e-6, (law, rate, q, of)
                assert r.utilization >= 0.99 or high <= low * 1.02 + 1e-9
    second = (
        rate * law.moment(3) / (3 * (1 - r.utilization)) + 2 * (rate * law.moment(2) / (2 * (1 - r.utilization))) ** 2
    )
    assert r.variance("Wq") == pytest.approx(second - r.Wq**2)


@pytest.mark.parametrize("rho", LOADS)
def test_constant_services_are_inside_the_bracket(rho: float) -> None:
    r, law = solve(GGc(Exponential(1 / rho), Deterministic(1.0), 1)), Deterministic(1.0)
    for q in QUANTILES:
        t = r.quantile(q, "Wq")
        if t > 0:
            assert_inside(Bracket(law, rho, 3 * t), lambda t: r.survival(t, "Wq"), t, "Wq", 2e-6)
    assert r.variance("Wq") == pytest.approx(rho / (3 * (1 - rho)) + (rho / (2 * (1 - rho))) ** 2, rel=1e-6)


def transform_of(law: Distribution) -> Callable[[mpf], mpf]:
    """E[e^(-sT)] in many digits."""
    if isinstance(law, Gamma | Erlang):
        return lambda s: (1 + s * mpf(law.mean) * mpf(law.scv)) ** (-1 / mpf(law.scv))
    if isinstance(law, HyperExponential):
        pairs = [(mpf(p), mpf(m)) for p, m in zip(law.probabilities, law.means, strict=True)]
        return lambda s: sum(p / (1 + s * m) for p, m in pairs) / sum(p for p, _ in pairs)
    assert isinstance(law, Exponential)
    return lambda s: 1 / (1 + s * mpf(law.mean))
