"""Views over the load: throughput, latency and its tails against it, the latency-bandwidth curve, the baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from calibrate.fitting.answer import knee_word
from calibrate.fitting.curve_fit import fit
from calibrate.fitting.fit import Fit
from calibrate.inference.parameters import LEVEL
from calibrate.knees.definitions import NamedKnee
from calibrate.knees.knee import Knee
from calibrate.next.load import advice
from calibrate.report.axes import AxisScale, latency_axis, load_scale
from calibrate.report.drawing import ORANGE, PALETTE, Drawing, marker
from calibrate.report.measured.against import against, results_of
from calibrate.report.measured.drawings import MOST_LINES, bars, lines, several_lines
from calibrate.report.measured.points import PERCENTILES, MeasuredData
from calibrate.report.measured.tables import axis_of, columns_of, rate_of, shown, text_of, with_ends, word_of
from calibrate.report.view import View
from measure import repeats
from measure.errors import DataError
from measure.sweep import Sweep

_ENOUGH_FOR_A_KNEE = 3
MOST_TAILS = 6
MOST_WORKLOADS = 8  # with more, depth 1 is no baseline but a point of something else

Answers = Callable[[Fit, Sweep], Sequence[NamedKnee]]
"""Operating points that were asked for: the load within a response time, or with a share of the peak."""


def curves(measured: MeasuredData, least: int = 2) -> pd.DataFrame:
    """The points of the curves that have at least ``least`` loads."""
    loads = measured.table.groupby("series")["load"].transform("nunique")
    return measured.table[loads >= least]


def against_load(measured: MeasuredData) -> list[View]:
    """Throughput (a memory's bandwidth) and latency against the load."""
    rows = curves(measured)
    if rows.empty or measured.load_type.is_bandwidth:
        return []
    scale, what = load_scale(measured), measured.load_kind.replace("_", " ")
    views = []
    for column in ["latency_s"] if measured.load_type.is_open else results_of(measured, rows):
        caption = _load_caption(measured, word_of(column)) + _shortened(rows)
        views += against(measured, rows, "load", what, scale, caption, x="load", by="series", columns=[column])
    return views


def latency_bandwidth(
    measured: MeasuredData, progress: Callable[[float], None] | None = None, answers: Answers | None = None
) -> list[View]:
    """Latency against bandwidth (throughput without a block size), the knee of each curve as a star, their table.

    ``answers`` gives further operating points of a fit, which stand with the knee.
    """
    rows = curves(measured, _ENOUGH_FOR_A_KNEE)
    rows = rows[rows["latency_s"].notna()]
    if rows.empty or measured.load_type.is_open or measured.load_type.is_size:
        return []
    column = "bandwidth_bytes_per_s" if rows["bandwidth_bytes_per_s"].notna().all() else "throughput_per_s"
    if rows[column].isna().any():
        return []
    x_axis, word = axis_of(measured, column, rows), word_of(column)
    scale = AxisScale(x_axis.title, np.array([0.0]), (), log=False, factor=x_axis.factor)
    # Along a curve the load grows; the bandwidth may bend back, so the order is the load's.
    ordered = rows.sort_values(["load"], ascending=not measured.load_type.is_delay, kind="stable")
    y_axis = axis_of(measured, "latency_s", rows)
    figure = lines(ordered, column, "latency_s", scale, y_axis, by="series", sort=False)
    fits = _fits(measured, rows, progress)
    first = rows.groupby("series", sort=False).first()
    per_request = first[column] / first["throughput_per_s"]
    sharp = [(series, made.knee) for series, made in fits.items() if made.knee.identified and made.knee.sharp]
    for i, (series, knee) in enumerate(sharp):
        _star(
            figure,
            i,
            scale.factor * knee.throughput_per_s * float(per_request[series]),
            y_axis.factor * knee.response_time_s,
            first=i == 0,
        )
    table, asked = _knee_table(measured, rows, fits, answers)
    title, caption = f"Latency against {word}, with the knee", _knee_caption([knee for _, knee in sharp])
    return [
        View(
            "latency-bandwidth",
            f"latency-{word}",
            title,
            caption,
            table,
            figure,
            shown(table, {**_KNEE_NAMES, **asked}),
        )
    ]


_KNEE_NAMES = {
    "latency_s": "latency at least load",
    "throughput_per_s": "peak throughput",
    "bandwidth_bytes_per_s": "peak bandwidth",
    "at_load": "at load",
    "knee": "knee, load",
    "knee_latency_s": "latency at the knee",
    "sure": "sure?",
    "ninety": "90 % of the peak at",
    "next": "measure next",
}


def _fits(measured: MeasuredData, rows: pd.DataFrame, progress: Callable[[float], None] | None) -> dict[str, Fit]:
    """The device model fitted to all points of each curve, where a model fits and its knee was reached."""
    found: dict[str, Fit] = {}
    if measured.sweep is None:
        return found
    drawn = list(dict.fromkeys(rows["series"]))[:MOST_LINES]
    for done, series in enumerate(drawn):
        if progress is not None:
            progress(done / len(drawn))
        try:
            made = fit(measured.sweep, series=series)
        except DataError:  # too few or impossible points for a model: the curve is drawn without a knee
            continue
        if made.knee.load is not None:
            found[series] = made
    return found


def _knee_table(
    measured: MeasuredData, rows: pd.DataFrame, fits: dict[str, Fit], answers: Answers | None
) -> tuple[pd.DataFrame, dict[str, str]]:
    """A row for each curve: its latency at the least load, its peak, its knee; and headings of what was asked."""
    records, names = [], {}
    for series, group in rows.groupby("series", sort=False):
        by_load = group.sort_values("load", ascending=not measured.load_type.is_delay)
        idle = by_load.iloc[0]
        peak = by_load.iloc[int(by_load[rate_of(measured)].to_numpy(float).argmax())]
        made = fits.get(str(series))
        asked = () if made is None or answers is None or measured.sweep is None else answers(made, measured.sweep)
        names.update({one.name.replace(" ", "_"): one.knee.definition for one in asked})
        records.append(
            {
                "series": series,
                "latency_s": idle["latency_s"],
                **({} if measured.memory else {"throughput_per_s": peak["throughput_per_s"]}),
                "bandwidth_bytes_per_s": peak["bandwidth_bytes_per_s"],
                "at_load": peak["load"],
                **_of_fit(made),
                **{k: v for one in asked for k, v in _ends(one.name.replace(" ", "_"), one.knee).items()},
            }
        )
    table = pd.DataFrame(records)
    ends = [c for c in table.columns if c.split("_")[0] in ("knee", "ninety", *names)]
    return table.astype(dict.fromkeys(ends, float)), names


def _of_fit(made: Fit | None) -> dict[str, float | str | None]:
    """The knee of a curve, where 90 % of the peak of a queue is had, and what to measure next."""
    if made is None:
        none = dict.fromkeys(("knee", "knee_low", "knee_high", "knee_latency_s"))
        return {**none, "sure": "", "sharp": "", "next": ""}
    knee, wanted = made.knee, None if made.points is None else advice(made.points)
    closed = made.load_type.is_closed
    return {
        **_ends("knee", knee),
        "knee_latency_s": knee.response_time_s,
        "sure": knee_word(made),
        **(_ends("ninety", made.ninety) if closed else {}),
        "sharp": ("yes" if knee.sharp else "no sharp knee") if closed else "",
        "next": "" if wanted is None else wanted.where,
    }


def _ends(name: str, knee: Knee) -> dict[str, float | str | None]:
    return {name: knee.load, f"{name}_low": knee.low, f"{name}_high": knee.high}


def _star(figure: Drawing, i: int, x: float, y: float, *, first: bool) -> None:
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        name="knee",
        legendgroup="knee",
        showlegend=first,
        marker={**marker(ORANGE, "star", 17), "line": {"width": 2, "color": PALETTE[i % len(PALETTE)]}},
        hovertemplate="knee<br>%{x:.4g}<br>%{y:.4g}<extra></extra>",
    )


