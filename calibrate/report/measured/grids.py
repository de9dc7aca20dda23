"""Pictures over two settings at once: heat maps over size and read share, and IOPS and MB/s over the block size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.report import drawing
from calibrate.report.measured.measured_data import MeasuredData
from calibrate.report.measured.shown_columns import columns_of, extremes, rate_of, some_loads, word_of
from calibrate.report.view import View, quantity_text
from measure.origin import as_measured, symbols
from measure.units import format_bytes

LEAST, MOST = 2, 12  # the least and the most sizes, and shares, of a heat map
SCALE = [[0.0, "#f2f7fb"], [0.5, "#a6cbe3"], [1.0, "#4292c6"]]
"""From light to a middle blue: told apart by lightness alone, so by the colour-blind too, and dark text is legible."""
TEXT = "#111111"
COLOURS = "Colours are in logarithms, the same in every map."
ROW, EDGE = 64, 190  # pixels of a row of a heat map, and of what is around them
BLOCKS = 3  # the least block sizes of a picture of both rates
MOST_PAIRS = 3


def heat_maps(measured: MeasuredData) -> list[View]:
    """Throughput (a memory's bandwidth) and latency over size and share of reads, a map for each of some loads."""
    rows = measured.table.dropna(subset=["read_fraction", "size_bytes"])
    counts = rows.groupby("load")[["size_bytes", "read_fraction"]].nunique()
    mapped = counts[((counts >= LEAST) & (counts <= MOST)).all(axis=1)]
    rows = rows[rows["load"].isin(mapped.index)].drop_duplicates(["load", "size_bytes", "read_fraction"])
    if rows.empty:
        return []
    shown = rows[rows["load"].isin(some_loads(rows))]
    return [
        _heat_map(measured, shown, column, number, part)
        for column in (rate_of(measured), "latency_s")
        for number, (_, part) in enumerate(shown.groupby("load"), 1)
    ]


def _heat_map(measured: MeasuredData, every: pd.DataFrame, column: str, number: int, rows: pd.DataFrame) -> View:
    """The values of ``rows`` in their cells, all maps of ``every`` to one scale of colours."""
    word = word_of(column)
    sizes, shares = np.unique(rows["size_bytes"]), np.unique(rows["read_fraction"])
    values = np.full((len(sizes), len(shares)), np.nan)
    at = np.searchsorted(sizes, rows["size_bytes"]), np.searchsorted(shares, rows["read_fraction"])
    values[at] = as_measured(rows, column)
    texts = [[quantity_text(column, v) for v in line] for line in values]
    ends = np.log10([np.nanmin(as_measured(every, column)), np.nanmax(as_measured(every, column))])
    tens = _ticks(float(ends[0]), float(ends[1]))
    figure = drawing.Drawing(
        height=EDGE + ROW * len(sizes),
        xaxis={**drawing.AXIS, "title": {"text": "reads (%)"}, "type": "category", "showgrid": False},
        yaxis={**drawing.AXIS, "title": {"text": measured.size_name}, "type": "category", "showgrid": False},
    )
    figure.data.append(
        {
            "type": "heatmap",
            "x": [f"{100 * share:g}" for share in shares],
            "y": [format_bytes(size) for size in sizes],
            "z": np.log10(values).tolist(),
            "text": texts,
            "texttemplate": "%{text}",
            "textfont": {"color": TEXT},
            "hovertemplate": "%{y}, %{x} % reads: %{text}<extra></extra>",
            "colorscale": SCALE,
            "zmin": float(ends[0]),
            "zmax": float(ends[1]),
            "xgap": 2,
            "ygap": 2,
            "name": word,
            "colorbar": {
                "orientation": "h",
                "yref": "container",
                "yanchor": "bottom",
                "y": 0,
                "thickness": 14,
                "len": 0.8,
                "tickvals": np.log10(tens).tolist(),
                "ticktext": [quantity_text(column, t) for t in tens],
            },
        }
    )
    at_load = measured.load_type.at(float(rows["load"].iloc[0]))
    caption = f"{extremes(measured, rows, column, ('size_bytes', 'read_fraction'))} {COLOURS}".strip()
    kept = columns_of(measured, "series", "size_bytes", "read_fraction", "load")
    title = f"{word.capitalize()} over {measured.size_name} and reads, {at_load}"
    return View(f"{word}-map-{number}", title, caption, rows[kept], figure)


def _ticks(low: float, high: float) -> list[float]:
    """Values for a scale of colours between two powers of ten: the ends and the tens between, three at most."""
    tens = [float(e) for e in range(int(np.ceil(low)), int(np.floor(high)) + 1)]
    inside = [e for e in tens if min(e - low, high - e) > 0.25 * (high - low)][:1]
    return [10.0**e for e in ([low, *inside, high] if high > low else [low])]


@dataclass(frozen=True)
class Crossover:
    """Where requests a second and bytes a second are at the same ``share`` of the highest of each."""

    block_bytes: float
    share: float


def crossover(block_bytes: Sequence[float], rate: Sequence[float], moved: Sequence[float]) -> Crossover | None:
    """The block at which both curves cross, each as a share of its highest; None where they do not.

    Between two measured blocks it is read in logarithms of the size. All three are of the same blocks, ascending.

    >>> found = crossover([4096, 16384, 65536], [100e3, 80e3, 20e3], [0.4e9, 1.3e9, 1.3e9])
    >>> round(found.block_bytes / 1024), round(found.share, 2)
    (12, 0.84)
    """
    of_rate, of_bytes = np.array(rate) / np.max(rate), np.array(moved) / np.max(moved)
    gap, size = of_rate - of_bytes, np.log(np.array(block_bytes))
    for i in np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0)):
        part = gap[i] / (gap[i] - gap[i + 1])
        share = of_rate[i] + part * (of_rate[i + 1] - of_rate[i])
        return Crossover(float(np.exp(size[i] + part * (size[i + 1] - size[i]))), float(share))
    return None


