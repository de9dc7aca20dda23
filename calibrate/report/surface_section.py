"""The section of a report on a surface: its curves by mix, its errors, its parameters and knees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Mask
from calibrate.report.compared.figure_elements import ends_beyond
from calibrate.report.drawing import PALETTE, Axis, Drawing, depth_ticks, empty_figure, outlined, solid, throughput_axis
from calibrate.report.view import Section, View, shown
from calibrate.surface.explored import ExploredSurface
from calibrate.surface.places import Places, SurfacePoints
from calibrate.surface.surface_comparison import SurfaceComparison, knees, parameter_rows
from calibrate.surface.surface_fit import Surface
from measure.findings import Finding
from measure.origin import Provenance
from measure.units import format_bytes

DRAWN = 60
NAMES = {
    "block_bytes": "block",
    "outstanding": "N",
    "predicted_throughput_per_s": "predicted",
    "error_pct": "error",
    "predicted_response_time_s": "predicted response",
    "response_time_s": "response",
    "inside_band": "in band",
}


def section_of(compared: SurfaceComparison, provenance: Provenance, findings: Sequence[Finding] = ()) -> Section:
    """The section of one comparison, with the views of ``views_of``."""
    source = compared.points.source
    return Section(
        f"Surface of {source or 'the device'}",
        views_of(compared),
        findings,
        provenance,
        lead_of(compared),
        compared.notes,
        name=source,
    )


def lead_of(compared: SurfaceComparison) -> str:
    """The outcome in a paragraph: the lines of the answer, and what to measure next."""
    words = {"MISSED": "Missed: ", "SURE?": "Bands: ", "WORST": "Worst: ", "NEXT": "Next: "}
    lines = []
    for line in (*compared.answer(), *compared.last_lines()):
        first, _, rest = line.partition(" ")
        lines.append(words[first] + rest.strip() if first in words else line)
    return ". ".join(lines) + "."


def explored_section(found: ExploredSurface, source: str) -> Section:
    """The section of a surface measured at its most informative places: its curves, and every place."""
    rows = pd.DataFrame(found.rows())
    lead = ". ".join(line.replace("  ", " ").strip() for line in found.answer()) + "."
    every = np.ones(len(found.points), dtype=bool)
    views = _curve_views(found.points, found.surface, every, found.predicted.places, rows)
    views.append(View("surface-points", "All places", "", rows, text=shown(rows, NAMES)))
    return Section(f"Surface of {source}", views, (), Provenance(source=source), lead)


def _curve_views(
    points: SurfacePoints, surface: Surface, used: Mask, drawn_at: Places, rows: pd.DataFrame
) -> list[View]:
    """A view for each share of reads, all to one scale."""
    axis = throughput_axis(points.throughput_per_s)
    shares = drawn_at.values("read_fraction")
    figures = [_curves(points, surface, used, drawn_at, float(share), axis) for share in shares]
    caption = (
        "Lines and shades: what the surface predicts, and where a single new measurement is expected. Squares were "
        "used to calibrate; circles were held out. The scale is the same at every share of reads."
    )
    return [
        View(
            f"surface-{100 * share:.0f}-percent-read",
            f"Throughput at {100 * share:.3g} % reads",
            caption,
            rows[np.isclose(rows["read_fraction"], share)],
            figure,
        )
        for share, figure in zip(shares, figures, strict=True)
    ]


def views_of(compared: SurfaceComparison) -> list[View]:
    """Curves over the depth for each share of reads, points, parameters, knees."""
    points, rows = compared.points, pd.DataFrame(compared.rows())
    views = _curve_views(points, compared.surface, compared.used, points.places, rows)
    columns = [
        *("block_bytes", "read_fraction", "outstanding", "jobs", "throughput_per_s"),
        *(f"predicted_throughput{end}_per_s" for end in ("", "_low", "_high")),
        *("error_pct", "response_time_s", "predicted_response_time_s", "use"),
    ]
    table = rows[[c for c in columns if c != "jobs" or rows["jobs"].nunique() > 1]]
    views.append(View("surface-points", "All points", "", table, text=shown(table, NAMES)))
    views.append(_parameters(compared))
    bends = pd.DataFrame(knees(compared.surface, points.places))
    if len(bends):
        ends = {"low": "knee_low", "high": "knee_high", "low90": "knee90_low", "high90": "knee90_high"}
        bends = bends.rename(columns=ends)
        views.append(
            View(
                "surface-knees",
                "Knees",
                "Queueing starts at the depth N*, the idle latency times the peak; beside it the depth with 90 % of "
                "the peak. All are read off the predicted curve of the block size and the share of reads.",
                bends,
                text=shown(bends, {"block_bytes": "block", "knee": "queueing starts, N*", "knee90": "90 % of peak at"}),
            )
        )
    return views


_PARAMETERS = (
    "Latency alone is that of a lone request without its bytes; peak rate and bandwidth are the two limits. q says how "
    "the limits meet (1: added up, large: the larger alone), p how sharp the knee is, onset how a lone request "
    "differs. Rough: the interval spans more than a factor of 2."
)


def _parameters(compared: SurfaceComparison) -> View:
    """The parameters, in SI units as data and with units to read."""
    found = compared.surface.parameters()
    table = pd.DataFrame([{"parameter": name, **vars(e)} for name, e in found.items()])
    text = shown(pd.DataFrame(parameter_rows(compared.surface)), {"sure": ""})
    return View("surface-parameters", "Parameters", _PARAMETERS, table, text=text)


def _curves(points: SurfacePoints, surface: Surface, used: Mask, drawn_at: Places, share: float, axis: Axis) -> Drawing:
    """The curves over the depth of every block of ``drawn_at`` at this share of reads, with the points measured."""
    places = points.places
    figure = empty_figure("outstanding requests N", axis.title, log_x=True, log_y=True)
    depths = drawn_at.values("outstanding")
    depth_ticks(figure, depths)
    figure.update_yaxes(range=ends_beyond(axis.of(points.throughput_per_s), log=True))  # of all shares, to compare them
    at = np.geomspace(depths[0], depths[-1], DRAWN)
    here = np.isclose(places.read_fraction, share)
    for i, block in enumerate(np.unique(drawn_at.block_bytes[np.isclose(drawn_at.read_fraction, share)])):
        colour = PALETTE[i % len(PALETTE)]
        name = format_bytes(block) if block > 0 else "all blocks"
        line = np.ones(DRAWN)
        jobs = float(np.median(places.jobs))
        drawn = surface.predict(Places(block * line, share * line, at, jobs * line))
        figure.add_band(
            at, axis.of(drawn.throughput_low_per_s), axis.of(drawn.throughput_high_per_s), colour, legendgroup=name
        )
        figure.add_line(at, axis.of(drawn.throughput_per_s), name, solid(colour), legendgroup=name)
        for known, symbol, how in ((True, "square", "calibrated on"), (False, "circle-open", "held out")):
            chosen = here & np.isclose(places.block_bytes, block) & (used == known)
            figure.add_scatter(
                x=places.outstanding[chosen],
                y=axis.of(points.throughput_per_s[chosen]),
                mode="markers",
                marker=outlined(colour, symbol),
                showlegend=False,
                legendgroup=name,
                text=[places.text(int(n)) for n in np.flatnonzero(chosen)],
                hovertemplate="%{text}<br>%{y:.4g}<extra>" + how + "</extra>",
            )
    return figure
