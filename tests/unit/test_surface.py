"""A surface from its corners: known ones are found again, nothing impossible is predicted, refusals say what to do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrate.report.surface import lead_of, surface_section
from calibrate.surface import Places, SurfacePoints, asked, compare_surface, corners, fit_surface, surface_points
from calibrate.surface.model import SurfaceModel
from measure import load_dataset
from measure.dataset import Provenance, Sweep
from measure.errors import DataError

KIB = 1024.0
TRUE = {
    "a read": 80e-6, "g read": 0.4e-9, "n read": 12.0, "h read": 1.6, "a write": 30e-6, "g write": 0.5e-9,
    "n write": 4.0, "h write": 1.4, "e": 1.0, "q": 1.3, "i": 1.2, "p": 3.0, "onset": 1.0,
}  # fmt: skip


def grid(
    blocks: tuple[float, ...] = (4, 16, 64, 256), shares: tuple[float, ...] = (0, 0.5, 0.7, 1),
    depths: tuple[float, ...] = (1, 4, 16, 64),
) -> Places:  # fmt: skip
    b, m, n = np.array(list(product(blocks, shares, depths))).T
    return Places(b * KIB, m, n, np.ones(len(b)))


def known(places: Places) -> SurfacePoints:
    """What a device of TRUE would do at ``places``."""
    ones = np.ones(len(places))
    model = SurfaceModel.of(places, ones, places)
    throughput = model.throughput(np.array([[TRUE[n] for n in model.names]]), places)[0]
    response = places.outstanding / throughput
    return SurfacePoints(places, throughput, response, ones, np.full(len(places), np.nan), "random", "known")


def sweep_of(points: SurfacePoints) -> Sweep:
    table = pd.DataFrame({
        "series": [f"{b:g} {m:g}" for b, m in zip(points.places.block_bytes, points.places.read_fraction, strict=True)],
        "load": points.places.outstanding, "throughput_per_s": points.throughput_per_s,
        "latency_s": points.response_time_s, "block_bytes": points.places.block_bytes,
        "read_fraction": points.places.read_fraction, "pattern": "random", "jobs": 1.0,
    })  # fmt: skip
    return Sweep(table, name="known")


def test_a_known_surface_of_64_points_is_predicted_from_eight_and_one() -> None:
    compared = compare_surface(known(grid()))
    assert int(compared.used.sum()) == 9
    assert compared.summary.held_out_points == 55
    assert compared.summary.held_out_mdape_throughput_pct < 6  # type: ignore[operator]
    assert compared.summary.inside_band_pct > 90  # type: ignore[operator]
    for name, value in (("read: latency alone", 80e-6), ("write: bandwidth", 1.4 / 0.5e-9), ("read: peak rate", 150e3)):
        estimate = compared.surface.parameters()[name]
        assert estimate.low < value < estimate.high


def test_each_point_asked_for_brings_it_nearer() -> None:
    points = known(grid())
    errors = [np.mean(np.abs(c.error_pct[c.judged])) for c in (compare_surface(points, ask=k) for k in (0, 3))]
    assert errors[1] < 0.6 * errors[0]


def test_the_corners_are_the_ends_of_what_varies() -> None:
    places = grid(depths=(1, 4, 16, 64, 1024))
    chosen = places.at(corners(places))
    assert len(chosen) == 8
    assert [chosen.values(c).tolist() for c in ("block_bytes", "read_fraction", "outstanding")] == [
        [4 * KIB, 256 * KIB], [0, 1], [1, 64],
    ]  # fmt: skip


def test_sweeps_along_each_axis_are_calibrated_on_the_ends_of_the_axes() -> None:
    places = Places(
        np.array([4, 16, 64, 16, 16, 16, 16]) * KIB, np.array([1, 1, 1, 0.5, 0, 1, 1]),
        np.array([1.0, 1, 1, 1, 1, 8, 32]), np.ones(7),
    )  # fmt: skip
    chosen = places.at(corners(places))
    assert chosen.varying() == ("block_bytes", "read_fraction", "outstanding")
    assert chosen.values("outstanding").tolist() == [1, 32]


def test_the_point_asked_for_is_new_no_deeper_and_takes_some_of_the_variance() -> None:
    points = known(grid(depths=(1, 4, 64, 1024)))
    used = corners(points.places)
    surface = fit_surface(points, used)
    best = asked(surface, points.places, used)
    assert best is not None
    assert not used[best]
    assert points.places.outstanding[best] <= 64
    before = np.trace(surface.covariance(points.places))
    assert np.trace(fit_surface(points, used | (np.arange(len(points)) == best)).covariance(points.places)) < before
    assert asked(surface, points.places.at(used), np.ones(8, dtype=bool)) is None


positive = st.floats(0.2, 5)


@settings(max_examples=60, deadline=None)
@given(scales=st.lists(positive, min_size=13, max_size=13), share=st.floats(0, 1), depth=st.floats(1, 4096))
def test_no_throughput_passes_either_asymptote(scales: list[float], share: float, depth: float) -> None:
    places = Places(np.array([4, 64, 512]) * KIB, np.full(3, share), np.full(3, depth), np.ones(3))
    model = SurfaceModel.of(grid(), np.ones(64), grid())
    values = np.array(
        [[max(TRUE[n] * s, 1.0 if n[0] in "nh" else 0.0) for n, s in zip(model.names, scales, strict=True)]]
    )
    throughput = model.throughput(values, places)
    peak = model.peak_s(values, places)
    assert peak is not None
    assert (throughput * peak <= 1 + 1e-9).all()
    slowest = model.busy_s(values, places) * np.minimum(values[0, model.names.index("onset")], 1.0)
    assert (throughput * slowest / depth <= 1 + 1e-9).all()


def test_published_drives_are_predicted_within_ten_percent() -> None:
    for name, most in (("001-ssd", 8), ("003-ssd-read", 10)):
        summary = compare_surface(surface_points(load_dataset(name, corrected=True)), ask=2).summary
        assert summary.held_out_mdape_throughput_pct < most  # type: ignore[operator]
        assert summary.inside_band_pct >= 80  # type: ignore[operator]


def test_jobs_that_submit_no_faster_are_a_limit_of_their_own() -> None:
    places = grid(blocks=(4,), depths=(1, 4, 16, 64))
    many = Places(*(np.concatenate([getattr(places, c), getattr(places, c)]) for c in ("block_bytes", "read_fraction")),
                  np.concatenate([places.outstanding, 4 * places.outstanding]),
                  np.concatenate([places.jobs, np.full(len(places), 4.0)]))  # fmt: skip
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
        series=lambda t: [f"4 KiB random {100 * m:.0f}/{100 - 100 * m:.0f} mix {b:g}" for m, b in
                          zip(t["read_fraction"], t["block_bytes"], strict=True)],
        read_fraction=lambda t: t["read_fraction"] * 0.993,
    )  # fmt: skip
    points = surface_points(Sweep(named, name="twice"))
    assert len(points) == 64
    assert points.places.values("read_fraction").tolist() == [0, 0.5, 0.7, 1]
    assert points.repeat_noise_pct() == pytest.approx(100 * 0.05 * np.sqrt(2) / 1.05, rel=1e-3)


def test_places_are_told_apart_by_their_columns_whatever_their_series_are_called() -> None:
    points = surface_points(Sweep(sweep_of(known(grid())).points.assign(series="all points"), name="one name"))
    assert len(points) == 64
    assert (points.repeats == 1).all()


def test_what_is_no_surface_is_refused_with_what_to_measure() -> None:
    line = grid(blocks=(4,), shares=(1,))
    with pytest.raises(
        DataError, match=r"one block size and one share of reads, .*qsim compare; measure more: qsim measure"
    ):
        surface_points(sweep_of(known(line)))
    with pytest.raises(DataError, match="no sweep over queue depths"):
        surface_points(load_dataset("001-memory"))
    both = sweep_of(known(grid()))
    mixed = both.points.assign(pattern=["random", "sequential"] * 32)
    with pytest.raises(DataError, match="2 patterns, each a surface of its own; name one of: random, sequential"):
        surface_points(Sweep(mixed))
    points = known(grid())
    with pytest.raises(DataError, match=r"2 point.s. cannot calibrate a surface, which needs 3"):
        compare_surface(points, {"block_bytes": [4 * KIB], "read_fraction": [1], "outstanding": [1, 4]})
    with pytest.raises(DataError, match="have the block size 4 KiB, so nothing is known of 16 KiB"):
        compare_surface(points, {"block_bytes": [4 * KIB]})
    with pytest.raises(DataError, match="no point at the places named; it has: block size 4 KiB"):
        compare_surface(points, {"block_bytes": [5 * KIB]})
    with pytest.raises(ValueError, match="ask is -1"):
        compare_surface(points, ask=-1)


def test_places_beyond_the_corners_are_marked_and_less_sure() -> None:
    surface = compare_surface(known(grid())).surface
    beyond = surface.predict(Places(np.array([16, 1024.0]) * KIB, np.ones(2), np.full(2, 16.0), np.ones(2)))
    assert beyond.extrapolated.tolist() == [False, True]
    width = np.log(beyond.throughput_high_per_s / beyond.throughput_low_per_s)
    assert width[1] > width[0]
    assert (beyond.response_time_s * beyond.throughput_per_s).tolist() == pytest.approx([16, 16])


def test_the_report_shows_a_curve_for_each_mix_and_says_how_well() -> None:
    compared = compare_surface(known(grid()))
    section = surface_section(compared, Provenance(tool="none"))
    kinds = [v.kind for v in section.views]
    assert kinds.count("surface-curves") == 4
    assert kinds[-3:] == ["surface-points", "surface-parameters", "surface-knees"]
    assert lead_of(compared).startswith("Calibrated on 9 of 64 points, it misses the throughput of the 55 others by ")
    curves = section.views[0].figure
    assert curves is not None
    assert {t.marker.symbol for t in curves.data if t.mode == "markers"} == {"square", "circle-open"}
