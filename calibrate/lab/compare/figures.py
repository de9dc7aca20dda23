"""The plots of Compare: many curves in one picture, Little's law, and a device changed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from calibrate.fitting.predicted_curve import Prediction
from calibrate.lab.compare.shelf import ShelfCurve
from calibrate.lab.widgets import Theme, line, marks
from calibrate.report.axes import bandwidth_axis, latency_axis, throughput_axis
from calibrate.report.drawing import DASHES, LOG, SYMBOLS, Drawing, spans_decade

DOUBLING = {"type": "log", "dtick": 0.30103, "tickformat": "d", "rangemode": "normal"}


def curves_figure(curves: Sequence[ShelfCurve], theme: Theme) -> dict[str, Any]:
    """Response time against throughput: in requests a second, or in bytes where a memory is among the curves."""
    bytes_wanted = any(not c.load_type.is_drive for c in curves)
    rates = [c.bandwidth_bytes_per_s if bytes_wanted else c.throughput_per_s for c in curves]
    times = [c.latency_s for c in curves]
    x_axis = bandwidth_axis(_all(rates)) if bytes_wanted else throughput_axis(_all(rates))
    y_axis = latency_axis(_all(times))
    traces = [
        _curve(c, x_axis.of(x), y_axis.of(c.latency_s), i, theme)
        for i, (c, x) in enumerate(zip(curves, rates, strict=True))
    ]
    return {
        "data": traces,
        "layout": theme.layout(x_axis.title, y_axis.title, xaxis=_scale(_all(rates)), yaxis=_scale(_all(times))),
    }


def load_figure(curves: Sequence[ShelfCurve], theme: Theme) -> dict[str, Any]:
    """Throughput against outstanding requests, of the closed curves."""
    closed = [c for c in curves if c.load_type.is_closed]
    axis = throughput_axis(_all([c.throughput_per_s for c in closed]))
    traces = [_curve(c, c.load, axis.of(c.throughput_per_s), i, theme) for i, c in enumerate(curves) if c in closed]
    return {
        "data": traces,
        "layout": theme.layout(  # the curves are named in the picture above
            "outstanding requests N",
            axis.title,
            xaxis=DOUBLING,
            showlegend=False,
            yaxis=_scale(_all([c.throughput_per_s for c in closed])),
        ),
    }


def little_figure(curves: Sequence[ShelfCurve], theme: Theme) -> dict[str, Any]:
    """X R / N against N: 1 where Little's law holds."""
    traces = [
        _curve(c, c.load, c.throughput_per_s * c.latency_s / c.load, i, theme)
        for i, c in enumerate(curves)
        if c.load_type.is_closed and (c.load > 0).all()
    ]
    values = _all([np.asarray(t["y"], dtype=float) for t in traces])
    one = {
        "type": "line",
        "x0": 0,
        "x1": 1,
        "xref": "paper",
        "y0": 1,
        "y1": 1,
        "line": {"color": theme.line, "width": 2, "dash": "dash"},
    }
    scale = _scale(values) if spans_decade(values) else {"range": [0, max(1.25, 1.1 * values.max())]}
    return {
        "data": traces,
        "layout": theme.layout(
            "outstanding requests N", "throughput × response time / N", shapes=[one], xaxis=DOUBLING, yaxis=scale
        ),
    }


def what_if_figures(curve: ShelfCurve, now: Prediction, then: Prediction, theme: Theme) -> list[dict[str, Any]]:
    """Throughput and response time against the load: measured, the model now, and the device changed."""
    x_axis = throughput_axis(np.concatenate([now.throughput_per_s, then.throughput_per_s]))
    y_axis = latency_axis(now.response_time_s)
    drawn = []
    for axis, column, measured in (
        (x_axis, "throughput", curve.throughput_per_s),
        (y_axis, "response_time", curve.latency_s),
    ):
        unit = "per_s" if column == "throughput" else "s"
        low, high = (axis.of(getattr(then, f"{column}_{end}_{unit}")) for end in ("low", "high"))
        traces = [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [*then.load, *then.load[::-1]],
                "y": [*high, *low[::-1]],
                "fill": "toself",
                "fillcolor": f"{theme.red}33",
                "line": {"width": 0},
                "hoverinfo": "skip",
                "name": "changed, 90 % band",
            },
            line(now.load, axis.of(getattr(now, f"{column}_{unit}")), "as it is", theme.blue),
            line(then.load, axis.of(getattr(then, f"{column}_{unit}")), "changed", theme.red, line={"dash": "dash"}),
            marks(curve.load, axis.of(measured), "measured", theme.blue),
        ]
        scale = _scale(axis.of(measured)) if axis is y_axis else {}
        layout = theme.layout("outstanding requests N", axis.title, xaxis=DOUBLING, yaxis=scale)
        drawn.append({"data": traces, "layout": layout})
    return drawn


def themed(figure: Drawing, theme: Theme) -> dict[str, Any]:
    """A figure of the reports in the page's colours."""
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", font={"color": theme.text, "size": theme.font_size}
    )
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=theme.grid, linecolor=theme.line, zerolinecolor=theme.line)
    return figure.to_dict()


def _curve(curve: ShelfCurve, x: Any, y: Any, number: int, theme: Theme) -> dict[str, Any]:
    colour = theme.palette[number % len(theme.palette)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": list(x),
        "y": list(y),
        "name": escape(curve.label),
        "text": [f"{n:g}" for n in curve.load],
        "hovertemplate": "load %{text}<br>%{x:.4g}<br>%{y:.4g}",
        "line": {"color": colour, "width": 2, "dash": DASHES[number // len(theme.palette) % len(DASHES)]},
        "marker": {"color": colour, "size": 9, "symbol": SYMBOLS[number % len(SYMBOLS)]},
    }


def _all(arrays: Sequence[Any]) -> Any:
    """Every finite positive value; a one where there is none, so that an axis can be drawn."""
    values = np.concatenate([np.asarray(a, dtype=float) for a in arrays]) if arrays else np.array([])
    values = values[np.isfinite(values) & (values > 0)]
    return values if values.size else np.array([1.0])


def _scale(values: Any) -> dict[str, Any]:
    return {**LOG, "rangemode": "normal"} if spans_decade(values) else {}
