"""Metrics as text and as JSON: bare numbers, or with units where the user gave units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from qsim import Metrics

_RATES = ("throughput",)
_TIMES = ("W", "Wq")


def metrics_text(metrics: Metrics, *, with_units: bool, quantiles: Sequence[float] = ()) -> str:
    """The table of the values; units only where the input had them."""
    text = str(metrics)
    if with_units:
        shown = metrics.text(lambda name, value: value_text(name, value, with_units))
        text = shown.replace("customers per time unit", "customers a second")
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


def value_text(name: str, value: float, with_units: bool) -> str:
    """One of the values by name, with its unit where ``with_units``."""
    if with_units and name in _TIMES:
        return format_duration(value, 4)
    if with_units and name in _RATES:
        return format_rate(value, 4)
    return f"{value:.6g}"
