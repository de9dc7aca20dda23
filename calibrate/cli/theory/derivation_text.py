"""A derivation for the terminal: equations on the left, their reasons on the right."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

from calibrate.cli.theory.metrics_text import value_text
from qsim.derivations import Derivation, DerivationStep, DerivationTable, Line, Remark

_WIDEST = 50
_LINE = 100


def derivation_text(derivation: Derivation, *, with_units: bool) -> str:
    """The steps, a line each; what the model says first."""
    equations = [_equation(step, with_units=with_units) for step in derivation.steps]
    column = min(max(map(len, equations), default=0), _WIDEST) + 2
    lines: list[str] = ["how this comes about:"]
    for line in derivation.lines:
        if isinstance(line, Remark):
            lines += textwrap.wrap(line.text, _LINE, initial_indent="  ", subsequent_indent="  ")
            continue
        if isinstance(line, DerivationTable):
            lines += textwrap.indent(line.text(), "    ").splitlines()
            continue
        equation = _equation(line, with_units=with_units)
        if len(equation) + 2 > column and line.because:
            lines += [f"  {equation}", f"  {' ' * column}{line.because}"]
        else:
            lines.append(f"  {equation.ljust(column)}{line.because}".rstrip())
    return "\n".join(lines)


def derivation_document(derivation: Derivation) -> dict[str, Any]:
    """The same in JSON; a step's ``name`` is the key of the value that it ends in, "" where there is none.

    Of a table that is shortened, the row that stands for those left out is None.
    """
    return {"method": derivation.method, "lines": [_line(line) for line in derivation.lines]}


def _line(line: Line) -> dict[str, Any]:
    match line:
        case Remark():
            return {"remark": line.text}
        case DerivationTable():
            return {"header": list(line.header), "rows": [r if r is None else list(r) for r in line.rows]}
    return asdict(line)


def _equation(step: DerivationStep, *, with_units: bool) -> str:
    value = value_text(step.name, step.value, with_units) if step.name and with_units else ""
    return step.equation(value)
