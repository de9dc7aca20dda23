"""Formulas as text that can be worked out and written, with symbols or with numbers: what is shown is what is done.

A formula is written as in Python, ``"rho**2 / (1 - rho)"``.  Names end up as textbook symbols: ``lam`` as lambda,
``B_3`` as B(3), ``W_1_2`` as W(1,2).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping

_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "exp": math.exp,
    "sqrt": math.sqrt,
    "ln": math.log,
    "min": min,
    "max": max,
}
_OPERATORS: Mapping[type[ast.operator], tuple[str, int, Callable[[float, float], float]]] = {
    ast.Add: (" + ", 1, lambda a, b: a + b),
    ast.Sub: (" - ", 1, lambda a, b: a - b),
    ast.Mult: (" * ", 2, lambda a, b: a * b),
    ast.Div: (" / ", 2, lambda a, b: a / b),
    ast.Pow: ("^", 3, lambda a, b: a**b),
}
_SYMBOLS = {
    "lam": "lambda",
    "p_wait": "P(wait)",
    "p_block": "P(block)",
    "ES2": "E[S^2]",
    "EB2": "E[B^2]",
    "knee": "N*",
    "WMMc": "Wq(M/M/c)",
}
_INDEXED = re.compile(r"([A-Za-z]+)_(\d+(?:_\d+)*)")
_ATOM = 9


def value_of(formula: str, values: Mapping[str, float]) -> float:
    """The formula worked out. KeyError for a name without a value."""
    return _value(_parsed(formula), values)


def symbols_of(formula: str) -> str:
    """The formula as it stands in a book."""
    return _text(_parsed(formula), symbol)[0]


def numbers_of(formula: str, values: Mapping[str, float]) -> str:
    """The formula with numbers in place of names."""
    return _text(_parsed(formula), lambda name: number(values[name]))[0]


def symbol(name: str) -> str:
    """A name as it stands in a book."""
    indexed = _INDEXED.fullmatch(name)
    if indexed is None:
        return _SYMBOLS.get(name, name)
    return f"{_SYMBOLS.get(indexed[1], indexed[1])}({indexed[2].replace('_', ',')})"


def number(value: float) -> str:
    """A number with six digits."""
    return f"{value:.6g}"


def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.BinOp(left, op, right):
            return _OPERATORS[type(op)][2](_value(left, values), _value(right, values))
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, values)
        case ast.Call(ast.Name(name), arguments):
            return float(_FUNCTIONS[name](*(_value(a, values) for a in arguments)))
        case ast.Name(name):
            return values[name]
        case ast.Constant(float() | int() as constant):
            return float(constant)
    raise ValueError(f"invalid formula {ast.unparse(node)!r}: expected numbers, names and arithmetic")


def _text(node: ast.expr, named: Callable[[str], str]) -> tuple[str, int]:
    """The text and how strongly it binds."""
    match node:
        case ast.BinOp(left, op, right):
            sign, strength, _ = _OPERATORS[type(op)]
            # The right side of - and / and the base of a power keep their brackets among equals.
            equals = isinstance(op, ast.Sub | ast.Div)
            base = strength + 1 if isinstance(op, ast.Pow) else strength
            parts = (_bracketed(*_text(left, named), base), _bracketed(*_text(right, named), strength + equals))
            return sign.join(parts), strength
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{_bracketed(*_text(operand, named), 2)}", 2
        case ast.Call(ast.Name(name), arguments):
            return f"{name}({', '.join(_text(a, named)[0] for a in arguments)})", _ATOM
        case ast.Name(name):
            text = named(name)
            return text, 1 if text.startswith("-") else 3 if "e" in text and text[0].isdigit() else _ATOM
        case ast.Constant(float() | int() as constant):
            return number(constant), _ATOM
    raise ValueError(f"invalid formula {ast.unparse(node)!r}: expected numbers, names and arithmetic")


def _bracketed(text: str, strength: int, needed: int) -> str:
    return f"({text})" if strength < needed else text
