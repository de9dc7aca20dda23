"""An objective for the mean: the heaviest load whose predicted mean response time stays within a time.

The load is where the predicted curve itself, with what it is expected to miss, meets the time. Its interval is that of
the same crossing on curves that the device may turn out to have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.even import even, normal_nodes
from calibrate.inference.parameters import Array
from calibrate.inference.weights import SPREAD
from calibrate.knees.curve_places import ends_of, first_reaching, load_at
from calibrate.knees.knee import Knee
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate.fitting.fitted import Fit

AXES = 4
"""The misfit along the curve varies mostly along so many axes."""


def objective_knee(fit: Fit, loads: Array, objective_s: float) -> Knee:
    """The knee by the objective; ``loads`` (m,) go from light to heavy. Its load is None where nothing meets it."""
    definition = f"mean response time within {format_duration(objective_s)}"
    low, high = ends_of(load_at(loads, first_reaching(_responses(fit, loads) / objective_s)), fit.level)
    times = fit.predict(loads).response_time_s
    beyond = np.flatnonzero(times > objective_s)
    if not len(beyond) or beyond[0] == 0:
        lightest = f"even at load {loads[0]:.3g} the response takes {format_duration(times[0])}"
        note = lightest if len(beyond) else "met at every load"
        return Knee(None, low, high, np.nan, np.nan, definition, fit.load_name, False, note)
    load = _crossing(fit, float(loads[beyond[0] - 1]), float(loads[beyond[0]]), objective_s)
    there = fit.predict([load])
    note = ""
    if fit.used and not fit.load_type.is_delay and load > max(fit.used):
        note = f"beyond the heaviest load calibrated on ({max(fit.used):g})"
    known = low is not None and high is not None and high / low < 2
    return Knee(
        load,
        None if low is None else min(low, load),
        None if high is None else max(high, load),
        float(there.throughput_per_s[0]),
        float(there.response_time_s[0]),
        definition,
        fit.load_name,
        known,
        note,
    )


def _crossing(fit: Fit, within: float, beyond: float, objective_s: float) -> float:
    """The load between these two at which the predicted response time is ``objective_s``."""
    from scipy.optimize import brentq

    def over(load: float) -> float:
        return float(np.log(fit.predict([load]).response_time_s[0] / objective_s))

    return float(brentq(over, within, beyond, rtol=1e-6))


def _responses(fit: Fit, loads: Array) -> Array:
    """Response times (w, m) that the device may turn out to have: the misses go together along the curve."""
    closed = fit.load_type.is_closed
    expected = fit.measurements(loads, "throughput" if closed else "response")
    steps = np.minimum(np.searchsorted(np.cumsum(expected.weight), even(SPREAD, 1)[:, 0]), len(expected.weight) - 1)
    left = expected.unexplained - fit.curve_model.process.own * fit.table.typical_misfit() ** 2 * np.eye(len(loads))
    values, vectors = np.linalg.eigh(left)
    first = np.argsort(values)[::-1][:AXES]
    axes = vectors[:, first] * np.sqrt(np.maximum(values[first], 0.0))
    z = normal_nodes(SPREAD, AXES + expected.slopes.shape[2])
    logs = expected.mean[steps] + z[:, :AXES] @ axes.T
    logs = logs + np.einsum("wmr,wr->wm", expected.slopes[steps], z[:, AXES:])
    return np.asarray(loads / np.exp(logs) if closed else np.exp(logs))
