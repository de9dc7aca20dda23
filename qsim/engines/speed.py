"""How fast the engines are: customers per second, and their ratios.

Engines and peers take turns in every round, so that a machine busy with other things slows all of them; each round
gives a ratio, and the median of the rounds is what counts.  A run is a whole ``simulate`` call, random numbers,
statistics and quantiles included, on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from qsim import _check
from qsim.distributions import Empirical, Exponential, LogNormal
from qsim.engines.peers import peers_of
from qsim.engines.repeated.replications import replicate
from qsim.engines.run import simulate
from qsim.models import MM1, Closed, Delay, GGc, MMc, MMcN, Model, Network, Node, Open, Station

Progress = Callable[[float], object]
Run = Callable[[Model, int, int], object]

CLOSED_SHARE = 0.1
"""Customers of a compiled run of a closed model or a network, as a share of those of an open queue: all are events."""


def benchmark_models() -> dict[str, Model]:
    """The queues that are timed, by name."""
    histogram = Empirical.from_histogram([0.1 * i for i in range(21)], list(range(20, 0, -1)))
    return {
        "M/M/1 rho .8": MM1(0.8, 1.0),
        "M/M/3 rho .9": MMc(2.7, 1.0, 3),
        "M/G/1 lognormal": GGc(Exponential(1.0), LogNormal(0.8, 2.0), 1),
        "M/G/3 histogram": GGc(Exponential(1.0), histogram.scaled(2.4 / histogram.mean), 3),
        "M/M/1 shortest job first": Open(Exponential(1.25), Exponential(1.0), discipline="SJF"),
        "M/M/32//64": MMcN(64, 1.0, 1.0, 32),
        "32 random queues, N=64": Closed(64, [Delay(1.0), Station(Exponential(1.0), 32, queues="random")]),
        "10 stations, feedback": ten_stations(),
    }


def ten_stations() -> Network:
    """A network as peers run it too: ten exponential stations in a row, from each of which one in ten starts again."""
    names = [f"station {i}" for i in range(1, 11)]
    onwards = {here: {following: 0.9, names[0]: 0.1} for here, following in pairwise(names)}
    return Network({name: Node(Exponential(0.3)) for name in names}, arrivals={names[0]: 1.0}, routing=onwards)


@dataclass(frozen=True)
class Speed:
    """Customers per second on one model: ``rates`` holds one for each round, by engine or peer."""

    name: str
    rates: Mapping[str, tuple[float, ...]]

    def median(self, engine: str) -> float:
        """The median over the rounds."""
        return median(self.rates[engine])

    def ratio(self, over: str, engine: str = "compiled") -> float:
        """How many times faster ``engine`` is than ``over``: the median of the rounds' ratios."""
        return median(a / b for a, b in zip(self.rates[engine], self.rates[over], strict=True))


def measure_speed(
    models: Mapping[str, Model] | None = None,
    *,
    rounds: int = 5,
    customers: float = 5e6,
    reference_customers: float = 2e4,
    progress: Progress | None = None,
) -> list[Speed]:
    """Time both engines, and the peers that are installed, on each model (None: those of benchmark_models).

    ``customers`` go through a compiled run of an open model, a tenth of them through a closed one or a network, and
    ``reference_customers`` through each of the slower engines.  Raises ValueError for numbers that make no sense.
    """
    turns = _check.count("rounds", rounds)
    fast, slow = _check.count("customers", customers), _check.count("reference_customers", reference_customers)
    chosen = benchmark_models() if models is None else models
    found = []
    for number, (name, model) in enumerate(chosen.items()):
        size = max(1, int(fast * CLOSED_SHARE)) if isinstance(model, Closed | Network) else fast
        runs: dict[str, tuple[Run, int]] = {
            "compiled": (_compiled, size),
            "reference": (_reference, slow),
            **{peer: (run, slow) for peer, run in peers_of(model).items()},
        }
        for run, count in runs.values():
            run(model, min(count, 10_000), 0)  # compile, import, fill the caches
        rates: dict[str, list[float]] = {engine: [] for engine in runs}
        for turn in range(turns):
            for engine, (run, count) in runs.items():
                rates[engine].append(count / _seconds(run, model, count, turn + 1))
            if progress is not None:
                progress((number + (turn + 1) / turns) / len(chosen))
        found.append(Speed(name, {engine: tuple(measured) for engine, measured in rates.items()}))
    return found


def measure_scaling(
    model: Model | None = None, *, workers: int = 2, rounds: int = 3, customers: float = 2e7
) -> Sequence[float]:
    """How many times faster ``workers`` processes replicate ``model`` (None: M/M/1) than one; one figure a round.

    Each process gets one replication of ``customers``; starting the processes is not counted.
    """
    chosen = MM1(0.8, 1.0) if model is None else model
    size = _check.count("customers", customers)

    def seconds(processes: int, seed: int) -> float:
        started = time.perf_counter()
        replicate(chosen, replications=max(2, workers), customers=size, seed=seed, workers=processes, allow_short=True)
        return time.perf_counter() - started

    _check.count("workers", workers, 2)
    for processes in (1, workers):  # compile and start, here and there
        replicate(chosen, replications=2 * workers, customers=10_000, seed=0, workers=processes, allow_short=True)
    return [seconds(1, turn) / seconds(workers, turn) for turn in range(1, _check.count("rounds", rounds) + 1)]


def _seconds(run: Run, model: Model, customers: int, seed: int) -> float:
    started = time.perf_counter()
    run(model, customers, seed)
    return time.perf_counter() - started


def _compiled(model: Model, customers: int, seed: int) -> object:
    return simulate(model, customers=customers, seed=seed, engine="compiled", allow_short=True)


def _reference(model: Model, customers: int, seed: int) -> object:
    return simulate(model, customers=customers, seed=seed, engine="reference", allow_short=True)
