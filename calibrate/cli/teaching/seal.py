"""``qsim seal``: guesses that a class commits to before the measurement, and reveals after it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say, table, warn
from calibrate.cli.data import DataSource, known_series, tell_findings
from calibrate.cli.failures import FAILED, CommandError, wrong_usage
from calibrate.cli.option_groups import option
from calibrate.cli.options import AsJson, Columns, Dataset, Series

if TYPE_CHECKING:
    from calibrate import Fit
    from calibrate.sealing.guesses import Row

HELP_ADD = """Seal a guess: only its hash goes to the list that everybody sees.

The guess itself stays in a file of its own (--keep) until the reveal.

\b
Examples:
qsim seal add class.json --name Ada --knee 24 --peak 600k
"""

HELP_SHOW = """Show who sealed a guess, when, and the hash that stands for the list; no guess is shown.

\b
Examples:
qsim seal show class.json
"""

HELP_REVEAL = """Open the sealed guesses and hold them against the measurement: who came closest?

FILE: the list, guesses that lie elsewhere, and sealed predictions of qsim, which take part.

\b
Examples:
qsim seal reveal class.json --data sweep/
qsim seal reveal class.json prediction.json --data sweep/ --json
"""

List = Annotated[Path, typer.Argument(metavar="FILE", parser=parsing.path, help="The list of sealed guesses.")]


def add(
    file: List,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Who guesses.")],
    knee: Annotated[
        float, typer.Option(metavar="LOAD", parser=parsing.number, help="The guessed knee, outstanding requests.")
    ],
    peak: float | None = option("RATE", parsing.per_second, "The guessed peak, requests a second, as 600k."),
    keep: Path | None = option(
        "FILE", parsing.path, "File for the guess itself, until the reveal. Default: beside the list."
    ),
    as_json: AsJson = False,
) -> None:
    """Commit to one guess."""
    from calibrate.sealing.guesses import Guess, add_guess, head, read_list

    entry, own = add_guess(file, Guess(name, knee, peak), keep)
    whole = head(read_list(file))
    if as_json:
        print_json({**asdict(entry), "head": whole, "list": str(file), "kept": str(own)})
        return
    say(f"{entry.name}'s guess is sealed: {entry.commitment}")
    say(f"the list up to here:   {whole}")
    say(f"the guess itself is in {own}: show it to nobody, and do not lose it, until qsim seal reveal")


def show(file: List, as_json: AsJson = False) -> None:
    """The list without any guess."""
    from calibrate.sealing.guesses import head, read_list

    entries = read_list(file)
    if as_json:
        print_json({"guesses": [asdict(e) for e in entries], "head": head(entries)})
        return
    say(table(("who", "sealed at", "hash of the guess"), [(e.name, e.made_at, e.commitment) for e in entries]))
    say(f"\nthe whole list: {head(entries)}")


def reveal(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", parser=parsing.path, help="The list, guesses, predictions.")
    ],
    data: list[str] | None = option("DATA", None, "What was measured since; may be repeated."),
    dataset: Dataset = None,
    columns: Columns = None,
    series: Series = None,
    as_json: AsJson = False,
) -> None:
    """The leaderboard."""
    if not data and dataset is None:
        raise wrong_usage("--data is missing: what was measured since, as --data sweep/ (or --dataset NAME)")
    source = DataSource(data or (), dataset, columns)

    from calibrate.fitting.curve_fit import fit
    from calibrate.sealing.guesses import leaderboard, peak_of, read_revealed, sealed_late

    revealed = read_revealed(files)
    sweep = source.load()
    names = known_series(sweep, series)
    if len(names) > 1:
        raise wrong_usage(f"--series: the data hold {len(names)} curves; guesses are of one: {', '.join(names)}")
    if revealed.entries and not sweep.load_type.is_closed:
        raise CommandError(
            "the guesses are of a knee in outstanding requests, and these data vary the "
            f"{sweep.load_type.name}: measure over depths",
            FAILED,
        )
    sweep = sweep.select(names[0])
    observed = fit(sweep)
    rows = leaderboard(revealed, observed, sweep)
    tell_findings(sweep, names)
    if late := sealed_late(rows, sweep):
        warn(f"some of these points were measured before {', '.join(late)} sealed: they may have known them")
    if not observed.knee.identified:
        warn("the knee of these data is not identifiable: measure deeper before you praise anybody")
    if as_json:
        print_json(
            {
                "name": observed.series,
                "knee": observed.knee.to_dict(),
                "peak_per_s": peak_of(observed),
                "leaderboard": [row.to_dict() for row in rows],
            }
        )
        return
    say(_told(observed, rows))


def _told(observed: Fit, rows: list[Row]) -> str:
    from calibrate.sealing.guesses import off_text, peak_of
    from measure.units import format_rate

    knee, peak = observed.knee, peak_of(observed)
    interval = "" if knee.low is None or knee.high is None else f" ({knee.low:.3g} to {knee.high:.3g})"
    head = f"{observed.series}: the knee is at {knee.load or 0:.3g}{interval}"
    if peak is not None:
        head += f", the peak {format_rate(peak)}"

    def off(ratio: float | None) -> str:
        return "" if ratio is None else off_text(ratio)

    def cells(row: Row) -> tuple[Any, ...]:
        rate = "" if row.peak_per_s is None else format_rate(row.peak_per_s)
        note = row.state if row.state != "revealed" else "inside its range" if row.inside else ""
        guess = "" if row.knee is None else f"{row.knee:.3g}"
        place = "" if row.rank is None else f"{row.rank}."
        return (place, row.name, guess, off(row.knee_ratio), rate, off(row.peak_ratio), note)

    header = ("", "who", "knee", "off by", "peak", "off by", "")
    scale = "Half as much and twice as much are equally wrong; equal errors share a place."
    return f"{head}\n\n{table(header, [cells(r) for r in rows], left=2)}\n\n{scale}"
