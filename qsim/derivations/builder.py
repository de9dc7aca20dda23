"""A derivation, line by line: given values, and steps that follow from the lines above.

Steps are written as text, a line each: ``name = formula | reason``, or ``# remark``.  A formula is a Python expression,
``"rho**2 / (1 - rho)"``, and is shown with symbols and with numbers.  Names are shown as textbook symbols: ``lam`` as
lambda, ``B_3`` as B(3), ``W_1_2`` as W(1,2).
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from qsim.metrics import SYMBOLS
from qsim.models import Network
from qsim.result import table

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
    """The value of the formula. NameError for a name without a value."""
    return float(eval(formula, {"__builtins__": {}}, {**FUNCTIONS, **values}))  # noqa: S307  # formulas of this folder


def symbol(name: str) -> str:
    """The textbook symbol of a name."""
    indexed = _INDEXED.fullmatch(name)
    if indexed is None:
        return _SYMBOLS.get(name, name)
    return f"{_SYMBOLS.get(indexed[1], indexed[1])}({indexed[2].replace('_', ',')})"


def number(value: float) -> str:
    """A number with six significant digits."""
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


_SHOWN_FIRST, _SHOWN_LAST = 3, 2
_MOST_ROWS = 16
_WIDEST, _LINE = 50, 100
_NAMES = {**{text: name for name, (text, _) in SYMBOLS.items()}, "p_wait": "p_wait", "p_block": "p_block"}


@dataclass(frozen=True)
class DerivationStep:
    """One line: ``symbol = formula = numbers = value``, and its reason.

    ``formula`` is "" for a given value; ``numbers`` is "" where the formula cannot be written with numbers.
    ``name`` is the field of :class:`qsim.Metrics` that the step computes, "" where there is none.
    """

    symbol: str
    formula: str
    numbers: str
    value: float
    because: str = ""
    name: str = ""

    def equation(self, show: Callable[[str, float], str] | None = None) -> str:
        """The line without its reason; ``show`` formats a value of Metrics by its name."""
        value = show(self.name, self.value) if show and self.name else number(self.value)
        sides = [self.symbol, self.formula, self.numbers, value]
        shown = [side for i, side in enumerate(sides) if side and side not in sides[:i]]
        return " = ".join(shown)


@dataclass(frozen=True)
class Remark:
    """A sentence between the lines."""

    text: str


@dataclass(frozen=True)
class DerivationTable:
    """A recursion row by row: a header, and the rows that are shown.

    A row is None where rows are left out.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[float, ...] | None, ...]

    def text(self) -> str:
        """Columns with six digits, aligned to the right."""
        left_out = ("...", *("" for _ in self.header[1:]))
        return table(self.header, [left_out if r is None else tuple(map(number, r)) for r in self.rows], left=0)


Line: TypeAlias = DerivationStep | Remark | DerivationTable


