"""The most probable p-norm of a few depths: from three on it shares the prediction with the default model.

The default model's median is one of sharp and soft knees, with and without an onset. The single p-norm that is most
probable is as near where nobody tuned; a mean of the two, in logarithms, is nearer than either (the rows of
accuracy.md; Bates and Granger, "The combination of forecasts", Operational Research Quarterly 1969). From two depths it
does not help, nor where the spread of latencies tells how sharp the knee is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrate.inference.linearised import most_probable
from calibrate.inference.parameters import Array, Observed, Parameter
from calibrate.inference.weights import Known
from calibrate.models.closed_models import MOST_SHARPNESS, SHARPNESS_LOG_SD, SHARPNESS_MEDIAN, PNorm, sharpness_told_by
from calibrate.models.curves import CurveModel
from calibrate.points import Points
from measure.loads import Depth

PLAIN = "most probable p-norm"
"""The key in a fit's details of N*, Xmax and p."""

SHARED = "; the most probable p-norm without an onset has a third of the weight"
"""What a fit with it assumes besides."""

FROM = 3
"""The fewest depths of which it is found."""

MISSED = 0.05
"""The relative standard deviation of a measurement around it."""

LEAST = 0.05
"""Of N* and p: where a lone request finds a device asleep, the curve that follows the points needs no N* of one."""

WEAK_LOG_SD = 2.0
"""Log standard deviation of N* and Xmax around those of the two asymptotes through the points."""

SHARE = 1 / 3
"""Its part in the prediction. Of public drives half would do as well; queues of few servers are missed by less with a
third, as their knee is sharper than any that is probable (tests/unit/calibrate/fitting/test_known_devices.py)."""


def plain_p_norm(points: Points) -> tuple[float, ...] | None:
    """N*, Xmax and p of the most probable p-norm; None where it does not help."""
    loads, throughput = points.load, points.throughput_per_s
    plain = isinstance(points.load_type, Depth) and not points.also
    if not plain or len(np.unique(loads)) < FROM or sharpness_told_by(points) is not None:
        return None
    model = PNorm()
    crossing, peak, _ = model.parameters(loads, throughput, points.response_time_s)
    known = (
        replace(crossing, low=LEAST, prior_log_sd=WEAK_LOG_SD),
        replace(peak, prior_median=float(throughput.max()), prior_log_sd=WEAK_LOG_SD),
        Parameter("p", "", LEAST, MOST_SHARPNESS, SHARPNESS_MEDIAN, SHARPNESS_LOG_SD),
    )
    observed = Observed(loads, np.log(throughput), np.full(len(loads), MISSED))
    return tuple(most_probable(known, lambda values: model.log_throughput(values, loads), observed).tolist())


def plain_over(model: CurveModel, values: Array, known: Known, loads: Array, middle: Array) -> Array:
    """Logarithms (m,) of the plain ``model`` with ``values`` over predictions at ``loads`` whose means are ``middle``.

    What the plain model misses at the known points is carried to the loads.
    """
    at = np.concatenate([known.used, loads])
    there, k = np.log(model.curve(values[None], at)[0][0]), len(known.used)
    gain = known.carried(np.array([MISSED]), loads)[0][0]
    return np.asarray(there[k:] + gain @ (np.log(known.observed) - there[:k]) - middle)
