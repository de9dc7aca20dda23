"""The plots and tables of devices side by side."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from calibrate.fitting.predicted_curve import grid
from calibrate.inference.parameters import Array
from calibrate.prediction.ratios import ratio_of_curves
from calibrate.report.compared import curves
from calibrate.report.compared.devices import MOST_IN_FULL, Matched, SideBySide, difference_text, parameter_text
from calibrate.report.compared.figure_elements import add_band, at_among, axes_of, figure_over
from calibrate.report.drawing import (
    DASHES,
    GREY,
    PALETTE,
    Drawing,
    dashed,
    empty_figure,
    interval,
    marker,
    name_rows,
    spans_decade,
    symbol_of,
    ticks,
)
from calibrate.report.view import Section, View

_HOW = "Lines are predicted, circles were held out, open squares were calibrated on."
_BEYOND = (
    "Each device against the baseline (the first): the ratio of what was fitted, with its interval. Where the interval "
    "holds 1, these points cannot tell the two apart. The intervals know the noise of these runs, and nothing of "
    "another day or another drive of the same make; about one in ten lies beyond by chance."
)
_PARAMETERS = "Rough: the interval spans more than a factor of 2; assumed: the number comes mostly from the prior."
_RATIO = (
    "Predicted throughput over that of the baseline (the first device), at the loads both were measured over; the "
    "shade is where the ratio of one new measurement of each is expected, at {level:g} %."
)
_EACH = 11
"""Pixels between the intervals of two devices in one row, at least."""


def side_section(found: SideBySide) -> Section:
    """The section of devices that vary the same kind of load."""
    comparisons = [c for _, c in found.curves]
    table = pd.concat(
        [curves.curve_table(c).assign(device=d, series=c.series) for d, c in found.curves], ignore_index=True
    )
    rate = found.curves[0][1].points.load_type.rate_name
    views = [
        View(
            "devices",
            "devices-curve",
            f"Latency against {rate}",
            _HOW,
            table,
            curves.overview(comparisons, found.labels),
        )
    ]
    if not comparisons[0].is_open:
        titles = {"throughput": f"{rate.capitalize()} against load", "response": "Response time against load"}
        views += [
            View("devices", f"devices-{what}", title, _HOW, table, _over_load(found, what))
            for what, title in titles.items()
        ]
    for number, matched in enumerate(found.matched, 1):
        views += _matched_views(matched, f"-{number}" if len(found.matched) > 1 else "")
    lead = " ".join(m.sentence() for m in found.matched) or "No curve of these devices has the name of another's."
    return Section(found.title, views, lead=lead, name=found.title.lower(), load_kind=_kind(found))


def _kind(found: SideBySide) -> str:
    return found.curves[0][1].points.load_kind


def _matched_views(matched: Matched, suffix: str) -> list[View]:
    about = f": {matched.name}" if matched.name else ""
    level = 100 * min(c.fit.level for c in matched.comparisons)
    ratios = (
        []
        if matched.comparisons[0].is_open
        else [
            View(
                "ratio",
                f"throughput-ratio{suffix}",
                f"How many times the throughput{about}",
                _RATIO.format(level=level),
                _ratio_table(matched),
                _ratio_figure(matched),
            )
        ]
    )
    return [
        View(
            "parameters",
            f"parameters{suffix}",
            f"Parameters and knees{about}",
            _PARAMETERS,
            _parameter_table(matched),
            None,
            parameter_text(matched),
        ),
        View(
            "differences",
            f"differences{suffix}",
            f"Differences{about}",
            _BEYOND,
            pd.DataFrame([d.to_dict() for d in matched.differences]),
            _difference_figure(matched),
            difference_text(matched),
        ),
        *ratios,
    ]


def _over_load(found: SideBySide, what: str) -> Drawing:
    comparisons = [c for _, c in found.curves]
    axis = axes_of(comparisons)[0 if what == "throughput" else 1]
    column = "throughput_per_s" if what == "throughput" else "response_time_s"
    load = np.concatenate([c.points.load for c in comparisons])
    every = np.concatenate([getattr(c.points, column) for c in comparisons])
    figure = figure_over(comparisons[0], load, axis.title, log_y=spans_decade(every))
    for i, (label, comparison) in enumerate(zip(found.labels, comparisons, strict=True)):
        smooth, points = comparison.smooth, comparison.points
        line = (at_among(load, smooth.load), axis.of(getattr(smooth, column)))
        curves.add_curve(
            figure, i, label, comparison, line, (at_among(load, points.load), axis.of(getattr(points, column)))
        )
    return figure


def _difference_figure(matched: Matched) -> Drawing:
    """Ratios with their intervals on a logarithmic axis, the line at 1 where nothing differs."""
    figure = empty_figure(f"ratio to {escape(matched.devices[0])}", "", log_x=True)
    names = list(dict.fromkeys(d.quantity for d in matched.differences))
    others = matched.devices[1:]
    for i, device in enumerate(others):
        rows = [d for d in matched.differences if d.other == device]
        colour = PALETTE[(i + 1) % len(PALETTE)]
        lift = 0.0 if len(others) == 1 else _spread(len(others)) * (i / (len(others) - 1) - 0.5)
        figure.add_scatter(
            x=[d.ratio for d in rows],
            y=[names.index(d.quantity) + lift for d in rows],
            mode="markers",
            name=escape(device),
            marker=marker(colour, symbol_of(i + 1)),
            error_x=interval(*(np.array([getattr(d, end) for d in rows]) for end in ("ratio", "low", "high")), width=6),
            text=[d.quantity for d in rows],
            hovertemplate="%{text}: %{x:.3g}<extra></extra>",
        )
    figure.add_upright(1, {"color": GREY, "width": 2, "dash": "dash"})
    ends = [v for d in matched.differences for v in (d.low, d.high)]
    figure.update_xaxes(**ticks(_ratio_ticks(min(ends), max(ends))))
    name_rows(figure, names, max(44, _EACH * len(others)))
    return figure


def _spread(count: int) -> float:
    """The share of its row's height that ``count`` intervals take."""
    return 0.5 if count <= MOST_IN_FULL + 1 else 0.75


