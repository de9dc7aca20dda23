"""Adaptive sweeps against fixed depths, on devices drawn at random: a table of accuracy-tables.md.

python adaptive_accuracy.py [DEVICES]    as many devices a row (20), some minutes

Half of the devices are a delay and one queue before c servers, half k queues with requests routed at random, with N*
from 2 to 64. Each point is measured once, with a relative error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from calibrate import fit
from calibrate.next import DEPTHS, PAIR, next_depth
from measure.sweep import Sweep
from qsim import Closed, Exponential, MMcN, Station, solve

MOST = 9
NOISE = (0.01, 0.03, 0.06)
FIXED = {
    "six fixed: 1, 4, 16, 32, 64, 256": (1, 4, 16, 32, 64, 256),
    "doublings 1 to 256": tuple(2**k for k in range(9)),
    "all 28": DEPTHS,
}
HEAD = "| noise of a point | depths | points, mean | N* off, median | 90 % of devices |\n|---|---|---:|---:|---:|"


class Device:
    """A device by its exact curve, which is measured with a relative error."""

    def __init__(self, rng: np.random.Generator) -> None:
        crossing = float(np.exp(rng.uniform(np.log(2), np.log(64))))
        if rng.random() < 0.5:
            servers = max(1, int(np.exp(rng.uniform(0, np.log(crossing)))))
            think = 100e-6 * (crossing / servers - 1)
            curve = [solve(MMcN(n, think, 100e-6, servers)).throughput for n in DEPTHS]
        else:
            stations = [Station(Exponential(mean=100e-6))] * round(crossing)
            curve = [solve(Closed(n, stations)).throughput for n in DEPTHS]
        self.throughput = dict(zip(DEPTHS, curve, strict=True))
        self.knee = max(curve) / curve[0]

    def sweep(self, depths: Sequence[float], noise: float, rng: np.random.Generator) -> Sweep:
        """These depths, once each."""
        rates = np.array([self.throughput[int(n)] for n in depths]) * np.exp(noise * rng.standard_normal(len(depths)))
        columns = {"load": np.array(depths, dtype=float), "throughput_per_s": rates, "latency_s": depths / rates}
        return Sweep(pd.DataFrame(columns).assign(series="drawn"))


def searched(device: Device, noise: float, rng: np.random.Generator) -> Sweep:
    """What an adaptive sweep measures of it."""
    sweep = device.sweep(PAIR, noise, rng)
    while (depth := next_depth(sweep, MOST)) is not None:
        points = [sweep.points, device.sweep([depth], noise, rng).points]
        sweep = Sweep(pd.concat(points, ignore_index=True))
    return sweep


def off(device: Device, sweep: Sweep) -> float:
    """How far the knee of all points is from the truth, relative."""
    return abs(float(fit(sweep).knee.load or np.inf) / device.knee - 1)


def trials(noise: float, devices: int, seed: int = 7) -> Iterator[dict[str, tuple[int, float]]]:
    """For each device and way to choose depths, the number of points and how far the knee is off."""
    rng = np.random.default_rng(seed)
    for _ in range(devices):
        device = Device(rng)
        sweeps = {"adaptive": searched(device, noise, rng)}
        sweeps |= {name: device.sweep(depths, noise, rng) for name, depths in FIXED.items()}
        yield {name: (len(sweep.points), off(device, sweep)) for name, sweep in sweeps.items()}


def rows(noise: float, devices: int) -> Iterator[str]:
    """The rows of the table for one noise."""
    found = list(trials(noise, devices))
    for name in found[0]:
        points, errors = np.array([trial[name] for trial in found]).T
        middle, most = 100 * np.median(errors), 100 * np.quantile(errors, 0.9)
        yield f"| {100 * noise:g} % | {name} | {points.mean():.1f} | {middle:.1f} % | {most:.1f} % |"


if __name__ == "__main__":
    print(HEAD)
    for level in NOISE:
        for line in rows(level, int(sys.argv[1]) if len(sys.argv) > 1 else 20):
            print(line, flush=True)
