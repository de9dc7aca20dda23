"""``qsim change OLD NEW``: whether a device became slower or faster, at every load that both sweeps have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import DataSource, known_series, of_each, print_findings
from calibrate.cli.failures import CHECK_FAILED, UNDECIDED, CommandError
from calibrate.cli.option_groups import option

if TYPE_CHECKING:
    from calibrate import Change
    from measure import Sweep

HELP = """Say whether a device became slower or faster between two sweeps, at every load that both have.

The verdict is slower, faster, same or undecided, and says what would have been seen. No model is fitted. Several NEW
are each compared with OLD, in one table.

\b
Examples:
qsim change old-firmware/ new-firmware/
qsim change before.csv after.csv --series read --fail-on slower:5%
qsim change kernel-6.1/ kernel-6.6/ kernel-6.12/
"""

SLOWER = "slower:"
LEVEL = 0.95
ORDER = ("slower", "undecided", "faster", "same")
"""The verdict of several is the first of these that any has."""


@parsing.parser
def slower(text: str) -> float:
    """``slower:5%``, as a share."""
    try:
        if not text.startswith(SLOWER):
            raise ValueError
        return float(parsing.share(text.removeprefix(SLOWER)))
    except (ValueError, typer.BadParameter) as error:
        raise ValueError(f"invalid check {text!r}: expected a share between 0 and 100 %, as slower:5%") from error


@dataclass(frozen=True)
class Compared:
    """A curve of one new sweep after the old one."""

    new: str
    change: Change


def change(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The earlier sweep: a directory or a file.")],
    new: Annotated[list[str], typer.Argument(metavar="NEW...", help="The later one, or several.")],
    columns: o.Columns = None,
    series: o.Series = None,
    fail_on: float | None = option(
        "CHECK", slower, "Exit with 3 where it is slower by more, as slower:5%; with 4 where that is undecided."
    ),
    as_json: o.AsJson = False,
) -> None:
    """Compare every curve that both have; exit with 3 or 4 where it is slower than allowed, or may be."""
    found = _compared(old, new, columns, series)
    worst = min(found, key=lambda one: (ORDER.index(one.change.verdict), one.change.overall.change_pct))
    document = {
        "old": old,
        "new": worst.new,
        **worst.change.to_dict(),
        "comparisons": [{"new": one.new, **one.change.to_dict()} for one in found],
    }
    print_findings(list(dict.fromkeys(f for one in found for f in one.change.findings)))
    if not as_json:
        say(_text(old, found))
    if fail_on is not None:
        _check(found, fail_on, document)
    if as_json:
        print_json(document)


def _compared(old: str, new: Sequence[str], columns: str | None, series: str | None) -> list[Compared]:
    """Every curve of each of ``new`` that ``old`` has, too; the intervals of all hold together."""
    from measure.errors import DataError

    before = DataSource([old], None, columns).load()
    later = {name: DataSource([name], None, columns).load() for name in new}
    both = {name: [s for s in known_series(sweep, series) if s in before.series] for name, sweep in later.items()}
    for name, curves in both.items():
        if not curves:
            raise DataError(
                f"{name} and {old} have no curve of the same name; they have: "
                f"{', '.join(later[name].series)}; and {', '.join(before.series)}"
            )
    level = 1 - (1 - LEVEL) / sum(map(len, both.values()))
    found: list[Compared] = []
    for name, curves in both.items():
        made, refused = of_each(curves, partial(_one, before, later[name], level))
        for reason in refused.values():
            warn(f"not compared: {reason}")
        found += [Compared(name, one) for one in made.values()]
    return found


def _one(before: Sweep, after: Sweep, level: float, series: str) -> Change:
    from calibrate.changes.change import change as change_of

    return change_of(before, after, series=series, level=level)


def _text(old: str, found: Sequence[Compared]) -> str:
    """The verdict, what would have been seen and the loads of one comparison; of several a table."""
    from calibrate.changes.answer import headline, load_table, seen, summary_row

    curves = len({one.change.series for one in found}) > 1
    if len({one.new for one in found}) > 1:
        rows = [summary_row(f"{c.new}: {c.change.series}" if curves else c.new, c.change) for c in found]
        least = max(found, key=lambda one: one.change.detectable_pct or float("inf"))
        return f"{table(('AFTER ' + old, 'TIMES AS FAST', ''), rows, left=(True, False, True))}\n\n{seen(least.change)}"
    parts = []
    for one in found:
        name = f"{one.change.series}: " if curves else ""
        parts.append(f"{name}{headline(one.change)}\n{seen(one.change)}\n\n{load_table(one.change)}")
    return "\n\n".join(parts)


def _check(found: Sequence[Compared], limit: float, document: dict[str, Any]) -> None:
    from calibrate.changes.answer import headline

    asked = f"--fail-on slower:{100 * limit:g}%"
    decided = [(one, one.change.slower_by(limit)) for one in found]
    for one, slower_now in decided:
        if slower_now:
            raise CommandError(f"{one.change.series}: {headline(one.change)}; {asked}", CHECK_FAILED, document)
    for one, slower_now in decided:
        if slower_now is None:
            reason = f"a loss of {100 * limit:g} % cannot be excluded"
            raise CommandError(f"{one.change.series}: {reason}; {asked}", UNDECIDED, document)
