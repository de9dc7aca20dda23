"""Chooses views of measurements by the columns that vary, and builds their section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from calibrate.fitting.calibrating import fit
from calibrate.fitting.fit import Fit
from calibrate.fitting.fit_answer import fits_rows, knee_word
from calibrate.fitting.predicted_curve import Knee
from calibrate.inference.parameters import LEVEL
from calibrate.report import drawing
from calibrate.report.measured.directions import direction_views
from calibrate.report.measured.grids import both_rates, heat_maps
from calibrate.report.measured.measured_data import MeasuredData
from calibrate.report.measured.shown_columns import (
    axis_of,
    columns_of,
    extremes,
    fewer_lines,
    rate_of,
    text_of,
    with_ends,
    with_loads,
    word_of,
)
from calibrate.report.view import FormattedTable, Section, View, end_of
from measure import repeats
from measure.errors import DataError
from measure.loads import ArrivalRate, Bandwidth, BufferSize, InjectedDelay
from measure.origin import IN_PLOTS, ORIGIN, as_measured, as_published, corrected_rows, foot_lines, symbols
from measure.sweep import PERCENTILES
from measure.units import counted

MOST_LINES = len(drawing.PALETTE) * len(drawing.DASHES)


def lines(
    parts: Sequence[tuple[str, pd.DataFrame, str]], x: str, scale: drawing.AxisScale, axis: drawing.Axis
) -> drawing.Drawing:
    """The first parts (name, rows in the order of the line, column of y) against the column ``x``."""
    values = np.concatenate([as_measured(rows, column) for _, rows, column in parts])
    values = np.concatenate([values, *(as_published(corrected_rows(r, (x, c)), c) for _, r, c in parts)])
    values = values[np.isfinite(values)]
    log = drawing.spans_decade(values)
    figure = drawing.empty_figure(scale.title, axis.title, log_y=log)
    if log and not parts[0][2].endswith("per_s"):
        figure.update_yaxes(**drawing.time_axis(values, axis))
    for (name, rows, column), (i, dash) in zip(parts, _styles([rows for _, rows, _ in parts]), strict=False):
        colour = drawing.PALETTE[i % len(drawing.PALETTE)]
        figure.add_scatter(
            x=scale.at(rows[x].to_numpy(float)),
            y=axis.of(as_measured(rows, column)),
            mode="lines+markers",
            name=escape(name) or "all points",
            line={"color": colour, "width": 2, "dash": drawing.DASHES[dash]},
            marker=drawing.marker(colour, symbols(rows, (x, column), drawing.SYMBOLS[i % len(drawing.SYMBOLS)]), 9),
            error_y=_error(rows, column, axis),
            showlegend=True,
        )
    _add_published(figure, parts[:MOST_LINES], x, scale, axis)
    scale.apply(figure)
    return figure


def _styles(parts: Sequence[pd.DataFrame]) -> list[tuple[int, int]]:
    """The numbers of the colour and of the dash of the first lines.

    Where lines differ in size and share of reads, the colour stands for the share and the dash for the size.
    """
    places = [
        set(zip(*(p[c].tolist() for c in ("read_fraction", "size_bytes")), strict=True)) for p in parts if "curve" in p
    ]
    each = [place.pop() for place in places if len(place) == 1]
    shares, sizes = (list(dict.fromkeys(column)) for column in zip(*each, strict=True)) if each else ([], [])
    alone = len(each) == len(parts) == len(set(each))
    if alone and 1 < len(shares) <= len(drawing.PALETTE) and 1 < len(sizes) <= len(drawing.DASHES):
        return [(shares.index(share), sizes.index(size)) for share, size in each]
    return [(i, i // len(drawing.PALETTE) % len(drawing.DASHES)) for i in range(min(len(parts), MOST_LINES))]


def _add_published(
    figure: drawing.Drawing,
    parts: Sequence[tuple[str, pd.DataFrame, str]],
    x: str,
    scale: drawing.AxisScale,
    axis: drawing.Axis,
) -> None:
    """Grey crosses where what was published stands, of points of which one value drawn was corrected."""
    for number, (_, rows, column) in enumerate(p for p in parts if len(corrected_rows(p[1], (x, p[2])))):
        wrong = corrected_rows(rows, (x, column))
        figure.add_points(
            scale.at(as_published(wrong, x)),
            axis.of(as_published(wrong, column)),
            "as published, before the correction",
            drawing.marker(drawing.GREY, "x-thin-open", 8),
            legendgroup="published",
            showlegend=number == 0,
        )


def _error(rows: pd.DataFrame, column: str, axis: drawing.Axis) -> dict[str, Any] | None:
    low, high = end_of(column, "low"), end_of(column, "high")
    if low not in rows or not rows[low].notna().any():
        return None
    return drawing.interval(*(axis.of(rows[c].to_numpy(float)) for c in (column, low, high)), thickness=1.5, width=4)


_ENOUGH_FOR_A_KNEE = 3
_GROWS = "The load grows along each curve."
MOST_TAILS = 6
TAILS = "1 request in 100 takes longer than p99, 1 in 1000 longer than p99.9."


def section_of(measured: MeasuredData, views: Sequence[View], lead: str = "") -> Section:
    """The section of one measurement."""
    provenance, name = measured.sweep.provenance, measured.name
    return Section(measured.title, views, measured.findings, provenance, lead, measured.notes, name)


def views_of(measured: MeasuredData, fits: Mapping[str, Fit]) -> list[View]:
    """The views that apply, in reading order, the table of all points last; ``fits`` are those of ``fits_of``."""
    table = measured.table[columns_of(measured, "series", "load")]
    means = ", the means of their repeats" if (measured.table["repeats"] > 1).any() else ""
    caption = f"{counted(len(table), 'point')}{means}.{_level(measured)}"
    points, level = text_of(measured, table), [f"±  {text}" for text in [_level(measured).strip(" .")] if text]
    return [
        *_latency_bandwidth(measured, fits),
        *_against_load(measured),
        *_against_size(measured),
        *both_rates(measured),
        *_against_mix(measured),
        *heat_maps(measured),
        *direction_views(measured),
        *_tails(measured),
        View("points", "Every point", caption, table, None, replace(points, foot=(*points.foot, *level))),
    ]


def fits_of(measured: MeasuredData, progress: Callable[[float], None] = lambda share: None) -> dict[str, Fit]:
    """The device model fitted to all points of each curve, where a model fits and its knee was reached."""
    found: dict[str, Fit] = {}
    rows = _curves(measured, _ENOUGH_FOR_A_KNEE)
    drawn = [] if isinstance(measured.load_type, BufferSize) else list(dict.fromkeys(rows["series"]))[:MOST_LINES]
    for done, series in enumerate(drawn):
        progress(done / len(drawn))
        try:
            made = fit(measured.sweep, series=series)
        except DataError:  # too few or impossible points for a model: the curve is drawn without a knee
            continue
        if made.knee.load is not None:
            found[series] = made
    return found


def _curves(measured: MeasuredData, least: int = 2) -> pd.DataFrame:
    """The points of the curves that have at least ``least`` loads."""
    loads = measured.table.groupby("series")["load"].transform("nunique")
    return measured.table[loads >= least]


def _latency_bandwidth(measured: MeasuredData, fits: Mapping[str, Fit]) -> list[View]:
    """Latency against bandwidth (throughput without a block size), the knee of each curve as a star, their table."""
    rows = _curves(measured, _ENOUGH_FOR_A_KNEE)
    if rows.empty or isinstance(
        measured.load_type, ArrivalRate | BufferSize
    ):  # of arrivals it is drawn over their rate
        return []
    column = "bandwidth_bytes_per_s" if rows["bandwidth_bytes_per_s"].notna().all() else "throughput_per_s"
    x_axis, y_axis, word = axis_of(measured, column, rows), axis_of(measured, "latency_s", rows), word_of(column)
    scale = drawing.AxisScale(x_axis.title, log=False, factor=x_axis.factor)
    # Along a curve the load grows; the bandwidth may bend back, so the order is the load's.
    ordered = rows.sort_values(["load"], ascending=not isinstance(measured.load_type, InjectedDelay), kind="stable")
    figure = lines([(str(n), g, "latency_s") for n, g in ordered.groupby("series", sort=False)], column, scale, y_axis)
    first = rows.groupby("series", sort=False).first()
    per_request = first[column] / first["throughput_per_s"]
    sharp = [(series, made.knee) for series, made in fits.items() if made.knee.identified and made.knee.sharp]
    for i, (series, knee) in enumerate(sharp):
        at = scale.factor * knee.throughput_per_s * float(per_request[series])
        _star(figure, i, at, y_axis.factor * knee.response_time_s)
    records = [
        {"series": series, **_ends("knee", made.knee), "sure": knee_word(made), **_ends("ninety", made.ninety)}
        for series, made in fits.items()
    ]
    table = pd.DataFrame(records) if fits else ordered[columns_of(measured, "series", "load")]
    text = FormattedTable.of(*fits_rows(list(fits.values()))) if fits else None
    title = f"Latency against {word}" + (", with the knee" if fits else "")
    caption = (_knee_caption([knee for _, knee in sharp]) if fits else _GROWS) + _bars_caption(
        measured, (column, "latency_s")
    )
    return [View("latency-bandwidth", title, caption, table, figure, text)]


def _ends(name: str, knee: Knee) -> dict[str, float | None]:
    return {name: knee.load, f"{name}_low": knee.low, f"{name}_high": knee.high}


def _star(figure: drawing.Drawing, i: int, x: float, y: float) -> None:
    figure.add_points(
        [x],
        [y],
        "knee",
        {
            **drawing.marker(drawing.ORANGE, "star", 17),
            "line": {"width": 2, "color": drawing.PALETTE[i % len(drawing.PALETTE)]},
        },
        legendgroup="knee",
        showlegend=i == 0,
        hovertemplate="knee<br>%{x:.4g}<br>%{y:.4g}<extra></extra>",
    )


def _knee_caption(knees: list[Knee]) -> str:
    if not knees:
        return f"{_GROWS} These points determine no sharp knee."
    kind = knees[0].definition.rstrip(".")
    return (
        f"{_GROWS} A star is a knee ({kind}). It lies on the curve of the device model fitted to all points, which "
        f"need not pass through each of them; intervals are {100 * LEVEL:g} %."
    )


def _against_load(measured: MeasuredData) -> list[View]:
    rows = _curves(measured)
    if rows.empty or isinstance(measured.load_type, Bandwidth):
        return []
    scale = drawing.load_scale(measured.load_type, measured.load_name, rows["load"].to_numpy(float))
    what = measured.load_type.kind.replace("_", " ")
    return _against(measured, rows.sort_values("load", kind="stable"), "load", what, "load", "series", scale)


def _against_size(measured: MeasuredData) -> list[View]:
    """Throughput and latency against the size of a block, a file, a buffer or a stride."""
    rows = measured.table[measured.table["size_bytes"].notna()]
    rows = rows[rows.groupby(["curve", "load"])["size_bytes"].transform("nunique") > 1]
    if rows.empty:
        return []
    rows = with_loads(measured, fewer_lines(rows, "curve"), "curve").sort_values("size_bytes", kind="stable")
    scale = drawing.size_scale(measured.size_name, rows["size_bytes"].to_numpy(float))
    return _against(measured, rows, "size", measured.size_name, "size_bytes", "line", scale)


def _against_mix(measured: MeasuredData) -> list[View]:
    """A drive's throughput and latency against the share of reads, a line for each size and some of the loads."""
    rows = measured.table.dropna(subset=["read_fraction"])
    rows = rows[rows.groupby(["place", "load"])["read_fraction"].transform("nunique") > 2]
    if rows.empty or measured.memory:
        return []
    rows = with_loads(measured, fewer_lines(rows, "place"), "place").sort_values("read_fraction", kind="stable")
    scale = drawing.AxisScale("reads (%)", log=False, factor=100.0)
    return _against(measured, rows, "mix", "the share of reads", "read_fraction", "line", scale)


