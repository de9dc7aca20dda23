"""Networks fed from outside, and mixed ones, against the Markov chains they are."""

from __future__ import annotations

import pytest
from class_networks import Row, both, jackson, passing
from markov_chains import Moves, stationary

from qsim import Delay, Exponential, MMc, NoFormulaError, Station, UnstableQueueError, solve


def test_traffic_equations() -> None:
    # A tandem with feedback: a third of those leaving the second station come back to the first.
    network = jackson([2.0, 0.0], [Station(Exponential(0.1)), Station(Exponential(0.2))], [[0, 1], [1 / 3, 0]])
    assert network.open_rates().ravel() == pytest.approx([3.0, 3.0])
    by_matrix = solve(network)
    by_visits = solve(jackson(2.0, [Station(Exponential(0.1), visits=1.5), Station(Exponential(0.2), visits=1.5)]))
    assert by_matrix.W == pytest.approx(by_visits.W)
    assert by_matrix.L == pytest.approx(0.3 / 0.7 + 0.6 / 0.4)
    assert by_matrix.throughput == 2.0


def test_an_open_network_is_its_markov_chain() -> None:
    speeds, top = (1.0, 1.5, 2.5), 45

    def moves(state: tuple[int, int]) -> Moves:
        i, j = state
        if i < top:
            yield 0.6, (i + 1, j)
        if i > 0:
            yield min(i, 2) / 1.0, (i - 1, min(j + 1, top))
        if j > 0:
            rate = speeds[min(j, 3) - 1] / 1.0
            yield rate * 0.25, (min(i + 1, top), j - 1)
            yield rate * 0.75, (i, j - 1)

    p = stationary((0, 0), moves)
    stations = [Station(Exponential(1.0), servers=2), Station(Exponential(1.0), speeds=speeds)]
    r = solve(jackson([0.6, 0.0], stations, [[0.0, 1.0], [0.25, 0.0]]))
    for i, station in enumerate(r.stations):
        assert station.L == pytest.approx(sum(q * s[i] for s, q in p.items()), rel=1e-6)
        one_less = 2 if i == 0 else 1
        assert station.Lq == pytest.approx(sum(q * max(s[i] - one_less, 0) for s, q in p.items()), rel=1e-6)
        assert [station.p(n) for n in (0, 1, 4, 7)] == pytest.approx(
            [sum(q for s, q in p.items() if s[i] == n) for n in (0, 1, 4, 7)], rel=1e-6
        )


def test_queues_picked_at_random_in_an_open_network() -> None:
    r = solve(jackson(3.0, [Station(Exponential(1.0), servers=4, queues="random")]))
    assert r.L == pytest.approx(4 * 0.75 / 0.25)
    assert r.W == pytest.approx(4.0)


def test_an_overloaded_station_is_named() -> None:
    slow = Station(Exponential(0.5), servers=2, name="disk")
    with pytest.raises(
        UnstableQueueError, match=r"disk of open network of 2 stations is overloaded: rho = 1\.5"
    ) as refusal:
        solve(jackson(6.0, [Station(Exponential(0.1)), slow]))
    assert refusal.value.rho == pytest.approx(1.5)
    with pytest.raises(UnstableQueueError, match=r"disk of .* rho = 1,"):
        solve(jackson(4.0, [Station(Exponential(0.1)), slow]))
    with pytest.raises(UnstableQueueError, match=r"M/M/1, 2 classes .* rho = 1\.5, .* rate below 2,"):
        solve(passing([1.0, 2.0], [Row([Exponential(0.5), Exponential(0.5)])]))
    with pytest.raises(UnstableQueueError, match=r"station 1 .* rho = 1, .* rate below 1,"):
        solve(both([1.0], [2], [Row([Exponential(1.0), Exponential(0.5)], discipline="PS")]))


def test_open_classes() -> None:
    shared = solve(passing([0.5, 0.2], [Row([Exponential(1.0), Exponential(2.0)], servers=2, discipline="PS")]))
    one = solve(MMc(0.9, 1.0, 2))
    assert shared.kind == "exact"
    assert shared.L == pytest.approx(one.L)
    assert shared.classes[1].W == pytest.approx(2 * shared.classes[0].W)
    # First come first served with services that differ: M/G/1 of the mixture, E[S²] = 2·(0.5·1 + 0.2·4)/0.7.
    in_turn = solve(passing([0.5, 0.2], [Row([Exponential(1.0), Exponential(2.0)])]))
    assert in_turn.kind == "exact"
    wait = 0.5 * 2 * (0.5 * 1 + 0.2 * 4) / (1 - 0.9)
    assert [c.Wq for c in in_turn.classes] == pytest.approx([wait, wait])
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(passing([0.5, 0.2], [Row([Exponential(1.0), Exponential(2.0)])] * 2))
    mixed = solve(passing([0.5, 0.2], [Row([Exponential(1.0), Exponential(2.0)], servers=2)]))
    assert (mixed.kind, mixed.method.split()[0]) == ("exact", "matrix-geometric")


def test_a_mixed_network_is_its_markov_chain() -> None:
    rate, services, N, Z, top = 0.4, (1.0, 0.5), 3, 2.0, 120

    def moves(state: tuple[int, int]) -> Moves:
        passing, circling = state
        total = passing + circling
        if passing < top:
            yield rate, (passing + 1, circling)
        if circling < N:
            yield (N - circling) / Z, (passing, circling + 1)
        if passing:
            yield passing / total / services[0], (passing - 1, circling)
        if circling:
            yield circling / total / services[1], (passing, circling - 1)

    p = stationary((0, 0), moves)
    disk = Row([Exponential(s) for s in services], discipline="PS")
    r = solve(both([rate], [N], [disk], [Z], names=("passing", "circling")))
    assert [c.L for c in r.classes] == pytest.approx([sum(q * s[k] for s, q in p.items()) for k in range(2)], rel=1e-6)
    assert [c.name for c in r.classes] == ["passing", "circling"]


def test_a_delay_counts_in_the_passage() -> None:
    """M/M/1 takes 1, the delay behind it 2 (Jackson 1957: a delay is a station of infinitely many servers)."""
    r = solve(jackson([1.0, 0.0], [Station(Exponential(0.5)), Delay(2.0)], [[0, 1.0], [0, 0]]))
    assert (r.W, r.L, r.Wq) == pytest.approx((3.0, 3.0, 0.5))
    assert [s.name for s in r.stations] == ["station 1", "station 2"]
    assert r.utilization == pytest.approx(0.5)


def test_the_last_of_the_speeds_carries_the_load() -> None:
    station = Station(Exponential(1.0), speeds=(1.0, 1.5, 2.5))
    assert solve(jackson(2.4, [station])).utilization < 1
    with pytest.raises(UnstableQueueError):
        solve(jackson(2.5, [station]))
