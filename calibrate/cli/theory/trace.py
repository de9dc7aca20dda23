"""``qsim trace``: the table that one fills in by hand, customer by customer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import wrong_usage
from calibrate.cli.option_groups import flag, option
from calibrate.cli.options import AsJson
from calibrate.cli.parsing import Quantity
from calibrate.cli.report_files import write_new
from calibrate.cli.theory import queue_options as q
from calibrate.cli.theory.queue_models import ModelName, queue_of
from measure.units import parse_duration, parse_list

if TYPE_CHECKING:
    from qsim import Metrics, Open

FOLLOWED = ("mm1", "mmc", "md1", "mdc", "mg1", "mgc", "mx1", "gg1", "ggc")

HELP = f"""Follow customers through a queue: arrival, start, finish, wait, and how many each one finds.

Times are drawn as qsim simulate draws them, or given with --gaps and --times. The averages below the table are its own,
beside those of the long run. First come, first served, without a limit on places.

\b
Models: {", ".join(FOLLOWED)} (see qsim solve --help).

\b
Examples:
qsim trace mm1 --arrival-rate .8 --service-rate 1 --customers 10
qsim trace mmc --arrival-rate 20k/s --service-time 80us --servers 2 --customers 8 --events
qsim trace mm1 --gaps 0,2,1,4 --times 3,3,1,2
"""

MOST_PRINTED, MOST_LISTED = 1000, 10_000
_LARGEST_SUM = 2.0**53  # of last decimals, which are no whole numbers any more beyond


@dataclass(frozen=True)
class TypedTimes:
    """Times as typed, in seconds where one of them carries a unit."""

    values: tuple[float, ...]
    has_unit: bool


@parsing.parser
def times_in_order(text: str) -> TypedTimes:
    """``2,1,4`` or ``20us,5us``, in order."""
    parts = [p.strip() for p in text.split(",") if p.strip()]
    if any(".." in p for p in parts):
        raise ValueError(f"{text!r} holds a range; write every time, like 2,1,4")
    values = parse_list(text, "list of times", parse_duration)
    if min(values) < 0:
        raise ValueError(f"{min(values):g} is below zero; write times like 2,1,4")
    return TypedTimes(tuple(values), any(p[-1:].isalpha() for p in parts))


def trace(
    model: ModelName,
    options: q.FollowedOptions,
    customers: int | None = option("N", parsing.whole, "How many are followed.", shown="10"),
    seed: int | None = option("N", parsing.whole, "Seed of what is drawn.", shown="1"),
    gaps: TypedTimes | None = option(
        "TIME,...", times_in_order, "Times between arrivals, instead of drawn ones.", "--gaps"
    ),
    times: TypedTimes | None = option(
        "TIME,...", times_in_order, "The service times, one for each of --gaps.", "--times"
    ),
    events: bool = flag("--events", "Also print the list of events."),
    csv: Path | None = option("FILE", parsing.path, "Also write the table as CSV (a new file).", "--csv"),
    as_json: AsJson = False,
) -> None:
    """Build the queue, draw or take the times, follow the customers, print the table."""
    values = options.values()
    if model not in FOLLOWED:
        raise wrong_usage(f"{model} is not followed by hand; there are {', '.join(FOLLOWED)}")
    drawn = gaps is None and times is None
    if not drawn:
        given, with_units = _of_given_times(model, values, gaps, times, {"customers": customers, "seed": seed})
    else:
        given = q.Given(model, values)
        with_units = given.with_units
    queue: Any = queue_of(given)
    count, seed = 10 if customers is None else customers, 1 if seed is None else seed
    _check_length(count if gaps is None else len(gaps.values), as_json=as_json)

    from calibrate.cli.theory import trace_text as text
    from qsim import trace as followed
    from qsim.engines.by_hand import draw, totals
    from qsim.engines.by_hand import events as listed
    from qsim.engines.trace import SamplePath

    if gaps is not None and times is not None:
        scale = text.scale_of([*gaps.values, *times.values], with_units)
        between, needed = scale.steps(gaps.values), scale.steps(times.values)
    else:
        scale = text.scale_for(queue.service.mean, with_units)
        between, needed = (scale.steps(v) for v in draw(queue, count, seed))
        if not between.sum() < _LARGEST_SUM:
            raise wrong_usage("so few customers come that no table holds both their arrivals and their services")
    steps = followed(queue, between, needed)
    path = SamplePath(scale.times(steps.arrival), scale.times(steps.start), scale.times(steps.finish), steps.server)
    happened = listed(path)
    averages = totals(path, queue.servers, happened)
    steady = _steady(queue) if drawn else None
    rows = text.customer_rows(path, scale.times(between), scale.times(needed))
    written = None if csv is None else write_new(csv, _csv(rows, with_units=with_units), "--csv")
    if as_json:
        print_json({
            "model": queue.kendall, "time_unit": "s" if with_units else None, "seed": seed if drawn else None,
            "rounded_to": scale.step if drawn else None, "customers": rows, "events": text.event_rows(happened),
            "averages": asdict(averages), "long_run": None if steady is None else steady.to_dict(), "csv": written,
        })  # fmt: skip
        return
    unit = f", in {scale.unit}" if scale.unit else ""
    origin = f"seed {seed}, times rounded to {scale.with_unit(scale.step)}{unit}" if drawn else f"given times{unit}"
    blocks = [f"{queue.kendall}, {origin}", text.customers_table(rows, scale, servers=queue.servers)]
    blocks += [text.events_table(happened, scale)] if events else []
    blocks.append(text.averages_table(averages, steady, scale, with_units=with_units))
    say("\n\n".join(blocks))
    if written is not None:
        say(f"\ntable: {written}")


def _check_length(customers: int, *, as_json: bool) -> None:
    """CommandError where the table would be too long to look at, or to hold."""
    if customers > MOST_LISTED:
        raise wrong_usage(f"{customers} customers are too many for a table; follow at most {MOST_LISTED}, or simulate")
    if customers > MOST_PRINTED and not as_json:
        raise wrong_usage(f"{customers} customers are too many to print; print at most {MOST_PRINTED}, or use --json")


def _of_given_times(
    model: str, values: Mapping[str, Any], gaps: TypedTimes | None, times: TypedTimes | None, drawing: Mapping[str, Any]
) -> tuple[q.Given, bool]:
    """The queue of customers whose times are given, which needs no rates: only how many servers there are counts."""
    if gaps is None or times is None:
        missing, there = ("--times", "--gaps") if times is None else ("--gaps", "--times")
        raise wrong_usage(f"{missing} is missing: {there} lists one half of what happens to each customer")
    others = {**drawing, **{k: v for k, v in values.items() if k != "servers"}}
    if meaningless := [f"--{name}" for name, value in others.items() if value is not None]:
        raise wrong_usage(f"{' and '.join(meaningless)} means nothing beside --gaps and --times, which say all")
    if len(gaps.values) != len(times.values):
        raise wrong_usage(f"--times lists {len(times.values)} customers and --gaps {len(gaps.values)}; list as many")
    if model not in ("mm1", "mmc"):
        raise wrong_usage(f"--gaps and --times go with mm1, or with mmc and --servers, not with {model}")
    one = Quantity(1.0, False)
    given = q.Given(model, {"arrival-rate": one, "service-rate": one, "servers": values["servers"]})
    return given, gaps.has_unit or times.has_unit


def _steady(queue: Open) -> Metrics | None:
    """The long run by formula, where there is one."""
    import qsim

    try:
        return qsim.solve(queue)
    except (qsim.NoFormulaError, qsim.UnstableQueueError):
        return None


def _csv(rows: list[dict[str, Any]], *, with_units: bool) -> str:
    import pandas as pd

    names = {c: f"{c}_s" for c, v in rows[0].items() if isinstance(v, float)} if with_units else {}
    return str(pd.DataFrame(rows).rename(columns=names).to_csv(index=False, lineterminator="\n"))