def _knee_caption(knees: list[Knee]) -> str:
    text = "The load grows along each curve."
    if not knees:
        return f"{text} These points determine no sharp knee."
    kind = knees[0].definition.rstrip(".")
    return (
        f"{text} A star is a knee ({kind}). It lies on the curve of the device model fitted to all points, which need "
        f"not pass through each of them; intervals are {100 * LEVEL:g} %."
    )


def _load_caption(measured: MeasuredData, what: str) -> str:
    return {
        "queue_depth": {
            "throughput": "Each doubling of the depth doubles the throughput until the device has no more to give.",
            "latency": "Flat while the device takes requests in parallel; past the knee each waits for others.",
        },
        "injected_delay": {
            "bandwidth": "The loading threads pause longer to the right, and so ask for less.",
            "latency": "With long delays the memory is idle and an access takes its idle latency.",
        },
        "arrival_rate": {"latency": "Requests arrive by themselves, whether or not the device has done with the last."},
    }.get(measured.load_kind, {}).get(what, "") + _bars_caption(measured)


def _bars_caption(measured: MeasuredData) -> str:
    repeated = (measured.table["repeats"] > 1).any()
    return f" Bars: {100 * repeats.LEVEL:g} % intervals over repeats." if repeated else ""


def _shortened(rows: pd.DataFrame) -> str:
    count = rows["series"].nunique()
    return f" The first {MOST_LINES} of {count} curves are drawn." if count > MOST_LINES else ""


