"""Metrics as text, a data frame, a figure, and plain data for JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qsim.metrics import SYMBOLS, Interval, Metrics
from qsim.models.network import Network
from qsim.result import table, without_empty

if TYPE_CHECKING:
    import pandas as pd

ShowValue: TypeAlias = Callable[[str, float], str]  # formats the value of that name

Row: TypeAlias = tuple[str, str, str, str]  # symbol, value, interval or "", and meaning

WAITS = ("Lq", "Wq")

LOSSES = {
    "p_wait": "probability that an arrival that is let in waits",
    "p_block": "probability that an arrival finds the system full and is lost",
}
"""The meaning of two values where arrivals are lost: they are not shares of the same arrivals."""

NO_WAITING = "no wait is shown where a station serves all present together, at a rate that depends on their number"

MOST_DRAWN = 256  # states in a figure
LONGEST_DRAWN, POINTS_DRAWN = 0.995, 201  # times in a figure


def _four_digits(_: str, value: float) -> str:
    return f"{value:.4g}"


def short_text(metrics: Metrics) -> str:
    """The model with its method, and the answer in a sentence."""
    return f"{_headline(metrics)}\n{_answer(metrics, _four_digits)}"


def long_text(
    metrics: Metrics, show: ShowValue | None = None, *, details: bool = False, more: Sequence[Row] = ()
) -> str:
    """The answer, then a table of the values and one of the parts; ``show`` writes a value by its name.

    With ``details`` each station is followed by its classes; ``more`` rows follow the values.
    """
    first = [_headline(metrics), _answer(metrics, show or _four_digits)]
    show = show or (lambda _, value: f"{value:.6g}")
    header, rows = without_empty(("", "value", _level(metrics), ""), [*_rows(metrics, show), *more])
    values = table(header, rows, left=[i in (0, len(header) - 1) for i in range(len(header))])
    parts = [table(head, rows) for head, *rows in _part_tables(metrics, show, details=details)]
    notes = [f"note: {NO_WAITING}"] if _serves_together(metrics) else []
    return "\n".join([*first, "", values, *parts, *notes, *(f"warning: {w}" for w in metrics.warnings)])


def _headline(metrics: Metrics) -> str:
    part = f"{metrics.name} of " if metrics.name else ""
    return f"{part}{metrics.model.kendall}: {metrics.kind}, {metrics.method}"


def _answer(metrics: Metrics, show: ShowValue) -> str:
    """The time a customer stays and waits, the number present and the utilization, in a sentence."""
    between = metrics.intervals.get("W")
    ends = f" ({show('W', between[0])} to {show('W', between[1])})" if between else ""
    stays = f"a customer stays W = {show('W', metrics.W)}{ends} on average"
    waits = f"{show('Wq', metrics.Wq)} of it waiting"
    known = [(metrics.W, stays), (_value(metrics, "Wq"), waits)]
    alone = isinstance(metrics.model, Network) and all(s.servers == 1 for s in metrics.model.stations.values())
    servers = "the busiest station" if metrics.stations else "the server" if alone else "servers"
    parts = [
        ", ".join(words for value, words in known if not math.isnan(value)),
        "" if math.isnan(metrics.L) else f"L = {metrics.L:.4g} present",
        "" if math.isnan(metrics.utilization) else f"{servers} {100 * metrics.utilization:.3g} % busy",
    ]
    text = "; ".join(part for part in parts if part)
    return text[:1].upper() + text[1:]


def _level(metrics: Metrics) -> str:
    return "bounds" if metrics.confidence is None else f"{100 * metrics.confidence:g} % interval"


def _rows(metrics: Metrics, show: ShowValue) -> list[Row]:
    rows = []
    for name, (symbol, meaning) in SYMBOLS.items():
        value = _value(metrics, name)
        if math.isnan(value):
            continue
        ends = metrics.intervals.get(name)
        between = f"{show(name, ends[0])} .. {show(name, ends[1])}" if ends else ""
        kind = metrics.kind_of(name)
        words = LOSSES.get(name, meaning) if metrics.p_block > 0 else meaning
        words += " of the busiest station" if name == "utilization" and metrics.stations else ""
        rows.append((symbol, show(name, value), between, words if kind == metrics.kind else f"{words} [{kind}]"))
    return rows


def _part_tables(metrics: Metrics, show: ShowValue, *, details: bool) -> list[list[list[str]]]:
    """Stations and classes as rows of cells, the first row being the head."""
    stations = [
        part
        for station in metrics.stations
        for part in (station, *(replace(c, name=f"  {c.name}") for c in station.classes if details))
    ]
    tables = []
    for heading, parts in (("per visit", stations), ("class", metrics.classes)):
        known = [name for name in SYMBOLS if any(math.isfinite(_value(part, name)) for part in parts)]
        if parts:
            values = [(part.name, [(name, _value(part, name)) for name in known]) for part in parts]
            rows = [[own, *("" if math.isnan(v) else show(name, v) for name, v in found)] for own, found in values]
            tables.append([[heading, *(SYMBOLS[name][0] for name in known)], *rows])
    return tables


def _value(metrics: Metrics, name: str) -> float:
    """The value of that name; NaN where it is unknown or has no meaning."""
    return float(getattr(metrics, name)) if _has_meaning(metrics, name) else math.nan


def _intervals(metrics: Metrics) -> dict[str, Interval]:
    return {name: ends for name, ends in metrics.intervals.items() if _has_meaning(metrics, name)}


def _has_meaning(metrics: Metrics, name: str) -> bool:
    """Whether it is no wait where a station serves all present together."""
    return name not in WAITS or not _serves_together(metrics)


def _serves_together(metrics: Metrics) -> bool:
    """Whether the station, or one of the network's, works at a rate X(n), which does not tell who of the n waits."""
    stations = metrics.model.stations if isinstance(metrics.model, Network) else {}
    own = [stations[metrics.name]] if metrics.name in stations else stations.values()
    return any(station.speeds is not None for station in own)


