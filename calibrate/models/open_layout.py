"""Which open model to calibrate where none is named: servers behind one queue, with a queue each, or that sleep.

Both have the same parameters, so the one that misses the points calibrated on less is taken; held-out points have no
say. One queue lets W stay at S until shortly before saturation, a queue each bends it from the first request on.
"""

from __future__ import annotations

from calibrate.models.open import MGc, MGcEach, OpenModel
from calibrate.models.open_setup import SleepingQueue, falls
from calibrate.points import Points

MARGIN = 2.0
"""A queue each must make the points more probable by a factor of e squared at least, else one queue it is."""


def usual_open(points: Points) -> OpenModel:
    """M/G/c with a queue each, or with setup, where the points (two or more) speak for it, else M/G/c."""
    each, one = (model.weights(points).log_evidence for model in (MGcEach, MGc))
    usual = MGcEach if each > one + MARGIN else MGc
    if not falls(points):
        return usual
    sleeping = SleepingQueue()
    return sleeping if sleeping.weights(points).log_evidence > max(each, one) + MARGIN else usual
