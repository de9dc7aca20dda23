"""Which family of formulas answers a model: the first whose theory covers it, and none where none does."""

from __future__ import annotations

import math

import pytest
from class_networks import Flow, Row, circling, queue_of
from seen import classes_of, queue

from qsim import (
    Closed,
    Delay,
    Deterministic,
    Erlang,
    Exponential,
    HyperExponential,
    LogNormal,
    Network,
    NoFormulaError,
    Open,
    PhaseType,
    RecordedArrivals,
    Station,
)
from qsim.analytic import find_formula
from qsim.analytic.closed import classes
from qsim.analytic.open import (
    approximations,
    disciplines,
    first_come,
    gimc,
    infinite_servers,
    load_dependent,
    loss,
    markovian,
    mdc,
    split,
)

GAPS, GENERAL, SERVICE = Exponential(1.0), LogNormal(1.0, 0.5), Exponential(0.5)
SMOOTH = Deterministic(0.5)
SKEWED = LogNormal(0.5, 2.0)
PHASES = Erlang(2, 0.5)

FAMILIES: list[tuple[Network, str | None]] = [
    (Open(GAPS, SERVICE), "mm1"),
    (Open(GAPS, SERVICE, 2), "mmc"),
    (Open(GAPS, SERVICE, 2, 5), "mmck"),
    (Open(GAPS, SERVICE, 2, 2), "mmck"),
    (Open(GAPS, SKEWED, 2, 2), "loss"),
    (Open(GAPS, SMOOTH, 2, 2), "loss"),
    (Open(GAPS, SKEWED, 2, 3), None),
    (Open(GAPS, SMOOTH), "mdc"),
    (Open(GAPS, SMOOTH, 2), "mdc"),
    (Open(GAPS, SMOOTH, 2, 3), None),
    (Open(GAPS, SKEWED), "mg1"),
    (Open(GAPS, SKEWED, 2), "approximations"),
    (Open(GAPS, PHASES), "mg1"),
    (Open(GAPS, PHASES, 2), "markovian"),
    (Open(GAPS, PHASES, 1, 3), "markovian"),
    (Open(PHASES, PHASES), "markovian"),
    (Open(GENERAL, SERVICE), "gimc"),
    (Open(GENERAL, SERVICE, 2), "gimc"),
    (Open(GENERAL, SERVICE, 2, 2), "gimc"),
    (Open(GENERAL, SERVICE, 2, 3), None),
    (Open(GENERAL, SKEWED), "approximations"),
    (Open(RecordedArrivals((1.0, 2.0)), SERVICE), None),
    (Open(GAPS, SERVICE, speeds=(1.0, 2.0)), "load_dependent"),
    (Open(GAPS, SKEWED, speeds=(1.0, 2.0)), None),
    (Open(GENERAL, SERVICE, speeds=(1.0, 2.0)), None),
    (Open(GAPS, SKEWED, speeds=(1.0, 2.0), discipline="PS"), "load_dependent"),
    (Open(GAPS, SERVICE, speeds=(1.0, 2.0), discipline="LCFS"), "load_dependent"),
    (Open(GAPS, SERVICE, speeds=(1.0, 2.0), discipline="SJF"), None),
    (Open(GAPS, SERVICE, speeds=(1.0, 2.0), discipline="PSJF"), None),
    (Open(GAPS, SERVICE, 1, 1, speeds=(2.0,)), "load_dependent"),
    (Open(GAPS, SKEWED, discipline="SJF"), "disciplines"),
    (Open(GAPS, SKEWED, discipline="PSJF"), "disciplines"),
    (Open(GAPS, SKEWED, 2, discipline="SJF"), None),
    (Open(GAPS, SKEWED, 1, 3, discipline="SJF"), None),
    (Open(GENERAL, SKEWED, discipline="SJF"), None),
    (Open(GAPS, SKEWED, 2, discipline="PS"), "disciplines"),
    (Open(GENERAL, SERVICE, discipline="PS"), None),
    (Open(GAPS, SKEWED, 1, 3, discipline="PS"), "disciplines"),
    (Open(GAPS, SKEWED, discipline="LCFS-PR"), "disciplines"),
    (Open(GAPS, SKEWED, 2, discipline="LCFS-PR"), None),
    (Open(GAPS, SKEWED, 1, 3, discipline="LCFS-PR"), None),
    (Open(GAPS, SERVICE, 2, discipline="LCFS-PR"), "disciplines"),
    (Open(GAPS, SERVICE, 2, 4, discipline="LCFS-PR"), None),
    (Open(GENERAL, SERVICE, 2, discipline="LCFS-PR"), "disciplines"),
    (Open(GAPS, SKEWED, discipline="LCFS"), "disciplines"),
    (Open(GAPS, SKEWED, discipline="SIRO"), "disciplines"),
    (Open(GAPS, SKEWED, 2, 3, discipline="SIRO"), None),
    (Open(GAPS, SKEWED, 2, 2, discipline="SIRO"), "loss"),
    (Open(GAPS, SKEWED, 2, 2, discipline="PS"), "loss"),
    (Open(GAPS, SKEWED, 2, 2, discipline="LCFS"), "loss"),
    (Open(GAPS, SKEWED, 2, 2, discipline="SJF"), "loss"),
    (Open(GAPS, SKEWED, 2, 2, discipline="PSJF"), None),
    (Open(GAPS, SERVICE, 2, 4, queues="random"), None),
    (Open(GAPS, SERVICE, 2, queues="shortest"), None),
    (Open(GENERAL, SERVICE, 2, queues="random"), None),
    (Open(GAPS, SERVICE, 1, queues="random"), "mm1"),
    (Open(Deterministic(1.0), SERVICE, 2, queues="random"), None),
    (Open(GENERAL, SKEWED, math.inf), "infinite_servers"),
    (Open(RecordedArrivals((1.0, 2.0)), SERVICE, math.inf), None),
    (queue_of([Flow(GAPS, SKEWED)]), "mg1"),
    (queue_of([Flow(GAPS, SKEWED)] * 2), "priorities"),
    (queue_of([Flow(GENERAL, SERVICE)] * 2), "routed"),
    (Closed(3, [Delay(1.0), Station(SERVICE)]), "repairman"),
    (Closed(3, [Station(SERVICE, 2)]), "repairman"),
    (Closed(3, [Station(SERVICE, 1, queues="random")]), "repairman"),
    (Closed(3, [Station(SERVICE, 2, queues="random")]), "random_routing"),
    (Closed(3, [Station(SERVICE, 2, queues="random", visits=2)]), "network"),
    (Closed(3, [Station(SERVICE, 2, queues="random", discipline="PS")]), "network"),
    (Closed(3, [Station(SERVICE, visits=2)]), "network"),
    (Closed(3, [Station(SERVICE, discipline="PS")]), "network"),
    (Closed(3, [Station(SERVICE, speeds=(1.0, 2.0))]), "network"),
    (Closed(3, [Station(SKEWED)]), "alone"),
    (Closed(3, [Delay(1.0), Station(SKEWED)]), "mean_value"),
    (Closed(3, [Station(SKEWED, discipline="PS")]), "network"),
    (Closed(3, [Station(SKEWED, discipline="LCFS-PR")]), "network"),
    (Closed(3, [Station(SKEWED, 2, discipline="LCFS-PR")]), "mean_value"),
    (Closed(3, [Station(SERVICE, 2, discipline="LCFS-PR")]), "network"),
    (Closed(3, [Delay(1.0), Station(SERVICE, capacity=2)]), "finite_source"),
    (Closed(3, [Delay(1.0), Station(SKEWED, capacity=2)]), None),
    (Closed(3, [Delay(1.0), Station(SERVICE, capacity=2, visits=2)]), None),
    (Closed(3, [Delay(1.0), Station(SERVICE, capacity=2, discipline="PS")]), None),
    (Closed(3, [Delay(1.0), Station(SERVICE, 2, queues="random", capacity=2)]), None),
    (Closed(3, [Delay(1.0), Station(SERVICE, 1, queues="random", capacity=2)]), "finite_source"),
    (circling([1, 1], [Row([SERVICE, SERVICE])]), "classes"),
    (circling([1, 1], [Row([SERVICE, Exponential(0.4)])]), "mean_value"),
    (circling([1, 1], [Row([SKEWED, SKEWED])]), "mean_value"),
    (circling([1, 1], [Row([SKEWED, SERVICE], discipline="PS")]), "classes"),
    (circling([1, 1], [Row([SKEWED, SERVICE], discipline="LCFS-PR")]), "classes"),
    (circling([1, 1], [Row([SKEWED, SERVICE], servers=2, discipline="LCFS-PR")]), "mean_value"),
    (circling([1, 1], [Row([SERVICE, SERVICE], servers=2, discipline="LCFS-PR")]), "classes"),
    (circling([1, 1], [Row([SERVICE, SKEWED], [1, 0]), Row([None, SERVICE], [0, 1])]), "classes"),
]


