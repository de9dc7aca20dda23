"""The section of a report that shows a fleet: peak over idle latency, knees by model, odd drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrate.fitting.answer import LABEL
from calibrate.fleet.answer import fleet_answer
from calibrate.report.drawing import AXIS, LOG, PALETTE, Drawing, marker
from calibrate.report.measured.tables import shown
from calibrate.report.view import Section, View
from measure.sweep import Provenance

if TYPE_CHECKING:
    from calibrate.fleet.drives import Fleet

NAMES = {"odd": "against the median of its like", "peak_per_s": "peak", "idle_latency_s": "idle latency"}


def section_of(fleet: Fleet) -> Section:
    """All of it under one heading."""
    first, middle, odd = fleet_answer(fleet)[:3]
    lead = f"{first}. Middle: {middle[LABEL:]}. Odd: {odd[LABEL:]}."
    views = [
        View(
            "fleet-peaks",
            "fleet-peaks",
            "Peak over idle latency",
            "A point a drive; crosses are odd.",
            fleet.drives,
            peaks(fleet),
        ),
        View(
            "fleet-odd",
            "fleet-odd",
            "Odd drives",
            "Further from the median of their like than chance allows.",
            fleet.odd,
            text=shown(fleet.odd[["drive", "series", "model", "odd"]], NAMES),
        ),
    ]
    return Section("Fleet", views, (), Provenance(tool="qsim fleet"), lead, name="fleet")


def peaks(fleet: Fleet) -> Drawing:
    """Peak over idle latency, a colour for each model."""
    drawing = Drawing(
        xaxis={**AXIS, **LOG, "title": {"text": "idle latency (µs)"}},
        yaxis={**AXIS, **LOG, "title": {"text": "peak (1/s)"}},
    )
    drives = fleet.drives
    for number, (name, group) in enumerate(drives.groupby(["model", "series"], sort=False)):
        for odd, symbol in ((False, "circle"), (True, "x")):
            part = group[(group["odd"] != "") == odd]
            if len(part):
                drawing.add_scatter(
                    x=1e6 * part["idle_latency_s"].to_numpy(),
                    y=part["peak_per_s"].to_numpy(),
                    mode="markers",
                    name=" ".join(str(part) for part in name if part) + (", odd" if odd else ""),
                    text=[str(drive) for drive in part["drive"]],
                    marker=marker(PALETTE[number % len(PALETTE)], symbol, 9 if odd else 6),
                )
    return drawing
