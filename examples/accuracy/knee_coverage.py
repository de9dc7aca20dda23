"""How often the 90 % intervals of a fit hold the truth: idle latency, peak, N* and N90 of ten kinds of device.

python knee_coverage.py            6 devices of each kind, number of loads and noise; writes the table of accuracy.md
python knee_coverage.py DEVICES    as many, printed only

Every sweep is another run of its device, which moves all its figures together (2.4 % on local drives, as
between_runs.py finds); the truth is the device's, not the run's. Devices of the last column miss their curve besides,
by what a fit expects of a device before any point; their truth is that of the curve. interval_parts.py says what of a
fit makes the intervals as wide as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from on_page import write_table

from calibrate import Fit, fit
from calibrate.fitting.fit_answer import figure_word, knee_word
from calibrate.models.curves import CLOSED_MISFIT, CLOSED_PROCESS
from measure import Sweep
from qsim import Closed, Delay, LogNormal, Station, simulate

DEVICES = 6
RUN = 0.024
"""The relative standard deviation of a device between runs."""
Array = NDArray[np.float64]
Random = np.random.Generator

LOADS: Mapping[int, Sequence[float]] = MappingProxyType(
    {
        2: (1, 32),
        3: (1, 8, 64),
        4: (1, 4, 16, 64),
        5: (1, 4, 16, 32, 64),
        7: (1, 2, 4, 8, 16, 32, 64),
        9: (1, 2, 4, 8, 16, 32, 64, 128, 256),
    }
)
NOISES = (0.0, 0.02, 0.05, 0.1)
COUNTED = 400
"""Requests of a short run, whose number and spread are known: an error of 5 %."""
EVERY = np.unique(np.concatenate([2.0 ** np.arange(13), np.rint(np.geomspace(1, 4096, 400))]))
READINGS = ("N*", "N90", "peak", "R1")
FEW_REQUESTS = "few requests"
MISSING = "{} and misses"
"""The column of devices that miss their curve."""
MISSING_NOISE = 0.05
TIE = 1e-6


class Case(NamedTuple):
    """Devices of one kind at one number of loads with one noise; ``counted``: of a known number of requests."""

    kind: str
    loads: int
    noise: float
    counted: bool = False
    misses: bool = False

    @property
    def column(self) -> str:
        """The column of the table."""
        noise = FEW_REQUESTS if self.counted else f"{100 * self.noise:g} %"
        return MISSING.format(noise) if self.misses else noise

    def random(self) -> Random:
        """Random numbers of its own."""
        seeds = sum(map(ord, self.kind)), self.loads, round(1000 * self.noise), self.counted + 2 * self.misses
        return np.random.default_rng(seeds)

    def measured(self, random: Random) -> tuple[Device, Sweep]:
        """A device, of which the readings are the truth, and a sweep of it."""
        device = Device(KINDS[self.kind](random))
        seen, noise = missing(device, random) if self.misses else (device, 0.0)
        noise = float(np.hypot(noise, self.noise))
        return device, measured(seen, LOADS[self.loads], noise, random, counted=self.counted)


@dataclass(frozen=True)
class Device:
    """A device whose throughput is known at every load of ``EVERY``, relative to a peak of 1."""

    throughput: Array

    @property
    def peak(self) -> float:
        """The highest throughput."""
        return float(self.throughput.max())

    @property
    def truth(self) -> tuple[float, ...]:
        """The values of ``READINGS``."""
        idle = 1 / float(self.throughput[0])
        at = int(np.argmax(self.throughput >= 0.9 * self.peak))
        ends = np.log(self.throughput[at - 1 : at + 1]), np.log(EVERY[at - 1 : at + 1])
        ninety = float(np.exp(np.interp(np.log(0.9 * self.peak), *ends))) if at else 1.0
        return max(idle * self.peak, 1.0), ninety, self.peak, idle


def bounds(crossing: float) -> Array:
    """Constant services: no request waits before the peak."""
    return np.minimum(EVERY / crossing, 1.0)


def p_norm(crossing: float, sharpness: float, onset: float = 1.0, falls: float = np.inf) -> Array:
    """The p-norm of the asymptotes N / N*, 1 and ``falls`` / N, with an onset of the first."""
    lone = np.log(EVERY / crossing) - np.log(onset) * EVERY**-2.0
    fall = sharpness * (np.log(EVERY) - np.log(falls))
    return np.exp(-np.logaddexp(np.logaddexp(0.0, -sharpness * lone), fall) / sharpness)


def servers_and_delay(servers: int, delay: float) -> Array:
    """Exponential servers with a service of 1 s, and a host delay: the chain of the number at the servers."""
    found = []
    for n in EVERY[EVERY <= 1024]:
        k = np.arange(1, n + 1)
        steps = np.log(n - k + 1) - np.log(max(delay, 1e-9)) - np.log(np.minimum(k, servers))
        logs = np.concatenate([[0.0], np.cumsum(steps)])
        weight = np.exp(logs - logs.max())
        found.append(weight @ np.minimum(np.arange(n + 1), servers) / weight.sum())
    return np.array([*found, *np.full((EVERY > 1024).sum(), servers)]) / servers


def spread_services(servers: int, delay: float, seed: int) -> Array:
    """The same of lognormal services with a squared coefficient of variation of 4, simulated."""
    known = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128.0])
    rates = [
        simulate(
            Closed(int(n), [Delay(delay), Station(LogNormal(1.0, 4.0), servers)]),
            customers=200_000,
            seed=seed,
            allow_short=True,
        ).throughput
        for n in known
    ]
    rates[0] = 1 / (1 + delay)
    return np.minimum(np.interp(np.log(EVERY), np.log(known), np.array(rates) / servers), 1.0)


def balanced(stations: int) -> Array:
    """Exponential stations of equal demand in a loop: X = N / (N + stations - 1), relative to the peak."""
    return EVERY / (EVERY + stations - 1)


KINDS: Mapping[str, Callable[[Random], Array]] = MappingProxyType(
    {
        "M/M/c": lambda r: bounds(float(r.integers(1, 17))),
        "M/M/c, host delay": lambda r: servers_and_delay(int(r.integers(1, 9)), float(r.uniform(0.2, 3))),
        "M/D/c, host delay": lambda r: bounds(float(r.uniform(1.2, 20))),
        "M/G/c, host delay": lambda r: spread_services(
            int(r.integers(1, 5)), float(r.uniform(0.5, 2)), int(r.integers(9))
        ),
        "balanced stations": lambda r: balanced(int(r.integers(2, 13))),
        "p-norm, soft": lambda r: p_norm(float(r.uniform(2, 16)), float(r.uniform(1, 1.8))),
        "p-norm, usual": lambda r: p_norm(float(r.uniform(2, 24)), float(r.uniform(1.8, 4))),
        "p-norm, sharp": lambda r: p_norm(float(r.uniform(2, 24)), float(r.uniform(4, 20))),
        "onset": lambda r: p_norm(
            float(r.uniform(4, 16)), float(r.uniform(1.8, 6)), float(r.choice([0.6, 0.75, 1.3, 1.6]))
        ),
        "decline": lambda r: p_norm(float(r.uniform(2, 10)), float(r.uniform(1.5, 4)), 1.0, float(r.uniform(20, 200))),
    }
)


@cache
def _missed_together() -> Array:
    """A factor of the covariance of what a device of size 1 misses at each load of ``EVERY``, as one with another."""
    return np.linalg.cholesky(CLOSED_PROCESS.between(EVERY, EVERY) + TIE * np.eye(len(EVERY)))


def missing(device: Device, random: Random) -> tuple[Device, float]:
    """A device that misses the curve of ``device``, drawn from the prior of fits, and what each point misses alone."""
    sizes, log_probability = CLOSED_MISFIT.sizes()
    probability = np.exp(log_probability)
    size = float(random.choice(sizes, p=probability / probability.sum()))
    missed = size * _missed_together() @ random.standard_normal(len(EVERY))
    return Device(device.throughput * np.exp(missed)), size * CLOSED_PROCESS.own**0.5


def measured(device: Device, loads: Sequence[float], noise: float, random: Random, *, counted: bool = False) -> Sweep:
    """A sweep of single runs with a relative ``noise`` of the throughput; ``counted``: with the number of requests."""
    load = np.array(loads, dtype=float)
    rates = device.throughput[np.searchsorted(EVERY, load)] * 1e4
    if counted:
        rates = rates * random.poisson(COUNTED, len(load)) / COUNTED
    rates = rates * np.exp(RUN * random.standard_normal() + noise * random.standard_normal(len(load)))
    table = {"series": "curve", "load": load, "throughput_per_s": rates, "latency_s": load / rates}
    if counted:
        table |= {"requests": COUNTED, "latency_sd_s": load / rates}
    return Sweep(pd.DataFrame(table), name="curve")


def readings(made: Fit) -> list[tuple[float, float, float, str]]:
    """Estimate, low, high and word of each of ``READINGS``."""
    found = [(k.load, k.low, k.high, knee_word(made, k)) for k in (made.knee, made.ninety)]
    for name in ("Xmax", "R1"):
        e = made.curve_parameters[name]
        found.append((e.estimate, e.low, e.high, figure_word(made, name, e)))
    return [(m or np.nan, low or 0.0, high or np.inf, word) for m, low, high, word in found]


def judged(case: Case, device: Device, made: Fit) -> list[dict[str, object]]:
    """A row for each reading of a fit: whether its interval holds the truth, its width, whether it is sure."""
    crossing, ninety, peak, idle = device.truth
    rows = []
    truth = (crossing, ninety, 1e4 * peak, 1e-4 * idle)
    for what, true, (estimate, low, high, word) in zip(READINGS, truth, readings(made), strict=True):
        inside = low * (1 - TIE) <= true <= high * (1 + TIE)
        row = {"kind": case.kind, "loads": case.loads, "noise": case.column, "what": what, "inside": 100.0 * inside}
        rows.append({**row, "missed": abs(estimate / true - 1), "width": high / low, "sure": word == "sure"})
    return rows


def held(case: Case, devices: int) -> pd.DataFrame:
    """The rows of so many devices of a case."""
    random = case.random()
    rows = []
    for _ in range(devices):
        device, sweep = case.measured(random)
        rows += judged(case, device, fit(sweep))
    return pd.DataFrame(rows)


def study(devices: int) -> pd.DataFrame:
    """``held`` for all kinds, loads and noises."""
    every = [(k, n) for k in KINDS for n in LOADS]
    cases = [Case(k, n, s) for k, n in every for s in NOISES]
    cases += [Case(k, n, 0.0, counted=True) for k, n in every]
    cases += [Case(k, n, MISSING_NOISE, misses=True) for k, n in every]
    with ProcessPoolExecutor() as pool:
        return pd.concat(pool.map(partial(held, devices=devices), cases, chunksize=4), ignore_index=True)


def table_rows(found: pd.DataFrame) -> Iterator[str]:
    """A row for each reading: the share held, and of those that are sure; then the least of any kind, any loads."""
    columns = list(dict.fromkeys(found["noise"]))
    yield f"| held, % (of those called sure) | {' | '.join(columns)} |"
    yield f"|---|{'---:|' * len(columns)}"
    for what in READINGS:
        own = found[found["what"] == what]
        cells = [(one["inside"].mean(), one[one["sure"]]["inside"].mean()) for one in _by(own, columns)]
        yield f"| {what} | {' | '.join(f'{share:.0f} ({_text(sure)})' for share, sure in cells)} |"
    for what in ("kind", "loads"):
        least = [one.groupby([what, "what"])["inside"].mean().min() for one in _by(found, columns)]
        label = "the least of any kind of device" if what == "kind" else "the least of any number of loads"
        yield f"| {label} | {' | '.join(f'{share:.0f}' for share in least)} |"
    for what in READINGS:
        own = found[found["what"] == what]
        cells = [(100 * one["missed"].median(), one["width"].median()) for one in _by(own, columns)]
        texts = (f"{missed:.2g} %, {width:.2g}" for missed, width in cells)
        yield f"| {what}: median error, high / low | {' | '.join(texts)} |"


def _by(found: pd.DataFrame, columns: Sequence[str]) -> list[pd.DataFrame]:
    return [found[found["noise"] == column] for column in columns]


def _text(share: float) -> str:
    return "none" if np.isnan(share) else f"{share:.0f}"


def main(arguments: Sequence[str]) -> None:
    """Print the table, and write it to the page where nothing else was asked for."""
    lines = list(table_rows(study(int(arguments[0]) if arguments else DEVICES)))
    sys.stdout.write("\n".join([*lines, ""]))
    if not arguments:
        write_table("accuracy.md", "coverage of readings", "\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
