"""Reads and writes apart: over a mix, with their spread and together, and 100 % reads against 100 % writes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrate.report.drawing import AXIS, BLUE, GREY, INK, RED, Axis, Drawing, axis_layout, interval, spans_decade
from calibrate.report.measured.measured_data import MeasuredData
from calibrate.report.measured.shown_columns import axis_of, columns_of, rate_of, some_loads, text_of, word_of
from calibrate.report.view import View
from measure.origin import as_measured
from measure.origin import word_of as word_of_origin
from measure.units import format_bytes

MOST_GROUPS, MOST_BARS = 3, 12
COLOURS = {"reads": BLUE, "writes": RED, "together": GREY}
POOLED = (
    "Together, the variance is the mean of both variances and of both squared distances from the common mean, by the "
    "rates (law of total variance: Blitzstein and Hwang, Introduction to Probability, 2nd ed. 2019, theorem 9.5.4)."
)
SPREAD = "Bars end at the mean; a whisker is one standard deviation of single requests to either side."


def pooled(means: Sequence[float], deviations: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of several kinds of requests together, by the law of total variance.

    >>> mean, deviation = pooled([100e-6, 300e-6], [0.0, 0.0], [1, 1])
    >>> round(1e6 * mean), round(1e6 * deviation)
    (200, 100)
    """
    mu, sigma, share = np.array(means), np.array(deviations), np.array(weights) / np.sum(weights)
    mean = float(share @ mu)
    return mean, float(np.sqrt(share @ (sigma**2 + (mu - mean) ** 2)))


def direction_views(measured: MeasuredData) -> list[View]:
    """Views of reads and writes, where the data have them apart or have 100 % of either."""
    return [*_over_the_mix(measured), *_one_against_the_other(measured)]


# --- over the mix -----------------------------------------------------------------------------------------------------


