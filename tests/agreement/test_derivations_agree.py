"""Every number of a derivation is the one that ``solve`` gives, and what is printed is what was worked out."""

from __future__ import annotations

import math
import re

import pytest
from class_networks import Row, jackson, passing
from hypothesis import given, settings
from hypothesis import strategies as st

from qsim import (
    GG1,
    MD1,
    MG1,
    MM1,
    MM1K,
    Closed,
    Delay,
    Deterministic,
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
    UnstableQueueError,
    solve,
)
from qsim.analytic import find_formula, formulas
from qsim.derivations import WRITERS, Derivation, DerivationStep, DerivationTable, Remark, derive
from qsim.derivations.builder import value_of
from qsim.metrics import SYMBOLS

E = Exponential
ONE = E(1.0)
ROUTED = jackson(
    [1, 0.5, 0],
    [Station(E(0.3)), Station(E(0.5), 2), Station(LogNormal(0.2, 3), discipline="PS")],
    [[0, 0.5, 0.2], [0.3, 0, 0], [0.5, 0, 0]],
)
MODELS = (
    jackson(4, [Station(E(0.04), visits=5, name="cpu"), Station(E(0.03), visits=2.5)]),
    ROUTED,
    jackson([1, 0], [Station(E(0.3), speeds=[1, 1.5, 2]), Delay(3)], [[0, 0.5], [1, 0]]),
    jackson([1, 0], [Station(E(0.9), 3, queues="random"), Station(E(0.1))], [[0, 1], [0.2, 0]]),
    jackson(1, [Station(E(0.9), 3)]),
    jackson([0.5, 0], [Station(E(0.8)), Delay(3)], [[0, 0.5], [0, 0]]),
    jackson(0.5, [Station(E(0.1))] * 13),
    Tandem(E(1 / 0.5), [Station(E(0.6)), Station(E(1.5), 2, name="disk")]),
    Closed(3, [Delay(15), *(Station(E(d)) for d in (0.605, 2.1, 1.35))]),
    Closed(30, [Delay(10), Station(ONE, 4, queues="random"), Station(E(0.5), visits=3)]),
    Closed(12, [Delay(3), Station(ONE, speeds=[1, 1.2, 1.5])]),
    Closed(12, [Delay(3), Delay(2), Station(ONE)]),
    Closed(12, [Delay(3), Station(LogNormal(1.0, 3), discipline="PS")]),
    Closed(64, [Delay(1e-6), Station(E(2e-6)), Station(E(80e-6), 32)]),
    Closed(4, [Station(LogNormal(1.0, 2.0))]),
    passing([0.3, 0.1], [Row([ONE, ONE])]),
    MM1(16, 20),
    MM1(0, 1),
    MMc(2.7, 1, 3),
    MMc(30, 1, 40),
    MM1K(8, 10, 5),
    MMcK(3, 1, 2, 6),
    MMcK(500, 1, 400, 900),
    MMcK(8, 1, 10, 10),
    Open(E(1 / 8), Deterministic(1.0), 10, capacity=10),
    MD1(0.8, 1),
    MG1(0.8, HyperExponential.from_moments(1, 4)),
    GG1(Deterministic(1.25), ONE),
    GGc(LogNormal(1.25, 0.5), LogNormal(1, 0.2), 3),
    GG1(Deterministic(2.0), Deterministic(1.0)),
    Open(E(1 / 1.6), ONE, 2, queues="random"),
    Open(E(1 / 0.6), LogNormal(1.0, 2), discipline="LCFS-PR"),
    MMcN(10, 5, 1),
    MMcN(1, 5, 1),
    MMcN(64, 1e-06, 8e-05, 32),
    MMcN(40, 0, 1, 3),
    MMcN(40, 0, 1),
    MMcN(2000, 1e-09, 1.0, 4),
    MMcN(50, 1000000000.0, 1.0, 4),
)
NAMES = [f"{i}-{m.kendall}" for i, m in enumerate(MODELS)]


def ends(derivation: Derivation) -> dict[str, float]:
    """The last value of each name."""
    return {step.name: step.value for step in derivation.steps if step.name}


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_every_number_equals_that_of_solve_and_that_of_its_line(model: Network) -> None:
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
    lines_hold(derivation)


