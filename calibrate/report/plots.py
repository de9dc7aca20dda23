"""The figures of results: ``.plot()`` of a fit, a prediction or a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.application.arrivals import UnderArrivals
from calibrate.application.system import System
from calibrate.changes.change import Change
from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction, grid
from calibrate.fleet.drives import Fleet
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.curve_figures import latency_against_throughput
from calibrate.report.compared.simulated import tail_figure as drawn_tails
from calibrate.report.drawing import BLUE, GREY, empty_figure, latency_axis, marker, solid
from calibrate.report.fleet_section import against_like
from calibrate.report.lines import Line, figure_of, lines_of, over_load, rate_line
from calibrate.report.predicted import system_lines
from calibrate.report.surface_section import views_of
from calibrate.service import ServiceFit
from calibrate.surface.surface_comparison import SurfaceComparison
from calibrate.surface.surface_fit import PREDICTED, SurfacePrediction
from calibrate.tails.results import Tails
from measure.loads import ArrivalRate, ClosedLoad

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

_POINTS = 200


def curve_of(fit: Fit) -> Prediction:
    """The predicted curve of a fit, over its calibration points."""
    high = max((*fit.used, 64.0) if isinstance(fit.load_type, ClosedLoad) else fit.used)
    if isinstance(fit.load_type, ArrivalRate):
        return fit.predict(np.linspace(0.02, 1.0, _POINTS) * high, refuse=False)
    return fit.predict(grid(1.0 if isinstance(fit.load_type, ClosedLoad) else 0.0, high, _POINTS), refuse=False)


def prediction_figure(curve: Prediction) -> Figure:
    """Throughput and response time with their bands, against the load."""
    return over_load(lines_of(curve, curve.load_type), curve.load_type).to_plotly()


def fit_figure(fit: Fit) -> Figure:
    """The predicted curve with its band, and the points it was calibrated on."""
    lines = lines_of(curve := curve_of(fit), fit.load_type)
    if fit.used:
        at, per_s, seconds = map(np.array, (fit.used, fit.used_throughput_per_s, fit.used_response_s))
        lines.append(rate_line(fit.load_type, "calibrated on", at, per_s, measured=True))
        lines.append(Line("calibrated on", "W", at, seconds, measured=True))
    return over_load(lines, curve.load_type).to_plotly()


def comparison_figure(comparison: Comparison) -> Figure:
    """The latency-bandwidth curve, observed and predicted."""
    return latency_against_throughput(comparison).to_plotly()


def system_figure(found: System) -> Figure:
    """Throughput, response time and the utilisation of each station over the clients, with bands."""
    over = "arrivals (1/s)" if isinstance(found, UnderArrivals) else "clients"
    return figure_of(system_lines(found), over).to_plotly()


def tail_figure(tails: Tails) -> Figure:
    """Percentiles over the depth, observed and predicted, with their bands."""
    return drawn_tails(tails).to_plotly()


def service_figure(fit: ServiceFit) -> Figure:
    """The share of requests done by each time, observed and by the best law."""
    ends, shares = fit.times.edges_s[1:-1], fit.times.shares_below[1:-1]
    at = np.geomspace(ends[ends > 0].min() / 2, 2 * ends.max(), _POINTS)
    axis = latency_axis(np.array([fit.times.quantile(0.5)]), "service time")
    figure = empty_figure(axis.title, "share of requests done by then", log_x=True)
    figure.add_points(axis.of(ends), shares, "observed", marker(GREY))
    below, low, high = fit.best.precision.below(at)
    figure.add_band(axis.of(at), low, high, BLUE, name="90 % interval", showlegend=True)
    figure.add_line(axis.of(at), below, fit.best.name, solid(BLUE))
    return figure.to_plotly()


def change_figure(changed: Change) -> Figure:
    """The change at each load with its interval."""
    frame, labels = changed.to_frame(), {"change_pct": "change (%)", "load": changed.load_type.name}
    looks: dict[str, Any] = {"color": "quantity", "log_x": bool((frame["load"] > 0).all()), "labels": labels}
    return _intervals(frame, "load", "change_pct", ("low_pct", "high_pct"), looks)


def surface_prediction_figure(curve: SurfacePrediction) -> Figure:
    """The predicted throughput with its band against the outstanding requests, by block size."""
    frame = curve.to_frame().astype({"block_bytes": str})  # sizes are names, each with a colour
    throughput, *ends = PREDICTED
    looks = {"color": "block_bytes", "symbol": "read_fraction", "log_x": True}
    return _intervals(frame, "outstanding", throughput, ends, looks)


def fleet_figure(found: Fleet) -> Figure:
    """Throughput over the load against that of like drives, odd ones marked."""
    return against_like(found).to_plotly()


def _intervals(frame: pd.DataFrame, x: str, y: str, ends: Sequence[str], looks: dict[str, Any]) -> Figure:
    """A column of a table over another, each point with its interval, which is between the columns ``ends``."""
    below, above = (abs(frame[end] - frame[y]) for end in ends)
    bars = frame.assign(below=below, above=above)
    return bars.plot(kind="scatter", x=x, y=y, error_y="above", error_y_minus="below", backend="plotly", **looks)


def surface_figure(compared: SurfaceComparison) -> Figure | None:
    """The measured points of a surface and the predicted curves."""
    first = views_of(compared)[0]
    return None if first.figure is None else first.figure.to_plotly()
