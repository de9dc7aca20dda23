"""``qsim trace``: the table that one fills in by hand, customer by customer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import qsim
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.failures import wrong_usage
from calibrate.cli.options import Page, conflicts, flag, option, requires
from calibrate.cli.parsing import Quantity
from calibrate.cli.theory.queue_models import FollowedOptions, ModelName, QueueArguments, queue_of
from calibrate.cli.theory.solve import value_text
from qsim.result import described_table, table

if TYPE_CHECKING:
    from calibrate.report.view import Section
    from qsim._types import FloatArray
    from qsim.engines.trace import Event, PathAverages, SamplePath

FOLLOWED = ("mm1", "mmc", "md1", "mdc", "mg1", "mgc", "gg1", "ggc")

GIVEN = "--gaps and --times say when each customer comes and how long it takes"
MOST_PRINTED, MOST_LISTED = 1000, 10_000
_LARGEST_SUM = 2.0**53  # beyond it sums of last decimals are not exact


@parsing.parser
def times_in_order(text: str) -> tuple[Quantity, ...]:
    """``2,1,4`` or ``20us,5us``, in order."""
    if ".." in text:
        raise ValueError(f"{text!r} holds a range; write every time, like 2,1,4")
    times = tuple(parsing.time(part) for part in text.split(","))
    if (least := min(t.value for t in times)) < 0:
        raise ValueError(f"{least:g} is below zero; write times like 2,1,4")
    return times


@requires("--gaps", "--times", because="each customer has a gap and a service time")
@requires("--times", "--gaps", because="each customer has a gap and a service time")
@conflicts("--gaps", "--customers", "--seed", "--arrival-rate", "--service-rate", "--service", because=GIVEN)
def trace(
    model: ModelName,
    options: FollowedOptions,
    customers: int | None = option("N", parsing.whole, "Number of customers.", shown="10"),
    seed: int | None = option("N", parsing.whole, "Seed of the random times.", shown="1"),
    gaps: Any = option("TIME,...", times_in_order, "Your own times between arrivals; with --times."),
    times: Any = option("TIME,...", times_in_order, "Your own service times, one for each gap."),
    events: bool = flag("--events", "Also list every arrival, start and finish."),
    *,
    page: Page,
) -> CommandResult:
    """Work through a queue customer by customer: one table row each, from arrival to finish.

    The times are random, as in qsim simulate, unless you give your own with --gaps and --times. Below the table are its
    averages, the model's long-run values to compare them with, and Little's law. --report draws a strip for each
    customer: its wait, then its service. Customers are served in order of arrival, and any number can wait.

    \b
    Models: mm1, mmc, md1, mdc, mg1, mgc, gg1, ggc (see qsim solve --help).

    \b
    Examples:
    qsim trace mm1 --arrival-rate .8 --service-rate 1 --customers 10
    qsim trace mmc --arrival-rate 20k/s --service 80us --servers 2 --customers 8 --events
    qsim trace mm1 --gaps 0,2,1,4 --times 3,3,1,2 --report strip.html
    """
    given = options.of(model)
    if model not in FOLLOWED:
        raise wrong_usage(f"{model} is not followed by hand; there are {', '.join(FOLLOWED)}")
    with_units = given.with_units
    if gaps is not None and times is not None:
        with_units = any(t.has_unit for t in (*gaps, *times))
        given = _of_given_times(given, gaps, times)
    queue: Any = queue_of(given)
    count, seed = 10 if customers is None else customers, 1 if seed is None else seed
    count = count if gaps is None else len(gaps)
    if count > MOST_LISTED:
        raise wrong_usage(f"{count} customers are too many for a table; follow at most {MOST_LISTED}, or simulate")

    from qsim.engines.trace import averages as averages_of
    from qsim.engines.trace import draw, followed_queue
    from qsim.engines.trace import events as listed

    seen = followed_queue(queue)
    if gaps is not None and times is not None:
        steady = None
        own_gaps, own_times = ([t.value for t in typed] for typed in (gaps, times))
        scale = scale_of([*own_gaps, *own_times], with_units)
        between, needed = scale.steps(own_gaps), scale.steps(own_times)
        origin, drawn = "given times", dict[str, Any](seed=None, rounded_to=None)
    else:
        steady = _steady(queue)
        scale = scale_for(seen.service.mean, with_units)
        between, needed = (scale.steps(v) for v in draw(queue, count, seed))
        if not between.sum() < _LARGEST_SUM:
            raise wrong_usage("arrival and service times differ too much to tabulate")
        origin = f"seed {seed}, times rounded to {scale.with_unit(scale.step)}"
        drawn = {"seed": seed, "rounded_to": scale.step}
    steps = qsim.trace(queue, between, needed)
    arrival, start, finish = (scale.times(v) for v in (steps.arrival, steps.start, steps.finish))
    path = replace(steps, arrival=arrival, start=start, finish=finish)
    happened = listed(path)
    averages = averages_of(path, seen.servers)
    rows = customer_rows(path, scale.times(between), scale.times(needed))

    def text() -> str:
        if count > MOST_PRINTED:
            raise wrong_usage(f"{count} customers are too many to print; print at most {MOST_PRINTED}, or use --json")
        heading = f"{queue.kendall}, {origin}{f', in {scale.unit}' if scale.unit else ''}"
        blocks = [heading, customers_table(rows, scale, servers=seen.servers)]
        blocks += [events_table(happened, scale)] if events else []
        return "\n\n".join([*blocks, averages_table(averages, steady, scale, with_units=with_units)])

    def document() -> dict[str, Any]:
        return {
            "model": queue.kendall,
            "time_unit": "s" if with_units else None,
            **drawn,
            "customers": rows,
            "events": [{**asdict(e), "customer": e.customer + 1} for e in happened],
            "averages": asdict(averages),
            "long_run": None if steady is None else steady.to_dict(),
        }

    return CommandResult(text, document, page.write(lambda: [_section(queue.kendall, origin, path, scale)]))


def _section(kendall: str, origin: str, path: SamplePath, scale: TraceScale) -> Section:
    from calibrate.report.gantt import gantt_view
    from calibrate.report.view import Section

    return Section(f"{kendall}, {origin}", [gantt_view(path, scale.factor, scale.unit)], name="trace")


def _of_given_times(typed: QueueArguments, gaps: Sequence[Quantity], times: Sequence[Quantity]) -> QueueArguments:
    """The queue of customers whose times are given, which needs no rates: only how many servers there are counts."""
    if len(gaps) != len(times):
        raise wrong_usage(f"--times lists {len(times)} customers and --gaps {len(gaps)}; list as many")
    if typed.model not in ("mm1", "mmc"):
        raise wrong_usage(f"--gaps and --times go with mm1, or with mmc and --servers, not with {typed.model}")
    one = Quantity(1.0, False)
    return QueueArguments(typed.model, {"arrival-rate": one, "service-rate": one, "servers": typed.values["servers"]})


def _steady(queue: qsim.Network) -> qsim.Metrics | None:
    try:
        return qsim.solve(queue)
    except (qsim.NoFormulaError, qsim.UnstableQueueError):
        return None


_DIGITS = 3  # of a mean service time
_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COLUMNS = ("gap", "arrival", "found", "start", "wait", "service", "finish", "response")


@dataclass(frozen=True)
class TraceScale:
    """The format of times: divided by ``factor``, in ``unit`` ("" for the user's own unit)."""

    factor: float
    unit: str
    decimals: int

    @property
    def step(self) -> float:
        """The value of the last decimal, in the time unit of the model."""
        return float(self.factor * 10.0**-self.decimals)

    def text(self, value: float) -> str:
        """A time, without its unit."""
        return f"{value / self.factor:.{self.decimals}f}"

    def with_unit(self, value: float) -> str:
        """A time and its unit."""
        return f"{self.text(value)} {self.unit}".strip()

    def steps(self, times: Sequence[float] | FloatArray) -> FloatArray:
        """``times`` as whole numbers of last decimals, so that sums of them are exact."""
        import numpy as np

        whole: FloatArray = np.rint(np.asarray(times) / self.factor * 10.0**self.decimals)
        return whole

    def times(self, steps: FloatArray) -> FloatArray:
        """The times of these numbers of steps; equal ones stay equal."""
        return steps / 10.0**self.decimals * self.factor


def scale_for(mean: float, with_units: bool) -> TraceScale:
    """A scale on which ``mean`` has three digits or four."""
    factor, unit = _unit_for(mean) if with_units else (1.0, "")
    return TraceScale(factor, unit, max(0, _DIGITS - 1 - math.floor(math.log10(mean / factor))))


def scale_of(values: Sequence[float], with_units: bool) -> TraceScale:
    """A scale on which no digit of ``values`` is lost, six decimals at most."""
    factor, unit = _unit_for(min((v for v in values if v > 0), default=1.0)) if with_units else (1.0, "")
    scaled = [v / factor for v in values]
    exact = (d for d in range(6) if all(math.isclose(round(v, d), v, abs_tol=1e-9) for v in scaled))
    return TraceScale(factor, unit, next(exact, 6))


def _unit_for(value: float) -> tuple[float, str]:
    return next(((s, u) for s, u in _UNITS if value >= s * 0.9995), _UNITS[-1])


def customer_rows(path: SamplePath, gaps: FloatArray, services: FloatArray) -> list[dict[str, Any]]:
    """A row for each customer; customers and servers are counted from 1, as at the board."""
    frame = path.to_frame().reset_index().rename(columns={"present": "found"}).assign(gap=gaps, service=services)
    frame[["customer", "server"]] += 1
    rows = frame[["customer", *_COLUMNS, "server"]].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]


