"""What to measure next: it narrows what it says it does, and is never a load that was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_up import open_sweep, points_at

from calibrate import fit, from_datasheet
from calibrate.fitting.own_load import measurements
from calibrate.fitting.predicted_curve import Knee
from calibrate.inference.parameters import Estimate
from calibrate.models.curves import OnsetPNorm
from calibrate.models.memory_models import DelayLaw
from calibrate.next import advice, fourth_point, next_load
from calibrate.prediction.comparison_answer import next_text
from measure import Sweep
from measure.loads import InjectedDelay

DEPTHS = (1, 2, 4, 8, 16, 32, 64)
LAW = np.array([[60.0, 1.4e-9, 70e-9, 8e-9, 5e8, 1.3]])
DELAYS = np.array([0.0, 10, 20, 50, 100, 200, 500, 1000, 20000])
RATES = np.array([1e3, 2e3, 4e3, 6e3, 8e3, 9e3])


def drive(depths: tuple[int, ...] = DEPTHS, onset: float = 0.6, knee: float = 9.0) -> Sweep:
    """A drive that answers a lone request sooner than several."""
    throughput, response = OnsetPNorm().curve(np.array([[knee, 75e3, 3.0, onset]]), np.array(depths, dtype=float))
    return Sweep(points_at(depths, throughput[0], response[0]))


def queue() -> Sweep:
    return open_sweep(RATES, 1e-4 / (1 - RATES * 1e-4))


def width(estimate: Knee | Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return float(np.log(estimate.high / estimate.low))


@pytest.mark.parametrize(("knee", "third"), [(2.2, 2.0), (4.5, 4.0), (9.0, 8.0), (14.0, 16.0)])
def test_after_one_and_thirty_two_comes_the_start_of_queueing(knee: float, third: float) -> None:
    wanted = next_load(fit(drive(onset=1.0, knee=knee), [1, 32]))
    assert wanted is not None
    assert wanted.load == third  # the doubling nearest to R1 X32
    assert wanted.half_width_then < wanted.half_width_now
    assert f"measure depth {wanted.load:g} next: a fit to all points then has bands of about" in str(wanted)
    assert ", at depth 1 to 64" in str(wanted)  # the bands of which loads
    assert list(wanted.to_dict())[:4] == ["load", "load_kind", "load_unit", "goal"]


def test_what_it_promises_of_the_bands_is_about_what_comes() -> None:
    two = fit(drive(), [1, 32])
    wanted = next_load(two, goal="curve")
    assert wanted is not None
    three = fit(drive(), [1, wanted.load, 32])
    spread = [np.sqrt(np.trace(measurements(f, np.array(DEPTHS, dtype=float)).covariance)) for f in (two, three)]
    assert spread[1] / spread[0] == pytest.approx(
        np.log1p(wanted.half_width_then) / np.log1p(wanted.half_width_now), rel=0.5
    )


@pytest.mark.parametrize(("now", "then"), [(0.1004, 0.0999), (0.14, 0.12), (0.016, 0.012), (2.0, 1.7)])
def test_a_gain_of_next_to_nothing_is_not_claimed(now: float, then: float) -> None:
    wanted = next_load(fit(drive(), [1, 32]))
    assert wanted is not None
    bands = replace(wanted, half_width_now=now, half_width_then=then, knee_then=wanted.knee_now)
    assert bands.gain() == ""
    assert replace(bands, knee_now=(6.4, 9.0), knee_then=(6.5, 8.8)).gain() == ""
    assert replace(bands, half_width_then=now / 2 - 0.01).gain().startswith("a fit to all points then has bands of")
    assert str(bands) == f"measure {wanted.where} next"
    knee = replace(bands, knee_now=(2.0, 8.0), knee_then=(3.0, 6.0))
    assert knee.gain() == "a fit to all points then has the start of queueing in 3.0 to 6.0, not 2.0 to 8.0"
    printed = fit(drive(), [1, 32]).knee
    assert knee.gain(printed) == knee.gain()  # what is said is said of a fit to all points, whichever is printed
    other = ("worse", replace(wanted, load=2.0), printed)
    assert next_text([("", bands, printed)]) == ""
    assert next_text([("same", bands, printed), other]).startswith("Measure depth 2 of worse: a fit to all points")


def test_of_points_that_tell_all_no_load_is_advised() -> None:
    flat = Sweep(points_at(DEPTHS, np.minimum(DEPTHS, 8) * 1e4))
    made = fit(flat)
    assert next_load(made) is None
    assert next_load(made, [128]) is not None  # where the loads are given, the best of them


def test_no_measured_load_is_named_and_nothing_where_nothing_is_left() -> None:
    made = fit(drive(), [1, 32])
    for measured in ([4], [4, 8], [2, 4, 8, 16]):
        wanted = next_load(made, measured=measured)
        assert wanted is None or wanted.load not in (1, 32, *measured)
    assert next_load(made, [1, 2, 32]).load == 2  # type: ignore[union-attr]
    assert next_load(made, [1, 32]) is None
    assert next_load(made, [1, 32, 1024]) is None  # where throughput may decline
    assert next_load(from_datasheet(80e-6, 600e3)) is None
    of_jobs = Sweep(points_at([64.0], [40e3]).assign(jobs=16.0))
    assert "outstanding 16 (iodepth 1 × 16 jobs)" in str(next_load(fit(of_jobs)))  # as few as 16 jobs have


def test_an_open_knee_is_what_it_narrows_by_a_deeper_point() -> None:
    sweep = drive((*DEPTHS, 128), onset=1.0, knee=60.0)
    wanted = next_load(fit(sweep, [1, 32]))
    assert wanted is not None
    assert wanted.goal == "knee"
    assert wanted.load == 64


def test_the_delay_that_is_named_narrows_the_curve_more_than_another() -> None:
    x, r = (v[0] for v in DelayLaw().curve(LAW, DELAYS))
    sweep = Sweep(points_at(DELAYS, x, r), load_type=InjectedDelay())
    before = fit(sweep, [0, 500, 20000])
    wanted = next_load(before, [50, 100, 200, 1000])
    assert wanted is not None
    assert wanted.where == f"delay {wanted.load:g}"
    there, elsewhere = (fit(sweep, sorted([0, 500, 20000, n])) for n in (wanted.load, 1000))
    spread = [np.trace(measurements(f, DELAYS).covariance) for f in (before, there, elsewhere)]
    assert spread[1] < spread[0]
    assert spread[1] <= spread[2] * 1.05


def test_a_delay_within_five_units_of_a_measured_one_tells_nothing_new() -> None:
    delays = np.array([0.0, 40, 20000])
    x, r = (v[0] for v in DelayLaw().curve(LAW, delays))
    made = fit(Sweep(points_at(delays, x, r), load_type=InjectedDelay()), delays.tolist())
    assert fourth_point(made, [43, 100]) == 100
    assert fourth_point(made, [46, 100]) == 46  # nearer to 85 % of the peak
    assert fourth_point(made, [43]) is None


def test_a_rate_is_named_below_the_peak() -> None:
    made = fit(queue(), [1e3, 2e3])
    wanted = next_load(made)
    assert wanted is not None
    assert max(made.used) < wanted.load < made.parameters["Xmax"].high  # type: ignore[operator]
    after = fit(queue(), [1e3, 2e3, min(RATES, key=lambda n: abs(n - wanted.load))])
    assert width(after.knee) < width(made.knee)
    assert str(wanted).startswith("measure a rate of ")


def test_a_narrower_knee_reads_as_narrower_where_two_digits_show_no_difference() -> None:
    wanted = next_load(fit(drive(), [1, 32]))
    assert wanted is not None
    knee = replace(wanted, half_width_then=wanted.half_width_now, knee_now=(1.26, 1.44), knee_then=(1.31, 1.39))
    assert knee.gain() == "a fit to all points then has the start of queueing in 1.31 to 1.39, not 1.26 to 1.44"


def test_the_interval_of_the_knee_is_the_one_that_a_fit_to_the_same_points_prints() -> None:
    noise = np.random.default_rng(5).lognormal(sigma=0.2, size=24)
    loads = np.repeat(2.0 ** np.arange(8), 3)
    rates = noise * (loads**-2.0 * 1e-8 + 4e5**-2.0) ** -0.5
    table = {"load": loads, "repeat": np.tile(range(3), 8), "throughput_per_s": rates, "latency_s": loads / rates}
    made = fit(Sweep(pd.DataFrame({"series": "a", **table})))
    assert made.points is not None
    wanted = advice(made.points, made.between_runs)
    assert wanted is not None
    assert wanted.knee_now == (made.knee.low, made.knee.high)
    assert advice(made.points).knee_now != wanted.knee_now  # type: ignore[union-attr]