@pytest.mark.parametrize(("model", "family"), FAMILIES)
def test_the_first_family_whose_theory_covers_a_model_answers(model: Network, family: str | None) -> None:
    found = find_formula(model)
    name = "" if found is None else found.solve.__module__.rpartition(".")[2]
    assert name == (family or "")


@pytest.mark.parametrize("family", [disciplines, infinite_servers, load_dependent, loss, markovian])
def test_a_family_of_open_queues_leaves_closed_ones_alone(family: object) -> None:
    assert not family.FORMULA.covers(Closed(3, [Station(SERVICE)]))  # type: ignore[attr-defined]


def test_each_family_takes_as_many_servers_as_it_can() -> None:
    for family, gaps, service, most in (
        (approximations, GENERAL, SKEWED, 100_000),
        (mdc, GAPS, SMOOTH, 2000),
        (gimc, GENERAL, SERVICE, 1_000_000),
    ):
        assert family.applies(queue(Open(gaps, service, most)))
        assert not family.applies(queue(Open(gaps, service, most + 1)))
    three = PhaseType.of(Erlang(32, 1.0))
    assert split.arrivals_at_one(queue(Open(three, SKEWED, 2, queues="round-robin"))) is not None  # 64 phases
    assert split.arrivals_at_one(queue(Open(three, SKEWED, 3, queues="round-robin"))) is None
    assert split.arrivals_at_one(queue(Open(PhaseType.of(Erlang(65, 1.0)), SKEWED, 2, queues="random"))) is not None


