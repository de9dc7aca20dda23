"""How often 95 % intervals hold the exact value: the tables of theory/simulation.md.

python interval_coverage.py            1000 runs of each kind, half an hour on two cores; writes the tables
python interval_coverage.py RUNS       as many runs, printed only
python interval_coverage.py RUNS NAME  one row of the table of models
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from on_page import write_table

from calibrate.fleet.workers import processes, spread
from qsim import (
    Arrivals,
    BurrXII,
    Closed,
    Delay,
    Exponential,
    LogNormal,
    Metrics,
    MMc,
    Network,
    NoFormulaError,
    Open,
    Shifted,
    Station,
    simulate,
    solve,
)

PAGE = "theory/simulation.md"
RUNS = 1000
CONFIDENCE = 0.95
VALUES = ("W", "Lq")
LONG_RUN = 40_000_000
"""Customers whose mean is the truth where no formula gives it."""


def _pareto(shape: float) -> Shifted:
    """P(T > t) = (smallest/t)^shape, of mean 1: the smallest, and a Lomax time."""
    smallest = 1 - 1 / shape
    return Shifted(BurrXII(1.0, shape, 1 - smallest), smallest)


ONE = Exponential(1.0)
QUEUES: Mapping[str, Network] = MappingProxyType(
    {
        "M/M/1, ρ 0.5": MMc(0.5, 1.0, 1),
        "M/M/1, ρ 0.8": MMc(0.8, 1.0, 1),
        "M/M/1, ρ 0.95": MMc(0.95, 1.0, 1),
        "M/M/3, ρ 0.95": MMc(0.95 * 3, 1.0, 3),
    }
)
MODELS: Mapping[str, Network] = MappingProxyType(
    {
        **QUEUES,
        "lognormal, scv 5": Open(Exponential(2.0), LogNormal(1.0, 5.0)),
        "lognormal, scv 20": Open(Exponential(2.0), LogNormal(1.0, 20.0)),
        "Pareto, shape 2.2": Open(Exponential(2.0), _pareto(2.2)),
        "Pareto, shape 3.5": Open(Exponential(2.0), _pareto(3.5)),
        "PS, scv 20": Open(Exponential(1.25), LogNormal(1.0, 20.0), discipline="PS"),
        "priorities": Network(
            {
                "station": Station(
                    {"urgent": Exponential(0.5), "others": ONE},
                    discipline="preemptive priority",
                    priority={"urgent": 0, "others": 1},
                )
            },
            {"urgent": Arrivals(0.5), "others": Arrivals(0.5)},
        ),
        "open network": Network(
            {"first": Station(Exponential(0.4)), "second": Station(Exponential(0.6), 2)},
            Arrivals({"first": 1.0, "second": 0.5}),
            {"first": {"first": 0.2, "second": 0.5}, "second": {"first": 0.3}},
        ),
        "closed network": Closed(32, [Delay(10.0), Station(ONE, 4), Station(Exponential(0.5))]),
        "two closed classes": Network(
            {
                "first": Station(ONE),
                "second": Station(Exponential(0.5), 2),
                "thinking": Delay({"few": 3.0, "many": 9.0}),
            },
            {"few": 4, "many": 6},
        ),
    }
)

Method = Callable[[Network, int], Metrics]


def batch_means(model: Network, seed: int) -> Metrics:
    """What simulate does if told nothing: one million customers, a warm-up found by MSER-5, batch means."""
    return simulate(model, seed=seed, allow_short=True)


def short_run(model: Network, seed: int, runs: float) -> Metrics:
    """A run as long as so many of the shortest that hold a queue's memory."""
    from qsim.engines.run_length import shortest_run

    return simulate(model, customers=math.ceil(runs * shortest_run(model)), seed=seed, allow_short=True)


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "the shortest run not refused": partial(short_run, runs=1.05),  # a twentieth is left out as warm-up
        "the shortest run advised": partial(short_run, runs=2),
    }
)


@dataclass(frozen=True)
class Coverage:
    """Runs of one model by one method: how often each interval held the exact value, and how wide it was.

    ``half_width`` is the mean half-length of the interval of W and ``needed`` half the length that would hold W in
    exactly 95 % of these runs (both as a share of W): 1.96 times the spread of the runs' estimates.
    """

    runs: int
    held: Mapping[str, int]
    half_width: float
    needed: float
    refused: bool

    def shares(self) -> str:
        """Shares of the runs whose intervals of W and Lq held the exact values, in percent."""
        return ", ".join(f"{100 * self.held[value] / self.runs:.1f}" for value in VALUES)


def truth_of(model: Network, customers: int = LONG_RUN) -> Metrics:
    """The exact solution, or a run so long that its error is far below that of the runs held against it."""
    try:
        exact = solve(model)
    except NoFormulaError:
        exact = None
    if exact is not None and exact.kind == "exact":
        return exact
    return simulate(model, customers=customers, seed=2**32)


def coverage(
    model: Network, method: Method = batch_means, runs: int = RUNS, truth: Metrics | None = None, workers: int = -1
) -> Coverage:
    """Run ``method`` with the seeds 0, 1, ..., runs - 1 and hold every interval against the truth."""
    true = truth or truth_of(model)
    with processes(workers) as executor:
        found = spread(partial(method, model), range(runs), executor)
    held = {}
    for value in VALUES:
        intervals = (r.interval(value) for r in found)
        held[value] = sum(low <= getattr(true, value) <= high for low, high in intervals)
    widths = [(high - low) / 2 for low, high in (r.interval("W") for r in found)]
    return Coverage(
        runs=runs,
        held=held,
        half_width=float(np.mean(widths)) / true.W,
        needed=1.96 * float(np.std([r.W for r in found])) / true.W,
        refused=any(r.warnings for r in found),
    )


MODELS_HEAD = ("| `simulate(model)` | ± | holds W, Lq |", "|---|---:|---:|")
METHODS_HEAD = (f"| holds W, Lq; ± | {' | '.join(QUEUES)} |", f"|---|{'---:|' * len(QUEUES)}")


def rows_of_models(runs: int, models: Mapping[str, Network] = MODELS) -> Iterator[str]:
    """A row a model: what ``simulate`` does if told nothing."""
    yield from MODELS_HEAD
    for name, model in models.items():
        truth = truth_of(model)
        row = coverage(model, runs=runs, truth=truth)
        source = "" if truth.kind == "exact" else f"; {LONG_RUN / 1e6:.0f} million"
        refused = "; refused" if row.refused else ""
        yield f"| {name}{source}{refused} | {100 * row.half_width:.2g} % | {row.shares()} |"


def rows_of_methods(runs: int) -> Iterator[str]:
    """A row a method: what else makes intervals, on each of the ``QUEUES``."""
    yield from METHODS_HEAD
    for name, method in METHODS.items():
        cells = [coverage(model, method, runs) for model in QUEUES.values()]
        yield f"| {name} | {' | '.join(f'{c.shares()}; {100 * c.half_width:.2g} %' for c in cells)} |"


TABLES = MappingProxyType({"methods": rows_of_methods, "models": rows_of_models})  # the quick one first


def main(arguments: list[str]) -> None:
    """Print each table as it grows; write it to the page when all runs were made."""
    runs = int(arguments[0]) if arguments else RUNS
    if len(arguments) > 1:
        sys.stdout.writelines(f"{line}\n" for line in rows_of_models(runs, {arguments[1]: MODELS[arguments[1]]}))
        return
    for name, rows in TABLES.items():
        lines = []
        for line in rows(runs):
            lines.append(line)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        if runs == RUNS:
            write_table(PAGE, f"coverage of {name}", "\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
