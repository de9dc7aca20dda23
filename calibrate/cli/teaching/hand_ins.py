"""``qsim course handouts``, ``hand-in`` and ``grade``: the labs go out as notebooks and come back as one file each."""

from __future__ import annotations

import csv
import datetime as dt
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrate.cli import parsing
from calibrate.cli.console import print_json, say
from calibrate.cli.failures import FAILED, CommandError
from calibrate.cli.option_groups import option
from calibrate.cli.options import AsJson
from calibrate.cli.outputs import write_new
from measure.units import counted, significant

if TYPE_CHECKING:
    from calibrate.course.grading import GradedFolder, GradedHandIn

HELP_HANDOUTS = """Write the six labs as notebooks without keys, with a cell for each answer.

The keys go to a folder of their own, from a checkout only: an installed qsim has none.

\b
Examples:
qsim course handouts handouts
qsim course handouts handouts --keys keys
"""

HELP_HAND_IN = """Collect the answers of a notebook, a sealed guess and a fit into one file to hand in.

Its SHA-256 finds damage and edits. The time is that of your clock.

\b
Examples:
qsim course hand-in 01-littles-law.ipynb --name "Ada"
qsim course hand-in 04-the-knee-sealed.ipynb --name "Ada" --guess ada.guess.json --seal class.json --fit fit.json
"""

HELP_GRADE = """Check the hand-ins in a folder, and tabulate them.

For each: in time or late, whether the guess opens its seal, how far it is from the knee of the fit, which answers are
missing, and what it shares with others. Damaged, edited and other files get one line each. Exit code 1 says that there
are such files. Reading the answers stays yours: --csv puts them into columns.

\b
Examples:
qsim course grade hand-ins
qsim course grade hand-ins --due "2026-11-20 18:00" --seal class.json --csv grades.csv
"""

Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Who hands in.")]


def moment(text: object) -> dt.datetime:
    """``2026-11-20 18:00``, of this machine's zone where none is named."""
    if isinstance(text, dt.datetime):
        return text
    try:
        return dt.datetime.fromisoformat(str(text)).astimezone()
    except ValueError as error:
        raise typer.BadParameter(f"invalid time {text!r}: expected one such as '2026-11-20 18:00'") from error


def handouts(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", parser=parsing.path, help="The folder to hand out.", show_default=False)
    ],
    keys: Path | None = option("DIR", parsing.path, "Also write the keys, into a folder outside of DIR."),
    as_json: AsJson = False,
) -> None:
    """Write the notebooks."""
    from calibrate.course.labs import write_handouts

    written = write_handouts(directory, keys)
    if as_json:
        print_json({"notebooks": [str(path) for path in written], "keys": None if keys is None else str(keys)})
        return
    labs = [path for path in written if path.parent == directory]
    say(f"{counted(len(labs), 'notebook')} without keys in {directory}, with their data; give the whole folder out")
    if keys is not None:
        say(f"{counted(len(written) - len(labs), 'key')} in {keys}; keep them")


def hand_in(
    notebook: Annotated[
        Path,
        typer.Argument(metavar="NOTEBOOK", parser=parsing.path, show_default=False, help="The handout, filled in."),
    ],
    name: Name,
    guess: Path | None = option("FILE", parsing.path, "Your own guess, as qsim seal add kept it."),
    seal: Path | None = option("FILE", parsing.path, "The list in which the guess was sealed."),
    fit: Path | None = option("FILE", parsing.path, "The fit of what was measured, as qsim fit --out keeps it."),
    out: Path | None = option("FILE", parsing.path, "The file to hand in.", shown="NAME-LAB.json"),
    as_json: AsJson = False,
) -> None:
    """Write the file to hand in, and say what is missing."""
    from calibrate.cli.fit_files import read_fits
    from calibrate.course.hand_in import write_hand_in
    from calibrate.sealing.guesses import slug

    path = out or Path(f"{slug(name)}-{notebook.stem}.json")
    kept = None if fit is None else read_fits(fit)[0]
    one = write_hand_in(notebook, path, name, guess=guess, seal=seal, fit=kept)
    if as_json:
        print_json({"file": str(path), "lab": one.lab.number, "missing": list(one.missing), "sha256": one.sha256})
        return
    say(f"{path}: lab {one.lab.number} of {one.name}, {_answers(len(one.answers), len(one.lab.questions))} answers")
    if one.missing:
        them = "it" if len(one.missing) == 1 else "them"
        say(f"missing: {', '.join(one.missing)}; add {them}, and hand in again under another --out")


