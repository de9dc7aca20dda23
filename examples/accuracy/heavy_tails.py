"""How often 95 % intervals hold the mean response of M/G/1 whose services are skewed or heavy-tailed.

python examples/accuracy/heavy_tails.py [RUNS]        a row a law: coverage, bias, and whether qsim refuses
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

from qsim import MG1, BurrXII, Distribution, Exponential, Gamma, LogNormal, Weibull, simulate, solve
from qsim.engines.run_length import customers_needed

LOAD, CUSTOMERS, RUNS = 0.5, 1_000_000, 100
LAWS: tuple[Distribution, ...] = (
    Exponential(1.0),
    *(LogNormal(1.0, scv) for scv in (2, 5, 10, 20)),
    Gamma(1.0, 20),
    Weibull(0.3, 1.0),
    Weibull(0.2, 1.0),
    *(BurrXII(tail, 1.0, 1.0) for tail in (2.2, 2.7, 3.2, 4.5)),
)
HEAD = ("service times", "intervals that hold", "bias", "customers needed", "refused")


def rows(runs: int) -> Iterator[tuple[str, ...]]:
    """Law, coverage, bias, customers needed, and whether ``simulate`` objects."""
    for law in LAWS:
        model = MG1(LOAD, law)
        truth = solve(model).W
        found = [simulate(model, customers=CUSTOMERS, seed=seed, allow_short=True) for seed in range(runs)]
        held = np.mean([low <= truth <= high for low, high in (r.interval("W") for r in found)])
        bias = np.mean([r.W for r in found]) / truth - 1
        needed = customers_needed(model)
        yield (
            f"`{law}`",
            f"{100 * held:.0f} %",
            f"{100 * bias:+.1f} %",
            "no number will do" if math.isinf(needed) else f"{float(f'{needed:.1e}'):,.0f}",
            "yes" if found[0].warnings else "no",
        )


def table(runs: int = RUNS) -> str:
    """The rows as a table in Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows(runs)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(table(*map(int, sys.argv[1:])) + "\n")
