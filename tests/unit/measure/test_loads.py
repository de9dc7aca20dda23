"""Every kind of load is one entry of LOADS, and what differs between kinds is asked of it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pytest
from made_up import points_at
from typer.main import get_command

from calibrate import compare, fit
from calibrate.cli.app import app
from measure import audit
from measure.errors import DataError
from measure.loads import LOADS, Load, LoadKind
from measure.sweep import Sweep
from measure.units import parse_bytes, parse_rate

EVERY = [pytest.param(load, id=kind) for kind, load in LOADS.items()]
PARSERS = {"requests/s": parse_rate, "B/s": lambda text: parse_bytes(text.removesuffix("/s")), "B": parse_bytes}
NATURES = ("is_closed", "is_open", "is_delay", "is_bandwidth", "is_size")


def test_the_kinds_of_files_and_the_loads_are_the_same() -> None:
    assert tuple(LOADS) == get_args(LoadKind)
    assert [load.kind for load in LOADS.values()] == list(LOADS)


@pytest.mark.parametrize("load", EVERY)
def test_a_load_has_every_word_and_one_nature(load: Load) -> None:
    optional = {"option", "knee_unit"}
    words = {f.name: getattr(load, f.name) for f in fields(load) if f.type == "str" and f.name not in optional}
    assert len(words) == 8
    assert all(words.values())
    assert sum(getattr(load, nature) for nature in NATURES) == 1
    assert load.least_points >= 1
    assert all((load.may_be_zero or value > 0) and value <= load.most for value in load.default_points)
    assert "qsim measure" in load.more


@pytest.mark.parametrize("load", EVERY)
@pytest.mark.parametrize("value", [1.0, 64.0, 2048.0, 2.0**20])
def test_the_text_of_a_load_reads_back(load: Load, value: float) -> None:
    parse = PARSERS.get(load.unit, float)
    assert parse(load.text(value, 6)) == pytest.approx(value, rel=1e-3)
    assert parse(load.estimated_text(value, 6)) == pytest.approx(value, rel=1e-3)
    assert load.legend(value).endswith(load.text(value))


def test_words_that_name_a_kind_differ() -> None:
    for name in ("name", "noun", "plural", "symbol"):
        assert len({getattr(load, name) for load in LOADS.values()}) == len(LOADS)


@pytest.mark.parametrize("load", [p for p in EVERY if p.values[0].option])
def test_its_option_is_one_of_the_measuring_commands(load: Load) -> None:
    measure = get_command(app).get_command(None, "measure")
    commands = [measure.get_command(None, name) for name in measure.list_commands(None)]
    assert load.option in {option for c in commands for p in c.params for option in p.opts}


def test_a_new_kind_of_load_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = replace(LOADS["queue_depth"], kind="clients", name="clients N", noun="client", plural="clients")
    monkeypatch.setitem(LOADS, "clients", clients)
    load = np.array([1.0, 2, 4, 8, 16, 32, 64])
    throughput = 1e5 * load / (load + 8)
    sweep = Sweep(points_at(load, throughput), load_kind="clients", load_unit="clients", name="web")
    audit(sweep)
    compared = compare(sweep)
    assert compared.fit.load_name == "clients N"
    assert compared.split == "calibrated on clients 1, 8, 64; the other 4 points are held out"


def test_a_sweep_over_an_unknown_load_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="load_kind is 'coffee'; it must be one of queue_depth"):
        Sweep(points_at([1], 1), "coffee")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("jobs", "place", "several"),
    [
        ([4, 4, 4], "outstanding 9.5 (iodepth 2.4 × 4 jobs)", "outstanding 1, 9.5, 64"),
        ([1, 2, 4], "outstanding 9.5", "outstanding 1, 9.5, 64"),
        ([1, 1, 1], "depth 9.5", "depths 1, 9.5, 64"),
    ],
)
def test_a_load_of_several_jobs_names_what_is_outstanding_and_the_depth_of_each(jobs, place, several) -> None:
    loads = np.array([1.0, 9.5, 64])
    sweep = Sweep(points_at(loads, 1e4 * loads, jobs=jobs))
    fitted = fit(sweep)
    for load in (sweep.load_type, fitted.load_type):
        assert load.at(9.5) == place
        assert load.at(*loads) == several
        assert load.unit == "requests"
    assert fitted.load_type.at(1) == place.split()[0] + " 1"  # fewer than the jobs
