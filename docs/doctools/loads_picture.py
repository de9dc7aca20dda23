"""The picture of explanation-open-closed-thinking.md: R over X of one device under three loads, measured and predicted.

Its words hold the numbers that it was drawn with, so that a picture that no longer fits is found as stale text is.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calibrate import Fit, Prediction
    from measure import Sweep

DOCS = Path(__file__).resolve().parent.parent
DATA, FILE = DOCS / "data" / "one-device", DOCS / "_static" / "three-loads.svg"
USE = (1, 4, 16)
THINK_S = 0.02
MOST_MS = 18.0
AT_PER_S, MOST_PER_S = 1600.0, 1850.0


def picture() -> str:
    """The picture as Markdown."""
    strangers, users, depths = (load.response_time_s * 1e3 for load in _at_one_throughput())
    return (
        f"![Response time over throughput of one device: four servers of 2 ms. Lines are predicted from depths "
        f"{', '.join(map(str, USE))} alone, marks are measured. At {AT_PER_S:g} requests a second strangers see "
        f"{strangers[0]:.2g} ms, users who think for {1e3 * THINK_S:g} ms {users[0]:.2g} ms, and a closed test "
        f"{depths[0]:.2g} ms.](_static/{FILE.name})"
    )


def draw() -> None:
    """Draw the picture again. Needs kaleido and a browser."""
    import pandas as pd

    from calibrate.report.drawing import BLUE, ORANGE, PURPLE, Drawing, axis_layout, marker, solid
    from calibrate.report.view import View
    from doctools.dark import drawn
    from measure import ArrivalRate, Clients

    fit = _fitted()
    figure = Drawing(
        xaxis=axis_layout("throughput, requests/s", range=[0, 2150]),
        yaxis=axis_layout("mean response time, ms", range=[0, MOST_MS]),
    )
    loads = {
        "open": ("open: strangers", BLUE, "circle", fit.predict(ArrivalRate(np.linspace(50, MOST_PER_S, 60).tolist()))),
        "thinking": (
            "thinking: users who think for 20 ms",
            PURPLE,
            "diamond",
            fit.predict(Clients(np.arange(1, 90).tolist(), think=THINK_S)),
        ),
        "closed": ("closed: N in flight", ORANGE, "square", fit.predict(np.arange(1, 40).tolist())),
    }
    for name, (words, colour, symbol, predicted) in loads.items():
        points = _sweep(name).points
        figure.add_scatter(
            x=predicted.throughput_per_s,
            y=1e3 * predicted.response_time_s,
            mode="lines",
            name=f"{words}, predicted",
            line=solid(colour),
        )
        figure.add_scatter(
            x=points["throughput_per_s"],
            y=1e3 * points["latency_s"],
            mode="markers",
            name="measured",
            marker=marker(colour, symbol),
        )
    view = View(FILE.stem, "One device, three loads", "", pd.DataFrame(), figure)
    FILE.write_text(drawn(view), encoding="utf-8")


def _at_one_throughput() -> tuple[Prediction, ...]:
    """Strangers, thinking users and a closed test at about the same throughput."""
    from measure import ArrivalRate, Clients

    fit = _fitted()
    strangers = fit.predict(ArrivalRate([AT_PER_S]))
    users = min(
        (fit.predict(Clients([n], think=THINK_S)) for n in range(30, 45)),
        key=lambda found: abs(float(found.throughput_per_s[0]) - AT_PER_S),
    )
    return strangers, users, fit.predict([AT_PER_S * float(fit.predict([1]).response_time_s[0])])


def _sweep(name: str) -> Sweep:
    from measure import load

    return load(DATA / f"{name}.csv")


@cache
def _fitted() -> Fit:
    from calibrate import fit

    return fit(_sweep("closed"), USE)
