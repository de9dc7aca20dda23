"""The page Compare: the curves of several measurements in one picture, with the audit of Little's law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from dash import Dash, Input, Output, html
from dash.development.base_component import Component

from calibrate.lab.folder import LabFolder, SourceCurve
from calibrate.lab.widgets import KEPT, Theme, choice, drawn, page, theme_of, waited_for
from calibrate.report.drawing import DASHES, LOG, SYMBOLS, bandwidth_axis, latency_axis, spans_decade, throughput_axis
from measure.errors import MeasureError
from measure.loads import ArrivalRate, ClosedLoad
from measure.origin import ORIGIN, as_measured, foot_lines, marked_figure, symbols
from measure.units import format_bandwidth, format_duration, format_rate

FIRST = ("dataset-003-ssd-read", "dataset-001-ssd", "dataset-000-ssd")
MOST_SOURCES, MOST_CURVES = 6, 8  # measurements shown at once, and curves, divided among them
DOUBLING = {"type": "log", "dtick": 0.30103, "tickformat": "d", "rangemode": "normal"}


def layout(folder: LabFolder) -> Component:
    """The page."""
    sources = {s.identity: s.label for s in folder.sources().values()}
    first = [identity for identity in FIRST if identity in sources]
    controls = [
        *choice("compare-sources", "Measurements", sources, first, multi=True, **KEPT),
        html.P(id="compare-problem", className="problem", role="alert"),
    ]
    waiting = html.P("Reading the measurements …", className="weak")
    return page("Compare", controls, [waited_for(html.Div(waiting, id="compare-shown"))])


def register(app: Dash, folder: LabFolder) -> None:
    """The page's callbacks."""
    app.callback(
        Output("compare-shown", "children"),
        Output("compare-problem", "children"),
        Input("compare-sources", "value"),
        Input("theme", "data"),
    )(lambda *values: shown(folder, *values))


def warm_up(folder: LabFolder) -> None:
    """Load the modules that the first comparison would otherwise wait for."""
    for identity in FIRST:
        folder.sources()[identity].curves()


def shown(folder: LabFolder, sources: object, look: object) -> tuple[list[Component], str]:
    """The plots of the measurements with the audit of Little's law, and messages on unreadable ones."""
    picked, problem = _curves(folder, sources)
    if not picked:
        return [html.P("Choose at least one measurement.", className="weak")], problem
    theme = theme_of(look)
    parts = [drawn(curves_figure(picked, theme), "response time against throughput", tall=True, named=len(picked))]
    closed = [c for c in picked if isinstance(c.load_type, ClosedLoad)]
    if closed:
        parts.append(drawn(load_figure(picked, theme), "throughput against outstanding requests", tall=True))
    findings = [
        html.Li([html.Strong(source.short), f" {str(f).removeprefix(f'[{f.severity}] ')}"], className=f.severity)
        for source in {c.source.identity: c.source for c in closed}.values()
        for f in source.measured().findings
        if f.check == "littles-law"
    ]
    marks = foot_lines(pd.concat([c.figures for c in picked]))
    return [*parts, *(html.P(line, className="weak") for line in marks), html.Ul(findings)], problem


def curves_figure(curves: Sequence[SourceCurve], theme: Theme) -> dict[str, Any]:
    """Response time against throughput: in requests a second, or in bytes where a memory is among the curves."""
    in_bytes = any(not isinstance(c.load_type, ClosedLoad | ArrivalRate) for c in curves)
    rates = [c.figures["bandwidth_bytes_per_s" if in_bytes else "throughput_per_s"].to_numpy(float) for c in curves]
    times = [as_measured(c.figures, "latency_s") for c in curves]
    every_rate, every_time = _all(rates), _all(times)
    x_axis = bandwidth_axis(every_rate) if in_bytes else throughput_axis(every_rate)
    y_axis = latency_axis(every_time)
    traces = [_curve(c, x_axis.of(rates[i]), y_axis.of(times[i]), i, theme) for i, c in enumerate(curves)]
    layout = theme.layout(x_axis.title, y_axis.title, xaxis=_scale(every_rate), yaxis=_scale(every_time))
    return {"data": traces, "layout": layout}


def load_figure(curves: Sequence[SourceCurve], theme: Theme) -> dict[str, Any]:
    """Throughput against outstanding requests, of the closed curves, which are named in the picture above."""
    closed = [(i, c) for i, c in enumerate(curves) if isinstance(c.load_type, ClosedLoad)]
    rates = [c.figures["throughput_per_s"].to_numpy(float) for _, c in closed]
    axis, y_scale = throughput_axis(_all(rates)), _scale(_all(rates))
    traces = [_curve(c, c.figures["load"], axis.of(x), i, theme) for (i, c), x in zip(closed, rates, strict=True)]
    layout = theme.layout("outstanding requests N", axis.title, xaxis=DOUBLING, showlegend=False, yaxis=y_scale)
    return {"data": traces, "layout": layout}


def _curves(folder: LabFolder, chosen: object) -> tuple[list[SourceCurve], str]:
    """The first curves of each of the chosen sources, no more than fit a page, and why some cannot be read."""
    known, curves, problems = folder.sources(), list[SourceCurve](), list[str]()
    sources = [known[i] for i in chosen if i in known][:MOST_SOURCES] if isinstance(chosen, list) else []
    for source in sources:
        try:
            curves += source.curves()[: max(1, MOST_CURVES // len(sources))]
        except MeasureError as error:
            problems.append(f"{source.label}: {error}")
    return curves, "; ".join(problems)


def _curve(curve: SourceCurve, x: Any, y: Any, number: int, theme: Theme) -> dict[str, Any]:
    colour = theme.palette[number % len(theme.palette)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(x),
        "y": list(y),
        "name": escape(curve.label),
        "text": [_hover(curve, row) for row in curve.figures.to_dict("records")],
        "hovertemplate": "%{text}",
        "line": {"color": colour, "width": 2, "dash": DASHES[number // len(theme.palette) % len(DASHES)]},
        "marker": {
            "color": colour,
            "size": 9,
            "symbol": symbols(curve.figures, ORIGIN, SYMBOLS[number % len(SYMBOLS)]),
        },
    }


def _hover(curve: SourceCurve, row: Mapping[Any, Any]) -> str:
    """A point's load, throughput (a memory's bandwidth) and latency, with the marks of their origins."""
    moved = [format_bandwidth(row["bandwidth_bytes_per_s"])]
    rate = (
        [marked_figure(row, "throughput_per_s", format_rate)]
        if isinstance(curve.load_type, ClosedLoad | ArrivalRate)
        else moved
    )
    load, latency = (
        marked_figure(row, f, show) for f, show in (("load", "{:g}".format), ("latency_s", format_duration))
    )
    return "<br>".join([f"load {load}", *rate, latency])


def _all(arrays: Sequence[Any]) -> Any:
    """Every finite positive value; 1 where there is none, so that an axis can be drawn."""
    values = np.concatenate([np.asarray(a, dtype=float) for a in arrays]) if arrays else np.array([])
    values = values[np.isfinite(values) & (values > 0)]
    return values if values.size else np.array([1.0])


def _scale(values: Any) -> dict[str, Any]:
    return {**LOG, "rangemode": "normal"} if spans_decade(values) else {}
