"""Fork and join: each arrival brings a part to each of n servers, and leaves when the last part is done.

With Poisson arrivals and exponential parts, ρ = λ/μ and H(n) = 1 + 1/2 + ... + 1/n,

    W(2) = (12 - ρ)/8 · 1/(μ - λ)                                         exact
    W(n) = (H(n)/H(2) + 4/11·(1 - H(n)/H(2))·ρ) · W(2)                     approximation, exact as ρ falls to 0

Source: Flatto & Hahn (1984), SIAM J. Appl. Math. 44 (two servers); Nelson & Tantawi (1988), IEEE Trans. Computers 37,
"Approximate analysis of fork/join synchronization in parallel queues", eq. 3 and 18, from simulations up to n = 32.

>>> from qsim import Exponential, ForkJoin, solve
>>> solve(ForkJoin(arrival_rate=0.5, service=Exponential(1.0), servers=2)).W
2.875
"""

from __future__ import annotations

from qsim.analytic.devices import lone
from qsim.analytic.evidence import with_errors
from qsim.analytic.formula import Formula
from qsim.analytic.views import network
from qsim.distributions import Exponential
from qsim.metrics import Metrics
from qsim.models import Network

NAME = "Nelson-Tantawi"


def applies(model: Network) -> bool:
    """Poisson arrivals that split into exponential parts, in order of arrival."""
    node = lone.lone_node(model)
    return (
        node is not None
        and node.queues == "split"
        and node.servers > 1
        and node.discipline == "FCFS"
        and not node.remembers
        and isinstance(lone.service_of(model, node), Exponential)
    )


def solve(model: Network) -> Metrics:
    """Exact for two servers, else the approximation; what is waited for is beside the average part."""
    node = lone.lone_node(model)
    assert node is not None  # noqa: S101
    n, rate, S = int(node.servers), lone.arrival_rate(model), lone.service_of(model, node).mean
    rho = rate * S
    lone.require_stable(model, rho, 1)
    ratio = harmonic(n) / harmonic(2)
    W = (ratio + 4 / 11 * (1 - ratio) * rho) * (12 - rho) / 8 * S / (1 - rho)
    if n == 2:
        return lone.answer(model, W, S, rho, 1.0, "exact", "fork-join of two (Flatto & Hahn 1984)")
    return lone.answer(model, W, S, rho, 1.0, "approximation", with_errors(NAME, NAME))


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n: the mean of the longest of n exponential times of mean 1."""
    return sum(1 / i for i in range(1, n + 1))


FORMULA = Formula(network, applies, solve)
