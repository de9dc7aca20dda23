"""Simulates the queue of a calibrated device with a fixed seed.

In the loop of ``fit.queue(n)`` all n requests are always at the station, which gives each an nth of the rate X(n). Each
is then a renewal process: its responses are draws of the law of service, with the mean n / X(n), which numpy draws at
once. The structures of :mod:`calibrate.tails` have several stations and run on the compiled engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrate.fitting.predicted_curve import Prediction
from calibrate.fitting.station import law_of
from calibrate.inference.parameters import Array
from calibrate.models.calibration import Calibration

CUSTOMERS = 60_000
"""Requests simulated at each load."""
SHARES = (0.5, 0.99)
Z95 = 1.96
"""Half the width of a 95 % interval, in standard errors."""


@dataclass(frozen=True)
class SimulatedQueue:
    """At each load (m,): the rate on the curve, the simulated one with its interval (3, m), the mean response and its
    percentiles (2, m); ``law`` says where the service is from.
    """

    load: Array
    predicted_per_s: Array
    throughput_per_s: Array
    response_s: Array
    percentiles_s: Array
    law: str


def simulated_queue(fit: Calibration, curve: Prediction, seed: int = 0) -> SimulatedQueue:
    """The simulated queue of ``fit`` at the whole loads from 1 on of its predicted ``curve``; there may be none.

    They may lie beyond the loads that its station covers, to compare with measurements there.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> found = simulated_queue(drive, drive.predict([1, 16, 16.5]))
    >>> found.load.tolist(), bool(found.throughput_per_s[1, 1] < found.throughput_per_s[0, 1])
    ([1.0, 16.0], True)
    """
    whole = (curve.load == np.floor(curve.load)) & (curve.load >= 1)
    load, predicted = curve.load[whole], curve.throughput_per_s[whole]
    law, origin = law_of(fit, 1.0)
    rng = np.random.default_rng(seed)
    shape = np.array([law.sample(rng, CUSTOMERS) for _ in load]).reshape(len(load), CUSTOMERS)
    mean, half = shape.mean(axis=1), Z95 * shape.std(axis=1) / math.sqrt(CUSTOMERS)
    return SimulatedQueue(
        load,
        predicted,
        predicted / np.array([mean, mean + half, mean - half]),
        mean * load / predicted,
        np.quantile(shape, SHARES, axis=1) * load / predicted,
        origin,
    )