def both_rates(measured: MeasuredData) -> list[View]:
    """Requests and bytes a second over the block size, on two axes that end at the highest of each."""
    rows = measured.table[(measured.table["size_bytes"] > 0) & measured.table["bandwidth_bytes_per_s"].notna()]
    if measured.memory or measured.size_name != "block size" or rows.empty:
        return []
    rows = rows[rows.groupby(["curve", "load"])["size_bytes"].transform("nunique") >= BLOCKS]
    groups = [g for _, g in rows[rows["load"].isin(some_loads(rows))].groupby(["curve", "load"], sort=False)]
    return [_both(measured, number, group) for number, group in enumerate(groups[:MOST_PAIRS], 1)]


def _both(measured: MeasuredData, number: int, rows: pd.DataFrame) -> View:
    rows = rows.sort_values("size_bytes")
    rate, moved = as_measured(rows, "throughput_per_s"), rows["bandwidth_bytes_per_s"].to_numpy(float)
    scale = drawing.size_scale("block size", rows["size_bytes"].to_numpy(float))
    left, right = drawing.rate_axis(rate, "IOPS"), drawing.bandwidth_axis(moved)
    figure = drawing.empty_figure(scale.title, left.title, log_x=True)
    ends = {"rangemode": "normal"}
    figure.update_layout(
        yaxis={**ends, "range": [0, 1.05 * float(left.of(rate).max())]},
        yaxis2={
            **drawing.AXIS,
            **ends,
            "title": {"text": right.title},
            "range": [0, 1.05 * float(right.of(moved).max())],
            "overlaying": "y",
            "tickmode": "auto",
            "side": "right",
            "showgrid": False,
        },
        margin={"r": 70},
    )
    x = scale.at(rows["size_bytes"].to_numpy(float))
    for name, colour, symbol, y, column, axis in (
        ("IOPS", drawing.BLUE, "circle", left.of(rate), "throughput_per_s", "y"),
        ("bytes a second", drawing.RED, "square", right.of(moved), "bandwidth_bytes_per_s", "y2"),
    ):
        figure.add_scatter(
            x=x,
            y=y,
            yaxis=axis,
            mode="lines+markers",
            name=name,
            line=drawing.solid(colour),
            marker=drawing.marker(colour, symbols(rows, (column,), symbol), 10),
        )
    scale.apply(figure)
    found = crossover(rows["size_bytes"].tolist(), rate.tolist(), moved.tolist())
    if found is not None:
        figure.add_upright(found.block_bytes, drawing.dashed())
        figure.add_to_legend(f"crossover at {format_bytes(found.block_bytes, 2)}", drawing.dashed())
    curve, load = str(rows["curve"].iloc[0]), measured.load_type.at(float(rows["load"].iloc[0]))
    name = ", ".join(part for part in (curve, load) if part)
    kept = columns_of(measured, "series", "size_bytes", "load")
    title = f"IOPS and bandwidth over block size: {name}"
    return View(f"iops-and-bandwidth-{number}", title, _said(found, rows, name), rows[kept], figure, answers=True)


def _said(found: Crossover | None, rows: pd.DataFrame, name: str) -> str:
    least, most = (format_bytes(float(rows["size_bytes"].agg(end))) for end in ("min", "max"))
    if found is None:
        return f"{name}: between {least} and {most} IOPS and bandwidth do not cross, each as a share of its highest."
    at = format_bytes(found.block_bytes, 2)
    return (
        f"{name}: IOPS and bandwidth cross at {at}, both at {100 * found.share:.0f} % of their highest (read "
        f"between measured sizes, {least} to {most}). Smaller blocks are nearer to the most requests, larger ones to "
        "the most bytes."
    )
