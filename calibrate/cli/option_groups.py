"""Options as one line each, those that go together in several commands as one value, and ``--json`` of every result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from calibrate.cli.console import Result


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
