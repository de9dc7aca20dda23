"""The curves of a comparison: each figure a pure function, observed and predicted, with band, bounds and knee."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Literal

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report import drawing
from calibrate.report.compared.figure_elements import (
    add_band,
    add_computed,
    add_observed,
    add_true,
    axes_of,
    ends_beyond,
    hover_text,
    knee_name,
    load_figure,
    mark_knee,
    scale_of,
    with_marks,
)
from measure.loads import ThroughputLoad
from measure.origin import ORIGIN, by_littles_law, rows_to_judge
from measure.units import format_percent

_REACH = 1.5  # how many times the highest throughput the knee may have and be within the axes
_COLUMNS, _GAP, _ROW_GAP, _LETTERS = 3, 0.1, 0.14, 16
"""Small panels in a row, what lies between them as shares of the figure, and the letters in a line of a title."""


def latency_against_throughput(comparison: Comparison) -> drawing.Drawing:
    """The latency-bandwidth curve: observed and predicted, calibration and held-out points marked, and the knee."""
    x_axis, y_axis = axes_of([comparison])
    curve, points = comparison.smooth, comparison.points
    log_y = drawing.spans_decade(points.response_time_s)
    figure = drawing.empty_figure(x_axis.title, y_axis.title, log_y=log_y)
    x, y = x_axis.of(curve.throughput_per_s), y_axis.of(curve.response_time_s)
    if isinstance(points.load_type, ThroughputLoad):
        low, high = y_axis.of(curve.response_time_low_s), y_axis.of(curve.response_time_high_s)
        add_band(figure, x, low, high, comparison.fit.level)
    figure.add_line(
        x, y, "predicted", drawing.solid(drawing.BLUE), customdata=curve.load, hovertemplate=hover_text(x_axis, y_axis)
    )
    if not isinstance(points.load_type, ThroughputLoad):
        _add_crossbars(figure, comparison, x_axis, y_axis)
    if comparison.true_smooth is not None:
        throughput, response = comparison.true_smooth
        add_true(figure, x_axis.of(throughput), y_axis.of(response))
    seen = x_axis.of(points.throughput_per_s), y_axis.of(comparison.observed_response_s)
    add_observed(figure, comparison, *seen, tuple(ORIGIN), hover_text(x_axis, y_axis))
    add_computed(figure, comparison, seen[0], y_axis)
    knee, (throughput, response) = comparison.knee, np.array(comparison.at_knee)[:, np.newaxis]
    least, most = knee.throughput_low_per_s, knee.throughput_high_per_s
    star = x_axis.of(throughput), y_axis.of(response)
    near = bool(throughput[0] <= _REACH * points.throughput_per_s.max())
    known = near and least is not None and most is not None
    figure.add_points(
        star[0],
        star[1],
        knee_name(comparison) + _beyond(comparison),
        {"symbol": "star", "size": 18, "color": drawing.ORANGE, "line": {"color": drawing.INK, "width": 1}},
        error_x=drawing.interval(star[0], *x_axis.of(np.array([[least], [most]])), color=drawing.ORANGE)
        if known
        else None,
    )
    seen = seen[0], y_axis.of(_every_response(comparison))
    every = [np.concatenate(parts) for parts in zip(seen, star, strict=True)] if near else seen
    figure.update_xaxes(range=ends_beyond(every[0], log=False))
    figure.update_yaxes(range=ends_beyond(every[1], log=log_y))
    return figure


def _add_crossbars(figure: drawing.Drawing, comparison: Comparison, x_axis: drawing.Axis, y_axis: drawing.Axis) -> None:
    """The prediction of throughput and response time at each held-out load, with the ends of both bands."""
    out, found = comparison.held_out, comparison.predicted
    if not out.any():
        return
    x, x_low, x_high = (
        x_axis.of(v[out]) for v in (found.throughput_per_s, found.throughput_low_per_s, found.throughput_high_per_s)
    )
    y, y_low, y_high = (
        y_axis.of(v[out]) for v in (found.response_time_s, found.response_time_low_s, found.response_time_high_s)
    )
    look = {"color": drawing.faint(drawing.BLUE, 0.6), "width": 4, "thickness": 1.5}
    figure.add_points(
        x,
        y,
        f"held-out loads, {100 * comparison.fit.level:g} % bands",
        drawing.marker(drawing.BLUE, "line-ns-open", 9),
        error_x=drawing.interval(x, x_low, x_high, **look),
        error_y=drawing.interval(y, y_low, y_high, **look),
        hoverinfo="skip",
    )


def _beyond(comparison: Comparison) -> str:
    """Why the star lies beyond the end of the curve, for the legend; empty where it lies on it."""
    load, drawn = comparison.knee.load, comparison.smooth.load
    if load is None:
        return ", which these loads do not reach"
    return "" if drawn.min() <= load <= drawn.max() else ", beyond these loads"


def against_load(comparison: Comparison, what: Literal["throughput", "response"]) -> drawing.Drawing:
    """X or R against the load: band, prediction, asymptotic bounds (closed sweeps), observations and the knees."""
    points, curve, rate = comparison.points, comparison.smooth, what == "throughput"
    axis = axes_of([comparison])[0 if rate else 1]
    name, unit = ("throughput", "per_s") if rate else ("response_time", "s")
    observed = points.throughput_per_s if rate else comparison.observed_response_s
    low, estimate, high = (getattr(curve, f"{name}{end}_{unit}") for end in ("_low", "", "_high"))
    figure = load_figure(comparison, axis.title, log_y=rate or drawing.spans_decade(points.response_time_s))
    x = scale_of(comparison).at(curve.load)
    add_band(figure, x, axis.of(low), axis.of(high), comparison.fit.level)
    figure.add_line(x, axis.of(estimate), "predicted", drawing.solid(drawing.BLUE))
    for words, bound in _bounds(comparison, curve.load, what):
        figure.add_line(x, axis.of(bound), words, drawing.dashed())
    if comparison.true_smooth is not None:
        add_true(figure, x, axis.of(comparison.true_smooth[0 if rate else 1]))
    figures = ("load", "throughput_per_s" if rate else "latency_s")
    add_observed(figure, comparison, scale_of(comparison).at(points.load), axis.of(observed), figures)
    if not rate:
        add_computed(figure, comparison, scale_of(comparison).at(points.load), axis)
        observed = _every_response(comparison)
    mark_knee(figure, comparison)
    log_y = figure.layout["yaxis"].get("type") == "log"
    figure.update_yaxes(range=ends_beyond(axis.of(np.concatenate([observed, estimate])), log=log_y))
    return figure


def _every_response(comparison: Comparison) -> Array:
    """Response times measured and computed, one after another; at least one of the two is known at each point."""
    every = np.concatenate([comparison.observed_response_s, comparison.computed_response_s])
    return np.asarray(every[np.isfinite(every)])


def little_check(comparison: Comparison) -> drawing.Drawing:
    """X times R, or R + Z, against the requested load, where none of the three was computed or corrected by the law."""
    points = comparison.points.at(rows_to_judge(comparison.measured, judges=lambda o: not by_littles_law(o)))
    think = points.load_type.thinking_s
    in_flight, law = points.throughput_per_s * (points.response_time_s + think), "X·(R + Z)" if think else "X·R"
    figure = load_figure(comparison, f"observed N = {law} ({points.load_type.plural if think else 'requests'})")
    ends = np.array([comparison.points.load.min(), comparison.points.load.max()])
    figure.add_line(ends, ends, f"Little's law: {law} = N asked", drawing.dashed())
    figure.add_scatter(
        x=points.load,
        y=in_flight,
        mode="markers+text",
        name=f"observed {law}",
        marker=drawing.marker(drawing.BLUE),
        text=[f"{v:.2f}" for v in in_flight / points.load],
        cliponaxis=False,
        textposition=[*["bottom right"] * (len(points) - 1), "top left"][
            : len(points)
        ],  # on a phone the last must not reach out
        hovertemplate=f"N asked %{{x}}<br>{law} %{{y:.4g}}<br>ratio %{{text}}<extra></extra>",
    )
    return figure


def misses(comparison: Comparison) -> drawing.Drawing:
    """Predicted over observed minus one in percent over the load, of open sweeps of the response time alone."""
    figure = load_figure(comparison, "predicted / observed - 1 (%)", log_y=False)
    load = scale_of(comparison).at(comparison.points.load)
    noise = comparison.summary().repeat_noise_pct
    if noise is not None:
        ends, floor = np.array([load.min(), load.max()]), np.array([noise, noise])
        name = f"noise floor: repeats have a standard deviation of {format_percent(noise)}"
        figure.add_band(ends, -floor, floor, drawing.GREY, 0.2, name=name, showlegend=True)
    missed = [("response time", comparison.residual_response_pct, drawing.RED, "diamond")]
    if not comparison.is_open:
        missed.insert(0, ("throughput", comparison.residual_throughput_pct, drawing.BLUE, "circle"))
    for name, values, colour, symbol in missed:
        for mask, words, opened in drawing.by_use(comparison.held_out):
            figure.add_points(
                load[mask],
                values[mask],
                f"{name}, {words}",
                drawing.outlined(colour, symbol + opened),
                customdata=comparison.points.load[mask],
                hovertemplate="load %{customdata:.4g}<br>%{y:+.3g} %<extra></extra>",
            )
    return figure


def overview(comparisons: Sequence[Comparison], names: Sequence[str] | None = None) -> drawing.Drawing:
    """Every curve in one plot: latency against throughput, points observed and curves predicted."""
    x_axis, y_axis = axes_of(comparisons)
    every = np.concatenate([_every_response(c) for c in comparisons])
    peaks = np.array([c.points.throughput_per_s.max() for c in comparisons])
    figure = drawing.empty_figure(
        x_axis.title, y_axis.title, log_x=drawing.spans_decade(peaks), log_y=drawing.spans_decade(every)
    )
    hover = hover_text(x_axis, y_axis)
    for i, comparison in enumerate(comparisons):
        curve, points = comparison.smooth, comparison.points
        colour, dash = (
            drawing.PALETTE[i % len(drawing.PALETTE)],
            drawing.DASHES[i // len(drawing.PALETTE) % len(drawing.DASHES)],
        )
        label = escape(names[i] if names else comparison.series)
        figure.add_line(
            x_axis.of(curve.throughput_per_s),
            y_axis.of(curve.response_time_s),
            label,
            {"color": colour, "dash": dash, "width": 2.5},
            legendgroup=label,
        )
        for mask, symbol in ((comparison.held_out, "circle"), (~comparison.held_out, "square-open")):
            figure.add_scatter(
                x=x_axis.of(points.throughput_per_s[mask]),
                y=y_axis.of(comparison.observed_response_s[mask]),
                **with_marks(comparison, mask, tuple(ORIGIN)),
                legendgroup=label,
                showlegend=False,
                name=label,
                marker=drawing.outlined(colour, symbol, 9),
                customdata=points.load[mask],
                hovertemplate=hover,
            )
    return figure


def small_multiples(comparisons: Sequence[Comparison]) -> drawing.Drawing:
    """A small panel for each curve: throughput against the load, each to its own scale."""
    rows = -(-len(comparisons) // _COLUMNS)
    figure = drawing.Drawing(height=210 * rows + 100, margin={"t": 60}, showlegend=False)
    for i, comparison in enumerate(comparisons):
        _add_panel(figure, comparison, str(i + 1) if i else "", _domains(i, rows))
    return figure


def _domains(i: int, rows: int) -> tuple[list[float], list[float]]:
    """Where the ``i``-th panel lies, across and up, as shares of the figure."""
    width, height = (1 - _GAP * (_COLUMNS - 1)) / _COLUMNS, (1 - _ROW_GAP * (rows - 1)) / rows
    left, top = (i % _COLUMNS) * (width + _GAP), 1 - (i // _COLUMNS) * (height + _ROW_GAP)
    return [left, left + width], [max(0.0, top - height), top]


def _add_panel(
    figure: drawing.Drawing, comparison: Comparison, number: str, domains: tuple[list[float], list[float]]
) -> None:
    axis, _ = axes_of([comparison])
    curve, points = comparison.smooth, comparison.points
    scale, seen = scale_of(comparison), axis.of(points.throughput_per_s)
    x = scale.at(curve.load)
    place = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
    log = {"type": "log", "nticks": 4} if scale.log else {}
    ends = ends_beyond(seen, log=False)
    figure.update_layout(
        **{
            f"xaxis{number}": {**drawing.AXIS, **log, "domain": domains[0], "anchor": f"y{number}"},
            f"yaxis{number}": {**drawing.AXIS, "range": ends, "domain": domains[1], "anchor": f"x{number}"},
        }
    )
    low, high = axis.of(curve.throughput_low_per_s), axis.of(curve.throughput_high_per_s)
    figure.add_band(x, low, high, drawing.BLUE, xaxis=place["xaxis"], yaxis=place["yaxis"])
    predicted = axis.of(curve.throughput_per_s)
    figure.add_line(x, predicted, "predicted", drawing.solid(drawing.BLUE), **place)
    add_observed(figure, comparison, scale.at(points.load), seen, ("load", "throughput_per_s"), size=6, **place)
    unit = axis.title.partition("(")[2].rstrip(")")
    at = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1}
    note = "<br>".join(map(escape, wrap(f"{comparison.series}, {unit}", _LETTERS)))
    figure.add_note(note, **at, xanchor="left", yanchor="bottom", align="left", font={"size": 12})


def curve_table(comparison: Comparison) -> pd.DataFrame:
    """What the curves draw, a row each: the predicted curve with its band, the observed points, the knee."""
    points, knee = comparison.points, comparison.knee
    throughput, response = comparison.at_knee
    predicted = comparison.smooth.to_frame().assign(what="predicted")
    observed = pd.DataFrame(
        {
            "what": np.where(comparison.held_out, "observed, held out", "observed, calibrated on"),
            "load": points.load,
            "throughput_per_s": points.throughput_per_s,
            "response_time_s": points.response_time_s,
        }
    )
    if points.origin is not None:
        frame = comparison.to_frame()
        observed = observed.join(frame.filter(regex="origin|published"))
    at_knee = pd.DataFrame(
        [
            {
                "what": "knee",
                "load": np.nan if knee.load is None else knee.load,
                "throughput_per_s": throughput,
                "response_time_s": response,
            }
        ]
    )
    table = pd.concat([predicted, observed, at_knee], ignore_index=True)
    return table[["what", *(c for c in table if c != "what")]]


def _bounds(comparison: Comparison, load: Array, what: str) -> list[tuple[str, Array]]:
    fit = comparison.fit
    name = "Rbusy" if "Rbusy" in fit.curve_parameters else "R1"
    least, peak = fit.curve_parameters.get(name), fit.curve_parameters.get("Xmax")
    if least is None or peak is None or least.estimate is None or peak.estimate is None:
        return []
    think = comparison.points.load_type.thinking_s  # N = X (R + Z)
    if what == "throughput":
        light = f"bound N/({name} + Z)" if think else f"bound N/{name}"
        return [(light, load / (least.estimate + think)), ("bound Xmax", np.full_like(load, peak.estimate))]
    heavy, waits = load / peak.estimate - think, "bound N/Xmax - Z" if think else "bound N/Xmax"
    return [(f"bound {name}", np.full_like(load, least.estimate)), (waits, np.where(heavy > 0, heavy, np.nan))]
