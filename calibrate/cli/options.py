"""Declares options in one line each, options of several commands, and ``--json`` of every result.

Options that go together in several commands are one value (:class:`OptionGroup`), as where to write the page of a
result. Which options exclude each other, and which need another, is declared above the command and checked once.

>>> @conflicts("--quick", "--budget", because="one follows from the other")
... def measure(): ...
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, get_type_hints

import typer

from calibrate.cli import parsing
from calibrate.cli.console import WRITTEN, CommandResult, warn
from calibrate.cli.failures import wrong_usage
from measure.errors import MeasureError

if TYPE_CHECKING:
    from calibrate.report.view import FrontPage, Section


def option(
    metavar: str,
    parser: Callable[[Any], Any] | None,
    about: str,
    *names: str,
    default: Any = None,
    shown: str | bool = False,
) -> Any:
    """The default of a parameter: an option that ``parser`` reads (None: text)."""
    return typer.Option(default, *names, metavar=metavar, parser=parser, help=about, show_default=shown)


def shared(
    metavar: str, parser: Callable[[Any], Any] | None, about: str, *names: str, shown: str | bool = False
) -> Any:
    """As ``option``, within ``Annotated``, for an option that several commands share."""
    return typer.Option(*names, metavar=metavar, parser=parser, help=about, show_default=shown)


def flag(name: str, about: str) -> Any:
    """The default of a parameter: a switch, off unless it is given."""
    return typer.Option(False, name, help=about)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document in SI units.")]


class OptionGroup:
    """Base of dataclasses whose fields are options, annotated like those of a command.

    A command with a parameter of such a class has the options of its fields, where the parameter stands in its
    signature, and gets the values that were typed as one object, which was checked.
    """

    def check(self) -> None:
        """Raise CommandError or MeasureError where the values cannot be used; nothing is changed."""


def for_typer(command: Callable[..., CommandResult | None]) -> Callable[..., None]:
    """The command with the options of its groups, and ``--json`` where it gives a CommandResult, for typer to read."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: kind for n, kind in hints.items() if isinstance(kind, type) and issubclass(kind, OptionGroup)}
    signature = inspect.signature(command)
    parameters = [
        p
        for name, parameter in signature.parameters.items()
        for p in (_options(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])])
    ]
    if hints["return"] is CommandResult:
        parameters.append(
            inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
        )

    @wraps(command)
    def run(**values: Any) -> None:
        as_json = {"as_json": values.pop("as_json")} if hints["return"] is CommandResult else {}
        made = {n: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for n, kind in groups.items()}  # type: ignore[arg-type]
        for group in made.values():
            group.check()
        if (result := command(**values, **made)) is not None:
            result.show(**as_json)

    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters], return_annotation=None
    )
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _options(group: type[OptionGroup]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):  # type: ignore[arg-type]
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )


Run = TypeVar("Run", bound=Callable[..., object])
Rule = tuple[Callable[[AbstractSet[str]], str], str]
"""Maps the given options to (the problem, "" where there is none; the reason)."""

_RULES = "__option_rules__"


