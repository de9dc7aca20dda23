"""``qsim change OLD NEW``: whether a device became slower or faster, at every load that both sweeps have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

import calibrate
import measure
from calibrate.cli import options as o
from calibrate.cli import parsing
from calibrate.cli.console import CommandResult
from calibrate.cli.data import DataSource, known_series, of_each, print_findings
from calibrate.cli.failures import CHECK_FAILED, UNDECIDED, CommandError
from calibrate.cli.options import option
from qsim.result import table

if TYPE_CHECKING:
    from calibrate import Change

SLOWER = "slower:"
LEVEL = 0.95
ORDER = ("slower", "undecided", "faster", "same")
"""Verdicts by precedence: that of several comparisons is the first that any has."""


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
    new: Annotated[list[str], typer.Argument(metavar="NEW...", help="The later one, or several.")],
    columns: o.Columns = None,
    series: o.Series = None,
    again: list[str] | None = option("DIR", None, "One more sweep of the old state; repeatable.", "--old"),
    at: parsing.Numbers | None = option("LOADS", parsing.used_loads, "Only these loads, as 16,32."),
    fail_on: float | None = option(
        "CHECK", slower, "Exit with 3 where it is slower by more, as slower:5%; with 4 where that is undecided."
    ),
) -> CommandResult:
    """Say whether a device became slower or faster between two sweeps, at every load that both have.

    The verdict is slower, faster, same or undecided, and says what would have been seen. No model is fitted. Several
    NEW are each compared with OLD, in one table. One sweep does not show what moves between sweeps: some percent are
    assumed, and --old measures them.

    \b
    Examples:
    qsim change old-firmware/ new-firmware/
    qsim change before.csv after.csv --series read --fail-on slower:20%
    qsim change old1/ new/ --old old2/ --old old3/ --at 16,32
    qsim change kernel-6.1/ kernel-6.6/ kernel-6.12/
    """
    try:
        found = _compared([old, *(again or [])], new, columns, series, at or ())
    except measure.DataError as error:
        from calibrate.changes.change import NotMeasuredError

        if fail_on is None or not isinstance(error.__cause__, NotMeasuredError):
            raise
        raise CommandError(str(error), UNDECIDED) from error
    name, worst = min(found, key=lambda pair: (ORDER.index(pair[1].verdict), pair[1].overall.change_pct))
    print_findings(list(dict.fromkeys(f for _, one in found for f in one.findings)))
    return CommandResult(
        lambda: _text(old, found),
        lambda: {
            "old": old,
            **({"more_old": again} if again else {}),
            "new": name,
            **worst.to_dict(),
            "comparisons": [{"new": name, **one.to_dict()} for name, one in found],
        },
        failed=None if fail_on is None else _failing([one for _, one in found], fail_on),
    )


def _compared(
    old: Sequence[str], new: Sequence[str], columns: str | None, series: str | None, at: Sequence[float]
) -> list[tuple[str, Change]]:
    """The changes of every curve common to all ``old`` and each of ``new``, named by the new one; joint intervals."""
    before = {name: DataSource([name], None, columns).load() for name in old}
    later = {name: DataSource([name], None, columns).load() for name in new}
    both = {
        name: [s for s in known_series(sweep.series, series) if all(s in one.series for one in before.values())]
        for name, sweep in later.items()
    }
    for name, curves in both.items():
        if not curves:
            have = "; and ".join(", ".join(sweep.series) for sweep in (later[name], *before.values()))
            raise measure.DataError(f"{name} and {', '.join(before)} have no curve of the same name; they have: {have}")
    level = 1 - (1 - LEVEL) / sum(map(len, both.values()))
    found: list[tuple[str, Change]] = []
    for name, curves in both.items():
        made, _ = of_each(curves, partial(_one, list(before.values()), later[name], level, at), "not compared")
        found += [(name, one) for one in made.values()]
    return found


def _one(
    before: Sequence[measure.Sweep], after: measure.Sweep, level: float, at: Sequence[float], series: str
) -> Change:
    return calibrate.change(before, after, series=series, at=at, level=level)


def _text(old: str, found: Sequence[tuple[str, Change]]) -> str:
    """The verdict, the loss that would have been seen and the loads of one comparison; for several a table."""
    from calibrate.changes.change_answer import further_lines, headline, load_table, seen, summary_row

    curves = len({one.series for _, one in found}) > 1
    if len({name for name, _ in found}) > 1:
        named = [(f"{name}: {one.series}" if curves else name, one) for name, one in found]
        rows = [summary_row(name, one) for name, one in named]
        least = max((one for _, one in found), key=lambda one: one.detectable_pct or float("inf"))
        alike = len({tuple(further_lines(one)) for _, one in named}) == 1
        notes = further_lines(least) if alike else [line for name, one in named for line in further_lines(one, name)]
        compared = table(("AFTER " + old, "TIMES AS FAST", ""), rows, left=(True, False, True))
        return "\n".join([compared, "", seen(least), *notes])
    parts = []
    for _, one in found:
        name = f"{one.series}: " if curves else ""
        said = "\n".join([f"{name}{headline(one)}", seen(one), *further_lines(one)])
        parts.append(f"{said}\n\n{load_table(one)}")
    return "\n\n".join(parts)


def _failing(found: Sequence[Change], limit: float) -> CommandError | None:
    """The check that fails where one is slower by more than ``limit``, or cannot be decided."""
    from calibrate.changes.change_answer import headline

    asked = f"--fail-on slower:{100 * limit:g}%"
    decided = [(one, one.slower_by(limit)) for one in found]
    for one, slower_now in decided:
        if slower_now:
            return CommandError(f"{one.series}: {headline(one)}; {asked}", CHECK_FAILED)
    for one, slower_now in decided:
        if slower_now is None:
            reason = f"a loss of {100 * limit:g} % cannot be excluded"
            return CommandError(f"{one.series}: {reason}; {asked}", UNDECIDED)
    return None
