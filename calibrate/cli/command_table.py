"""Commands by name: each module is imported only when its command runs or shows its help."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from calibrate.cli.failures import option_name, refused_parameter, wrong_usage
from calibrate.cli.option_groups import check_rules, for_typer, rules_of
from qsim.errors import InvalidParameterError

Table = Mapping[str, Mapping[str, str]]
CONTEXT = {"help_option_names": ["-h", "--help"]}
_UNITS = ("_bytes", "_percent", "_per_repeat", "_per_s", "_s")


class OptionErrorMixin:
    """A command, or a group with options: what the library refuses is named as the option that the user typed."""

    params: list[Any]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except InvalidParameterError as error:
            raise refused_parameter(error, self._option(error.parameter)) from error

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with defaults as they are worded here: typer puts them into parentheses."""
        for parameter in self.params:
            if isinstance(shown := getattr(parameter, "show_default", None), str):
                parameter._get_default_string = lambda shown=shown, **_: shown
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def _option(self, parameter: str) -> str:
        """The option that sets a parameter of the library, ``--runtime`` for ``runtime_s``; else the parameter."""
        options = {p.name: option_name(p) for p in self.params if p.name}
        if "service" in options:
            options.setdefault("service_time", options["service"])
        names = (parameter, *(parameter.removesuffix(unit) for unit in _UNITS))
        return next((options[n] for name in names for n in (name, f"{name}s") if n in options), parameter)


class Command(OptionErrorMixin, TyperCommand):
    """One command, whose options keep the rules that are declared above its function."""

    def invoke(self, ctx: Any) -> Any:
        """Check the rules, then run the command."""
        check_rules(rules_of(self.callback) if self.callback else (), ctx)
        return super().invoke(ctx)


class LazyGroup(TyperGroup):
    """A group of commands that are found in ``table``: panel of the help -> name -> ``module:function``.

    An empty place stands for a group that is registered with typer itself. The help of a command is its module's
    ``HELP``, or ``HELP_ADD`` for a function ``add`` that shares its module.
    """

    table: ClassVar[Table] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the table."""
        return [name for panel in self.table.values() for name in panel]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, imported now; None where there is none."""
        for panel, homes in self.table.items():
            if homes.get(cmd_name) and cmd_name not in self.commands:
                self.commands[cmd_name] = _command(cmd_name, homes[cmd_name], panel)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named first; CommandError with near names where there is none."""
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            near = " or ".join(get_close_matches(args[0].lower(), self.list_commands(ctx)))
            guess = f"; did you mean {near}?" if near else ""
            raise wrong_usage(f"unknown command {args[0]!r}{guess} (see {ctx.command_path} --help)")
        return super().resolve_command(ctx, args)


def _command(name: str, home: str, panel: str) -> Any:
    module_name, _, function = home.partition(":")
    module = import_module(module_name)
    help_ = folded(getattr(module, f"HELP_{function.upper()}", None) or module.HELP)
    run = for_typer(getattr(module, function))
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, cls=Command, help=help_, context_settings=CONTEXT, rich_help_panel=panel or None)(run)
    return typer.main.get_command(alone)


def folded(text: str) -> str:
    """Join the lines of each paragraph, so that the terminal wraps them; paragraphs after ``\\b`` stay as they are.

    Square brackets are escaped where they would be read as markup.
    """
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append(paragraph)
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)
