"""Fitting: parameters back from points made with known ones, honest intervals, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from calibrate import Fit, fit, from_datasheet, predict
from calibrate.models.curves import PNorm
from calibrate.models.memory_models import DelayLaw
from calibrate.points import points_of
from measure import DataError, Sweep, load_dataset
from measure.loads import ArrivalRate, InjectedDelay
from qsim import MMcN, solve

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])


def closed_sweep(crossing: float = 12.0, peak: float = 150e3, p: float = 3.0, depths: np.ndarray = DEPTHS) -> Sweep:
    throughput, response = PNorm().curve(np.array([[crossing, peak, p]]), depths)
    return Sweep(points_at(depths, throughput[0], response[0]), name="made")


def memory_sweep() -> Sweep:
    delays = np.array([0.0, 50, 200, 500, 1000, 5000, 20_000])
    throughput, response = DelayLaw().curve(np.array([[57.0, 1.36e-9, 65e-9, 20e-9, 4.8e8, 1.2]]), delays)
    made = points_at(delays, throughput[0], response[0])
    return Sweep(made, load_type=InjectedDelay(), name="made")


def test_all_points_give_the_parameters_back() -> None:
    made = fit(closed_sweep(), DEPTHS)
    assert made.parameters["R1"].estimate == pytest.approx(12 / 150e3, rel=0.02)
    assert made.parameters["Xmax"].estimate == pytest.approx(150e3, rel=0.02)
    assert made.parameters["p"].estimate == pytest.approx(3.0, rel=0.1)
    assert made.knee.load == pytest.approx(12.0, rel=0.03)


def test_intervals_hold_the_truth_and_narrow_with_more_points() -> None:
    few, many = fit(closed_sweep(), [1, 32]), fit(closed_sweep(), DEPTHS)
    for made in (few, many):
        assert made.knee.low is not None
        assert made.knee.high is not None
        assert made.knee.low < 12.0 < made.knee.high
    assert many.knee.high - many.knee.low < few.knee.high - few.knee.low  # type: ignore[operator]


def test_two_points_leave_the_sharpness_to_its_prior_and_say_so() -> None:
    made = fit(closed_sweep(), [1, 32])
    p = made.parameters["p"]
    assert p.low is not None
    assert p.high is not None
    assert p.low < 2.6 < p.high
    assert p.high > 5 * p.low
    assert not made.parameters["p"].identified
    assert "prior" in made.parameters["p"].note
    assert fit(closed_sweep(), DEPTHS).parameters["p"].identified


def test_an_unsaturated_sweep_leaves_the_knee_open() -> None:
    straight = closed_sweep(crossing=5000.0, depths=np.array([1.0, 2, 4, 8]))
    made = fit(straight, [1, 8])
    assert not made.parameters["Xmax"].identified
    assert not made.knee.identified
    assert "extrapolation" in made.knee.note


def test_a_device_that_never_gains_has_its_knee_at_one() -> None:
    flat = Sweep(points_at([1, 2, 32], 150))
    made = fit(flat, [1, 32])
    assert made.knee.load == pytest.approx(1.0, rel=0.01)
    assert made.knee.low == 1.0
    assert (made.table.values[:, 0] >= 1).all()  # no row has less than one server's worth of work in flight


def test_repeats_narrow_nothing_but_are_averaged() -> None:
    once = closed_sweep().points
    doubled = pd.concat(
        [once.assign(throughput_per_s=once["throughput_per_s"] * f, repeat=i) for i, f in enumerate((0.9, 1.1))]
    )
    made = fit(Sweep(doubled), DEPTHS)
    assert made.parameters["Xmax"].estimate == pytest.approx(150e3, rel=0.02)
    tight = fit(closed_sweep(), DEPTHS)
    assert made.knee.high - made.knee.low > tight.knee.high - tight.knee.low  # type: ignore[operator]


def test_datasheet_knee_is_latency_times_rate() -> None:
    drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    assert drive.knee.load == pytest.approx(48.0)
    assert drive.knee.definition == "N* = R1 Xpeak, both from the data sheet"
    assert predict(drive, [1]).response_time_s[0] == pytest.approx(80e-6, rel=0.02)
    assert drive.used == ()
    assert not drive.parameters["p"].identified
    assert "before any measurement" in str(drive)


def test_one_point_is_met_and_the_rest_is_assumed_and_said_to_be() -> None:
    sweep = closed_sweep()
    observed = sweep.points["throughput_per_s"].to_numpy()
    alone, told = fit(sweep, [1]), fit(sweep, [1], peak_per_s=150e3)
    for made in (alone, told):
        curve = predict(made, DEPTHS)
        assert curve.throughput_per_s[0] == pytest.approx(observed[0], rel=2e-3)
        assert (curve.throughput_low_per_s <= observed).all()
        assert (observed <= curve.throughput_high_per_s).all()
        assert made.parameters["R1"].identified
        assert not made.parameters["p"].identified
        assert any("assumed as on public devices; measure a second, deep point" in note for note in made.notes)
    assert not alone.parameters["Xmax"].identified
    assert told.parameters["Xmax"].identified
    assert told.knee.load == pytest.approx(12, rel=0.1)
    deep = fit(sweep, [64])
    assert any("measure depth 1" in note for note in deep.notes)
    width = [
        np.ptp(np.log(c))
        for c in (
            (p.throughput_low_per_s[0], p.throughput_high_per_s[0]) for p in (predict(alone, [64]), predict(told, [64]))
        )
    ]
    assert width[1] < width[0] / 2


def test_published_drives_lie_in_the_bands_from_depth_1_alone() -> None:
    inside = []
    for name in ("001-ssd", "004-ssd-depth"):
        sweep = load_dataset(name)
        for series in sweep.series:
            whole = points_of(sweep, series)
            whole = whole.at(whole.load < 512)
            curve = predict(fit(sweep, [1.0], series=series), whole.load)
            held = (curve.throughput_low_per_s <= whole.throughput_per_s) & (
                whole.throughput_per_s <= curve.throughput_high_per_s
            )
            inside += list(held[1:])
    assert len(inside) >= 14
    assert np.mean(inside) >= 0.85


def test_a_knee_says_which_of_its_factors_was_not_measured() -> None:
    assert fit(closed_sweep(), [1, 128]).knee.definition == "N* = R1 Xpeak"
    shallow = fit(closed_sweep(), [1, 16]).knee.definition
    assert shallow == "N* = R1 Xpeak: throughput still rises at depth 16"
    assert fit(closed_sweep(), [2, 128]).knee.definition == "N* = R1 Xpeak: depth 1 was not measured"
    soft = fit(closed_sweep(p=0.6, depths=DEPTHS[DEPTHS <= 16])).knee  # idle latency times peak is far above 16
    assert soft.definition == "N* = R1 Xpeak: throughput still rises at depth 16"
    assert (soft.identified, soft.high > 12) == (False, True)
    made = fit(closed_sweep(), [1, 128])
    idle, peak = (made.parameters[name].estimate for name in ("R1", "Xmax"))
    assert made.knee.load == pytest.approx(idle * peak, rel=1e-12)
    assert made.knee.load == pytest.approx(12, rel=0.03)


def test_a_given_peak_is_used_and_one_below_what_was_measured_is_refused() -> None:
    made = fit(closed_sweep(), [1, 4], peak_per_s=150e3)
    assert made.parameters["Xmax"].low < 150e3 < made.parameters["Xmax"].high  # type: ignore[operator]
    assert made.parameters["Xmax"].identified
    with pytest.raises(DataError, match="above the given peak"):
        fit(closed_sweep(), [1, 64], peak_per_s=1e4)
    with pytest.raises(ValueError, match="positive number"):
        fit(closed_sweep(), [1, 64], peak_per_s=-1.0)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: from_datasheet(idle_latency=0, peak_iops=1), "idle_latency"),
        (lambda: from_datasheet(idle_latency=80e-6, peak_iops=-5), "peak_iops"),
        (lambda: from_datasheet(idle_latency=80e-9, peak_iops=600), "units"),
        (lambda: fit(closed_sweep(), []), "0 points"),
        (lambda: fit(closed_sweep(), [1, 33]), "no point at load 33"),
        (lambda: fit(closed_sweep(), [1, 1]), "twice"),
        (lambda: fit(closed_sweep(), [1, 32], model="magic"), "unknown"),
        (lambda: fit(closed_sweep(), [1, 32], series="other"), "no series 'other'"),
        (lambda: fit(closed_sweep(), [1, 32], level=1.5), "level"),
        (lambda: fit(memory_sweep(), [0, 20_000]), "needs 3"),
        (lambda: predict(fit(closed_sweep(), [1, 32]), [0]), "greater than zero"),
        (lambda: predict(fit(closed_sweep(), [1, 32]), []), "empty"),
        (lambda: predict(fit(closed_sweep(), [1, 32]), [float("nan")]), "nan"),
        (lambda: Fit.from_dict({"schema": "other"}), "not a fit of schema"),
        (lambda: Fit.from_dict({"schema": "qsim-fit/3", "model": "p-norm"}), "damaged"),
    ],
)
def test_refusals_say_what_is_wrong(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_several_series_must_be_told_apart() -> None:
    two = pd.concat([closed_sweep().points, closed_sweep().points.assign(series="other")])
    with pytest.raises(DataError, match="made, other"):
        fit(Sweep(two))


def test_an_open_sweep_has_no_closed_model_and_a_closed_one_no_open_model() -> None:
    with pytest.raises(ValueError, match="'p-norm' needs a sweep over queue depths"):
        fit(Sweep(closed_sweep().points, load_type=ArrivalRate()), model="p-norm")
    with pytest.raises(ValueError, match="'M/M/1' needs a sweep over arrival rates"):
        fit(closed_sweep(), model="M/M/1")


def test_one_server_is_in_the_intervals_of_a_device_that_has_one() -> None:
    found = fit(sweep_of_servers(1), [1, 4, 32])
    assert found.parameters["N*"].low == found.knee.low == 1.0
    assert found.parameters["c"].estimate == 1
    assert found.parameters["Z"].low == 0.0


def sweep_of_servers(servers: int, delay: float = 0.0, service: float = 2e-3) -> Sweep:
    """A device of exponential servers behind one queue, and a delay, exactly."""
    depths = [1, 2, 4, 8, 16, 32]
    rates = [solve(MMcN(n, delay, service, servers)).throughput for n in depths]
    return Sweep(points_at(depths, rates))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda d: table(d, values=[]), "shapes"),
        (lambda d: table(d, values=[[0.0] * len(row) for row in d["table"]["values"]]), "zero or negative"),
        (lambda d: table(d, misfit=[float("nan")] * len(d["table"]["misfit"])), "finite"),
        (lambda d: table(d, weight=[0.0] * len(d["table"]["weight"])), "weights must make up 1 together"),
        (lambda d: table(d, weight=[1e308] * len(d["table"]["weight"])), "weights must make up 1 together"),
        (lambda d: d | {"details": {"most probable p-norm": [1, "x"]}}, "most probable p-norm must be N"),
        (lambda d: d | {"details": {"most probable p-norm": [1, 0.0, 2]}}, "most probable p-norm must be above zero"),
        (lambda d: table(d, scale=9), "invalid scale 9"),
        (lambda d: table(d, scale=None), "earlier versions"),
        (lambda d: d | {"table": 5}, "table must be an object, not 5"),
        (lambda d: d | {"table": {"values": d["table"]["values"]}}, "table lacks misfit, weight, directions"),
        (lambda d: d | {"level": 7}, "level must be from 0.5 to below 1, not 7"),
        (lambda d: d | {"level": 9e-13}, "level must be from 0.5 to below 1, not 9e-13"),  # intervals beside estimates
        (lambda d: d | {"load_kind": "moon"}, "load_kind must be one of queue_depth"),
        (lambda d: d | {"used": ["a", "b"]}, "used must be numbers"),
        (lambda d: d | {"used_noise": [0.0]}, "as many of each"),
        (lambda d: d | {"used_response_s": [0.0, 1.0]}, "above zero"),
        (lambda d: d | {"parameters": {k: v for k, v in d["parameters"].items() if k != "Xmax"}}, "lacks Xmax"),
        (lambda d: d | {"parameters": d["parameters"] | {"Xmax": xmax("abc")}}, "estimate of parameter Xmax.*'abc'"),
        (lambda d: d | {"parameters": d["parameters"] | {"Xmax": xmax(1.0) | {"unit": 5}}}, "unit of parameter Xmax"),
        (lambda d: d | {"parameters": d["parameters"] | {"Xmax": xmax(1.0) | {"low": -1.0}}}, "Xmax must be zero"),
        (lambda d: table(d, misfit=[-0.1] * len(d["table"]["misfit"])), "misfit and weight must not be negative"),
        (lambda d: d | {"model": 5}, "model must be text, not 5"),
        (lambda d: d | {"notes": "abc"}, "notes must be a list, not 'abc'"),
        (lambda d: d | {"details": {"calibrated_on": {"files": 5}}}, "files of calibrated_on"),
        (lambda d: d | {"knee": d["knee"] | {"load": 2 * d["knee"]["load"]}}, "knee must be .* its table say, not"),
    ],
)
def test_a_damaged_fit_is_refused_with_what_is_wrong(damage, words):
    made = fit(closed_sweep(), [1, 32]).to_dict()
    assert Fit.from_dict(made).used == (1, 32)
    with pytest.raises(DataError, match=rf"the fit is damaged \(.*{words}.*qsim fit DATA --out fit.json"):
        Fit.from_dict(damage(made))


@pytest.mark.parametrize("level", [0.0, 9e-13, 0.49, 1.0, 7.0, float("nan")])
def test_a_level_at_which_intervals_need_not_hold_their_estimates_is_refused(level):
    with pytest.raises(ValueError, match=r"level.*must be from 0\.5 to below 1, like 0\.9"):
        fit(closed_sweep(), [1, 32], level=level)


def table(document: dict[str, Any], **columns: object) -> dict[str, Any]:
    return document | {"table": document["table"] | columns}


def xmax(estimate: object) -> dict[str, Any]:
    return {"estimate": estimate, "low": 1.0, "high": 2.0, "identified": True, "unit": "1/s", "note": ""}


@pytest.mark.parametrize(("series", "shown"), [("128 KiB read", True), ("4 KiB read", False)])
def test_large_blocks_have_their_bandwidth_beside_the_rate(series: str, shown: bool) -> None:
    found = fit(load_dataset("003-ssd-read").select(series))
    assert ("GB/s, sure" in repr(found)) == shown  # the peak
    predicted = str(found.predict([1, 8]))
    assert ("BANDWIDTH" in predicted) == shown
    if shown:
        moved = 131072 * found.predict([8]).throughput_per_s[0] / 1e9
        assert f"{moved:.2g} GB/s" in predicted
