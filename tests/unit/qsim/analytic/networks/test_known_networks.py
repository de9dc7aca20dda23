"""Networks and their bounds against answers that others printed; the numbers and their sources are in tests/data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from class_networks import Row, both, circling, jackson, passing
from known_answers import check, check_bounds, family, within
from seen import schweitzer

from qsim import Closed, Delay, Exponential, Metrics, Station, asymptotic_bounds, balanced_bounds, solve
from qsim.analytic.networks import normalizing


def demands(given: Mapping[str, Any]) -> list[float]:
    return given["D"] if "D" in given else [s * v for s, v in zip(given["S"], given["V"], strict=True)]


def is_delay(servers: int) -> bool:
    return servers < 1


def network(given: Mapping[str, Any]) -> Closed:
    services = given.get("S", given.get("D"))
    visits = given.get("V", [1] * len(services))
    stations: list[Delay | Station] = [Delay(given["Z"])]
    for s, v, m in zip(services, visits, given["m"], strict=True):
        stations.append(Delay(s * v) if is_delay(m) else Station(Exponential(s), servers=m, visits=v))
    return Closed(given["N"], stations)


def values(metrics: Metrics, given: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of the known answers, in order of the stations (delays apart)."""
    visits = given.get("V", [1] * len(metrics.stations))
    return {
        "X_sys": metrics.throughput,
        "R_sys": metrics.W,
        "R": [s.W for s in metrics.stations]
        if "V" in given
        else [v * s.W for v, s in zip(visits, metrics.stations, strict=True)],
        "Q": [s.L for s in metrics.stations],
        "U": [s.utilization for s in metrics.stations],
        "X": [s.throughput for s in metrics.stations],
    }


CLOSED = [c for c in family("closed MVA") if c.values[0]["params"]["N"] > 0 and c.values[0]["params"]["m"][0] >= 1]


@pytest.mark.parametrize("case", [*CLOSED, *family("closed convolution")])
def test_closed_networks(case: Mapping[str, Any]) -> None:
    given = case["params"]
    model = network(given)
    r = solve(model)
    assert r.kind == "exact"
    found = values(r, given)
    for name, expected in case["expected"].items():
        if name == "G":
            centres = [normalizing.servers([d], m, given["N"]) for d, m in zip(demands(given), given["m"], strict=True)]
            G = np.exp(normalizing.constant(normalizing.empty_network([given["Z"]], (given["N"],)), centres))
            assert G.tolist() == within(case, expected)
        elif name == "P_Q_ge":
            queue = r.stations[expected["station"]]
            assert math.fsum(queue.p(n) for n in range(expected["n"], given["N"] + 1)) == within(case, expected["p"])
        elif name == "Q_station":
            for index, length in expected.items():
                assert r.stations[int(index)].L == within(case, length)
        else:
            assert found[name] == within(case, expected), name


@pytest.mark.parametrize("case", family("closed MVA Schweitzer"))
def test_schweitzer(case: Mapping[str, Any]) -> None:
    r = schweitzer(network(case["params"]))
    assert r.kind == "approximation"
    assert "Schweitzer" in r.method
    found = values(r, case["params"])
    for name, expected in case["expected"].items():
        assert found[name] == within(case, expected), name


def class_stations(given: Mapping[str, Any], keep: Sequence[int]) -> list[Row]:
    return [
        Row(
            services=[Exponential(row[i]) if row[i] > 0 else None for row in given["S"]],
            visits=[v[i] if row[i] > 0 else 0 for row, v in zip(given["S"], given["V"], strict=True)],
            servers=given.get("m", [1] * (i + 1))[i],
            discipline="PS",
        )
        for i in keep
    ]


