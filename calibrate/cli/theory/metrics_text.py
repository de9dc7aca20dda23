"""Metrics and derivations as text and as JSON: bare numbers, or with units where the user gave units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import qsim
from calibrate.cli.console import Result
from calibrate.cli.theory.queue_models import hinting_at_units
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from qsim.derivations import Derivation


def metrics_text(
    metrics: qsim.Metrics, *, with_units: bool, quantiles: Sequence[float] = (), details: bool = False
) -> str:
    """The table of the values; units only where the input had them."""
    from qsim.metrics_view import long_text

    text = long_text(metrics, _shown(with_units), details=details)
    if with_units:
        text = text.replace("customers per time unit", "customers a second")
    for q in quantiles:
        known = _quantile(metrics, q)
        if known is None:
            text += f"\nW({q:g})  not known by formula: qsim simulate estimates it"
            continue
        value, low, high = (value_text("W", time, with_units) for time in known)
        between = "" if known[1] == known[2] else f"  [{low}, {high}]"
        text += f"\nW({q:g})  {value}{between}  {100 * q:g} % of the response times are below"
    return text


def _quantile(metrics: qsim.Metrics, q: float) -> tuple[float, float, float] | None:
    """The quantile of the response time and the ends of its interval; None where no formula gives it."""
    try:
        return metrics.quantile(q), *metrics.quantile_interval(q)
    except qsim.NoFormulaError:
        return None


def metrics_document(metrics: qsim.Metrics, *, with_units: bool, quantiles: Sequence[float] = ()) -> dict[str, Any]:
    """The JSON document; ``time_unit`` is null where the numbers are in the user's own unit."""
    document = {**metrics.to_dict(), "time_unit": "s" if with_units else None}
    if quantiles:
        found = [_quantile(metrics, q) or (None, None, None) for q in quantiles]
        document["quantiles"] = [
            {"q": q, "W": value, "interval": None if value is None else [low, high]}
            for q, (value, low, high) in zip(quantiles, found, strict=True)
        ]
    return document


def solved(
    model: qsim.Network,
    *,
    with_units: bool,
    explain: bool = False,
    details: bool = False,
    quantiles: Sequence[float] = (),
) -> Result:
    """The values of a model by formula, with their derivation if ``explain``. Raises as ``qsim.solve``."""
    from qsim.derivations import derive

    with hinting_at_units(with_units):
        metrics = qsim.solve(model)
    derivation = derive(model) if explain else None
    values = partial(metrics_text, metrics, with_units=with_units, quantiles=quantiles, details=details)
    document = partial(metrics_document, metrics, with_units=with_units, quantiles=quantiles)
    if derivation is None:
        return Result(values, document)
    return Result(
        lambda: f"{values()}\n\nhow this comes about:\n{derivation.text(_shown(with_units))}",
        lambda: {**document(), "derivation": derivation_document(derivation)},
    )


def _shown(with_units: bool) -> Callable[[str, float], str] | None:
    """Formats values by their names; None for six digits."""
    return (lambda name, value: value_text(name, value, True)) if with_units else None


def value_text(name: str, value: float, with_units: bool) -> str:
    """One of the values by name, with its unit where ``with_units``."""
    units = {"throughput": format_rate, "W": format_duration, "Wq": format_duration} if with_units else {}
    return units[name](value, 4) if name in units else f"{value:.6g}"


def derivation_document(derivation: Derivation) -> dict[str, Any]:
    """The same in JSON; a step's ``name`` is the key of the value that it ends in, "" where there is none.

    Of a table that is shortened, the row that stands for those left out is None.
    """
    from qsim.derivations import Remark

    lines = [{"remark": line.text} if isinstance(line, Remark) else asdict(line) for line in derivation.lines]
    return {"method": derivation.method, "lines": lines}
