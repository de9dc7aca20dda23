"""The public names of the three packages: a list of them, and their whole docstrings for the site."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

PACKAGES = ("qsim", "measure", "calibrate")
LIST_HEAD = """\
# Python reference

The public names of the three packages. `help(qsim.solve)` in Python, or the site (`make site`) under *Python in full*,
says what each is: parameters, units, errors, sources, an example.
"""
FULL_HEAD = "# Python in full\n\nThe docstrings of all public names.\n"


def api_list() -> str:
    """The page that lists the names."""
    return "\n".join([LIST_HEAD, *(part for package in _packages() for part in _listed(package))])


def api_in_full() -> str:
    """The page of the site that says everything of each name."""
    return "\n".join([FULL_HEAD, *(part for package in _packages() for part in _package(package))])


def _packages() -> list[ModuleType]:
    return [importlib.import_module(name) for name in PACKAGES]


def _listed(module: ModuleType) -> list[str]:
    return [f"## {module.__name__}\n", ", ".join(f"`{name}`" for name in _names(module)) + "\n"]


def _first_paragraph(thing: Any) -> str:
    documented = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
    doc = (inspect.getdoc(thing) or "") if documented else ""
    return doc.split("\n\n")[0] or "`" + re.sub(r"[\w.]+\.(?=\w)", "", repr(thing)) + "`"


def _names(module: ModuleType) -> list[str]:
    return sorted(module.__all__, key=str.lower)


def _package(module: ModuleType) -> list[str]:
    parts = [f"## {module.__name__}\n", _text(inspect.getdoc(module) or "")]
    for name in _names(module):
        parts += _entry(f"{module.__name__}.{name}", getattr(module, name))
    return parts


def _entry(path: str, thing: Any) -> list[str]:
    parts = [f"### {path}\n"]
    if callable(thing) and not _is_exception(thing):
        parts.append(_signature(path.rpartition(".")[2], thing))
    doc = inspect.getdoc(thing) if inspect.isclass(thing) or inspect.isroutine(thing) else ""
    if doc and not doc.startswith(f"{getattr(thing, '__name__', '')}("):  # a dataclass without words documents itself
        parts.append(_text(doc, path))
    if inspect.isclass(thing) and not _is_exception(thing):
        parts += _members(thing)
    return parts


def _is_exception(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def _signature(name: str, thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    kept = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = f"{name}{signature.replace(parameters=kept, return_annotation=inspect.Signature.empty)}"
    return "" if "<" in text else f"```text\n{text}\n```\n"


def _members(thing: type) -> list[str]:
    rows = []
    for name, member in sorted(vars(thing).items()):
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
        if name.startswith("_") or not (inspect.isfunction(function) and function.__doc__):
            continue
        call = "" if hasattr(member, "fget") or hasattr(member, "func") else "()"
        rows.append(f"- `{name}{call}`: {_line(_first_paragraph(function))}\n")
    return ["".join(rows)] if rows else []


def _line(paragraph: str) -> str:
    """A paragraph as one line of a list."""
    return _escaped(" ".join(_code(paragraph).split()))


def _text(doc: str, path: str = "") -> str:
    """Docstring to Markdown: roles and double backquotes become code, sessions and indented parts become blocks."""
    doc = _code(doc)
    parts = []
    for paragraph in doc.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            first = "" if ">>>" in "".join(parts) else _imports(doc, path)
            parts.append(f"```python\n{first}{inspect.cleandoc(paragraph)}\n```")
        elif all(line.startswith("  ") for line in paragraph.split("\n")):
            parts.append(f"```text\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append(_escaped(paragraph))
    return "\n\n".join(parts) + "\n"


def _imports(doc: str, path: str) -> str:
    """A line that imports what the examples use of the package and do not import: their module has it at hand."""
    package = path.partition(".")[0]
    code = "\n".join(re.findall(r"^ *(?:>>>|\.\.\.) (.*)$", doc, re.M))
    imported = {name.strip() for names in re.findall(r"import (.+)", code) for name in names.split(",")}
    used = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", code)) - imported
    names = sorted(used & set(importlib.import_module(package).__all__)) if package else []
    return f">>> from {package} import {', '.join(names)}\n" if names else ""


def _code(doc: str) -> str:
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", doc).replace("``", "`")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;")
