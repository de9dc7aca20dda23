"""Queueing theory: describe a queue once, solve it by formula or simulate it.

>>> from qsim import MM1, solve
>>> solve(MM1(arrival_rate=16, service_rate=20)).W
0.25

Nothing here knows of devices or files: rates and times are in whatever unit the caller uses throughout.
"""

from qsim.analytic import solve
from qsim.analytic.bounds import asymptotic_bounds
from qsim.analytic.mmc import erlang_b, erlang_c
from qsim.arrivals import ArrivalProcess, Batches, Geometric, MarkovModulated, OnOff, Trace
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
    MG1PS,
    MM1,
    MM1K,
    MX1,
    Closed,
    CustomerClass,
    Delay,
    GGc,
    MDc,
    MGc,
    MMc,
    MMcc,
    MMcK,
    MMcN,
    MMInf,
    Model,
    Open,
    OpenClasses,
    Station,
    Tandem,
)

__all__ = [
    "GG1",
    "MD1",
    "MG1",
    "MG1PS",
    "MM1",
    "MM1K",
    "MX1",
    "ArrivalProcess",
    "Batches",
    "Closed",
    "CustomerClass",
    "Delay",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "GGc",
    "Gamma",
    "Geometric",
    "HyperExponential",
    "LogNormal",
    "MDc",
    "MGc",
    "MMInf",
    "MMc",
    "MMcK",
    "MMcN",
    "MMcc",
    "MarkovModulated",
    "Metrics",
    "Mixture",
    "Model",
    "NoEngineError",
    "NoFormulaError",
    "OnOff",
    "Open",
    "OpenClasses",
    "PhaseType",
    "QsimError",
    "Shifted",
    "Station",
    "SteadyStateError",
    "Tandem",
    "Trace",
    "UnstableQueueError",
    "Weibull",
    "asymptotic_bounds",
    "erlang_b",
    "erlang_c",
    "simulate",
    "solve",
    "trace",
]
