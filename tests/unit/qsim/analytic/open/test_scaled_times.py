"""Formulas in another unit of time: W scales with the service time, shares do not. And the small print of some."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_networks import Flow, queue_of

from qsim import MG1, Deterministic, Erlang, Exponential, HyperExponential, MDc, MMc, MMInf, Open, solve
from qsim.analytic.open.arrivals_during import more_than
from qsim.analytic.open.gimc import sigma
from qsim.distributions import Shifted


@pytest.mark.parametrize("unit", [0.05, 7.0])
@pytest.mark.parametrize("of", ["W", "Wq"])
def test_quantiles_of_a_phase_type_service_scale_with_it(unit, of):
    one, other = (solve(MG1(0.6 / s, HyperExponential((0.3, 0.7), (2 * s, 0.4 / 0.7 * s)))) for s in (1.0, unit))
    assert other.quantile(0.95, of=of) == pytest.approx(unit * one.quantile(0.95, of=of), rel=1e-6)
    assert other.Wq == pytest.approx(unit * one.Wq)


def test_what_is_not_lost_gets_through_general_arrivals():
    """GI/M/c/c: throughput is what arrives and is not lost; of M/M/2/2 at one erlang a fifth is lost."""
    found = solve(Open(Erlang(1, mean=1.0), Exponential(1.0), servers=2, capacity=2))
    assert found.p_block == pytest.approx(0.2)
    assert found.throughput == pytest.approx(0.8)
    regular = solve(Open(Deterministic(1.0), Exponential(1.0), servers=1, capacity=1))
    assert regular.p_block == pytest.approx(math.exp(-1))  # the one service is still on when the next comes
    assert regular.throughput == pytest.approx(1 - math.exp(-1))


def test_arrivals_during_a_constant_and_an_exponential_part():
    """More than n arrivals in 0.5 and an exponential of mean 2 at rate 0.8, summed by hand for n = 0 and 1."""
    a, b = 0.8 * 0.5, 0.8 * 2
    none_in_constant, none_in_other = math.exp(-a), 1 / (1 + b)
    one = a * math.exp(-a) * none_in_other + none_in_constant * b / (1 + b) ** 2
    found = more_than(Shifted(Exponential(2.0), 0.5), 0.8, 1)
    assert found == pytest.approx([1 - none_in_constant * none_in_other, 1 - none_in_constant * none_in_other - one])


def test_the_tail_of_constant_service_falls_evenly():
    """M/D/2 at 1.6 erlangs far in the tail: it falls geometrically, by 1/tau a place (Crommelin)."""
    found = solve(MDc(1.6, 1.0, servers=2))
    far = [found.quantile(q, of="Wq") for q in (1 - 1e-4, 1 - 1e-6, 1 - 1e-8)]
    assert np.diff(far)[1] == pytest.approx(np.diff(far)[0], rel=0.02)


def test_nobody_waits_for_endless_servers():
    found = solve(MMInf(2.0, 1.0))
    assert (found.quantile(0.99, "Wq"), found.survival(0.1, "Wq"), found.variance("Wq")) == (0, 0, 0)
    assert found.survival(1.5) == pytest.approx(math.exp(-1.5))


@pytest.mark.parametrize("priority", ["non-preemptive", "preemptive-resume"])
def test_only_under_preemption_is_the_first_class_alone(priority):
    """Two classes of unlike means on two servers: an approximation, but for who notices nobody else."""
    classes = [Flow(Exponential(2.0), Exponential(1.0), 0), Flow(Exponential(2.0), Exponential(2.0), 1)]
    first = solve(queue_of(classes, servers=2, priority=priority)).classes[0]
    alone = solve(MMc(0.5, 1.0, 2))
    if priority == "preemptive-resume":
        assert (first.kind, first.W) == ("exact", pytest.approx(alone.W))
    else:
        assert first.kind == "approximation"
        assert first.W > 1.1 * alone.W


@pytest.mark.parametrize("above", [1e-3, 1e-4, 3e-5, 1e-5, 1e-6, 1e-8])
def test_the_root_of_erlang_arrivals_near_saturation(above):
    """(1 - x)(1 + r x / 2)^2 = 1 for x = 1 - sigma: a quadratic."""
    r = 1 + above
    b = r - r**2 / 4
    exact = 2 * (r - 1) / (b + math.sqrt(b**2 + r**2 * (r - 1)))
    assert 1 - sigma(Erlang(2, 1.0), r) == pytest.approx(exact, rel=3e-8)
