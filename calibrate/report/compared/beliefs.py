"""Whether the model may be believed: what other models miss on the same points, and how the points pin parameters."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import NormalDist

import numpy as np
import pandas as pd

from calibrate.fitting.curve_fit import quantity
from calibrate.prediction.fit_ladder import Rung
from calibrate.prediction.profiles import Profile
from calibrate.report.drawing import (
    GREY,
    INK,
    PALETTE,
    RED,
    SYMBOLS,
    Drawing,
    dashed,
    empty_figure,
    marker,
    outlined,
    ticks,
)
from calibrate.report.view import Column, Shown, View
from measure.units import format_percent

LEAST_PCT = 0.01
"""Errors below this many percent are drawn there: an exact fit has no place on a logarithmic axis."""


def ladder_figure(models: Sequence[Rung], chosen: str, noise_pct: float | None) -> Drawing:
    """Mean absolute errors of every model in percent, the best at the top; the model ``chosen`` has a bold name."""
    names = [f"<b>{escape(m.name)}</b>" if m.name == chosen else escape(m.name) for m in models]
    figure = empty_figure(f"mean absolute error in {models[0].ranked_by} (%)", "", log_x=True)
    figure.add_scatter(
        x=[max(m.in_sample_pct, LEAST_PCT) for m in models],
        y=names,
        mode="markers",
        name="where it was calibrated",
        marker=outlined(INK, "square-open", 10),
        hovertemplate="%{y}: %{x:.3g} %<extra>calibrated</extra>",
    )
    if models[0].held_out_pct is not None:
        figure.add_scatter(
            x=[max(m.held_out_pct or 0.0, LEAST_PCT) for m in models],
            y=names,
            mode="markers",
            name="held out",
            marker=marker(RED),
            hovertemplate="%{y}: %{x:.3g} %<extra>held out</extra>",
        )
    if noise_pct is not None and noise_pct > 0:
        floor = {"color": GREY, "width": 2, "dash": "dot"}
        figure.add_upright(noise_pct, floor)
        figure.add_to_legend(f"noise floor of repeats, {format_percent(noise_pct)}", floor)
    figure.update_yaxes(type="category", autorange="reversed", rangemode=None, tickfont={"size": 14}, showline=False)
    figure.update_layout(height=190 + 30 * len(models))
    return figure


def ladder_table(models: Sequence[Rung]) -> pd.DataFrame:
    """A row for each model, best first."""
    return pd.DataFrame(
        [
            {
                "rank": m.rank,
                "model": m.name,
                "in_sample_mape_throughput_pct": m.in_sample_mape_throughput_pct,
                "in_sample_mape_response_pct": m.in_sample_mape_response_pct,
                "held_out_mape_throughput_pct": m.held_out_mape_throughput_pct,
                "held_out_mape_response_pct": m.held_out_mape_response_pct,
                "assumption": m.assumption,
            }
            for m in models
        ]
    )


def ladder_text(models: Sequence[Rung]) -> Shown:
    """The same for people."""
    return Shown.of(
        models,
        Column("", lambda m: str(m.rank)),
        Column("model", lambda m: m.name, words=True),
        Column("calibration error", lambda m: _percent(m.in_sample_pct)),
        Column("held-out error, throughput", lambda m: _percent(m.held_out_mape_throughput_pct)),
        Column("response", lambda m: _percent(m.held_out_mape_response_pct)),
        Column("assumes", lambda m: m.assumption, words=True),
    )


def _percent(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {LEAST_PCT:g} %" if value < LEAST_PCT else f"{value:.3g} %"


TOP = 3.0
"""How many times what the interval allows the plot reaches."""

_CAPTION = (
    "The rise of -2 ln L when one parameter is held away from its likeliest value and all others are refitted, "
    "without any prior. Below the dashed line lies the interval. A curve that stays below on a side means that these "
    "points do not bound the parameter there; a narrow valley is a parameter that they pin."
)


def profile_view(found: Sequence[Profile], level: float) -> View:
    """Every parameter's profile in one plot, and where they bound it."""
    return View(
        "profiles",
        "profile-likelihoods",
        "Profile likelihoods",
        _CAPTION,
        profile_table(found),
        profile_figure(found, level),
        profile_text(found, level),
    )


def profile_figure(found: Sequence[Profile], level: float) -> Drawing:
    """A curve for each parameter over its value as a multiple of the likeliest."""

    allowed = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    figure = empty_figure("value, times the likeliest", "rise of -2 ln L", log_x=True)
    for i, profile in enumerate(found):
        values, colour = np.array(profile.values), PALETTE[i % len(PALETTE)]
        figure.add_scatter(
            x=values / profile.likeliest,
            y=profile.rise,
            mode="lines+markers",
            name=escape(profile.name),
            line={"color": colour, "width": 2.5},
            customdata=[quantity(float(v), profile.unit) for v in values],
            marker=marker(colour, SYMBOLS[i % len(SYMBOLS)], 7),
            hovertemplate=f"{escape(profile.name)} = %{{customdata}}<br>rise %{{y:.3g}}<extra></extra>",
        )
    figure.add_level(allowed, dashed())
    figure.add_to_legend(f"{100 * level:g} % interval: below", dashed())
    powers = range(-6, 7)
    figure.update_xaxes(**ticks((2.0**i for i in powers), (f"{2**i}" if i >= 0 else f"1/{2**-i}" for i in powers)))
    figure.update_yaxes(range=[0, TOP * allowed])
    return figure


def profile_table(found: Sequence[Profile]) -> pd.DataFrame:
    """A row for each value of each parameter that was tried."""
    return pd.DataFrame(
        [
            {"parameter": p.name, "unit": p.unit, "value": value, "rise": rise}
            for p in found
            for value, rise in zip(p.values, p.rise, strict=True)
        ]
    )


def profile_text(found: Sequence[Profile], level: float) -> Shown:
    """Where the likelihood alone bounds each parameter, and what would."""
    return Shown.of(
        found,
        Column("parameter", lambda p: p.name, words=True),
        Column(f"{100 * level:g} % from", lambda p: quantity(p.low, p.unit) or "open"),
        Column("to", lambda p: quantity(p.high, p.unit) or "open"),
        Column("identifiable?", lambda p: "yes" if p.identified else f"not identifiable: {p.pins}", words=True),
    )
