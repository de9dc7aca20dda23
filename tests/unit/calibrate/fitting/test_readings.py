"""Faults of lines that followed rules of their own: each is a reading of the one curve now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up import points_at

from calibrate import Fit, compare, fit, from_datasheet, objective_knee, objective_under, predict
from calibrate.fitting.calibrating import doubts_named
from calibrate.fitting.fit_answer import explained, fit_answer, knee_word, knees_document, reason
from calibrate.fitting.objectives import doubling
from calibrate.fitting.readings import STAYS_BELOW, _first_on_the_curve, ends_of, measured_near
from calibrate.models.curves import is_past_its_peak
from measure import ArrivalRate, Clients, Sweep, load
from measure.units import format_rate

ONE_DEVICE = Path(__file__).parents[4] / "docs" / "data" / "one-device"
DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def balanced(stations: int, loads: np.ndarray) -> Sweep:
    """Equal exponential stations in a loop, a peak of 10 k/s for each of them: N* is their number."""
    return Sweep(points_at(loads, 1e4 * stations * loads / (loads + stations - 1)))


def test_a_soft_knee_is_the_product_of_its_figures_and_not_sure_while_throughput_rises() -> None:
    made = fit(balanced(8, DEPTHS[:-1]))
    assert made.knee.load == pytest.approx(8.0, rel=0.01)  # R1 times the deepest throughput is 6.6
    assert made.knee.low < 8 < made.knee.high
    assert knee_word(made) == "rough"
    assert fit_answer(made)[0].startswith("QUEUEING STARTS depth 8.0 (7.5 to 8.6), rough as throughput still rises at")
    assert not made.knee.identified


def test_a_rough_figure_has_a_reason_where_its_interval_is_narrower_than_a_factor_of_two() -> None:
    made = fit(balanced(8, DEPTHS[:-1]))
    assert explained("rough", reason(made, "rough", 10.0, 19.9)).startswith("rough as throughput still rises")
    assert explained("rough", reason(made, "rough", 10.0, 20.0)) == "rough"


def test_two_points_of_a_soft_knee_hold_its_truth() -> None:
    made = fit(balanced(16, np.array([1.0, 32])))
    assert made.knee.low < 16 < made.knee.high
    assert knee_word(made) == "rough"


def test_an_objective_between_two_points_that_jump_is_as_open_as_they_are() -> None:
    rates = np.array([1210.0, 1450, 5520, 14200, 21700, 10600, 28300])
    asked = objective_knee(fit(Sweep(points_at(DEPTHS, rates))), 2e-3)
    assert asked.high / asked.low > 1.3
    assert knee_word(fit(Sweep(points_at(DEPTHS, rates))), asked) == "rough"


def test_a_doubt_about_a_run_leaves_nothing_sure_and_widens_by_what_its_repeats_moved() -> None:
    rates = np.minimum(DEPTHS, 4) * 1e3
    steady = Sweep(points_at(np.tile(DEPTHS, 3), np.tile(rates, 3), repeat=np.repeat([0, 1, 2], 7)))
    table = steady.points.copy()
    table.loc[table["load"] == 8, "throughput_per_s"] *= [0.85, 1.0, 1.15]
    table["latency_s"] = table["load"] / table["throughput_per_s"]
    calm, shaken = fit(steady), fit(replace(steady, points=table))
    assert (knee_word(calm), calm.doubted) == ("sure", "")
    assert knee_word(shaken) in ("rough", "doubtful")
    assert shaken.doubted.startswith("the audit doubts the runs (")
    assert np.log(shaken.knee.high / shaken.knee.low) > 2 * np.log(calm.knee.high / calm.knee.low)


def test_held_out_points_that_refute_leave_no_knee_sure() -> None:
    rates = np.array([1e3, 2e3, 4e3, 2e3, 4e3, 2e3, 4e3])
    done = compare(Sweep(points_at(DEPTHS, rates)), [1.0, 4.0, 64.0])
    assert done.refutes
    assert knee_word(done.fit) != "sure"


def test_doubling_below_the_knee_doubles_and_beyond_it_buys_nothing() -> None:
    made = fit(Sweep(points_at(DEPTHS, np.minimum(DEPTHS, 8) * 1e3)))
    assert doubling(made, 2.0).gain == pytest.approx(2.0, rel=0.03)
    assert doubling(made, 32.0).gain == pytest.approx(1.0, rel=0.01)
    assert not made.rises


def test_a_service_declines_from_two_points_past_the_peak() -> None:
    clients = np.array([1.0, 8, 64, 256, 512])
    falls = Sweep(points_at(clients, [1e3, 7e3, 10e3, 8e3, 6e3]), load_type=Clients())
    assert is_past_its_peak(falls.points["throughput_per_s"].to_numpy())
    assert fit(falls).model == "p-norm with onset and decline"
    assert fit(falls, clients[:4].tolist()).model == "p-norm with onset"
    assert fit(Sweep(falls.points)).model == "p-norm with onset"


def test_the_peak_of_a_curve_that_never_falls_reaches_to_the_highest_measured_point() -> None:
    """One depth gave 50 /s beside others of 40 to 44, and PEAK said 44 (39 to 49)."""
    rates = np.array([41.2, 43.0, 40.4, 43.3, 50.0, 42.1, 43.5])
    made = fit(Sweep(points_at(DEPTHS, rates)))
    peak = made.curve_parameters["Xmax"]
    assert peak.estimate == pytest.approx(predict(made, DEPTHS).throughput_per_s.max(), rel=1e-6)  # as printed
    assert 43.6 < peak.estimate < peak.high == 50.0
    assert made.knee.load == pytest.approx(max(made.curve_parameters["R1"].estimate * peak.estimate, 1.0), rel=1e-9)
    assert made.ninety.throughput_per_s == pytest.approx(0.9 * peak.estimate, rel=1e-9)


def test_the_load_of_ninety_percent_is_sure_only_where_points_near_it_show_the_bend() -> None:
    few, many = (fit(Sweep(points_at(n, np.minimum(n, 9) * 1e3))) for n in (np.array([1.0, 4, 16, 64]), DEPTHS))
    for made in (few, many):
        assert made.ninety.low < 8.1 < made.ninety.high < 2 * made.ninety.low
        assert knee_word(made) == "sure"
    assert (knee_word(few, few.ninety), knee_word(many, many.ninety)) == ("rough", "sure")
    assert "rough as no load near it was measured" in fit_answer(few)[1]


def test_a_point_in_the_interval_or_one_close_on_either_side_is_near() -> None:
    made = fit(Sweep(points_at(np.array([1.0, 4, 8, 64]), np.array([1e3, 4e3, 8e3, 9e3]))))
    assert measured_near(made, 6.0, 5.0, 7.0)  # between 4 and 8
    assert measured_near(made, 12.0, 7.0, 14.0)  # holds 8
    assert not measured_near(made, 12.0, 9.0, 14.0)
    assert not measured_near(made, 100.0, 90.0, 110.0)
    assert measured_near(from_datasheet(idle_latency=80e-6, peak_iops=600e3), 43.0, 40.0, 47.0)


@pytest.mark.parametrize("name", ["closed", "thinking", "open"])
def test_no_objective_is_met_beyond_the_peak_that_is_printed(name: str) -> None:
    """Ends of intervals lay up to 5 % above that of the peak, and the throughput of thinking users above the peak."""
    made = fit(load(ONE_DEVICE / f"{name}.csv"))
    peak, longest = made.peak, max(made.used_response_s)
    kinds = [made.load_type, ArrivalRate(), Clients(think=10 * longest)] if name == "closed" else [made.load_type]
    for time_s in (longest, 10 * longest):
        for kind in kinds:
            asked = objective_under(made, time_s, kind) if kind != made.load_type else objective_knee(made, time_s)
            takes = 1.0 if isinstance(kind, ArrivalRate) else time_s + kind.thinking_s  # N = X (R + Z)
            assert asked.low <= asked.load <= asked.high <= peak.high * takes * (1 + 1e-9)
            assert asked.throughput_per_s <= peak.estimate * (1 + 1e-9)


def test_an_objective_of_users_who_think_is_met_by_the_users_named_and_not_by_one_more() -> None:
    made = fit(load(ONE_DEVICE / "thinking.csv"))
    for time_s in (4e-3, 20e-3):
        users = objective_knee(made, time_s).load
        at, more = made.predict([users, users + 1]).response_time_s
        assert at <= time_s < more
        assert float(users).is_integer()
    closed = fit(load(ONE_DEVICE / "closed.csv"))
    think = Clients(think=0.02, noun="users")
    users = objective_under(closed, 4e-3, think).load
    at, more = closed.predict(replace(think, values=(users, users + 1))).response_time_s
    assert at <= 4e-3 < more


def test_where_one_request_reaches_90_percent_of_the_peak_its_own_throughput_is_named() -> None:
    """``90 % OF PEAK AT depth 1.0: 453 /s at 2.2 ms`` stood beside 491 /s at 2.0 ms of depth 1."""
    made = fit(Sweep(points_at(DEPTHS, np.full(DEPTHS.size, 500.0) * [0.98, 1, 1.01, 1, 0.99, 1, 1])))
    assert made.ninety.load == 1
    assert made.ninety.throughput_per_s == pytest.approx(predict(made, [1]).throughput_per_s[0], rel=1e-9)
    assert made.ninety.throughput_per_s > 0.9 * made.peak.estimate


RISING = np.array([10.19e3, 19.88e3, 39.22e3, 77.94e3, 158.5e3])
"""Throughputs at depths 1 to 16 that still grow as the depth."""


def test_where_the_printed_curve_stays_below_90_percent_of_the_peak_its_own_throughput_is_printed() -> None:
    """``90 % OF PEAK AT depth 99: 832 k/s at 120 µs`` stood below ``QUEUEING STARTS depth 91: 574 k/s at 159 µs``."""
    made = fit(Sweep(points_at(DEPTHS[:5], RISING)))
    assert predict(made, np.geomspace(1, 1e5, 60)).throughput_per_s.max() < 0.9 * made.peak.estimate
    ninety = made.ninety
    assert ninety.low < 32 < ninety.load < 512 < ninety.high
    there = predict(made, [made.knee.load, ninety.load])
    assert ninety.throughput_per_s == pytest.approx(there.throughput_per_s[1], rel=1e-9)
    assert made.knee.response_time_s < ninety.response_time_s == pytest.approx(there.response_time_s[1], rel=1e-9)
    line, rate = fit_answer(made)[1], format_rate(ninety.throughput_per_s, 2)
    assert f", rough as the predicted curve stays below it: {rate} at " in line
    assert line.endswith(f", only {100 * ninety.throughput_per_s / made.peak.estimate:.2g} % of the peak")
    said = knees_document(made)["knee90"]
    assert (said["load"], said["sure"], said["reason"]) == (ninety.load, "rough", STAYS_BELOW)


def test_of_users_who_think_the_curve_is_followed_to_where_it_has_90_percent() -> None:
    users = np.array([1.0, 20, 50, 100, 150])
    rates = np.minimum(users / 1.01, 100 - 20 / users)
    made = fit(Sweep(points_at(users, rates, users / rates - 1.0), load_type=Clients(think=1.0)))
    for near in (made.ninety.load / 3, made.ninety.load, 3 * made.ninety.load):
        found = _first_on_the_curve(made, 0.9 * made.peak.estimate, near)
        assert found == pytest.approx(made.ninety.load, rel=3e-3)
    assert _first_on_the_curve(made, 1.1 * made.peak.estimate, 100.0) is None
    assert _first_on_the_curve(made, 1e-3, 100.0) == 1.0


def test_a_document_gives_the_reasons_that_the_text_gives() -> None:
    rates = np.array([1e4, 19900, 39000, 66000, 390000, 80000, 80500])  # depth 16 is five times too fast
    doubted = fit(Sweep(points_at(DEPTHS, rates)), [1, 8, 64])
    rises, few = (fit(balanced(8, DEPTHS[:-1])), fit(Sweep(points_at([1.0, 4, 16, 64], [1e3, 4e3, 9e3, 9e3]))))
    for made in (doubted, rises, few):
        document, lines = knees_document(made), fit_answer(made)
        for line, name in zip(lines, ("knee", "knee90"), strict=False):
            why = document[name]["reason"]
            assert (f", rough as {why}: " in line) == bool(why)
            assert (" rough as " in line) == bool(why)
        assert document["doubted"] == made.doubted
    assert knees_document(doubted)["knee"]["reason"] == doubted.doubted
    assert "throughput still rises" in knees_document(rises)["knee"]["reason"]
    assert "no load near it" in knees_document(few)["knee90"]["reason"]
    assert knees_document(fit(Sweep(points_at(DEPTHS, np.minimum(DEPTHS, 4) * 1e3))))["knee"]["reason"] == ""


def test_both_ends_of_an_interval_move_between_runs_where_one_is_open_too() -> None:
    made = fit(load(ONE_DEVICE / "closed.csv"))
    moved = replace(made, between_runs=0.2)
    for time_s in (4e-3, 10.0):
        still, moves = (objective_under(one, time_s, ArrivalRate()) for one in (made, moved))
        assert moves.low < 0.85 * still.low


def test_a_doubt_is_named_by_its_first_check() -> None:
    rates = np.array([1e4, 19900, 39000, 66000, 390000, 80000, 80500])  # depth 16 is five times too fast
    made = fit(Sweep(points_at(DEPTHS, rates)), [1, 8, 64])
    assert made.doubted == "the audit doubts the runs (outlier)"
    assert "rough as the audit doubts the runs (outlier): " in fit_answer(made)[0]
    assert doubts_named(["drift", "outlier", "busy-machine"]).endswith("(drift and 2 more checks)")


def test_a_fit_file_keeps_the_reason_of_a_doubt() -> None:
    made = replace(fit(Sweep(points_at(DEPTHS, np.minimum(DEPTHS, 4) * 1e3))), doubted="depth 8 is left out")
    assert Fit.from_dict(made.to_dict()).doubted == "depth 8 is left out"
    older = {**made.to_dict(), "doubted": True}
    assert knee_word(Fit.from_dict(older)) == "rough"
    assert Fit.from_dict({**older, "doubted": False}).doubted == ""


def test_an_interval_has_no_end_where_the_loads_go_on_for_ever_or_to_none() -> None:
    inner = np.linspace(10.0, 20.0, 80)
    assert ends_of(np.array([*np.full(10, 9.0), *inner, *np.full(10, 30.0)]), 0.9) == (9.0, 30.0)
    assert ends_of(np.array([*np.full(10, 9.0), *inner, *np.full(10, np.inf)]), 0.9) == (9.0, None)
    assert ends_of(np.array([*np.zeros(10), *inner, *np.full(10, 30.0)]), 0.9) == (None, 30.0)
