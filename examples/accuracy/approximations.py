"""How far the approximations of qsim are off: random queues, each solved and simulated.

    python examples/accuracy/approximations.py

prints the table of docs/theory, whose median and worst errors qsim/analytic/open/approximations.py quotes.

The queues are drawn with a fixed seed: gamma, lognormal and two-point times of scv 0.02 to 4, which is from almost
constant to heavy, loads of 0.5 to 0.9, 1 to 8 servers. Simulated values are known to 0.3 % or so, which is part of each
error. P(wait) is off by points, not by percent.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from qsim import (
    Delay,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    Metrics,
    Network,
    Open,
    Station,
    simulate,
    solve,
)
from qsim.analytic.networks import mean_value
from qsim.analytic.networks.classes import class_network
from qsim.analytic.open import approximations
from qsim.analytic.views import open_queue

MODELS, CUSTOMERS, SEED = 60, 1_000_000, 1
SCV, LOADS, SERVERS = (0.02, 0.1, 0.25, 0.5, 2.0, 4.0), (0.5, 0.7, 0.9), (1, 2, 4, 8)
RATIOS = (0.125, 0.25, 0.5, 2.0, 4.0, 8.0)
Errors = dict[str, list[float]]


def general(rng: np.random.Generator) -> Network:
    """A G/G/c queue."""
    servers = int(rng.choice(SERVERS))
    return Open(_law(rng, 1 / (servers * rng.choice(LOADS))), _law(rng, 1.0), servers)


def _law(rng: np.random.Generator, mean: float) -> Distribution:
    law = (Gamma, LogNormal, two_point)[rng.integers(3)]
    return law(mean, float(rng.choice(SCV)))


def two_point(mean: float, scv: float) -> Distribution:
    """One time in ten is long, and all others are equal."""
    deviation = math.sqrt(scv)
    return Empirical((mean * (1 - deviation / 3), mean * (1 + 3 * deviation)), weights=(9, 1))


def circling(rng: np.random.Generator) -> Network:
    """Two classes, such as reads and writes, that circle through one FCFS station."""
    return _circle(rng, [Exponential(1.0), Exponential(float(rng.choice(RATIOS)))])


def varying(rng: np.random.Generator) -> Network:
    """One or two classes of general services that circle through one FCFS station."""
    return _circle(rng, [_law(rng, mean) for mean in (1.0, float(rng.choice(RATIOS)))][: int(rng.integers(1, 3))])


def _circle(rng: np.random.Generator, services: list[Distribution]) -> Network:
    names = ["a", "b"][: len(services)]
    station = Station(dict(zip(names, services, strict=True)), servers=int(rng.choice(SERVERS)))
    thinking = Delay(float(rng.choice([0, 4])))
    return Network({"host": thinking, "station": station}, {name: int(rng.integers(1, 17)) for name in names})


def of_general(model: Network) -> Iterator[tuple[str, float]]:
    """The error of W by each approximation that is valid."""
    queue = open_queue(model)
    if queue is None:
        raise ValueError(f"{model.kendall} is no single queue")
    run = _simulated(model)
    solved = approximations.solve(queue)
    for name, wait in solved.approximations.items():
        if name != approximations.BOUND:
            yield name, (wait + queue.service.mean) / run.W - 1
    fitted = approximations.FIT in solved.approximations
    yield approximations.P_WAIT_FITTED if fitted else approximations.P_WAIT, solved.p_wait - run.p_wait


def of_classes(model: Network) -> Iterator[tuple[str, float]]:
    """The error of W of each class that is approximated."""
    circle = class_network(model)
    name = "" if circle is None else mean_value.errors_of(circle)
    run = _simulated(model)
    solved = solve(model)
    for part, truth in zip(solved.classes or [solved], run.classes or [run], strict=True):
        if part.kind == "approximation":
            yield name, part.W / truth.W - 1


def _simulated(model: Network) -> Metrics:
    return simulate(model, customers=CUSTOMERS, seed=SEED, allow_short=True)


FAMILIES: tuple[tuple[Callable[..., Network], Callable[..., Iterator[tuple[str, float]]]], ...] = (
    (general, of_general),
    (circling, of_classes),
    (varying, of_classes),
)


@cache
def errors() -> dict[str, tuple[float, ...]]:
    """Relative errors of W by the name of the approximation, and errors of P(wait)."""
    found: Errors = {}
    for draw, judge in FAMILIES:
        rng = np.random.default_rng(SEED)
        for _ in range(MODELS):
            for name, error in judge(draw(rng)):
                found.setdefault(name, []).append(error)
    return {name: tuple(values) for name, values in found.items()}


def table() -> str:
    """The errors as a table in Markdown."""
    rows = ["| approximation | queues | median | 9 of 10 within | worst |", "|---|---:|---:|---:|---:|"]
    for name, values in errors().items():
        size = 100 * np.abs(values)
        rows.append(
            f"| {name} | {size.size} | {np.median(size):.1f} % | {np.quantile(size, 0.9):.1f} % | {size.max():.0f} % |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
