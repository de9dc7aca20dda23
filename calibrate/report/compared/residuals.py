"""What the prediction missed, against the load.

A residual is predicted over observed minus one, in percent. The shade is the noise floor: a standard deviation of one
repeat of a point, below which no model can be expected to come.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.figure_elements import at_axis, load_figure
from calibrate.report.drawing import BLUE, GREY, RED, Drawing, by_use, outlined
from measure.units import format_percent

TITLE = "predicted / observed - 1 (%)"
MISS = "load %{customdata:.4g}<br>%{y:+.3g} %<extra></extra>"
"""What a residual says of itself; its load is the customdata."""


@dataclass(frozen=True)
class Missed:
    """The residuals (m,) of one quantity in percent, and how it is drawn."""

    name: str
    values: Array
    colour: str
    symbol: str


def missed(comparison: Comparison) -> list[Missed]:
    """Throughput and response time; of open sweeps, whose throughput is given, the response time alone."""
    response = Missed("response time", comparison.residual_response_pct, RED, "diamond")
    if comparison.is_open:
        return [response]
    return [Missed("throughput", comparison.residual_throughput_pct, BLUE, "circle"), response]


def against_load(comparison: Comparison) -> Drawing:
    """Residuals against the load; the noise of repeats as a grey band."""
    figure = load_figure(comparison, TITLE, log_y=False)
    add_noise_floor(figure, comparison.summary().repeat_noise_pct)
    load = at_axis(comparison, comparison.points.load)
    for one in missed(comparison):
        _add_residuals(figure, comparison, one, load)
    return figure


def add_noise_floor(figure: Drawing, noise_pct: float | None) -> None:
    """The standard deviation of one repeat on both sides of zero; a line at zero alone where nothing was repeated."""
    if noise_pct is not None:
        figure.add_shade(GREY, 0.2, y=(-noise_pct, noise_pct))
        figure.add_scatter(  # invisible, so that the axis reaches beyond the shade
            x=[None, None], y=[-1.15 * noise_pct, 1.15 * noise_pct], mode="markers", showlegend=False, hoverinfo="skip"
        )
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=f"noise floor: repeats differ by ±{format_percent(noise_pct)}",
            marker={"symbol": "square", "color": GREY, "opacity": 0.4, "size": 12},
        )
    figure.add_level(0, {"color": GREY, "width": 1})


def residual_table(comparison: Comparison) -> pd.DataFrame:
    """A row for each point: load, observed, predicted, residuals, the noise of its repeats."""
    points, curve = comparison.points, comparison.predicted
    return pd.DataFrame(
        {
            "load": points.load,
            "held_out": comparison.held_out,
            "observed_throughput_per_s": points.throughput_per_s,
            "predicted_throughput_per_s": curve.throughput_per_s,
            "residual_throughput_pct": comparison.residual_throughput_pct,
            "observed_response_time_s": points.response_time_s,
            "predicted_response_time_s": curve.response_time_s,
            "residual_response_time_pct": comparison.residual_response_pct,
            "repeats": points.repeats,
            "noise_throughput_pct": 100 * points.throughput_spread,
            "noise_response_time_pct": 100 * points.response_spread,
        }
    )


def _add_residuals(figure: Drawing, comparison: Comparison, one: Missed, x: Array) -> None:
    """Filled: held out; open: calibrated on."""
    for mask, words, opened in by_use(comparison.held_out):
        figure.add_scatter(
            x=x[mask],
            y=one.values[mask],
            mode="markers",
            name=f"{one.name}, {words}",
            marker=outlined(one.colour, one.symbol + opened),
            customdata=comparison.points.load[mask],
            hovertemplate=MISS,
        )
