"""Answers that others printed or computed, from tests/data with their sources, and how they are held against ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from places import KNOWN_ANSWERS

from qsim import Deterministic, Distribution, Erlang, Exponential, Gamma, HyperExponential, Metrics
from qsim.analytic.bounds import Bounds

CASES = json.loads(KNOWN_ANSWERS.read_text())
PHASE_TYPE = re.compile(r"(E\d|H2|M)/(E\d|H2)/\d")
NAMES = {"rho": "utilization", "X": "throughput", "p_wait_arrival": "p_wait"}


def family(*models: str) -> list[Any]:
    cases = [case for case in CASES if case["model"] in models]
    assert cases, f"no known answers for {models}"
    return [pytest.param(case, id=f"{case['id']}: {case['source']}") for case in cases]


def within(case: Mapping[str, Any], expected: object) -> Any:
    if case["tolerance_type"] == "rel":
        return pytest.approx(expected, rel=case["tolerance"])
    return pytest.approx(expected, abs=case["tolerance"])


def value(metrics: Metrics, name: str) -> float:
    if name == "efficiency":  # of a finite source: the share not held up in the queue
        return 1 - metrics.Lq / metrics.model.population  # type: ignore[attr-defined]
    if name == "p_wait_book":  # busy as seen in time average, which the book calls the probability of waiting
        return 1 - metrics.p(0)
    return metrics.p(0) if name == "P0" else float(getattr(metrics, NAMES.get(name, name)))


def check(case: Mapping[str, Any], metrics: Metrics) -> None:
    for name, expected in case["expected"].items():
        if name == "p":
            assert [metrics.p(n) for n in range(len(expected))] == within(case, expected)
        elif name == "p_n":
            for n, probability in expected.items():
                assert metrics.p(int(n)) == within(case, probability)
        else:
            assert value(metrics, name) == within(case, expected), name


def check_bounds(case: Mapping[str, Any], bounds: Bounds) -> None:
    names = {"X": "throughput", "R": "response_time", "lower": "low", "upper": "high"}
    for name, expected in case["expected"].items():
        found = getattr(bounds, "_".join(names[part] for part in name.split("_")))
        assert float(found[0]) == within(case, expected), name


def with_scv(mean: float, scv: float) -> Distribution:
    """M/G/1 depends on the service only through mean and scv; a gamma has any."""
    return Gamma(mean, scv) if scv > 1e-12 else Deterministic(mean)


def law(description: Mapping[str, Any]) -> Distribution:
    mean = description["mean"]
    match description["dist"]:
        case "erlang":
            return Erlang(description["k"], mean)
        case "h2_balanced":
            return HyperExponential.from_moments(mean, description["scv"])
    return Exponential(mean)
