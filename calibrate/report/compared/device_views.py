"""The plots and tables of devices side by side."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Estimate
from calibrate.report.compared import curves
from calibrate.report.compared.devices import MOST_IN_FULL, Matched, SideBySide, parameter_text
from calibrate.report.drawing import GREY, PALETTE, Drawing, empty_figure, interval, marker, name_rows, symbol_of, ticks
from calibrate.report.view import Section, View

_HOW = "Lines are predicted, circles were held out, open squares were calibrated on."
_BEYOND = (
    "Each device against the baseline (the first): the ratio of what was fitted, with its interval. Where the interval "
    "holds 1, these points cannot tell the two apart. The intervals know the noise of these runs, and nothing of "
    "another day or another drive of the same make; about one in ten lies beyond by chance."
)
_PARAMETERS = "Rough: the interval spans more than a factor of 2; assumed: the number comes mostly from the prior."
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
    for number, matched in enumerate(found.matched, 1):
        views += _matched_views(matched, f"-{number}" if len(found.matched) > 1 else "")
    lead = " ".join(m.sentence() for m in found.matched) or "No curve of these devices has the name of another's."
    return Section(found.title, views, lead=lead, name=found.title.lower(), load_kind=_kind(found))


def _kind(found: SideBySide) -> str:
    return found.curves[0][1].points.load_kind


def _matched_views(matched: Matched, suffix: str) -> list[View]:
    about = f": {matched.name}" if matched.name else ""
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
        ),
    ]


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


def _parameter_table(matched: Matched) -> pd.DataFrame:
    """A row for each parameter and knee of each device, SI units."""
    rows = [
        (device, name, e)
        for device, c in zip(matched.devices, matched.comparisons, strict=True)
        for name, e in c.fit.parameters.items()
    ]
    rows += [
        (device, f"knee: {k.definition}", Estimate(k.load, k.low, k.high, k.identified))
        for device, c in zip(matched.devices, matched.comparisons, strict=True)
        for k in (c.fit.knee, c.fit.ninety)
    ]
    return pd.DataFrame([{"device": device, "parameter": name, **vars(e)} for device, name, e in rows])
