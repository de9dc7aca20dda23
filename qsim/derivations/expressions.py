"""Formulas as text that can be worked out and written, with symbols or with numbers: what is shown is what is done.

A formula is written as in Python, ``"rho**2 / (1 - rho)"``.  Names end up as textbook symbols: ``lam`` as lambda,
``B_3`` as B(3), ``W_1_2`` as W(1,2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

FUNCTIONS: Mapping[str, Callable[..., float]] = {"min": min, "max": max}
_SYMBOLS = {
    "lam": "lambda",
    "p_wait": "P(wait)",
    "p_block": "P(block)",
    "ES2": "E[S^2]",
    "knee": "N*",
    "WMMc": "Wq(M/M/c)",
}
_INDEXED = re.compile(r"([A-Za-z]+)_(\d+(?:_\d+)*)")
_TOKEN = re.compile(r"(?P<name>[A-Za-z]\w*)|(?P<constant>\d[\d.]*(?:e[-+]?\d+)?)|\*\*")


def value_of(formula: str, values: Mapping[str, float]) -> float:
    """The formula worked out. NameError for a name without a value."""
    return float(eval(formula, {"__builtins__": {}}, {**FUNCTIONS, **values}))  # noqa: S307  # formulas of this folder


def symbols_of(formula: str) -> str:
    """The formula as it stands in a book."""
    return _written(formula, symbol)


def numbers_of(formula: str, values: Mapping[str, float]) -> str:
    """The formula with numbers in place of names."""
    return _written(formula, lambda name: number(values[name]))


def symbol(name: str) -> str:
    """A name as it stands in a book."""
    indexed = _INDEXED.fullmatch(name)
    if indexed is None:
        return _SYMBOLS.get(name, name)
    return f"{_SYMBOLS.get(indexed[1], indexed[1])}({indexed[2].replace('_', ',')})"


def number(value: float) -> str:
    """A number with six digits."""
    return f"{value:.6g}"


def _written(formula: str, named: Callable[[str], str]) -> str:
    """The formula with its names as ``named`` writes them, constants in six digits and ^ for a power."""

    def token(found: re.Match[str]) -> str:
        if found["constant"]:
            return number(float(found["constant"]))
        if not found["name"]:
            return "^"
        if found["name"] in FUNCTIONS:
            return found["name"]
        text = named(found["name"])
        in_power = "e" in text and text[0].isdigit() and formula.startswith("**", found.end())
        return f"({text})" if text.startswith("-") or in_power else text

    return _TOKEN.sub(token, formula)
