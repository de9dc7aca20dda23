"""One command: a parameter that the library refuses is named as the option that the user typed."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

from calibrate.cli.failures import option_name

_UNITS = ("_bytes", "_percent", "_per_repeat", "_s")


class Command(TyperCommand):
    """One command: a parameter that the library refuses is named as the option that the user typed."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            options = {p.name: option_name(p) for p in self.params if p.name}
            renamed = _with_options(str(error), options)
            # Only plain ValueErrors are about a parameter; their subclasses say something of their own.
            if type(error) is not ValueError or renamed == str(error):
                raise
            raise ValueError(renamed) from error


def _with_options(message: str, options: dict[str, str]) -> str:
    """``runtime_s is 0; ...`` as ``--runtime is 0; ...``: only where the message begins with a parameter's name."""
    match = re.match(r"[a-z][a-z0-9_]*\b", message)
    if match is None:
        return message
    word = match.group()
    bare = next((word.removesuffix(unit) for unit in _UNITS if word.endswith(unit)), word)
    option = options.get(word) or options.get(bare)
    return option + message[len(word) :] if option else message
