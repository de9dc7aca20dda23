"""Every kind of load is a type that knows its words, its limits and its law."""

from __future__ import annotations

import json
from inspect import isabstract
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import points_at
from typer.main import get_command

from calibrate import compare, fit, predict
from calibrate.cli.app import app
from calibrate.fitting.fit import Fit
from measure import audit, load_dataset
from measure.errors import DataError
from measure.loads import (
    LOADS,
    ArrivalRate,
    Bandwidth,
    BufferSize,
    Clients,
    Depth,
    InjectedDelay,
    Load,
    LoadKind,
    Outstanding,
    counted_in,
    load_from_dict,
)
from measure.sweep import Sweep, join
from measure.units import parse_bytes, parse_rate
from qsim.analytic.any_load import Curves, nodes

KINDS: tuple[type[Load], ...] = (Depth, Clients, Outstanding, ArrivalRate, InjectedDelay, Bandwidth, BufferSize)
EVERY = [pytest.param(kind(), id=kind.__name__) for kind in KINDS]
PARSERS = {"requests/s": parse_rate, "B/s": lambda text: parse_bytes(text.removesuffix("/s")), "B": parse_bytes}
WORDS = ("law", "name", "singular", "plural", "unit", "symbol", "knee_symbol", "column", "more", "rate_name")


def test_each_name_of_a_load_in_files_has_a_type() -> None:
    assert tuple(LOADS) == get_args(LoadKind)
    assert {kind.kind for kind in KINDS} == set(LOADS)


@pytest.mark.parametrize("load", EVERY)
def test_a_load_has_every_word(load: Load) -> None:
    assert not isabstract(type(load))
    assert all(isinstance(getattr(load, word), str) and getattr(load, word) for word in WORDS)
    assert load.least_points >= 1
    assert all((load.may_be_zero or value > 0) and value <= load.most for value in load.default_points)


@pytest.mark.parametrize("load", EVERY)
@pytest.mark.parametrize("value", [1.0, 64.0, 2048.0, 2.0**20])
def test_the_text_of_a_load_reads_back(load: Load, value: float) -> None:
    parse = PARSERS.get(load.unit, float)
    assert parse(load.text(value, 6)) == pytest.approx(value, rel=1e-3)
    assert parse(load.estimated_text(value, 6)) == pytest.approx(value, rel=1e-3)
    assert load.legend(value).endswith(load.text(value))


def test_words_that_name_a_kind_differ() -> None:
    for word in ("name", "singular", "plural"):
        assert len({getattr(kind(), word) for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("load", [p for p in EVERY if p.values[0].option])
def test_its_option_is_one_of_the_measuring_commands(load: Load) -> None:
    measure = get_command(app).get_command(None, "measure")
    commands = [measure.get_command(None, name) for name in measure.list_commands(None)]
    assert load.option in {option for c in commands for p in c.params for option in p.opts}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Depth([1, 0]), "values must be greater than zero"),
        (lambda: ArrivalRate([0]), "values must be greater than zero"),
        (lambda: ArrivalRate([float("nan")]), "values must be"),
        (lambda: InjectedDelay([-1]), "values must be zero or more"),
        (lambda: Depth([1e7]), "at most 1e[+]06"),
        (lambda: Depth(jobs=0), "jobs must be 1 or more"),
        (lambda: Clients(think=-1.0), "think must be zero or more seconds"),
        (lambda: Clients(noun="requests in 4 jobs"), "noun must be a word"),
        (lambda: ArrivalRate(gaps="even"), "gaps must be poisson or paced"),
    ],
)
def test_a_load_beyond_its_limits_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "load",
    [
        *(kind() for kind in KINDS),
        Depth(jobs=4),
        Depth(jobs=None),
        Clients(think=None),
        Clients(think=0.25, noun="users"),
        ArrivalRate(gaps="paced"),
        InjectedDelay(unit="ns"),
    ],
)
def test_a_load_reads_back_from_json(load: Load) -> None:
    assert load_from_dict(json.loads(json.dumps(load.to_dict()))) == load


def test_a_load_is_printed_as_it_is_typed_without_defaults() -> None:
    assert repr(ArrivalRate([2e3, 8e3], gaps="paced")) == "ArrivalRate([2000, 8000], gaps='paced')"
    assert repr(Clients([10], think=None, noun="users")) == "Clients([10], think=None, noun='users')"
    assert repr(Depth([0.5, 64])) == "Depth([0.5, 64])"