@pytest.mark.parametrize("case", family("closed MVA multiclass"))
def test_closed_classes(case: Mapping[str, Any]) -> None:
    given = case["params"]
    S, V, m, R, M = given["S"], given["V"], given["m"], len(given["N"]), len(given["m"])
    queueing = [i for i in range(M) if not is_delay(m[i])]
    think = [math.fsum(S[r][i] * V[r][i] for i in range(M) if is_delay(m[i])) for r in range(R)]
    r = solve(circling(given["N"], class_stations(given, queueing), think))
    assert r.kind == "exact"
    X = [c.throughput for c in r.classes]
    stations = {
        (i, k): next((part for part in s.classes if part.name == f"class {k + 1}"), None)
        for i, s in zip(queueing, r.stations or [r], strict=True)
        for k in range(R)
    }

    def time(k: int, i: int) -> float:
        part = stations.get((i, k))
        return S[k][i] * (V[k][i] > 0) if part is None else part.W

    def table(value: Any) -> list[list[float]]:
        return [[value(k, i) for i in range(M)] for k in range(R)]

    found = {
        "Q": table(lambda k, i: X[k] * V[k][i] * time(k, i)),
        "R": table(time),
        "residence": table(lambda k, i: V[k][i] * time(k, i)),
        "U": table(lambda k, i: X[k] * V[k][i] * S[k][i]),
        "X_sys": X,
        "X1": X,
        "X_total": X,
        "Q_total": [math.fsum(X[k] * V[k][i] * time(k, i) for k in range(R)) for i in range(M)],
    }
    for name, expected in case["expected"].items():
        if name == "R_at":
            for where, value in expected.items():
                k, i = (int(part) - 1 for part in where.split(","))
                assert time(k, i) == within(case, value)
        elif name == "X_total":  # of the stations: here each class has a delay of its own
            assert X == within(case, expected)
        else:
            assert np.array(found[name]) == within(case, np.array(expected)), name


@pytest.mark.parametrize("case", family("mixed MVA multiclass"))
def test_mixed_network(case: Mapping[str, Any]) -> None:
    given = case["params"]
    opens = [x for x in given["lam"] if x > 0]
    closed = [n for n in given["N"] if n > 0]
    r = solve(both(opens, closed, class_stations(given, range(len(given["S"][0])))))
    assert r.kind == "exact"
    Q = np.array([[part.L for part in station.classes] for station in r.stations]).T
    assert np.array(case["expected"]["Q"]) == within(case, Q)
    assert [c.throughput for c in r.classes[len(opens) :]] == within(case, case["expected"]["X_closed"])


@pytest.mark.parametrize("case", family("open network"))
def test_open_network(case: Mapping[str, Any]) -> None:
    given = case["params"]
    stations = [
        Station(Exponential(s), visits=v, servers=m) for s, v, m in zip(given["S"], given["V"], given["m"], strict=True)
    ]
    r = solve(jackson(given["lam"], stations))
    assert r.kind == "exact"
    found = values(r, given)
    for name, expected in case["expected"].items():
        if name.endswith("_at"):
            for index, value in expected.items():
                assert found[name[0]][int(index)] == within(case, value), name
        else:
            assert found[name] == within(case, expected), name


@pytest.mark.parametrize("case", family("open network multiclass"))
def test_open_network_of_classes(case: Mapping[str, Any]) -> None:
    given, expected = case["params"], case["expected"]["class0"]
    r = solve(passing(given["lam"], class_stations(given, [0, 1])))
    assert r.kind == "exact"
    cpu = r.stations[0].classes[0]
    visits = given["V"][0][0]
    assert cpu.throughput == within(case, expected["X_cpu"])
    assert cpu.utilization == within(case, expected["U_cpu"])
    assert cpu.L == within(case, expected["Q_cpu"])
    assert visits * cpu.W == within(case, expected["R_cpu"])
    assert r.classes[0].W == within(case, expected["R_sys"])


@pytest.mark.parametrize("case", family("M/M/c/K//N"))
def test_finite_source_with_limited_places(case: Mapping[str, Any]) -> None:
    given = case["params"]
    check(
        case,
        solve(
            Closed(
                given["N"],
                [Delay(1 / given["lam_each"]), Station(Exponential(1 / given["mu"]), given["c"], capacity=given["K"])],
            )
        ),
    )


@pytest.mark.parametrize("case", family("asymptotic bounds inverse"))
def test_the_largest_population_is_where_the_bound_meets_the_limit(case: Mapping[str, Any]) -> None:
    given = case["params"]
    bounds = asymptotic_bounds(case["expected"]["N_max"], given["Z"], given["D"])
    assert float(bounds.response_time_low[0]) == within(case, given["R_limit"])


@pytest.mark.parametrize("case", family("balanced system bounds"))
def test_balanced_bounds(case: Mapping[str, Any]) -> None:
    given = case["params"]
    bounds = balanced_bounds(given["N"], given["Z"], given["D"])
    check_bounds(case, bounds)
    exact = solve(Closed(given["N"], [Delay(given["Z"]), *(Station(Exponential(d)) for d in given["D"])]))
    assert bounds.throughput_low[0] <= exact.throughput * (1 + 1e-12)
    assert exact.throughput <= bounds.throughput_high[0] * (1 + 1e-12)
