"""Which open model to calibrate where none is named: servers behind one queue, or with a queue each.

Both have the same parameters, so the one that misses the points calibrated on less is taken; held-out points have no
say. One queue lets W stay at S until shortly before saturation, a queue each bends it from the first request on.
"""

from __future__ import annotations

import numpy as np

from calibrate.open_models import SCV_LOG_SD, MGc, MGcEach, OpenModel
from calibrate.points import Points
from calibrate.posterior import most_probable

MARGIN = 2.0
"""By how much less chi-square a queue each must miss by: below a factor of e in likelihood, one queue it is."""


def usual_open(points: Points) -> OpenModel:
    """M/G/c with a queue each where the points (two or more) speak for it, else M/G/c."""
    return MGcEach if _missed(points, MGcEach) < _missed(points, MGc) - MARGIN else MGc


def _missed(points: Points, model: OpenModel) -> float:
    """Chi-square of the most probable parameters, the prior of the service's variation included."""
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    parameters, noise = model.parameters(load, throughput, response), points.noise(1)

    mode = most_probable(
        parameters, model.start(load, throughput, response), lambda values: model.predicted(values, load),
        np.log(response), noise, model.error_prior,
    )  # fmt: skip
    missed = model.predicted(mode[None, :], load)[0] - np.log(response)
    misses = missed**2 / (model.error_prior.median**2 + noise**2)
    scv = model.report(mode[None, :])["scv"][1][0]
    return float(misses.sum() + (np.log(scv) / SCV_LOG_SD) ** 2)
