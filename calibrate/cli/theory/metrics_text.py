"""Metrics and derivations as text and as JSON: bare numbers, or with units where the user gave units."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import print_json, say
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from qsim import Metrics, Network
    from qsim.derivations import Derivation, DerivationStep


_RATES = ("throughput",)
_TIMES = ("W", "Wq")


def metrics_text(metrics: Metrics, *, with_units: bool, quantiles: Sequence[float] = (), details: bool = False) -> str:
    """The table of the values; units only where the input had them."""
    show = (lambda name, value: value_text(name, value, with_units)) if with_units else None
    text = str(metrics.text(show, details=details))
    if with_units:
        text = text.replace("customers per time unit", "customers a second")
    for q in quantiles:
        low, high = metrics.quantile_interval(q)
        value = value_text("W", metrics.quantile(q), with_units)
        between = "" if low == high else f"  [{value_text('W', low, with_units)}, {value_text('W', high, with_units)}]"
        text += f"\nW({q:g})  {value}{between}  {100 * q:g} % of the response times are below"
    return text


def metrics_document(metrics: Metrics, *, with_units: bool, quantiles: Sequence[float] = ()) -> dict[str, Any]:
    """The JSON document; ``time_unit`` is null where the numbers are in the user's own unit."""
    document = {**metrics.to_dict(), "time_unit": "s" if with_units else None}
    if quantiles:
        document["quantiles"] = [
            {"q": q, "W": metrics.quantile(q), "interval": list(metrics.quantile_interval(q))} for q in quantiles
        ]
    return document


def say_solved(
    model: Network, metrics: Metrics, *, with_units: bool, explain: bool, as_json: bool, quantiles: Sequence[float] = ()
) -> None:
    """Print the values of a model that was solved, and with ``explain`` how they come about."""
    from qsim.derivations import derive

    derivation = derive(model) if explain else None
    if as_json:
        document = metrics_document(metrics, with_units=with_units, quantiles=quantiles)
        print_json(document if derivation is None else {**document, "derivation": derivation_document(derivation)})
        return
    say(metrics_text(metrics, with_units=with_units, quantiles=quantiles))
    if derivation is not None:
        say(f"\n{derivation_text(derivation, with_units=with_units)}")


def value_text(name: str, value: float, with_units: bool) -> str:
    """One of the values by name, with its unit where ``with_units``."""
    if with_units and name in _TIMES:
        return format_duration(value, 4)
    if with_units and name in _RATES:
        return format_rate(value, 4)
    return f"{value:.6g}"


_WIDEST = 50
_LINE = 100


def derivation_text(derivation: Derivation, *, with_units: bool) -> str:
    """The steps, a line each; what the model says first."""
    from qsim.derivations import DerivationTable, Remark

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
    from qsim.derivations import Remark

    lines = [{"remark": line.text} if isinstance(line, Remark) else asdict(line) for line in derivation.lines]
    return {"method": derivation.method, "lines": lines}


def _equation(step: DerivationStep, *, with_units: bool) -> str:
    value = value_text(step.name, step.value, with_units) if step.name and with_units else ""
    return step.equation(value)
