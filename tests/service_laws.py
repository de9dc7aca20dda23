"""Service laws of every kind, for tests that hold whatever the law is."""

from __future__ import annotations

from qsim import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Mixture,
    Shifted,
    Weibull,
)

LAWS: list[Distribution] = [
    Exponential(1.0),
    Erlang(3, 1.0),
    HyperExponential.from_moments(1.0, 4.0),
    Gamma(1.0, 0.3),
    LogNormal(1.0, 4.0),
    Weibull(0.6, 1.0),
    Deterministic(1.0),
    Shifted(Gamma(0.5, 2.0), 0.5),
    Mixture((Deterministic(0.5), LogNormal(3.0, 1.0)), (0.8, 0.2)),
    Empirical((0.2, 1.0, 2.0), (1, 2, 1), (0.3, 0.0, 1.0)),
]
