"""Queueing theory: describe a queue once, solve it by formula or simulate it.

>>> from qsim import MM1, solve
>>> solve(MM1(arrival_rate=16, service_rate=20)).W
0.25

Nothing here knows of devices or files: rates and times are in whatever unit the caller uses throughout.
"""

from qsim.analytic import solve
from qsim.analytic.bounds import asymptotic_bounds
from qsim.analytic.mmc import erlang_b, erlang_c
from qsim.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Mixture,
    PhaseType,
    Shifted,
    Weibull,
)
from qsim.engines import simulate, trace
from qsim.errors import NoEngineError, NoFormulaError, QsimError, SteadyStateError, UnstableQueueError
from qsim.metrics import Metrics
from qsim.models import (
    GG1,
    MD1,
    MG1,
    MM1,
    MM1K,
    Closed,
    Delay,
    GGc,
    MMc,
    MMcK,
    MMcN,
    Model,
    Open,
    Station,
)

__all__ = [
    "GG1",
    "MD1",
    "MG1",
    "MM1",
    "MM1K",
    "Closed",
    "Delay",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "GGc",
    "Gamma",
    "HyperExponential",
    "LogNormal",
    "MMc",
    "MMcK",
    "MMcN",
    "Metrics",
    "Mixture",
    "Model",
    "NoEngineError",
    "NoFormulaError",
    "Open",
    "PhaseType",
    "QsimError",
    "Shifted",
    "Station",
    "SteadyStateError",
    "UnstableQueueError",
    "Weibull",
    "asymptotic_bounds",
    "erlang_b",
    "erlang_c",
    "simulate",
    "solve",
    "trace",
]
