"""The figures of accuracy.md: how near adaptive sweeps come to full ones, on devices drawn at random.

python adaptive_accuracy.py            60 devices a row, five minutes; writes the table of the page
python adaptive_accuracy.py DEVICES    as many devices a row, printed only
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from calibrate import fit
from calibrate.next.adaptive import LOADS, AdaptiveResult, adaptive
from measure.sweep import Sweep
from qsim import Closed, Exponential, MMcN, Station, solve

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
DEVICES = 60
ROWS = (("as in theory", 0.01), ("as in theory", 0.03), ("as in theory", 0.06), ("with a jump in latency", 0.03))
BUDGET = len(LOADS) // 3
NEAR = 0.1
HEAD = (
    "| device | noise of a point | devices | points of 28, mean | most | knee off the full sweep's, median "
    "| 90 % of devices | within 10 % |",
    "|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Device:
    """A device by its exact curve: the throughput at each of LOADS, and what it is in words."""

    name: str
    throughput: dict[float, float]

    def sweep(self, loads: Sequence[float], noise: float, rng: np.random.Generator) -> Sweep:
        """These loads measured once each, with a relative error."""
        rows = []
        for load in loads:
            rate = self.throughput[load] * float(np.exp(noise * rng.standard_normal()))
            rows.append({"series": self.name, "load": load, "throughput_per_s": rate, "latency_s": load / rate})
        return Sweep(pd.DataFrame(rows))


@dataclass(frozen=True)
class Trial:
    """One device measured twice: adaptively, and over all loads."""

    device: Device
    noise: float
    full_knee: float
    adaptive: AdaptiveResult

    @property
    def off(self) -> float:
        """How far the adaptive knee is from the full sweep's, relative."""
        return abs(float(self.adaptive.knee.load or np.inf) / self.full_knee - 1)


def device(rng: np.random.Generator) -> Device:
    """One queue shared by c servers behind a delay, or k queues with requests routed at random; N* from 2 to 64."""
    crossing = float(np.exp(rng.uniform(np.log(2), np.log(64))))
    if rng.random() < 0.5:
        servers = max(1, int(np.exp(rng.uniform(0, np.log(crossing)))))
        think = 100e-6 * (crossing / servers - 1)
        curve = {float(n): solve(MMcN(n, think, 100e-6, servers)).throughput for n in LOADS}
        return Device(f"delay, {servers} servers", {n: float(x) for n, x in curve.items()})
    queues = round(crossing)
    stations = [Station(Exponential(mean=100e-6)) for _ in range(queues)]
    network = {float(n): solve(Closed(n, stations)).throughput for n in LOADS}
    return Device(f"{queues} queues", {n: float(x) for n, x in network.items()})


def with_jump(smooth: Device, rng: np.random.Generator) -> Device:
    """The same where a request takes 1.3 to 2.2 times as long between depths 2 and 4, up to the same peak."""
    factor = rng.uniform(1.3, 2.2)
    depths, rates = np.array(list(smooth.throughput)), np.array(list(smooth.throughput.values()))
    longer = 1 + (factor - 1) * np.clip((depths - 2) / 2, 0, 1)
    jumped = np.interp(depths / longer, depths, rates)  # R1 times a factor is the same curve of N over it
    return Device(f"{smooth.name}, a jump", {float(n): float(x) for n, x in zip(depths, jumped, strict=True)})


def trials(kind: str, noise: float, devices: int, seed: int = 1) -> Iterator[Trial]:
    """As many devices of a row's kind, each measured twice."""
    rng = np.random.default_rng(seed)
    for _ in range(devices):
        drawn = device(rng)
        yield trial(with_jump(drawn, rng) if kind.startswith("with a jump") else drawn, noise, rng)


def trial(tried: Device, noise: float, rng: np.random.Generator) -> Trial:
    """One device, measured twice, and both sweeps fitted by the same model."""
    full = tried.sweep(LOADS, noise, rng)
    measured: list[pd.DataFrame] = []

    def measure(load: float, _repeat: int) -> Sweep:
        measured.append(tried.sweep([load], noise, rng).points)
        return Sweep(pd.concat(measured))

    found = adaptive(measure, BUDGET)
    return Trial(tried, noise, float(fit(full, LOADS, model=found.fit.model).knee.load or np.nan), found)


def line(kind: str, noise: float, done: Sequence[Trial]) -> str:
    """A row of the table."""
    off, points = np.array([t.off for t in done]), np.array([len(t.adaptive.steps) for t in done])
    return (
        f"| {kind} | {100 * noise:g} % | {len(done)} | {points.mean():.1f} | {points.max()} "
        f"| {100 * np.median(off):.1f} % | {100 * np.quantile(off, 0.9):.1f} % | {100 * np.mean(off <= NEAR):.0f} % |"
    )


def table(devices: int) -> str:
    """The whole table."""
    return "\n".join([*HEAD, *(line(kind, noise, list(trials(kind, noise, devices))) for kind, noise in ROWS)])


if __name__ == "__main__":
    made = table(int(sys.argv[1]) if len(sys.argv) > 1 else DEVICES)
    sys.stdout.write(made + "\n")
    if len(sys.argv) == 1:
        page = PAGE.read_text("utf-8")
        PAGE.write_text(re.sub(re.escape(HEAD[0]) + r"\n(\|.*\n)+", lambda _: made + "\n", page), "utf-8")
