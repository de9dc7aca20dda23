"""Metrics as text and as JSON: bare numbers, or with units where the user gave units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import described_table
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from qsim import Metrics

_RATES = ("throughput",)
_TIMES = ("W", "Wq")


def metrics_text(metrics: Metrics, *, with_units: bool, quantiles: Sequence[float] = ()) -> str:
    """The table of the values; units only where the input had them."""
    text = _table(metrics) if with_units else str(metrics)
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


def _table(metrics: Metrics) -> str:
    from qsim.metrics import SYMBOLS

    rows = []
    level = [] if metrics.confidence is None else [f"{100 * metrics.confidence:g} % interval"]
    for name, (symbol, meaning) in SYMBOLS.items():
        value = getattr(metrics, name)
        if math.isnan(value):  # not known
            continue
        ends = metrics.intervals.get(name)
        between = [f"{value_text(name, ends[0], True)} .. {value_text(name, ends[1], True)}" if ends else ""]
        kind = metrics.kind_of(name)
        said = meaning.replace(", customers per time unit", ", customers a second")
        said = said if kind == metrics.kind else f"{said} [{kind}]"
        rows.append((symbol, value_text(name, value, True), *(between if level else ()), said))
    text = described_table(("", "value", *level), rows)
    head = f"{metrics.model.kendall}: {metrics.kind}, {metrics.method}"
    return "\n".join([head, text, *(f"warning: {w}" for w in metrics.warnings)])


def value_text(name: str, value: float, with_units: bool) -> str:
    """One of the values by name, with its unit where ``with_units``."""
    if with_units and name in _TIMES:
        return format_duration(value, 4)
    if with_units and name in _RATES:
        return format_rate(value, 4)
    return f"{value:.6g}"
