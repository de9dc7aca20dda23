"""Networks by name: each against the model that it is, or the equations that it must obey, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
from class_networks import Row, circling

from qsim import (
    Arrivals,
    Closed,
    Delay,
    Deterministic,
    Exponential,
    Gamma,
    MMc,
    Network,
    NoFormulaError,
    Station,
    solve,
)

THERE_AND_BACK = {"host": {"disk": 1.0}, "disk": {"host": 1.0}}


def _closed(disk: Station, customers: int = 4) -> Network:
    return Network({"host": Delay(2.0), "disk": disk}, customers, THERE_AND_BACK)


@pytest.mark.parametrize(
    ("disk", "why"),
    [
        (Station(Exponential(0.5), discipline="SJF"), "disk serves in the order SJF"),
        (
            Station(Exponential(0.5), servers=2, queues="round-robin"),
            "disk has a queue at each server, .* 'round-robin'",
        ),
        (Station(Exponential(0.5), servers=2, queues="shortest"), "disk has a queue at each server, .* 'shortest'"),
        (Station(Exponential(0.5), servers=float("inf")), "nobody queues there"),
    ],
)
def test_a_station_that_no_family_knows_is_named(disk: Station, why: str) -> None:
    with pytest.raises(NoFormulaError, match=why):
        solve(_closed(disk))


@pytest.mark.parametrize("rates", [(0.1, 0.3), (0.1, 0.6), (0.1, 2.3), (0.5, 0.4), (5.0, 4.0)])
def test_classes_served_alike_are_one_stream_however_their_rates_are_rounded(rates: tuple[float, float]) -> None:
    first, second = rates
    net = Network({"disk": Station(Exponential(0.4), servers=4)}, {"a": Arrivals(first), "b": Arrivals(second)})
    found, known = solve(net), solve(MMc(first + second, 2.5, 4))
    assert found.kind == "exact"
    assert (found.W, found.Wq) == pytest.approx((known.W, known.Wq), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("law", [Deterministic(0.3), Gamma(0.3, 3.0)])
def test_the_last_to_come_leaves_product_form_where_servers_share_a_queue(law: Any) -> None:
    """LCFS-PR is insensitive to the law of service at single servers only (BCMP 1975)."""
    for queues, kind in (("shared", "approximation"), ("random", "exact")):
        node = Station(law, servers=2, discipline="LCFS-PR", queues=queues)
        assert solve(_closed(node)).kind == kind
        station = Row([law], servers=2, discipline="LCFS-PR", queues=queues)
        assert solve(circling([4], [station], [2.0])).kind == kind
    exponential = solve(_closed(Station(Exponential(0.3), servers=2, discipline="LCFS-PR")))
    known = solve(Closed(4, [Delay(2.0), Station(Exponential(0.3), 2, discipline="LCFS-PR")]))
    assert (exponential.kind, exponential.W) == ("exact", pytest.approx(known.W))


def test_constant_times_alone_never_forget_how_they_began() -> None:
    """Two in step stay in step: the exact mean is over all beginnings, and is called no exact answer of one run."""
    laws = {"a": Deterministic(0.2), "b": Gamma(0.3, 2.0)}
    for population, kind in ((1, "exact"), (2, "approximation")):
        net = Network(
            {"host": Delay(Deterministic(1.0)), "disk": Station(laws, discipline="PS")},
            {"a": population, "b": 2},
            THERE_AND_BACK,
        )
        assert solve(net).kind == kind
        alone = Closed(population, [Delay(Deterministic(1.0)), Station(Deterministic(0.5), discipline="PS")])
        assert solve(alone).kind == kind
        assert ("constant" in solve(alone).method) == (population > 1)
    assert solve(Closed(3, [Delay(1.0), Station(Deterministic(0.5), discipline="PS")])).kind == "exact"


def test_a_station_that_nobody_passes_is_idle_and_a_visit_would_take_its_service() -> None:
    stations = {"busy": Station(Exponential(1.0)), "idle": Station(Exponential(2.0))}
    idle = solve(Network(stations, 2, {"busy": {"busy": 1.0}}))["idle"]
    assert (idle.throughput, idle.L, idle.utilization) == (0.0, 0.0, 0.0)
    assert (idle.W, idle.Wq, idle.p_wait) == (2.0, 0.0, 0.0)


def test_where_nobody_comes_a_station_weighs_the_classes_by_their_visits() -> None:
    cpu = Station({"a": Exponential(1.0), "b": Exponential(2.0)}, discipline="PS", visits={"a": 1, "b": 3})
    nobody = Arrivals(Exponential(math.inf))
    assert solve(Network({"cpu": cpu}, {"a": nobody, "b": nobody}))["cpu"].W == (1 * 1.0 + 3 * 2.0) / (1 + 3)


def test_a_station_lists_the_classes_that_come_and_a_class_has_the_share_of_its_busiest_station() -> None:
    stations = {"cpu": Station(Exponential(1.0)), "disk": Station({"a": Exponential(0.5)})}
    found = solve(Network(stations, {"a": Arrivals(0.25), "b": Arrivals(0.25)}))
    assert [[c.name for c in found[name].classes] for name in stations] == [["a", "b"], ["a"]]
    assert [found[c].utilization for c in "ab"] == [0.25, 0.25]
