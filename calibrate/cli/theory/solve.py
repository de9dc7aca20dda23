"""``qsim solve`` and ``qsim simulate``: a queue by formula, and by simulation with confidence intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, TypeAlias

import qsim
from calibrate.cli import parsing
from calibrate.cli.console import Result, warn
from calibrate.cli.failures import CommandError, wrong_usage
from calibrate.cli.options import option, shared
from calibrate.cli.progress import simulating
from calibrate.cli.theory.metrics_text import NOTHING, Asked, metrics_document, metrics_text, solved, value_text
from calibrate.cli.theory.queue_models import MODELS_HELP, Explain, ModelName, QueueOptions, hinting_at_units, queue_of

QUANTILES = (0.5, 0.9, 0.99)
"""The percentiles of the response time that ``qsim simulate`` prints."""

Engine: TypeAlias = Annotated[
    Literal["compiled", "reference"],
    shared(
        "ENGINE", parsing.choice("compiled", "reference"), "compiled (fast) or reference (SimPy, to read).", shown=True
    ),
]
CUSTOMERS, CUSTOMERS_SIMULATED = "Customers to simulate, warm-up included.", 1e6
Customers: TypeAlias = Annotated[float, shared("N", parsing.number, CUSTOMERS, shown="1e6")]
Over: TypeAlias = Annotated[
    parsing.Numbers | None, shared("TIME,...", parsing.times, "Also how many take longer, as 10min,1h.")
]
SimulationSeed: TypeAlias = Annotated[int | None, shared("N", parsing.whole, "Seed.", "--seed", shown="a fresh one")]

HELP_SOLVE = f"""Solve a queue by formula.

Rates and times are in any consistent unit (16, 0.05), or carry units (20k/s, 80us); then results are in seconds.

\b
Models:
{MODELS_HELP}

\b
Examples:
qsim solve mm1 --arrival-rate 16 --service-rate 20
qsim solve mmcn --population 64 --service 80us --servers 32
qsim solve mm1 --arrival-rate 10k/s --service 80us --quantiles 0.5,0.99
qsim solve mg1 --arrival-rate 10k/s --service lognormal:80us:scv=2
qsim solve mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --explain
"""


def solve(
    model: ModelName,
    options: QueueOptions,
    quantiles: parsing.Numbers | None = option("Q,...", parsing.shares, "Also these quantiles of W, as 0.5,0.99."),
    over: Over = None,
    explain: Explain = False,
) -> Result:
    """Build the queue that the options describe, solve it, print it."""
    given = options.of(model)
    queue = queue_of(given)
    try:
        return solved(queue, with_units=given.with_units, explain=explain, asked=Asked(quantiles or (), over or ()))
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; simulate it: qsim simulate {model}, with the same options") from error


HELP_SIMULATE = """Simulate a queue to its steady state, with 95 % confidence intervals.

A run too short for a steady state is refused; its estimate is in the error. Models: those of qsim solve --help.

\b
Examples:
qsim simulate mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --customers 1e7
qsim simulate mg1 --arrival-rate 10k/s --service lognormal:80us:scv=2 --customers 1e7
qsim simulate mmcn --population 64 --service 80us --servers 32 --seed 1 --engine reference
"""


def simulate(
    model: ModelName,
    options: QueueOptions,
    customers: Customers = CUSTOMERS_SIMULATED,
    seed: SimulationSeed = None,
    engine: Engine = "compiled",
    over: Over = None,
) -> Result:
    """Build the queue that the options describe, simulate it, print it."""
    given = options.of(model)
    asked = Asked(QUANTILES, over or ())
    return simulated(queue_of(given), customers, seed, engine, with_units=given.with_units, asked=asked)


def simulated(
    model: qsim.Network,
    customers: float,
    seed: int | None,
    engine: Literal["compiled", "reference"] = "compiled",
    *,
    with_units: bool,
    details: bool = False,
    asked: Asked = NOTHING,
) -> Result:
    """The model, simulated with a bar, with the exact mean response time where a formula gives it.

    CommandError with the estimate where the run is too short.
    """
    with simulating(f"simulating {model.kendall}") as bar:
        try:
            with hinting_at_units(with_units):
                metrics = qsim.simulate(model, customers=customers, seed=seed, engine=engine, progress=bar.share)
        except qsim.SteadyStateError as error:
            low, high = error.metrics.intervals.get("W", (error.metrics.W, error.metrics.W))
            message = error.sentence("simulate() with allow_short=True")
            raise CommandError(
                f"{message} The estimate as it is: W = {error.metrics.W:.4g} [{low:.4g}, {high:.4g}]",
                details={"estimate": metrics_document(error.metrics, with_units=with_units)},
            ) from error
    for warning in metrics.warnings:
        warn(warning)

    def text() -> str:
        silent = replace(metrics, warnings=())
        return "\n".join(
            [
                metrics_text(silent, with_units=with_units, details=details, asked=asked),
                f"{metrics.customers:,} customers, the first {metrics.warmup:,} left out, seed {metrics.seed}",
                *compared_with_theory(metrics, with_units=with_units),
            ]
        )

    return Result(text, lambda: metrics_document(metrics, with_units=with_units, asked=asked))


def compared_with_theory(metrics: qsim.Metrics, *, with_units: bool) -> list[str]:
    """A line on the exact mean response time and whether the interval holds it; none where no formula gives it."""
    if not isinstance(metrics.model, qsim.Network):
        return []
    try:
        exact = qsim.solve(metrics.model)
    except qsim.NoFormulaError:
        return []
    ends = metrics.intervals.get("W")
    if exact.kind_of("W") != "exact" or ends is None or metrics.confidence is None:
        return []
    theory = f"theory: W = {value_text('W', exact.W, with_units)}"
    if ends[0] <= exact.W <= ends[1]:
        return [f"{theory}, inside the interval"]
    outside = f"outside the interval, as {100 * (1 - metrics.confidence):.2g} % of intervals are"
    return [f"{theory}, {outside}; simulate more --customers or another --seed"]
