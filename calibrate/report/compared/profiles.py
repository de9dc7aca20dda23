"""Profile likelihoods as plots: how much worse the points are explained when a parameter is held at another value."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.fitting import quantity
from calibrate.profiles import Profile
from calibrate.report.drawing import BLUE, ORANGE, dashed, empty_figure, faint, solid
from calibrate.report.view import Shown, View

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TOP = 3.0
"""How many times what the interval allows the plots reach; a rise beyond is drawn there."""

_COLUMNS = 2
_ROW = 300
_CAPTION = (
    "Each curve is the rise of -2 ln L when one parameter is held and all others are fitted anew, without any prior. "
    "Below the dashed line lies the interval, shaded. A curve that stays below on a side means that these points do "
    "not bound the parameter there."
)


def profile_view(found: Sequence[Profile], level: float) -> View:
    """Every parameter's profile, as small plots beside each other, and where they bound it."""
    return View("profiles", "profile-likelihoods", "Profile likelihoods", _CAPTION, profile_table(found),
                profile_figure(found, level), profile_text(found, level))  # fmt: skip


def profile_figure(found: Sequence[Profile], level: float) -> Figure:
    """Small plots, one a parameter, all with the same vertical axis."""
    from plotly.subplots import make_subplots
    from scipy.stats import chi2

    allowed = float(chi2.ppf(level, 1))
    rows = -(-len(found) // _COLUMNS)
    names = [f"{escape(p.name)}{f' ({escape(p.unit)})' if p.unit else ''}" for p in found]
    figure = make_subplots(rows, _COLUMNS, subplot_titles=names, shared_yaxes=True, vertical_spacing=0.32 / rows,
                           horizontal_spacing=0.04)  # fmt: skip
    base = empty_figure("", "")
    figure.update_layout(base.layout.to_plotly_json() | {"xaxis": None, "yaxis": None}, overwrite=False)
    style = {k: v for k, v in base.layout.xaxis.to_plotly_json().items() if k not in ("title", "rangemode")}
    figure.update_xaxes(type="log", **style)
    figure.update_yaxes(**style, range=[0, TOP * allowed])
    figure.update_layout(height=110 + _ROW * rows, showlegend=False, margin={"t": 40})
    for i, profile in enumerate(found):
        at = {"row": i // _COLUMNS + 1, "col": i % _COLUMNS + 1}
        values = np.array(profile.values)
        figure.add_vrect(x0=profile.low or values.min(), x1=profile.high or values.max(), fillcolor=faint(ORANGE, 0.25),
                         line_width=0, **at)  # fmt: skip
        figure.add_hline(y=allowed, line=dashed(), **at)
        figure.add_scatter(
            x=values, y=np.minimum(profile.rise, 1.5 * TOP * allowed), mode="lines+markers", line=solid(BLUE),
            marker={"size": 6, "color": BLUE}, name=profile.name, customdata=profile.rise,
            hovertemplate=f"{escape(profile.name)} %{{x:.4g}}<br>rise %{{customdata:.3g}}<extra></extra>", **at,
        )  # fmt: skip
        if at["col"] == 1:
            figure.update_yaxes(title="rise of -2 ln L", **at)
    figure.update_annotations(font={"size": 15})
    return figure


def profile_table(found: Sequence[Profile]) -> pd.DataFrame:
    """A row for each value of each parameter that was tried."""
    return pd.DataFrame([
        {"parameter": p.name, "unit": p.unit, "value": value, "rise": rise}
        for p in found
        for value, rise in zip(p.values, p.rise, strict=True)
    ])  # fmt: skip


def profile_text(found: Sequence[Profile], level: float) -> Shown:
    """Where the likelihood alone bounds each parameter, and what would."""
    header = ("parameter", f"{100 * level:g} % from", "to", "identifiable?")
    rows = tuple(
        (p.name, quantity(p.low, p.unit) or "open", quantity(p.high, p.unit) or "open",
         "yes" if p.identified else f"not identifiable: {p.pins}")
        for p in found
    )  # fmt: skip
    return Shown(header, rows, (True, False, False, True))
