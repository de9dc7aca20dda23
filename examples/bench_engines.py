"""How fast the compiled engine is: against the SimPy engine, against Ciw, and a long run in flat memory.

Ratios are of customers a second: medians of interleaved runs, each long enough to measure, after one that compiles.

Run with: python examples/bench_engines.py [runs] [customers of the long run]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import ciw

from qsim import MM1, Arrivals, Exponential, MMc, MMcN, Network, Station, simulate

RATES, MEANS = (0.5, 0.2, 0.1), (0.5, 0.6, 0.7)
ROUTES = ((0.0, 0.6, 0.2), (0.0, 0.0, 0.5), (0.1, 0.0, 0.0))
"""Three stations: arrivals at each, mean services, and the probabilities of going on."""

NAMES = ("a", "b", "c")
THREE = Network(
    {name: Station(Exponential(mean)) for name, mean in zip(NAMES, MEANS, strict=True)},
    Arrivals(dict(zip(NAMES, RATES, strict=True))),
    {here: dict(zip(NAMES, row, strict=True)) for here, row in zip(NAMES, ROUTES, strict=True)},
)

LONG = """
import resource, sys, time
from qsim import MM1, simulate
simulate(MM1(0.8, 1.0), customers=1e6, seed=1)
begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
r = simulate(MM1(0.8, 1.0), customers=float(sys.argv[1]), seed=1)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{time.perf_counter() - begun:.1f} s, {after / 1024:.0f} MB resident at most, {(after - before) / 1024:+.0f} MB")
print(f"W = {r.W:.4f}, exactly 5")
"""


def by_engine(model: Network, customers: int, engine: str) -> None:
    """A run by one of the engines."""
    simulate(model, customers=customers, seed=1, engine=engine, allow_short=True)  # type: ignore[arg-type]


def three_in_ciw(customers: int) -> None:
    """The same three stations in Ciw."""
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate) for rate in RATES],
        service_distributions=[ciw.dists.Exponential(1 / mean) for mean in MEANS],
        routing=[list(row) for row in ROUTES],
        number_of_servers=[1, 1, 1],
    )
    ciw.seed(1)
    ciw.Simulation(network).simulate_until_max_customers(customers)


CASES: dict[str, tuple[Callable[[int], None], Callable[[int], None], int, int]] = {
    "M/M/1, against SimPy": (
        partial(by_engine, MM1(0.8, 1.0), engine="compiled"),
        partial(by_engine, MM1(0.8, 1.0), engine="reference"),
        4_000_000,
        20_000,
    ),
    "M/M/3, against SimPy": (
        partial(by_engine, MMc(2.4, 1.0, 3), engine="compiled"),
        partial(by_engine, MMc(2.4, 1.0, 3), engine="reference"),
        4_000_000,
        20_000,
    ),
    "machine repair (M/M/1//10), against SimPy": (
        partial(by_engine, MMcN(10, 10.0, 1.0, 1), engine="compiled"),
        partial(by_engine, MMcN(10, 10.0, 1.0, 1), engine="reference"),
        1_000_000,
        5_000,
    ),
    "three stations, against SimPy": (
        partial(by_engine, THREE, engine="compiled"),
        partial(by_engine, THREE, engine="reference"),
        1_000_000,
        10_000,
    ),
    "three stations, against Ciw": (partial(by_engine, THREE, engine="compiled"), three_in_ciw, 1_000_000, 5_000),
}


def rate(run: Callable[[int], None], customers: int) -> float:
    """Customers per second of processor time, so that other programs do not count."""
    begun = time.process_time()
    run(customers)
    return customers / (time.process_time() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="?", type=int, default=5)
    parser.add_argument("customers", nargs="?", type=float, default=1e8)
    given = parser.parse_args()
    for name, (fast, slow, many, few) in CASES.items():
        fast(1000)
        rates = [(rate(fast, many), rate(slow, few)) for _ in range(given.runs)]
        ratio = statistics.median(a / b for a, b in rates)
        quick = statistics.median(a for a, _ in rates)
        sys.stdout.write(f"{name}: {ratio:.0f} times, {quick / 1e6:.3g} million customers a second\n")
        sys.stdout.flush()
    done = subprocess.run(
        [sys.executable, "-c", LONG, str(given.customers)], capture_output=True, text=True, check=True
    )
    sys.stdout.write(f"M/M/1 of {given.customers:.0e} customers: {done.stdout}")


if __name__ == "__main__":
    main()
