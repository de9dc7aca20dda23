"""A model prints as the call that makes it, which gives it back."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import pytest

import qsim
from qsim import (
    GG1,
    MG1,
    MM1,
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Exponential,
    Gamma,
    MMcK,
    MMcN,
    Network,
    Open,
    Station,
    Tandem,
)

WRITTEN = {
    "MM1(arrival_rate=16, service_rate=20)": MM1(16, 20),
    "MMcK(arrival_rate=2, service_rate=1, servers=2, capacity=4)": MMcK(2, 1, 2, 4),
    "MG1(arrival_rate=1, service=Deterministic(value=0.5))": MG1(1, Deterministic(0.5)),
    "MMcN(population=8, think_time=1, service_time=0.5)": MMcN(8, 1, 0.5, 1),
    "Closed(population=32, stations=[Delay(time=1.0), Station(service=Exponential(mean=0.5), servers=3)])": Closed(
        32, [Delay(1.0), Station(Exponential(0.5), servers=3)]
    ),
    "Station(service=Exponential(mean=1.0), visits='geometric:12')": Station(Exponential(1.0), visits="geometric:12"),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_it_prints_as_it_is_typed_without_defaults(text: str) -> None:
    assert repr(WRITTEN[text]) == text


@pytest.mark.parametrize(
    "model",
    [
        *WRITTEN.values(),
        GG1(Exponential(1.0), Gamma(mean=0.5, scv=2)),
        Open(Exponential(1.0), Exponential(0.1), 2, queues="random"),
        Open(Exponential(1.0), Exponential(0.5), speeds=[1, 2]),
        Tandem(Exponential(1.0), [Station(Exponential(0.5), name="host"), Station(Exponential(0.25))]),
        Network(
            {
                "cpu": Station(
                    {"a": Exponential(0.1), "b": Gamma(mean=1, scv=2)}, discipline="priority", priority={"a": 0, "b": 1}
                ),
                "wire": Delay(Deterministic(0.1)),
            },
            {"a": Arrivals(1), "b": 3},
        ),
        Network({"a": Station(Exponential(1.0)), "b": Delay(2.0)}, 4, {"a": {"b": 1.0}, "b": {"a": 1.0}}),
    ],
)
def test_what_it_prints_gives_it_back(model: object) -> None:
    names = {"math": math, **{name: getattr(qsim, name) for name in dir(qsim) if name[0].isupper()}}
    assert eval(repr(model), names) == model  # noqa: S307
    assert repr(pickle.loads(pickle.dumps(model))) == repr(copy.copy(model)) == repr(model)  # noqa: S301


def test_a_changed_copy_prints_what_it_is_and_not_what_it_was_made_of() -> None:
    more = dataclasses.replace(Delay(1.0), visits=2.0)
    assert repr(more) == "Station(service=Exponential(mean=1.0), servers=math.inf, visits=2.0)"
    assert repr(MMcN(8, 1, 0.5).with_population(4)).startswith(
        "Network(stations={'delay': Delay(time=1.0), 'station': "
    )
