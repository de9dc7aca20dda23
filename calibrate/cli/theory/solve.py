"""``qsim solve`` and ``qsim simulate``: a queue by formula, and by simulation with confidence intervals.

Metrics and derivations are printed as bare numbers, or with units where the user gave units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import qsim
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult, warn
from calibrate.cli.failures import CommandError, wrong_usage
from calibrate.cli.options import option, shared
from calibrate.cli.progress import simulating
from calibrate.cli.theory.queue_models import (
    Explain,
    ModelName,
    QueueOptions,
    hinting_at_units,
    listing_models,
    queue_of,
)
from measure.units import format_duration, format_rate, significant

if TYPE_CHECKING:
    from calibrate.cli.theory.queue_models import QueueArguments
    from qsim.derivations import Derivation
    from qsim.metrics_view import Row

QUANTILES = (0.5, 0.9, 0.99)  # the percentiles of the response time that ``qsim simulate`` prints

Engine: TypeAlias = Annotated[
    Literal["compiled", "reference"],
    shared(
        "ENGINE", parsing.choice("compiled", "reference"), "compiled (fast) or reference (SimPy, to read).", shown=True
    ),
]
CUSTOMERS, CUSTOMERS_SIMULATED = "Customers to simulate, warm-up included.", 1e6
Customers: TypeAlias = Annotated[float, shared("N", parsing.number, CUSTOMERS, shown="1e6")]
Over: TypeAlias = Annotated[
    parsing.Times | None, shared("TIME,...", parsing.times, "Also how many take longer, as 10min,1h.")
]
SimulationSeed: TypeAlias = Annotated[int | None, shared("N", parsing.whole, "Seed.", "--seed", shown="a fresh one")]


@dataclass(frozen=True)
class AskedTimes:
    """What is asked about the times of customers beside the values: quantiles of W, and shares that take longer."""

    quantiles: Sequence[float] = ()
    over: parsing.Times = parsing.Times()

    def with_units(self, given: QueueArguments) -> bool:
        """Whether results carry units, as something that was typed does."""
        return given.with_units or self.over.has_unit


NOTHING = AskedTimes()
OVER = {"W": "the share of customers that take longer, waiting and service", "Wq": "the share that waits longer"}
WithEnds: TypeAlias = tuple[float, float, float]
UNKNOWN = "not known by formula: qsim simulate estimates it"
MINUTE, HOUR = 60.0, 3600.0


@listing_models
def solve(
    model: ModelName,
    options: QueueOptions,
    quantiles: parsing.Numbers | None = option("Q,...", parsing.shares, "Also these quantiles of W, as 0.5,0.99."),
    over: Over = None,
    explain: Explain = False,
) -> CommandResult:
    """Solve a queue by formula.

    Rates and times are in any consistent unit (16, 0.05), or carry units (20k/s, 80us); then results are in seconds.

    \b
    Models:
    MODELS

    \b
    Examples:
    qsim solve mm1 --arrival-rate 16 --service-rate 20
    qsim solve mmcn --population 64 --service 80us --servers 32
    qsim solve mm1 --arrival-rate 10k/s --service 80us --quantiles 0.5,0.99
    qsim solve mg1 --arrival-rate 10k/s --service lognormal:80us:scv=2
    qsim solve mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --explain
    """
    given = options.of(model)
    queue = queue_of(given)
    asked = AskedTimes(quantiles or (), over or parsing.Times())
    try:
        return solved(queue, with_units=asked.with_units(given), explain=explain, asked=asked)
    except qsim.NoFormulaError as error:
        raise wrong_usage(f"{error.reason}; simulate it: qsim simulate {model}, with the same options") from error


def simulate(
    model: ModelName,
    options: QueueOptions,
    customers: Customers = CUSTOMERS_SIMULATED,
    seed: SimulationSeed = None,
    engine: Engine = "compiled",
    over: Over = None,
) -> CommandResult:
    """Simulate a queue to its steady state, with 95 % confidence intervals.

    A run too short for a steady state is refused; its estimate is in the error. Models: those of qsim solve --help.

    \b
    Examples:
    qsim simulate mmc --arrival-rate 2.7 --service-rate 1 --servers 3 --customers 1e7
    qsim simulate mg1 --arrival-rate 10k/s --service lognormal:80us:scv=2 --customers 1e7
    qsim simulate mmcn --population 64 --service 80us --servers 32 --seed 1 --engine reference
    """
    given = options.of(model)
    asked = AskedTimes(QUANTILES, over or parsing.Times())
    return simulated(queue_of(given), customers, seed, engine, with_units=asked.with_units(given), asked=asked)


def simulated(
    model: qsim.Network,
    customers: float,
    seed: int | None,
    engine: Literal["compiled", "reference"] = "compiled",
    *,
    with_units: bool,
    details: bool = False,
    asked: AskedTimes = NOTHING,
) -> CommandResult:
    """The model, simulated with a bar, with the exact mean response time where a formula gives it."""
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

    return CommandResult(text, lambda: metrics_document(metrics, with_units=with_units, asked=asked))


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


def metrics_text(metrics: qsim.Metrics, *, with_units: bool, asked: AskedTimes = NOTHING, details: bool = False) -> str:
    """The table of the values and what else was asked; units only where the input had them."""
    from qsim.metrics_view import long_text

    rows = [_quantile_row(metrics, q, with_units) for q in asked.quantiles]
    rows += [_share_row(metrics, t, of, with_units) for t in asked.over for of in OVER]
    text = long_text(metrics, _shown(with_units), details=details, more=rows)
    if with_units:
        hourly = value_text("throughput", metrics.throughput, True).endswith("/h")
        text = text.replace("customers per time unit", f"customers {'an hour' if hourly else 'a second'}")
    return text


def _quantile_row(metrics: qsim.Metrics, q: float, with_units: bool) -> Row:
    meaning = f"{100 * q:g} % of the response times are below"
    return _asked_row(f"W({q:g})", _quantile(metrics, q), lambda time: value_text("W", time, with_units), meaning)


def _share_row(metrics: qsim.Metrics, time: float, of: str, with_units: bool) -> Row:
    name = f"P({of} > {value_text('W', time, with_units)})"
    return _asked_row(name, _share_over(metrics, time, of), "{:.6g}".format, OVER[of])


def _asked_row(name: str, known: WithEnds | None, show: Callable[[float], str], meaning: str) -> Row:
    if known is None:
        return name, "", "", UNKNOWN
    value, low, high = map(show, known)
    return name, value, "" if low == high else f"{low} .. {high}", meaning


def _share_over(metrics: qsim.Metrics, time: float, of: str) -> WithEnds | None:
    """The share of customers whose time is longer, and the ends of its interval; None where no formula gives it."""
    with suppress(qsim.NoFormulaError):
        return float(metrics.survival(time, of)), *metrics.survival_interval(time, of)
    return None


def _quantile(metrics: qsim.Metrics, q: float) -> WithEnds | None:
    """The quantile of the response time and the ends of its interval; None where no formula gives it."""
    with suppress(qsim.NoFormulaError):
        return metrics.quantile(q), *metrics.quantile_interval(q)
    return None


def metrics_document(metrics: qsim.Metrics, *, with_units: bool, asked: AskedTimes = NOTHING) -> dict[str, Any]:
    """The JSON document; ``time_unit`` is null where the numbers are in the user's own unit."""
    document = {**metrics.to_dict(), "time_unit": "s" if with_units else None}
    if asked.over:
        document["over"] = [_over_document(metrics, time) for time in asked.over]
    if asked.quantiles:
        found = [_quantile(metrics, q) or (None, None, None) for q in asked.quantiles]
        document["quantiles"] = [
            {"q": q, "W": value, "interval": None if value is None else [low, high]}
            for q, (value, low, high) in zip(asked.quantiles, found, strict=True)
        ]
    return document


