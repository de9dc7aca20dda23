"""What the figures of a comparison share: axes, the place of a load, observed points, bands, the knee's mark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array, Mask
from calibrate.prediction.comparison import Comparison
from calibrate.report import drawing
from measure.loads import ClosedLoad
from measure.origin import MEASURED, marks, word_of

_BEYOND = 4 / 3  # the factor by which an axis extends beyond the points


def axes_of(comparisons: Sequence[Comparison]) -> tuple[drawing.Axis, drawing.Axis]:
    """The axes of throughput and of response time that suit all of ``comparisons``, which vary the same load."""
    throughput = np.concatenate([c.points.throughput_per_s for c in comparisons])
    response = np.concatenate([c.points.response_time_s for c in comparisons])
    return drawing.throughput_axis(throughput, comparisons[0].points.load_type), drawing.latency_axis(response)


def scale_of(comparison: Comparison) -> drawing.AxisScale:
    """The axis of the loads of ``comparison``: of a closed load, those of the curve, which begins at one."""
    load, measured = comparison.points.load_type, comparison.points.load
    shown = comparison.smooth.load if isinstance(load, ClosedLoad) else measured
    return drawing.load_scale(load, escape(comparison.fit.load_name), shown)


def load_figure(comparison: Comparison, y_title: str, *, log_y: bool = True) -> drawing.Drawing:
    """An empty figure over the loads of ``comparison``."""
    figure = drawing.empty_figure("", y_title, log_y=log_y)
    scale_of(comparison).apply(figure)
    return figure


def add_band(figure: drawing.Drawing, x: Array, low: Array, high: Array, level: float) -> None:
    """The band in which a single new measurement is expected."""
    figure.add_band(x, low, high, drawing.BLUE, name=f"{100 * level:g} % band", showlegend=True)


def add_true(figure: drawing.Drawing, x: Array, y: Array) -> None:
    """The curve of the device's own queue, where it is known; nothing where it has no steady state."""
    figure.add_line(
        x, np.where(np.isfinite(y), y, np.nan), "the truth", {**drawing.solid(drawing.GREEN), "dash": "dot"}
    )


def add_observed(
    figure: drawing.Drawing,
    comparison: Comparison,
    x: Array,
    y: Array,
    figures: Sequence[str],
    hover: str | None = None,
    size: float = 11,
    **place: str,
) -> None:
    """The measured points (m,): held out as filled circles, calibrated on as open squares."""
    for mask, words, opened in drawing.by_use(comparison.held_out):
        figure.add_scatter(
            x=x[mask],
            y=y[mask],
            **with_marks(comparison, mask, figures),
            name=f"observed, {words}",
            customdata=comparison.points.load[mask],
            marker=drawing.outlined(drawing.INK, "square-open", size)
            if opened
            else drawing.outlined(drawing.RED, size=size),
            hovertemplate=hover,
            **place,
        )


def with_marks(comparison: Comparison, mask: Mask, figures: Sequence[str]) -> dict[str, Any]:
    """How the measured points of ``mask`` are drawn: with the marks of their ``figures`` above, where there are any."""
    table = comparison.measured[mask]
    drawn = table["latency_origin"].map(word_of) != "computed"
    above = marks(table.assign(latency_origin=table["latency_origin"].where(drawn, MEASURED)), figures)
    if not any(above):
        return {"mode": "markers"}
    return {"mode": "markers+text", "text": above, "textposition": "top center", "cliponaxis": False}


def add_computed(figure: drawing.Drawing, comparison: Comparison, x: Array, axis: drawing.Axis) -> None:
    """Response times that a law gave (m,), as grey diamonds; nothing where all were measured."""
    known = np.isfinite(comparison.computed_response_s)
    if known.any():
        figure.add_points(
            x[known],
            axis.of(comparison.computed_response_s[known]),
            "= computed, not measured",
            drawing.marker(drawing.GREY, "diamond-open", 10),
            customdata=comparison.points.load[known],
            hovertemplate=f"load %{{customdata:.4g}}<br>{axis.title} %{{y:.4g}} = computed<extra></extra>",
        )


def mark_knee(figure: drawing.Drawing, comparison: Comparison) -> None:
    """Both knees as lines, the interval of N* as a shade, where they lie among the measured loads."""
    knee, load, scale = comparison.knee, comparison.points.load, scale_of(comparison)
    if knee.load is None or not load.min() <= knee.load <= load.max():
        return
    if knee.low is not None and knee.high is not None:
        ends = np.clip([knee.low, knee.high], load.min() / _BEYOND, load.max() * _BEYOND)
        low, high = scale.at(ends)
        figure.add_shade(low, high, drawing.ORANGE, 0.2)
    figure.add_upright(float(scale.at(np.array(knee.load))), {"color": drawing.ORANGE, "width": 2})
    figure.add_to_legend(knee_name(comparison), {"color": drawing.ORANGE, "width": 3})
    ninety = comparison.fit.ninety if isinstance(comparison.points.load_type, ClosedLoad) else None
    if ninety is not None and ninety.load is not None and load.min() <= ninety.load <= load.max():
        line = {"color": drawing.PURPLE, "width": 2, "dash": "dash"}
        figure.add_upright(float(scale.at(np.array(ninety.load))), line)
        figure.add_to_legend(f"90 % of the peak, N90 = {ninety.load:.3g}", line)


def ends_beyond(values: Array, *, log: bool) -> list[float]:
    """Ends of an axis a third beyond ``values`` (m,); an even axis begins at zero. What runs off is cut."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values)) * _BEYOND
    return [math.log10(low / _BEYOND), math.log10(high)] if log else [0.0, high]


def knee_name(comparison: Comparison) -> str:
    """The legend's text for the knee."""
    knee, load = comparison.knee, comparison.points.load_type
    return "knee" if knee.load is None else f"knee, {load.knee_symbol} = {load.estimated_text(knee.load)}"


def hover_text(x_axis: drawing.Axis, y_axis: drawing.Axis) -> str:
    """The hover text of a point; its load is the customdata."""
    return f"load %{{customdata:.4g}}<br>{x_axis.title} %{{x:.4g}}<br>{y_axis.title} %{{y:.4g}}<extra></extra>"
