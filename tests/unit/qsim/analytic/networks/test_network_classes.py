"""Closed networks of several classes against the Markov chains they are; approximations are named and near."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from class_networks import Row, circling
from markov_chains import Moves, stationary
from seen import classes_of

from qsim import Deterministic, Erlang, Exponential, solve
from qsim.analytic.networks import mean_value, product_form

# A state holds, for each station, how many of each class are there.

SHARED = [
    ([(1.0, 3.0)], [1], ["PS"]),
    ([(1.0, 3.0), (0.5, 0.2)], [2, 1], ["PS", "LCFS-PR"]),
    ([(1.0, 1.0), (0.5, 2.0)], [2, 1], ["FCFS", "PS"]),
]


@pytest.mark.parametrize("think_times", [(0.0, 0.0), (1.0, 4.0)])
@pytest.mark.parametrize(("services", "servers", "disciplines"), SHARED)
def test_closed_classes_are_their_markov_chain(
    services: list[tuple[float, float]], servers: list[int], disciplines: list[str], think_times: tuple[float, float]
) -> None:
    populations, M = (3, 2), len(services)
    stations = [
        Row([Exponential(s) for s in row], servers=c, discipline=d)
        for row, c, d in zip(services, servers, disciplines, strict=True)
    ]
    r = solve(circling(populations, stations, think_times))

    # A cycle: think, then each station in turn. Without thinking, the last station leads to the first.
    def moves(state: tuple[tuple[int, int], ...]) -> Moves:
        for place, counts in enumerate(state):
            total = sum(counts)
            for k in range(2):
                if counts[k] == 0:
                    continue
                if place == M:
                    rate = counts[k] / think_times[k]
                else:
                    rate = min(total, servers[place]) * counts[k] / total / services[place][k]
                target = (place + 1) % (M + (think_times[k] > 0))
                changed = [list(c) for c in state]
                changed[place][k] -= 1
                changed[target][k] += 1
                yield rate, tuple(tuple(c) for c in changed)

    p = stationary((populations, *((0, 0),) * M), moves)
    for i, station in enumerate(r.stations):
        for k, part in enumerate(station.classes):
            assert part.L == pytest.approx(sum(q * s[i][k] for s, q in p.items()), rel=1e-9)
            assert part.L == pytest.approx(part.throughput * part.W, rel=1e-12)
        present = [sum(q for s, q in p.items() if sum(s[i]) == n) for n in range(6)]
        assert [station.p(n) for n in range(6)] == pytest.approx(present, rel=1e-9, abs=1e-13)
        assert station.utilization == pytest.approx(float(np.minimum(range(6), servers[i]) @ present) / servers[i])
    assert r.kind == "exact"
    assert r.throughput == pytest.approx(sum(c.throughput for c in r.classes))
    for c, N, Z in zip(r.classes, populations, think_times, strict=True):
        assert c.throughput * (c.W + Z) == pytest.approx(N, rel=1e-12)  # Little, over the whole cycle


def in_turn(
    populations: tuple[int, int], services: tuple[float, float], think_times: tuple[float, float], servers: int = 1
) -> list[float]:
    """Throughputs with FCFS servers; a state is all who are present, in order of arrival."""

    def moves(queue: tuple[int, ...]) -> Moves:
        for i, k in enumerate(queue[:servers]):
            yield 1 / services[k], queue[:i] + queue[i + 1 :]
        for k in range(2):
            away = populations[k] - queue.count(k)
            if away:
                yield away / think_times[k], (*queue, k)

    p = stationary((), moves)
    return [sum(q * s[:servers].count(k) / services[k] for s, q in p.items()) for k in range(2)]


@pytest.mark.parametrize(("services", "error"), [((1.0, 2.0), 0.05), ((1.0, 5.0), 0.16), ((1.0, 0.05), 0.03)])
def test_first_come_first_served_with_unequal_services_is_a_named_approximation(
    services: tuple[float, float], error: float
) -> None:
    populations, think_times = (4, 3), (3.0, 8.0)
    model = circling(populations, [Row([Exponential(s) for s in services])], think_times)
    r = solve(model)
    chain = in_turn(populations, services, think_times)
    assert r.kind == "approximation"
    assert "Reiser" in r.method
    assert [c.throughput for c in r.classes] == pytest.approx(chain, rel=error)
    assert [c.throughput for c in r.classes] != pytest.approx(chain, rel=1e-6)


UNLIKE = Row([Exponential(1.0), Exponential(2.0)])


@pytest.mark.parametrize(
    ("populations", "rows", "error"),
    [
        ((2, 16), [UNLIKE], "21 % at worst"),
        ((2, 2), [UNLIKE._replace(services=[Exponential(1.0), Erlang(2, 2.0)])], "73 % at worst"),
        ((2, 17), [UNLIKE], "error unknown"),
        ((2, 2, 2), [Row([*UNLIKE.services, Exponential(3.0)])], "error unknown"),
        ((2, 2), [UNLIKE, UNLIKE], "error unknown"),
        ((2, 2), [UNLIKE._replace(servers=2, queues="random")], "error unknown"),
        ((2, 2), [UNLIKE._replace(servers=2, discipline="LCFS-PR")], "error unknown"),
    ],
)
def test_errors_are_stated_for_the_systems_where_they_were_measured(
    populations: tuple[int, ...], rows: list[Row], error: str
) -> None:
    assert error in solve(circling(populations, rows, [1.0] * len(populations))).method


def test_the_exact_solution_ends_where_it_takes_a_billion_products() -> None:
    """Four stations of ten servers: 8 times 220 + 10 products for n³ populations, and 5000 for 3n² rows."""
    stations = [Row([Exponential(1.0)] * 3, servers=10, discipline="PS")] * 4
    for n, small in ((64, True), (65, False)):
        assert product_form.applies(classes_of(circling([n - 1] * 3, stations))) == small


@pytest.mark.parametrize(
    ("populations", "services", "think_times", "servers"),
    [
        ((4, 3), (1.0, 2.0), (3.0, 8.0), 2),
        ((5, 3), (1.0, 3.0), (1.0, 1.0), 4),
        ((4, 4), (1.0, 3.0), (1.0, 1.0), 2),
        ((5, 4), (1.0, 3.0), (3.0, 3.0), 3),
    ],
)
def test_several_servers_in_turn_are_within_five_per_cent(
    populations: tuple[int, int], services: tuple[float, float], think_times: tuple[float, float], servers: int
) -> None:
    r = solve(circling(populations, [Row([Exponential(s) for s in services], servers=servers)], think_times))
    assert r.kind == "approximation"
    chain = in_turn(populations, services, think_times, servers)
    assert [c.throughput for c in r.classes] == pytest.approx(chain, rel=0.05)


def test_many_classes_of_single_servers_stay_exact() -> None:
    services = [Exponential(1.0), Exponential(3.0), Exponential(0.5), Exponential(2.0)]
    stations = [Row(services, servers=3, queues="random", discipline="PS"), Row([Exponential(0.1)] * 4)]
    few, many = (circling([n] * 4, stations, [1.0, 2.0, 3.0, 4.0]) for n in (4, 30))
    assert product_form.applies(classes_of(few))
    assert not product_form.applies(classes_of(many))
    assert solve(many).kind == "exact"
    one, other = solve(few), mean_value.lattice(classes_of(few))
    assert one.method != other.method
    for name in ("throughput", "W", "L", "Wq"):
        values = [getattr(c, name) for c in one.classes]
        assert [getattr(c, name) for c in other.classes] == pytest.approx(values, rel=1e-10), name


def test_populations_beyond_the_lattice_are_approximated_by_name() -> None:
    stations = [Row([Exponential(1.0), Exponential(1.0)]), Row([Exponential(0.5)] * 2, servers=4)]
    r = solve(circling([4096, 4096], stations, [10.0, 20.0]))
    assert (r.kind, "Schweitzer" in r.method) == ("approximation", True)
    assert r.throughput == pytest.approx(1.0, rel=1e-3)  # the bottleneck's


def test_every_pair_of_disciplines_has_an_answer_or_a_reason() -> None:
    laws = (Exponential(1.0), Deterministic(1.0), Erlang(2, 0.5))
    for discipline, first, second in itertools.product(("FCFS", "PS", "LCFS-PR"), laws, laws):
        r = solve(circling([2, 2], [Row([first, second], discipline=discipline)], [1.0, 1.0]))
        expected = "exact" if discipline != "FCFS" or first is second is laws[0] else "approximation"
        assert r.kind == expected, (discipline, first, second)


def test_no_station_is_busy_for_more_than_all_of_the_time() -> None:
    stations = [
        Row([Exponential(s) for s in row], discipline="PS") for row in ((6.624, 5.668, 0.058), (0.16, 3.291, 1.504))
    ]
    r = solve(circling((38, 36, 19), stations))  # of which rounding makes 1 and a bit
    assert r.utilization == 1