def baseline(measured: MeasuredData) -> list[View]:
    """One request at a time: mean, deviation and percentiles of each workload."""
    table = measured.table
    known = [c for c in ("latency_sd_s", "latency_p95_s", "latency_p99_s") if measured.known(c)]
    rows = table[(table["load"] == 1) & table["latency_s"].notna()] if known else table.head(0)
    rows = rows[rows[known].notna().any(axis=1)]
    if not 0 < len(rows) <= MOST_WORKLOADS or not measured.load_type.is_closed:
        return []
    columns = {"latency_s": "mean"} | {c: PERCENTILES[c] for c in known if c in PERCENTILES}
    axis = latency_axis(rows["latency_s"].to_numpy(float))
    shown_table = rows[columns_of(measured, "series")]
    return [
        View(
            "baseline",
            "baseline",
            "Baseline: one request at a time",
            "The latency of a lone request, the device idle before it." + _bars_caption(measured),
            shown_table,
            bars(rows, "series", columns, axis),
            shown(shown_table),
        )
    ]


def tails(measured: MeasuredData) -> list[View]:
    """Percentiles against the load, a figure for each of the first curves, and the table of all."""
    known = [c for c in PERCENTILES if measured.known(c)]
    rows = curves(measured)
    rows = rows[rows[known].notna().any(axis=1)] if known else rows.head(0)
    if rows.empty or not {"latency_p99_s", "latency_p999_s"} & set(known):
        return []
    views = []
    scale = load_scale(measured)
    labels = {c: PERCENTILES[c] for c in known}
    if rows["latency_s"].notna().any():
        labels = {"latency_s": "mean", **labels}
    for number, (series, group) in enumerate(rows.groupby("series", sort=False), 1):
        if number > MOST_TAILS:
            break
        values = group[list(labels)].to_numpy(float)
        views.append(
            View(
                "tails",
                f"tails-{number}",
                f"Tail latency: {series}",
                "1 request in 100 takes longer than p99, 1 in 1000 longer than p99.9." + _bars_caption(measured),
                group[["series", "load", *with_ends(measured, list(labels))]],
                several_lines(group, "load", labels, scale, latency_axis(values[np.isfinite(values)])),
            )
        )
    table = rows[["series", "load", *with_ends(measured, list(labels))]]
    views.append(
        View(
            "tails",
            "tail-table",
            "Tail table",
            f"Percentiles of the latency.{_bars_caption(measured)}",
            table,
            None,
            text_of(measured, table, {"latency_s": "mean"}),
        )
    )
    return views