def document(metrics: Metrics) -> dict[str, Any]:
    """Plain data for JSON; values that are not known are None."""

    def plain(value: float) -> float | None:
        return value if math.isfinite(value) else None

    parts = (("stations", metrics.stations), ("classes", metrics.classes))
    return {
        "model": metrics.model.kendall,
        **({"name": metrics.name} if metrics.name else {}),
        **{name: plain(_value(metrics, name)) for name in SYMBOLS},
        "kind": metrics.kind,
        "kinds": {name: metrics.kind_of(name) for name in SYMBOLS},
        "method": metrics.method,
        "intervals": {name: [plain(low), plain(high)] for name, (low, high) in _intervals(metrics).items()},
        "confidence": metrics.confidence,
        "customers": metrics.customers,
        "warmup": metrics.warmup,
        "seed": metrics.seed,
        "approximations": {name: plain(wait) for name, wait in metrics.approximations.items()},
        "warnings": list(metrics.warnings),
        **{key: [document(part) for part in listed] for key, listed in parts if listed},
    }


def frame(metrics: Metrics) -> pd.DataFrame:
    """A row for the model, then one for each station and class: ``name``, the values, the ends of their intervals."""
    import pandas as pd

    rows = [(metrics.name or metrics.model.kendall, metrics)]
    for station in metrics.stations:
        rows += [(station.name, station), *((f"{station.name}, {c.name}", c) for c in station.classes)]
    rows += [(part.name, part) for part in metrics.classes]
    return pd.DataFrame([{"name": name, **_frame_row(part)} for name, part in rows])


def _frame_row(part: Metrics) -> dict[str, float]:
    row: dict[str, float] = {}
    between = _intervals(part)
    for name in SYMBOLS:
        row[name] = _value(part, name)
        if name in between:
            row[f"{name}_low"], row[f"{name}_high"] = between[name]
    return row


def figure(metrics: Metrics, of: str = "L") -> Any:
    """A plotly Figure: P(n present) or, of a network, the utilization of each part; P(T > t) where ``of`` is a time."""
    import pandas as pd

    title = _headline(metrics)
    if of != "L":
        t = np.linspace(0, metrics.quantile(LONGEST_DRAWN, of), POINTS_DRAWN)
        drawn = pd.DataFrame({"t": t, f"P({of} > t)": metrics.survival(t, of)})
        return drawn.plot(kind="line", x="t", y=f"P({of} > t)", title=title, backend="plotly")
    if metrics.stations or metrics.classes or metrics.states is None:
        return frame(metrics).plot(kind="bar", x="name", y="utilization", title=title, backend="plotly")
    most = 1
    while most < MOST_DRAWN and metrics.p(range(most)).sum() < 0.999:
        most *= 2
    states = pd.DataFrame({"n": range(most), "p(n)": metrics.p(range(most))})
    return states.plot(kind="bar", x="n", y="p(n)", title=title, backend="plotly")
