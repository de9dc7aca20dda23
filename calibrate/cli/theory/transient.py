"""``qsim transient``: a queue as time passes, by formula and by simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import option
from calibrate.cli.options import AsJson
from calibrate.cli.parsing import Quantity
from calibrate.cli.progress import simulating
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.queue_models import ModelName, queue_of
from calibrate.cli.theory.trace import TypedTimes, times_in_order

if TYPE_CHECKING:
    from calibrate.report.lines import Line
    from qsim import OverTime

HELP = """Show how many are present as time passes, from a known start, with arrivals that may vary.

By formula (uniformisation) for mm1, mmc, mm1k, mmck, mminf and mmcn; --simulate adds the mean over independent runs
with its interval, and takes any service. --rates lets the arrival rate step: each TIME=RATE holds from there on.

\b
Examples:
qsim transient mm1 --arrival-rate 0.8 --service-rate 1 --at 1,10,100
qsim transient mmc --service-rate 12 --servers 2 --rates 0=5,9=40,10=5 --until 13 --out morning.html
qsim transient mg1 --service lognormal:mean=80us,scv=2 --arrival-rate 10k/s --until 5ms --simulate 2000
"""

_DRAWN = 121
_NO_RATE = Quantity(1.0, False)


@dataclass(frozen=True)
class TypedRates:
    """A rate for each time from which it holds."""

    steps: Mapping[float, float]
    has_unit: bool


@parsing.parser
def steps(text: str) -> TypedRates:
    """``0=5,9=40,10=5`` or ``0s=5/s,9s=40/s``."""
    found: dict[float, float] = {}
    units = False
    for part in parsing.words(text):
        time, equals, rate = part.partition("=")
        if not equals:
            raise ValueError(f"invalid step {part!r}: expected TIME=RATE, as in 0=5,9=40,10=5")
        at, much = parsing.time(time.strip()), parsing.rate(rate.strip())
        if at.value in found:
            raise ValueError(f"{time.strip()} is given twice; give one rate from each time on")
        if much.value < 0:
            raise ValueError(f"the rate {rate.strip()} from {time.strip()} on must be zero or positive")
        found[at.value] = much.value
        units |= at.has_unit or much.has_unit
    if min(found) > 0:
        raise ValueError(f"{text!r} says nothing of the time before {min(found):g}; begin it with 0=RATE")
    return TypedRates(found, units)


def transient(
    model: ModelName,
    options: q.QueueOptions,
    at: TypedTimes | None = option("TIME,...", times_in_order, "These times, as 1,10,100."),
    until: Quantity | None = option("TIME", parsing.time, "From 0 to this time, evenly."),
    start: int = option("N", parsing.whole, "How many are there at time 0.", default=0, shown=True),
    rates: TypedRates | None = option(
        "TIME=RATE,...", steps, "Arrival rates from a time on, as 0=5,9=40,10=5, in place of --arrival-rate."
    ),
    simulate: int | None = option(
        "N", parsing.whole, "Also simulate N independent runs, with 95 % intervals at each time."
    ),
    seed: int = option("N", parsing.whole, "Seed of --simulate.", default=1, shown=True),
    out: Path | None = option(
        "FILE",
        parsing.path,
        "The plot: .html, or an image, .png, .svg, .pdf (needs pip install 'qsim-queue\\[plots]').",
    ),
    csv: Path | None = option("FILE", parsing.path, "The data as CSV (a new file)."),
    as_json: AsJson = False,
) -> None:
    """Solve the queue over time, simulate it where asked, print or draw it."""
    import numpy as np

    import qsim
    from calibrate.cli.theory.plot import check_out, write_view
    from calibrate.report.lines import view_of

    if (at is None) == (until is None):
        raise wrong_usage("give either --at, some times as 1,10,100, or --until, the last one")
    if until is not None and not until.value > 0:
        raise wrong_usage(f"--until must be above 0, not {until.value:g}")
    check_out(out, csv, None)
    values = options.values()
    if rates is not None:
        if values["arrival-rate"] is not None:
            raise wrong_usage("--rates and --arrival-rate say the same thing; give one of them")
        values["arrival-rate"] = _NO_RATE
    given = q.Given(model, values)
    queue = queue_of(given)
    in_seconds = given.with_units or any(part is not None and part.has_unit for part in (at, until, rates))
    times = np.array(at.values) if at is not None else np.linspace(0.0, until.value, _DRAWN)  # type: ignore[union-attr]
    varying: Any = None if rates is None else dict(rates.steps)
    found: list[OverTime] = []
    try:
        found.append(qsim.transient(queue, times, start, varying))
    except qsim.NoFormulaError as error:
        if simulate is None:
            raise wrong_usage(f"{error.reason}; add --simulate 1000") from error
    if simulate is not None:
        with simulating() as bar:
            run = qsim.simulate_over_time(
                queue, times, start, varying, replications=simulate, seed=seed, progress=bar.share
            )
        found.append(run)
    title = f"{queue.kendall} over time"
    name = "transient" if out is None else out.stem
    view = view_of(
        _lines(found, varies=varying is not None),
        "t",
        "time (s)" if in_seconds else "time",
        title,
        name,
        in_seconds=in_seconds,
        log_x=False,
        log_y=False,
    )
    caption = "" if simulate is None else f"A shade is the 95 % interval of the mean over {simulate:,} runs."
    if not as_json:
        say("\n".join(map(repr, found)))
    write_view(replace(view, caption=caption), out, csv, "t", as_json=as_json)


def _lines(found: list[OverTime], *, varies: bool) -> list[Line]:
    from calibrate.report.lines import Line

    lines = []
    for one in found:
        name = "simulated" if one.kind == "simulated" else "formula"
        lines.append(Line(name, "L", "number", one.times, one.L, one.low, one.high))
        lines.append(Line(name, "Lq", "number", one.times, one.Lq))
    if varies:
        lines.append(Line("arrival rate", "arrivals", "rate", found[0].times, found[0].arrival_rate))
    return lines
