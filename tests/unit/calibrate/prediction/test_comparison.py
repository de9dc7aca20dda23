"""Comparisons: what counts as held out, the residuals' sign, the summary, and the published sweeps' figures."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from calibrate import compare, compare_all, fit
from calibrate.fitting.fit_answer import knee_word
from calibrate.models.memory_models import DelayLaw
from calibrate.next import advice, recommended
from calibrate.points import points_of
from calibrate.prediction.comparison_answer import answer, last_lines, noise_of_a_point
from measure import load_dataset
from measure.findings import Finding
from measure.loads import InjectedDelay
from measure.loads.memory_loads import DEFAULT_DELAYS
from measure.sweep import Sweep
from measure.units import format_percent

REQUIRED_KEYS = {"model", "parameters", "knee", "points", "summary", "audit", "models"}


@pytest.fixture(scope="module")
def published() -> dict[str, object]:
    sweep = load_dataset("003-ssd-read")
    return {"sweep": sweep, "comparison": compare(sweep, [4, 32], series=sweep.series[0])}


def test_only_the_points_used_are_in_sample(published) -> None:  # type: ignore[no-untyped-def]
    comparison = published["comparison"]
    assert list(comparison.points.load[~comparison.held_out]) == [4, 32]
    assert comparison.summary().held_out_points == 3


def test_residuals_are_predicted_over_observed(published) -> None:  # type: ignore[no-untyped-def]
    comparison = published["comparison"]
    ratio = comparison.predicted.throughput_per_s / comparison.points.throughput_per_s
    assert comparison.residual_throughput_pct == pytest.approx(100 * (ratio - 1))
    held = np.abs(comparison.residual_throughput_pct[comparison.held_out])
    assert comparison.summary().held_out_mape_throughput_pct == pytest.approx(held.mean())
    assert comparison.summary().held_out_mdape_throughput_pct == pytest.approx(np.median(held))


def test_a_fit_of_other_data_holds_everything_out(published) -> None:  # type: ignore[no-untyped-def]
    sweep = published["sweep"]
    other = fit(sweep, [4, 32], series=sweep.series[1])
    assert compare(sweep, series=sweep.series[0], fitted=other).held_out.all()
    same = fit(sweep, [4, 32], series=sweep.series[0])
    assert (~compare(sweep, series=sweep.series[0], fitted=same).held_out).sum() == 2


def test_json_has_the_promised_keys_and_no_nan(published) -> None:  # type: ignore[no-untyped-def]
    document = published["comparison"].to_dict()
    assert set(document) >= REQUIRED_KEYS
    text = json.dumps(document, allow_nan=False)  # raises on NaN and infinity
    point = json.loads(text)["points"][0]
    assert set(point) >= {"load", "held_out", "observed", "predicted", "residual_pct"}
    for side in ("observed", "predicted", "residual_pct"):
        assert {"throughput_per_s", "response_time_s"} <= set(point[side])
    assert {"load", "throughput_per_s", "response_time_s", "low", "high", "definition"} <= set(document["knee"])
    for parameter in document["parameters"].values():
        assert {"estimate", "low", "high", "identified"} <= set(parameter)
    assert {
        "held_out_mape_throughput_pct",
        "held_out_mape_response_pct",
        "in_sample_mape_throughput_pct",
        "in_sample_mape_response_pct",
        "repeat_noise_pct",
    } <= set(document["summary"])


def test_using_every_point_leaves_nothing_to_check() -> None:
    comparison = compare(load_dataset("004-ssd-depth"), [1, 4, 32, 256, 1024])
    assert comparison.summary().held_out_mape_throughput_pct is None
    assert "nothing checks the prediction" in comparison.verdict()


def test_the_verdict_tells_runs_that_are_flagged(published) -> None:  # type: ignore[no-untyped-def]
    comparison = published["comparison"]
    assert "flagged" not in comparison.verdict()
    drift = Finding("drift-within-run", "warning", "2 of 5 runs drifted", series=comparison.series, load=16.0)

    flagged = replace(comparison, sweep=replace(comparison.sweep, findings=(drift, replace(drift, load=4.0))))
    assert flagged.verdict().count("Some runs are flagged (drift-within-run), and no model can be expected") == 1


def test_series_that_cannot_be_compared_are_named_with_the_reason() -> None:
    sweep = load_dataset("001-ssd")
    thin = sweep.points[(sweep.points["series"] != sweep.series[0]) | (sweep.points["load"] == 1)]
    done, refused = compare_all(replace(sweep, points=thin), [1, 64])
    assert sweep.series[0] in refused
    assert sweep.series[0] not in {c.series for c in done}
    assert "no point at load 64" in refused[sweep.series[0]]


def held_out_errors(name: str, series: str, use: list[float] | None = None, below: float = 512) -> list[float]:
    sweep = load_dataset(name)
    errors: list[float] = []
    for one in (s for s in sweep.series if series in s):
        comparison = compare(sweep, use or recommended(points_of(sweep, one).load.tolist(), 2), series=one)
        keep = comparison.held_out & (comparison.points.load < below)
        errors += list(np.abs(comparison.residual_throughput_pct[keep]))
    return errors


def test_published_storage_sweeps_are_predicted_from_two_points() -> None:
    """Reads of reports 001 and 003, and 004: first depth and first of at least 32, judged below depth 512."""
    errors = [
        e
        for name, series in (("001-ssd", "read"), ("003-ssd-read", ""), ("004-ssd-depth", ""))
        for e in held_out_errors(name, series)
    ]
    assert len(errors) >= 14
    assert np.median(errors) <= 8.0


def test_published_memory_sweeps_are_predicted_from_three_points() -> None:
    sweep = load_dataset("001-memory")
    throughput: list[float] = []
    response: list[float] = []
    for series in sweep.series:
        comparison = compare(sweep, [0, 500, 20_000], series=series)
        throughput += list(np.abs(comparison.residual_throughput_pct[comparison.held_out]))
        response += list(np.abs(comparison.residual_response_pct[comparison.held_out]))
    assert len(throughput) == 160
    assert np.median(throughput) <= 6.0
    assert np.median(response) <= 8.0


def test_the_short_text_says_what_speaks_against_the_data() -> None:
    printed, corrected = (compare(load_dataset("004-ssd-depth", as_published=not c), [1, 32]) for c in (False, True))
    assert repr(printed).splitlines()[-1] == (
        "AUDIT   these data contradict themselves (littles-law): see measure.audit(sweep)"
    )
    assert "AUDIT" not in repr(corrected)


def test_the_mean_of_one_held_out_point_is_called_no_mean() -> None:
    sweep = load_dataset("004-ssd-depth")
    assert "(1 held-out point);" in repr(compare(sweep, [1, 4, 32, 256])).splitlines()[3]
    assert "(mean of 2 held-out points);" in repr(compare(sweep, [1, 4, 32])).splitlines()[3]


def test_one_point_is_inside_and_several_are() -> None:
    sweep = load_dataset("004-ssd-depth")
    found = compare(sweep, [1, 32])
    outside = found.points.throughput_per_s.copy()
    outside[[1, 3]] *= 10
    points = replace(found.points, throughput_per_s=outside)
    assert "SURE?   1 of 3 held-out points is inside its" in repr(replace(found, points=points))
    once = replace(found, points=replace(points, throughput_per_s=outside / [1, 10, 1, 1, 1]))
    assert [c.refutes for c in (found, once, replace(found, points=points))] == [False, False, True]


def test_held_out_points_that_miss_more_often_than_by_chance_leave_nothing_sure() -> None:
    made = compare(load_dataset("001-memory"), series="64 B 75/25 mix").fit
    assert [knee_word(f) for f in (made, replace(made, refuted=False))] == ["rough", "sure"]


def test_next_names_no_other_knee_than_the_one_that_is_printed() -> None:
    sweep = load_dataset("003-ssd-read").select("4 KiB read")
    assert "the start of queueing" not in repr(compare(sweep))  # whose fit is not the one to all points
    every = fit(sweep)
    wanted = advice(points_of(sweep))
    assert wanted is not None
    ends = f"not {every.knee.low:.2g} to {every.knee.high:.2g}"
    assert ends in wanted.gain(every.knee)
    assert ends in str(wanted)


def memory_in_rounds(seed: int, noise: float, rounds: int = 3, loaders: float = 50.0) -> Sweep:
    """A memory whose points scatter by ``noise`` from round to round."""
    random, delay = np.random.default_rng(seed), np.array(DEFAULT_DELAYS, dtype=float)
    device = np.array([[loaders, 2e-9, 250e-9, 25e-9, 3e8, 1.4]])
    truth = [figure[0] for figure in DelayLaw().curve(device, delay)]
    runs = []
    for repeat in range(rounds):
        x, r = (figure * np.exp(noise * random.standard_normal(len(delay))) for figure in truth)
        runs.append(points_at(delay, x, r, repeat=repeat))
    return Sweep(pd.concat(runs), load_type=InjectedDelay())


def test_the_bands_of_a_memory_allow_for_what_its_rounds_scatter() -> None:
    """Without the noise of the held-out points themselves they hold 83 %."""
    done = [compare(memory_in_rounds(seed, 0.1)) for seed in range(12)]
    inside = []
    for c in done:
        held, p, r = c.held_out, c.predicted, c.points.response_time_s
        inside += list(((p.response_time_low_s <= r) & (r <= p.response_time_high_s))[held])
        inside += list(c.inside[held])
    assert 0.85 <= np.mean(inside) <= 0.99


def test_noise_that_hides_misses_is_said_right_below_them() -> None:
    noisy, quiet = (compare(memory_in_rounds(1, noise)) for noise in (0.1, 0.005))
    missed, note = repr(noisy).splitlines()[2:4]
    assert missed.startswith("MISSED  ")
    within = format_percent(100 * (noise_of_a_point([noisy]) or 0))
    assert note.startswith("NOTE    ")
    assert f"Errors below {within} cannot be told from the noise of a point." in note
    assert noisy.verdict().startswith(note.removeprefix("NOTE    "))
    assert "NOTE" not in repr(quiet)
    assert not quiet.verdict().startswith("Errors")


def test_loaders_that_do_not_reach_the_knee_are_said_in_the_first_line() -> None:
    few, many = (compare(memory_in_rounds(1, 0.005, loaders=loaders)) for loaders in (5.0, 300.0))
    assert few.knee.load is None
    assert repr(few).splitlines()[0].endswith(" alone; its knee is not reached")
    assert many.knee.load is not None
    assert repr(many).splitlines()[0].endswith(" alone")


def test_a_miss_within_the_noise_of_the_points_is_called_so() -> None:
    found = [compare(memory_in_rounds(seed, 0.1)) for seed in range(3)]
    for c in found:
        missed = max(c.summary().held_out_mape_throughput_pct or 0, c.summary().held_out_mape_response_pct or 0)
        within = format_percent(100 * (noise_of_a_point([c]) or 0))
        told = f", no more than the noise of a point (±{within})" in repr(c)
        assert told == (missed <= 100 * (noise_of_a_point([c]) or 0))


def test_a_point_that_other_programs_disturbed_is_said_below_the_misses() -> None:
    quiet = memory_in_rounds(1, 0.005)
    table = quiet.points.copy()
    table.loc[(table["load"] == 200) & (table["repeat"] == 1), "throughput_per_s"] *= 0.5
    note = repr(compare(replace(quiet, points=table))).splitlines()[3]
    assert note.startswith(
        "NOTE    These runs do not show the device at rest: repeats of a point have a standard deviation of up to 3"
    )
    assert "at rest" not in repr(compare(quiet))


def test_the_first_line_says_from_how_many_points_curves_were_predicted():
    sweep = load_dataset("004-ssd-depth")
    curves = [compare(sweep, use) for use in ([1, 32], [1, 4, 32], [1, 32, 256])]
    assert answer(curves)[0].startswith("3 curves, each predicted from 2 to 3 of its points")
    assert answer(curves[1:])[0].startswith("2 curves, each predicted from 3 of its points")


def test_the_worst_point_of_a_memory_is_missed_by_no_less_than_the_mean_of_either_figure():
    """``MISSED response time by 7.7 %`` stood above ``WORST +6.4 %``, which was of the bandwidth alone."""
    done = compare(load_dataset("001-memory"), series="64 B 50/50 mix")
    (worst,) = (line for line in last_lines([done]) if line.startswith("WORST"))
    assert "128 ns measured, 271 ns" in worst
    assert worst.endswith("2.1 times too high")
    bandwidth = np.abs(done.residual_throughput_pct[done.held_out])
    assert bandwidth.max() < np.abs(done.residual_response_pct[done.held_out]).max()
