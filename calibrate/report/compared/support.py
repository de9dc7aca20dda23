"""What supports a comparison: where a request's time goes, what other models miss."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from calibrate.models.host_and_device import HostAndDevice
from calibrate.prediction.comparison import Comparison
from calibrate.prediction.fit_ladder import Rung
from calibrate.report.drawing import INK, ORANGE, SKY, empty_figure, marker
from calibrate.report.view import FormattedTable, View
from measure.units import format_duration

LEAST_PCT = 0.01
"""Errors below this many percent are drawn there: an exact fit has no place on a logarithmic axis."""


def host_view(found: HostAndDevice) -> View:
    """The share of a request's time in the device and in the host as stacked bars; marks where the model parts them."""
    _, host, device = found.predicted(found.load)
    table = pd.DataFrame(
        {
            "load": found.load,
            "throughput_per_s": found.throughput_per_s,
            "device_s": found.device_s,
            "host_s": found.host_s,
            "device_by_model_s": device,
            "host_by_model_s": host,
        }
    )
    figure = empty_figure("outstanding requests", "share of the response time (%)")
    loads, whole = [f"{n:g}" for n in found.load], found.device_s + found.host_s
    parts = (("in the device", found.device_s, SKY, "start"), ("in the host", found.host_s, ORANGE, "end"))
    for name, times, colour, clear_of_the_mark in parts:
        figure.add_bar(
            x=loads,
            y=100 * times / whole,
            name=name,
            marker={"color": colour},
            text=[format_duration(t, 2) for t in times],
            textangle=0,
            insidetextanchor=clear_of_the_mark,
        )
    share, mark = 100 * device / (device + host), marker(INK, "diamond", 9)
    figure.add_scatter(x=loads, y=share, name="parted by the model", mode="markers", marker=mark)
    figure.update_layout(barmode="stack")
    figure.update_xaxes(type="category", rangemode=None)
    sentence = found.sentence()
    caption = f"{sentence[0].upper()}{sentence[1:]}."
    return View("host", "host-and-device", "Where the time goes", caption, table, figure)


def ladder_view(comparison: Comparison) -> View:
    """What each model misses on the same points."""
    models = comparison.models
    header = ("", "model", "calibration error", "held-out error, throughput", "response", "assumes")
    rows = (
        (
            str(m.rank),
            m.name,
            *map(_percent, (m.in_sample_pct, m.held_out_mape_throughput_pct, m.held_out_mape_response_pct)),
            m.assumption,
        )
        for m in models
    )
    return View(
        "ladder",
        "models",
        "Other models on the same points",
        f"Ranked by mean error at the held-out points; {comparison.fit.model} was fixed before they were looked at.",
        _ladder_table(models),
        None,
        FormattedTable.of(header, rows, words=(1, 5)),
    )


def _ladder_table(models: Sequence[Rung]) -> pd.DataFrame:
    parts = ("in_sample_mape", "held_out_mape")
    kept = ("rank", *(f"{part}_{what}_pct" for part in parts for what in ("throughput", "response")), "assumption")
    return pd.DataFrame([{"model": m.name, **{name: getattr(m, name) for name in kept}} for m in models])


def _percent(value: float | None) -> str:
    if value is None:
        return ""
    return f"< {LEAST_PCT:g} %" if value < LEAST_PCT else f"{value:.3g} %"
