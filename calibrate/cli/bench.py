"""``qsim bench``: customers per second of both engines, and of any peer installed."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import AsJson
from calibrate.cli.progress import Bar

if TYPE_CHECKING:
    from qsim.models import Open

HELP = """Measure the simulation engines: customers per second, variates drawn, one core.

The engines take turns in every round, so that a busy machine slows both; medians and their ratio are printed. Ciw is
measured beside them where it is installed.

\b
Examples:
qsim bench
qsim bench --rounds 9 --json
"""

Run = Callable[["Open", int, int], object]


def bench(
    rounds: Annotated[int, typer.Option(metavar="N", parser=parsing.whole, help="Rounds, each with every engine.")] = 5,
    customers: Annotated[
        float, typer.Option(metavar="N", parser=parsing.number, help="Customers of one compiled run.")
    ] = 5e6,
    reference_customers: Annotated[
        float, typer.Option(metavar="N", parser=parsing.number, help="Customers of one run of the slower engines.")
    ] = 2e4,
    as_json: AsJson = False,
) -> None:
    """Run every engine on M/M/1 and M/M/3, interleaved."""
    if rounds < 1:
        raise wrong_usage(f"--rounds must be at least 1, not {rounds}")
    for option, value in (("--customers", customers), ("--reference-customers", reference_customers)):
        if value < 1 or value != int(value):
            raise wrong_usage(f"{option} must be a whole number of at least 1, not {value:g}")

    from qsim import MM1, MMc

    engines = _engines()
    sizes = {name: int(customers if name == "compiled" else reference_customers) for name in engines}
    models = {"M/M/1 rho .8": MM1(0.8, 1.0), "M/M/3 rho .9": MMc(2.7, 1.0, 3)}
    documents = []
    with Bar("benchmarking") as bar:
        for number, (label, model) in enumerate(models.items()):
            for name, run in engines.items():
                run(model, min(sizes[name], 10_000), 0)  # compile and warm up
            runs: dict[str, list[float]] = {name: [] for name in engines}
            for turn in range(rounds):
                for name, run in engines.items():
                    started = time.perf_counter()
                    run(model, sizes[name], turn + 1)
                    runs[name].append(sizes[name] / (time.perf_counter() - started))
                bar.share((number * rounds + turn + 1) / (len(models) * rounds))
            documents.append(_document(label, runs))
    if as_json:
        print_json({"rounds": rounds, "customers": sizes, "models": documents})
        return
    names = list(engines)
    rows = [
        (d["name"], *(_rate(d["customers_per_s"][n]["median"]) for n in names), f"{d['ratio']:.0f} x")
        for d in documents
    ]
    say(table(("customers per second", *names, "compiled / reference"), rows))
    say(f"medians of {rounds} interleaved rounds")


def _engines() -> dict[str, Run]:
    from importlib.util import find_spec

    from qsim import simulate

    engines: dict[str, Run] = {
        "compiled": lambda m, n, seed: simulate(m, customers=n, seed=seed, engine="compiled", allow_short=True),
        "reference": lambda m, n, seed: simulate(m, customers=n, seed=seed, engine="reference", allow_short=True),
    }
    if find_spec("ciw") is not None:
        engines["ciw"] = _ciw
    return engines


def _ciw(model: Open, customers: int, seed: int) -> object:
    """The same queue in Ciw."""
    ciw: Any = __import__("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(model.arrival_rate)],
        service_distributions=[ciw.dists.Exponential(model.service_rate)],
        number_of_servers=[model.servers],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(customers)
    return simulation


def _document(label: str, runs: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: median(rates) for name, rates in runs.items()}
    return {
        "name": label,
        "customers_per_s": {name: {"median": medians[name], "runs": rates} for name, rates in runs.items()},
        "ratio": medians["compiled"] / medians["reference"],
    }


def _rate(per_second: float) -> str:
    return f"{per_second / 1e6:.3g} M" if per_second >= 1e6 else f"{per_second / 1e3:.3g} k"
