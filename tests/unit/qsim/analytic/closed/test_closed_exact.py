"""Closed networks and classes at points that can be worked out by hand, and the pieces they are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_networks import Row, both, circling, passing
from seen import classes_of

from qsim import (
    Closed,
    Delay,
    Deterministic,
    Exponential,
    Network,
    NoFormulaError,
    Station,
    UnstableQueueError,
    asymptotic_bounds,
    balanced_bounds,
    closed_curve,
    geometric_bounds,
    largest_population,
    proportional_bounds,
    schweitzer,
    solve,
)
from qsim.analytic.closed import classes, mean_value, normalizing, populations, repairman
from qsim.analytic.closed.normalizing import Centre

ONE, TWO = Exponential(1.0), Exponential(2.0)


# --- classes ----------------------------------------------------------------------------------------------------------


def test_one_customer_of_each_class_worked_by_hand() -> None:
    """Both share one server (PS), services 1 and 2: G = D1·D2·2, and each alone is served at half speed.

    Alone at the station a class would be there always; together each has X = 1/(S·2), so W = 2 S.
    """
    r = solve(circling([1, 1], [Row([ONE, TWO], discipline="PS", name="s")], names=("a", "b")))
    assert [c.throughput for c in r.classes] == pytest.approx([0.5, 0.25])
    assert [c.W for c in r.classes] == pytest.approx([2, 4])
    assert [c.Wq for c in r.classes] == pytest.approx([1, 2])
    assert [c.utilization for c in r.classes] == pytest.approx([0.5, 0.5])
    assert [c.L for c in r.classes] == pytest.approx([1, 1])
    assert [c.name for c in r.classes] == ["a", "b"]
    assert (r.throughput, r.utilization, r.L, r.W) == pytest.approx((0.75, 1, 2, 2 / 0.75))
    assert math.isnan(r.p_wait)
    assert [r.p(n) for n in range(3)] == pytest.approx([0, 0, 1])
    assert r.stations == ()
    assert r["s"] is r


def test_a_class_that_does_not_come_is_not_listed() -> None:
    """Class a circles alone through the first station, b through the second: two single customers, never waiting."""
    stations = [Row([ONE, ONE], [1, 0]), Row([TWO, TWO], [0, 1])]
    for model in (circling([1, 1], stations, [3.0, 2.0]),):
        for r in (solve(model), schweitzer(model), mean_value.lattice(classes_of(model))):
            assert [c.throughput for c in r.classes] == pytest.approx([1 / 4, 1 / 4])
            assert [[c.name for c in s.classes] for s in r.stations] == [["class 1"], ["class 2"]]
            assert [s.utilization for s in r.stations] == pytest.approx([0.25, 0.5])
            assert [s.name for s in r.stations] == ["station 1", "station 2"]
            assert (r.utilization, r.L, r.Lq) == pytest.approx((0.5, 0.75, 0), abs=1e-9)
            assert math.isnan(r.p_wait)
    exact = solve(circling([1, 1], stations, [3.0, 2.0]))
    assert [s.p_wait for s in exact.stations] == pytest.approx([0, 0])
    assert exact.stations[0].p(1) == pytest.approx(0.25)


def test_probabilities_of_waiting_are_weighted_by_who_comes() -> None:
    """Two of a class that thinks for Z, one of another that thinks as long; all services 1: MMcN of 3 in all."""
    mixed = solve(circling([2, 1], [Row([ONE, ONE])], [4.0, 4.0]))
    whole = solve(Closed(3, [Delay(4.0), Station(ONE)]))
    assert mixed.p_wait == pytest.approx(whole.p_wait)
    assert [c.p_wait for c in mixed.classes] == pytest.approx([whole.p_wait] * 2)
    assert mixed.p_wait == pytest.approx(whole.p_wait)
    open_classes = solve(passing([0.3, 0.1], [Row([ONE, ONE]), Row([None, ONE], [0, 2])]))
    assert [s.p_wait for s in open_classes.stations] == pytest.approx([0.4, 0.2])
    assert [s.throughput for s in open_classes.stations] == pytest.approx([0.4, 0.2])
    assert math.isnan(open_classes.p_wait)
    assert [c.W for c in open_classes.classes] == pytest.approx([1 / 0.6, 1 / 0.6 + 2 / 0.8])


def test_open_classes_by_pollaczek_and_khinchine() -> None:
    """Constant services of 1 and 2 at rates 0.2 and 0.1: backlog (0.2 + 0.4)/2, so Wq = 0.3/0.6 = 0.5."""
    station = Row([Deterministic(1.0), Deterministic(2.0)])
    r = solve(passing([0.2, 0.1], [station]))
    assert (r.kind, [c.Wq for c in r.classes]) == ("exact", pytest.approx([0.5, 0.5]))
    assert [c.p_wait for c in r.classes] == pytest.approx([0.4, 0.4])
    twice = solve(passing([0.1, 0.05], [Row([Deterministic(1.0), Deterministic(2.0)], [2, 2])]))
    assert (twice.kind, [c.Wq for c in twice.classes]) == ("approximation", pytest.approx([1, 1]))
    behind = solve(passing([0.2, 0.1], [station, Row([ONE, ONE], discipline="PS")]))
    assert (behind.kind, behind.stations[0].Wq) == ("approximation", pytest.approx(0.5))
    spread = solve(passing([0.4, 0.2], [Row([Deterministic(1.0), Deterministic(2.0)], servers=2, queues="random")]))
    assert [c.Wq for c in spread.classes] == pytest.approx([0.5, 0.5])
    with pytest.raises(UnstableQueueError, match="M/D/1, 2 classes is"):
        solve(passing([0.6, 0.2], [station]))


def test_a_mixed_network_stretches_the_closed_services() -> None:
    """The open class uses half: the closed one, alone, is served at half speed; the open one finds it always there."""
    r = solve(both([0.5], [1], [Row([ONE, Exponential(3.0)], discipline="PS")], [4.0]))
    assert [c.throughput for c in r.classes] == pytest.approx([0.5, 0.1])
    assert [c.W for c in r.classes] == pytest.approx([(1 + 0.6) / 0.5, 6])
    assert r.utilization == pytest.approx(0.8)
    with pytest.raises(UnstableQueueError, match="station 1"):
        solve(both([1.0], [1], [Row([ONE, ONE])]))


@pytest.mark.parametrize(
    ("station", "holds"),
    [
        (Row([ONE, ONE]), True),
        (Row([ONE, TWO]), False),
        (Row([ONE, TWO], [1, 0]), True),
        (Row([ONE, None], [1, 0]), True),
        (Row([ONE, Deterministic(1.0)]), False),
        (Row([ONE, Deterministic(2.0)], discipline="PS", servers=3), True),
        (Row([ONE, TWO], discipline="LCFS-PR"), True),
        (Row([ONE, TWO], discipline="LCFS-PR", servers=2), False),
        (Row([ONE, ONE], discipline="LCFS-PR", servers=2), True),
    ],
)
def test_product_form_of_classes(station: Row, holds: bool) -> None:
    names = [str(i) for i in range(len(station.services))]
    coming = {c: 1 for c, v in zip(names, station.visits or [1] * len(names), strict=True) if v}
    (seen,) = classes_of(Network({"s": station.station(names)}, coming)).stations
    assert classes.has_product_form(seen) is holds


# --- mean values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "Z"), [(1, 0.0), (2, 0.0), (8, 1.0), (64, 100.0)])
def test_schweitzer_at_one_station_is_the_root_of_a_quadratic(N: int, Z: float) -> None:
    """W = 1 + (N-1)·W/(Z + W): W² + (Z - N)·W - Z = 0."""
    r = schweitzer(Closed(N, [Delay(Z), Station(ONE)]))
    W = max(np.roots([1, Z - N, -Z]).real)
    assert (r.W, r.throughput, r.L) == pytest.approx((W, N / (Z + W), N * W / (Z + W)), rel=1e-8)
    assert (r.Wq, r.utilization) == pytest.approx((W - 1, min(1, N / (Z + W))), abs=1e-8)
    assert r.method == mean_value.SCHWEITZER


def test_the_method_names_several_servers_with_one_queue() -> None:
    two, random = Station(ONE, 2), Station(ONE, 2, queues="random")
    assert schweitzer(Closed(4, [Delay(1.0), two])).method.endswith(mean_value.SERVERS)
    assert not schweitzer(Closed(4, [Delay(1.0), random])).method.endswith(mean_value.SERVERS)
    for station, kind in (
        (two, "approximation"),
        (random, "exact"),
        (Station(ONE), "exact"),
        (Station(Deterministic(1.0)), "approximation"),
        (Station(Deterministic(1.0), discipline="PS"), "exact"),
    ):
        assert mean_value.lattice(classes_of(Closed(4, [Delay(1.0), station]))).kind == kind


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


def test_all_servers_are_busy_by_powers_between_two_limits() -> None:
    net = mean_value._network(classes_of(Closed(9, [Station(ONE, 4)])))

    def busy(in_service: float, others: float) -> float:
        return float(net._all_busy(np.full((1, 1, 1), in_service), np.array([others])).item())

    assert busy(2.0, 3) == 0  # fewer others than servers
    assert busy(2.0, 4) == pytest.approx(0.5**4)
    many = math.sqrt(10) - 1
    assert busy(2.0, 8) == pytest.approx(0.5 ** ((4 + many) / 2))
    assert busy(2.0, 1e12) == pytest.approx(0.5**many)
    assert busy(9.0, 9) == 1


def test_throughputs_stay_within_what_the_servers_can_do() -> None:
    for Z in (1.0, 0.0):
        r = schweitzer(Closed(50, [Delay(Z), Station(Deterministic(1.0), 4)]))
        assert r.throughput <= 4 * (1 + 1e-12)
        assert r.utilization == pytest.approx(1, abs=0.02)
        assert r.L + r.throughput * Z == pytest.approx(50)
    with pytest.raises(NoFormulaError, match="speeds"):
        schweitzer(Closed(3, [Station(ONE, speeds=(1.0, 2.0))]))
    with pytest.raises(NoFormulaError, match="limited places"):
        schweitzer(Closed(3, [Delay(1.0), Station(ONE, capacity=2)]))


# --- normalising constants --------------------------------------------------------------------------------------------


def constants(Z: float, N: int, *centres: Centre) -> list[float]:
    found: list[float] = np.exp(normalizing.constant(normalizing.empty_network([Z], (N,)), centres)).tolist()
    return found


def test_constants_worked_by_hand() -> None:
    assert constants(0, 3, Centre((2.0,))) == pytest.approx([1, 2, 4, 8])
    assert constants(3, 3) == pytest.approx([1, 3, 4.5, 4.5])
    assert constants(0, 3, Centre((2.0,), (1.0, 2.0))) == pytest.approx([1, 2, 2, 2])
    assert constants(0, 3, Centre((2.0,), (1.0, 2.0, 3.0))) == pytest.approx([1, 2, 2, 8 / 6])
    assert constants(1, 2, Centre((2.0,))) == pytest.approx([1, 3, 4 + 2 + 0.5])
    assert constants(0, 200, Centre((1.0,)), Centre((1.0,)))[199] == pytest.approx(200)
    long = constants(0, 200, Centre((1.0,), (1.0, 2.0)))
    assert long[200] == pytest.approx(2.0**-199)
    both = normalizing.constant(normalizing.empty_network([0.0, 0.0], (2, 1)), [Centre((2.0, 3.0))])
    # (n1 + n2)!/(n1! n2!)·2^n1·3^n2
    np.testing.assert_allclose(np.exp(both), [[1, 3], [2, 12], [4, 36]], rtol=1e-12)
    some = normalizing.constant(normalizing.empty_network([1.0, 0.0], (2, 1)), [Centre((0.0, 3.0))])
    np.testing.assert_allclose(np.exp(some), [[1, 3], [1, 3], [0.5, 1.5]], rtol=1e-12)


def test_each_rest_is_the_network_without_that_station() -> None:
    centres = [Centre((1.0,)), Centre((2.0,), (1.0, 2.0)), Centre((0.5,))]
    start = normalizing.empty_network([1.5], (6,))
    for i, rest in enumerate(normalizing.without_each(start, centres)):
        wanted = normalizing.constant(start, centres[:i] + centres[i + 1 :])
        assert rest == pytest.approx(wanted)
        present = normalizing.present(centres[i], rest, [4])
        whole = np.exp(normalizing.constant(start, centres))
        weights = np.exp(normalizing.weights(centres[i], (5,)))
        assert present == pytest.approx(weights * np.exp(rest[:5][::-1]) / whole[4])
    assert normalizing.without_each(start, []) == []


def test_speeds_shares_and_costs_of_a_station() -> None:
    two = normalizing.servers((3.0,), 2, 5)
    assert (two.speeds, two.shares) == ((1, 2), (1.5,))
    assert two.speed(np.array([1, 2, 9])).tolist() == [1, 2, 2]
    assert normalizing.servers((3.0,), 9, 2).speeds == (1, 2)
    assert two.in_units_of(2.0).demands == (1.5,)
    random = normalizing.random_queues((3.0,), 2, 3)
    assert (random.speeds, random.queues) == (pytest.approx((1, 4 / 3, 6 / 4)), 2)
    assert normalizing.random_queues((3.0,), 1, 3) == Centre((3.0,))
    seen = np.array([0.5, 0.25, 0.125, 0.125])
    assert two.p_wait(seen) == 0.25
    assert Centre((3.0,)).p_wait(seen) == 0.5
    assert random.p_wait(seen) == pytest.approx(0.25 / 2 + 0.125 * 2 / 3 + 0.125 * 3 / 4)
    assert normalizing.convolution_terms(Centre((1.0,)), (10,)) == 10
    assert normalizing.convolution_terms(two, (10,)) == 20
    assert normalizing.convolution_terms(two, (3, 4)) == 3 * 12
    assert normalizing.time_unit([4], [2.0], [two]) == pytest.approx(1.5)  # the bottleneck's 3/2
    assert normalizing.time_unit([4], [20.0], [two]) == pytest.approx(21.5 / 4)  # a cycle over the population
    assert normalizing.time_unit([4], [20.0], []) == pytest.approx(5)
    assert normalizing.time_unit([1, 3], [8.0, 4.0], [Centre((2.0, 1.0))]) == pytest.approx((10 + 3 * 5) / 4 / 4)


def test_the_curve_of_a_network_is_its_solutions() -> None:
    network = [Delay(2.0), Station(ONE, 2, visits=2), Station(Exponential(0.7)), Station(ONE, speeds=(1.0, 1.5))]
    found = closed_curve(Closed(1, network), [1, 3, 7])
    for i, N in enumerate((1, 3, 7)):
        r = solve(Closed(N, network))
        assert (found.throughput[i], found.response_time[i], found.waiting_time[i]) == pytest.approx(
            (r.throughput, r.W, r.Wq), rel=1e-9
        )
    assert found.population.tolist() == [1, 3, 7]
    with pytest.raises(ValueError, match="product form"):
        closed_curve(Closed(1, [Station(Deterministic(1.0))]), 3)


def test_a_network_of_delays_and_two_stations_worked_by_hand() -> None:
    """Two customers, Z = 1, demands 1 and 2: G(0..2) = 1, 4, 1/2 + 3 + 7 = 10.5; X = G(1)/G(2)."""
    r = solve(Closed(2, [Delay(1.0), Station(ONE), Station(ONE, visits=2)]))
    assert r.throughput == pytest.approx(4 / 10.5)
    assert [s.utilization for s in r.stations] == pytest.approx([4 / 10.5, 8 / 10.5])
    # L1 = D·G(1)/G(2) + D²·G(0)/G(2); nobody present: Z²/2 of 10.5; one: 1·3; two: 7.
    assert [s.L for s in r.stations] == pytest.approx([5 / 10.5, 12 / 10.5])
    assert [r.p(n) for n in range(4)] == pytest.approx([0.5 / 10.5, 3 / 10.5, 7 / 10.5, 0])
    assert [r.stations[1].p(n) for n in range(3)] == pytest.approx([2.5 / 10.5, 4 / 10.5, 4 / 10.5])
    assert [s.p_wait for s in r.stations] == pytest.approx([1 / 4, 2 / 4])
    assert r.L + r.throughput == pytest.approx(2)


def test_few_at_several_queues_of_their_own() -> None:
    """Three customers at two queues, evenly over the four arrangements."""
    from qsim.analytic.closed.network import _at_least

    assert _at_least(np.array([0.0, 0.0, 1.0]), 2) == pytest.approx((1, 2 / 3, 1 / 3))
    assert _at_least(np.array([0.0, 1.0]), 3) == pytest.approx((1, 1 / 3))


def test_random_routing_of_two_customers() -> None:
    """W(1) = 1; the second meets it at one of two servers: W(2) = 1 + X(1)·1/2."""
    r = solve(Closed(2, [Delay(1.0), Station(ONE, 2, queues="random")]))
    assert (r.W, r.p_wait) == pytest.approx((1.25, 0.25))
    assert (r.throughput, r.utilization) == pytest.approx((2 / 2.25, 1 / 2.25))
    assert populations.own_queues_curve([1, 2], 1.0, 1.0, 2).waiting_time == pytest.approx([0, 0.25])
    many = populations.own_queues_throughputs([1, 2], np.array([1.0, 0.0]), 1.0, 2)
    np.testing.assert_allclose(many, [[0.5, 2 / 2.25], [1.0, 2 / 1.5]])
    # P(Wq > t) = e^-t/4.
    assert r.quantile(0.875, "Wq") == pytest.approx(math.log(2))
    assert r.quantile(0.75, "Wq") == 0
    assert solve(Closed(1, [Station(ONE, 2, queues="random")])).p_wait == 0


def test_the_repairman_worked_by_hand() -> None:
    """Three customers, Z = 2, S = 1: p ~ 1, 3/2, 3/2, 3/4 on one server and 1, 3/2, 3/4, 3/16 on two."""
    for c, weights in ((1, [1, 1.5, 1.5, 0.75]), (2, [1, 1.5, 0.75, 0.1875])):
        p = np.array(weights) / sum(weights)
        X = p @ np.minimum(np.arange(4), c)
        Lq = p @ np.maximum(np.arange(4) - c, 0)
        r = solve(Closed(3, [Delay(2.0), Station(ONE, c)]))
        assert (r.throughput, r.Lq, r.utilization, r.Wq) == pytest.approx((X, Lq, X / c, Lq / X))
        assert [r.p(n) for n in range(5)] == pytest.approx([*p, 0])
        curve = populations.one_queue_curve(3, 2.0, 1.0, c)
        assert (curve.throughput[2], curve.waiting_time[2]) == pytest.approx((X, Lq / X))
        assert populations.one_queue_throughputs([3], np.array([2.0]), 1.0, c)[0, 0] == pytest.approx(X)
    assert repairman.state_probabilities(2, 0.0, 1.0).tolist() == [0, 0, 1]
    assert repairman.state_probabilities(0, 1.0, 1.0).tolist() == [1]
    assert populations.one_queue_curve([4], 0.0, 0.5, 2).throughput.tolist() == [4.0]
    limited = solve(Closed(3, [Delay(2.0), Station(ONE, capacity=2)]))
    p = np.array([1, 1.5, 1.5]) / 4
    assert (limited.throughput, limited.Lq) == pytest.approx((0.75, 0.375))
    assert [limited.p(n) for n in range(4)] == pytest.approx([*p, 0])
    # An arrival finds what there is with two customers: 1, 1, 1/2.
    assert (limited.p_block, limited.p_wait) == pytest.approx((0.2, 0.5))


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_bounds_worked_by_hand() -> None:
    b = asymptotic_bounds([1, 8], 1.0, [1.0, 2.0], [1, 4])
    assert (b.knee, b.throughput_high.tolist()) == (4.0, pytest.approx([0.25, 1.0]))
    assert b.throughput_low.tolist() == pytest.approx([1 / 4, 8 / 25])
    assert b.response_time_low.tolist() == pytest.approx([3, 7])
    assert b.response_time_high.tolist() == pytest.approx([3, 24])
    assert largest_population(7.0, 1.0, [1.0, 2.0], [1, 4]) == pytest.approx(8)
    with pytest.raises(ValueError, match="servers must have as many entries as demands"):
        asymptotic_bounds([1], 1.0, [1.0, 2.0], [1])


@pytest.mark.parametrize("Z", [0.0, 3.0])
@pytest.mark.parametrize("demands", [[1.0, 2.0], [1.0, 1.0, 1.0], [0.1, 0.5, 2.0, 2.0]])
def test_bounds_hold_and_the_tighter_ones_lie_within(demands: list[float], Z: float) -> None:
    populations = [1, 2, 3, 7, 20]
    exact = closed_curve(Closed(1, [Delay(Z), *(Station(Exponential(d)) for d in demands)]), populations)
    outer = asymptotic_bounds(populations, Z, demands)
    for bounds in (balanced_bounds, proportional_bounds, geometric_bounds):
        b = bounds(populations, Z, demands)
        assert (b.throughput_low <= exact.throughput * (1 + 1e-9)).all()
        assert (b.throughput_high >= exact.throughput * (1 - 1e-9)).all()
        assert (b.throughput_low >= outer.throughput_low * (1 - 1e-9)).all()
        assert b.response_time_low == pytest.approx(np.array(populations) / b.throughput_high - Z)
        assert b.knee == pytest.approx((Z + sum(demands)) / max(demands))
        if bounds is not geometric_bounds:
            assert (b.throughput_high <= outer.throughput_high * (1 + 1e-9)).all()
    if len(set(demands)) == 1 and Z == 0:  # balanced: N/(N + M - 1)/D
        alike = np.array(populations) / (np.array(populations) + len(demands) - 1) / demands[0]
        for bounds in (balanced_bounds, proportional_bounds, geometric_bounds):
            assert bounds(populations, Z, demands).throughput_low == pytest.approx(alike)


def test_a_large_population_at_many_stations_is_refused_at_once() -> None:
    many = Closed(100_000, [Delay(10.0), *(Station(Exponential(0.5 + 0.001 * i)) for i in range(200))])
    with pytest.raises(NoFormulaError, match="more than ten seconds for so many"):
        solve(many)
