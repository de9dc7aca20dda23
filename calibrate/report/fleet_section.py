"""The section of a report that shows a fleet: each odd drive's curve against its like, and their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrate.fleet.drives import MODEL_COLUMNS, fleet_answer, model_rows
from calibrate.fleet.odd import LIKE
from calibrate.report.drawing import GREY, PALETTE, Drawing, depth_ticks, empty_figure, marker
from calibrate.report.view import FormattedTable, Section, View, shown
from measure.origin import Provenance
from qsim.result import LABEL

if TYPE_CHECKING:
    from calibrate.fleet.drives import Fleet

NAMES = {"odd": "against the median of its like"}
MOST_LINES = 20
CENTRAL = (0.05, 0.95)


def section_of(fleet: Fleet) -> Section:
    """All of it under one heading."""
    first, middle, odd, seen = (
        line.removeprefix(line[:LABEL] if n else "") for n, line in enumerate(fleet_answer(fleet)[:4])
    )
    lead = f"{first}. Middle: {middle}. Odd: {odd}. Seen: {seen}."
    names, rows = tuple(map(str.lower, MODEL_COLUMNS)), model_rows(fleet.drives)
    models = pd.DataFrame(rows, columns=list(names))
    text = FormattedTable(names, tuple(rows), (True, True, True, False, False, False, False), ())
    views = [
        View(
            "fleet-curves",
            "Throughput against like drives",
            "Each line is an odd drive; the grey area holds 90 % of the others.",
            fleet.drives,
            against_like(fleet),
        ),
        View(
            "fleet-models",
            "Like drives",
            "The medians of the curves that are compared with each other.",
            models,
            text=text,
        ),
    ]
    if len(fleet.odd):
        text = shown(fleet.odd[["drive", "series", "model", "odd"]], NAMES)
        caption = "Further from their like than chance allows."
        views.append(View("fleet-odd", "Odd drives", caption, fleet.odd, text=text))
    return Section("Fleet", views, (), Provenance(tool="qsim fleet"), lead, name="fleet")


def against_like(fleet: Fleet) -> Drawing:
    """Throughput at each load in percent of the median of like drives: a line an odd drive, an area for the others."""
    drawing = empty_figure("outstanding requests N", "of the median of its like (%)", log_x=True)
    drawing.update_yaxes(rangemode=None)
    medians = fleet.curves.groupby([fleet.drives[name] for name in LIKE]).transform("median")
    shares = 100 * fleet.curves / medians
    loads = shares.columns.to_numpy(float)
    depth_ticks(drawing, loads)
    low, high = (shares[fleet.drives["odd"] == ""].quantile(q).to_numpy() for q in CENTRAL)
    drawing.add_band(loads, low, high, GREY, 0.3, name="90 % of the others", showlegend=True)
    furthest = np.abs(shares.loc[fleet.odd.index] - 100).max(axis=1).nlargest(MOST_LINES).index
    for number, row in enumerate(furthest):
        color = PALETTE[number % len(PALETTE)]
        drawing.add_scatter(
            x=loads,
            y=shares.loc[row].to_numpy(),
            mode="lines+markers",
            name=f"{fleet.drives.loc[row, 'drive']}: {fleet.drives.loc[row, 'odd']}",
            line={"color": color},
            marker=marker(color, "x", 9),
        )
    return drawing
