"""A surface from its corners: known ones are found again, nothing impossible is predicted, refusals say what to do."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import points_at

from calibrate.points import Z90
from calibrate.report.surface_section import views_of
from calibrate.surface import (
    Places,
    SurfacePoints,
    asked,
    compare_surface,
    corners,
    fit_surface,
    next_place,
    surface_points,
)
from calibrate.surface.model import NEAR, SurfaceModel
from calibrate.surface.places import check
from measure import load_dataset
from measure.errors import DataError
from measure.sweep import Sweep

KIB = 1024.0
A_READ, A_WRITE, SERVED_READ, SERVED_WRITE, BUSY_READ, BUSY_WRITE = 80e-6, 30e-6, 12.0, 4.0, 24 * KIB, 15 * KIB
TRUE = np.array(
    [
        (A_READ * A_WRITE) ** 0.5,
        A_READ / A_WRITE,
        (SERVED_READ * SERVED_WRITE) ** 0.5,
        SERVED_READ / SERVED_WRITE,
        3.0,
        1.0,
        160 * KIB,
        (BUSY_READ * BUSY_WRITE) ** 0.5,
        BUSY_READ / BUSY_WRITE,
        1.3,
        1e6,
        1.2,
    ]
)
"""Latency, requests served at a time and the block that bandwidth limits, each as mean and ratio; p, onset, the block
that doubles the latency, q, no limit of a job."""


def grid(
    blocks: tuple[float, ...] = (4, 16, 64, 256),
    shares: tuple[float, ...] = (0, 0.5, 0.7, 1),
    depths: tuple[float, ...] = (1, 4, 16, 64),
) -> Places:
    b, m, n = np.array(list(product(blocks, shares, depths))).T
    return Places(b * KIB, m, n, np.ones(len(b)))


def known(places: Places) -> SurfacePoints:
    """What a device of TRUE would do at ``places``."""
    ones = np.ones(len(places))
    throughput = SurfaceModel(1.0, 1.0).throughput(TRUE[None, :], places.as_rows())[0]
    response = places.outstanding / throughput
    return SurfacePoints(places, throughput, response, ones, np.full(len(places), np.nan), "random", "known")


def sweep_of(points: SurfacePoints) -> Sweep:
    at = points.places
    names = [f"{b:g} {m:g}" for b, m in zip(at.block_bytes, at.read_fraction, strict=True)]
    table = points_at(at.outstanding, points.throughput_per_s, points.response_time_s, series=names, jobs=1.0)
    table = table.assign(block_bytes=at.block_bytes, read_fraction=at.read_fraction, pattern="random")
    return Sweep(table, name="known")


def test_a_known_surface_of_64_points_is_predicted_from_eight_and_one() -> None:
    compared = compare_surface(known(grid()), ask=1)
    assert int(compared.used.sum()) == 9
    assert compared.summary().held_out_points == 55
    assert compared.summary().held_out_mdape_throughput_pct < 6  # type: ignore[operator]
    assert compared.summary().inside_band_pct > 90  # type: ignore[operator]
    rates = {"read": SERVED_READ / A_READ, "write": SERVED_WRITE / A_WRITE}
    truth = {
        "read: latency alone": A_READ,
        "read: peak rate": rates["read"],
        "write: bandwidth": BUSY_WRITE * rates["write"],
    }
    for name, value in truth.items():
        estimate = compared.surface.parameters()[name]
        assert estimate.low < value < estimate.high


def test_one_point_is_inside_its_band_and_several_are() -> None:
    compared = compare_surface(known(grid()), ask=0)
    throughput = np.where(compared.used, compared.points.throughput_per_s, np.inf)
    throughput[np.flatnonzero(compared.judged)[:1]] = compared.predicted.throughput_per_s[compared.judged][0]
    one = replace(compared, points=replace(compared.points, throughput_per_s=throughput))
    assert one.answer()[2] == "SURE?   1 of 56 held-out points is inside its 90 % band"
    assert compared.answer()[2].endswith(" of 56 held-out points are inside their 90 % bands")


def test_the_corners_are_the_ends_of_what_varies() -> None:
    places = grid(depths=(1, 4, 16, 64, 1024))
    chosen = places.at(corners(places))
    assert len(chosen) == 8
    assert [chosen.values(c).tolist() for c in ("block_bytes", "read_fraction", "outstanding")] == [
        [4 * KIB, 256 * KIB],
        [0, 1],
        [1, 64],
    ]


def test_the_point_asked_for_is_new_no_deeper_and_takes_some_of_the_variance() -> None:
    points = known(grid(depths=(1, 4, 64, 1024)))
    used = corners(points.places)
    surface = fit_surface(points, used)
    best = asked(surface, points.places, used)
    assert best is not None
    assert not used[best]
    assert points.places.outstanding[best] <= 64
    after = fit_surface(points, used | (np.arange(len(points)) == best))
    assert np.trace(after.predictive(points.places).covariance) < np.trace(surface.predictive(points.places).covariance)
    assert asked(surface, points.places.at(used), np.ones(8, dtype=bool)) is None


positive = st.floats(0.2, 5)


@settings(max_examples=60, deadline=None)
@given(scales=st.lists(positive, min_size=12, max_size=12), share=st.floats(0, 1), depth=st.floats(1, 4096))
def test_no_throughput_passes_either_asymptote(scales: list[float], share: float, depth: float) -> None:
    places = Places(np.array([4, 64, 512]) * KIB, np.full(3, share), np.full(3, depth), np.ones(3))
    model = SurfaceModel(1.0, 1.0)
    values, loads = TRUE[None, :] * np.array(scales), places.as_rows()
    throughput = model.throughput(values, loads)
    assert (throughput * model.busy_s(values, loads) <= 1 + 1e-9).all()
    quickest = model.lone_s(values, loads) * min(1.0, 1 / float(values[0, 5]))
    assert (throughput * quickest / depth <= 1 + 1e-9).all()


def test_jobs_that_submit_no_faster_are_a_limit_of_their_own() -> None:
    places = grid(blocks=(4,), depths=(1, 4, 16, 64))
    many = Places(
        *(np.concatenate([getattr(places, c), getattr(places, c)]) for c in ("block_bytes", "read_fraction")),
        np.concatenate([places.outstanding, 4 * places.outstanding]),
        np.concatenate([places.jobs, np.full(len(places), 4.0)]),
    )
    throughput = np.minimum(many.outstanding / 50e-6, np.minimum(100e3 * many.jobs, 300e3))
    points = SurfacePoints(many, throughput, many.outstanding / throughput, np.ones(32), np.full(32, np.nan))
    compared = compare_surface(points, ask=3)
    assert points.places.at(np.array(compared.asked)).jobs.max() == 4
    deep = (many.jobs == 4) & (many.outstanding >= 64)
    assert np.abs(compared.error_pct[deep]).max() < 15


def test_repeats_and_mixes_are_read_from_a_sweep() -> None:
    table = sweep_of(known(grid())).points
    again = table.assign(throughput_per_s=1.1 * table["throughput_per_s"], repeat=1)
    named = pd.concat([table, again]).assign(
        series=lambda t: [
            f"4 KiB random {100 * m:.0f}/{100 - 100 * m:.0f} mix {b:g}"
            for m, b in zip(t["read_fraction"], t["block_bytes"], strict=True)
        ],
        read_fraction=lambda t: t["read_fraction"] * 0.993,
    )
    points = surface_points(Sweep(named, name="twice"))
    assert len(points) == 64
    assert points.places.values("read_fraction").tolist() == [0, 0.5, 0.7, 1]
    assert points.repeat_noise_pct() == pytest.approx(100 * 0.05 * np.sqrt(2) / 1.05, rel=1e-3)


def test_what_is_no_surface_is_refused_with_what_to_measure() -> None:
    line = grid(blocks=(4,), shares=(1,))
    with pytest.raises(
        DataError, match=r"one block size and one share of reads; .*qsim compare; measure more: qsim measure"
    ):
        surface_points(sweep_of(known(line)))
    with pytest.raises(DataError, match="a surface needs a sweep over queue depths"):
        surface_points(load_dataset("001-memory"))
    both = sweep_of(known(grid()))
    mixed = both.points.assign(pattern=["random", "sequential"] * 32)
    with pytest.raises(DataError, match="2 patterns, each a surface of its own; name one with --pattern: random"):
        surface_points(Sweep(mixed))
    points = known(grid())
    zero = points.throughput_per_s.copy()
    zero[3] = -1.0
    with pytest.raises(DataError, match=r"the throughput at 4 KiB, 0 % read, N = 64 is -1; leave the point out"):
        check(points.places, zero, "known")
    one_depth = fit_surface(known(grid(depths=(4,))), np.ones(16, dtype=bool))
    with pytest.raises(DataError, match="have the queue depth 4, so nothing is known of 8"):
        one_depth.predict(grid(depths=(8,)))
    with pytest.raises(DataError, match="no point at the places named; it has: block size 4 KiB"):
        compare_surface(points, {"block_bytes": [5 * KIB]})
    with pytest.raises(ValueError, match="ask is -1"):
        compare_surface(points, ask=-1)


def test_places_beyond_the_corners_are_marked_and_less_sure() -> None:
    surface = compare_surface(known(grid())).surface
    beyond = surface.predict(Places(np.array([16, 1024.0]) * KIB, np.ones(2), np.full(2, 16.0), np.ones(2)))
    assert beyond.extrapolated.tolist() == [False, True]
    assert repr(beyond).startswith("SurfacePrediction at 2 places, 90 % bands\n")
    width = np.log(beyond.throughput_high_per_s / beyond.throughput_low_per_s)
    assert width[1] > width[0]
    assert (beyond.response_time_s * beyond.throughput_per_s).tolist() == pytest.approx([16, 16])


def test_a_plot_of_predictions_has_their_bands() -> None:
    points = known(grid())
    found = fit_surface(points, corners(points.places)).predict(points.places)
    ends = [
        (y - below, y + above)
        for t in found.plot().data
        for y, below, above in zip(t.y, t.error_y.arrayminus, t.error_y.array, strict=True)
    ]
    lows, highs = (sorted(end) for end in zip(*ends, strict=True))
    assert lows == pytest.approx(sorted(found.throughput_low_per_s))
    assert highs == pytest.approx(sorted(found.throughput_high_per_s))


def test_both_axes_of_the_curves_are_logarithmic() -> None:
    view = views_of(compare_surface(known(grid())))[0]
    assert view.figure is not None
    layout = view.figure.to_plotly().layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")


def test_the_same_points_give_the_same_figures_in_any_order() -> None:
    points = known(grid())
    used = corners(points.places)
    order = np.random.default_rng(3).permutation(len(points))
    both = ((points, used), (points.at(order), used[order]))
    first, again = (fit_surface(p, u).predict(points.places) for p, u in both)
    assert again.throughput_per_s == pytest.approx(first.throughput_per_s, rel=1e-6)
    assert again.throughput_low_per_s == pytest.approx(first.throughput_low_per_s, rel=1e-5)
    twice = fit_surface(points, used).predict(points.places)
    assert (twice.throughput_per_s == first.throughput_per_s).all()


@pytest.mark.parametrize(
    "use",
    [
        {"block_bytes": [4 * KIB], "read_fraction": [1], "outstanding": [1, 4]},
        {"block_bytes": [4 * KIB]},
        {"block_bytes": [4 * KIB], "read_fraction": [0.5], "outstanding": [4]},
        {"outstanding": [64]},
        {"read_fraction": [0.7]},
    ],
)
def test_few_points_and_points_alike_give_an_answer_with_its_honest_width(use: dict[str, list[float]]) -> None:
    points = known(grid())
    little, more = compare_surface(points, use, ask=0), compare_surface(points, ask=0)
    assert little.summary().inside_band_pct > 80  # type: ignore[operator]
    widths = [np.log(c.predicted.throughput_high_per_s / c.predicted.throughput_low_per_s) for c in (little, more)]
    assert np.median(widths[0]) > 1.5 * np.median(widths[1])
    alike = [name for name in ("block_bytes", "read_fraction", "outstanding") if len(use.get(name, [0, 0])) == 1]
    assert sum("rest on what other devices do" in note for note in little.notes) == len(alike)


def test_a_missing_corner_is_asked_for_first_and_no_measured_place_is() -> None:
    places = grid(blocks=(4, 256), shares=(0, 1), depths=(1, 64))
    points = known(places.at(np.arange(8) != 5))
    following = next_place(fit_surface(points, np.ones(7, dtype=bool)), points)
    assert following is not None
    assert following.corner
    assert following.places.as_rows()[0].tolist() == places.as_rows()[5].tolist()
    whole = known(places)
    between = set()
    for _ in range(6):
        following = next_place(fit_surface(whole, np.ones(len(whole), dtype=bool)), whole)
        assert following is not None
        assert not (whole.places.as_rows() == following.places.as_rows()).all(axis=1).any()
        assert following.half_width_then < following.half_width_now
        rows = np.vstack([whole.places.as_rows(), following.places.as_rows()])
        whole = known(Places(*rows.T))
        between |= {(following.block_bytes // KIB, following.outstanding)} - set(product((4, 256), (1, 64)))
    assert between <= set(product([4, 8, 16, 32, 64, 128, 256], [1, 2, 4, 8, 16, 32, 64]))
    assert {size for size, _ in between} - {4, 256}
    assert {depth for _, depth in between} - {1, 64}


def halved(points: SurfacePoints, which: int, repeats: float = 1.0) -> SurfacePoints:
    throughput, counts = points.throughput_per_s.copy(), points.repeats.copy()
    throughput[which] /= 2
    counts[which] = repeats
    return replace(points, throughput_per_s=throughput, repeats=counts)


def test_a_point_that_surprises_is_measured_again_before_it_is_believed() -> None:
    points = halved(known(grid()), 42)
    following = next_place(fit_surface(points, np.ones(64, dtype=bool)), points)
    assert following is not None
    assert following.again
    assert following.places.as_rows()[0].tolist() == points.places.as_rows()[42].tolist()
    assert "again: it surprises" in str(following)
    repeated = halved(known(grid()), 42, repeats=3.0)
    after = next_place(fit_surface(repeated, np.ones(64, dtype=bool)), repeated)
    assert after is None or not after.again


def test_a_decline_at_depths_that_are_not_predicted_is_not_asked_for_again() -> None:
    points = known(grid(depths=(1, 4, 16, 64, 512)))
    deepest = int(np.flatnonzero(points.places.outstanding == 512)[3])
    fallen = halved(halved(points, deepest), deepest)
    following = next_place(fit_surface(fallen, np.ones(len(fallen), dtype=bool)), fallen)
    assert following is None or not (following.again and following.outstanding == 512)
    assert following is None or following.outstanding < 512


def test_a_surprise_in_a_finished_table_is_doubted_where_its_neighbours_contradict_it() -> None:
    points = known(grid())
    first = compare_surface(points, ask=1).asked[0]
    wrong = halved(points, first)
    at_once, later = (compare_surface(wrong, ask=k) for k in (1, 3))
    assert "measure it again" in at_once.surprises[0]
    assert "speak against it" in later.surprises[0]
    assert later.surface.noise.max() > 0.3
    believed = fit_surface(wrong, later.used).predict(points.places)
    held = later.judged
    truth = points.throughput_per_s[held]
    missed = [np.mean(np.abs(np.log(p.throughput_per_s[held] / truth))) for p in (later.predicted, believed)]
    assert missed[0] < 0.8 * missed[1]


def test_a_point_left_out_in_closed_form_is_what_a_fit_without_it_says() -> None:
    points = halved(known(grid()), 42)
    used = np.ones(64, dtype=bool)
    missed, deviations = fit_surface(points, used).left_out()
    without = fit_surface(points, np.arange(64) != 42).predictive(points.places.at(np.array([42])))
    expected = float(without.weight @ without.mean[:, 0])
    assert missed[42] == pytest.approx(np.log(points.throughput_per_s[42]) - expected, abs=0.1)
    assert np.abs(deviations).argmax() == 42


def test_runs_that_drift_are_asked_for_farther_from_what_was_measured() -> None:
    points = known(grid(shares=(0, 1)))
    used = corners(points.places)
    surface = fit_surface(points, used)
    near, far = (asked(surface, points.places, used, drifting=d) for d in (False, True))
    place = NEAR.place(points.places.as_rows())
    apart = np.sqrt(((place[:, None, :] - place[None, used, :]) ** 2).sum(axis=2)).min(axis=1)
    assert apart[far] >= apart[near]


SIZES = np.array([4, 16, 64, 256, 1024]) * KIB


def line_of(times: np.ndarray, depth: float = 1.0) -> SurfacePoints:
    """Reads of five sizes at one depth, N / X given."""
    ones = np.ones(5)
    places = Places(SIZES, ones, depth * ones, ones)
    return SurfacePoints(places, depth / times, times, ones, np.full(5, np.nan), "random", "line")


ENDS = {"block_bytes": [float(SIZES[0]), float(SIZES[-1])]}
STRAIGHT = 80e-6 + SIZES / 2e9


@pytest.mark.parametrize("depth", [1.0, 8.0])
def test_a_known_line_over_sizes_is_found_again_from_its_ends(depth: float) -> None:
    line = compare_surface(line_of(STRAIGHT, depth), ENDS, ask=0)
    assert line.used.tolist() == [True, False, False, False, True]
    assert line.predicted.throughput_per_s == pytest.approx(line.points.throughput_per_s, rel=0.02)
    assert line.inside.all()
    found = line.surface.parameters()
    assert found["read: bandwidth"].estimate == pytest.approx(2e9 * depth, rel=0.05)
    assert found["block that doubles the latency"].estimate == pytest.approx(160e3, rel=0.06)
    assert found["read: latency alone"].low < 80e-6 < found["read: latency alone"].high


def test_what_no_point_tells_is_known_within_a_factor_of_2_to_25() -> None:
    _, *others = SurfaceModel(80e-6, 1e4).parameters()
    factors = [np.exp(Z90 * (one.prior_log_sd or 0.0)) for one in others]
    assert 2 < min(factors) < max(factors) < 25


def test_repeats_that_differ_widen_the_bands_and_are_told() -> None:
    once = line_of(STRAIGHT)
    noisy = replace(once, repeats=np.full(5, 4.0), spread=np.full(5, 0.6))
    sure, line = (compare_surface(points, ENDS, ask=0) for points in (once, noisy))
    assert "repeats" not in repr(sure)
    assert "repeats have a standard deviation of 60 %" in repr(line)
    width = [np.log(c.predicted.throughput_high_per_s / c.predicted.throughput_low_per_s)[-1] for c in (sure, line)]
    assert width[1] > 1.5 * width[0]
