"""``qsim compare A --against B``: whether idle latency, peak or knee moved by more than the noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import DataSource, known_series, of_each
from calibrate.cli.failures import CHECK_FAILED, CommandError, wrong_usage
from measure.units import counted, format_duration, format_rate, plain_number

if TYPE_CHECKING:
    from calibrate.prediction.change import Change

SLOWER = "slower:"


@dataclass(frozen=True)
class Slower:
    """What ``--fail-on slower:5%`` asks for."""

    share: float


@parsing.parser
def failure(text: str) -> str | Slower:
    """``warning``, or ``slower:5%``."""
    if text.startswith(SLOWER):
        try:
            return Slower(parsing.share(text.removeprefix(SLOWER)))
        except (ValueError, typer.BadParameter) as error:
            raise ValueError(f"{text!r} needs a share between 0 and 100 %, as slower:5%") from error
    if text in ("info", "warning", "error"):
        return text
    raise ValueError(f"{text!r} is none of info, warning, error, or slower:5%")


def tell_against(
    now: DataSource, before: str, series: str | None, level: float, fail_on: str | Slower | None, *, as_json: bool
) -> None:
    """Print what moved of every curve that both have; CommandError with exit code 3 where it is slower than allowed."""
    if isinstance(fail_on, str):
        raise wrong_usage(f"--fail-on {fail_on} is of an audit; with --against give --fail-on slower:5%")
    from calibrate.points import points_of
    from calibrate.prediction.change import changes
    from measure.errors import DataError
    from measure.loading import load

    new, old = now.load(), load(before)
    both = [name for name in known_series(new, series) if name in old.series]
    if not both:
        raise DataError(
            f"{now.title} and {before} have no curve of the same name; they have: "
            f"{', '.join(new.series)}; and {', '.join(old.series)}"
        )
    found, refused = of_each(both, lambda name: changes(points_of(old, name), points_of(new, name), level))
    for reason in refused.values():
        warn(f"not compared: {reason}")
    worst = max(change.worse for made in found.values() for change in made)
    document = {"against": before, "series": [_document(name, made) for name, made in found.items()], "worst": worst}
    if not as_json:
        say(_text(now.title, before, found))
    if isinstance(fail_on, Slower) and worst > fail_on.share:
        raise CommandError(
            f"{_slowest(found)}; --fail-on slower:{100 * fail_on.share:g}% was asked for", CHECK_FAILED, document
        )
    if as_json:
        print_json(document)


def _document(name: str, made: Sequence[Change]) -> Mapping[str, Any]:
    parts = [
        {
            "quantity": c.quantity,
            "unit": c.unit,
            "before": c.before,
            "after": c.after,
            "ratio": c.ratio,
            "low": c.low,
            "high": c.high,
            "moved": c.moved,
            "worse": c.worse,
        }
        for c in made
    ]
    return {"name": name, "changes": parts}


def _text(title: str, before: str, found: Mapping[str, Sequence[Change]]) -> str:
    moved = [(name, c) for name, made in found.items() for c in made if c.moved and c.quantity != "knee"]
    worse = [one for one in moved if one[1].worse]
    answer = (
        "nothing moved by more than the noise"
        if not moved
        else f"{counted(len(worse), 'figure')} worse, {len(moved) - len(worse)} better"
    )
    rows = [(name, c.quantity, *_cells(c)) for name, made in found.items() for c in made]
    header = ("CURVE", "", "BEFORE", "NOW", "CHANGE", "")
    return f"{title} against {before}: {answer}\n\n{table(header, rows, left=2)}"


def _cells(change: Change) -> tuple[str, ...]:
    said = "moved" if change.moved else "within the noise"
    return _value(change, change.before), _value(change, change.after), _change(change), said


def _value(change: Change, value: float) -> str:
    if change.unit == "s":
        return format_duration(value)
    return format_rate(value) if change.unit == "1/s" else plain_number(value, 2)


def _change(change: Change) -> str:
    middle, low, high = (f"{100 * (ratio - 1):+.1f}" for ratio in (change.ratio, change.low, change.high))
    return f"{middle} % ({low} to {high})"


def _slowest(found: Mapping[str, Sequence[Change]]) -> str:
    name, change = max(((n, c) for n, made in found.items() for c in made), key=lambda one: one[1].worse)
    return f"{name}: {change.quantity} {_change(change)}"
