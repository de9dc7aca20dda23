"""Quasi-random points: evenly spread, normal where they should be, and no point twice in the sequence."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.inference.weights import even, normal_nodes


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_each_box_holds_its_share_of_the_points(dimensions: int) -> None:
    points = even(2000, dimensions)
    assert ((points >= 0) & (points < 1)).all()
    for corner in ((0.3, 0.5), (0.7, 0.9), (0.5, 1.0)):
        inside = ((points >= corner[0]) & (points < corner[1])).all(axis=1).mean()
        assert inside == pytest.approx((corner[1] - corner[0]) ** dimensions, abs=0.01)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_normal_nodes_have_the_moments_of_the_normal_distribution(dimensions: int) -> None:
    z = normal_nodes(640, dimensions)
    assert np.abs(z.mean(axis=0)).max() < 0.04
    np.testing.assert_allclose(np.cov(z.T).reshape(dimensions, dimensions), np.eye(dimensions), atol=0.07)


def test_the_sequence_goes_on_where_it_ended() -> None:
    np.testing.assert_allclose(np.vstack([even(10, 2), even(20, 2, after=10)]), even(30, 2), atol=1e-12)
    assert len(np.unique(even(5000, 1).round(9))) == 5000
