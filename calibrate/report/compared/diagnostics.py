"""What the misses at held-out points look like beside chance, in words: runs, neighbours, spread, influence.

The package of statistics is imported here alone, when a page is written.
"""

from __future__ import annotations

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison

LEAST = 8  # fewer points decide nothing
BY_CHANCE = 0.05
TINY = 1e-12  # less of the squares than this is rounding


def diagnosis(comparison: Comparison) -> str:
    """Sentences on the response times that were held out; "" for fewer than ``LEAST``."""
    missed = comparison.residual_response_pct
    known = comparison.held_out & np.isfinite(missed)
    load = comparison.points.load[known]
    order = np.argsort(load, kind="stable")
    return diagnosed(load[order], missed[known][order])


def diagnosed(load: Array, missed: Array) -> str:
    """The same of misses in percent, in the order of their loads.

    >>> diagnosed(np.arange(8.0), np.array([3.0, 4, 3, 2, 2, 3, 4, 3]))[:57]
    ' All held-out response times are missed on the same side.'
    """
    if len(missed) < LEAST or np.ptp(missed) == 0 or np.ptp(load) == 0:
        return ""
    return f" {_sides(missed)} {_neighbours(missed)} {_spread(load, missed)} {_influence(load, missed)}".rstrip()


def _sides(missed: Array) -> str:
    """By the runs test of Wald and Wolfowitz."""
    from statsmodels.sandbox.stats.runs import runstest_1samp

    if (missed >= 0).all() or (missed < 0).all():
        return "All held-out response times are missed on the same side."
    score, chance = runstest_1samp(missed, cutoff=0.0)
    if score < 0 and chance < BY_CHANCE:
        return f"Above and below stand in longer runs than by chance (p = {chance:.2g}): the curve has another shape."
    return f"Above and below take turns as by chance (runs test, p = {chance:.2g})."


def _neighbours(missed: Array) -> str:
    """By the statistic of Durbin and Watson, as an autocorrelation."""
    from statsmodels.stats.stattools import durbin_watson

    alike = 1 - float(durbin_watson(missed - missed.mean())) / 2
    beyond = alike > 2 / np.sqrt(len(missed))
    return f"Neighbouring loads are missed {'alike' if beyond else 'independently'} (autocorrelation {alike:.2f})."


def _spread(load: Array, missed: Array) -> str:
    from scipy.stats import spearmanr

    away = np.abs(missed - np.median(missed))
    found = spearmanr(load, away) if np.ptp(away) else None  # which has no ranks
    if found is None or found.pvalue >= BY_CHANCE:
        return "They spread no more at one end of the loads than at the other."
    return f"They spread more at the {'large' if found.statistic > 0 else 'small'} loads (p = {found.pvalue:.2g})."


def _influence(load: Array, missed: Array) -> str:
    """By Cook's distance from the line through the misses over the order of their loads, and Cook's own limit."""
    from scipy.special import fdtri
    from statsmodels.regression.linear_model import OLS

    place = np.unique(load, return_inverse=True)[1]
    line = OLS(missed, np.column_stack([np.ones(len(load)), place])).fit()
    if line.ssr < TINY * np.sum(missed**2):
        return ""
    distance = line.get_influence().cooks_distance[0]
    most = int(np.argmax(distance))
    if distance[most] < fdtri(2, len(load) - 2, 0.5):
        return f"No single miss decides how they run over the loads (Cook's distance at most {distance[most]:.2g})."
    return f"How they run over the loads hangs on one, at {load[most]:g} (Cook's distance {distance[most]:.2g})."
