"""Who came closest: what ranks the class and the model, and that the model can lose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.fitting.calibrating import fit
from calibrate.lab.run.duel import Guess, Judged, error_text, judge, outcome, predicted_load, ranked
from calibrate.lab.run.orders import Order
from measure import load_dataset
from measure.loads import Depth, InjectedDelay
from measure.sweep import Sweep

DEPTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
DEPTH = Depth()
DISK = Order("disk", "the disk", DEPTH, DEPTHS)
KNOWN = replace(DISK, device="known", servers=6, service_s=3e-3)


def sweep_of(rates, loads=DEPTHS, kind=DEPTH):
    n, x = np.array(loads), np.array(rates, dtype=float)
    table = {"series": "reads", "load": n, "throughput_per_s": x, "latency_s": np.maximum(n, 1) / x, "repeat": 0}
    return Sweep(points=pd.DataFrame({**table, "source": None, "started_at": None}), load_type=kind)


def guess(name, load):
    return Guess(name, load, "00")


def test_a_known_device_is_judged_by_its_truth_whatever_was_measured():
    judged = judge(KNOWN, sweep_of([1.0] * 7))
    assert (judged.load, judged.standard, judged.note) == (6.0, "the truth", "6 servers of 3 ms each")
    rows = ranked([guess("Ann", 30.0), guess("Bob", 7.0), guess("Cleo", 6.0)], 9.5, judged)
    assert [(r.rank, r.name, r.error) for r in rows] == [
        (1, "Cleo", "1.00 × the truth"),
        (2, "Bob", "1.17 × the truth"),
        (3, "qsim", "1.58 × the truth"),
        (4, "Ann", "5.00 × the truth"),
    ]
    assert outcome(KNOWN, rows, judged) == (
        "N* is 6, the truth: 6 servers of 3 ms each. Closest of 3 guesses: Cleo with 6 (1.00 × the truth). "
        "The model said 9.5 (1.58 × the truth) and loses."
    )


def test_a_drive_is_judged_by_all_of_its_points():
    rates = [100, 200, 390, 700, 980, 990, 1000]
    judged = judge(DISK, sweep_of(rates))
    expected = np.exp(np.interp(np.log(900), np.log([700, 980]), np.log([8, 16])))
    assert judged.load == pytest.approx(expected)
    assert judged.note == "between depth 8 and 16"
    assert judge(DISK, sweep_of([100, 200, 390, 700, 980, 990, 970])).load < judged.load  # 64 was the model's own


def test_the_model_answers_the_question_that_ranks_also_where_its_peak_lies_beyond_the_points():
    """A curve that is still rising at 64: 90 % of the highest measured is far below 90 % of the peak beyond."""
    rates = 1e5 * np.array(DEPTHS) / (np.array(DEPTHS) + 100)
    made = fit(sweep_of(rates))
    assert made.ninety.load > 128
    assert predicted_load(DISK, made) == pytest.approx(judge(DISK, sweep_of(rates)).load, rel=0.05)


def test_the_model_answers_on_a_memory_whose_curve_passes_the_line():
    sweep = load_dataset("001-memory")
    series = sweep.series[0]
    own = sweep.select(series)
    order = Order("memory", "the memory", own.load_type, tuple(sorted(set(own.points["load"]))))
    answer = predicted_load(order, fit(own))
    assert answer == pytest.approx(judge(order, own).load, rel=0.5)


def test_the_models_answer_needs_more_than_the_two_points_that_it_has():
    """Two drives with the same ends and another bend: the model answers both alike, and the class can win."""
    curves = {p: ((np.array(DEPTHS) / 1e-4) ** -p + 1e5**-p) ** (-1 / p) for p in (1.0, 6.0)}
    truths = {p: judge(DISK, sweep_of(x)).load for p, x in curves.items()}
    assert truths[1.0] > 1.8 * truths[6.0]
    answer = predicted_load(DISK, fit(sweep_of(curves[1.0]), [1.0, 32.0]))
    judged = judge(DISK, sweep_of(curves[1.0]))
    rows = ranked([guess("Ann", judged.load * 1.01)], answer, judged)
    assert [r.name for r in rows] == ["Ann", "qsim"]
    assert "and loses" in outcome(DISK, rows, judged)


def test_without_an_answer_nobody_is_ranked():
    judged = judge(DISK, sweep_of([1], [1.0]))
    rows = ranked([guess("Ann", 3.0)], 5.0, judged)
    assert judged.load is None
    assert {(r.rank, r.error) for r in rows} == {(None, "not ranked")}
    assert "fewer than two" in outcome(DISK, rows, judged)


def test_of_a_memory_the_longest_delay_with_the_bandwidth_is_asked_for():
    order = Order("memory", "the memory", InjectedDelay(), (0.0, 100.0, 300.0, 500.0, 1000.0))
    judged = judge(order, sweep_of([1000, 980, 800, 700, 300], order.loads, InjectedDelay()))
    assert judged.load == pytest.approx(100 + 200 * 80 / 180)
    assert order.quantity == "The 90 % delay"


def test_equal_errors_share_a_place_and_the_sentence_names_them():
    judged = Judged(10.0, "the truth", "6 servers")
    rows = ranked([guess(n, 20.0) for n in ("Ann", "Bob", "Cleo", "Dan")] + [guess("Eve", 5.0)], 30.0, judged)
    assert [r.rank for r in rows] == [1, 1, 1, 1, 1, 6]
    assert "Closest of 5 guesses: Ann, Bob, Cleo and 2 more with 20" in outcome(DISK, rows, judged)
    assert outcome(DISK, rows, judged).endswith("and loses.")
    three = ranked([guess(n, 20.0) for n in ("Ann", "Bob", "Cleo")], 30.0, judged)
    assert "Closest of 3 guesses: Ann, Bob and Cleo with 20" in outcome(DISK, three, judged)
    draw = ranked([guess("Ann", 20.0)], 5.0, judged)
    assert outcome(DISK, draw, judged).endswith(": a draw.")
    assert outcome(DISK, ranked([guess("Ann", 99.0)], 11.0, judged), judged).endswith("and wins.")
    assert "Closest" not in outcome(DISK, ranked([], 11.0, judged), judged)
    assert outcome(DISK, ranked([guess("Ann", 9.0)], None, judged), judged).endswith("The model gave no answer.")


@given(st.floats(1, 1000), st.floats(1, 1000))
def test_half_and_twice_are_equally_wrong(load, answer):
    judged = Judged(answer, "the truth", "")
    up, down = ranked([guess("up", 2 * load), guess("down", answer**2 / (2 * load))], None, judged)[:2]
    assert up.rank == down.rank == 1
    assert float(error_text(load, judged).split()[0]) == pytest.approx(load / answer, rel=0.05, abs=0.005)


def test_a_commitment_hides_and_binds():
    first, second = Guess.sealed("  Ann   Lee ", 12), Guess.sealed("Ann Lee", 12)
    assert first.name == second.name == "Ann Lee"
    assert len(bytes.fromhex(first.nonce)) == 32
    assert Guess("Ann Lee", 12.0, first.nonce).commitment == first.commitment
    for other in (second, replace(first, load=12.5), replace(first, name="Eve")):
        assert other.commitment != first.commitment


@pytest.mark.parametrize("name", ["", " ", None, 7, "a\x00b", "\u202eevil", "\x1b[31mred", "x" * 41, "QSIM"])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(ValueError, match="name"):
        Guess.sealed(name, 3)


@pytest.mark.parametrize("load", [0, 0.99, 1000.1, 1e9, -1, None, "seven", float("nan"), float("inf"), True])
def test_a_guess_out_of_range_is_refused(load):
    with pytest.raises(ValueError, match="1 to 1000"):
        Guess.sealed("Bob", load)
    assert Guess.sealed("Bob", 1).load == 1.0
    assert Guess.sealed("Bob", 1000).load == 1000.0


def test_a_throughput_that_was_computed_ranks_nobody() -> None:
    sweep = sweep_of([1000.0, 2000, 4000, 7000, 9000, 9500, 9600])
    by_law = Sweep(sweep.points.assign(throughput_origin="computed: N / R"), sweep.load_type)
    judged = judge(DISK, by_law)
    assert (judged.load, judged.note) == (None, "fewer than two points were measured whose throughput was not computed")