def _ratio_ticks(low: float, high: float) -> list[float]:
    """Ticks around 1 that do not run into each other: the finer, the less there is between ``low`` and ``high``."""
    span = high / low
    ticks = [float(f"{d}e{e}") for e in range(-6, 7) for d in ((1,) if span > 1e3 else (1, 2, 5))]
    near = [0.8, 1.25] if span < 10 else []
    return sorted(v for v in [*ticks, *near] if low * 0.8 <= v <= high * 1.25)


def _ratio_loads(matched: Matched) -> Array:
    loads = [c.points.load for c in matched.comparisons]
    low, high = max(float(v.min()) for v in loads), min(float(v.max()) for v in loads)
    return grid(min(low, high), max(low, high), 60)


def _ratio_figure(matched: Matched) -> Drawing:
    loads = _ratio_loads(matched)
    first, others = matched.comparisons[0], zip(matched.devices[1:], matched.comparisons[1:], strict=True)
    every = [ratio_of_curves(first.fit, c.fit, loads, (matched.devices[0], device)) for device, c in others]
    wide = spans_decade(np.concatenate([[1.0], *(found.ratio for found in every)]))
    figure = figure_over(first, loads, f"throughput, times that of {escape(matched.devices[0])}", log_y=wide)
    figure.add_level(1, dashed())
    figure.update_layout(legend={"traceorder": "normal"})
    x = at_among(loads, loads)
    for i, (device, found) in enumerate(zip(matched.devices[1:], every, strict=True), 1):
        colour = PALETTE[i % len(PALETTE)]
        add_band(figure, x, found.low, found.high, found.level, colour=colour, showlegend=len(matched.devices) == 2)
        figure.add_scatter(
            x=x,
            y=found.ratio,
            mode="lines",
            name=escape(device),
            line={"color": colour, "width": 3, "dash": DASHES[(i - 1) % len(DASHES)]},
        )
    return figure


def _ratio_table(matched: Matched) -> pd.DataFrame:
    loads, parts = _ratio_loads(matched), []
    for device, comparison in zip(matched.devices[1:], matched.comparisons[1:], strict=True):
        found = ratio_of_curves(matched.comparisons[0].fit, comparison.fit, loads, (matched.devices[0], device))
        columns = {"load": found.load, "throughput_ratio": found.ratio, "low": found.low, "high": found.high}
        parts.append(pd.DataFrame(columns).assign(device=device))
    return pd.concat(parts, ignore_index=True)


def _parameter_table(matched: Matched) -> pd.DataFrame:
    rows = [
        {"device": device, "parameter": name, **{k: v for k, v in vars(e).items() if k != "note"}}
        for device, c in zip(matched.devices, matched.comparisons, strict=True)
        for name, e in c.fit.parameters.items()
    ]
    knees = [
        {
            "device": device,
            "parameter": f"knee: {k.knee.definition}",
            "unit": "",
            "estimate": k.knee.load,
            "low": k.knee.low,
            "high": k.knee.high,
            "identified": k.knee.identified,
        }
        for device, found in zip(matched.devices, matched.knees, strict=True)
        for k in found
    ]
    return pd.DataFrame(rows + knees)
