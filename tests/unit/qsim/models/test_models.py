"""Models: names, equality, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from seen import queue

from qsim import (
    GG1,
    MD1,
    MG1,
    MM1,
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    GGc,
    HyperExponential,
    LogNormal,
    MMc,
    MMcK,
    MMcN,
    Network,
    Open,
    Station,
    Tandem,
)

TWO = {"cpu": Station(Exponential(1), 2), "disk": Station(Exponential(2))}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (MM1(1, 2), "M/M/1"),
        (MMc(1, 2, 3), "M/M/3"),
        (MMcK(1, 2, 3, 10), "M/M/3/10"),
        (MG1(1, LogNormal(0.5, 2)), "M/G/1"),
        (GG1(Erlang(2, 1.0), HyperExponential.from_moments(0.5, 4)), "E2/H2/1"),
        (GGc(Deterministic(1), Exponential(1), 4), "D/M/4"),
        (MMcN(64, 1e-6, 80e-6, 32), "M/M/32//64"),
        (Closed(8, [Delay(Deterministic(1)), Station(Exponential(1), 2)]), "D/M/2//8"),
        (Network(TWO, 16), "closed network of 2 stations with 16 customers"),
        (Network(TWO, 1), "closed network of 2 stations with 1 customer"),
        (Network(TWO, {"a": 48, "b": 16}), "closed network of 2 classes and 2 stations with 48 + 16 customers"),
        (
            Network(TWO, {"a": 4, "b": Arrivals(0.1)}),
            "mixed network of 2 classes and 2 stations with 4 customers that circulate",
        ),
        (Network(TWO, Arrivals(0.1)), "open network of 2 stations"),
    ],
)
def test_kendall_names(model: Network, name: str) -> None:
    assert model.kendall == name


def test_the_same_description_is_the_same_value() -> None:
    assert MM1(1, 2) == MMc(1, 2, 1)
    assert hash(MM1(1, 2)) == hash(MMc(1, 2, 1))
    assert MMcN(64, 1e-6, 80e-6, 32) == Closed(64, [Delay(1e-6), Station(Exponential(80e-6), 32)])


def test_loads() -> None:
    model = queue(MMc(arrival_rate=2.7, service_rate=1.0, servers=3))
    assert model.offered_load == pytest.approx(2.7)
    assert model.rho == pytest.approx(0.9)
    assert queue(MM1(0, 1)).arrival_rate == 0


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: MM1(-1, 1), "arrival_rate"),
        (lambda: MM1(math.nan, 1), "arrival_rate"),
        (lambda: MM1(1, 0), "service_rate"),
        (lambda: MM1("1/s", 1), "arrival_rate"),  # type: ignore[arg-type]
        (lambda: MMc(1, 1, 0), "servers"),
        (lambda: MMc(1, 1, True), "servers"),
        (lambda: MMcK(1, 1, 3, 2), "capacity"),
        (lambda: MD1(1, -1), "service_time"),
        (lambda: MG1(1, Exponential(math.inf)), "service"),
        (lambda: GG1(Deterministic(0), Exponential(1)), "arrivals"),
        (lambda: Open(Exponential(1), Exponential(1), discipline="LIFO"), "discipline"),  # type: ignore[arg-type]
        (lambda: Open(Exponential(1), Exponential(1), servers=math.inf, capacity=2), "servers must be finite"),
        (lambda: Open(Exponential(1), Exponential(1), speeds=(1, -2)), r"speeds\[1\]"),
        (lambda: Open(3.0, Exponential(1)), "arrivals must be a Distribution"),  # type: ignore[arg-type]
        (lambda: Tandem(Exponential(1), []), "stations must not be empty"),
        (lambda: Tandem(Exponential(1), [Exponential(1)]), r"stations\[0\] must be a Delay or a Station"),  # type: ignore[list-item]
        (lambda: MMcN(0, 1, 1), "population"),
        (lambda: MMcN(1, -1, 1), "think_time"),
        (lambda: Delay(-1), "time"),
        (lambda: Station(Exponential(1), visits=0), "visits"),
        (lambda: Station(Exponential(1), speeds=()), "speeds must not be empty"),
        (lambda: Station(Exponential(1), queues="longest"), "queues"),  # type: ignore[arg-type]
        (lambda: Closed(1, Delay(1)), "stations"),  # type: ignore[arg-type]
        (lambda: Closed(1, [Delay(1)]), "stations"),
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], parameter: str) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter}"):
        build()


def test_a_refusal_names_value_and_remedy() -> None:
    said = r"^capacity must be a whole number of at least 3, not 2: it includes the 3 customers in service; None means"
    with pytest.raises(ValueError, match=said):
        MMcK(1, 1, 3, 2)
