"""``qsim solve`` and ``qsim simulate``: a queue by formula, and by simulation with confidence intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, warn
from calibrate.cli.failures import FAILED, CommandError, wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import AsJson
from calibrate.cli.progress import simulating
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.queue_models import MODELS_HELP, ModelName, queue_of

if TYPE_CHECKING:
    from qsim import Metrics


HELP_SOLVE = f"""Solve a queue by formula.

Rates and times are in any consistent unit (16, 0.05), or carry units (20k/s, 80us); then results are in seconds.

\b
Models:
{MODELS_HELP}

\b
Examples:
qsim solve mm1 --arrival-rate 16 --service-rate 20
qsim solve mmcn --population 64 --service-time 80us --servers 32
qsim solve mm1 --arrival-rate 10k/s --service-time 80us --quantiles 0.5,0.99
qsim solve mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --explain
"""


def solve(
    model: ModelName,
    options: q.QueueOptions,
    quantiles: q.Quantiles = None,
    explain: q.Explain = False,
    as_json: AsJson = False,
) -> None:
    """Build the queue that the options describe, solve it, print it."""
    given = q.Given(model, options.values())
    queue = queue_of(given)

    import qsim
    from calibrate.cli.theory.metrics_text import say_solved

    try:
        metrics = qsim.solve(queue)
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; simulate it: qsim simulate {given.command_line()}") from error
    say_solved(queue, metrics, with_units=given.with_units, explain=explain, as_json=as_json, quantiles=quantiles or ())


HELP_SIMULATE = """Simulate a queue to its steady state, with confidence intervals.

Engines: compiled (numba, fast) and reference (SimPy, to read). A run too short for a steady state is refused with its
estimate.

Models: those of qsim solve --help.

\b
Examples:
qsim simulate mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --customers 1e7
qsim simulate mg1 --arrival-rate 10k/s --service lognormal:mean=80us,scv=2
qsim simulate mmcn --population 64 --service-time 80us --servers 32 --seed 1
qsim simulate mm1 --arrival-rate 0.95 --service-rate 1 --replications 20 --workers 2
"""


def simulate(
    model: ModelName,
    options: q.QueueOptions,
    customers: float = option(
        "N", parsing.number, "Customers to simulate, warm-up included.", default=1e6, shown="1e6"
    ),
    seed: int | None = option("N", parsing.whole, "Seed.", shown="a fresh one"),
    engine: str = option(
        "ENGINE",
        parsing.choice("compiled", "reference"),
        "compiled (fast) or reference (SimPy).",
        default="compiled",
        shown=True,
    ),
    confidence: float = option("SHARE", parsing.number, "Level of the intervals.", default=0.95, shown=True),
    warmup: float | None = option(
        "SHARE|N", parsing.number, "What to leave out first: a share, or customers.", shown="by MSER-5"
    ),
    precision: float | None = option(
        "PCT", parsing.percent, "Go on until the interval of W is this narrow to each side."
    ),
    most_customers: float = option("N", parsing.number, "Where --precision gives up.", default=1e9, shown="1e9"),
    intervals: str = option(
        "METHOD",
        parsing.choice("batch", "regenerative"),
        "batch (means) or regenerative (cycles).",
        default="batch",
        shown=True,
    ),
    replications: int | None = option("N", parsing.whole, "Independent runs, whose spread gives the intervals."),
    workers: int = option(
        "N", parsing.whole, "Processes that share --replications; -1: one a core.", default=1, shown=True
    ),
    allow_short: bool = flag("--allow-short", "Print the estimate of a run too short for a steady state."),
    quantiles: q.Quantiles = None,
    as_json: AsJson = False,
) -> None:
    """Build the queue that the options describe, simulate it, print it."""
    given = q.Given(model, options.values())
    queue = queue_of(given)
    if replications is not None and (precision is not None or intervals != "batch"):
        raise wrong_usage("--replications make intervals of their own: leave out --precision and --intervals")
    if workers != 1 and replications is None:
        raise wrong_usage("--workers share replications: give --replications too, such as --replications 20")

    import qsim
    from calibrate.cli.theory.metrics_text import metrics_document, metrics_text

    with_units = given.with_units
    chosen_engine: Literal["compiled", "reference"] = "reference" if engine == "reference" else "compiled"
    chosen_warmup: Literal["mser5"] | float = "mser5" if warmup is None else warmup
    with simulating(f"simulating {queue.kendall}") as bar:
        try:
            if replications is not None:
                metrics = qsim.replicate(
                    queue,
                    replications=replications,
                    customers=customers,
                    seed=seed,
                    engine=chosen_engine,
                    warmup=chosen_warmup,
                    confidence=confidence,
                    allow_short=allow_short,
                    workers=workers,
                    progress=bar.share,
                )
            else:
                metrics = qsim.simulate(
                    queue,
                    customers=customers,
                    seed=seed,
                    engine=chosen_engine,
                    warmup=chosen_warmup,
                    confidence=confidence,
                    allow_short=allow_short,
                    intervals="regenerative" if intervals == "regenerative" else "batch means",
                    precision=None if precision is None else precision / 100,
                    most_customers=most_customers,
                    progress=bar.share,
                )
        except qsim.SteadyStateError as error:
            low, high = error.metrics.intervals.get("W", (error.metrics.W, error.metrics.W))
            message = error.sentence("--most-customers", "--precision", "--allow-short to print it all")
            raise CommandError(
                f"{message} The estimate as it is: W = {error.metrics.W:.4g} [{low:.4g}, {high:.4g}]",
                FAILED,
                {"estimate": metrics_document(error.metrics, with_units=with_units)},
            ) from error
    wanted = quantiles or ()
    for warning in metrics.warnings:
        warn(warning)
    if as_json:
        print_json(metrics_document(metrics, with_units=with_units, quantiles=wanted))
    else:
        said = replace(metrics, warnings=())  # they went to stderr
        say(metrics_text(said, with_units=with_units, quantiles=wanted))
        say(f"{metrics.customers:,} customers, the first {metrics.warmup:,} left out, seed {metrics.seed}")
        if exact := held_against_theory(metrics, with_units=with_units):
            say(exact)


def held_against_theory(metrics: Metrics, *, with_units: bool) -> str:
    """A line on the exact mean response time and whether the interval holds it; empty where no formula gives it."""
    import qsim
    from calibrate.cli.theory.metrics_text import value_text

    try:
        exact = qsim.solve(metrics.model)
    except qsim.NoFormulaError:
        return ""
    ends = metrics.intervals.get("W")
    if exact.kind_of("W") != "exact" or ends is None or metrics.confidence is None:
        return ""
    told = f"theory: W = {value_text('W', exact.W, with_units)}"
    if ends[0] <= exact.W <= ends[1]:
        return f"{told}, inside the interval"
    return (
        f"{told}, outside the interval, as {100 * (1 - metrics.confidence):.2g} % of intervals are; "
        "simulate more --customers or another --seed"
    )
