"""Profile likelihoods as plots: how much worse the points are explained when a parameter is held at another value."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from statistics import NormalDist

import numpy as np
import pandas as pd

from calibrate.fitting.curve_fit import quantity
from calibrate.prediction.profiles import Profile
from calibrate.report.drawing import PALETTE, SYMBOLS, Drawing, dashed, empty_figure, marker, ticks
from calibrate.report.view import Shown, View

TOP = 3.0
"""How many times what the interval allows the plot reaches."""

_CAPTION = (
    "The rise of -2 ln L when one parameter is held away from its likeliest value and all others are refitted, "
    "without any prior. Below the dashed line lies the interval. A curve that stays below on a side means that these "
    "points do not bound the parameter there; a narrow valley is a parameter that they pin."
)


def profile_view(found: Sequence[Profile], level: float) -> View:
    """Every parameter's profile in one plot, and where they bound it."""
    return View("profiles", "profile-likelihoods", "Profile likelihoods", _CAPTION, profile_table(found),
                profile_figure(found, level), profile_text(found, level))  # fmt: skip


def profile_figure(found: Sequence[Profile], level: float) -> Drawing:
    """A curve for each parameter over its value as a multiple of the likeliest."""

    allowed = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    figure = empty_figure("value, times the likeliest", "rise of -2 ln L", log_x=True)
    for i, profile in enumerate(found):
        values, colour = np.array(profile.values), PALETTE[i % len(PALETTE)]
        figure.add_scatter(
            x=values / profile.likeliest, y=profile.rise, mode="lines+markers", name=escape(profile.name),
            line={"color": colour, "width": 2.5}, customdata=[quantity(float(v), profile.unit) for v in values],
            marker=marker(colour, SYMBOLS[i % len(SYMBOLS)], 7),
            hovertemplate=f"{escape(profile.name)} = %{{customdata}}<br>rise %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    figure.add_level(allowed, dashed())
    figure.add_to_legend(f"{100 * level:g} % interval: below", dashed())
    powers = range(-6, 7)
    figure.update_xaxes(**ticks((2.0**i for i in powers), (f"{2**i}" if i >= 0 else f"1/{2**-i}" for i in powers)))
    figure.update_yaxes(range=[0, TOP * allowed])
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
