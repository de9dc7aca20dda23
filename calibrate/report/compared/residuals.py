"""What the prediction missed, against the load.

A residual is predicted over observed minus one, in percent. The shade is the noise floor: a standard deviation of one
repeat of a point, below which no model can be expected to come.
"""

from __future__ import annotations

from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.figure_elements import at_axis, load_figure
from calibrate.report.drawing import BLUE, GREY, RED, Drawing, by_use, outlined
from measure.units import format_percent

TITLE = "predicted / observed - 1 (%)"
MISS = "load %{customdata:.4g}<br>%{y:+.3g} %<extra></extra>"
"""What a residual says of itself; its load is the customdata."""


def against_load(comparison: Comparison) -> Drawing:
    """Residuals against the load, filled where held out, and the noise of repeats as a grey band.

    Of open sweeps, whose throughput is given, the response time alone.
    """
    figure = load_figure(comparison, TITLE, log_y=False)
    add_noise_floor(figure, comparison.summary().repeat_noise_pct)
    load = at_axis(comparison.points.load, comparison.points.load)
    missed = [("response time", comparison.residual_response_pct, RED, "diamond")]
    if not comparison.is_open:
        missed.insert(0, ("throughput", comparison.residual_throughput_pct, BLUE, "circle"))
    for name, values, colour, symbol in missed:
        for mask, words, opened in by_use(comparison.held_out):
            figure.add_scatter(
                x=load[mask],
                y=values[mask],
                mode="markers",
                name=f"{name}, {words}",
                marker=outlined(colour, symbol + opened),
                customdata=comparison.points.load[mask],
                hovertemplate=MISS,
            )
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
