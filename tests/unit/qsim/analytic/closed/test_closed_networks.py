"""Closed networks of one class, and finite sources with limited places, against the Markov chains they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from markov_chains import Moves, stationary

from qsim import (
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    MMcN,
    NoFormulaError,
    Station,
    solve,
)


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
        [Station(Deterministic(1.0)), Station(Exponential(1.0), discipline="SJF")],
        [Station(Erlang(2, 1.0), servers=2, queues="shortest")],
    ],
)
def test_without_product_form_simulate_is_named(stations: list[Station]) -> None:
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(Closed(3, stations))


# Limited places.


@pytest.mark.parametrize("delays", [[], [Delay(0)], [replace(Delay(1), visits=0.5)], [Delay(1), Delay(2)]])
def test_limited_places_without_one_time_to_think_are_no_model(delays: list[Delay]) -> None:
    said = "must be None where customers circulate without one Delay, not 2: .* put one Delay beside"
    with pytest.raises(ValueError, match=said):
        Closed(3, [Station(Exponential(1.0), capacity=2), *delays])


def test_limited_places_with_a_finite_source() -> None:
    N, Z, S, c, K = 6, 3.0, 1.0, 2, 4

    def moves(n: int) -> Moves:
        if n < K:
            yield (N - n) / Z, n + 1
        if n > 0:
            yield min(n, c) / S, n - 1

    p = stationary(0, moves)
    r = solve(Closed(N, [Delay(Z), Station(Exponential(S), c, capacity=K)]))
    assert [r.p(n) for n in range(K + 2)] == pytest.approx([*(p[n] for n in range(K + 1)), 0.0], rel=1e-12)
    assert r.L == pytest.approx(sum(n * q for n, q in p.items()))
    attempts = sum((N - n) / Z * q for n, q in p.items())
    assert r.p_block == pytest.approx((N - K) / Z * p[K] / attempts)
    assert r.throughput == pytest.approx(attempts * (1 - r.p_block))
    let_in = attempts * (1 - r.p_block)
    assert r.p_wait == pytest.approx(sum((N - n) / Z * p[n] for n in range(c, K)) / let_in)
    roomy, endless = solve(Closed(N, [Delay(Z), Station(Exponential(S), c, capacity=40)])), solve(MMcN(N, Z, S, c))
    assert (roomy.throughput, roomy.p_block) == pytest.approx((endless.throughput, 0.0))


def test_the_utilization_of_servers_with_queues_of_their_own_in_a_network() -> None:
    """X S / c, whatever S is."""
    queues = Station(Exponential(2.5), 2, queues="random")
    first, _ = solve(Closed(3, [queues, Station(Exponential(0.5))])).stations
    assert first.utilization == pytest.approx(first.throughput * 2.5 / 2)
    assert 0.5 < first.utilization < 1