def customers_table(rows: Sequence[dict[str, Any]], scale: TraceScale, *, servers: int) -> str:
    """The table that one fills in by hand; the server's number where there are several."""
    header = ["customer", *_COLUMNS, *(["server"] if servers > 1 else [])]
    cells = [[str(row[c]) if isinstance(row[c], int) else scale.text(row[c]) for c in header] for row in rows]
    return table(header, cells, left=0)


def events_table(happened: Sequence[Event], scale: TraceScale) -> str:
    """The events in order, with the numbers present and waiting right after each."""
    rows = [(scale.text(e.time), str(e.customer + 1), e.what, str(e.present), str(e.waiting)) for e in happened]
    return table(("time", "customer", "event", "present", "waiting"), rows, left=0)


_AVERAGES = (
    ("throughput", "X", "customers per time unit"),
    ("utilization", "rho", "share of time that a server is busy"),
    ("L", "L", "mean number present; table: from the events"),
    ("W", "W", "mean response; table: from the customers"),
    ("Lq", "Lq", "mean number waiting"),
    ("Wq", "Wq", "mean wait"),
    ("p_wait", "P(wait)", "share of those who wait"),
)


def averages_table(found: PathAverages, steady: qsim.Metrics | None, scale: TraceScale, *, with_units: bool) -> str:
    """The averages, the long run next to them where a formula gives it, and Little's law on the table."""

    def cells(source: PathAverages | qsim.Metrics) -> list[str]:
        return [value_text(name, getattr(source, name), with_units) for name, *_ in _AVERAGES]

    columns = {"table": cells(found), **({} if steady is None else {"long run": cells(steady)})}
    rows = [(symbol, *(c[i] for c in columns.values()), meaning) for i, (_, symbol, meaning) in enumerate(_AVERAGES)]
    averages = described_table(("", *columns), rows)
    x, w = value_text("throughput", found.throughput, with_units), value_text("W", found.W, with_units)
    law = (
        f"Little's law on this table, from zero to {scale.with_unit(found.span)}: X * W = {x} * {w} = "
        f"{found.throughput * found.W:.6g}, and L = {found.L:.6g}"
    )
    return f"{averages}\n{law}"
