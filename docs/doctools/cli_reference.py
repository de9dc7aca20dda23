"""The command reference, written from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

HEAD = """\
# Command reference

This page is written from the program by `make docs`. Each command explains itself with `--help`, where examples are.
"""

_RUNS_ANYWHERE = re.compile(r"qsim (solve|simulate|doctor|datasets|compare --dataset|predict --idle-latency) ?")


SHARED_BY = 2
"""An option that so many commands explain in the same words is explained once, above them."""


def cli_reference() -> str:
    """The whole page."""
    import typer

    from calibrate.cli.app import app

    root: Any = typer.main.get_command(app)
    commands = list(_commands(root, ("qsim",)))
    counts = Counter(_row(p) for _, command in commands for p in _listed(command))
    shared = {row for row, count in counts.items() if count >= SHARED_BY}
    parts = [HEAD, *_list(_row(p) for p in _listed(root)), *_prose(root.epilog)]
    parts += ["## Options that several commands take\n", *_list(sorted(shared))]
    for path, command in commands:
        rows = {_row(p): p for p in _listed(command)}
        parts += [f"## {' '.join(path)}\n", *_prose(command.help), *_usage(path, command)]
        parts += _list(row for row in rows if row not in shared)
        parts += _also(rows[row] for row in rows if row in shared)
        parts += _prose(command.epilog)
    return "\n".join(parts)


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    context: Any = group.make_context(path[-1], [], resilient_parsing=True)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command.hidden:
            continue
        is_group = hasattr(command, "list_commands")
        if not is_group or len(_listed(command)):
            yield (*path, name), command
        if is_group:
            yield from _commands(command, (*path, name))


def _prose(text: str | None) -> list[str]:
    """Help text to Markdown: preformatted lines become a block, run by the tests if nothing need be there."""
    parts = []
    for paragraph in inspect.cleandoc((text or "").replace("\b", "").replace("\f", "")).split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if lines[0].endswith(":") and len(lines) > 1:
            title = lines.pop(0)
            if title != "Examples:" or all(_RUNS_ANYWHERE.match(line) for line in lines):  # the others: --help has them
                parts += [_escaped(title) + "\n", _examples(lines)]
        elif lines != [""]:
            parts.append(_escaped("\n".join(lines)) + "\n")
    return parts


def _examples(lines: list[str]) -> str:
    if all(_RUNS_ANYWHERE.match(line) for line in lines):
        return "```console\n" + "".join(f"$ {line}\n" for line in lines) + "```\n"
    return "```text\n" + "\n".join(lines) + "\n```\n"


def _usage(path: tuple[str, ...], command: Any) -> list[str]:
    """Which arguments there are, in their order; nothing where there are only options."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [p.metavar or p.name.upper() for p in arguments]
    words = [word if p.required else f"[{word.strip('[]')}]" for word, p in zip(words, arguments, strict=True)]
    return [f"Usage: `{' '.join([*path, *words, '[OPTIONS]'])}`\n"] if arguments else []


def _listed(command: Any) -> list[Any]:
    return [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]


def _list(rows: Iterable[str]) -> list[str]:
    text = "".join(rows)
    return [text] if text else []


def _also(shared: Iterable[Any]) -> list[str]:
    """The names of the options that are explained above all commands."""
    names = [f"`{p.opts[0]}`" if p.param_type_name == "option" else f"`{p.metavar}`" for p in shared]
    return [f"Also: {', '.join(names)}.\n"] if names else []


def _row(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        name = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if not parameter.is_flag:
            name += f" {parameter.metavar or getattr(parameter.type, 'name', 'text').upper()}"
    about = " ".join((getattr(parameter, "help", None) or "").split())
    shown = _default(parameter)
    return f"- `{name}`: {_escaped(about)}{shown}\n"


def _default(parameter: Any) -> str:
    default = parameter.show_default if isinstance(getattr(parameter, "show_default", None), str) else parameter.default
    if parameter.required:
        return " (required)"
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        return f" (default: {default})"
    return ""


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")
