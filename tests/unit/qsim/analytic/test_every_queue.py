"""What must hold for each formula: its states add up, its times have its moments, and units are only units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from class_networks import Flow, Row, both, circling, jackson, passing, queue_of
from scipy.integrate import quad_vec

from qsim import (
    Closed,
    Delay,
    Deterministic,
    Empirical,
    Erlang,
    Gamma,
    HyperExponential,
    LogNormal,
    Metrics,
    Mixture,
    Network,
    Open,
    Shifted,
    Station,
    solve,
)
from qsim import Exponential as Exp
from qsim.analytic.views import OpenQueue, open_queue

Built = Callable[[float], Network]
"""A model, given the unit of time."""

HISTOGRAM = Empirical((0.3, 0.6, 1.5), (3, 2, 1), (0.2, 0.0, 1.0))
SIZES = Mixture((Deterministic(0.4), Deterministic(1.3)), (0.8, 0.2))

OPEN: dict[str, Built] = {
    "M/M/1": lambda u: Open(Exp(u), Exp(0.6 * u)),
    "M/M/1 alone": lambda u: Open(Exp(u), Exp(0.6 * u), 1, 1),
    "M/M/1/4": lambda u: Open(Exp(u), Exp(1.6 * u), 1, 4),
    "M/M/3": lambda u: Open(Exp(u), Exp(1.6 * u), 3),
    "M/M/2/5": lambda u: Open(Exp(u), Exp(1.6 * u), 2, 5),
    "M/G/2/2": lambda u: Open(Exp(u), LogNormal(0.6 * u, 1.5), 2, 2),
    "M/D/1": lambda u: Open(Exp(u), Deterministic(0.6 * u)),
    "M/D/2": lambda u: Open(Exp(u), Deterministic(1.6 * u), 2),
    "M/H/1": lambda u: Open(Exp(u), HISTOGRAM.scaled(u)),
    "M/mix/1": lambda u: Open(Exp(u), Mixture((Shifted(Gamma(0.3 * u, 0.6), 0.2 * u), Exp(u)), (0.8, 0.2))),
    "M/E2/1": lambda u: Open(Exp(u), Erlang(2, 0.6 * u)),
    "E2/H2/1": lambda u: Open(Erlang(2, u), HyperExponential((0.4, 0.6), (1.0 * u, 0.5 * u))),
    "E2/E2/2": lambda u: Open(Erlang(2, u), Erlang(2, 1.2 * u), 2),
    "G/M/1": lambda u: Open(Gamma(u, 2.0), Exp(0.6 * u)),
    "speeds": lambda u: Open(Exp(u), Exp(0.9 * u), speeds=(1.0, 2.0)),
    "speeds, places": lambda u: Open(Exp(u), Exp(0.9 * u), 2, 5, speeds=(1.0, 1.5)),
    "PS": lambda u: Open(Exp(u), Exp(0.6 * u), discipline="PS"),
    "PS on 2": lambda u: Open(Exp(u), Exp(1.6 * u), 2, discipline="PS"),
    "PS on 2, places": lambda u: Open(Exp(u), Exp(1.6 * u), 2, 5, discipline="PS"),
    "PS, any law": lambda u: Open(Exp(u), Gamma(0.6 * u, 2.0), discipline="PS"),
    "LCFS-PR": lambda u: Open(Exp(u), Gamma(0.6 * u, 2.0), discipline="LCFS-PR"),
    "random": lambda u: Open(Exp(u), Erlang(2, 1.2 * u), 2, queues="random"),
    "in turn": lambda u: Open(Exp(u), Exp(1.2 * u), 2, queues="round-robin"),
    "M/E2/inf": lambda u: Open(Exp(u), Erlang(2, 0.6 * u), math.inf),
}

OTHERS: dict[str, Built] = {
    "G/M/2": lambda u: Open(Gamma(u, 2.0), Exp(1.6 * u), 2),
    "G/G/3": lambda u: Open(Gamma(u, 2.0), Gamma(2.5 * u, 0.5), 3),
    "SJF": lambda u: Open(Exp(u), SIZES.scaled(u), discipline="SJF"),
    "PSJF": lambda u: Open(Exp(u), SIZES.scaled(u), discipline="PSJF"),
    "SRPT": lambda u: Open(Exp(u), Gamma(0.6 * u, 2.0), discipline="SRPT"),
    "priorities": lambda u: queue_of(
        [Flow(Exp(4 * u), Exp(u), 0), Flow(Exp(4 * u), Erlang(2, 1.5 * u), 1)], priority="non-preemptive"
    ),
    "machines": lambda u: Closed(5, [Delay(4 * u), Station(Exp(1.5 * u), 2)]),
    "machines, places": lambda u: Closed(5, [Delay(4 * u), Station(Exp(1.5 * u), 2, capacity=3)]),
    "LCFS-PR on 2": lambda u: Open(Exp(u), Exp(1.6 * u), 2, discipline="LCFS-PR"),
    "interrupting": lambda u: queue_of([Flow(Exp(4 * u), Exp(u), i) for i in range(2)], 2, "preemptive-resume"),
    "shared by classes": lambda u: passing([0.2 / u, 0.1 / u], [Row([Exp(u), Gamma(2 * u, 3.0)], discipline="PS")]),
    "random queues": lambda u: Closed(5, [Delay(4 * u), Station(Exp(1.5 * u), 2, queues="random")]),
    "cycle": lambda u: Closed(5, [Delay(4 * u), Station(Exp(1.5 * u), 2), Station(Exp(0.7 * u), visits=2)]),
    "row": lambda u: jackson(0.5 / u, [Station(Exp(1.5 * u), 2), Station(Exp(0.7 * u), visits=2), Delay(4 * u)]),
    "closed classes": lambda u: circling(
        [2, 3], [Row([Exp(u), Exp(u)]), Row([Exp(0.5 * u), Exp(2 * u)], discipline="PS")], [3 * u, 5 * u]
    ),
    "unlike classes": lambda u: circling([2, 3], [Row([Exp(u), Exp(2 * u)])], [3 * u, 5 * u]),
    "open classes": lambda u: passing([0.2 / u, 0.1 / u], [Row([Exp(u), Gamma(2 * u, 3.0)])]),
    "mixed classes": lambda u: both([0.2 / u], [3], [Row([Exp(u), Exp(u)])], [5 * u]),
}


def moments(r: Metrics, of: str) -> tuple[float, float]:
    """Mean and variance of a time from its survival function, integrated over a logarithmic scale."""
    end = 1.5 * float(r.quantile(1 - 1e-9, of))

    def both(x: float) -> np.ndarray:
        t = end * math.exp(-x)
        return t * float(r.survival(t, of)) * np.array([1.0, 2 * t])

    first, second = quad_vec(both, 0.0, 20.0, epsabs=1e-7 * end**2, epsrel=1e-7, limit=400)[0]
    return first, second - first**2


METHODS = {
    "M/M/1 alone": "M/M/c/K",
    "M/G/2/2": "Erlang B",
    "speeds": "birth-death with speeds",
    "PS on 2, places": "processor sharing",
    "LCFS-PR": "preemptive last come first served, insensitive",
    "LCFS-PR on 2": "preemptive last come first served: the number",
    "row": "open network of product form",
    "shared by classes": "open network of several classes",
    "machines": "machine repairman",
    "machines, places": "M/M/c/K//N",
    "cycle": "product form, convolution",
    "closed classes": "product form of several classes",
}


@pytest.mark.parametrize(("name", "method"), METHODS.items())
def test_an_answer_names_its_formula(name: str, method: str) -> None:
    assert solve((OPEN | OTHERS)[name](1.0)).method.startswith(method)


@pytest.mark.parametrize("built", OPEN.values(), ids=OPEN)
def test_states_and_times_have_the_means_of_the_queue(built: Built) -> None:
    r = solve(built(1.0))
    if r.states is not None:
        p = np.array([r.p(n) for n in range(300)])
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
        assert p @ np.arange(300) == pytest.approx(r.L, rel=1e-6)
    assert r.L == pytest.approx(r.throughput * r.W, rel=1e-9) or r.p_block > 0
    for of, mean in (("W", r.W), ("Wq", r.Wq)):
        jumps = isinstance(getattr(r.model, "service", None), Deterministic) and of == "W"
        if mean > 0 and not jumps and r.times is not None:
            first, variance = moments(r, of)
            assert first == pytest.approx(mean, rel=3e-4)
            assert variance == pytest.approx(r.variance(of), rel=1e-3)
        if mean == 0 and r.times is not None:
            assert (r.quantile(0.9, of), r.survival(0.1, of), r.variance(of)) == (0, 0, 0)


@pytest.mark.parametrize("built", [*OPEN.values(), *OTHERS.values()], ids=[*OPEN, *OTHERS])
def test_customers_are_lost_or_busy_as_places_and_servers_say(built: Built) -> None:
    r = solve(built(1.0))
    loses = any(station.capacity is not None for station in r.model.stations.values())  # type: ignore[attr-defined]
    for part in parts(r):
        assert (part.p_block > 0) == loses
        assert math.isnan(part.p_wait) or -1e-12 <= part.p_wait <= 1
        assert math.isnan(part.utilization) or 0 <= part.utilization < 1
    seen = queue_of_answer(r)
    if seen is not None and seen.servers < math.inf:
        most = seen.servers if seen.speeds is None else max(seen.speeds)
        assert r.utilization == pytest.approx(r.throughput * seen.service.mean / most, rel=1e-9)


def queue_of_answer(r: Metrics) -> OpenQueue | None:
    """The one open station that was solved."""
    return open_queue(r.model)  # type: ignore[arg-type]


def parts(r: Metrics) -> Iterator[Metrics]:
    """The Metrics and all that it holds."""
    yield r
    for inner in (*r.stations, *r.classes):
        yield from parts(inner)


@pytest.mark.parametrize("built", [*OPEN.values(), *OTHERS.values()], ids=[*OPEN, *OTHERS])
def test_the_unit_of_time_changes_only_units(built: Built) -> None:
    for one, other in zip(parts(solve(built(1.0))), parts(solve(built(3.0))), strict=True):
        for name in ("utilization", "L", "Lq", "p_wait", "p_block"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-7, abs=1e-9, nan_ok=True)
        assert (other.W / 3, other.Wq / 3) == pytest.approx((one.W, one.Wq), rel=1e-7, abs=1e-9, nan_ok=True)
        assert 3 * other.throughput == pytest.approx(one.throughput, rel=1e-9)
        if one.times is not None:
            t = np.array([0.3, 1.1, 4.0])
            assert other.survival(3 * t) == pytest.approx(one.survival(t), abs=1e-5)
            assert other.quantile(0.9) / 3 == pytest.approx(one.quantile(0.9), rel=1e-4)