def test_tables_and_lattices_have_a_largest_size() -> None:
    first_come.require_few_states(queue(Open(GAPS, SERVICE)), 2_000_000)
    with pytest.raises(NoFormulaError, match="2,000,001 states, more than the 2,000,000"):
        first_come.require_few_states(queue(Open(GAPS, SERVICE)), 2_000_001)
    shared = classes_of(circling([1, 1], [Row([SERVICE, SERVICE], discipline="PS")])).stations
    assert classes.is_small(shared, (1999, 999))  # 2000 x 1000 populations
    assert not classes.is_small(shared, (2000, 999))


def test_phases_of_many_servers_are_counted_up_to_the_largest_level() -> None:
    """c servers with two phases have c + 1 states, times the phases of the arrivals: up to 400."""
    gaps = HyperExponential((0.5, 0.5), (1.0, 2.0))
    assert markovian.applies(queue(Open(gaps, Erlang(2, 100.0), 199, 199)))
    assert not markovian.applies(queue(Open(gaps, Erlang(2, 100.0), 200, 200)))
    # Without a limit on places 60 levels count: 60·364³ + 181·182³ is below 4e9, 60·366³ + 182·184³ is not.
    assert markovian.applies(queue(Open(gaps, Erlang(2, 100.0), 181)))
    assert not markovian.applies(queue(Open(gaps, Erlang(2, 100.0), 182)))
    # 2 x 100 states cubed are 8e6: with 500 levels 4e9, the most that is worked out.
    assert markovian.applies(queue(Open(gaps, Erlang(2, 50.0), 99, 99 + 480)))
    assert not markovian.applies(queue(Open(gaps, Erlang(2, 50.0), 99, 99 + 500)))