def _against(
    measured: MeasuredData, rows: pd.DataFrame, kind: str, what: str, x: str, by: str, scale: drawing.AxisScale
) -> list[View]:
    """Throughput, unless it is ``x``, and latency against ``x``, a line for each ``by``; ``what`` names what varies."""
    is_rate = x == "load" and isinstance(measured.load_type, ArrivalRate)
    columns = ["latency_s"] if is_rate else [rate_of(measured), "latency_s"]
    kept = columns_of(measured, "series", "size_bytes", "read_fraction", "load")
    groups = [(str(name), group) for name, group in rows.groupby(by, sort=False)]
    more = f" The first {MOST_LINES} of {len(groups)} lines are drawn." if len(groups) > MOST_LINES else ""
    several = rows["series"].nunique() > 1  # whose names tell size and mix
    names = [name for name in dict.fromkeys(("series", x, "load")) if name in ("series", "load") or not several]
    views = []
    for column in columns:
        word = word_of(column)
        figure = lines([(name, group, column) for name, group in groups], x, scale, axis_of(measured, column, rows))
        title = f"{word.capitalize()} against {what}"
        said = extremes(measured, rows, column, names)
        caption = f"{said}{more}{_bars_caption(measured, (x, column))}".strip()
        views.append(View(f"{word}-against-{kind}", title, caption, rows[kept], figure))
    return views


