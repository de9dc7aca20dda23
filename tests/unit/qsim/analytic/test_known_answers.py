"""Formulas against answers that others printed; the numbers and their sources are in tests/data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from places import KNOWN_ANSWERS

from qsim import MM1, Metrics, MMc, MMcK, MMcN, UnstableQueueError, asymptotic_bounds, erlang_b, erlang_c, solve

CASES = json.loads(KNOWN_ANSWERS.read_text())
NAMES = {"rho": "utilization", "X": "throughput", "p_wait_arrival": "p_wait"}


def family(*models: str) -> list[Any]:
    return [pytest.param(case, id=f"{case['id']}: {case['source']}") for case in CASES if case["model"] in models]


def within(case: Mapping[str, Any], expected: float) -> Any:
    if case["tolerance_type"] == "rel":
        return pytest.approx(expected, rel=case["tolerance"])
    return pytest.approx(expected, abs=case["tolerance"])


def value(metrics: Metrics, name: str) -> float:
    if name == "efficiency":  # of a finite source: the share not held up in the queue
        return 1 - metrics.Lq / metrics.model.population
    if name == "p_wait_book":  # busy as seen in time average, which the book calls the probability of waiting
        return 1 - metrics.p(0)
    return float(getattr(metrics, NAMES.get(name, name)))


def check(case: Mapping[str, Any], metrics: Metrics) -> None:
    for name, expected in case["expected"].items():
        if name == "P0":
            assert metrics.p(0) == within(case, expected)
        elif name == "p":
            assert [metrics.p(n) for n in range(len(expected))] == within(case, expected)
        elif name == "p_n":
            for n, probability in expected.items():
                assert metrics.p(int(n)) == within(case, probability)
        else:
            assert value(metrics, name) == within(case, expected), name


@pytest.mark.parametrize("case", family("M/M/1", "M/M/c"))
def test_open(case: Mapping[str, Any]) -> None:
    given = case["params"]
    servers = given.get("c", 1)
    model = MM1(given["lam"], given["mu"]) if servers == 1 else MMc(given["lam"], given["mu"], servers)
    if case["expected"].get("error") == "unstable":
        with pytest.raises(UnstableQueueError):
            solve(model)
        return
    check(case, solve(model))


@pytest.mark.parametrize("case", family("Erlang-C"))
def test_erlang_c(case: Mapping[str, Any]) -> None:
    given = case["params"]
    assert erlang_c(given["c"], given["a"]) == within(case, case["expected"]["p_wait"])


@pytest.mark.parametrize("case", family("M/M/c/c"))
def test_erlang_b(case: Mapping[str, Any]) -> None:
    given = case["params"]
    offered = given["a"] if "a" in given else given["lam"] / given["mu"]
    assert erlang_b(given["c"], offered) == within(case, case["expected"]["p_block"])


@pytest.mark.parametrize("case", family("M/M/1/K", "M/M/c/K"))
def test_limited_places(case: Mapping[str, Any]) -> None:
    given = case["params"]
    check(case, solve(MMcK(given["lam"], given["mu"], given.get("c", 1), given["K"])))


@pytest.mark.parametrize("case", family("M/M/c//N"))
def test_machine_repairman(case: Mapping[str, Any]) -> None:
    given = case["params"]
    if "service_factor" in given:  # service time over service plus think time
        service, think = given["service_factor"], 1 - given["service_factor"]
    else:
        service, think = 1 / given["mu"], 1 / given["lam_each"]
    check(case, solve(MMcN(given["N"], think, service, given["c"])))


@pytest.mark.parametrize("case", family("asymptotic bounds"))
def test_asymptotic_bounds(case: Mapping[str, Any]) -> None:
    given = case["params"]
    bounds = asymptotic_bounds(given["N"], given["Z"], given["D"], given.get("m"))
    found = {
        "X_lower": bounds.throughput_low,
        "X_upper": bounds.throughput_high,
        "R_lower": bounds.response_time_low,
        "R_upper": bounds.response_time_high,
    }
    for name, expected in case["expected"].items():
        assert float(found[name][0]) == within(case, expected), name
