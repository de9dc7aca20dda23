"""What a station of a network refuses, in one line that names the parameter and the remedy."""

from __future__ import annotations

import math
from typing import Any

import pytest

from qsim import (
    Delay,
    Exponential,
    ForkJoin,
    Gather,
    MG1Setup,
    Network,
    Node,
    NoEngineError,
    NoFormulaError,
    Region,
    UnstableQueueError,
    WriteCache,
    simulate,
    solve,
)

ONE = Exponential(1.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"setup": 2.0}, "setup must be a Distribution"),
        ({"setup": ONE, "off_after": -1}, "off_after must be zero or positive"),
        ({"setup": ONE, "servers": math.inf}, "servers must be finite, not inf, where setup is given"),
        (
            {"setup": ONE, "discipline": "PS"},
            "discipline must be one of FCFS, LCFS, SJF, SIRO, priority, polling: setup",
        ),
        ({"turnaround": ONE, "speeds": (1, 2)}, "speeds must be None: turnaround needs"),
        ({"turnaround": {"w": "fast"}}, "turnaround of w must be a Distribution"),
        ({"paces": (1, 2), "servers": 3}, "paces must hold one number for each server, 3 in all, not 2"),
        ({"paces": (1, 0), "servers": 2}, "paces must be positive and finite, not 0"),
        ({"queues": "split", "servers": 2, "discipline": "LCFS-PR"}, "queues='split' needs servers that finish"),
        ({"off_after": 1.0}, "off_after must be 0 without setup"),
        ({"copies_to": 3}, "copies_to must be the name of a station, not 3"),
        ({"priority": 1}, "priority must be a mapping, not 1"),
        ({"queues": "split", "servers": 2, "copies_to": "a"}, "copies_to must be empty at a station that splits"),
    ],
)
def test_servers_that_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")) as refusal:
        Node(ONE, **given)
    assert "\n" not in str(refusal.value)


def test_groups_that_cannot_be() -> None:
    for wrong in ({"count": 0, "after": 1.0}, {"count": 1000, "after": 1.0}, {"count": 4}, {"count": 4, "after": -1.0}):
        with pytest.raises(ValueError, match=r"count must be|after must be"):
            Gather(**wrong)  # type: ignore[arg-type]


def test_a_group_serves_nobody() -> None:
    with pytest.raises(ValueError, match="servers must not be given to a Gather: it takes count, after, capacity"):
        Gather(count=4, after=1.0, servers=2)


def test_what_is_said_of_a_class_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="setup of die must name classes, not 'erase': there are read"):
        Network({"die": Node(ONE, setup={"erase": ONE})}, arrivals={"read": {"die": ONE}})


def test_copies_in_a_circle_grow_for_ever() -> None:
    stations = {"a": Node(ONE, copies_to="b"), "b": Node(ONE, copies_to="a")}
    with pytest.raises(ValueError, match="copies_to must not send ever more copies: copies are copied in a circle"):
        Network(stations, arrivals={"a": Exponential(4.0)})


def test_copies_need_somewhere_to_go() -> None:
    with pytest.raises(ValueError, match="copies_to of cache must name stations, not 'disc': there are cache"):
        Network({"cache": Node(ONE, copies_to="disc")}, arrivals={"cache": 0.5})
    with pytest.raises(ValueError, match="service of disk must hold a law for destage"):
        Network(
            {"cache": Node(ONE, copies_to="disk as destage"), "disk": Node({"write": ONE})}, arrivals={"cache": 0.5}
        )


def test_networks_that_do_not_run() -> None:
    cache, disk = Node(ONE, copies_to="disk"), Node(ONE, capacity=4, when_full="after service")
    gate = Network({"cache": cache, "disk": disk}, arrivals={"cache": 0.5}, regions=[Region(["disk"], 2)])
    with pytest.raises(NoEngineError, match="copies from cache would pass a gate"):
        simulate(gate)
    twice = Network({"cache": cache, "disk": disk, "next": disk}, arrivals={"cache": 0.5})
    with pytest.raises(NoEngineError, match="two places at once"):
        simulate(twice)
    stripe = Network({"dies": Node(ONE, 2, queues="split"), "next": disk}, arrivals={"dies": 0.5})
    with pytest.raises(NoEngineError, match="dies splits its customers, so nobody has a server to stay on"):
        simulate(stripe)


def test_too_much_work_is_refused() -> None:
    for model in (ForkJoin(1.2, ONE, 8), MG1Setup(1.0, ONE, ONE)):
        for answer in (solve, simulate):
            with pytest.raises(UnstableQueueError):
                answer(model)  # type: ignore[operator]
    slow = Network({"dies": Node(ONE, 2, paces=(1, 0.5))}, arrivals={"dies": 1.6})
    with pytest.raises(UnstableQueueError):
        simulate(slow)


def test_what_has_no_formula_names_simulate() -> None:
    for model in (
        WriteCache(4, 1.0, ONE, ONE, 8),
        Network({"host": Delay(1.0), "die": Node(ONE, setup=ONE)}, populations={"host": 4}),
    ):
        with pytest.raises(NoFormulaError, match="simulate"):
            solve(model)
