"""Customers per second of both engines, measured in turns in one run, so that a noisy machine is fair to both.

    python examples/bench_engines.py [rounds]

Random numbers, statistics and quantiles are included: this is the time of a whole simulate() call.
"""

import sys
import time
from statistics import median

from qsim import MM1, Closed, Delay, Empirical, Exponential, GGc, LogNormal, MMc, MMcN, Model, Station, simulate

COMPILED, REFERENCE = 10_000_000, 20_000  # customers
HISTOGRAM = Empirical.from_histogram([0.1 * i for i in range(21)], list(range(20, 0, -1)))

MODELS: dict[str, Model] = {
    "M/M/1, rho 0.8": MM1(0.8, 1.0),
    "M/M/3, rho 0.9": MMc(2.7, 1.0, 3),
    "M/M/32, rho 0.9": MMc(28.8, 1.0, 32),
    "G/G/1, lognormal": GGc(Exponential(1.0), LogNormal(0.8, 2.0), 1),
    "G/G/3, histogram": GGc(Exponential(1.0), HISTOGRAM.scaled(2.4 / HISTOGRAM.mean), 3),
    "M/M/32//64": MMcN(64, 1.0, 1.0, 32),
    "32 random queues, N=64": Closed(64, [Delay(1.0), Station(Exponential(1.0), 32, queues="random")]),
}


def customers_per_second(model: Model, engine: str, customers: int, seed: int) -> float:
    """One timed run."""
    start = time.perf_counter()
    simulate(model, customers=customers, seed=seed, engine=engine, allow_short=True)  # type: ignore[arg-type]
    return customers / (time.perf_counter() - start)


def main(rounds: int) -> None:
    """Print a row for each model: medians, and the median of the ratios."""
    print(f"{'model':24} {'compiled /s':>14} {'SimPy /s':>12} {'ratio':>8}   (medians of {rounds})")
    for name, model in MODELS.items():
        size = COMPILED if not isinstance(model, Closed) else COMPILED // 10
        simulate(model, customers=20_000, seed=0, allow_short=True)  # compile first
        pairs = [
            (customers_per_second(model, "compiled", size, i), customers_per_second(model, "reference", REFERENCE, i))
            for i in range(rounds)
        ]
        fast, slow = (median(column) for column in zip(*pairs, strict=True))
        print(f"{name:24} {fast:14,.0f} {slow:12,.0f} {median(a / b for a, b in pairs):8.0f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
