"""Networks against the Markov chains they are, solved state by state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable

import numpy as np
import pytest

from qsim import (
    ClassStation,
    Closed,
    ClosedClasses,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    MixedNetwork,
    MMc,
    MMcKN,
    MMcN,
    NoFormulaError,
    OpenNetwork,
    OpenNetworkClasses,
    Station,
    Tandem,
    UnstableQueueError,
    balanced_bounds,
    closed_curve,
    geometric_bounds,
    largest_population,
    proportional_bounds,
    schweitzer,
    solve,
    traffic,
)
from qsim.analytic import mean_value

Moves = Iterable[tuple[float, Hashable]]


def stationary(start: Hashable, moves: Callable[[Hashable], Moves]) -> dict[Hashable, float]:
    """Long-run probabilities of the chain that can be reached from ``start``; ``moves`` gives (rate, next state)."""
    states, todo, flows = {start: 0}, [start], []
    while todo:
        state = todo.pop()
        for rate, other in moves(state):
            if other not in states:
                states[other] = len(states)
                todo.append(other)
            flows.append((states[state], states[other], rate))
    generator = np.zeros((len(states), len(states)))
    for i, j, rate in flows:
        generator[i, j] += rate
        generator[i, i] -= rate
    generator[:, 0] = 1.0
    right = np.zeros(len(states))
    right[0] = 1.0
    return dict(zip(states, np.linalg.solve(generator.T, right), strict=True))


def moved(counts: tuple[int, ...], source: int, target: int) -> tuple[int, ...]:
    changed = list(counts)
    changed[source] -= 1
    changed[target] += 1
    return tuple(changed)


STATIONS = [
    [Station(Exponential(1.0))],
    [Station(Exponential(1.0), servers=3, visits=2.0)],
    [Station(Exponential(0.5), visits=0.3), Station(Exponential(2.0), servers=2)],
    [Station(Exponential(1.0), speeds=(1.0, 1.7, 1.2)), Station(Exponential(0.4), servers=2, visits=1.5)],
    [Station(Exponential(1.0), speeds=(0.5, 3.0)), Station(Exponential(0.8)), Station(Exponential(0.8))],
    [Station(Exponential(1.0), servers=2, queues="random"), Station(Exponential(0.3), visits=2.0)],
]


@pytest.mark.parametrize("think_time", [0.0, 2.5])
@pytest.mark.parametrize("stations", STATIONS)
@pytest.mark.parametrize("population", [1, 2, 6])
def test_closed_networks_are_their_markov_chains(stations: list[Station], think_time: float, population: int) -> None:
    # Places: the think time, then each station, or each server with a queue of its own.
    visits, rates, owner = [], [], []
    if think_time > 0:
        visits, rates, owner = [1.0], [lambda n: n / think_time], [-1]
    for i, s in enumerate(stations):
        S = s.service.mean
        queues = s.servers if s.queues == "random" else 1
        for _ in range(queues):
            visits.append(s.visits / queues)
            owner.append(i)
            if s.speeds is not None:
                rates.append(lambda n, s=s, S=S: s.speeds[min(n, len(s.speeds)) - 1] / S)
            else:
                rates.append(lambda n, c=s.servers // queues, S=S: min(n, c) / S)
    share = np.array(visits) / sum(visits)

    def moves(counts: tuple[int, ...]) -> Moves:
        for source, n in enumerate(counts):
            if n > 0:
                for target, chosen in enumerate(share):
                    yield rates[source](n) * chosen, moved(counts, source, target)

    p = stationary((population,) + (0,) * (len(visits) - 1), moves)
    model = Closed(population, [Delay(think_time), *stations])
    r = solve(model)
    per_place = [sum(q * rates[k](s[k]) for s, q in p.items() if s[k] > 0) for k in range(len(visits))]
    assert r.kind == "exact"
    assert r.throughput == pytest.approx(sum(per_place) / sum(visits), rel=1e-9)
    for i, station in enumerate(r.stations or (r,)):
        mine = [k for k, o in enumerate(owner) if o == i]
        present = [sum(q for s, q in p.items() if sum(s[k] for k in mine) == n) for n in range(population + 1)]
        assert station.throughput == pytest.approx(sum(per_place[k] for k in mine), rel=1e-9)
        assert station.L == pytest.approx(float(np.dot(present, range(population + 1))), rel=1e-9)
        assert station.L == pytest.approx(station.throughput * station.W, rel=1e-12)
        if stations[i].queues == "shared":  # one station alone and picked at random does not give them
            assert [station.p(n) for n in range(population + 1)] == pytest.approx(present, rel=1e-8, abs=1e-13)
        # What arrivals find, counted where they come from.
        busy_from = 1 if stations[i].queues == "random" else stations[i].servers
        flow = waiting = 0.0
        for s, q in p.items():
            for source, n in enumerate(s):
                for k in mine:
                    rate = q * rates[source](n) * share[k] if n > 0 else 0.0
                    flow += rate
                    waiting += rate * (s[k] - (source == k) >= busy_from)
        assert station.p_wait == pytest.approx(waiting / flow, rel=1e-9, abs=1e-13)
        if stations[i].speeds is None:
            queued = sum(q * max(s[k] - busy_from, 0) for s, q in p.items() for k in mine)
        else:
            queued = sum(q * max(s[mine[0]] - 1, 0) for s, q in p.items())
        assert station.Lq == pytest.approx(queued, rel=1e-8, abs=1e-13)
    whole = closed_curve(model, population)
    assert whole.throughput[-1] == pytest.approx(r.throughput, rel=1e-11)
    assert whole.waiting_time[-1] == pytest.approx(r.Wq, rel=1e-9, abs=1e-14)


def test_numbers_present_in_a_network_add_up() -> None:
    r = solve(Closed(9, [Delay(2.0), Station(Exponential(1.0), 2), Station(Exponential(0.5), 3, queues="random")]))
    assert math.fsum(r.p(n) for n in range(10)) == pytest.approx(1.0)
    assert math.fsum(n * r.p(n) for n in range(10)) == pytest.approx(r.L)
    assert r.p(10) == 0


def test_a_network_of_one_station_is_that_station() -> None:
    from qsim.analytic import closed_network

    for queues in ("shared", "random"):
        model = Closed(12, [Delay(3.0), Station(Exponential(1.0), 4, queues=queues)])
        one, other = solve(model), closed_network.solve(model)
        assert one.method != other.method
        for name in ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-11), name
        assert other.quantile(0.99) == pytest.approx(one.quantile(0.99), rel=1e-9)


def test_speeds_of_several_servers_are_these_servers() -> None:
    stations = [Delay(2.0), Station(Exponential(0.7))]
    fast = solve(Closed(11, [*stations, Station(Exponential(1.0), speeds=(1, 2, 3))]))
    servers = solve(Closed(11, [*stations, Station(Exponential(1.0), servers=3)]))
    assert fast.throughput == pytest.approx(servers.throughput, rel=1e-13)
    assert fast.W == pytest.approx(servers.W, rel=1e-13)
    assert fast.stations[1].Lq > servers.stations[1].Lq  # one server that is faster, not more places in service


def test_only_means_matter_where_servers_are_shared() -> None:
    plain = [Station(Exponential(1.0), servers=2), Station(Exponential(2.0))]
    other = [
        Station(HyperExponential.from_moments(1.0, 4.0), servers=2, discipline="PS"),
        Station(Deterministic(2.0), discipline="LCFS-PR"),
    ]
    assert solve(Closed(7, other)).throughput == pytest.approx(solve(Closed(7, plain)).throughput, rel=1e-13)


@pytest.mark.parametrize(
    "stations",
    [
        [Station(Deterministic(1.0)), Station(Exponential(1.0))],
        [Station(Erlang(2, 1.0), servers=2, discipline="LCFS-PR")],
        [Station(Exponential(1.0), capacity=2)],  # and no time to think
    ],
)
def test_without_product_form_simulate_is_named(stations: list[Station]) -> None:
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(Closed(3, stations))
    with pytest.raises(ValueError, match="product form"):
        closed_curve(Closed(3, stations), 4)


# Several classes. A state holds, for each station, how many of each class are there.

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
        ClassStation([Exponential(s) for s in row], servers=c, discipline=d)
        for row, c, d in zip(services, servers, disciplines, strict=True)
    ]
    r = solve(ClosedClasses(populations, stations, think_times))

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


def test_first_come_first_served_with_equal_services_is_exact() -> None:
    populations, think_times = (3, 4), (1.0, 6.0)
    model = ClosedClasses(populations, [ClassStation([Exponential(1.5), Exponential(1.5)])], think_times)
    r = solve(model)
    assert r.kind == "exact"
    chain = in_turn(populations, (1.5, 1.5), think_times)
    assert [c.throughput for c in r.classes] == pytest.approx(chain, rel=1e-9)
    assert [c.throughput for c in mean_value.lattice(model).classes] == pytest.approx(chain, rel=1e-9)


@pytest.mark.parametrize(("services", "error"), [((1.0, 2.0), 0.05), ((1.0, 5.0), 0.16), ((1.0, 0.05), 0.03)])
def test_first_come_first_served_with_unequal_services_is_a_named_approximation(
    services: tuple[float, float], error: float
) -> None:
    populations, think_times = (4, 3), (3.0, 8.0)
    model = ClosedClasses(populations, [ClassStation([Exponential(s) for s in services])], think_times)
    r = solve(model)
    chain = in_turn(populations, services, think_times)
    assert r.kind == "approximation"
    assert "Reiser" in r.method
    assert [c.throughput for c in r.classes] == pytest.approx(chain, rel=error)
    assert [c.throughput for c in r.classes] != pytest.approx(chain, rel=1e-6)


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
    r = solve(
        ClosedClasses(populations, [ClassStation([Exponential(s) for s in services], servers=servers)], think_times)
    )
    assert r.kind == "approximation"
    chain = in_turn(populations, services, think_times, servers)
    assert [c.throughput for c in r.classes] == pytest.approx(chain, rel=0.05)


@pytest.mark.parametrize("servers", [2, 4, 8, 32])
@pytest.mark.parametrize("think_time", [0.1, 1.0, 3.0, 10.0])
def test_the_busy_probability_of_several_servers_is_within_two_per_cent(servers: int, think_time: float) -> None:
    for load in (0.5, 0.8, 1.0, 1.3, 3.0):
        N = max(1, round(load * servers * (1 + think_time)))
        model = Closed(N, [Delay(think_time), Station(Exponential(1.0), servers)])
        assert mean_value.lattice(model).throughput == pytest.approx(solve(model).throughput, rel=0.02)


def test_a_class_alone_is_the_network_of_one_class() -> None:
    one = solve(Closed(9, [Delay(2.0), Station(Exponential(1.0), 3), Station(Exponential(0.2), 4, 2.0, "random")]))
    stations = [
        ClassStation([Exponential(1.0)], servers=3),
        ClassStation([Exponential(0.2)], [2.0], servers=4, queues="random"),
    ]
    other = solve(ClosedClasses([9], stations, [2.0]))
    assert other.throughput == pytest.approx(one.throughput, rel=1e-12)
    assert [s.L for s in other.stations] == pytest.approx([s.L for s in one.stations], rel=1e-12)
    assert [s.p_wait for s in other.stations] == pytest.approx([s.p_wait for s in one.stations], rel=1e-12)


def test_classes_that_differ_in_name_only_share_in_proportion() -> None:
    both = solve(ClosedClasses([6, 3], [ClassStation([Exponential(1.0)] * 2, servers=2)], [4.0, 4.0]))
    one = solve(MMcN(9, 4.0, 1.0, 2))
    assert [c.throughput for c in both.classes] == pytest.approx([one.throughput * 6 / 9, one.throughput * 3 / 9])


def test_a_device_read_and_written_at_depth_64_each() -> None:
    device = ClassStation([Exponential(80e-6), Exponential(240e-6)], servers=32, discipline="PS")
    r = solve(ClosedClasses([64, 64], [device], [1e-6, 1e-6], names=("read", "write")))
    assert r.kind == "exact"
    assert r.L == pytest.approx(128, rel=0.01)
    assert r.stations[0].utilization == pytest.approx(1.0, rel=1e-6)


def test_many_classes_of_single_servers_stay_exact() -> None:
    from qsim.analytic import closed_classes

    services = [Exponential(1.0), Exponential(3.0), Exponential(0.5), Exponential(2.0)]
    stations = [
        ClassStation(services, servers=3, queues="random", discipline="PS"),
        ClassStation([Exponential(0.1)] * 4),
    ]
    few, many = (ClosedClasses([n] * 4, stations, [1.0, 2.0, 3.0, 4.0]) for n in (4, 30))
    assert closed_classes.applies(few)
    assert not closed_classes.applies(many)
    assert solve(many).kind == "exact"
    one, other = solve(few), mean_value.lattice(few)
    assert one.method != other.method
    for name in ("throughput", "W", "L", "Wq"):
        values = [getattr(c, name) for c in one.classes]
        assert [getattr(c, name) for c in other.classes] == pytest.approx(values, rel=1e-10), name


def test_populations_beyond_the_lattice_are_approximated_by_name() -> None:
    stations = [ClassStation([Exponential(1.0), Exponential(1.0)]), ClassStation([Exponential(0.5)] * 2, servers=4)]
    r = solve(ClosedClasses([4096, 4096], stations, [10.0, 20.0]))
    assert (r.kind, "Schweitzer" in r.method) == ("approximation", True)
    assert r.throughput == pytest.approx(1.0, rel=1e-3)  # the bottleneck's


@pytest.mark.parametrize("population", [1, 4, 30])
def test_schweitzer_is_near_the_exact_solution(population: int) -> None:
    stations = [Delay(15), *(Station(Exponential(d)) for d in (0.605, 2.1, 1.35))]
    exact, near = solve(Closed(population, stations)), schweitzer(Closed(population, stations))
    assert near.throughput == pytest.approx(exact.throughput, rel=0.03)
    assert near.throughput * (near.W + 15) == pytest.approx(population, rel=1e-9)
    if population == 1:
        assert near.throughput == pytest.approx(exact.throughput, rel=1e-12)


def test_schweitzer_takes_any_service_and_refuses_what_it_does_not_know() -> None:
    fixed, random = (schweitzer(Closed(8, [Delay(5.0), Station(s)])) for s in (Deterministic(1.0), Exponential(1.0)))
    assert fixed.throughput > random.throughput
    with pytest.raises(NoFormulaError, match="speeds"):
        schweitzer(Closed(8, [Station(Exponential(1.0), speeds=(1, 2))]))
    with pytest.raises(ValueError, match="model must be Closed"):
        schweitzer(MMc(1.0, 1.0, 2))  # type: ignore[arg-type]


# Limited places.


def test_limited_places_with_a_finite_source() -> None:
    N, Z, S, c, K = 6, 3.0, 1.0, 2, 4

    def moves(n: int) -> Moves:
        if n < K:
            yield (N - n) / Z, n + 1
        if n > 0:
            yield min(n, c) / S, n - 1

    p = stationary(0, moves)
    r = solve(MMcKN(N, Z, S, c, K))
    assert [r.p(n) for n in range(K + 2)] == pytest.approx([*(p[n] for n in range(K + 1)), 0.0], rel=1e-12)
    assert r.L == pytest.approx(sum(n * q for n, q in p.items()))
    attempts = sum((N - n) / Z * q for n, q in p.items())
    assert r.p_block == pytest.approx((N - K) / Z * p[K] / attempts)
    assert r.throughput == pytest.approx(attempts * (1 - r.p_block))
    let_in = attempts * (1 - r.p_block)
    assert r.p_wait == pytest.approx(sum((N - n) / Z * p[n] for n in range(c, K)) / let_in)
    roomy, endless = solve(MMcKN(N, Z, S, c, 40)), solve(MMcN(N, Z, S, c))
    assert (roomy.throughput, roomy.p_block) == pytest.approx((endless.throughput, 0.0))


def test_limited_places_know_the_mean_think_time_only() -> None:
    weights, means, S, c, K, N = (0.3, 0.7), (8.0, 1.0), 1.0, 2, 3, 5

    # A state holds how many think in either phase; the others are at the station.
    def moves(thinking: tuple[int, int]) -> Moves:
        n = N - sum(thinking)
        for phase in range(2):
            if thinking[phase]:
                left = [t - (k == phase) for k, t in enumerate(thinking)]
                if n < K:
                    yield thinking[phase] / means[phase], tuple(left)
                else:
                    for other in range(2):  # turned away: thinks anew
                        yield (
                            thinking[phase] / means[phase] * weights[other],
                            tuple(t + (k == other) for k, t in enumerate(left)),
                        )
        for other in range(2):
            if n:
                yield min(n, c) / S * weights[other], tuple(t + (k == other) for k, t in enumerate(thinking))

    p = stationary((N, 0), moves)
    think = HyperExponential(weights, means)
    r = solve(Closed(N, [Delay(think), Station(Exponential(S), c, capacity=K)]))
    present = [sum(q for t, q in p.items() if N - sum(t) == n) for n in range(K + 1)]
    assert [r.p(n) for n in range(K + 1)] == pytest.approx(present, rel=1e-9)


# Networks fed from outside.


def test_traffic_equations() -> None:
    # A tandem with feedback: a third of those leaving the second station come back to the first.
    rates = traffic([2.0, 0.0], [[0.0, 1.0], [1 / 3, 0.0]])
    assert rates == pytest.approx([3.0, 3.0])
    by_matrix = solve(
        OpenNetwork([2.0, 0.0], [Station(Exponential(0.1)), Station(Exponential(0.2))], [[0, 1], [1 / 3, 0]])
    )
    by_visits = solve(OpenNetwork(2.0, [Station(Exponential(0.1), visits=1.5), Station(Exponential(0.2), visits=1.5)]))
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
    r = solve(OpenNetwork([0.6, 0.0], stations, [[0.0, 1.0], [0.25, 0.0]]))
    for i, station in enumerate(r.stations):
        assert station.L == pytest.approx(sum(q * s[i] for s, q in p.items()), rel=1e-6)
        one_less = 2 if i == 0 else 1
        assert station.Lq == pytest.approx(sum(q * max(s[i] - one_less, 0) for s, q in p.items()), rel=1e-6)
        assert [station.p(n) for n in (0, 1, 4, 7)] == pytest.approx(
            [sum(q for s, q in p.items() if s[i] == n) for n in (0, 1, 4, 7)], rel=1e-6
        )


def test_stations_in_a_row_are_the_network_that_everyone_passes() -> None:
    stations = [Station(Exponential(0.4), 2), Station(Exponential(0.3), speeds=(1, 1.5))]
    path, network = solve(Tandem(Exponential(1.0), stations)), solve(OpenNetwork(1.0, stations))
    assert (path.kind, path.L, path.W) == ("exact", network.L, network.W)
    assert path.stations[0].W == pytest.approx(solve(MMc(1.0, 2.5, 2)).W)
    assert [path.stations[1].p(n) for n in range(9)] == [network.stations[1].p(n) for n in range(9)]
    assert solve(Tandem(Exponential(math.inf), stations)).W == pytest.approx(0.7)


@pytest.mark.parametrize(
    "path",
    [
        Tandem(Deterministic(1.0), [Station(Exponential(0.5))]),
        Tandem(Exponential(1.0), [Station(Deterministic(0.5))]),
        Tandem(Exponential(1.0), [Station(Exponential(0.5)), Station(Exponential(0.5), capacity=3)]),
    ],
)
def test_other_stations_in_a_row_have_no_formula(path: Tandem) -> None:
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(path)


def test_queues_picked_at_random_in_an_open_network() -> None:
    r = solve(OpenNetwork(3.0, [Station(Exponential(1.0), servers=4, queues="random")]))
    assert r.L == pytest.approx(4 * 0.75 / 0.25)
    assert r.stations[0].W == pytest.approx(4.0)


def test_an_overloaded_station_is_named() -> None:
    slow = Station(Exponential(1.0), servers=2, name="disk")
    with pytest.raises(
        UnstableQueueError, match=r"disk of open network of 2 stations is overloaded: rho = 1\.5"
    ) as refusal:
        solve(OpenNetwork(3.0, [Station(Exponential(0.1)), slow]))
    assert refusal.value.rho == pytest.approx(1.5)
    with pytest.raises(UnstableQueueError, match=r"station 1 .* rho = 1\.5, .* rate below 2,"):
        solve(OpenNetworkClasses([1.0, 2.0], [ClassStation([Exponential(0.5), Exponential(0.5)])]))
    with pytest.raises(UnstableQueueError, match=r"station 1 .* rho = 1, .* rate below 1,"):
        solve(MixedNetwork([1.0], [2], [ClassStation([Exponential(1.0), Exponential(0.5)], discipline="PS")]))


def test_open_classes() -> None:
    shared = solve(
        OpenNetworkClasses([0.5, 0.2], [ClassStation([Exponential(1.0), Exponential(2.0)], servers=2, discipline="PS")])
    )
    one = solve(MMc(0.9, 1.0, 2))
    assert shared.kind == "exact"
    assert shared.L == pytest.approx(one.L)
    assert shared.classes[1].W == pytest.approx(2 * shared.classes[0].W)
    # First come first served with services that differ: M/G/1 of the mixture, E[S²] = 2·(0.5·1 + 0.2·4)/0.7.
    in_turn = solve(OpenNetworkClasses([0.5, 0.2], [ClassStation([Exponential(1.0), Exponential(2.0)])]))
    assert in_turn.kind == "exact"
    wait = 0.5 * 2 * (0.5 * 1 + 0.2 * 4) / (1 - 0.9)
    assert [c.Wq for c in in_turn.classes] == pytest.approx([wait, wait])
    beside = solve(OpenNetworkClasses([0.5, 0.2], [ClassStation([Exponential(1.0), Exponential(2.0)])] * 2))
    assert beside.kind == "approximation"
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(OpenNetworkClasses([0.5, 0.2], [ClassStation([Exponential(1.0), Exponential(2.0)], servers=2)]))


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
    disk = ClassStation([Exponential(s) for s in services], discipline="PS")
    r = solve(MixedNetwork([rate], [N], [disk], [Z], names=("passing", "circling")))
    assert [c.L for c in r.classes] == pytest.approx([sum(q * s[k] for s, q in p.items()) for k in range(2)], rel=1e-6)
    assert [c.name for c in r.classes] == ["passing", "circling"]


# Bounds.


@pytest.mark.parametrize("bounds", [balanced_bounds, proportional_bounds, geometric_bounds])
def test_bounds_meet_at_one_customer_and_refuse_nonsense(bounds: Callable[..., object]) -> None:
    b = bounds([1], 3.0, [1.0, 2.0])
    assert b.throughput_low[0] == pytest.approx(1 / 6)
    if bounds is not geometric_bounds:  # whose upper one takes X(N-1) for X(N) when there is think time
        assert b.throughput_high[0] == pytest.approx(1 / 6)
    assert (b.kind, b.knee) == ("bound", pytest.approx(3.0))
    for wrong, name in [(([0.5], 1, [1]), "populations"), (([1], -1, [1]), "think_time"), (([1], 1, []), "demands")]:
        with pytest.raises(ValueError, match=name):
            bounds(*wrong)


def test_the_largest_population_is_the_one_at_which_the_bound_is_met() -> None:
    from qsim import asymptotic_bounds

    N = largest_population(30.0, 18.0, [5, 4, 3], [2, 1, 1])
    assert asymptotic_bounds([N], 18.0, [5, 4, 3], [2, 1, 1]).response_time_low[0] == pytest.approx(30.0)
    with pytest.raises(ValueError, match="response_time must be at least the total demand 12"):
        largest_population(11.0, 18.0, [5, 4, 3])


# What describes no network.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: traffic([1.0, 0.0], [[0.5, 0.6], [0, 0]]), r"routing\[0\] must not add up to more than 1, not 1\.1"),
        (lambda: traffic([1.0, 0.0], [[0, 1], [1, 0]]), "nobody does"),
        (lambda: traffic([1.0], [[0, 1], [1, 0]]), "square matrix"),
        (lambda: traffic([1.0, 1.0], [[0, -1], [1, 0]]), r"routing\[0\]\[1\]"),
        (lambda: OpenNetwork([0.0], [Station(Exponential(1))], [[0.0]]), "arrival_rates"),
        (lambda: OpenNetwork([1.0, 2.0], [Station(Exponential(1))]), "arrival_rates must be one number"),
        (lambda: OpenNetwork([1.0, 2.0], [Station(Exponential(1))], [[0.0]]), "arrival_rates"),
        (lambda: OpenNetwork([1.0], [Station(Exponential(1), visits=2)], [[0.0]]), "visits must be left at 1"),
        (lambda: OpenNetwork(1.0, [Delay(1.0)]), "at least one Station"),
        (lambda: OpenNetwork(1.0, [Station(Exponential(1), capacity=3)]), "capacity"),
        (lambda: ClosedClasses([0, 1], [ClassStation([Exponential(1)] * 2)]), r"populations\[0\]"),
        (lambda: ClosedClasses([], [ClassStation([Exponential(1)])]), "populations must not be empty"),
        (lambda: ClosedClasses([1, 1], [ClassStation([Exponential(1)])]), "services must have one entry"),
        (lambda: ClosedClasses([1, 1], [ClassStation([Exponential(1), None])]), "visited by every class"),
        (lambda: ClosedClasses([1], [ClassStation([Exponential(1)])], [1.0, 2.0]), "think_times"),
        (lambda: ClosedClasses([1], [ClassStation([Exponential(1)])], names=("a", "b")), "names"),
        (lambda: ClosedClasses([1], []), "stations must not be empty"),
        (lambda: ClosedClasses([1], [Station(Exponential(1))]), "must be a ClassStation"),
        (lambda: ClassStation([]), "services must not be empty"),
        (lambda: ClassStation([Exponential(1)], [1, 2]), "visits"),
        (lambda: ClassStation([None], [1]), r"services\[0\]"),
        (lambda: ClassStation([None]), "visits must not all be zero"),
        (lambda: ClassStation([Exponential(1)], queues="longest"), "queues"),
        (lambda: ClassStation([Exponential(1)], discipline="SIRO"), "discipline"),
        (lambda: Station(Exponential(1), speeds=()), "speeds must not be empty"),
        (lambda: Station(Exponential(1), speeds=(1, 0)), r"speeds\[1\]"),
        (lambda: Station(Exponential(1), servers=2, speeds=(1, 2)), "servers must be 1"),
        (lambda: Station(Exponential(1), servers=3, capacity=2), "capacity"),
        (lambda: Closed(3, [Station(Exponential(1), capacity=2), Station(Exponential(1))]), "capacity must be None"),
        (lambda: MixedNetwork([1.0], [], [ClassStation([Exponential(1)])]), "populations"),
        (lambda: MMcKN(5, 0.0, 1.0, 1, 2), "think_time"),
    ],
)
def test_nonsense_is_refused_by_name(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_metrics_of_a_network_print_and_export_their_parts() -> None:
    disk = ClassStation([Exponential(1.0), Exponential(2.0)], discipline="PS", name="disk")
    r = solve(ClosedClasses([2, 1], [disk], [1.0, 1.0], names=("read", "write")))
    text = str(r)
    assert all(word in text for word in ("disk", "read", "write", "closed network of 2 classes and 1 station//2+1"))
    page = r._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 3
    assert all(f"<td>{word}</td>" in page for word in ("disk", "read", "write"))
    exported = r.to_dict()
    assert [c["name"] for c in exported["classes"]] == ["read", "write"]
    assert exported["stations"][0]["classes"][1]["W"] == pytest.approx(r.stations[0].classes[1].W)


def test_every_pair_of_disciplines_has_an_answer_or_a_reason() -> None:
    laws = (Exponential(1.0), Deterministic(1.0), Erlang(2, 0.5))
    for discipline, first, second in itertools.product(("FCFS", "PS", "LCFS-PR"), laws, laws):
        r = solve(ClosedClasses([2, 2], [ClassStation([first, second], discipline=discipline)], [1.0, 1.0]))
        expected = "exact" if discipline != "FCFS" or first is second is laws[0] else "approximation"
        assert r.kind == expected, (discipline, first, second)