def _tails(measured: MeasuredData) -> list[View]:
    """Percentiles against the load, a figure for each of the first curves."""
    known = {c: label for c, label in PERCENTILES.items() if measured.known(c)}
    rows = _curves(measured)
    if rows.empty or not {"latency_p99_s", "latency_p999_s"} & set(known):
        return []
    views, labels = [], {"latency_s": "mean", **known}
    scale = drawing.load_scale(measured.load_type, measured.load_name, rows["load"].to_numpy(float))
    groups = [g for _, g in rows.groupby("series", sort=False) if g[list(known)].notna().any(axis=None)]
    for number, group in enumerate(groups[:MOST_TAILS], 1):
        ordered, values = group.sort_values("load"), group[list(labels)].to_numpy(float)
        axis = drawing.latency_axis(values[np.isfinite(values)])
        views.append(
            View(
                f"tails-{number}",
                f"Tail latency: {group['series'].iloc[0]}",
                f"{TAILS}{_bars_caption(measured, ('load', *labels))}",
                ordered[["series", "load", *with_ends(measured, list(labels))]],
                lines([(label, ordered, c) for c, label in labels.items()], "load", scale, axis),
            )
        )
    return views


def _bars_caption(measured: MeasuredData, figures: Sequence[str]) -> str:
    """What bars and open markers mean in a plot of ``figures``, where there are any."""
    origins = [ORIGIN[f] for f in figures if f in ORIGIN and ORIGIN[f] in measured.table]
    marks = foot_lines(measured.table[origins], IN_PLOTS)
    return _level(measured, "Bars: ") + (f" Open markers: {'. '.join(marks)}." if marks else "")


def _level(measured: MeasuredData, where: str = "") -> str:
    repeated = (measured.table["repeats"] > 1).any()
    return f" {where}{100 * repeats.LEVEL:g} % intervals over repeats." if repeated else ""
