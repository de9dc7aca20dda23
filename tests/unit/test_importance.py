"""Draws of several mixtures are weighed as if of all of them, so that none can hide what it leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.importance import Proposals, agree, anywhere
from calibrate.log_posterior import MOST_ERROR, ErrorPrior, LogPosterior, Parameter
from calibrate.t_mixture import TMixture, effective

TWO_PEAKS = np.array([-6.0, 6.0])


def density(points: np.ndarray) -> np.ndarray:
    """Two normal peaks of one share each, of unit integral together."""
    return np.logaddexp.reduce(-0.5 * (points - TWO_PEAKS) ** 2, axis=1) - np.log(2 * np.sqrt(2 * np.pi))


def at(centre: float, width: float) -> TMixture:
    return TMixture(np.ones(1), np.array([[centre]]), np.array([[[width]]]))


def test_a_mixture_about_one_of_two_peaks_is_found_out() -> None:
    """By itself it is worth nearly all of its draws, and the integral is half of what it is."""
    rng = np.random.default_rng(0)
    made = Proposals(density)  # type: ignore[arg-type]
    made.add(at(0.0, 8.0), 1000, rng)
    alone = made.add(at(6.0, 1.1), 3000, rng)
    assert effective(alone) > 2000
    assert np.exp(alone).mean() == pytest.approx(0.5, abs=0.03)
    points, together = made.weighed()
    assert np.exp(together).mean() == pytest.approx(1.0, abs=0.1)
    assert (np.exp(together) * (points[:, 0] < 0)).sum() / np.exp(together).sum() == pytest.approx(0.5, abs=0.1)
    assert not agree(alone, together, 100)


def test_proposals_that_cover_all_agree() -> None:
    rng = np.random.default_rng(0)
    made = Proposals(density)  # type: ignore[arg-type]
    made.add(at(0.0, 8.0), 1000, rng)
    both = TMixture(np.array([0.5, 0.5]), TWO_PEAKS[:, None], np.full((2, 1, 1), 1.1))
    alone = made.add(both, 3000, rng)
    assert agree(alone, made.weighed()[1], 400)
    assert not agree(alone, made.weighed()[1], 3900)  # worth less than that


def test_anywhere_is_as_wide_as_priors_and_bounds_allow() -> None:
    target = LogPosterior.of(
        [Parameter("a", "", 1.0, 1e6), Parameter("b", "", 1e-9, 1e9, 2.0, 0.5)], np.log, np.zeros(2), np.zeros(2),
        ErrorPrior(0.05), None,
    )  # fmt: skip
    drawn = anywhere(target).draw(np.random.default_rng(0), 4000)
    assert np.median(drawn, axis=0) == pytest.approx([np.log(1e3), np.log(2.0), np.log(0.05)], abs=0.3)
    assert ((drawn[:, 0] > target.low[0]) & (drawn[:, 0] < target.high[0])).mean() > 0.7
    assert np.diff(np.percentile(drawn[:, 1], [25, 75])) == pytest.approx(2 * 0.727 * 0.5, rel=0.1)  # quartiles of t5
    assert (np.abs(drawn[:, 2] - np.log(0.05)) > MOST_ERROR / 2).mean() > 0.1
