"""Engine against engine on the same customers, one by one, and both against a trace."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from class_networks import Flow, Row, circling, queue_of
from customers import log_of
from places import KNOWN_ANSWERS

from qsim import (
    GG1,
    MM1,
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Distribution,
    Erlang,
    Exponential,
    GGc,
    HyperExponential,
    LogNormal,
    MMcK,
    MMcN,
    Network,
    Open,
    Station,
    Tandem,
    simulate,
    trace,
)
from qsim._types import FloatArray
from qsim.engines.trace import draw

CASES = {c["id"]: c for c in json.loads(KNOWN_ANSWERS.read_text())}
ENGINES: tuple[Any, ...] = ("compiled", "reference")
LIGHT, HEAVY, ONE = LogNormal(0.8, 2.0), LogNormal(1.6, 2.0), Exponential(1.0)
DISCIPLINES: tuple[Any, ...] = ("LCFS-PR", "PS")
URGENT = (Flow(Exponential(2.0), Exponential(0.6), priority=1), Flow(Exponential(3.0), LIGHT))

FIRST_COME: list[Network] = [
    MM1(0.8, 1.0),
    GG1(Erlang(3, 1.0), HyperExponential.from_moments(0.7, 4.0)),
    GGc(ONE, LogNormal(2.4, 2.0), 3),
    GGc(Deterministic(1.0), Erlang(2, 3.2), 4),
]
BY_EVENTS: list[Network] = [
    Open(Exponential(1 / 3.0), Exponential(1 / 1.0), math.inf),
    Open(Exponential(1 / 1500.0), ONE, math.inf),  # more present than there are rows for at first
    *[Open(ONE, HEAVY, servers=2, queues=q) for q in ("random", "round-robin", "shortest")],  # type: ignore[arg-type]
    MMcN(64, 1.0, 1.0, 32),
    MMcK(5.0, 2.0, 2, 5),
    Open(ONE, HEAVY, servers=2, queues="random", capacity=6),
    Tandem(ONE, [Station(Exponential(0.7)), Station(HEAVY, 3, queues="random"), Station(Erlang(2, 0.8))]),
    *[Open(ONE, LIGHT, discipline=d) for d in DISCIPLINES],
    *[Open(ONE, HEAVY, servers=2, discipline=d) for d in DISCIPLINES],
    Open(ONE, HEAVY, speeds=(1.0, 1.5, 2.0)),
    Open(ONE, HEAVY, speeds=(1.0, 1.5, 2.0), discipline="PS"),
    Open(ONE, HEAVY, servers=2, speeds=(1.0, 1.5, 2.0), discipline="LCFS-PR"),
    *[queue_of(URGENT, priority=p) for p in ("none", "non-preemptive", "preemptive-resume")],
    queue_of(URGENT, servers=2, priority="preemptive-resume"),
    Closed(
        10,
        [
            Delay(Exponential(3.0)),
            Station(ONE),
            Delay(LIGHT),
            Station(Erlang(2, 1.0), 2, visits=2.3),
            Station(Exponential(2.0), visits=0.4, discipline="PS"),
        ],
    ),
    Closed(10, [Delay(3.0), Station(ONE, speeds=(1.0, 1.8, 2.5))]),
    Closed(10, [Delay(LIGHT), Station(HEAVY, 2, capacity=4)]),
    Network({"way": Delay(2.0), "desk": Station(HEAVY, 2, capacity=3)}, Arrivals(1.0)),
    Network(
        {"host": Delay(20.0), "bus": Station(ONE), "die": Station(Exponential(8.0), servers=8)},
        16,
        {"host": {"bus": 1}, "bus": {"die": 1}, "die": {"die": 0.1, "host": 0.9}},
    ),
]
CHAOTIC: list[Network] = [  # a difference, however small, doubles every fifty customers
    circling(
        (4, 3),
        [Row((Exponential(0.5), Exponential(1.0)), discipline="PS"), Row((ONE, None), visits=(1.5, 0.0), servers=2)],
        think_times=(2.0, 1.0),
    ),
    Network(
        {
            "host": Delay(3.0),
            "a": Station(
                {"read": ONE, "write": Exponential(1.5), "clean": HEAVY},
                2,
                discipline="preemptive priority",
                priority={"write": 1, "clean": 2},
            ),
            "b": Station({"read": LIGHT, "write": HEAVY, "clean": ONE}, 2, queues="random"),
        },
        {"clean": Arrivals({"a": 0.2}), "read": 4, "write": 2},
        {
            "read": {"host": {"a": 1}, "a": {"b": 0.8, "a": 0.2}, "b": {"host": 1}},
            "write": {"host": {"a": 1}, "a": {"b": 1}, "b": {"a": 0.2, "host": 0.8}},
            "clean": {"a": {"b": 0.5}},
        },
    ),
]


def name_of(model: Network) -> str:
    return model.kendall


def assert_same_customers(one: FloatArray, other: FloatArray, most: int = 9000) -> None:
    """Times agree to 1e-8 of the time unit, thousands of units on; at the end some count in one engine alone."""
    rows, n = min(len(one), len(other)), min(one.shape[1], other.shape[1], most)
    assert n > 100
    np.testing.assert_allclose(one[:rows, :n], other[:rows, :n], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("model", FIRST_COME, ids=name_of)
def test_both_engines_serve_the_same_customers_alike(model: Network) -> None:
    n = 9000  # more than a block of variates
    one, other = (log_of(model, engine, n).finished for engine in ENGINES)
    assert one.shape[1] == other.shape[1] == n
    assert_same_customers(one, other)


@pytest.mark.parametrize("model", [*BY_EVENTS, *CHAOTIC], ids=name_of)
def test_both_engines_agree_on_every_event(model: Network) -> None:
    n, most = 9000, 400 if model in CHAOTIC else 9000
    one, other = (log_of(model, engine, n) for engine in ENGINES)
    assert one.finished.shape[1] == other.finished.shape[1] == n
    assert_same_customers(one.finished, other.finished, most)
    for here, there in zip(one.stays, other.stays, strict=True):
        assert_same_customers(here, there, most // 3)


@pytest.mark.parametrize("model", [*FIRST_COME, MMcN(20, 3.0, 1.0, 4), MMcK(5.0, 2.0, 2, 5)], ids=name_of)
def test_both_engines_live_through_the_same_run(model: Network) -> None:
    n = 17_000  # more than two blocks of variates
    compiled, reference = (
        simulate(model, customers=n, seed=50, engine=engine, allow_short=True, warmup=0.1) for engine in ENGINES
    )
    for name in ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_wait", "p_block"):
        assert getattr(compiled, name) == pytest.approx(getattr(reference, name), rel=1e-9), name
        assert compiled.interval(name) == pytest.approx(reference.interval(name), rel=1e-6), name


@pytest.mark.parametrize("law", [ONE, LIGHT], ids=str)
def test_where_rounding_grows_the_engines_agree_within_their_intervals(law: Distribution) -> None:
    """Customers circle between two stations with PS: thousands of events on, the last bit changes who is first."""
    model = Closed(5, [Station(law, discipline="PS"), Station(Exponential(0.9), discipline="PS")])
    one, other = (simulate(model, customers=10_000, seed=3, engine=engine, allow_short=True) for engine in ENGINES)
    for name in ("throughput", "L", "W"):
        (low, high), (least, most) = one.interval(name), other.interval(name)
        assert max(low, least) <= min(high, most), name


@pytest.mark.parametrize("model", FIRST_COME, ids=name_of)
@pytest.mark.parametrize("engine", ENGINES)
def test_customers_wait_as_long_as_those_of_a_trace(model: Network, engine: str) -> None:
    """The engine counts time from block to block; a trace counts it from zero. The waits are the same."""
    n = 17_000 if engine == "compiled" else 9000  # the reference counts from zero too: a second block of variates
    waits = log_of(model, engine, n, seed=60).finished[1]
    np.testing.assert_allclose(waits, trace(model, *draw(model, n, seed=60)).wait, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_published_record_of_customers_turned_away(engine: str) -> None:
    """Ciw's test of D/D/1 with three places: who is served when, and who is lost before each departure."""
    known = CASES["ka176"]
    given, expected = known["params"], known["expected"]
    model = Open(Deterministic(given["interarrival"]), Deterministic(given["service"]), capacity=given["K"])
    gaps, waits, services, _, lost = log_of(model, engine, 2).finished
    ends = np.cumsum(gaps)
    assert ends.tolist() == expected["service_ends"]
    assert (ends - services).tolist() == expected["service_starts"]
    assert waits.tolist() == expected["completed_waits"]
    assert (ends - services - waits).tolist() == expected["completed_arrival_times"]
    lost_before = [sum(low < t < high for t in expected["lost_arrival_times"]) for low, high in ((0, 26), (26, 47))]
    assert lost.tolist() == lost_before
