"""The section of a report that shows predictions alone: the curve, and beside it that of the device changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.fitting import Fit
from calibrate.prediction import Curve, grid, predict
from calibrate.report.axes import latency_axis, throughput_axis
from calibrate.report.drawing import BLUE, RED, depth_ticks, empty_figure, faint, solid
from calibrate.report.measured.section import MeasuredSection
from calibrate.report.view import View
from calibrate.whatif import Scenario

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_CAPTION = "Lines are predictions, shades the bands in which a single new measurement is expected."


def predicted_section(fit: Fit, loads: Sequence[float], scenario: Scenario | None = None) -> MeasuredSection:
    """Throughput and response time of ``fit`` over ``loads``, and of the scenario beside it."""
    low, high = float(min(loads)), float(max(loads))
    at = grid(low, high) if fit.load_kind != "arrival_rate" else np.linspace(low, high, 120)
    curves = [("as it is" if scenario else "predicted", predict(fit, at), BLUE)]
    if scenario is not None:
        curves.append((", ".join(scenario.changes), predict(scenario.fit, at), RED))
    table = pd.concat([curve.table().assign(device=name) for name, curve, _ in curves], ignore_index=True)
    views = []
    for column, title in (("throughput_per_s", "Throughput"), ("response_time_s", "Response time")):
        views.append(View("predicted", f"predicted-{column}", title, _CAPTION, table, _figure(fit, curves, column)))
    lead = "" if scenario is None else f"What if: {', '.join(scenario.changes)}?"
    return MeasuredSection(
        fit.series or "device", views, lead=lead, notes=() if scenario is None else scenario.assumptions,
        load_kind=fit.load_kind, load_unit=fit.load_unit, name="predicted",
    )  # fmt: skip


def _figure(fit: Fit, curves: Sequence[tuple[str, Curve, str]], column: str) -> Figure:
    values = np.concatenate([getattr(curve, column) for _, curve, _ in curves])
    axis = throughput_axis(values, fit.load_kind) if column.endswith("per_s") else latency_axis(values)
    figure = empty_figure(fit.load_name, axis.title, log_x=fit.load_kind == "queue_depth")
    if fit.load_kind == "queue_depth":
        depth_ticks(figure, curves[0][1].load)
    stem, unit = ("throughput", "per_s") if column.endswith("per_s") else ("response_time", "s")
    for name, curve, colour in curves:
        low, high = (axis.of(getattr(curve, f"{stem}_{end}_{unit}")) for end in ("low", "high"))
        figure.add_scatter(x=curve.load, y=low, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
        figure.add_scatter(
            x=curve.load, y=high, mode="lines", line={"width": 0}, fill="tonexty", hoverinfo="skip", showlegend=False,
            fillcolor=faint(colour),
        )  # fmt: skip
        figure.add_scatter(x=curve.load, y=axis.of(getattr(curve, column)), mode="lines", name=name, line=solid(colour))
    return figure
