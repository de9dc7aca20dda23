"""Views over a size: IOPS and bandwidth on two axes with their crossover, latency against the size.

A request of b bytes takes alpha for being a request and beta for each of its bytes: 1/X = alpha + beta b. Small
requests approach the IOPS limit 1/alpha, large ones the bandwidth limit 1/beta; at b* = alpha/beta both are half
reached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.inference.parameters import LEVEL, Array
from calibrate.report.axes import bandwidth_axis, size_scale, throughput_axis
from calibrate.report.drawing import BLUE, ORANGE, RED, Drawing, axis_layout, empty_figure, marker, solid
from calibrate.report.measured.against import against
from calibrate.report.measured.points import MeasuredData
from calibrate.report.measured.tables import columns_of, fewer_lines, shown, with_loads
from calibrate.report.view import View
from measure.units import format_bytes

MOST_FIGURES = 4
SMALLEST_SHARE = 1e-6
"""A term whose share of every request is smaller than this is not identifiable."""
MOST_CONDITION, WIDEST = 1e12, 1e3
"""An interval from worse conditioned data, or wider than this factor either way, says nothing."""
_CAPTION = (
    "Fitted to 1/X = α + β b over the blocks of b bytes: 1/α is the IOPS limit, 1/β the bandwidth limit, and they "
    f"cross at b* = α/β, where both are half reached. {100 * LEVEL:g} % intervals; the error is the mean miss of the "
    "law at the measured sizes."
)
_NAMES = {
    "iops_limit_per_s": "IOPS limit",
    "bandwidth_limit_bytes_per_s": "bandwidth limit",
    "crossover_bytes": "crossover",
    "inside": "among those measured",
    "error_pct": "error",
}


def against_size(measured: MeasuredData) -> list[View]:
    """What the size does: IOPS and bandwidth with their crossover (blocks only), then latency."""
    return [*_two_axes(measured), *_latency(measured)] if measured.varies("size_bytes") else []


def _two_axes(measured: MeasuredData) -> list[View]:
    """One figure for each of the first curves at its least load, then the table of all crossovers."""
    if measured.size_name != "block size" or measured.memory:
        return []
    rows = measured.table[measured.table["throughput_per_s"].notna() & measured.table["size_bytes"].notna()]
    views, records, drawn = list[View](), list[dict[str, object]](), set[object]()
    for (curve, load), group in rows.groupby(["curve", "load"], sort=False):
        if group["size_bytes"].nunique() < 2:
            continue
        ordered = group.sort_values("size_bytes")
        found = crossover(ordered["size_bytes"].to_numpy(float), ordered["throughput_per_s"].to_numpy(float))
        name = ", ".join(p for p in (str(curve), measured.load_type.legend(float(str(load)))) if p)
        records.append({"series": name, **_record(found)})
        if curve not in drawn and len(views) < MOST_FIGURES:
            drawn.add(curve)
            table, title = ordered[columns_of(measured, "series", "size_bytes", "load")], "IOPS and bandwidth against"
            number, figure = len(views) + 1, _draw(ordered, found)
            title = f"{title} block size: {name}"
            views.append(View("iops-bandwidth", f"iops-bandwidth-{number}", title, _caption(found), table, figure))
    if records:
        table = pd.DataFrame(records)
        title = "Where IOPS and bandwidth limits cross"
        views.append(View("crossover", "crossovers", title, _CAPTION, table, None, shown(table, _NAMES)))
    return views


def _record(found: Crossover | None) -> dict[str, object]:
    return {
        "iops_limit_per_s": found.iops_limit_per_s if found else np.nan,
        "bandwidth_limit_bytes_per_s": found.bandwidth_limit_bytes_per_s if found else np.nan,
        "crossover_bytes": found.size_bytes if found else np.nan,
        "crossover_low_bytes": found.low_bytes if found else np.nan,
        "crossover_high_bytes": found.high_bytes if found else np.nan,
        "inside": "one limit only" if found is None else "yes" if found.inside else "no, extrapolated",
        "error_pct": found.error_pct if found else np.nan,
    }


def _draw(rows: pd.DataFrame, found: Crossover | None) -> Drawing:
    size, x, bandwidth = (rows[c].to_numpy(float) for c in ("size_bytes", "throughput_per_s", "bandwidth_bytes_per_s"))
    left, right = throughput_axis(x), bandwidth_axis(bandwidth)
    figure = empty_figure("block size", left.title.replace("requests/s", "IOPS").replace("throughput", "IOPS, left"))
    look = {"mode": "lines+markers", "x": size}
    figure.add_scatter(y=left.of(x), name="IOPS (left)", line=solid(BLUE), marker=marker(BLUE), **look)
    line, mark = {**solid(RED), "dash": "dash"}, marker(RED, "square")
    figure.add_scatter(y=right.of(bandwidth), name="bandwidth (right)", yaxis="y2", line=line, marker=mark, **look)
    title = right.title.replace("bandwidth", "bandwidth, right")
    second = {**axis_layout(title), "overlaying": "y", "side": "right", "showgrid": False}
    figure.update_layout(yaxis2=second, margin={"r": 80})
    for name, colour in (("yaxis", BLUE), ("yaxis2", RED)):
        figure.update_layout(**{name: {"title": {"font": {"color": colour}}, "tickfont": {"color": colour}}})
    if found is not None and found.inside:
        # With both limits at the same height the two curves cross where the limits do.
        limits = (left, found.iops_limit_per_s, x), (right, found.bandwidth_limit_bytes_per_s, bandwidth)
        for name, (axis, limit, values) in zip(("yaxis", "yaxis2"), limits, strict=True):
            top = 1.08 * axis.factor * max(limit, values.max())
            figure.update_layout(**{name: {"rangemode": None, "range": [0, top]}})
        if found.low_bytes is not None and found.high_bytes is not None:
            figure.add_shade(ORANGE, 0.2, x=(found.low_bytes, found.high_bytes))
        figure.add_upright(found.size_bytes, {"color": ORANGE, "width": 2})
        figure.add_to_legend(f"crossover, {format_bytes(found.size_bytes)}", {"color": ORANGE, "width": 3})
    size_scale("block size", size).apply(figure)
    return figure


def _caption(found: Crossover | None) -> str:
    if found is None:
        return "These sizes show one limit only, so there is no crossover to mark."
    if not found.inside:
        return f"The limits cross at about {format_bytes(found.size_bytes)}, outside the sizes that were measured."
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
    caption = ""
    if measured.size_name == "block size":
        caption = "A larger request takes longer; what stays as it shrinks is the cost of being a request."
    size, columns = measured.size_name, ["latency_s"]
    return against(measured, rows, "latency-size", size, scale, caption, x="size_bytes", by="line", columns=columns)


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


def crossover(size_bytes: Array, throughput_per_s: Array, level: float = LEVEL) -> Crossover | None:
    """The crossover of one curve; None where the sizes do not show both limits.

    Least squares on log(1/X), so that every size counts alike; the interval is that of the linearised fit (t
    distribution, m - 2 degrees of freedom), none for two sizes. ``size_bytes``, ``throughput_per_s`` (m,), positive.
    """
    b, gap = np.asarray(size_bytes, dtype=float), 1 / np.asarray(throughput_per_s, dtype=float)
    if len(np.unique(b)) < 2:
        return None
    from scipy.optimize import least_squares

    start = np.log([gap.min(), gap.max() / b.max()])

    def missed(x: Array) -> Array:
        return np.asarray(np.log((np.exp(x[0]) + np.exp(x[1]) * b) / gap))

    found = least_squares(missed, start, method="lm")
    alpha, beta = (float(v) for v in np.exp(found.x))
    shares = (alpha / (alpha + beta * b.min()), beta * b.max() / (alpha + beta * b.max()))
    if not np.isfinite(found.x).all() or min(shares) < SMALLEST_SHARE:
        return None
    size, error = alpha / beta, float(100 * np.mean(np.abs(np.exp(found.fun) - 1))) if len(b) > 2 else None
    half = _half_width(np.asarray(found.jac), found.fun, level)
    low, high = (None, None) if half is None else (size * np.exp(-half), size * np.exp(half))
    return Crossover(1 / alpha, 1 / beta, size, low, high, bool(b.min() <= size <= b.max()), error)


def _half_width(jacobian: Array, residuals: Array, level: float) -> float | None:
    """Half the interval of log(alpha / beta); None where the points leave it open."""
    freedom, information = len(residuals) - 2, jacobian.T @ jacobian
    if freedom < 1 or np.linalg.cond(information) > MOST_CONDITION:
        return None
    from scipy.special import stdtrit

    contrast = np.array([1.0, -1.0])
    variance = float(residuals @ residuals) / freedom * float(contrast @ np.linalg.solve(information, contrast))
    half = float(stdtrit(freedom, 0.5 + level / 2) * np.sqrt(variance))
    return half if half <= np.log(WIDEST) else None
