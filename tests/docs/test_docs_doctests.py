"""The examples in the docstrings of all three packages give what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator

import pytest


def modules() -> Iterator[str]:
    for package in ("qsim", "measure", "calibrate"):
        yield package
        found = importlib.import_module(package)
        yield from (info.name for info in pkgutil.walk_packages(found.__path__, f"{package}."))


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not failed, f"{name}: the examples that failed are printed above"


def test_there_are_examples_in_every_package() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for package in ("qsim", "measure", "calibrate"):
        tests = [
            t for name in modules() if name.startswith(package) for t in finder.find(importlib.import_module(name))
        ]
        assert any(t.examples for t in tests), f"no docstring of {package} has an example"
