"""Distributions of times out of the order of arrival, against formulas and the other way to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_networks import Flow as Coming
from class_networks import queue_of

from qsim import (
    BurrXII,
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    LogNormal,
    Open,
    Weibull,
    solve,
    wait_variance,
)
from qsim.analytic.times.delay_cycles import Flow, class_times

ONE = Exponential(1.0)
LAWS = [ONE, Erlang(3, 1.0), Gamma(1.0, 0.4), LogNormal(1.0, 2.0), Weibull(0.7, 1.0), Deterministic(1.0)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_one_class_alone_is_first_come(law: Distribution) -> None:
    known = solve(Open(Exponential(1.25), law))
    found = class_times(Flow(), Flow(0.8, law), Flow(), law, preemptive=False)
    for of in ("W", "Wq"):
        assert found.variance(of) == pytest.approx(known.variance(of))
        for t in (0.3, 2.0, 9.0):
            # Constant services put corners into the law, which the inversion rounds off.
            error = 1e-3 if isinstance(law, Deterministic) else 6e-5
            assert found.survival(t, of) == pytest.approx(known.survival(t, of), abs=error)


@pytest.mark.parametrize("law", [ONE, Erlang(2, 1.0), Gamma(1.0, 2.0)], ids=repr)
def test_last_come_has_the_variance_of_takacs(law: Distribution) -> None:
    r = solve(Open(Exponential(1.25), law, discipline="LCFS"))
    assert r.variance("Wq") == pytest.approx(wait_variance(0.8, law, "LCFS"), rel=1e-3)
    assert r.survival(0.0, "Wq") == pytest.approx(0.8)
    assert r.quantile(0.1, "Wq") == 0.0


def test_last_come_on_several_servers_waits_a_busy_period_of_all() -> None:
    one = solve(Open(Exponential(1 / 0.7), ONE, discipline="LCFS"))
    two = solve(Open(Exponential(1 / 1.4), ONE, 2, discipline="LCFS"))
    share = two.p_wait / one.p_wait
    for t in (0.2, 1.0, 5.0):  # the same wait of those who wait, on servers twice as fast together
        assert two.survival(t, "Wq") == pytest.approx(share * one.survival(2 * t, "Wq"), abs=1e-8)


def test_interrupted_service_responds_after_a_busy_period() -> None:
    r = solve(Open(Exponential(1 / 0.7), Erlang(2, 1.0), discipline="LCFS-PR"))
    assert r.variance() == pytest.approx((0.5 + 0.7) / 0.3**3, rel=1e-3)
    area = np.trapezoid(r.survival(np.linspace(0.0, 400.0, 8001)), dx=0.05)
    assert area == pytest.approx(r.W, rel=1e-3)


def test_processor_sharing_has_the_variance_of_coffman_muntz_and_trotter() -> None:
    r = solve(Open(Exponential(1.25), ONE, discipline="PS"))
    assert r.variance() == pytest.approx((2 + 0.8) / ((2 - 0.8) * 0.2**2), rel=1e-8)
    with pytest.raises(ValueError, match="law of Wq is not known"):
        r.quantile(0.5, "Wq")
    assert solve(Open(Exponential(1.25), Erlang(2, 1.0), discipline="PS")).times is None


@pytest.mark.parametrize("capacity", [None, 9])
@pytest.mark.parametrize("discipline", ["PS", "SIRO", "LCFS"])
def test_the_mean_of_the_law_is_the_mean(discipline: str, capacity: int | None) -> None:
    r = solve(Open(Exponential(1 / 1.6), ONE, 2, capacity, discipline))  # type: ignore[arg-type]
    if r.times is None:
        assert (discipline, capacity) == ("LCFS", 9)
        return
    t = np.linspace(0.0, 250.0, 10_001)
    assert np.trapezoid(r.survival(t), t) == pytest.approx(r.W, rel=1e-3)


def test_random_order_has_the_variance_of_kingman() -> None:
    r = solve(Open(Exponential(1.25), ONE, discipline="SIRO"))
    assert r.variance("Wq") == pytest.approx(wait_variance(0.8, ONE, "SIRO"), rel=1e-8)


@pytest.mark.parametrize("priority", ["none", "non-preemptive", "preemptive-resume"])
def test_the_laws_of_classes_have_their_means(priority: str) -> None:
    classes = [Coming(Exponential(4.0), law, i) for i, law in enumerate((ONE, Erlang(2, 1.5), Gamma(0.8, 3.0)))]
    whole = solve(queue_of(classes, priority=priority))  # type: ignore[arg-type]
    for part in whole.classes:
        t = np.linspace(0.0, 20.0, 401) ** 2 / 2
        for of, mean in (("W", part.W), ("Wq", part.Wq)):
            assert np.trapezoid(part.survival(t, of), t) == pytest.approx(mean, rel=2e-3)
            second = 2 * np.trapezoid(t * part.survival(t, of), t)
            assert part.variance(of) == pytest.approx(second - mean**2, rel=1e-2)
    share = sum(c.throughput / whole.throughput * c.survival(3.0) for c in whole.classes)
    assert whole.survival(3.0) == pytest.approx(share)


def test_the_first_class_under_preemption_is_alone() -> None:
    law = Gamma(1.0, 2.0)
    alone = solve(Open(Exponential(2.0), law))
    first = class_times(Flow(), Flow(0.5, law), Flow(0.4, ONE), law, preemptive=True)
    assert [first.survival(t, "W") for t in (0.5, 4.0)] == pytest.approx(alone.survival([0.5, 4.0]).tolist(), abs=5e-5)


def test_the_variance_over_unlike_classes_counts_how_far_their_means_are_apart() -> None:
    """M/M/1 in two ranks: E[W^2] is the mean over classes of theirs."""
    classes = [Coming(Exponential(2.5), Exponential(0.5), 0), Coming(Exponential(2.5), Exponential(1.5), 1)]
    r = solve(queue_of(classes, priority="preemptive-resume"))
    second = sum(0.5 * (part.variance("W") + part.W**2) for part in r.classes)
    assert r.variance("W") == pytest.approx(second - r.W**2, rel=1e-6)
    assert r.classes[1].W > 3 * r.classes[0].W


def test_the_variance_of_a_class_is_infinite_where_a_service_it_waits_for_has_no_third_moment() -> None:
    """Whoever waits for the rest of a service waits for its second moment; under preemption not for lower classes."""
    heavy, light = BurrXII(1.2, 2.0, 0.4), Exponential(0.4)
    assert math.isinf(heavy.moment(3))
    for preemptive in (False, True):
        for first, second, infinite in ((heavy, light, (True, True)), (light, heavy, (not preemptive, True))):
            classes = [Coming(Exponential(2.0), first, 0), Coming(Exponential(2.0), second, 1)]
            priority = "preemptive-resume" if preemptive else "non-preemptive"
            found = solve(queue_of(classes, priority=priority)).classes
            assert tuple(math.isinf(c.variance("Wq")) for c in found) == infinite, (preemptive, infinite)


def test_a_constant_service_that_may_be_interrupted_ends_no_sooner_and_often_just_then() -> None:
    """Who finds nobody and is not interrupted stays for D: with probability (1 - ρ)·e^(-λ₁D); others stay longer."""
    D = 1.6
    classes = [Coming(Exponential(4.0), Exponential(1.3), 0), Coming(Exponential(4.0), Deterministic(D), 1)]
    second = solve(queue_of(classes, priority="preemptive-resume")).classes[1]
    undisturbed = (1 - 1.3 / 4 - D / 4) * math.exp(-D / 4)
    assert second.survival(D * (1 - 1e-9)) == 1.0
    assert second.survival(D * (1 + 1e-9)) == pytest.approx(1 - undisturbed, abs=1e-6)
    beyond = [second.survival(D + t) for t in np.linspace(0.001, 3, 200)]
    assert (np.diff(beyond) < 1e-9).all()
    last_come = solve(Open(Exponential(2.0), Deterministic(1.0), discipline="LCFS-PR"))
    assert last_come.survival(1.0 - 1e-9) == 1.0
    assert last_come.survival(1.2) == pytest.approx(1 - math.exp(-0.5), abs=2e-3)
