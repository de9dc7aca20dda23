"""Options as one line each, those that go together in several commands as one value, and ``--json`` of every result.

Which options exclude each other, and which need another, is declared above the command and checked once.

>>> @exclusive("--quick", "--budget", because="one follows from the other")
... def measure(): ...
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from calibrate.cli.console import Result
from calibrate.cli.failures import wrong_usage


def option(
    metavar: str,
    parser: Callable[[Any], Any] | None,
    about: str,
    *names: str,
    default: Any = None,
    shown: str | bool = False,
) -> Any:
    """The default of a parameter: an option that ``parser`` reads (None: text).

    ``shown`` is what the help shows as its default, True for the value itself.
    """
    return typer.Option(default, *names, metavar=metavar, parser=parser, help=about, show_default=shown)


def shared(
    metavar: str, parser: Callable[[Any], Any] | None, about: str, *names: str, shown: str | bool = False
) -> Any:
    """The same within ``Annotated``, for an option that several commands share."""
    return typer.Option(*names, metavar=metavar, parser=parser, help=about, show_default=shown)


def flag(name: str, about: str) -> Any:
    """The default of a parameter: a switch, off unless it is given."""
    return typer.Option(False, name, help=about)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document in SI units.")]


class OptionGroup:
    """Base of dataclasses whose fields are options, annotated as those of a command are.

    A command with a parameter of such a class has the options of its fields, where the parameter stands in its
    signature, and gets the values that were typed as one object, which was checked.
    """

    def check(self) -> None:
        """Raise CommandError or MeasureError where the values cannot be used; nothing is changed."""


def for_typer(command: Callable[..., Result | None]) -> Callable[..., None]:
    """The command with the options of its groups, and ``--json`` where it gives a Result, for typer to read."""
    hints = get_type_hints(command, include_extras=True)
    groups = {n: kind for n, kind in hints.items() if isinstance(kind, type) and issubclass(kind, OptionGroup)}
    signature = inspect.signature(command)
    parameters = [
        p
        for name, parameter in signature.parameters.items()
        for p in (_options(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])])
    ]
    if hints["return"] is Result:
        parameters.append(
            inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
        )

    @wraps(command)
    def run(**values: Any) -> None:
        as_json = {"as_json": values.pop("as_json")} if hints["return"] is Result else {}
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
"""What is wrong with the options that were given ("" where nothing is), and why that is wrong."""

_RULES = "__option_rules__"


def exclusive(*options: str, because: str = "") -> Callable[[Run], Run]:
    """Declare that at most one of ``options`` may be given."""

    def broken(given: AbstractSet[str]) -> str:
        present = [name for name in options if name in given]
        return f"{' and '.join(present)} exclude each other" if len(present) > 1 else ""

    return _declared((broken, because))


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
    """The rules of a command, in the order in which they are written."""
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
