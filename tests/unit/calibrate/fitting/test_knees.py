"""Knees where theory knows them, and objectives of the mean response time."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import open_sweep, points_at

from calibrate import predict
from calibrate.fitting.calibrating import fit, from_datasheet
from calibrate.fitting.fit_answer import fit_answer, fits_table, knees_labelled
from calibrate.fitting.objectives import objective_knee
from calibrate.prediction.comparison import compare
from calibrate.sealing import seal
from measure import load_dataset
from measure.formats.tables.table import csv_sweep
from measure.loads import InjectedDelay
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def closed(throughput):
    return Sweep(points_at(DEPTHS, throughput(DEPTHS)), name="closed")


def random_routing(n):
    return 1e5 * n / (n + 30)


@pytest.mark.parametrize("sharpness", [1.0, 2.6, 20.0])
def test_of_a_p_norm_ninety_percent_is_where_the_formula_says(sharpness):
    def p_norm(n):
        return 1e5 * ((n / 8) ** -sharpness + 1) ** (-1 / sharpness)

    made = fit(closed(p_norm), model="p-norm")
    assert made.ninety.load == pytest.approx(8 * (0.9**-sharpness - 1) ** (-1 / sharpness), rel=0.1)
    assert made.ninety.throughput_per_s == pytest.approx(0.9 * 1e5, rel=0.02)


@pytest.mark.parametrize("at", [lambda n: 100.0 * n**0.97, lambda n: 100.0 + 0 * n, lambda n: np.minimum(n, 8.0)])
def test_rounding_moves_no_knee(at):
    sweep = closed(at)
    rounded = Sweep(
        points=sweep.points.assign(throughput_per_s=lambda t: t["throughput_per_s"] * (1 + 1e-14 * t["load"]))
    )
    first, again = ([(k.load or 0.0, k.high or 0.0) for k in (m.knee, m.ninety)] for m in map(fit, (sweep, rounded)))
    assert np.array(again) == pytest.approx(np.array(first), rel=1e-9)


def test_of_an_open_queue_the_tangent_is_half_the_peak_and_ninety_percent_is_ninety_percent():
    rates = np.array([100.0, 300, 500, 700, 800])
    made = fit(open_sweep(rates, 1 / (1000 - rates)), list(rates), model="M/M/1")
    assert made.knee.load == pytest.approx(500, rel=0.03)
    assert made.ninety.load == pytest.approx(900, rel=0.03)
    assert objective_knee(made, 4e-3).load == pytest.approx(750, rel=0.03)
    note = "met up to arrival rate 999 /s, the heaviest load looked at, which reaches the peak"
    assert objective_knee(made, 10.0).note == note


def test_the_answer_of_an_open_queue_is_its_knee_its_peak_and_its_service_as_idle_latency():
    rates = np.array([100.0, 500, 800])
    knee, peak = fit_answer(fit(open_sweep(rates, 1 / (1000 - rates)), model="M/M/1"))
    assert knee.startswith("KNEE")
    assert peak.startswith("PEAK")
    assert "; idle latency 1.0" in peak


def test_a_queue_that_sleeps_has_no_idle_latency_as_a_lone_request_wakes_it_or_not():
    rates = np.array([100.0, 500, 800])
    _, peak = fit_answer(fit(open_sweep(rates, 1 / (1000 - rates)), model="M/G/c with setup"))
    assert "idle latency" not in peak


def test_the_objective_is_where_the_predicted_latency_meets_it():
    made = fit(closed(random_routing), [1, 8, 32])
    one = objective_knee(made, 6e-4)
    assert predict(made, [one.load]).response_time_s[0] == pytest.approx(6e-4, rel=1e-4)
    assert one.response_time_s == pytest.approx(6e-4, rel=1e-4)
    assert one.low < one.load < one.high


def test_an_objective_is_sought_far_beyond_the_points_and_how_far_is_said():
    made = fit(closed(random_routing), [1, 8, 32])
    one = objective_knee(made, 1.0)
    assert predict(made, [one.load]).response_time_s[0] == pytest.approx(1.0, rel=1e-3)
    assert not one.identified
    never = objective_knee(made, 100.0)
    assert (never.load, never.note) == (None, "met up to depth 1e+06, the heaviest load looked at")
    assert predict(made, [1e6]).response_time_s[0] < 100


def test_an_objective_that_nothing_meets_is_said_so():
    made = fit(closed(random_routing), [1, 8, 32])
    one = objective_knee(made, 1e-6)
    assert one.load is None
    assert "even at depth 1 " in one.note
    assert not one.identified
    assert one.to_dict()["load"] is None


@pytest.mark.parametrize("objective", [0.0, -1.0, float("nan"), float("inf")])
def test_an_objective_that_is_no_time_is_refused(objective):
    with pytest.raises(ValueError, match="slo must be a positive time"):
        objective_knee(from_datasheet(80e-6, 600e3), objective)


def test_a_knee_that_contradicting_points_leave_open_has_no_end_and_is_sealed_all_the_same(tmp_path):
    # A memory on a machine that was busy with other things: repeats of a point differ by a factor of 1.8.
    rates = [386e6, 418e6, 417e6, 112e6, 115e6, 115e6, 7.97e6, 5.88e6, 8.19e6]
    times = [348e-9, 295e-9, 214e-9, 334e-9, 182e-9, 198e-9, 196e-9, 328e-9, 188e-9]
    table = points_at(np.repeat([0, 500, 20000], 3), rates, times, repeat=[0, 1, 2] * 3)
    fitted = fit(Sweep(table, load_type=InjectedDelay()))
    assert fitted.knee.load is not None
    assert fitted.knee.high is None
    assert seal([fitted], [[0.0, 100.0]], tmp_path / "sealed.json").fits[0].knee == fitted.knee


def test_the_response_at_a_knee_obeys_n_equals_x_r():
    found = from_datasheet(80e-6, 600e3)
    for one in (found.knee, found.ninety):
        assert one.throughput_per_s * one.response_time_s == pytest.approx(one.load, rel=1e-9)


def test_knees_of_a_memory_from_some_and_from_all_points_meet():
    """Power is flat near the knee, so that its interval holds what the model misses, not its parameters alone."""
    sweep = load_dataset("001-memory")
    held = []
    for series in sweep.series:
        few, every = compare(sweep, series=series).knee, fit(sweep, series=series).knee
        assert few.throughput_low_per_s < every.throughput_high_per_s, series
        assert every.throughput_low_per_s < few.throughput_high_per_s, series
        held.append(few.throughput_low_per_s < every.throughput_per_s < few.throughput_high_per_s)
    assert sum(held) >= 0.8 * len(held)


def test_knees_of_curves_with_several_jobs_count_all_that_is_outstanding():
    rows = [f"{d},{j},{10_000 * min(d * j, 8)}" for j in (1, 4) for d in (1, 4, 16)]
    sweep = csv_sweep("iodepth,numjobs,iops\n" + "\n".join(rows) + "\n")
    fits = [fit(sweep.select(series)) for series in sweep.series]
    assert [f.load_type.singular for f in fits] == ["depth", "outstanding"]
    assert knees_labelled([(f.series, f) for f in fits])[0].startswith("QUEUEING STARTS outstanding ")
    assert "QUEUEING STARTS, outstanding" in fits_table(fits)


def test_where_one_request_has_more_than_ninety_percent_the_line_says_how_much():
    made = fit(Sweep(points_at([1, 2, 4, 8], [83.0, 83.2, 82.9, 83.1]), name="one server of 12 ms"))
    (line,) = (line for line in fit_answer(made) if line.startswith("90 % OF PEAK AT"))
    assert line.endswith("ms, already 100 % of the peak")
    (line,) = (line for line in fit_answer(fit(closed(random_routing))) if line.startswith("90 % OF PEAK AT"))
    assert "already" not in line
