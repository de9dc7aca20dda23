"""The report's figures: each a pure function from a comparison to a plotly figure.

Colours are Okabe and Ito's, told apart by the colour-blind; calibration and held-out points differ in shape as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.comparison import Comparison
from calibrate.open_models import OpenModel
from calibrate.posterior import Array
from calibrate.report.axes import Axis, latency_axis, throughput_axis
from calibrate.report.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALETTE,
    RED,
    dashed,
    empty_figure,
    marker,
    solid,
    spans_decade,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

BAND = "rgba(0, 114, 178, 0.15)"


def latency_against_throughput(comparison: Comparison) -> Figure:
    """The latency-bandwidth curve: observed and predicted, calibration and held-out points told apart, knee marked."""
    x_axis, y_axis = _axes([comparison])
    curve = comparison.smooth
    figure = empty_figure(x_axis.title, y_axis.title, log_y=spans_decade(comparison.points.response_time_s))
    _band(figure, x_axis.of(curve.throughput_per_s), y_axis.of(curve.response_time_low_s),
          y_axis.of(curve.response_time_high_s), comparison)  # fmt: skip
    figure.add_scatter(
        x=x_axis.of(curve.throughput_per_s), y=y_axis.of(curve.response_time_s), mode="lines", name="predicted",
        line={"color": BLUE, "width": 3}, customdata=curve.load, hovertemplate=_hover(x_axis, y_axis),
    )  # fmt: skip
    if comparison.true_smooth is not None:
        throughput, response = comparison.true_smooth
        _true(figure, x_axis.of(throughput), y_axis.of(response))
    points = comparison.points
    _observed(figure, comparison, x_axis.of(points.throughput_per_s), y_axis.of(points.response_time_s),
              _hover(x_axis, y_axis))  # fmt: skip
    knee = comparison.knee
    figure.add_scatter(
        x=x_axis.of(np.array([knee.throughput_per_s])), y=y_axis.of(np.array([knee.response_time_s])),
        mode="markers", marker={"symbol": "star", "size": 18, "color": ORANGE, "line": {"color": "black", "width": 1}},
        name="knee" if knee.load is None else f"knee, {_load_symbol(comparison)} = {knee.load:.3g}",
        error_x=_knee_bar(comparison, x_axis),
    )  # fmt: skip
    return figure


def throughput_against_load(comparison: Comparison) -> Figure:
    """X against the load, with the asymptotic bounds (closed sweeps) and the knee's interval."""
    axis, _ = _axes([comparison])
    curve, observed = comparison.smooth, comparison.points.throughput_per_s
    figure = _load_figure(comparison, axis.title)
    return _against_load(figure, comparison, axis, observed, (
        curve.throughput_low_per_s, curve.throughput_per_s, curve.throughput_high_per_s), "throughput")  # fmt: skip


def response_against_load(comparison: Comparison) -> Figure:
    """R against the load, with the asymptotic bounds (closed sweeps) and the knee's interval."""
    _, axis = _axes([comparison])
    curve, observed = comparison.smooth, comparison.points.response_time_s
    figure = _load_figure(comparison, axis.title, log_y=spans_decade(observed))
    return _against_load(figure, comparison, axis, observed, (
        curve.response_time_low_s, curve.response_time_s, curve.response_time_high_s), "response")  # fmt: skip


def _against_load(
    figure: Figure,
    comparison: Comparison,
    axis: Axis,
    observed: Array,
    predicted: tuple[Array, Array, Array],
    what: str,
) -> Figure:
    """Band, prediction, bounds, observations and knee; ``predicted`` is (low, estimate, high) on the smooth grid."""
    low, estimate, high = (axis.of(v) for v in predicted)
    load = comparison.smooth.load
    x = _at(comparison, load)
    _band(figure, x, low, high, comparison)
    figure.add_scatter(x=x, y=estimate, mode="lines", name="predicted", line=solid(BLUE))
    for name, bound in _bounds(comparison, load, what):
        figure.add_scatter(x=x, y=axis.of(bound), mode="lines", name=name, line=dashed())
    if comparison.true_smooth is not None:
        throughput, response = comparison.true_smooth
        _true(figure, x, axis.of(throughput if what == "throughput" else response))
    _observed(figure, comparison, _at(comparison, comparison.points.load), axis.of(observed))
    _mark_knee(figure, comparison)
    return figure


def residuals(comparison: Comparison) -> Figure:
    """Predicted over observed minus one, in percent, against the load; the noise of repeats as a grey band."""
    figure = _load_figure(comparison, "predicted / observed - 1 (%)", log_y=False)
    noise = comparison.summary.repeat_noise_pct
    if noise is not None:
        figure.add_hrect(y0=-noise, y1=noise, fillcolor=GREY, opacity=0.15, line_width=0)
        figure.add_scatter(
            x=[None], y=[None], mode="markers", name=f"repeats of one point: ±{noise:.2g} %",
            marker={"symbol": "square", "color": GREY, "opacity": 0.4, "size": 12},
        )  # fmt: skip
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    held, load = comparison.held_out, _at(comparison, comparison.points.load)
    drawn = [
        ("throughput", comparison.residual_throughput_pct, BLUE, "circle"),
        ("response time", comparison.residual_response_pct, RED, "diamond"),
    ]
    for name, values, colour, symbol in drawn[1:] if comparison.is_open else drawn:
        for mask, suffix, opened in ((held, "held out", ""), (~held, "calibrated on", "-open")):
            if mask.any():
                figure.add_scatter(
                    x=load[mask], y=values[mask], mode="markers", name=f"{name}, {suffix}",
                    marker={**marker(colour), "symbol": symbol + opened, "line": {"width": 2, "color": colour}},
                )  # fmt: skip
    return figure


