"""The tails of the structures behind a curve: percentiles against the depth, observed and predicted."""

from __future__ import annotations

from calibrate.report.drawing import PALETTE, Drawing, depth_ticks, empty_figure, latency_axis, marker, solid
from calibrate.report.table_text import FormattedTable
from calibrate.report.view import View
from calibrate.tails.results import QUANTILES, Tails
from measure.units import format_duration

_CAPTION = (
    "Lines are simulated from the histogram at depth 1; the shade is where 90 % of what is measured should lie. "
    "Circles were held out, squares were calibrated on. 1 request in 100 takes longer than p99."
)
NAMES = {"p50_s": "p50", "p95_s": "p95", "p99_s": "p99", "p999_s": "p99.9"}


def tail_view(tails: Tails) -> View:
    """Drawing and table of the tails of one curve."""
    return View(
        "tails",
        "Tails against depth",
        f"{tails.sentence()} {_CAPTION}",
        tails.to_frame(),
        tail_figure(tails),
        tail_text(tails),
    )


def tail_text(tails: Tails) -> FormattedTable:
    """Each percentile observed and predicted, with the error of the prediction."""
    alone = not any(p.observed for p in tails.points)
    words = [("", label, "") if alone else (label, "predicted", "error") for label in NAMES.values()]
    header = ["depth", *(word for three in words for word in three), ""]
    rows = []
    for p in tails.points:
        row = [f"{p.load:g}"]
        for name in NAMES:
            seen = (
                (format_duration(p.observed[name]), f"{p.residual_pct[name]:+.0f} %")
                if name in p.observed
                else ("", "")
            )
            row += [seen[0], format_duration(p.predicted[name]), seen[1]]
        rows.append([*row, "" if p.held_out else "calibrated on"])
    return FormattedTable.of(header, rows, words=(len(header) - 1,))


def tail_figure(tails: Tails) -> Drawing:
    """Percentiles over the depth, observed and predicted, with their bands."""
    table = tails.to_frame()
    load = table["load"].to_numpy(float)
    axis = latency_axis(table[[f"{name.removesuffix('_s')}_predicted_s" for name in QUANTILES]].to_numpy(float))
    figure = empty_figure("outstanding requests N", axis.title, log_x=True, log_y=True)
    depth_ticks(figure, load)
    for colour, (name, label) in zip(PALETTE, NAMES.items(), strict=False):
        column = name.removesuffix("_s")
        low, high = (axis.of(table[f"{column}_{end}_s"].to_numpy(float)) for end in ("low", "high"))
        figure.add_band(load, low, high, colour, 0.12)
        figure.add_scatter(
            x=load,
            y=axis.of(table[f"{column}_predicted_s"].to_numpy(float)),
            mode="lines",
            name=label,
            line=solid(colour),
        )
        symbols = ["circle" if held else "square-open" for held in table["held_out"]]
        figure.add_scatter(
            x=load,
            y=axis.of(table[f"{column}_observed_s"].to_numpy(float)),
            mode="markers",
            marker={**marker(colour), "symbol": symbols},
            showlegend=False,
            name=f"{label} observed",
        )
    return figure
