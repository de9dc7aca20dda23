"""How often the 90 % intervals of a fit hold the truth: idle latency, peak, N* and N90 of ten kinds of device.

python knee_coverage.py            6 devices of each kind, number of loads and noise; writes the table of accuracy.md
python knee_coverage.py DEVICES    as many, printed only

Every sweep is another run of its device, which moves all its figures together (2.4 % on local drives, as
between_runs.py finds); the truth is the device's, not the run's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from on_page import write_table

from calibrate import Fit, fit
from calibrate.fitting.fit_answer import figure_word, knee_word
from measure import Sweep
from qsim import Closed, Delay, LogNormal, Station, simulate

DEVICES = 6
RUN = 0.024
"""The relative standard deviation of a device between runs."""
Array = NDArray[np.float64]

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
TIE = 1e-6


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


Random = np.random.Generator
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


def held(case: tuple[str, int, float, bool], devices: int) -> pd.DataFrame:
    """A row for each reading of each device: whether its interval holds the truth, its width, whether it is sure."""
    name, loads, noise, counted = case
    random = np.random.default_rng([sum(map(ord, name)), loads, round(1000 * noise), counted])
    rows = []
    for _ in range(devices):
        device = Device(KINDS[name](random))
        made = fit(measured(device, LOADS[loads], noise, random, counted=counted))
        crossing, ninety, peak, idle = device.truth
        truth = (crossing, ninety, 1e4 * peak, 1e-4 * idle)
        for what, true, (estimate, low, high, word) in zip(READINGS, truth, readings(made), strict=True):
            inside = low * (1 - TIE) <= true <= high * (1 + TIE)
            column = FEW_REQUESTS if counted else f"{100 * noise:g} %"
            row = {"kind": name, "loads": loads, "noise": column, "what": what, "inside": 100.0 * inside}
            rows.append({**row, "missed": abs(estimate / true - 1), "width": high / low, "sure": word == "sure"})
    return pd.DataFrame(rows)


def study(devices: int) -> pd.DataFrame:
    """``held`` for all kinds, loads and noises."""
    cases = [(k, n, s, False) for k in KINDS for n in LOADS for s in NOISES]
    cases += [(k, n, 0.0, True) for k in KINDS for n in LOADS]
    with ProcessPoolExecutor() as pool:
        return pd.concat(pool.map(partial(held, devices=devices), cases, chunksize=4), ignore_index=True)


def table_rows(found: pd.DataFrame) -> Iterator[str]:
    """A row for each reading: the share held, and of those that are sure; then the least of any kind, any loads."""
    columns = [*(f"{100 * s:g} %" for s in NOISES), FEW_REQUESTS]
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