def little_check(comparison: Comparison) -> Figure:
    """X times R: against the load asked for (closed sweeps), or as cache lines in flight against the delay (memory)."""
    points = comparison.points
    in_flight = points.throughput_per_s * points.response_time_s
    if points.load_kind != "queue_depth":
        figure = _load_figure(comparison, "cache lines in flight, X·R")
        x = _at(comparison, points.load)
        figure.add_scatter(x=x, y=in_flight, mode="lines+markers", name="observed X·R", marker=marker(BLUE))
        return figure
    figure = _load_figure(comparison, "observed N = X·R (requests)")
    ends = np.array([points.load.min(), points.load.max()])
    figure.add_scatter(x=ends, y=ends, mode="lines", name="Little's law: X·R = N asked", line=dashed())
    figure.add_scatter(
        x=points.load, y=in_flight, mode="markers+text", name="observed X·R", marker=marker(BLUE),
        text=[f"{v:.2f}" for v in in_flight / points.load], textposition="top left", cliponaxis=False,
        hovertemplate="N asked %{x}<br>X·R %{y:.4g}<br>ratio %{text}<extra></extra>",
    )  # fmt: skip
    return figure


def queue_against_utilization(comparison: Comparison) -> Figure:
    """Open sweeps: the mean number waiting, Lq = λ (W - S), against ρ = λ S / c, with ρ²/(1 - ρ) of M/M/1 beside it.

    S and c are the model's, whose own Lq is the line; so an observed Lq below zero is a W below S.
    """
    fit, points = comparison.fit, comparison.points
    values, model = fit.mode[None, :], fit.curve_model
    if not isinstance(model, OpenModel):
        raise TypeError(f"{fit.model} is no model of arrival rates")
    figure = empty_figure("utilization ρ = λ S / c", "requests waiting, Lq")
    rho = np.linspace(0.0, min(0.98, 1.02 * float(model.utilization(values, points.load).max())), 120)[1:]
    loads = rho * points.load[0] / model.utilization(values, points.load[:1])[0, 0]
    figure.add_scatter(x=rho, y=model.queue(values, loads)[0], mode="lines", name=fit.model, line=solid(BLUE))
    figure.add_scatter(x=rho, y=rho**2 / (1 - rho), mode="lines", name="M/M/1: ρ²/(1 - ρ)", line=dashed())
    observed = points.load * (points.response_time_s - model.service(values)[0])
    _observed(figure, comparison, model.utilization(values, points.load)[0], observed)
    return figure


