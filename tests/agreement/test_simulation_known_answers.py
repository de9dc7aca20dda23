"""The compiled engine against answers that others computed exactly, for queues solve() has no formula for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from known_answers import CASES, PHASE_TYPE, law, with_scv

from qsim import Deterministic, Exponential, GGc, Open, simulate


def model(case: Mapping[str, Any]) -> Open | None:
    given = case["params"]
    match case["model"]:
        case "M/D/1" | "M/D/c":
            return GGc(Exponential(1 / given["lam"]), Deterministic(1 / given["mu"]), given.get("c", 1))
        case "D/M/c":
            return GGc(Deterministic(1 / given["lam"]), Exponential(1 / given["mu"]), given["c"])
        case "M/G/1":
            mean = given["ES"]
            scv = given["cs"] ** 2 if "cs" in given else given["ES2"] / mean**2 - 1
            return GGc(Exponential(1 / given["lam"]), with_scv(mean, scv), 1)
        case name if PHASE_TYPE.fullmatch(name):
            return GGc(law(given["arrival"]), law(given["service"]), given["c"])
    return None


MODELLED = [(case, built) for case in CASES if (built := model(case)) is not None]
SIMULATED = [pytest.param(case, built, id=f"{case['id']}: {case['model']}") for case, built in MODELLED]


@pytest.mark.parametrize(("case", "built"), SIMULATED)
def test_simulation_covers_the_known_answer(case: Mapping[str, Any], built: Open) -> None:
    r = simulate(built, customers=1_000_000, seed=90)
    names = {"rho": "utilization", "X": "throughput"}
    checked = 0
    for name, exact in case["expected"].items():
        if name not in {"L", "Lq", "W", "Wq", "rho", "X"}:
            continue
        low, high = r.interval(names.get(name, name))
        value, half = getattr(r, names.get(name, name)), (high - low) / 2
        printed = case["tolerance"] * (exact if case["tolerance_type"] == "rel" else 1)
        # Twice the 95 % interval: about one false alarm in 10,000.
        assert abs(value - exact) <= 2 * half + printed, f"{name}: {value} +- {half}, printed {exact}"
        assert half <= 0.15 * exact + 1e-12, f"{name} is too vague to tell anything"
        checked += 1
    assert checked


def test_deterministic_service_on_two_servers_is_not_half_of_m_m_2() -> None:
    """L of M/D/2 at rho 0.9 is 5.664; halving M/M/2's queue gives the 5.08 that others print."""
    r = simulate(GGc(Exponential(1 / 1.8), Deterministic(1.0), 2), customers=3_000_000, seed=91)
    low, high = r.interval("L")
    assert low - (high - low) / 2 <= 5.664 <= high + (high - low) / 2
    assert low > 5.3