def test_an_unknown_name_of_a_load_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"load_kind must be one of queue_depth, .* not 'coffee'"):
        load_from_dict({"load_kind": "coffee"})
    with pytest.raises(TypeError, match="load_type must be a kind of load, such as Depth"):
        Sweep(points_at([1], 1), "coffee")  # type: ignore[arg-type]


@given(n=st.floats(1, 1e5), service=st.floats(1e-6, 10), think=st.floats(0, 10))
def test_the_law_of_clients_who_think_holds_both_ways(n: float, service: float, think: float) -> None:
    load, rate = Clients(think=think), n / (service + think)
    assert load.by_law(rate, service) == pytest.approx(n)
    assert load.response_by_law(n, rate) == pytest.approx(service, rel=1e-6, abs=1e-9 * think)
    assert Clients(think=None).by_law(rate, service) is None


def test_clients_without_a_think_time_and_depths_obey_n_equals_x_r() -> None:
    for load in (Depth(), Clients(), Outstanding()):
        assert load.by_law(200.0, 0.04) == pytest.approx(8)
        assert load.response_by_law(8.0, 200.0) == pytest.approx(0.04)


def test_a_sweep_over_clients_is_audited_compared_and_predicted_in_their_words() -> None:
    load = np.array([1.0, 2, 4, 8, 16, 32, 64])
    sweep = Sweep(points_at(load, 1e5 * load / (load + 8)), Clients(noun="tellers"), name="bank")
    audit(sweep)
    compared = compare(sweep)
    assert compared.fit.load_name == "tellers N"
    assert compared.split == "calibrated on tellers 1, 8, 64; the other 4 points are held out"
    assert predict(compared.fit, [16]).load_type == Clients(noun="tellers")


def test_clients_with_different_think_times_are_not_one_sweep() -> None:
    sweeps = [Sweep(points_at([1, 8], [10, 70]), Clients(think=z)) for z in (0.1, 0.2)]
    with pytest.raises(DataError, match=r"Clients\(think=0.1\) and in Clients\(think=0.2\) cannot be one sweep"):
        join([("a", sweeps[0]), ("b", sweeps[1])], "both")


def test_a_tables_word_for_requests_is_the_type_of_its_load() -> None:
    assert [counted_in(word) for word in ("requests", "users", "outstanding")] == [
        Depth(),
        Clients(noun="users"),
        Outstanding(),
    ]


@pytest.mark.parametrize(
    ("jobs", "known", "place", "several"),
    [
        ([4, 4, 4], 4, "outstanding 9.5 (iodepth 2.4 × 4 jobs)", "outstanding 1, 9.5, 64"),
        ([1, 2, 4], None, "outstanding 9.5", "outstanding 1, 9.5, 64"),
        ([1, 1, 1], 1, "depth 9.5", "depths 1, 9.5, 64"),
    ],
)
def test_a_depth_knows_the_jobs_that_share_it_and_a_fit_on_file_does(jobs, known, place, several) -> None:
    loads = np.array([1.0, 9.5, 64])
    sweep = Sweep(points_at(loads, 1e4 * loads, jobs=jobs))
    fitted = fit(sweep)
    again = Fit.from_dict(json.loads(json.dumps(fitted.to_dict())))
    for load in (sweep.load_type, fitted.load_type, again.load_type):
        assert load == Depth(jobs=known)
        assert load.at(9.5) == place
        assert load.at(*loads) == several
        assert load.unit == "requests"
    assert fitted.load_type.at(1) == place.split()[0] + " 1"  # fewer than the jobs


def test_one_curve_of_several_has_the_jobs_of_its_own_points() -> None:
    table = points_at([4, 8, 1, 2], [4e4, 7e4, 1e4, 2e4], jobs=[4, 4, 1, 1])
    sweep = Sweep(table.assign(series=["shared", "shared", "alone", "alone"]))
    assert [sweep.load_type, *(sweep.select(s).load_type for s in sweep.series)] == [
        Depth(jobs=None),
        Depth(jobs=4),
        Depth(),
    ]
    assert load_dataset("004-ssd-depth").load_type == Depth()


@pytest.mark.parametrize("scv", [0.0, 1.0])
def test_poisson_arrivals_at_one_server_wait_as_pollaczek_and_khinchine_say(scv: float) -> None:
    n = nodes(64)
    one_server = Curves(n, np.zeros((1, n.size)))
    found = ArrivalRate().present(one_server, 0.8, np.array([scv]))
    assert found.response[0] == pytest.approx(1 + 0.5 * (1 + scv) * 0.8 / (1 - 0.8), rel=1e-6)
