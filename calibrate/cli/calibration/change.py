"""``qsim change OLD NEW``: whether idle latency, peak or knee moved by more than the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import DataSource, known_series, of_each
from calibrate.cli.failures import CHECK_FAILED, CommandError
from calibrate.cli.option_groups import option
from measure.units import counted, format_duration, format_rate, plain_number

if TYPE_CHECKING:
    from calibrate.prediction.change import Change

HELP = """Say what changed between two sweeps of one device: idle latency, peak and knee, with 90 % intervals.

No model is fitted: the ratio of what was measured at the same loads, with the noise of repeats.

\b
Examples:
qsim change old-firmware/ new-firmware/
qsim change before.csv after.csv --series read --fail-on slower:5%
"""

SLOWER = "slower:"


@parsing.parser
def slower(text: str) -> float:
    """``slower:5%``, as a share."""
    try:
        if not text.startswith(SLOWER):
            raise ValueError
        return float(parsing.share(text.removeprefix(SLOWER)))
    except (ValueError, typer.BadParameter) as error:
        raise ValueError(f"invalid check {text!r}: expected a share between 0 and 100 %, as slower:5%") from error


def change(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The earlier sweep: a directory or a file.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The later one.")],
    columns: o.Columns = None,
    series: o.Series = None,
    fail_on: float | None = option("CHECK", slower, "Exit with 3 where a figure is slower by more, as slower:5%."),
    as_json: o.AsJson = False,
) -> None:
    """Print what moved of every curve that both have; exit with 3 where it is slower than allowed."""
    from calibrate.points import points_of
    from calibrate.prediction.change import changes
    from measure.errors import DataError

    before, after = DataSource([old], None, columns).load(), DataSource([new], None, columns).load()
    both = [name for name in known_series(after, series) if name in before.series]
    if not both:
        raise DataError(
            f"{new} and {old} have no curve of the same name; they have: "
            f"{', '.join(after.series)}; and {', '.join(before.series)}"
        )
    found, refused = of_each(both, lambda name: changes(points_of(before, name), points_of(after, name)))
    for reason in refused.values():
        warn(f"not compared: {reason}")
    worst = max(one.worse for made in found.values() for one in made)
    document = {
        "old": old,
        "new": new,
        "series": [{"name": name, "changes": [_document(c) for c in made]} for name, made in found.items()],
        "worst": worst,
    }
    if not as_json:
        say(_text(new, old, found))
    if fail_on is not None and worst > fail_on:
        raise CommandError(f"{_slowest(found)}; --fail-on slower:{100 * fail_on:g}%", CHECK_FAILED, document)
    if as_json:
        print_json(document)


def _document(change: Change) -> Mapping[str, Any]:
    names = ("quantity", "unit", "before", "after", "ratio", "low", "high", "moved", "worse")
    return {name: getattr(change, name) for name in names}


def _text(new: str, old: str, found: Mapping[str, Sequence[Change]]) -> str:
    moved = [c for made in found.values() for c in made if c.moved and c.quantity != "knee"]
    worse = sum(bool(c.worse) for c in moved)
    answer = (
        f"{counted(worse, 'figure')} worse, {len(moved) - worse} better"
        if moved
        else "nothing moved by more than the noise"
    )
    rows = [(name, c.quantity, *_cells(c)) for name, made in found.items() for c in made]
    return f"{new} after {old}: {answer}\n\n{table(('CURVE', '', 'OLD', 'NEW', 'CHANGE', ''), rows, left=2)}"


def _cells(change: Change) -> tuple[str, ...]:
    verdict = "moved" if change.moved else "within the noise"
    return _value(change, change.before), _value(change, change.after), _ratio(change), verdict


def _value(change: Change, value: float) -> str:
    if change.unit == "s":
        return format_duration(value)
    return format_rate(value) if change.unit == "1/s" else plain_number(value, 2)


def _ratio(change: Change) -> str:
    middle, low, high = (f"{100 * (ratio - 1):+.1f}" for ratio in (change.ratio, change.low, change.high))
    return f"{middle} % ({low} to {high})"


def _slowest(found: Mapping[str, Sequence[Change]]) -> str:
    name, change = max(((n, c) for n, made in found.items() for c in made), key=lambda one: one[1].worse)
    return f"{name}: {change.quantity} {_ratio(change)}"