def conflicts(option: str, *others: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` excludes each of ``others``, which may go together."""

    def broken(given: AbstractSet[str]) -> str:
        other = next((name for name in others if name in given), None)
        return f"{option} and {other} exclude each other" if other and option in given else ""

    return _declared((broken, because))


def requires(option: str, *needed: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that ``option`` needs one of ``needed``."""

    def broken(given: AbstractSet[str]) -> str:
        return f"{option} needs {' or '.join(needed)}" if option in given and given.isdisjoint(needed) else ""

    return _declared((broken, because))


def _declared(rule: Rule) -> Callable[[Run], Run]:
    def declare(command: Run) -> Run:
        setattr(command, _RULES, (rule, *rules_of(command)))
        return command

    return declare


def rules_of(command: Callable[..., object]) -> Sequence[Rule]:
    """The rules of a command, in the order of their decorators."""
    return getattr(command, _RULES, ())


def check_rules(rules: Sequence[Rule], context: Any) -> None:
    """CommandError for the first rule that is broken; arguments are named by their metavar, options by their names."""
    given: set[str] = set()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        if source is not None and source.name == "COMMANDLINE" and context.params.get(parameter.name) != []:
            argument = parameter.param_type_name == "argument"
            given.update([str(parameter.metavar).rstrip(".")] if argument else parameter.opts)
    for broken, because in rules:
        if wrong := broken(given):
            raise wrong_usage(f"{wrong}: {because}" if because else wrong)


@dataclass(frozen=True)
class Page(OptionGroup):
    """The path of the page; None: no page."""

    report: Path | None = option("FILE", parsing.path, "Also write an HTML page that opens offline.")

    def check(self) -> None:
        """MeasureError where the page is a directory or a file that is no report of qsim; nothing is changed."""
        path = self.report
        if path is None:
            return
        from calibrate.report.page import is_report

        if path.is_dir():
            raise MeasureError(f"{path} is a directory; name a file for the report, such as {path / 'report.html'}")
        if path.exists() and not is_report(path):
            raise MeasureError(f"{path} exists and is not a report of qsim; choose another name for the report")
        if path.parent.is_dir() and not os.access(path.parent, os.W_OK | os.X_OK):
            raise MeasureError(f"nothing can be written to {path.parent}; name another place for the report")

    def write(
        self, sections: Callable[[], Sequence[Section]], title: str = "", front: FrontPage | None = None
    ) -> Mapping[str, str | None]:
        """Write the page; one with a ``front`` also as a PDF, where a browser is installed."""
        if self.report is None:
            return dict.fromkeys(WRITTEN)
        from calibrate.report.page import write_sections

        drawn = sections()
        title = title or drawn[0].title
        page = write_sections(drawn, self.report, title=title, front=front)
        return {"report": str(page), "pdf": None if front is None else _printed(drawn, self.report, title, front)}


def _printed(sections: Sequence[Section], page: Path, title: str, front: FrontPage) -> str | None:
    """The PDF of the page; None, with a warning, where it cannot be printed."""
    from calibrate.cli.progress import Bar
    from calibrate.report.page import write_paper

    try:
        with Bar("printing"):
            return str(write_paper(sections, page.with_suffix(".pdf"), title=title, front=front))
    except MeasureError as error:
        warn(f"no PDF: {error}")
        return None


def page_in(directory: Path | None) -> Page:
    """A page in the directory of the points, checked before any work; MeasureError as ``check``."""
    page = Page(None if directory is None else directory / "report.html")
    page.check()
    return page


Details: TypeAlias = Annotated[bool, typer.Option("--details", help="Also print every parameter and every point.")]

DATA_HELP = "What a tool wrote: a sweep directory, fio JSON, MLC text, a CSV table. Several files are one sweep."
Data: TypeAlias = Annotated[list[str] | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
Dataset: TypeAlias = Annotated[
    str | None, shared("NAME", None, "A published table instead of DATA; see qsim datasets.")
]
Columns: TypeAlias = Annotated[
    str | None, shared("SPEC", None, "Columns of a table by role, with units: load=qd,latency=lat:us.")
]
IdleLatency: TypeAlias = Annotated[
    float | None, shared("TIME", parsing.seconds, "Data sheet: latency of one request alone, as 80us.")
]
PeakIops: TypeAlias = Annotated[
    float | None,
    shared("RATE", parsing.per_second, "Data sheet, or with one measured point: peak requests a second, as 600k."),
]
Use: TypeAlias = Annotated[
    parsing.Numbers | None, shared("LOADS", parsing.used_loads, "Calibrate on these loads, as 1,32, or all.")
]
At: TypeAlias = Annotated[
    Any,
    shared(
        "LOADS",
        parsing.loads_of_any_kind,
        "The loads to predict at, as 1,8,64 or 1..256 (doubling); of another kind by their unit: arrivals 2k/s,8k/s "
        "(even gaps: 2k/s:paced), at shares of the peak 60%,80%, users who think 10..200users:think=1s.",
        "--at",
    ),
]
Series: TypeAlias = Annotated[str | None, shared("NAME", None, "Only this curve. Default: every curve.")]
DeviceModel: TypeAlias = Annotated[
    str | None, shared("NAME", None, "The device model; without it the data decide. An unknown name lists all.")
]
Objective: TypeAlias = Annotated[
    parsing.Objective | None,
    shared(
        "TIME",
        parsing.objective,
        "Also print the largest load within this mean response time, as 1ms, or tail, as p99=1ms.",
    ),
]
ArrivalRates: TypeAlias = Annotated[
    parsing.Numbers | None, shared("RATES", parsing.rates, "Open: arrivals a second, as 500,1k,20k/s.")
]
FailOn: TypeAlias = Annotated[
    str | None,
    shared(
        "SEVERITY",
        parsing.choice("info", "warning", "error"),
        "Exit with 3 on findings of this severity: info, warning or error.",
        shown=True,
    ),
]
DryRun: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", "--plan", help="Print the points, commands and time; run nothing.")
]
