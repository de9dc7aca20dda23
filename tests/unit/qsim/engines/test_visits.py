"""Visits are counts: twelve is twelve each time, and only "geometric:12" is drawn from a geometric law."""

from __future__ import annotations

import pytest

from qsim import Arrivals, Delay, Deterministic, Exponential, Network, Station, simulate, solve

BOTH = pytest.mark.parametrize("engine", ["compiled", "reference"])


def alone(visits, engine: str):
    """One client of a station with constant services of 1, simulated."""
    stations = {"users": Delay(50.0), "disk": Station(Deterministic(1.0), visits=visits)}
    return simulate(Network(stations, 1), customers=5000, seed=1, engine=engine)


@BOTH
def test_twelve_reads_of_one_time_unit_take_twelve(engine):
    r = alone(12, engine)
    assert r.interval("W") == (12.0, 12.0)
    assert r.quantile(0.99) == pytest.approx(12.0, rel=0.02)


@BOTH
def test_two_and_a_half_visits_are_two_or_three(engine):
    r = alone(2.5, engine)
    assert r.W == pytest.approx(2.5, rel=0.02)
    assert r.quantile(0.25) == pytest.approx(2.0, rel=0.02)
    assert r.quantile(0.99) == pytest.approx(3.0, rel=0.02)


@BOTH
def test_a_share_below_one_is_a_chance(engine):
    r = alone(0.3, engine)
    assert r.W == pytest.approx(0.3, rel=0.1)
    assert r.quantile(0.99) == pytest.approx(1.0, rel=0.02)


@BOTH
def test_a_geometric_number_is_asked_for(engine):
    r = alone("geometric:12", engine)
    low, high = r.interval("W")
    assert low < 12 < high
    exact = 50.0  # the least n with 1 - (11 / 12)^n >= 0.99 is 53; 50 leaves room for the simulation
    assert r.quantile(0.99) > exact


def test_both_engines_see_the_same_customers():
    stations = {
        "users": Delay(3.0),
        "cpu": Station(Exponential(0.2), servers=2, visits=3.4),
        "disk": Station(Exponential(0.5), visits={"read": 2, "write": "geometric:2.5"}, queues="random", servers=2),
    }
    model = Network(stations, {"read": 4, "write": Arrivals(0.1)})
    compiled, reference = (simulate(model, customers=3000, seed=7, engine=e) for e in ("compiled", "reference"))
    assert compiled.W == reference.W
    assert compiled["disk"].W == reference["disk"].W


@pytest.mark.parametrize("visits", [3, 2.5, "geometric:3"])
def test_means_are_those_of_product_form_however_visits_are_drawn(visits):
    model = Network({"disk": Station(Exponential(1.0), visits=visits)}, Arrivals(0.2))
    r = simulate(model, customers=200_000, seed=3)
    low, high = r.interval("W")
    assert low - 0.1 < solve(model).W < high + 0.1


def test_classes_have_counts_of_their_own():
    stations = {"disk": Station(Deterministic(1.0), visits={"one": 1, "five": 5})}
    r = simulate(Network(stations, {"one": Arrivals(1e-6), "five": Arrivals(1e-6)}), customers=2000, seed=1)
    assert r["five"].W == pytest.approx(5.0)
    assert r["one"].W == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("visits", "problem"),
    [
        ("twelve", 'write 12 for twelve each time, or "geometric:12"'),
        ("geometric:", "write 12 for twelve each time"),
        ("geometric:0.3", "must be at least 1, not 'geometric:0.3'"),
        (0, "must be positive"),
    ],
)
def test_what_is_no_number_of_visits_is_refused(visits, problem):
    with pytest.raises(ValueError, match=problem):
        Station(Exponential(1.0), visits=visits)
