"""Parts of devices: engine against engine, customer by customer, and both against formulas and chains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from customers import both_engines
from markov_chains import Moves, stationary

from qsim import (
    Delay,
    Deterministic,
    Exponential,
    ForkJoin,
    Gather,
    LogNormal,
    Metrics,
    MG1Setup,
    Network,
    Node,
    Region,
    UnequalServers,
    WriteCache,
    simulate,
    solve,
)

ONE, SKEWED = Exponential(1.0), LogNormal(1.0, 2.0)
CUSTOMERS, CONFIDENCE = 300_000, 0.999
READS_AND_WRITES = {"read": ONE, "write": Exponential(2.0)}

RUNNING = {
    "setup of several": Network(
        {"host": Delay(10.0), "die": Node(ONE, 4, setup=Exponential(2.0), off_after=1.5)}, populations={"host": 6}
    ),
    "setup of each": Network(
        {"die": Node(SKEWED, 4, queues="shortest", setup=Deterministic(2.0), off_after=1.5)}, arrivals={"die": 2.0}
    ),
    "unequal, one queue": Network({"die": Node(SKEWED, 3, paces=(1, 2, 0.5))}, arrivals={"die": 2.0}),
    "unequal, the shortest": UnequalServers(9, 2.0, SKEWED, (1, 2, 0.5)),
    "turnaround by class": Network(
        {
            "die": Node(
                READS_AND_WRITES,
                turnaround={"write": Exponential(0.5), "read": Deterministic(0.2)},
                discipline="priority",
                priority={"write": 1},
            )
        },
        arrivals={"read": {"die": 0.3}, "write": {"die": 0.1}},
    ),
    "turnaround of two": Network(
        {"host": Delay(1.0), "die": Node(READS_AND_WRITES, 2, turnaround=Exponential(0.5))},
        populations={"read": {"host": 3}, "write": {"host": 4}},
    ),
    "stripe": ForkJoin(0.7, ONE, 3),
    "stripe of sleepers": Network(
        {
            "host": Delay(1.0),
            "bus": Node(Exponential(0.1)),
            "die": Node(SKEWED, 4, queues="split", setup=ONE, off_after=2),
        },
        populations={"host": 5},
    ),
    "together": Network(
        {"host": Delay(1.0), "die": Node(Exponential(0.2), 2), "interrupt": Gather(count=4, after=0.7)},
        populations={"host": 10},
    ),
    "cache": WriteCache(4, 1.0, Exponential(0.05), Exponential(0.3), places=20),
    "cache that reserves": Network(
        {
            "host": Delay(1.0),
            "cache": Node(Exponential(0.05), 2, copies_to="disk as destage"),
            "disk": Node({"destage": SKEWED}, 2, capacity=5, when_full="before service"),
        },
        populations={"host": 4},
        routing={"host": {"cache": 1}, "cache": {"host": 1}},
    ),
    "cache that tries again": Network(
        {
            "cache": Node(Exponential(0.05), 2, copies_to="disk as destage", paces=(1, 2)),
            "disk": Node({"destage": SKEWED}, capacity=5, when_full="repetitive"),
            "last": Node(Exponential(0.5), 2, queues="split"),
        },
        arrivals={"cache": 0.5},
        routing={"customers": {"cache": {"last": 1}}, "destage": {"disk": {"last": 0.2}}},
    ),
    "all of it": Network(
        {
            "host": Delay(1.0),
            "cache": Node(Exponential(0.05), 2, copies_to="disk"),
            "interrupt": Gather(count=3, after=0.5),
            "die": Node(ONE, 2, queues="split", setup=ONE, capacity=6, when_full="after service"),
            "disk": Node(Exponential(0.3), capacity=20, when_full="after service"),
        },
        populations={"host": 8},
        routing={
            "host": {"cache": 0.5, "die": 0.5},
            "cache": {"interrupt": 1},
            "die": {"interrupt": 1},
            "interrupt": {"host": 1},
        },
        regions=[Region(["die"], 4)],
    ),
}


@pytest.mark.parametrize("name", RUNNING)
def test_customer_by_customer_both_engines_are_the_same(name: str) -> None:
    one, other = both_engines(RUNNING[name], 3000)
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def within(run: Metrics, name: str, exact: float) -> None:
    low, high = run.interval(name)
    assert low <= exact <= high, f"{name} of {run.name}: {low} .. {high}, exactly {exact}"


def held(model: Network, seed: int) -> tuple[Metrics, Metrics]:
    return solve(model), simulate(model, customers=CUSTOMERS, seed=seed, confidence=CONFIDENCE)


@pytest.mark.parametrize("off_after", [0.0, 0.8])
@pytest.mark.parametrize("setup", [Exponential(2.0), Deterministic(1.0)])
def test_setup_and_delayed_off(setup: Any, off_after: float) -> None:
    exact, run = held(MG1Setup(0.6, SKEWED, setup, off_after), 31)
    assert exact.kind == "exact"
    for name in ("W", "Wq", "L", "utilization", "p_wait"):
        within(run, name, getattr(exact, name))


def test_sleeping_servers_picked_at_random() -> None:
    node = Node(ONE, 3, queues="random", setup=Exponential(2.0), off_after=1.0)
    exact, run = held(Network({"dies": node}, arrivals={"dies": 1.5}), 32)
    within(run, "W", exact.W)
    within(run, "p_wait", exact.p_wait)


def test_several_servers_with_setup_follow_their_chain() -> None:
    """States: serving, waking, waiting; each arrival that finds a sleeping server waits for that server."""
    rate, wakes, servers, most = 1.2, 0.5, 3, 150

    def moves(state: Any) -> Moves:
        serving, waking, waiting = state
        if serving + waking < servers:
            yield rate, (serving, waking + 1, 0)
        elif waiting < most:
            yield rate, (serving, waking, waiting + 1)
        if waking:
            yield wakes * waking, (serving + 1, waking - 1, waiting)
        if serving:
            yield float(serving), (serving, waking, waiting - 1) if waiting else (serving - 1, waking, 0)

    share = stationary((0, 0, 0), moves)
    L = math.fsum(p * sum(state) for state, p in share.items())  # type: ignore[call-overload]
    model = Network({"dies": Node(ONE, servers, setup=Exponential(1 / wakes))}, arrivals={"dies": rate})
    run = simulate(model, customers=CUSTOMERS, seed=33, confidence=CONFIDENCE)
    within(run, "L", L)
    within(run, "W", L / rate)


@pytest.mark.parametrize("rho", [0.2, 0.6, 0.85])
def test_two_parts_as_flatto_and_hahn_say(rho: float) -> None:
    exact, run = held(ForkJoin(rho, ONE, 2), 34)
    assert exact.kind == "exact"
    for name in ("W", "Wq", "utilization"):
        within(run, name, getattr(exact, name))


@pytest.mark.parametrize("servers", [4, 16, 32])
@pytest.mark.parametrize("rho", [0.1, 0.5, 0.8])
def test_many_parts_as_nelson_and_tantawi_say(servers: int, rho: float) -> None:
    near = solve(ForkJoin(rho, ONE, servers))
    run = simulate(ForkJoin(rho, ONE, servers), customers=CUSTOMERS // 3, seed=35)
    assert near.kind == "approximation"
    assert near.W == pytest.approx(run.W, rel=0.05)


@pytest.mark.parametrize(("rate", "count", "after"), [(0.5, 4, 10.0), (0.5, 4, 1.0), (0.9, 32, 5.0), (0.2, 1, 3.0)])
def test_completions_that_leave_together(rate: float, count: int, after: float) -> None:
    stations = {"die": Node(ONE), "interrupt": Gather(count=count, after=after)}
    exact, run = held(Network(stations, arrivals={"die": rate}), 36)
    assert exact.kind == "exact"
    within(run, "W", exact.W)
    if count > 1:
        within(run["interrupt"], "W", exact["interrupt"].W)
    assert run["interrupt"].Wq == pytest.approx(run["interrupt"].W)


def test_unequal_servers_follow_their_chain() -> None:
    """One queue, the faster of idle servers first, five customers."""
    paces, think = (2.0, 0.5), 1.0

    def moves(state: Any) -> Moves:
        fast, slow, waiting = state
        thinking = 5 - fast - slow - waiting
        if thinking:
            yield (
                thinking / think,
                ((1, slow, waiting) if not fast else (fast, 1, waiting) if not slow else (fast, slow, waiting + 1)),
            )
        if fast:
            yield paces[0], (1, slow, waiting - 1) if waiting else (0, slow, 0)
        if slow:
            yield paces[1], (fast, 1, waiting - 1) if waiting else (fast, 0, 0)

    share = stationary((0, 0, 0), moves)
    X = math.fsum(p * (s[0] * paces[0] + s[1] * paces[1]) for s, p in share.items())  # type: ignore[index]
    model = Network({"host": Delay(think), "dies": Node(ONE, 2, paces=paces)}, populations={"host": 5})
    within(simulate(model, customers=CUSTOMERS, seed=37, confidence=CONFIDENCE), "throughput", X)


def test_the_shortest_of_unequal_queues_follows_its_chain() -> None:
    paces, think, population = (1.0, 0.5), 1.0, 4

    def moves(state: Any) -> Moves:
        first, second = state
        if first + second < population:
            rate = (population - first - second) / think
            yield rate, (first + 1, second) if first <= second else (first, second + 1)
        if first:
            yield paces[0], (first - 1, second)
        if second:
            yield paces[1], (first, second - 1)

    share = stationary((0, 0), moves)
    X = math.fsum(p * ((s[0] > 0) * paces[0] + (s[1] > 0) * paces[1]) for s, p in share.items())  # type: ignore[index]
    run = simulate(UnequalServers(population, think, ONE, paces), customers=CUSTOMERS, seed=38, confidence=CONFIDENCE)
    within(run, "throughput", X)


@pytest.mark.parametrize("urgent", [False, True])
def test_turnaround_follows_its_chain(urgent: bool) -> None:
    """A read and three writes without think time: who is served or turned to, and who waits in which order."""
    turns, means = 2.0, {"r": 1.0, "w": 2.0}

    def moves(state: Any) -> Moves:
        now, turning, line = state
        if turning:
            yield turns, (now, False, line)
            return
        at = line.index(min(line)) if urgent else 0  # the one just served comes back when the next has begun
        yield 1 / means[now], (line[at], line[at] != now, (*line[:at], *line[at + 1 :], now))

    share = stationary(("r", False, ("w", "w", "w")), moves)
    served = {c: math.fsum(p for (now, turning, _), p in share.items() if now == c and not turning) for c in means}  # type: ignore[misc]
    node = Node(
        {"r": Exponential(1.0), "w": Exponential(2.0)},
        turnaround=Exponential(1 / turns),
        discipline="priority" if urgent else "FCFS",
        priority={"w": 1},
    )
    model = Network({"die": node}, populations={"r": {"die": 1}, "w": {"die": 3}})
    run = simulate(model, customers=CUSTOMERS, seed=39, confidence=CONFIDENCE, allow_short=True)
    for part in run.classes:
        within(part, "throughput", served[part.name] / means[part.name])


def test_a_write_cache_follows_its_chain() -> None:
    """States: answered or thinking, in the cache, held for a place; and how many wait for the disk."""
    population, think, cache, disk, places = 3, 1.0, 0.5, 1.1, 4

    def moves(state: Any) -> Moves:
        inside, blocked, dirty = state
        if inside + blocked < population:
            yield (population - inside - blocked) / think, (inside + 1, blocked, dirty)
        if inside and not blocked:
            yield 1 / cache, (inside - 1, 0, dirty + 1) if dirty < places else (inside - 1, 1, dirty)
        if dirty:
            yield 1 / disk, (inside, blocked - 1, dirty) if blocked else (inside, 0, dirty - 1)

    share = stationary((0, 0, 0), moves)
    X = math.fsum(p / disk for s, p in share.items() if s[2])  # type: ignore[index]
    L = math.fsum(p * (s[0] + s[1]) for s, p in share.items())  # type: ignore[index]
    model = WriteCache(population, think, Exponential(cache), Exponential(disk), places)
    run = simulate(model, customers=CUSTOMERS, seed=40, confidence=CONFIDENCE)
    within(run, "throughput", X)
    within(run, "L", L)
