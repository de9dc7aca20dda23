"""What the spread of latencies adds to a prediction: a table of accuracy-tables.md.

python spread_accuracy.py DIR...       directories of one drive's fio JSON, or of other files that tell sd or p99

The default model with the spread, the same without it, and a p-norm of ten lines, calibrated on the same depths and
judged by the others. The rule's four coefficients were learned once, from 78 sweeps, and are not fitted here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from accuracy import PAIRS, TRIPLES, judged
from accuracy_devices import Device, held_share, read_devices
from numpy.typing import NDArray

from calibrate import Points, predict
from calibrate.fitting.calibrating import fit_points
from calibrate.models.choice import model_for
from calibrate.prediction.baselines import BASELINES

Array = NDArray[np.float64]
METHODS = ("p-norm, most probable", "without the spread", "with the spread")


def tells(device: Device) -> bool:
    """Whether the deepest latencies have a known spread."""
    points = device.points
    return any(v is not None and np.isfinite(v[-1]) for v in (points.closed.latency_cv, points.closed.latency_p99))


def predicted(points: Points, loads: Array, method: str) -> tuple[Array, Array, Array]:
    """The throughputs (m,) at ``loads``, and the ends of their 90 % bands."""
    if method == METHODS[0]:
        x = BASELINES["queue_depth"][method](points.load, points.throughput_per_s, points.response_time_s, loads)[0]
        return x, x, x
    chosen = points if method == METHODS[2] else replace(points, latency_cv=None, latency_p99=None)
    curve = predict(fit_points(chosen, model_for(chosen, None)), loads)
    return curve.throughput_per_s, curve.throughput_low_per_s, curve.throughput_high_per_s


def figures(devices: Sequence[Device], use: Sequence[float], method: str) -> str:
    """Point median / median of devices / p90 of the errors in percent, and the share inside the bands."""
    errors, inside = [], []
    for device, used in judged(devices, use):
        rest = device.points.at(~device.points.mask(used))
        x, low, high = predicted(device.points.choose(used), rest.load, method)
        errors.append(100 * np.abs(x / rest.throughput_per_s - 1))
        inside.append((low <= rest.throughput_per_s) & (rest.throughput_per_s <= high))
    every = np.concatenate(errors)
    shown = f"{np.median(every):.1f} / {np.median([np.median(e) for e in errors]):.1f} / {np.percentile(every, 90):.0f}"
    return shown if method == METHODS[0] else f"{shown}, {held_share(inside)}"


def table(devices: Sequence[Device]) -> str:
    """A row for each method, a column for each choice of depths."""
    uses = (*PAIRS, *TRIPLES)
    columns = [f"depths {', '.join(f'{n:g}' for n in use)}" for use in uses]
    head = ["median / of sweeps / p90 error, %; in band", *columns]
    rows = [[method, *(figures(devices, use, method) for use in uses)] for method in METHODS]
    lines = [head, ["---"] + ["---:"] * len(uses), *rows]
    return f"{len(devices)} sweeps\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    found = [d for folder in sys.argv[1:] for d in read_devices(Path(folder)) if tells(d)]
    sys.stdout.write(table(found) if found else "no sweep here tells the spread of its latencies\n")
