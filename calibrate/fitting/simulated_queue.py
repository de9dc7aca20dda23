"""A calibrated device at work: a closed queue simulated by the compiled engine, with a fixed seed.

Everything that simulates a device does it here: the queue of a fit for the report, and the structures of
:mod:`calibrate.tails`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrate.fitting.station import queue_of
from calibrate.inference.parameters import Array
from calibrate.models.calibration import Calibration
from qsim import Metrics, Network, simulate

CUSTOMERS = 60_000
DEEPEST = 1024
"""Deeper queues are not simulated: all present share the device, and each event would move every one of them."""
SHARES = (0.5, 0.99)


@dataclass(frozen=True)
class SimulatedQueue:
    """At each load (m,): the throughput with its interval (3, m), the mean response and its percentiles (2, m)."""

    load: Array
    throughput_per_s: Array
    response_s: Array
    percentiles_s: Array


def run_queue(queue: Network, customers: int = CUSTOMERS, seed: int = 0) -> Metrics:
    """What a closed ``queue`` does."""
    return simulate(queue, customers=customers, seed=seed, engine="compiled", allow_short=True)


def simulated_queue(fit: Calibration, loads: Sequence[float] | Array, seed: int = 0) -> SimulatedQueue:
    """The queue of ``fit`` at those of ``loads`` that are whole and not too deep.

    They may lie beyond what its station covers: where something was measured, the two can be compared.

    >>> from calibrate import from_datasheet
    >>> found = simulated_queue(from_datasheet(idle_latency=80e-6, peak_iops=600e3), [1, 16, 4096])
    >>> found.load.tolist(), bool(found.throughput_per_s[1, 1] < found.throughput_per_s[0, 1])
    ([1.0, 16.0], True)
    """
    kept = [float(n) for n in loads if n == int(n) and 1 <= n <= DEEPEST]
    deepest = queue_of(fit, int(max(kept)), extrapolate=True) if kept else None
    runs = [run_queue(deepest.with_population(int(n)), seed=seed) for n in kept] if deepest else []
    ends = [(float(m.throughput), *m.interval("throughput")) for m in runs]
    return SimulatedQueue(
        np.array(kept),
        np.array(ends).reshape(-1, 3).T,
        np.array([float(m.W) for m in runs]),
        np.array([[float(m.quantile(share)) for share in SHARES] for m in runs]).reshape(-1, len(SHARES)).T,
    )
