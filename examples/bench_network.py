"""How long ``solve`` takes for closed networks of single servers, beside mean value analysis alone.

Each network is solved once: it was made before, and nothing about it is known from an earlier round. Mean value
analysis is the textbook's recursion in numpy, of demands alone. They run in turn, each in processor time; medians.

Run with: python examples/bench_network.py [rounds]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from qsim import Exponential, Network, Station, solve

SIZES = [(stations, customers) for stations in (20, 5, 50) for customers in (10, 100, 1)]
"""Stations and customers."""


def mean_value_analysis(demands: npt.NDArray[np.float64], customers: int) -> float:
    """The throughput (Reiser & Lavenberg 1980)."""
    present, throughput = np.zeros(demands.size), 0.0
    for n in range(1, customers + 1):
        response = demands * (1 + present)
        throughput = n / response.sum()
        present = throughput * response
    return throughput


def taken_us(run: Callable[[], object]) -> float:
    """Processor time in microseconds, so that other programs do not count."""
    begun = time.process_time_ns()
    run()
    return (time.process_time_ns() - begun) / 1000


def rows_of(network: Network) -> list[tuple[float, float]]:
    """The answer with all that mean value analysis knows of each station."""
    return [(row.W, row.L) for row in solve(network).stations]


def timed(stations: int, customers: int, rng: np.random.Generator) -> tuple[float, float, float]:
    """The times of mean value analysis, of ``solve``, and of ``solve`` with its stations read."""
    demands = rng.uniform(0.1, 1.0, stations)
    places = {f"s{i}": Station(Exponential(d)) for i, d in enumerate(demands.tolist())}
    one, other = Network(places, customers), Network(places, customers)
    plain = taken_us(lambda: mean_value_analysis(demands, customers))
    return plain, taken_us(lambda: solve(one)), taken_us(lambda: rows_of(other))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=300)
    rounds, rng = parser.parse_args().rounds, np.random.default_rng(1)
    timed(20, 10, rng)
    for stations, customers in SIZES:
        times = [timed(stations, customers, rng) for _ in range(rounds)]
        plain, solved, read = (statistics.median(each) for each in zip(*times, strict=True))
        least, least_solved, _ = (min(each) for each in zip(*times, strict=True))
        sys.stdout.write(
            f"{stations:2} stations, {customers:3} customers: mean value analysis {plain:4.0f} us, "
            f"solve {solved / plain:4.1f} times as long (least by least {least_solved / least:4.1f}), "
            f"{read / plain:4.1f} with its stations read\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