def grade(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            parser=parsing.path,
            show_default=False,
            help="The folder of the hand-ins; its folders are searched, too.",
        ),
    ],
    due: dt.datetime | None = option(
        "TIME", moment, "When the labs were due: '2026-11-20 18:00', in this machine's zone."
    ),
    seal: Path | None = option("FILE", parsing.path, "The list of the class: each guess must have been sealed in it."),
    csv_file: Path | None = option("FILE", parsing.path, "Also write a row for each file, with its answers.", "--csv"),
    as_json: AsJson = False,
) -> None:
    """Check every file and print the table."""
    from calibrate.course.grading import grade_folder
    from calibrate.sealing.guesses import read_list

    found = grade_folder(folder, due=due, sealed=None if seal is None else read_list(seal))
    written = None if csv_file is None else write_new(csv_file, _csv(found), "--csv")
    document = {
        "folder": str(folder),
        "hand_ins": [g.to_dict() for g in found.graded],
        "refused": found.refused,
        "csv": written,
    }
    if not as_json:
        _say(found)
        if written:
            say(f"\nanswers: {written}")
    if found.refused:
        count = f"{len(found.refused)} of {counted(len(found.refused) + len(found.graded), 'file')}"
        raise CommandError(f"{count} could not be graded", FAILED, document if as_json else None)
    if as_json:
        print_json(document)


def _say(found: GradedFolder) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    graded = found.graded
    counts = {
        "complete": sum(g.complete for g in graded),
        "incomplete": sum(bool(g.hand_in.missing) for g in graded),
        "late": sum(g.late for g in graded),
        "with a wrong seal": sum(g.seal in {"broken", "not in the list"} for g in graded),
        "not graded": len(found.refused),
    }
    say(
        f"{counted(len(graded) + len(found.refused), 'file')}: " + ", ".join(f"{n} {w}" for w, n in counts.items() if n)
    )
    if graded:
        shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for heading in ("NAME", "LAB", "HANDED IN", "SEAL", "GUESS", "KNEE", "OFF BY", "ANSWERS", "REMARKS"):
            right = heading in {"LAB", "GUESS", "KNEE", "OFF BY"}
            shown.add_column(heading, justify="right" if right else "left", no_wrap=heading != "REMARKS")
        for g in graded:
            shown.add_row(*map(Text, _cells(g)), style="" if g.complete else "yellow")
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 200
        say()
        console.print(shown)
    for number, (file, reason) in enumerate(found.refused.items()):
        say(f"{'' if number else chr(10)}not graded  {_printable(file)}: {_printable(reason)}")


def _cells(g: GradedHandIn) -> tuple[str, ...]:
    h = g.hand_in
    at = dt.datetime.fromisoformat(h.made_at).astimezone().strftime("%Y-%m-%d %H:%M")
    numbers = (h.guess.knee if h.guess else None, g.knee)
    return (
        _printable(h.name),
        str(h.lab.number),
        f"{at}{' late' if g.late else ''}",
        g.seal,
        *("" if v is None else significant(v, 2) for v in numbers),
        "" if g.off_pct is None else _off(g.off_pct),
        _answers(len(h.answers), len(h.lab.questions)),
        "; ".join([*([f"missing: {', '.join(h.missing)}"] if h.missing else []), *map(_printable, g.remarks)]),
    )


def _off(percent: float) -> str:
    """|ln(guess / knee)| as people say it: ``12 %``, ``3.2 times``."""
    import math

    ratio = math.exp(percent / 100)
    return f"{significant(ratio, 2)} times" if ratio > 1.5 else f"{100 * (ratio - 1):.0f} %"


def _answers(given: int, asked: int) -> str:
    return f"{given} of {asked}"


def _printable(text: str) -> str:
    """The text of somebody else on a terminal: no control characters, one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _csv(found: GradedFolder) -> str:
    """A row for each file; an answer is in the column of its question."""
    questions = sorted({q for g in found.graded for q in g.hand_in.lab.questions})
    fixed = (
        "file",
        "name",
        "lab",
        "made_at",
        "late",
        "complete",
        "seal",
        "guessed_knee",
        "fitted_knee",
        "off_pct",
        "answered",
        "questions",
        "missing",
        "remarks",
    )
    text = io.StringIO()
    rows = csv.writer(text)
    rows.writerow([*fixed, "refused", *(f"answer_{q}" for q in questions)])
    for g in found.graded:
        values = g.to_dict() | {"missing": " ".join(g.hand_in.missing), "remarks": "; ".join(g.remarks)}
        answers = [g.hand_in.answers.get(q, "") for q in questions]
        rows.writerow([_cell(v) for v in (*(values[name] for name in fixed), "", *answers)])
    for file, reason in found.refused.items():
        rows.writerow([_cell(file), *("" for _ in fixed[1:]), _cell(reason), *("" for _ in questions)])
    return text.getvalue()


def _cell(value: object) -> object:
    """A value for a spreadsheet; text that it would run as a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t"} else value
