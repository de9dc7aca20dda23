"""Open sweeps: the mean number waiting against the utilization, observed, by the model, and by M/M/1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.comparison import Comparison
from calibrate.open_models import OpenModel
from calibrate.posterior import Array
from calibrate.report.compared.parts import add_observed
from calibrate.report.drawing import BLUE, dashed, empty_figure, solid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def queue_against_utilization(comparison: Comparison) -> Figure:
    """The mean number waiting, Lq = λ (W - S), against ρ = λ S / c, with ρ²/(1 - ρ) of M/M/1 beside it.

    S and c are the model's, whose own Lq is the line; so an observed Lq below zero is a W below S.
    """
    fit, points, model = comparison.fit, comparison.points, _model(comparison)
    values = fit.mode[None, :]
    figure = empty_figure("utilization ρ = λ S / c", "requests waiting, Lq")
    rho = np.linspace(0.0, min(0.98, 1.02 * float(model.utilization(values, points.load).max())), 120)[1:]
    loads = rho * points.load[0] / model.utilization(values, points.load[:1])[0, 0]
    figure.add_scatter(x=rho, y=model.queue(values, loads)[0], mode="lines", name=fit.model, line=solid(BLUE))
    figure.add_scatter(x=rho, y=rho**2 / (1 - rho), mode="lines", name="M/M/1: ρ²/(1 - ρ)", line=dashed())
    add_observed(figure, comparison, *_seen(comparison))
    return figure


def queue_table(comparison: Comparison) -> pd.DataFrame:
    """Utilization and the mean number waiting at every measured arrival rate."""
    rho, waiting = _seen(comparison)
    return pd.DataFrame({
        "arrival_rate_per_s": comparison.points.load, "utilization": rho, "waiting": waiting,
        "waiting_by_model": _model(comparison).queue(comparison.fit.mode[None, :], comparison.points.load)[0],
        "waiting_mm1": np.where(rho < 1, rho**2 / np.maximum(1 - rho, 1e-12), np.nan),
    })  # fmt: skip


def _model(comparison: Comparison) -> OpenModel:
    model = comparison.fit.curve_model
    if not isinstance(model, OpenModel):
        raise TypeError(f"{comparison.fit.model} is no model of arrival rates")
    return model


def _seen(comparison: Comparison) -> tuple[Array, Array]:
    """The utilization (m,) and Lq (m,) at the measured points."""
    points, model, values = comparison.points, _model(comparison), comparison.fit.mode[None, :]
    waiting = points.load * (points.response_time_s - model.service(values)[0])
    return model.utilization(values, points.load)[0], np.asarray(waiting)
