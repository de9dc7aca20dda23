"""Distributions of times: between arrivals, of service, of thinking.

Each is a frozen description: it knows its mean, its squared coefficient of variation (scv, the one number
that sets, with the load, how long queues get), its distribution function, and how to draw from it.  Times are
in any unit, as long as one model uses the same unit throughout.

>>> round(HyperExponential.from_moments(mean=2.0, scv=4.0).scv, 9)
4.0
"""

from qsim.distributions.base import Distribution
from qsim.distributions.continuous import BurrXII, Gamma, LogNormal, Weibull
from qsim.distributions.empirical import Empirical
from qsim.distributions.exponential import Deterministic, Erlang, Exponential, HyperExponential
from qsim.distributions.mixtures import Mixture, Shifted

__all__ = [
    "BurrXII",
    "Deterministic",
    "Distribution",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "LogNormal",
    "Mixture",
    "Shifted",
    "Weibull",
]
