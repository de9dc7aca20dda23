"""The section of a report on service times: how they are distributed, and which law describes them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.report.drawing import GREY, PALETTE, Axis, Drawing, empty_figure, latency_axis, marker, solid
from calibrate.report.view import FormattedTable, Section, View
from calibrate.service.fitted import ServiceFit
from calibrate.service.times import Times
from measure.sweep import Provenance
from measure.units import format_duration

DRAWN_FAMILIES = 4
DRAWN = 400


def service_section(title: str, fit: ServiceFit, provenance: Provenance | None = None) -> Section:
    """Plots and tables of one point's service times and the laws fitted to them."""
    best, times = fit.best, fit.times
    axis = _axis(times)
    views = [
        View(
            "service-density",
            "Service times",
            f"Requests by the width of their bin in log time; the line is the law that BIC prefers, the {best.name}.",
            pd.DataFrame({"lower_s": times.lower_s, "upper_s": times.upper_s, "count": times.counts}),
            density_figure(fit),
        ),
        View(
            "service-tail",
            "Tail",
            "The share that takes longer, both axes logarithmic: an exponential "
            "law bends down, a heavy tail stays straight.",
            _functions(fit),
            _tail(fit, axis),
        ),
        View(
            "service-families",
            "Families",
            "Ranked by BIC: what a family gains must be worth its "
            "parameters. MISSED is the largest share of requests that the law is wrong about at any time.",
            fit.to_frame(),
            None,
            FormattedTable.of(*fit.ranking()),
        ),
    ]
    lead = (
        f"{best.name} describes the {times.total:,.0f} requests best, with a mean of {format_duration(best.law.mean)} "
        f"and an scv of {best.law.scv:.3g}."
    )
    return Section(title, views, fit.findings, provenance or Provenance(), lead, name=title)


def _axis(times: Times) -> Axis:
    return latency_axis(np.array([times.quantile(0.5)]), "service time")


def _grid(times: Times) -> Array:
    finite = times.edges_s[(times.edges_s > 0) & np.isfinite(times.edges_s)]
    low, high = float(finite[0]), float(finite[-1])
    if times.kind == "percentiles":
        low, high = low / 4, high * 2
    return np.geomspace(0.8 * low, 1.25 * high, DRAWN)


def _functions(fit: ServiceFit) -> pd.DataFrame:
    edges = fit.times.edges_s[1:-1]
    table = pd.DataFrame({"time_s": edges, "observed_share": fit.times.shares_below[1:-1]})
    for family in fit.families[:DRAWN_FAMILIES]:
        table[f"{family.name} share"] = family.below_edges[1:-1]
    return table


def density_figure(fit: ServiceFit) -> Drawing:
    """Requests by the width of their bin in log time, with the best law."""
    times, best = fit.times, fit.best
    axis = _axis(times)
    figure = empty_figure(axis.title, "share of requests per log time", log_x=True)
    known = np.isfinite(times.upper_s) & (times.lower_s > 0)
    width = np.log(times.upper_s[known] / times.lower_s[known])
    figure.add_bar(
        x=axis.of(np.sqrt(times.lower_s * times.upper_s)[known]),
        y=times.counts[known] / times.total / width,
        width=axis.of((times.upper_s - times.lower_s)[known]),
        marker={"color": GREY, "line": {"width": 0}},
        opacity=0.6,
        name="observed",
    )
    grid = _grid(times)
    below = best.law.cdf(grid)
    figure.add_scatter(
        x=axis.of(np.sqrt(grid[1:] * grid[:-1])),
        y=np.diff(below) / np.diff(np.log(grid)),
        mode="lines",
        name=best.name,
        line=solid(PALETTE[0]),
    )
    return figure


def _tail(fit: ServiceFit, axis: Axis) -> Drawing:
    """What takes longer: the observed share as steps, and those of the first families."""
    figure = empty_figure(axis.title, "share of requests that take longer", log_x=True, log_y=True)
    times, grid = fit.times, _grid(fit.times)
    edges, left = times.edges_s[1:-1], 1 - times.shares_below[1:-1]
    steps = (
        {"mode": "markers", "marker": marker(GREY)}
        if times.kind == "percentiles"
        else {"mode": "lines", "line": {"color": GREY, "width": 6}, "opacity": 0.5}
    )
    figure.add_scatter(x=axis.of(edges[left > 0]), y=left[left > 0], name="observed", **steps)
    for colour, family in zip(PALETTE, fit.families[:DRAWN_FAMILIES], strict=False):
        y, line = 1 - family.law.cdf(grid), {"color": colour, "width": 2}
        figure.add_scatter(x=axis.of(grid), y=y, mode="lines", name=family.name, line=line)
    figure.update_yaxes(range=[-float(np.log10(10 * times.total)), 0.1])
    return figure