def overview(comparisons: Sequence[Comparison]) -> Figure:
    """Every series in one plot: latency against throughput, points observed and curves predicted."""
    x_axis, y_axis = _axes(comparisons)
    every = np.concatenate([c.points.response_time_s for c in comparisons])
    figure = empty_figure(x_axis.title, y_axis.title, log_y=spans_decade(every))
    for i, comparison in enumerate(comparisons):
        colour, name = PALETTE[i % len(PALETTE)], escape(comparison.series)
        curve, points = comparison.smooth, comparison.points
        figure.add_scatter(
            x=x_axis.of(curve.throughput_per_s), y=y_axis.of(curve.response_time_s), mode="lines", name=name,
            legendgroup=name, line={"color": colour, "dash": ("solid", "dash", "dot")[i // len(PALETTE) % 3]},
        )  # fmt: skip
        for mask, symbol in ((comparison.held_out, "circle"), (~comparison.held_out, "square-open")):
            figure.add_scatter(
                x=x_axis.of(points.throughput_per_s[mask]), y=y_axis.of(points.response_time_s[mask]), mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9, "line": {"width": 2, "color": colour}},
                legendgroup=name, showlegend=False, name=name,
                customdata=points.load[mask], hovertemplate=_hover(x_axis, y_axis),
            )  # fmt: skip
    return figure


def _axes(comparisons: Sequence[Comparison]) -> tuple[Axis, Axis]:
    throughput = np.concatenate([c.points.throughput_per_s for c in comparisons])
    response = np.concatenate([c.points.response_time_s for c in comparisons])
    return throughput_axis(throughput, comparisons[0].points.load_kind), latency_axis(response)


def _load_figure(comparison: Comparison, y_title: str, *, log_y: bool = True) -> Figure:
    if comparison.is_open:
        return empty_figure(escape(comparison.fit.load_name), y_title, log_y=log_y)
    figure = empty_figure(escape(comparison.fit.load_name), y_title, log_x=True, log_y=log_y)
    load = comparison.points.load
    if comparison.points.load_kind == "injected_delay":
        ticks = sorted({10.0**e for e in range(-3, 7) if load[load > 0].min() <= 10.0**e <= load.max()})
        places, texts = ([_zero_place(load), *ticks], ["0", *(f"{t:g}" for t in ticks)]) if (load == 0).any() else (
            ticks, [f"{t:g}" for t in ticks])  # fmt: skip
    else:
        places = [float(2**i) for i in range(0, 14) if load.min() <= 2**i <= load.max()]
        texts = [f"{t:g}" for t in places]
    figure.update_xaxes(tickmode="array", tickvals=places, ticktext=texts, dtick=None, minor=None)
    return figure


def _zero_place(load: Array) -> float:
    """Where a load of zero is drawn on a logarithmic axis: half a decade left of the smallest other one."""
    return float(load[load > 0].min() / 3)


def _at(comparison: Comparison, load: Array) -> Array:
    """Loads as drawn on their axis."""
    points = comparison.points.load
    return np.maximum(load, _zero_place(points)) if (points == 0).any() else load


def _band(figure: Figure, x: Array, low: Array, high: Array, comparison: Comparison) -> None:
    figure.add_scatter(x=x, y=high, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=x, y=low, mode="lines", line={"width": 0}, fill="tonexty", fillcolor=BAND, hoverinfo="skip",
        name=f"{100 * comparison.fit.level:g} % band",
    )  # fmt: skip


def _true(figure: Figure, x: Array, y: Array) -> None:
    """The curve of the device's own queue, where it is known; nothing where it has no steady state."""
    figure.add_scatter(
        x=x, y=np.where(np.isfinite(y), y, np.nan), mode="lines", name="the truth", line={**solid(GREEN), "dash": "dot"}
    )


def _observed(figure: Figure, comparison: Comparison, x: Array, y: Array, hover: str | None = None) -> None:
    held = comparison.held_out
    for mask, name, symbol, colour in (
        (held, "observed, held out", "circle", RED),
        (~held, "observed, calibrated on", "square-open", "black"),
    ):
        if mask.any():
            figure.add_scatter(
                x=x[mask], y=y[mask], mode="markers", name=name, customdata=comparison.points.load[mask],
                marker={"symbol": symbol, "size": 11, "color": colour, "line": {"width": 2, "color": colour}},
                hovertemplate=hover,
            )  # fmt: skip


def _bounds(comparison: Comparison, load: Array, what: str) -> list[tuple[str, Array]]:
    fit = comparison.fit
    name = "Rbusy" if "Rbusy" in fit.parameters else "R1"
    least, peak = fit.parameters.get(name), fit.parameters.get("Xmax")
    if least is None or peak is None or least.estimate is None or peak.estimate is None:
        return []
    if what == "throughput":
        return [(f"bound N/{name}", load / least.estimate), ("bound Xmax", np.full_like(load, peak.estimate))]
    return [(f"bound {name}", np.full_like(load, least.estimate)), ("bound N/Xmax", load / peak.estimate)]


def _mark_knee(figure: Figure, comparison: Comparison) -> None:
    knee = comparison.knee
    if knee.load is None or not comparison.points.load.min() <= knee.load <= comparison.points.load.max():
        return
    if knee.low is not None and knee.high is not None:
        low, high = _at(comparison, np.array([knee.low, knee.high]))
        figure.add_vrect(x0=low, x1=high, fillcolor=ORANGE, opacity=0.2, line_width=0)
    figure.add_vline(x=knee.load, line={"color": ORANGE, "width": 2})
    figure.add_scatter(
        x=[None], y=[None], mode="lines", line={"color": ORANGE, "width": 3},
        name=f"knee, {_load_symbol(comparison)} = {knee.load:.3g}",
    )  # fmt: skip


def _load_symbol(comparison: Comparison) -> str:
    return {"queue_depth": "N*", "arrival_rate": "λ*", "bandwidth": "bytes/s"}.get(comparison.points.load_kind, "delay")


def _knee_bar(comparison: Comparison, axis: Axis) -> dict[str, Any] | None:
    """The knee's interval; none of an open knee that the points leave open, which would dwarf them."""
    knee = comparison.knee
    if comparison.is_open and not knee.identified:
        return None
    return _interval_bar(axis, knee.throughput_per_s, knee.throughput_low_per_s, knee.throughput_high_per_s)


def _interval_bar(axis: Axis, value: float, low: float | None, high: float | None) -> dict[str, Any] | None:
    if low is None or high is None:
        return None
    ends = axis.of(np.array([value, low, high]))
    return {"type": "data", "symmetric": False, "array": [max(ends[2] - ends[0], 0)],
            "arrayminus": [max(ends[0] - ends[1], 0)], "color": ORANGE, "thickness": 2}  # fmt: skip


def _hover(x_axis: Axis, y_axis: Axis) -> str:
    return f"load %{{customdata:.4g}}<br>{x_axis.title} %{{x:.4g}}<br>{y_axis.title} %{{y:.4g}}<extra></extra>"
