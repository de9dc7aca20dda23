"""``qsim bench``: customers per second of both engines, and of any peer installed."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import option
from calibrate.cli.options import AsJson
from calibrate.cli.progress import simulating

if TYPE_CHECKING:
    from qsim.engines.speed import Speed

HELP = """Measure the simulation engines: customers per second, variates drawn, one core.

The engines take turns in every round; medians are printed. Bare SimPy runs beside them, and Ciw where installed.

\b
Examples:
qsim bench
qsim bench --rounds 9 --json
"""

WORKERS = 2


def bench(
    rounds: int = option("N", parsing.whole, "Rounds, each with every engine.", default=5, shown=True),
    customers: float = option("N", parsing.number, "Customers of one compiled run.", default=5e6, shown="5e6"),
    reference_customers: float = option(
        "N", parsing.number, "Customers of one run of the slower engines.", default=2e4, shown="20k"
    ),
    as_json: AsJson = False,
) -> None:
    """Run every engine on every model of the benchmark, interleaved."""
    if rounds < 1:
        raise wrong_usage(f"--rounds must be at least 1, not {rounds}")
    for name, value in (("--customers", customers), ("--reference-customers", reference_customers)):
        if value < 1 or value != int(value):
            raise wrong_usage(f"{name} must be a whole number of at least 1, not {value:g}")

    from qsim.engines.speed import measure_scaling, measure_speed

    with simulating("benchmarking") as bar:
        speeds = measure_speed(
            rounds=rounds, customers=customers, reference_customers=reference_customers, progress=bar.share
        )
        scaling = measure_scaling(workers=WORKERS, rounds=rounds, customers=10 * customers)
    if as_json:
        print_json(
            {
                "rounds": rounds,
                "customers": {"compiled": int(customers), "reference": int(reference_customers)},
                "models": [_document(speed) for speed in speeds],
                "scaling": {"workers": WORKERS, "median": median(scaling), "runs": list(scaling)},
            }
        )
        return
    slower = sorted({engine for speed in speeds for engine in speed.rates} - {"compiled"}, key=_order)
    heads = ("customers per second", "compiled", *slower, *(f"/ {name}" for name in slower))
    say(table(heads, [_row(speed, slower) for speed in speeds]))
    say(f"medians of {rounds} interleaved rounds")
    say(f"{WORKERS} processes are {median(scaling):.2f} times as fast as one, {max(scaling):.2f} in the best round")


def _order(engine: str) -> tuple[int, str]:
    known = ("reference", "simpy")
    return (known.index(engine) if engine in known else len(known), engine)


def _document(speed: Speed) -> dict[str, Any]:
    return {
        "name": speed.name,
        "customers_per_s": {
            engine: {"median": speed.median(engine), "runs": list(rates)} for engine, rates in speed.rates.items()
        },
        "ratio": speed.ratio("reference"),
        "ratios": {engine: speed.ratio(engine) for engine in speed.rates if engine != "compiled"},
    }


def _row(speed: Speed, slower: list[str]) -> tuple[str, ...]:
    """Rates, then how many times faster the compiled engine is than each of the others."""
    rates = [_rate(speed.median(engine)) if engine in speed.rates else "" for engine in ("compiled", *slower)]
    ratios = [f"{speed.ratio(engine):.0f} x" if engine in speed.rates else "" for engine in slower]
    return (speed.name, *rates, *ratios)


def _rate(per_second: float) -> str:
    return f"{per_second / 1e6:.3g} M" if per_second >= 1e6 else f"{per_second / 1e3:.3g} k"