def _over_document(metrics: qsim.Metrics, time: float) -> dict[str, Any]:
    found = {of: _share_over(metrics, time, of) for of in OVER}
    shares = {of: {"share": share[0], "interval": share[1:]} if share else None for of, share in found.items()}
    return {"time": time, **shares}


def solved(
    model: qsim.Network, *, with_units: bool, explain: bool = False, details: bool = False, asked: AskedTimes = NOTHING
) -> CommandResult:
    """The values of a model by formula, with their derivation if ``explain``. Raises as ``qsim.solve``."""
    from qsim.derivations import derive

    with hinting_at_units(with_units):
        metrics = qsim.solve(model)
    derivation = derive(model) if explain else None
    values = partial(metrics_text, metrics, with_units=with_units, asked=asked, details=details)
    document = partial(metrics_document, metrics, with_units=with_units, asked=asked)
    if derivation is None:
        return CommandResult(values, document)
    return CommandResult(
        lambda: f"{values()}\n\nhow this comes about:\n{derivation.text(_shown(with_units))}",
        lambda: {**document(), "derivation": derivation_document(derivation)},
    )


def _shown(with_units: bool) -> Callable[[str, float], str] | None:
    """Formats values by their names; None for six digits."""
    return (lambda name, value: value_text(name, value, True)) if with_units else None


def value_text(name: str, value: float, with_units: bool) -> str:
    """One of the values by name, with its unit where ``with_units``: hours for what takes hours."""
    units = {"throughput": _rate, "W": _time, "Wq": _time} if with_units else {}
    return units[name](value, 4) if name in units else f"{value:.6g}"


def _time(seconds: float, digits: int) -> str:
    if not 2 * MINUTE <= seconds < math.inf:
        return format_duration(seconds, digits)
    scale, unit = (HOUR, "h") if seconds >= HOUR else (MINUTE, "min")
    return f"{significant(seconds / scale, digits)} {unit}"


def _rate(per_second: float, digits: int) -> str:
    if not 0 < per_second < 1 / MINUTE:
        return format_rate(per_second, digits)
    return f"{significant(per_second * HOUR, digits)} /h"


def derivation_document(derivation: Derivation) -> dict[str, Any]:
    """The same in JSON; a step's ``name`` is the key of the value that it ends in, "" where there is none."""
    from qsim.derivations import Remark

    lines = [{"remark": line.text} if isinstance(line, Remark) else asdict(line) for line in derivation.lines]
    return {"method": derivation.method, "lines": lines}
