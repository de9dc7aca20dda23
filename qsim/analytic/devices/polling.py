"""One server that goes round its classes, and takes some time from one to the next (polling).

Let X be how many of each class are there when the server comes to class i.  Each of those Xᵢ keeps it for a time in
which others come: a service where the visit ends with those it found (gated), a busy period of class i where it ends
when the class is empty (exhaustive).  Then it walks, and others come.  Both steps are linear in the means m and in the
second factorial moments F, so that once round is m = A·m + a and F = A·F·Aᵀ + Q, a Lyapunov equation.  Then

    exhaustive:  Wqᵢ = Fᵢᵢ/(2·λᵢ·mᵢ) + λᵢ·E[Sᵢ²]/(2(1 - ρᵢ))         gated:  Wqᵢ = (1 + ρᵢ)·Fᵢᵢ/(2·λᵢ·mᵢ)

Where it serves one at each visit (limited) no formula is known but for classes that are alike: the waits follow from
what is common to all, the work.

Source: Takagi (1986), Analysis of Polling Systems, chapters 4 and 5; Boxma & Groenendijk (1987), J. Applied Probability
24, "Pseudo-conservation laws in cyclic-service systems".

>>> from qsim import Deterministic, Exponential, Network, Node, solve
>>> ring = Node(Exponential(1.0), discipline="polling", turnaround=Deterministic(0.5))
>>> token_ring = Network({"ring": ring}, arrivals={name: {"ring": 0.2} for name in ("a", "b", "c", "d")})
>>> [round(station.Wq, 6) for station in solve(token_ring).classes]
[8.0, 8.0, 8.0, 8.0]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from qsim._types import FloatArray
from qsim.analytic.devices import lone
from qsim.analytic.formula import Formula
from qsim.analytic.networks import routed
from qsim.analytic.views import network
from qsim.distributions import Distribution
from qsim.metrics import Metrics
from qsim.models import Network, Node
from qsim.models.node import law_for
from qsim.models.routed import open_rates

METHOD = "polling, {} (Takagi 1986)"
ALIKE = "polling, limited, of classes that are alike (Boxma & Groenendijk 1987)"


@dataclass(frozen=True)
class Cycle:
    """What each class brings, and the way to it: mean and second moment; arrays of one number a class."""

    rates: FloatArray
    service: FloatArray
    service2: FloatArray
    way: FloatArray
    way2: FloatArray

    @property
    def rho(self) -> FloatArray:
        """The share of the time that each class keeps the server busy."""
        return self.rates * self.service

    @property
    def way_round(self) -> float:
        """The mean time that the server walks in a cycle."""
        return float(self.way.sum())


def applies(model: Network) -> bool:
    """One such server, always up, whose classes come once, in Poisson streams; those served one at a time all alike."""
    node = lone.lone_node(model, several=True)
    if node is None or node.discipline != "polling" or node.uptime or node.paces or node.speeds:
        return False
    return node.visits != "limited" or _alike(_cycle(model, node))


def solve(model: Network) -> Metrics:
    """Exact; ``classes`` holds each class."""
    node = lone.lone_node(model, several=True)
    assert node is not None  # noqa: S101
    cycle = _cycle(model, node)
    rho = float(cycle.rho.sum())
    lone.require_stable(model, rho, 1)
    if node.visits == "limited":
        per_cycle = cycle.rates.max() * cycle.way_round / (1 - rho)  # at most one is served in a cycle
        lone.require_stable(model, rho + (1 - rho) * per_cycle, 1)
        waits, method = _limited(cycle), ALIKE
    else:
        waits, method = _waits(cycle, node.visits == "gated"), METHOD.format(node.visits)
    metrics = routed.assemble(model, [open_rates(model)], (waits + cycle.service)[None], waits[None], "exact", method)
    return _with_p_wait(metrics, 1.0 if cycle.way_round else rho)


def _cycle(model: Network, node: Node) -> Cycle:
    rates = open_rates(model)[0]
    service = [node.service_of(c) for c in model.classes]
    ways = [law_for(node.turnaround, c) for c in model.classes]
    return Cycle(rates, *_moments(service), *_moments(ways))


def _moments(laws: list[Distribution | None]) -> tuple[FloatArray, FloatArray]:
    means = np.array([law.mean if law else 0.0 for law in laws])
    return means, np.array([(1 + law.scv) * law.mean**2 if law else 0.0 for law in laws])


def _alike(cycle: Cycle) -> bool:
    each = np.array([cycle.rates, cycle.service, cycle.service2, cycle.way, cycle.way2])
    return bool(np.allclose(each, each[:, :1], rtol=1e-9))


def _limited(cycle: Cycle) -> FloatArray:
    """From the mean amount of work, which the order of service does not change but for the ways."""
    rho, s = float(cycle.rho.sum()), cycle.way_round
    work = rho * (cycle.rates @ cycle.service2) / (2 * (1 - rho))
    if s > 0:
        second = s**2 + float((cycle.way2 - cycle.way**2).sum())
        work += rho * second / (2 * s) + s * (rho**2 + (cycle.rho @ cycle.rho)) / (2 * (1 - rho))
    counts = cycle.rho @ (1 - cycle.rates * s / (1 - rho))
    return np.full(cycle.rates.size, work / counts)


def _waits(cycle: Cycle, gated: bool) -> FloatArray:
    """Waits of each class, by the moments of how many the server finds."""
    from scipy.linalg import solve_discrete_lyapunov

    n, rho = cycle.rates.size, cycle.rho
    some = bool(cycle.way_round)  # else the limit of short ways, whose squares vanish
    if not some:
        cycle = replace(cycle, way=np.full(n, 1.0), way2=np.zeros(n))
    A, a = np.eye(n), np.zeros(n)
    for i in range(n):
        M, walked, _ = _visit(cycle, i, gated)
        A, a = M @ A, M @ a + walked
    m = np.asarray(np.linalg.solve(np.eye(n) - A, a), np.float64)
    *_, (_, Q) = _round(cycle, m, np.zeros((n, n)), gated, some)
    F = np.asarray(solve_discrete_lyapunov(A, Q), np.float64)
    found = [(m[i], F[i, i]) for i, (m, F) in enumerate(_round(cycle, m, F, gated, some)) if i < n]
    number, pairs = np.array(found).T
    there: FloatArray = pairs / (2 * cycle.rates * number)
    return there * (1 + rho) if gated else there + cycle.rates * cycle.service2 / (2 * (1 - rho))


def _visit(cycle: Cycle, i: int, gated: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Class i is served, and the server walks on: m becomes M·m + walked; pairs who come while one is served."""
    n, rho = cycle.rates.size, cycle.rho[i]
    kept, kept2 = cycle.service[i], cycle.service2[i]
    comes = cycle.rates.copy()
    if not gated:
        kept, kept2, comes[i] = kept / (1 - rho), kept2 / (1 - rho) ** 3, 0.0
    M = np.eye(n)
    M[:, i] = comes * kept
    return M, cycle.rates * cycle.way[(i + 1) % n], np.outer(comes, comes) * kept2


def _round(
    cycle: Cycle, m: FloatArray, F: FloatArray, gated: bool, squares: bool
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The moments of what the server finds at each class, once round, and at the first again."""
    n = cycle.rates.size
    for i in range(n):
        yield m, F
        M, walked, pairs = _visit(cycle, i, gated)
        F = M @ F @ M.T + m[i] * pairs
        m = M @ m
        if squares:
            cross = np.outer(m, walked)
            F = F + cross + cross.T + np.outer(cycle.rates, cycle.rates) * cycle.way2[(i + 1) % n]
        m = m + walked
    yield m, F


def _with_p_wait(metrics: Metrics, p_wait: float) -> Metrics:
    stations, classes = (tuple(_with_p_wait(m, p_wait) for m in each) for each in (metrics.stations, metrics.classes))
    return replace(metrics, p_wait=p_wait, stations=stations, classes=classes)


FORMULA = Formula(network, applies, solve)
