"""The examples in the docstrings of all three packages give what they show."""

from __future__ import annotations

import doctest
import importlib
import linecache
import pkgutil
from collections.abc import Iterator
from types import UnionType

import pytest


def modules() -> Iterator[str]:
    for package in ("qsim", "measure", "calibrate"):
        yield package
        found = importlib.import_module(package)
        yield from (info.name for info in pkgutil.walk_packages(found.__path__, f"{package}."))


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples(name: str) -> None:
    linecache.clearcache()  # doctest looks after each file in it, for each docstring
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not failed, f"{name}: the examples that failed are printed above"


def test_there_are_examples_in_every_package() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for package in ("qsim", "measure", "calibrate"):
        tests = [
            t for name in modules() if name.startswith(package) for t in finder.find(importlib.import_module(name))
        ]
        assert any(t.examples for t in tests), f"no docstring of {package} has an example"


def needs_an_example(value: object) -> bool:
    """Type aliases have no docstring of their own; an exception is shown by the function that raises it."""
    if isinstance(value, UnionType):
        return False
    return not (isinstance(value, type) and issubclass(value, Exception))


@pytest.mark.parametrize("package", ["qsim", "measure", "calibrate"])
def test_each_public_name_has_an_example(package: str) -> None:
    room = importlib.import_module(package)
    public = {name: getattr(room, name) for name in room.__all__}
    assert len(public) > 5
    bare = [name for name, value in public.items() if needs_an_example(value) and ">>> " not in (value.__doc__ or "")]
    assert bare == []


def test_examples_of_cached_functions_are_run() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {test.name for test in finder.find(importlib.import_module("calibrate.points"))}
    assert "calibrate.points.points_of" in found
