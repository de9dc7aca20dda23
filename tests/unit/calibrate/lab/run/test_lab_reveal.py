"""From the first points to the reveal, on a published measurement: what is told when, and what is kept back."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_replay import REPLAY

pytest.importorskip("dash")

from calibrate.fitting.curve_fit import Fit, fit
from calibrate.lab.folder import LabFolder
from calibrate.lab.run.event_log import GUESSES, PREDICTION, REPORT, SWEEP, TAKEN_BACK
from calibrate.lab.run.orders import choices, order_for
from calibrate.lab.run.page import guesses_csv
from calibrate.lab.run.revealing import outcome, reveal
from calibrate.lab.run.session import LabRun
from calibrate.lab.run.worker import measure
from calibrate.lab.run.worker_messages import Teller, first_loads
from calibrate.sealing.guesses import Row, off_text
from measure import load_dataset


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


@pytest.fixture(scope="module")
def observed() -> Fit:
    return fit(load_dataset(REPLAY.removeprefix("dataset-"), corrected=True).select("4 KiB read"))


def row(rank: int | None, name: str, observed: Fit, ratio: float) -> Row:
    state = "revealed" if rank else "predicts no knee of these data"
    return Row(rank, name, "2026-01-01", state, ratio * (observed.knee.load or 0.0), knee_ratio=ratio)


def test_the_reveal_ends_in_what_was_guessed_what_was_measured_and_how_close(observed):
    knee, model = observed.knee, "qsim (prediction.json)"
    ann, bob = row(1, "Ann", observed, 1.1), row(3, "Bob", observed, 0.25)
    said = outcome([ann, row(2, model, observed, 1.2), bob], observed)
    assert said == (
        f"2 guesses put the knee at depth {bob.knee:.3g} to {ann.knee:.3g}; it was measured at depth {knee.load:.3g} "
        f"({knee.low:.2g} to {knee.high:.2g}). Closest: Ann with {ann.knee:.3g} (10 % too high). "
        f"The model predicted {1.2 * knee.load:.3g} (20 % too high)."
    )
    alone = outcome([bob], observed)
    assert alone.startswith(f"1 guess puts the knee at depth {bob.knee:.3g}; ")
    assert "Closest: Bob with" in alone
    assert "(4.0 times too low)" in alone
    assert "model" not in alone
    none = outcome([row(1, model, observed, 1.2)], observed)
    assert none.startswith("Nobody guessed. The knee was measured at depth")
    assert "The model predicts no knee" in outcome([ann, row(None, model, observed, 1.0)], observed)


def test_equal_guesses_are_closest_together(observed):
    same = [row(1, name, observed, 2.0) for name in ("Ann", "Bob", "Cleo", "Dan", "Eve")]
    assert "Closest: Ann with" in outcome(same[:1], observed)
    assert re.search(r"Ann with \S+ \(2.0 times too high\) and Bob with", outcome(same[:2], observed))
    assert re.search(r"Cleo with [^,]+ and 2 more\.", outcome(same, observed))


@given(st.floats(1e-3, 1e3))
def test_an_error_is_a_percentage_up_to_a_half_and_a_ratio_beyond(ratio):
    said = off_text(ratio)
    factor = max(ratio, 1 / ratio)
    if "times" in said:
        assert factor > 1.499
        assert float(said.split()[0]) == pytest.approx(factor, rel=0.06)
        assert said.endswith("too high" if ratio > 1 else "too low")
    else:
        assert factor < 1.501
        assert said == "exact" or float(said.split()[0]) == pytest.approx(100 * abs(ratio - 1), rel=0.06, abs=0.06)


def test_the_audit_is_counted_in_words_and_the_errors_of_guesses_are_told(folder):
    run, teller = teller_of(folder, [], hidden=False)
    for name, knee in (("Ann", 15), ("Bob", 400)):
        run.guess(name, knee)
    (run.directory / TAKEN_BACK).write_text("[]")
    result = reveal(measure(teller), run.directory, run.order)
    severities = [f["severity"] for f in result["audit"]]
    assert result["audit_found"] == f"{severities.count('info')} notes"
    assert not any(f["text"].startswith("[") for f in result["audit"])
    missed = {r["name"]: r["missed"] for r in result["leaderboard"]}
    assert re.fullmatch(r"\d+ % too low", missed["Ann"])
    assert re.fullmatch(r"\d+ times too high", missed["Bob"])
    assert [r["name"] for r in result["leaderboard"] if r["is_model"]] == ["qsim (prediction.json)"]
    assert result["outcome"].startswith("2 guesses put the knee at depth 15 to 400; it was measured at depth")


def test_a_replayed_table_of_clients_speaks_of_clients(folder):
    table = "clients,rps,latency_ms\n1,100,10\n4,390,10.3\n16,1200,13.3\n64,1600,40\n"
    (folder.root / "sweeps" / "web.csv").write_text(table)
    choice = next(c for c in choices(folder) if "web.csv" in c.label)
    order = order_for(folder, choice.value, None, 1.0)
    assert order.load_name == "clients N"


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