def lines_hold(derivation: Derivation) -> None:
    """The numbers of each line, typed into a calculator, give its value to the digits printed."""
    typed = [step for step in derivation.steps if step.numbers and "..." not in step.numbers]
    assert typed
    for step in typed:
        inputs = [abs(float(n)) for n in re.findall(r"\d[\d.]*(?:e[-+]?\d+)?", step.numbers)]
        again = value_of(step.numbers.replace("^", "**"), {})
        assert again == pytest.approx(step.value, rel=1e-3, abs=1e-5 * max(inputs, default=0.0)), step


@settings(deadline=None, max_examples=60)
@given(N=st.integers(1, 60), think=st.floats(0, 100), servers=st.integers(1, 20))
def test_circles_at_any_population(N: int, think: float, servers: int) -> None:
    model = MMcN(N, think, 1.0, servers)
    answer, found = solve(model), ends(derive(model))
    assert all(found[n] == pytest.approx(getattr(answer, n), rel=1e-8, abs=1e-12) for n in SYMBOLS)


def test_every_family_with_a_page_is_asked_for() -> None:
    assert {find_formula(m) for m in MODELS} >= set(WRITERS)
    assert set(WRITERS) <= set(formulas())


def test_the_middle_of_a_long_recursion_is_left_out() -> None:
    lines = derive(MMc(30, 1, 40)).lines
    symbols = [line.symbol for line in lines if isinstance(line, DerivationStep)]
    assert [s for s in symbols if s.startswith("B")] == ["B(0)", "B(1)", "B(2)", "B(3)", "B(39)", "B(40)"]
    assert sum(isinstance(line, Remark) and line.text == "..." for line in lines) == 1


def test_what_solve_refuses_has_no_derivation() -> None:
    with pytest.raises(UnstableQueueError):
        derive(MM1(2, 1))


@pytest.mark.filterwarnings("error")
def test_weights_too_large_for_a_number_are_no_warning() -> None:
    assert "solved numerically" in str(derive(MMcK(2000.0, 1.0, 1900, 1900)))


def table_of(model: Network) -> DerivationTable:
    (table,) = (line for line in derive(model).lines if isinstance(line, DerivationTable))
    return table


def test_the_recursion_s_table_is_that_of_every_population() -> None:
    model = Closed(16, [Delay(15), *(Station(E(d)) for d in (0.605, 2.1, 1.35))])
    table = table_of(model)
    assert table.header == ("n", "R(1)", "R(2)", "R(3)", "X", "Q(1)", "Q(2)", "Q(3)")
    rows = [row for row in table.rows if row is not None]
    exact = [solve(model.with_population(n)) for n in range(1, 17)]
    assert [row[0] for row in rows] == list(range(1, 17))
    assert [row[4] for row in rows] == pytest.approx([r.throughput for r in exact])
    assert [sum(row[1:4]) for row in rows] == pytest.approx([r.W for r in exact])


def test_a_book_s_table_by_hand() -> None:
    """Lazowska et al. (1984), p. 117: three customers."""
    last = table_of(Closed(3, [Delay(15), *(Station(E(d)) for d in (0.605, 2.1, 1.35))])).rows[-1]
    assert last is not None
    assert [round(v, 3) for v in last] == [3, 0.644, 2.605, 1.551, 0.152, 0.098, 0.395, 0.235]


def test_a_long_table_leaves_out_its_middle() -> None:
    table = table_of(Closed(40, [Delay(15), Station(ONE), Station(E(2))]))
    assert [None if row is None else row[0] for row in table.rows] == [*range(1, 9), None, *range(33, 41)]
    assert "..." in table.text()


def test_traffic_equations_with_their_numbers() -> None:
    steps = {s.symbol: s for s in derive(ROUTED).steps}
    assert steps["lambda(1)"].equation() == (
        "lambda(1) = gamma(1) + 0.3 * lambda(2) + 0.5 * lambda(3) = 1 + 0.3 * 1.26667 + 0.5 * 0.306667 = 1.53333"
    )
    assert [s.utilization for s in solve(ROUTED).stations] == pytest.approx(
        [steps[f"rho({i})"].value for i in (1, 2, 3)]
    )


@pytest.mark.parametrize(("population", "by_states"), [(60, True), (90, False), (250, False)])
def test_states_are_written_out_as_far_as_their_weights_are_numbers(population: int, by_states: bool) -> None:
    """At a thousandth of a service of thinking the weights of 90 customers pass 1e280, of 250 all floats."""
    model = MMcN(population, think_time=1e-3, service_time=1.0, servers=3)
    derivation = derive(model)
    assert any(step.symbol == "busy" for step in derivation.steps) is by_states
    assert ends(derivation)["throughput"] == pytest.approx(solve(model).throughput)
