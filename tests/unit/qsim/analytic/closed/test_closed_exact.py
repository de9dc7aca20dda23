"""Closed networks and classes at points that can be worked out by hand, and the pieces they are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_networks import Row, circling, passing
from seen import classes_of, schweitzer

from qsim import Closed, Delay, Deterministic, Exponential, NoFormulaError, Station, solve
from qsim.analytic.networks import mean_value

ONE, TWO = Exponential(1.0), Exponential(2.0)


# --- classes ----------------------------------------------------------------------------------------------------------


def test_a_class_that_does_not_come_is_not_listed() -> None:
    """Class a circles alone through the first station, b through the second: two single customers, never waiting."""
    stations = [Row([ONE, ONE], [1, 0]), Row([TWO, TWO], [0, 1])]
    model = circling([1, 1], stations, [3.0, 2.0])
    exact = solve(model)
    for r in (exact, schweitzer(model), mean_value.lattice(classes_of(model))):
        assert [c.throughput for c in r.classes] == pytest.approx([1 / 4, 1 / 4])
        assert [[c.name for c in s.classes] for s in r.stations] == [["class 1"], ["class 2"]]
        assert [s.utilization for s in r.stations] == pytest.approx([0.25, 0.5])
        assert [s.name for s in r.stations] == ["station 1", "station 2"]
        assert (r.utilization, r.L, r.Lq) == pytest.approx((0.5, 0.75, 0), abs=1e-9)
        assert math.isnan(r.p_wait)
    assert [s.p_wait for s in exact.stations] == pytest.approx([0, 0])
    assert exact.stations[0].p(1) == pytest.approx(0.25)


def test_probabilities_of_waiting_are_weighted_by_who_comes() -> None:
    """Two of a class that thinks for Z, one of another that thinks as long; all services 1: MMcN of 3 in all."""
    mixed = solve(circling([2, 1], [Row([ONE, ONE])], [4.0, 4.0]))
    whole = solve(Closed(3, [Delay(4.0), Station(ONE)]))
    assert mixed.p_wait == pytest.approx(whole.p_wait)
    assert [c.p_wait for c in mixed.classes] == pytest.approx([whole.p_wait] * 2)
    open_classes = solve(passing([0.3, 0.1], [Row([ONE, ONE]), Row([None, ONE], [0, 2])]))
    assert [s.p_wait for s in open_classes.stations] == pytest.approx([0.4, 0.2])
    assert [s.throughput for s in open_classes.stations] == pytest.approx([0.4, 0.2])
    assert math.isnan(open_classes.p_wait)
    assert [c.W for c in open_classes.classes] == pytest.approx([1 / 0.6, 1 / 0.6 + 2 / 0.8])


# --- mean values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "Z"), [(1, 0.0), (2, 0.0), (8, 1.0), (64, 100.0)])
def test_schweitzer_at_one_station_is_the_root_of_a_quadratic(N: int, Z: float) -> None:
    """W = 1 + (N-1)·W/(Z + W): W² + (Z - N)·W - Z = 0."""
    r = schweitzer(Closed(N, [Delay(Z), Station(ONE)]))
    W = max(np.roots([1, Z - N, -Z]).real)
    assert (r.W, r.throughput, r.L) == pytest.approx((W, N / (Z + W), N * W / (Z + W)), rel=1e-8)
    assert (r.Wq, r.utilization) == pytest.approx((W - 1, min(1, N / (Z + W))), abs=1e-8)
    assert r.method == mean_value.SCHWEITZER


def test_what_is_left_of_a_constant_service_is_half_of_it() -> None:
    """Two customers, no thinking, constant services: one is always in service, of which half is left."""
    r = mean_value.lattice(classes_of(Closed(2, [Delay(1.0), Station(Deterministic(1.0))])))
    # Alone: X = 1/2, U = 1/2. The second finds it busy with 1/2, half of a service left: W = 1 + 1/4.
    assert r.W == pytest.approx(1.25)
    assert r.throughput == pytest.approx(2 / 2.25)
    one = mean_value.lattice(classes_of(Closed(2, [Delay(1.0), Station(ONE)])))
    assert one.W == pytest.approx(1.5)
    own = mean_value.lattice(classes_of(Closed(2, [Delay(1.0), Station(ONE, 2, queues="random")])))
    assert own.W == pytest.approx(1.25)


def test_two_servers_are_all_busy_with_a_power_of_their_utilization() -> None:
    """Of n - 1 others: the exponent is 2 where they are two, and goes to √6 - 1."""
    present = busy = W = 0.0
    for n in range(1, 6):
        exponent = math.sqrt(6) - 1 + (3 - math.sqrt(6)) * 2 / max(n - 1, 1)
        blocked = (busy / 2) ** exponent if n > 2 else 0.0
        W = 1 + (present - busy + blocked) / 2
        present, busy = n * W / (3 + W), n / (3 + W)
    r = mean_value.lattice(classes_of(Closed(5, [Delay(3.0), Station(ONE, 2)])))
    assert r.W == pytest.approx(W)


def test_throughputs_stay_within_what_the_servers_can_do() -> None:
    for Z in (1.0, 0.0):
        r = schweitzer(Closed(50, [Delay(Z), Station(Deterministic(1.0), 4)]))
        assert r.throughput <= 4 * (1 + 1e-12)
        assert r.utilization == pytest.approx(1, abs=0.02)
        assert r.L + r.throughput * Z == pytest.approx(50)
    with pytest.raises(NoFormulaError, match="speeds"):
        schweitzer(Closed(3, [Station(ONE, speeds=(1.0, 2.0))]))


def test_the_times_at_a_station_of_a_network_are_those_of_what_arrivals_find() -> None:
    """Two customers and two stations of mean 1: the other one is here or there, so P(W > t) = e^-t·(1 + t/2)."""
    first, _ = solve(Closed(2, [Station(ONE), Station(ONE)])).stations
    assert (first.survival(2.0), first.survival(2.0, "Wq")) == pytest.approx((2 * math.exp(-2), math.exp(-2) / 2))
    own, _ = solve(Closed(2, [Station(ONE, 2, queues="random"), Station(ONE)])).stations
    with pytest.raises(ValueError, match="simulate"):
        own.survival(2.0)


def test_all_customers_at_one_station_keep_its_speed() -> None:
    """Three at speed 2, with services of 2: one leaves a time unit (Little)."""
    r = solve(Closed(3, [Station(Deterministic(2.0), speeds=(1.0, 2.0))]))
    assert (r.throughput, r.W, r.Wq, r.p_wait) == (1, 3, 2, 1)


def test_a_large_population_at_many_stations_is_refused_at_once() -> None:
    many = Closed(100_000, [Delay(10.0), *(Station(Exponential(0.5 + 0.001 * i)) for i in range(200))])
    with pytest.raises(NoFormulaError, match="more than ten seconds for this population"):
        solve(many)
