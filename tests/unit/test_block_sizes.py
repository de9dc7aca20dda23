"""Throughput over the block size from the two end sizes: known lines, published drives, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.block_sizes import block_lines
from measure import load_dataset
from measure.dataset import Sweep
from measure.errors import DataError

KIB = 1024
SIZES = np.array([4, 16, 64, 256, 1024]) * KIB


def drive(alpha: float = 80e-6, beta: float = 1 / 2e9, depth: float = 1) -> Sweep:
    times = alpha + beta * SIZES
    points = pd.DataFrame({
        "series": [f"{s} B" for s in SIZES], "load": depth, "throughput_per_s": depth / times, "latency_s": times,
        "block_bytes": SIZES.astype(float), "read_fraction": 1.0, "pattern": "random",
    })  # fmt: skip
    return Sweep(points)


@pytest.mark.parametrize("depth", [1, 8])
def test_a_known_line_is_found_again_from_its_ends(depth: int) -> None:
    (line,) = block_lines(drive(depth=depth))
    assert line.calibrated.tolist() == [True, False, False, False, True]
    assert line.predicted_per_s == pytest.approx(line.observed_per_s, rel=0.01)
    assert ((line.low_per_s < line.observed_per_s) & (line.observed_per_s < line.high_per_s)).all()
    assert line.per_request_s[1] < line.per_request_s[0] < line.per_request_s[2]
    assert line.bandwidth_limit_bytes_per_s == pytest.approx(2e9 * depth / 1, rel=0.02)
    assert line.crossing_bytes == pytest.approx(160e3, rel=0.03)


def test_sizes_beyond_the_calibrated_ones_are_marked_and_less_sure() -> None:
    (line,) = block_lines(drive(), use=[4 * KIB, 64 * KIB])
    assert line.extrapolated.tolist() == [False, False, False, True, True]
    width = np.log(line.high_per_s / line.low_per_s)
    assert width[4] > width[3] > width[1]
    assert "extrapolated" in str(line)


def test_repeats_that_differ_widen_the_bands_and_are_told() -> None:
    once = drive().points
    rng = np.random.default_rng(1)
    noisy = pd.concat([
        once.assign(repeat=r, throughput_per_s=once["throughput_per_s"] * (1 + 0.3 * rng.standard_normal(len(once))))
        for r in range(4)
    ])  # fmt: skip
    (line,), (sure,) = block_lines(Sweep(noisy)), block_lines(drive())
    assert sure.repeat_noise_pct is None
    assert "repeats" not in str(sure)
    assert line.repeat_noise_pct == pytest.approx(30, rel=0.5)
    assert f"repeats of one size differ by {line.repeat_noise_pct:.2g} %" in str(line)
    assert np.log(line.high_per_s / line.low_per_s)[-1] > 1.5 * np.log(sure.high_per_s / sure.low_per_s)[-1]


def sharper(alpha: float = 80e-6, beta: float = 1 / 2e9) -> Sweep:
    """A drive that is faster around 160 kB than the line, and the same at both ends: nearly the longer of two times."""
    return Sweep(drive().points.assign(throughput_per_s=1 / np.hypot(alpha, beta * SIZES)))


def test_bands_are_widest_between_the_ends_and_hold_what_is_sharper_there() -> None:
    (line,) = block_lines(sharper())
    width = np.log(line.high_per_s / line.low_per_s)
    assert width[2] == width.max()
    assert (width[[0, -1]] < width[2] / 3).all()
    assert np.abs(line.error_pct[1:4]).max() > 10
    assert ((line.low_per_s < line.observed_per_s) & (line.observed_per_s < line.high_per_s)).all()


def test_the_limits_beyond_the_sizes_are_as_unsure_as_the_line_is_between_them() -> None:
    (line,) = block_lines(drive())
    width = np.log(line.high_per_s / line.low_per_s)
    for limit in (line.per_request_s, line.per_byte_s):
        assert np.log(limit[2] / limit[1]) == pytest.approx(width[2], rel=0.3)


def test_a_third_size_mends_what_is_around_it_and_leaves_the_ends() -> None:
    (two,) = block_lines(sharper())
    (three,) = block_lines(sharper(), use=[4 * KIB, 256 * KIB, 1024 * KIB])
    assert np.abs(three.error_pct[[1, 2]]).sum() < np.abs(two.error_pct[[1, 2]]).sum()
    assert np.abs(three.error_pct[[0, 3, 4]]).max() < 2
    width = [np.log(line.high_per_s / line.low_per_s) for line in (two, three)]
    assert width[1][3] < 0.7 * width[0][3]


def test_published_drives_are_predicted_within_five_percent_at_the_median() -> None:
    errors, inside = [], []
    for name in ("004-ssd-block-size", "003-ssd-read"):
        for line in block_lines(load_dataset(name, corrected=True)):
            held = ~line.calibrated
            errors += np.abs(line.error_pct[held]).tolist()
            inside += ((line.low_per_s <= line.observed_per_s) & (line.observed_per_s <= line.high_per_s))[
                held
            ].tolist()
    assert len(errors) == 13
    assert np.median(errors) < 5
    assert np.mean(inside) > 0.75


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(DataError, match="tells no block sizes"):
        block_lines(load_dataset("001-memory"))
    with pytest.raises(DataError, match="has 4 KiB and 8 KiB at no depth"):
        block_lines(drive(), use=[4 * KIB, 8 * KIB])
    with pytest.raises(DataError, match="needs two sizes"):
        block_lines(drive(), use=[4 * KIB])
