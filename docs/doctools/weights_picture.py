"""The picture of explanation-inference.md: the table of weights that two points of a drive leave, and its curve.

Its words hold the numbers that it was drawn with, so that a picture that no longer fits is found as stale text is.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calibrate import Fit

DATASET, USE = "004-ssd-depth", (1, 32)
FILE = Path(__file__).resolve().parent.parent / "_static" / "weights.svg"
LOADS = np.geomspace(1, 256, 60)
SHOWN = 700
"""So many of the heaviest nodes are drawn."""


def picture() -> str:
    """The picture as Markdown."""
    fit = _fitted()
    knee = fit.knee
    return (
        f"![Left: the {SHOWN} most probable of {len(fit.table)} rows, a dot each, by N* and the knee's sharpness p, "
        f"darker the more probable. Right: the throughput that they leave from depths {' and '.join(map(str, USE))}, "
        f"with its 90 % band; "
        f"the knee is {knee.load:.3g}, from {knee.low:.3g} to {knee.high:.3g}.](_static/{FILE.name})"
    )


def draw() -> None:
    """Draw the picture again. Needs kaleido and a browser."""
    import pandas as pd

    from calibrate import predict
    from calibrate.report.drawing import BLUE, INK, Drawing, axis_layout, marker, solid
    from calibrate.report.view import View
    from doctools.dark import drawn

    fit = _fitted()
    curve = predict(fit, LOADS)
    crossing, p, weight = _devices(fit)
    figure = Drawing(
        xaxis=axis_layout("crossing of the asymptotes N*", log=True, domain=[0, 0.45]),
        yaxis=axis_layout("sharpness p (60: the bound)", log=True),
        xaxis2=axis_layout("outstanding requests N", log=True, domain=[0.55, 1], anchor="y2"),
        yaxis2=axis_layout("throughput, k/s", anchor="x2"),
    )
    figure.add_scatter(
        x=crossing,
        y=p,
        mode="markers",
        showlegend=False,
        marker={"size": 5, "color": np.log10(weight), "colorscale": "Blues", "reversescale": True, "opacity": 0.8},
    )
    right = {"xaxis": "x2", "yaxis": "y2"}
    low, high = 1e-3 * curve.throughput_low_per_s, 1e-3 * curve.throughput_high_per_s
    figure.add_band(LOADS, low, high, BLUE, 0.25, name="90 % band", showlegend=True, **right)
    figure.add_scatter(
        x=LOADS, y=1e-3 * curve.throughput_per_s, mode="lines", line=solid(BLUE), name="predicted", **right
    )
    figure.add_scatter(
        x=fit.used,
        y=[1e-3 * x for x in fit.used_throughput_per_s],
        mode="markers",
        name="calibrated on",
        marker=marker(INK, "square"),
        **right,
    )
    for place, title in ((0.225, "the table of weights"), (0.775, "what it says of throughput")):
        figure.add_note(title, x=place, y=1, xref="paper", yref="paper", xanchor="center", yanchor="bottom")
    figure.update_layout(margin={"t": 40})
    shown = pd.DataFrame({"load": LOADS, "throughput_per_s": curve.throughput_per_s})
    view = View(FILE.stem, "What two points leave", "", shown, figure)
    FILE.write_text(drawn(view), encoding="utf-8")


def _devices(fit: Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """N*, p and weight of each node that is shown, over all sizes of the misfit, the most probable one last."""
    values = np.column_stack([fit.table.values[:, 0], np.minimum(fit.table.values[:, 2], 60.0)])
    nodes, which = np.unique(values.round(6), axis=0, return_inverse=True)
    weight = np.bincount(which.ravel(), fit.table.weight)
    order = np.argsort(weight)[-SHOWN:]
    return nodes[order, 0], nodes[order, 1], weight[order]


@cache
def _fitted() -> Fit:
    from calibrate import fit
    from measure import load_dataset

    return fit(load_dataset(DATASET), USE)
