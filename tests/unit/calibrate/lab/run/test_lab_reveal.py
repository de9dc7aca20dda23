"""From the first points to the reveal, on a published measurement: what is told when, and what is kept back."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from lab_replay import REPLAY

pytest.importorskip("dash")

from calibrate.lab.folder import LabFolder
from calibrate.lab.run.api import guesses_csv
from calibrate.lab.run.files import GUESSES, PREDICTION, REPORT, SWEEP, TAKEN_BACK
from calibrate.lab.run.measuring import measure
from calibrate.lab.run.orders import order_for
from calibrate.lab.run.revealing import reveal
from calibrate.lab.run.session import LabRun
from calibrate.lab.run.worker_messages import Teller, first_loads


def teller_of(folder: LabFolder, told: list[dict[str, object]], *, hidden: bool) -> tuple[LabRun, Teller]:
    order = replace(order_for(folder, REPLAY, None, 0.5), curve_hidden=hidden, seconds_per_point=0.0)
    run = LabRun.begin(folder.new_run(), order)
    return run, Teller(order, run.directory, [], lambda line: told.append(json.loads(line)))


def test_the_curve_is_told_when_it_is_sealed(folder):
    told: list[dict[str, object]] = []
    run, teller = teller_of(folder, told, hidden=False)
    measure(teller)
    sealed = next(e for e in told if e["kind"] == "sealed")
    assert len(sealed["curve"]) > len(run.order.loads)


def test_a_hidden_curve_is_sealed_at_once_and_told_at_the_reveal(folder):
    told: list[dict[str, object]] = []
    run, teller = teller_of(folder, told, hidden=True)
    run.guess("Ann", 12)
    _, nonce = run.guess("Bob", 7)
    run.take_back("Bob", 7, nonce)
    (run.directory / TAKEN_BACK).write_text(json.dumps(sorted(run._taken_back())))
    sweep = measure(teller)
    kinds = [e["kind"] for e in told if e["kind"] != "progress"]
    assert kinds.index("sealed") == len(first_loads(run.order))
    sealed = next(e for e in told if e["kind"] == "sealed")
    assert (run.directory / PREDICTION).exists()
    assert "curve" not in sealed

    result = reveal(sweep, run.directory, run.order)
    assert len(result["curve"]) > len(run.order.loads)
    names = [row["name"] for row in result["leaderboard"]]
    assert "Ann" in names
    assert "Bob" not in names
    assert any(name.startswith("qsim") for name in names)
    assert (run.directory / REPORT).exists()
    assert (run.directory / GUESSES).exists()
    assert not (run.directory / SWEEP).exists()  # a replay measures nothing


def test_what_is_left_counts_the_points_that_are_not_planned_yet(folder):
    told: list[dict[str, object]] = []
    _, teller = teller_of(folder, told, hidden=False)
    teller.order = replace(teller.order, seconds_per_point=2.0)
    teller.progress(1, 3, 4.0, "depth 4")
    left = next(e for e in told if e["kind"] == "progress")["seconds_left"]
    unplanned = len(teller.order.loads) - 2
    assert left == pytest.approx(4.0 + unplanned * 2.3, abs=0.1)


def test_the_guesses_are_a_table_that_no_spreadsheet_works_out():
    row = {"rank": 1, "knee": 12.0, "knee_error_pct": 3.5, "inside": True, "state": "revealed", "made_at": "2026-01-01"}
    names = ["=1+1", "+1", "-1", "@SUM(A1)", 'An"n', "Zoë, too"]
    rows = list(csv.DictReader(io.StringIO(guesses_csv([{**row, "name": n, "extra": 7} for n in names]))))
    assert [r["name"] for r in rows] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", 'An"n', "Zoë, too"]
    assert {r["knee"] for r in rows} == {"12.0"}
    assert "extra" not in rows[0]
