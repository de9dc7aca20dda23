"""What the prediction missed: against the load, against what was predicted, and against a normal law.

A residual is predicted over observed minus one, in percent. The shade is the noise floor: a standard deviation of one
repeat of a point, below which no model can be expected to come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.figure_elements import at_axis, axes_of, load_figure
from calibrate.report.drawing import BLUE, GREY, RED, Drawing, by_use, dashed, empty_figure, marker, outlined
from measure.units import format_percent

TITLE = "predicted / observed - 1 (%)"
MISS = "load %{customdata:.4g}<br>%{y:+.3g} %<extra></extra>"
"""What a residual says of itself; its load is the customdata."""
FEWEST = 4
"""Held-out points without which quantiles tell nothing."""

_DRAWN = 4000
_QQ_LEVEL = 0.9


@dataclass(frozen=True)
class Missed:
    """The residuals (m,) of one quantity in percent, what was predicted (m,) in SI units, and how it is drawn."""

    name: str
    values: Array
    predicted: Array
    noise_pct: float | None
    colour: str
    symbol: str


def missed(comparison: Comparison) -> list[Missed]:
    """Throughput and response time; of open sweeps, whose throughput is given, the response time alone."""
    points, curve = comparison.points, comparison.predicted
    throughput = Missed(
        "throughput",
        comparison.residual_throughput_pct,
        curve.throughput_per_s,
        _noise(points.throughput_spread),
        BLUE,
        "circle",
    )
    response = Missed(
        "response time",
        comparison.residual_response_pct,
        curve.response_time_s,
        _noise(points.response_spread),
        RED,
        "diamond",
    )
    return [response] if comparison.is_open else [throughput, response]


def against_load(comparison: Comparison) -> Drawing:
    """Residuals against the load; the noise of repeats as a grey band."""
    figure = load_figure(comparison, TITLE, log_y=False)
    add_noise_floor(figure, comparison.summary().repeat_noise_pct)
    load = at_axis(comparison, comparison.points.load)
    for one in missed(comparison):
        _add_residuals(figure, comparison, one, load)
    return figure


def against_predicted(comparison: Comparison, one: Missed) -> Drawing:
    """Residuals of one quantity against what was predicted of it."""
    axis = axes_of([comparison])[0 if one.name == "throughput" else 1]
    figure = empty_figure(f"predicted {axis.title}", TITLE, log_x=bool(one.predicted.max() > 30 * one.predicted.min()))
    figure.update_xaxes(rangemode="normal")
    add_noise_floor(figure, one.noise_pct)
    _add_residuals(figure, comparison, one, axis.of(one.predicted))
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


def quantiles_against_normal(comparison: Comparison) -> Drawing:
    """Held-out residuals, less their mean and over their deviation, against the quantiles of the normal law.

    The shade is where 90 % of what is truly normal lies at each rank: the mean and the deviation are estimated from so
    few points too, which is simulated.
    """
    figure = empty_figure("quantile of the normal law", "held-out residual, standardised")
    figure.update_xaxes(rangemode="normal")
    figure.update_yaxes(rangemode="normal")
    count = int(comparison.held_out.sum())
    expected, low, high = normal_ranks(count)
    ends = np.array([1.15 * expected[0], 1.15 * expected[-1]])
    figure.add_band(expected, low, high, GREY, 0.2, name=f"{100 * _QQ_LEVEL:g} % of normal ones", showlegend=True)
    figure.add_scatter(x=ends, y=ends, mode="lines", line=dashed(), name="normal")
    for one in missed(comparison):
        ranked, mean, deviation = standardised(one.values[comparison.held_out])
        figure.add_scatter(
            x=expected,
            y=ranked,
            mode="markers",
            marker=marker(one.colour, one.symbol),
            name=f"{one.name}: mean {mean:+.2g} %, deviation {format_percent(deviation)}",
        )
    return figure


def can_be_ranked(comparison: Comparison) -> bool:
    """Whether enough points were held out, and missed by different amounts, to ask how the misses are distributed."""
    held = [one.values[comparison.held_out] for one in missed(comparison)]
    return all(len(v) >= FEWEST and float(v.std()) > 0 for v in held)


def standardised(values: Array) -> tuple[Array, float, float]:
    """``values`` (m,) in ascending order, less their mean and over their deviation, which are returned too."""
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    return np.sort((values - mean) / deviation), mean, deviation


@lru_cache
def normal_ranks(count: int) -> tuple[Array, Array, Array]:
    """Expected standard normal quantiles of ``count`` values in order (Blom 1958), and the 5 and 95 % ends (count,)
    of what standardised normal values have there."""
    ranks = (np.arange(1, count + 1) - 0.375) / (count + 0.25)
    expected = [NormalDist().inv_cdf(rank) for rank in ranks.tolist()]
    drawn = np.random.default_rng(0).standard_normal((_DRAWN, count))
    drawn = (drawn - drawn.mean(axis=1, keepdims=True)) / drawn.std(axis=1, ddof=1, keepdims=True)
    tails = [50 * (1 - _QQ_LEVEL), 50 * (1 + _QQ_LEVEL)]
    low, high = np.percentile(np.sort(drawn, axis=1), tails, axis=0)
    return np.asarray(expected), low, high


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


def rank_table(comparison: Comparison) -> pd.DataFrame:
    """Held-out residuals in order, standardised, beside the quantiles of the normal law and their ends."""
    expected, low, high = normal_ranks(int(comparison.held_out.sum()))
    table = pd.DataFrame({"normal_quantile": expected, "low": low, "high": high})
    for one in missed(comparison):
        name = one.name.replace(" ", "_")
        table[f"{name}_standardised"] = standardised(one.values[comparison.held_out])[0]
        table[f"{name}_residual_pct"] = np.sort(one.values[comparison.held_out])
    return table


def _noise(spread: Array) -> float | None:
    known = spread[np.isfinite(spread)]
    return float(100 * np.median(known)) if len(known) else None


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
