"""Open sweeps: the mean number waiting against the utilization, observed, by the model, and by M/M/1."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.models.open import OpenModel
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.open_queue import waiting
from calibrate.report.compared.figure_elements import add_observed
from calibrate.report.drawing import BLUE, Drawing, dashed, empty_figure, solid


def queue_against_utilization(comparison: Comparison) -> Drawing:
    """The mean number waiting, Lq = λ (W - S), against ρ = λ S / c, with ρ²/(1 - ρ) of M/M/1 beside it.

    S and c are the model's, whose own Lq is the line; so an observed Lq below zero is a W below S.
    """
    fit, model = comparison.fit, comparison.fit.curve_model
    if not isinstance(model, OpenModel):
        raise TypeError(f"{fit.model} is not a model of arrival rates")
    queue = waiting(fit, comparison.points)
    seen = np.array([q.utilization for q in queue])
    figure = empty_figure("utilization ρ = λ S / c", "requests waiting, Lq")
    rho = np.linspace(0.0, min(0.98, 1.02 * float(seen.max())), 120)[1:]
    loads = rho * queue[0].arrival_rate_per_s / queue[0].utilization
    figure.add_scatter(
        x=rho, y=model.queue(fit.table.most_probable[None, :], loads)[0], mode="lines", name=fit.model, line=solid(BLUE)
    )
    figure.add_scatter(x=rho, y=rho**2 / (1 - rho), mode="lines", name="M/M/1: ρ²/(1 - ρ)", line=dashed())
    add_observed(figure, comparison, seen, np.array([q.measured for q in queue]))
    return figure


def queue_table(comparison: Comparison) -> pd.DataFrame:
    """Utilization and the mean number waiting at every measured arrival rate."""
    queue = waiting(comparison.fit, comparison.points)
    return pd.DataFrame({
        "arrival_rate_per_s": [q.arrival_rate_per_s for q in queue],
        "utilization": [q.utilization for q in queue],
        "waiting": [q.measured for q in queue],
        "waiting_by_model": [q.model for q in queue],
        "waiting_mm1": [np.nan if q.mm1 is None else q.mm1 for q in queue],
    })  # fmt: skip
