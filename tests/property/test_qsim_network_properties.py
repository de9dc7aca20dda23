"""What must hold for every network, over the whole range that is promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from class_networks import Row, circling, jackson
from hypothesis import given, settings
from hypothesis import strategies as st
from seen import classes_of, schweitzer

from qsim import Closed, Delay, Exponential, Metrics, Network, Station, asymptotic_bounds, balanced_bounds, solve

ROUNDING = 1e-9
times = st.floats(-9, 9).map(lambda e: 10.0**e)
think_times = st.one_of(st.just(0.0), times)
populations = st.floats(0, 12).map(lambda e: int(2.0**e))
server_counts = st.floats(0, 10).map(lambda e: int(2.0**e))
single_servers = st.builds(Station, times.map(Exponential))
stations = st.builds(
    Station,
    times.map(Exponential),
    servers=server_counts,
    visits=st.floats(0.01, 100),
    queues=st.sampled_from(["shared", "random"]),
)
load_dependent = st.builds(
    Station, times.map(Exponential), speeds=st.lists(st.floats(0.1, 10), min_size=1, max_size=6).map(tuple)
)


def never_impossible(r: Metrics, network: Network) -> None:
    model = classes_of(network)
    (N,), (Z,) = model.populations, model.think_times
    parts = r.stations or (r,)
    for part in (r, *parts):
        for value in (part.throughput, part.utilization, part.L, part.Lq, part.W, part.Wq):
            assert math.isfinite(value)
            assert value >= 0
        assert part.L <= N
        assert part.Lq <= part.L * (1 + ROUNDING)
        assert part.utilization <= 1
        assert part.L == pytest.approx(part.throughput * part.W, rel=ROUNDING)  # Little (1961), at every station
    assert r.throughput * (r.W + Z) == pytest.approx(N, rel=ROUNDING)
    assert math.fsum(part.L for part in parts) == pytest.approx(r.L, rel=ROUNDING)
    for station, part in zip(model.stations, parts, strict=True):
        assert part.throughput == pytest.approx(r.throughput * station.visits[0], rel=ROUNDING)


def inside_asymptotic_bounds(r: Metrics, network: Network) -> None:
    model = classes_of(network)
    demands, servers = [s.demands[0] for s in model.stations], [s.servers for s in model.stations]
    b = asymptotic_bounds(model.populations[0], model.think_times[0], demands, servers)
    assert b.throughput_low[0] * (1 - ROUNDING) <= r.throughput <= b.throughput_high[0] * (1 + ROUNDING)
    assert b.response_time_low[0] * (1 - ROUNDING) <= r.W <= b.response_time_high[0] * (1 + ROUNDING)


@settings(max_examples=60, deadline=None)
@given(populations, think_times, st.lists(stations, min_size=1, max_size=3))
def test_closed_networks_are_never_impossible(N: int, Z: float, places: list[Station]) -> None:
    model = Closed(N, [Delay(Z), *places])
    r = solve(model)
    never_impossible(r, model)
    inside_asymptotic_bounds(r, model)


@settings(max_examples=80, deadline=None)
@given(populations, think_times, st.lists(single_servers, min_size=1, max_size=6))
def test_single_servers_stay_inside_all_bounds(N: int, Z: float, places: list[Station]) -> None:
    model = Closed(N, [Delay(Z), *places])
    r = solve(model)
    never_impossible(r, model)
    inside_asymptotic_bounds(r, model)
    demands = [s.demand for s in places]
    b = balanced_bounds(N, Z, demands)
    assert b.throughput_low[0] * (1 - ROUNDING) <= r.throughput <= b.throughput_high[0] * (1 + ROUNDING)
    assert b.response_time_low[0] * (1 - ROUNDING) <= r.W <= b.response_time_high[0] * (1 + ROUNDING)


@settings(max_examples=60, deadline=None)
@given(populations, think_times, st.lists(load_dependent, min_size=1, max_size=3))
def test_load_dependent_stations_are_never_impossible(N: int, Z: float, places: list[Station]) -> None:
    model = Closed(N, [Delay(Z), *places])
    r = solve(model)
    never_impossible(r, model)
    for station, part in zip(places, r.stations or (r,), strict=True):
        assert station.speeds is not None
        assert part.throughput <= max(station.speeds) / station.service.mean * (1 + ROUNDING)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 300), think_times, st.lists(stations, min_size=1, max_size=3))
def test_more_customers_mean_more_throughput_and_longer_responses(N: int, Z: float, places: list[Station]) -> None:
    fewer, more = (solve(Closed(n, [Delay(Z), *places])) for n in (N - 1, N))
    assert more.throughput >= fewer.throughput * (1 - ROUNDING)
    assert more.W >= fewer.W * (1 - ROUNDING)
    assert more.Wq <= more.W * (1 + ROUNDING)


class_services = st.tuples(times, times)


@st.composite
def class_networks(draw: st.DrawFn, disciplines: tuple[str, ...]) -> Network:
    places = [
        Row(
            [Exponential(s) for s in draw(class_services)],
            visits=draw(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10))),
            servers=draw(st.integers(1, 40)),
            queues=draw(st.sampled_from(["shared", "random"])),
            discipline=draw(st.sampled_from(disciplines)),
        )
        for _ in range(draw(st.integers(1, 3)))
    ]
    return circling(
        draw(st.tuples(st.integers(1, 14), st.integers(1, 14))), places, draw(st.tuples(think_times, think_times))
    )


@settings(max_examples=60, deadline=None)
@given(class_networks(("PS",)))
def test_closed_classes_are_never_impossible(network: Network) -> None:
    r, model = solve(network), classes_of(network)
    assert r.kind == "exact"
    for k, (part, N, Z) in enumerate(zip(r.classes, model.populations, model.think_times, strict=True)):
        assert part.throughput * (part.W + Z) == pytest.approx(N, rel=ROUNDING)
        assert part.L == pytest.approx(
            math.fsum(c.L for s in r.stations or (r,) for c in s.classes if c.name == part.name)
        )
        assert part.W >= math.fsum(s.demands[k] for s in model.stations) * (1 - ROUNDING)
    for station, described in zip(r.stations or (r,), model.stations, strict=True):
        offered = sum(c.throughput * d for c, d in zip(r.classes, described.demands, strict=True))
        assert offered <= described.servers * (1 + ROUNDING)
        assert station.L <= sum(model.populations) * (1 + ROUNDING)
        assert station.Lq >= 0
    assert r.L <= sum(model.populations) * (1 + ROUNDING)


@settings(max_examples=40, deadline=None)
@given(class_networks(("FCFS", "PS")))
def test_approximations_obey_littles_law(network: Network) -> None:
    model = classes_of(network)
    for r in (solve(network), schweitzer(network)):
        for part, N, Z in zip(r.classes, model.populations, model.think_times, strict=True):
            assert math.isfinite(part.W)
            assert part.throughput * (part.W + Z) == pytest.approx(N, rel=ROUNDING)
            assert part.Wq >= 0
        for described in model.stations:
            offered = sum(c.throughput * d for c, d in zip(r.classes, described.demands, strict=True))
            assert offered <= described.servers * (1 + ROUNDING)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), think_times, times, st.integers(1, 12))
def test_classes_that_are_alike_are_one(first: int, second: int, Z: float, S: float, servers: int) -> None:
    both = solve(circling([first, second], [Row([Exponential(S)] * 2, servers=servers)], [Z, Z]))
    one = solve(Closed(first + second, [Delay(Z), Station(Exponential(S), servers)]))
    assert both.throughput == pytest.approx(one.throughput, rel=ROUNDING)
    assert both.L == pytest.approx(one.L, rel=ROUNDING)
    assert both.classes[0].throughput * second == pytest.approx(both.classes[1].throughput * first, rel=ROUNDING)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_what_enters_an_open_network_leaves_it(size: int, random: object) -> None:
    draw = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    P = draw.random((size, size))
    P *= draw.uniform(0.05, 0.95, size)[:, None] / P.sum(axis=1, keepdims=True)
    gamma = draw.exponential(size=size)
    unloaded = jackson(gamma.tolist(), [Station(Exponential(1e-9))] * size, P.tolist())
    rates = unloaded.open_rates().ravel()
    assert rates @ (1 - P.sum(axis=1)) == pytest.approx(gamma.sum(), rel=ROUNDING)
    network = jackson(gamma.tolist(), [Station(Exponential(0.5 / x)) for x in rates], P.tolist())
    r = solve(network)
    assert r.L == pytest.approx(size, rel=1e-6)  # every station half loaded
    assert r.L == pytest.approx(r.throughput * r.W, rel=ROUNDING)
