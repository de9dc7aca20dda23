"""One command: a parameter that the library refuses is named as the option that the user typed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from calibrate.cli.failures import option_name, refused_parameter
from qsim.errors import InvalidParameterError

_UNITS = ("_bytes", "_percent", "_per_repeat", "_s")


class NamesOptions:
    """A command, or a group with options: what the library refuses is named as the option that the user typed."""

    params: list[Any]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)  # type: ignore[misc]
        except InvalidParameterError as error:
            raise refused_parameter(error, self._option(error.parameter)) from error

    def _option(self, parameter: str) -> str:
        """The option that sets a parameter of the library, ``--runtime`` for ``runtime_s``; else the parameter."""
        options = {p.name: option_name(p) for p in self.params if p.name}
        names = (parameter, *(parameter.removesuffix(unit) for unit in _UNITS))
        return next((options[name] for name in names if name in options), parameter)


class Command(NamesOptions, TyperCommand):
    """One command."""
