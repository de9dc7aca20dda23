"""Views over a size: IOPS and bandwidth on two axes with their crossover, latency against the size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.inference.estimates import LEVEL
from calibrate.inference.parameters import Array
from calibrate.report.axes import bandwidth_axis, size_scale, throughput_axis
from calibrate.report.drawing import BLUE, GREY, ORANGE, RED, Drawing, axis_layout, empty_figure, marker, solid
from calibrate.report.measured.drawings import lines
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import axis_of, columns_of, fewer_lines, load_text, shown, with_loads
from calibrate.report.view import View
from measure.units import format_bytes

MOST_FIGURES = 4


def against_size(measured: MeasuredData) -> list[View]:
    """What the size does: IOPS and bandwidth with their crossover (blocks only), then latency."""
    if not measured.varies("size_bytes"):
        return []
    return [*_two_axes(measured), *_latency(measured)]


def _two_axes(measured: MeasuredData) -> list[View]:
    """One figure for each of the first curves at its least load, then the table of all crossovers."""
    if measured.size_name != "block size" or measured.memory:
        return []
    rows = measured.table[measured.table["throughput_per_s"].notna() & measured.table["size_bytes"].notna()]
    views: list[View] = []
    records: list[dict[str, object]] = []
    for curve, of_curve in rows.groupby("curve", sort=False):
        drawn = False
        for load, group in of_curve.groupby("load"):
            if group["size_bytes"].nunique() < 2:
                continue
            ordered = group.sort_values("size_bytes")
            found = crossover(ordered["size_bytes"].to_numpy(float), ordered["throughput_per_s"].to_numpy(float))
            name = ", ".join(p for p in (str(curve), load_text(measured, float(str(load)))) if p)
            records.append(_record(name, found))
            if not drawn and len(views) < MOST_FIGURES:
                views.append(_figure_of(measured, len(views) + 1, name, ordered, found))
                drawn = True
    if not records:
        return []
    table = pd.DataFrame(records)
    caption = (
        "Fitted to 1/X = α + β b over the blocks of b bytes: 1/α is the IOPS limit, 1/β the bandwidth limit, and they "
        f"cross at b* = α/β, where both are half reached. {100 * LEVEL:g} % intervals; the error is the mean miss of "
        "the law at the measured sizes."
    )
    return [
        *views,
        View(
            "crossover",
            "crossovers",
            "Where IOPS and bandwidth limits cross",
            caption,
            table,
            None,
            shown(table, _NAMES),
        ),
    ]


_NAMES = {
    "series": "workload",
    "iops_limit_per_s": "IOPS limit",
    "bandwidth_limit_bytes_per_s": "bandwidth limit",
    "crossover_bytes": "crossover",
    "inside": "among those measured",
    "error_pct": "error",
}


def _record(name: str, found: Crossover | None) -> dict[str, object]:
    if found is None:
        return {
            "series": name,
            "iops_limit_per_s": np.nan,
            "bandwidth_limit_bytes_per_s": np.nan,
            "crossover_bytes": np.nan,
            "crossover_low_bytes": np.nan,
            "crossover_high_bytes": np.nan,
            "inside": "one limit only",
            "error_pct": np.nan,
        }
    return {
        "series": name,
        "iops_limit_per_s": found.iops_limit_per_s,
        "bandwidth_limit_bytes_per_s": found.bandwidth_limit_bytes_per_s,
        "crossover_bytes": found.size_bytes,
        "crossover_low_bytes": found.low_bytes,
        "crossover_high_bytes": found.high_bytes,
        "inside": "yes" if found.inside else "no, extrapolated",
        "error_pct": found.error_pct,
    }


def _figure_of(measured: MeasuredData, number: int, name: str, rows: pd.DataFrame, found: Crossover | None) -> View:
    table = rows[columns_of(measured, "series", "size_bytes", "load")]
    title = f"IOPS and bandwidth against block size: {name}"
    return View("iops-bandwidth", f"iops-bandwidth-{number}", title, _caption(found), table, _draw(rows, found))


def _draw(rows: pd.DataFrame, found: Crossover | None) -> Drawing:
    size = rows["size_bytes"].to_numpy(float)
    x, bandwidth = rows["throughput_per_s"].to_numpy(float), rows["bandwidth_bytes_per_s"].to_numpy(float)
    left, right = throughput_axis(x), bandwidth_axis(bandwidth)
    figure = empty_figure("block size", left.title.replace("requests/s", "IOPS").replace("throughput", "IOPS, left"))
    scale = size_scale("block size", size)
    figure.add_scatter(
        x=size, y=left.of(x), mode="lines+markers", name="IOPS (left)", line=solid(BLUE), marker=marker(BLUE)
    )
    figure.add_scatter(
        x=size,
        y=right.of(bandwidth),
        mode="lines+markers",
        name="bandwidth (right)",
        yaxis="y2",
        line={**solid(RED), "dash": "dash"},
        marker=marker(RED, "square"),
    )
    tops: dict[str, float | None] = {"left": None, "right": None}
    if found is not None and found.inside:
        # With both limits at the same height the two curves cross where the limits do.
        tops = {
            "left": 1.08 * left.factor * max(found.iops_limit_per_s, x.max()),
            "right": 1.08 * right.factor * max(found.bandwidth_limit_bytes_per_s, bandwidth.max()),
        }
        _mark(figure, found)
    figure.update_layout(
        yaxis2={
            **axis_layout(right.title.replace("bandwidth", "bandwidth, right")),
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
        },
        margin={"r": 80},
    )
    for name, colour, top in (("yaxis", BLUE, tops["left"]), ("yaxis2", RED, tops["right"])):
        limit = {} if top is None else {"rangemode": None, "range": [0, top]}
        figure.update_layout(**{name: {"title": {"font": {"color": colour}}, "tickfont": {"color": colour}, **limit}})
    scale.apply(figure)
    return figure


def _mark(figure: Drawing, found: Crossover) -> None:
    if found.low_bytes is not None and found.high_bytes is not None:
        figure.add_shade(ORANGE, 0.2, x=(found.low_bytes, found.high_bytes))
    figure.add_upright(found.size_bytes, {"color": ORANGE, "width": 2})
    figure.add_to_legend(f"crossover, {format_bytes(found.size_bytes)}", {"color": ORANGE, "width": 3})
    figure.add_note(
        "both limits",
        x=1,
        y=0.925,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        font={"color": GREY, "size": 13},
    )
    figure.add_shape(
        type="line",
        x0=0,
        x1=1,
        xref="paper",
        y0=1 / 1.08,
        y1=1 / 1.08,
        yref="paper",
        line={"color": GREY, "dash": "dot", "width": 2},
    )


def _caption(found: Crossover | None) -> str:
    if found is None:
        return "These sizes show one limit only, so there is no crossover to mark."
    if not found.inside:
        return (
            f"The two limits cross at about {format_bytes(found.size_bytes)}, outside the sizes that were measured, so "
            "it is not marked."
        )
    return (
        "Small blocks are limited by their number, large ones by their bytes. Both axes end at their own limit, so the "
        "curves cross where the limits do, each at half of its own; the shade is the crossover's interval."
    )


def _latency(measured: MeasuredData) -> list[View]:
    rows = measured.table[measured.table["latency_s"].notna() & measured.table["size_bytes"].notna()]
    rows = rows[rows.groupby(["curve", "load"])["size_bytes"].transform("nunique") > 1]
    if rows.empty:
        return []
    rows = with_loads(measured, fewer_lines(rows, "curve"), "curve")
    scale = size_scale(measured.size_name, rows["size_bytes"].to_numpy(float))
    return [
        View(
            "latency-size",
            "latency-against-size",
            f"Latency against {measured.size_name}",
            "A larger request takes longer; what stays as it shrinks is the cost of being a request."
            if measured.size_name == "block size"
            else "",
            rows[columns_of(measured, "series", "size_bytes", "load")],
            lines(rows, "size_bytes", "latency_s", scale, axis_of(measured, "latency_s", rows), by="line"),
        )
    ]


_SMALLEST_SHARE = 1e-6  # of a term, below which it is not identifiable


@dataclass(frozen=True)
class Crossover:
    """The two limits and the size at which they cross, with its interval (None where there is none).

    ``inside`` is whether the crossover lies among the sizes that were measured; outside it is an extrapolation.
    ``error_pct`` is the mean absolute error of the law at the measured sizes (None for two, which it always meets).
    """

    iops_limit_per_s: float
    bandwidth_limit_bytes_per_s: float
    size_bytes: float
    low_bytes: float | None
    high_bytes: float | None
    inside: bool
    error_pct: float | None

    def throughput_per_s(self, size_bytes: Array) -> Array:
        """X(b) = 1 / (alpha + beta b)."""
        return np.asarray(1 / (1 / self.iops_limit_per_s + size_bytes / self.bandwidth_limit_bytes_per_s))


def crossover(size_bytes: Array, throughput_per_s: Array, level: float = LEVEL) -> Crossover | None:
    """The crossover of one curve; None where the sizes do not show both limits.

    A request of b bytes takes alpha for being a request and beta for each of its bytes: 1/X = alpha + beta b. Small
    requests approach the IOPS limit 1/alpha, large ones the bandwidth limit 1/beta; at b* = alpha/beta, where these
    asymptotes cross, both are half reached. Least squares on log(1/X), so that every size counts alike; the intervals
    are those of the linearised fit (t distribution, m - 2 degrees of freedom), none for two sizes.

    ``size_bytes``, ``throughput_per_s`` (m,) at m >= 2 different sizes, all positive.
    """
    b, gap = np.asarray(size_bytes, dtype=float), 1 / np.asarray(throughput_per_s, dtype=float)
    if len(np.unique(b)) < 2:
        return None
    from scipy.optimize import least_squares

    start = np.log([gap.min(), gap.max() / b.max()])

    def residuals(x: Array) -> Array:
        return np.asarray(np.log((np.exp(x[0]) + np.exp(x[1]) * b) / gap))

    found = least_squares(residuals, start, method="lm")
    alpha, beta = np.exp(found.x)
    shares = (alpha / (alpha + beta * b.min()), beta * b.max() / (alpha + beta * b.max()))
    if not np.isfinite(found.x).all() or min(shares) < _SMALLEST_SHARE:
        return None
    low, high = _crossover_interval(found.x, np.asarray(found.jac), found.fun, level)
    size = float(alpha / beta)
    return Crossover(
        float(1 / alpha),
        float(1 / beta),
        size,
        low,
        high,
        bool(b.min() <= size <= b.max()),
        float(100 * np.mean(np.abs(np.exp(found.fun) - 1))) if len(b) > 2 else None,
    )


def _crossover_interval(x: Array, jacobian: Array, residuals: Array, level: float) -> tuple[float | None, float | None]:
    """The interval of exp(x0 - x1)."""
    freedom = len(residuals) - 2
    information = jacobian.T @ jacobian
    if freedom < 1 or np.linalg.cond(information) > 1e12:
        return None, None
    from scipy.special import stdtrit

    contrast = np.array([1.0, -1.0])
    variance = float(residuals @ residuals) / freedom * float(contrast @ np.linalg.solve(information, contrast))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * np.sqrt(variance)
    if half > np.log(1e3):  # open by a factor of a thousand either way: nothing is known
        return None, None
    size = float(x[0] - x[1])
    return float(np.exp(size - half)), float(np.exp(size + half))
