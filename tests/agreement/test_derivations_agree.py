"""Every number of a derivation is the one that ``solve`` gives, and what is printed is what was worked out."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim import (
    GG1,
    MD1,
    MG1,
    MM1,
    MM1K,
    MX1,
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    Geometric,
    GGc,
    HyperExponential,
    LogNormal,
    MDc,
    MGc,
    MMc,
    MMcc,
    MMcK,
    MMcN,
    MMInf,
    Model,
    Open,
    Station,
    UnstableQueueError,
    solve,
)
from qsim.analytic import FAMILIES, find_family
from qsim.derivations import _PAGES, Derivation, Remark, derive
from qsim.derivations.expressions import value_of
from qsim.metrics import SYMBOLS

E = Exponential
ONE = E(1.0)
MODELS = (
    MM1(16, 20), MM1(0, 1), MMc(2.7, 1, 3), MMc(30, 1, 40), MM1K(8, 10, 5), MMcK(3, 1, 2, 6), MMcK(8, 1, 10, 10),
    MMcK(500, 1, 400, 900), MMcc(8, 1, 10), Open(E(1 / 8), Deterministic(1.0), 10, capacity=10), MMInf(6, 2),
    MD1(0.8, 1), MDc(1.8, 1, 2), MDc(1.9999, 1, 2), MG1(0.8, LogNormal(1, 0.5)),
    MG1(0.8, HyperExponential.from_moments(1, 4)), MX1(0.4, 2, 1.0), MX1(0.2, Geometric(3.0), 1.0),
    GG1(Deterministic(1.25), ONE), GGc(Gamma(1.25, 0.5), E(2), 2), GGc(Erlang(2, 1.0), Erlang(2, 1.6), 2),
    GGc(LogNormal(1.25, 0.5), LogNormal(1, 2.0), 1), GGc(LogNormal(1.25, 0.5), LogNormal(1, 0.2), 3),
    GGc(LogNormal(1.25, 2.5), LogNormal(1, 0.2), 1), GGc(LogNormal(1.25, 2.5), LogNormal(1, 0.2), 3),
    GG1(Deterministic(2.0), Deterministic(1.0)), MGc(2.0, LogNormal(1, 0.5), 3), MGc(2.0, LogNormal(1, 2.0), 3),
    Open(E(1 / 1.6), ONE, 2, queues="random"), Open(E(1 / 1.6), ONE, 2, queues="round-robin"),
    Open(E(1 / 0.6), ONE, discipline="PS"), Open(E(1 / 1.6), LogNormal(1.0, 2), 2, discipline="PS"),
    Open(E(1 / 0.6), LogNormal(1.0, 2), discipline="LCFS-PR"), Open(E(1 / 1.6), ONE, 2, discipline="LCFS-PR"),
    Open(E(1 / 0.6), ONE, discipline="LCFS"), Open(E(1 / 0.6), LogNormal(1.0, 2), discipline="SIRO"),
    Open(E(1 / 0.6), ONE, discipline="SJF"), Open(E(1 / 0.6), ONE, capacity=4, discipline="PS"),
    MMcN(10, 5, 1), MMcN(1, 5, 1), MMcN(64, 1e-6, 80e-6, 32), MMcN(4, 0, 80e-6, 32), MMcN(40, 0, 1, 3),
    MMcN(40, 20, 1, 3), MMcN(3, 20, 1, 8), MMcN(2000, 1e-9, 1.0, 4), MMcN(50, 1e9, 1.0, 4),
    Closed(12, [Delay(3), Station(ONE, servers=4, queues="random")]),
    Closed(8, [Delay(10), Station(ONE), Station(E(0.5), servers=2)]), Closed(4, [Station(LogNormal(1.0, 2.0))]),
)  # fmt: skip
NAMES = [f"{i}-{m.kendall}" for i, m in enumerate(MODELS)]


def ends(derivation: Derivation) -> dict[str, float]:
    """The last value of each name."""
    return {step.name: step.value for step in derivation.steps if step.name}


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_every_number_equals_that_of_solve(model: Model) -> None:
    try:
        answer = solve(model)
    except ValueError:
        with pytest.raises(ValueError, match=r"simulat"):
            derive(model)
        return
    derivation = derive(model)
    found = ends(derivation)
    known = {name for name in SYMBOLS if not math.isnan(getattr(answer, name))}
    assert set(found) == known
    for name in known:
        assert found[name] == pytest.approx(getattr(answer, name), rel=1e-9, abs=1e-12), name
    assert derivation.method == answer.method


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_what_is_printed_gives_what_is_claimed(model: Model) -> None:
    """The numbers of each line, typed into a calculator, give its value to the digits printed."""
    try:
        steps = derive(model).steps
    except ValueError:
        return
    for step in steps:
        if not step.numbers or "..." in step.numbers:
            continue
        inputs = [abs(float(n)) for n in re.findall(r"\d[\d.]*(?:e[-+]?\d+)?", step.numbers)]
        again = value_of(step.numbers.replace("^", "**"), {})
        assert again == pytest.approx(step.value, rel=1e-3, abs=1e-5 * max(inputs, default=0.0)), step


@settings(deadline=None, max_examples=60)
@given(rho=st.floats(0.01, 0.99), servers=st.integers(1, 60), places=st.integers(0, 40))
def test_erlang_s_pages_at_any_load(rho: float, servers: int, places: int) -> None:
    for model in (MMc(rho * servers, 1.0, servers), MMcK(3 * rho * servers, 1.0, servers, servers + places)):
        answer, found = solve(model), ends(derive(model))
        assert all(found[n] == pytest.approx(getattr(answer, n), rel=1e-8, abs=1e-12) for n in SYMBOLS)


@settings(deadline=None, max_examples=60)
@given(N=st.integers(1, 60), think=st.floats(0, 100), servers=st.integers(1, 20), random=st.booleans())
def test_circles_at_any_population(N: int, think: float, servers: int, random: bool) -> None:
    station = Station(ONE, servers=servers, queues="random" if random else "shared")
    model = Closed(N, [Delay(think), station])
    answer, found = solve(model), ends(derive(model))
    assert all(found[n] == pytest.approx(getattr(answer, n), rel=1e-8, abs=1e-12) for n in SYMBOLS)


def test_every_family_with_a_page_is_asked_for() -> None:
    assert {find_family(m) for m in MODELS} >= set(_PAGES)
    assert set(_PAGES) <= set(FAMILIES)


def test_the_middle_of_a_long_recursion_is_left_out() -> None:
    lines = derive(MMc(30, 1, 40)).lines
    symbols = [line.symbol for line in lines if not isinstance(line, Remark)]
    assert [s for s in symbols if s.startswith("B")] == ["B(0)", "B(1)", "B(2)", "B(3)", "B(39)", "B(40)"]
    assert sum(isinstance(line, Remark) and line.text == "..." for line in lines) == 1


def test_what_solve_refuses_has_no_derivation() -> None:
    with pytest.raises(UnstableQueueError):
        derive(MM1(2, 1))
