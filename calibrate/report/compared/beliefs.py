"""What each model of the ladder misses on the same points."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import pandas as pd

from calibrate.prediction.fit_ladder import Rung
from calibrate.report.drawing import GREY, INK, RED, Drawing, empty_figure, marker, outlined
from calibrate.report.view import Column, FormattedTable
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


def ladder_text(models: Sequence[Rung]) -> FormattedTable:
    """The same for people."""
    return FormattedTable.of(
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