@dataclass(frozen=True)
class Derivation:
    """The derivation of the answer for ``model``; ``method`` names the theory and its source."""

    model: Network
    method: str
    lines: tuple[Line, ...]

    @property
    def steps(self) -> tuple[DerivationStep, ...]:
        """The lines with numbers."""
        return tuple(line for line in self.lines if isinstance(line, DerivationStep))

    def text(self, show: Callable[[str, float], str] | None = None) -> str:
        """A line for each step, its reason behind it or below; ``show`` formats a value of Metrics by its name."""
        equations = [step.equation(show) for step in self.steps]
        column = min(max(map(len, equations), default=0), _WIDEST) + 2
        lines = []
        for line in self.lines:
            if isinstance(line, Remark):
                lines += textwrap.wrap(line.text, _LINE, initial_indent="  ", subsequent_indent="  ")
            elif isinstance(line, DerivationTable):
                lines += textwrap.indent(line.text(), "    ").splitlines()
            elif len(equation := line.equation(show)) + 2 > column and line.because:
                lines += [f"  {equation}", f"  {' ' * column}{line.because}"]
            else:
                lines.append(f"  {equation.ljust(column)}{line.because}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.model.kendall}: {self.method}\n{self.text()}"


class DerivationBuilder:
    """Collects the lines of a derivation; ``values`` holds the values so far, by name."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.values: dict[str, float] = {}

    def given(self, name: str, value: float, because: str) -> None:
        """Add a value given by the model."""
        self.values[name] = float(value)
        self.lines.append(DerivationStep(symbol(name), "", "", float(value), because))

    def steps(self, text: str, **words: object) -> None:
        """Add lines ``name = formula | reason`` and ``# remark``, with ``words`` in place of {their names}."""
        for line in filter(str.strip, text.format(**words).splitlines()):
            if line.strip().startswith("# "):
                self.remark(line.strip()[2:])
                continue
            name, _, rest = line.partition(" = ")
            formula, _, because = rest.partition(" | ")
            self.let(name.strip(), formula.strip(), because.strip())

    def let(self, name: str, formula: str, because: str = "") -> float:
        """Add the value of ``formula``, computed from the lines above, and return it."""
        value = value_of(formula, self.values)
        symbols, numbers = (_written(formula, named) for named in (symbol, lambda n: number(self.values[n])))
        step = DerivationStep(symbol(name), symbols, numbers, value, because)
        return self._add(name, step)

    def found(self, name: str, value: float, formula: str, because: str = "", numbers: str = "") -> float:
        """Add a value computed elsewhere (a root, a long sum); ``formula`` and ``numbers`` are shown as given."""
        return self._add(name, DerivationStep(symbol(name), formula, numbers, float(value), because))

    def total(self, name: str, parts: Sequence[float], formula: str, because: str = "") -> float:
        """Add the sum of many parts, the first few and the last of them written out."""
        return self.found(name, float(sum(parts)), formula, because, " + ".join(_some([number(p) for p in parts])))

    def repeat(self, indices: Sequence[int], formulas: Mapping[str, str], because: str = "") -> None:
        """Add formulas for each index, with ``{i}`` and ``{j}`` (the previous one); those in the middle are not shown.

        Values are named ``name_i``; only the first line has the reason.
        """
        shown = set(_some(list(indices), gap=-1))
        for place, i in enumerate(indices):
            if i not in shown and indices[place - 1] in shown:
                self.remark("...")
            for name, formula in formulas.items():
                written = formula.format(i=i, j=i - 1)
                if i in shown:
                    self.let(f"{name}_{i}", written, because)
                    because = ""
                else:
                    self.values[f"{name}_{i}"] = value_of(written, self.values)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[float]]) -> None:
        """Add a recursion, a row for each step; those in the middle are left out where there are many."""
        shown = rows if len(rows) <= _MOST_ROWS else [*rows[: _MOST_ROWS // 2], None, *rows[-_MOST_ROWS // 2 :]]
        kept = tuple(None if r is None else tuple(map(float, r)) for r in shown)
        self.lines.append(DerivationTable(tuple(header), kept))

    def remark(self, text: str) -> None:
        """Add a sentence between the lines."""
        self.lines.append(Remark(text))

    def without(self, *names: str) -> None:
        """Mark these names as different from the model's Metrics of the same name."""
        for i, line in enumerate(self.lines):
            if isinstance(line, DerivationStep) and line.name in names:
                self.lines[i] = dataclasses.replace(line, name="")

    def _add(self, name: str, step: DerivationStep) -> float:
        self.values[name] = step.value
        self.lines.append(dataclasses.replace(step, name=_NAMES.get(name, "")))
        return step.value


def _some(items: list[Any], gap: Any = "...") -> list[Any]:
    """The first items and the last ones, with a gap between them where some are left out."""
    if len(items) <= _SHOWN_FIRST + _SHOWN_LAST + 1:
        return items
    return [*items[:_SHOWN_FIRST], gap, *items[-_SHOWN_LAST:]]