def with_directions(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with latency and deviation of reads and of writes: those of 100 % are the whole's."""
    found = table.copy()
    for kind, share in (("read", 1.0), ("write", 0.0)):
        for figure in ("latency_s", "latency_sd_s"):
            column = f"{kind}_{figure}"
            known = found.get(column, np.nan)
            found[column] = np.where(found["read_fraction"] == share, found[figure], known)
    return found


def _over_the_mix(measured: MeasuredData) -> list[View]:
    """Latency of reads, of writes and together over the share of reads, where a mix has them apart."""
    if "read_latency_s" not in measured.table or measured.memory:
        return []
    rows = with_directions(measured.table.dropna(subset=["read_fraction"]))
    as_printed = rows["latency_origin"].map(word_of_origin) != "corrected"
    mixed = rows[["read_latency_s", "write_latency_s"]].notna().all(axis=1) & as_printed
    of = ["place", "load"]
    kept = rows[mixed.groupby([rows[c] for c in of]).transform("any")]
    groups = [g for _, g in kept[kept["load"].isin(some_loads(kept))].groupby(of, sort=False)] if len(kept) else []
    return [
        _bars_of_a_mix(measured, number, group.sort_values("read_fraction"))
        for number, group in enumerate(groups[:MOST_GROUPS], 1)
    ]


def _bars_of_a_mix(measured: MeasuredData, number: int, rows: pd.DataFrame) -> View:
    """Bars of the mean latency at each share of reads, with their spread where the tool or the table has it."""
    axis = axis_of(measured, "latency_s", rows)
    shares = [f"{100 * share:g}" for share in rows["read_fraction"]]
    parts = {"reads": "read_", "writes": "write_", "together": ""}
    spread = rows["read_latency_sd_s"].notna().any() and rows["write_latency_sd_s"].notna().any()
    apart = rows[["read_latency_s", "write_latency_s"]].to_numpy(float)
    log = not spread and spans_decade(apart[np.isfinite(apart)])
    figure = bar_figure("reads (%)", axis.title, log=log)
    for name, prefix in parts.items():
        values = as_measured(rows, "latency_s") if not prefix else rows[f"{prefix}latency_s"].to_numpy(float)
        deviations = rows[f"{prefix}latency_sd_s"].to_numpy(float) if spread else None
        add_bars(figure, [shares], name, axis, values, deviations, COLOURS[name])
    place, load = str(rows["place"].iloc[0]), measured.load_type.at(float(rows["load"].iloc[0]))
    where = ", ".join(part for part in (place, load) if part)
    columns = ["read_fraction", "read_latency_s", "read_latency_sd_s", "write_latency_s", "write_latency_sd_s"]
    table = rows[[*columns, "latency_s", "latency_sd_s"]]
    title = f"Latency of reads and writes over the mix: {where}"
    caption = f"{_apart(rows)} {f'{SPREAD} {POOLED}' if spread else 'The spread of single requests was not printed.'}"
    text = text_of(measured, table)
    return View(f"latency-by-direction-{number}", title, caption, table, figure, text)


def _apart(rows: pd.DataFrame) -> str:
    ratio = (rows["write_latency_s"] / rows["read_latency_s"]).dropna().to_numpy(float)
    if (ratio >= 1).all():
        return f"In the mixes writes take {_times(ratio)} times as long as reads."
    if (ratio <= 1).all():
        return f"In the mixes reads take {_times(1 / ratio)} times as long as writes."
    return "In some mixes reads take longer, in others writes."


# --- 100 % reads against 100 % writes ---------------------------------------------------------------------------------


def _one_against_the_other(measured: MeasuredData) -> list[View]:
    """Throughput and latency of 100 % reads beside those of 100 % writes, at each size and some of the loads."""
    rows = measured.table[measured.table["read_fraction"].isin([0.0, 1.0])]
    rows = rows.drop_duplicates(["place", "load", "read_fraction"])
    rows = rows[rows.groupby(["place", "load"])["read_fraction"].transform("nunique") == 2]
    if measured.memory or rows.empty:
        return []
    choices = [rows[rows["load"].isin(some_loads(rows, most))] for most in (3, 2, 1)]
    chosen = next((few for few in choices if len(few) <= 2 * MOST_BARS), choices[-1])
    chosen = chosen.sort_values(["size_bytes", "load"], kind="stable")
    return [_side_by_side(measured, chosen, column) for column in (rate_of(measured), "latency_s")]


def _side_by_side(measured: MeasuredData, rows: pd.DataFrame, column: str) -> View:
    axis, word = axis_of(measured, column, rows), word_of(column)
    title = f"{measured.load_name}, below it the {measured.size_name}" if rows["load"].nunique() > 1 else ""
    figure = bar_figure(title, axis.title, log=spans_decade(as_measured(rows, column)))
    halves = {name: rows[rows["read_fraction"] == share] for name, share in (("reads", 1.0), ("writes", 0.0))}
    for name, half in halves.items():
        add_bars(figure, _places(measured, half), name, axis, as_measured(half, column), None, COLOURS[name])
    reads, writes = (as_measured(half, column) for half in halves.values())
    kept = columns_of(measured, "series", "size_bytes", "read_fraction", "load")
    title = f"{word.capitalize()} of 100 % reads against 100 % writes"
    return View(
        f"{word}-reads-against-writes", title, _compared(reads / writes, column), rows[kept], figure, answers=True
    )


def _places(measured: MeasuredData, rows: pd.DataFrame) -> list[list[str]]:
    """Names of the bars, sizes above loads where there are several."""
    sized = (rows["size_bytes"] > 0).all() and not rows.duplicated(["size_bytes", "load"]).any()
    outer = [format_bytes(size) for size in rows["size_bytes"]] if sized else [str(p) for p in rows["place"]]
    return [outer, [f"{load:g}" for load in rows["load"]]] if rows["load"].nunique() > 1 else [outer]


def _compared(ratio: NDArray[np.float64], column: str) -> str:
    verb, what = ("take", "the time") if column == "latency_s" else ("reach", "the throughput")
    if (ratio <= 1).all():
        return f"Writes {verb} {_times(1 / ratio)} times {what} of reads."
    if (ratio >= 1).all():
        return f"Reads {verb} {_times(ratio)} times {what} of writes."
    more = "take longer" if column == "latency_s" else "have the higher throughput"
    return f"Reads {more} at some places, writes at others."


def _times(ratio: NDArray[np.float64]) -> str:
    low, high = (f"{v:.2g}" if v < 99.5 else f"{v:,.0f}" for v in (ratio.min(), ratio.max()))
    return low if low == high else f"{low} to {high}"


# --- bars -------------------------------------------------------------------------------------------------------------


def bar_figure(x_title: str, y_title: str, *, log: bool = False) -> Drawing:
    return Drawing(
        barmode="group",
        bargap=0.25,
        xaxis={**AXIS, "title": {"text": x_title}, "showgrid": False, "rangemode": "normal"},
        yaxis=axis_layout(y_title, log=log),
    )


def add_bars(
    figure: Drawing,
    names: Sequence[Sequence[str]],
    name: str,
    axis: Axis,
    values: NDArray[np.float64],
    deviations: NDArray[np.float64] | None,
    colour: str | list[str],
) -> None:
    """Bars of ``values`` (m,) at ``names``, in one or two levels; a whisker is one deviation, no lower than zero."""
    bar: dict[str, object] = {
        "type": "bar",
        "x": list(names) if len(names) > 1 else names[0],
        "y": axis.of(values),
        "name": name,
        "marker": {"color": colour},
        "hovertemplate": f"%{{x}}<br>{name} %{{y:.4g}}<extra></extra>",
    }
    if deviations is not None:
        low = np.maximum(values - deviations, 0)
        bar["error_y"] = interval(*map(axis.of, (values, low, values + deviations)), width=4, color=INK)
    figure.data.append(bar)
    if len(names) == 1:
        figure.update_xaxes(type="category")
