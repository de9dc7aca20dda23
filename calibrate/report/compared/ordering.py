"""Residuals in the order in which they were measured: does a miss foretell the next one?

Misses that go together in time are drift (a drive that fills its write cache, a host that gets warm, a neighbour on the
same machine), or a model of the wrong shape, whose misses at neighbouring loads are alike. So where every load was
measured in several rounds, the mean miss of its load is taken off each run first, and the shape of the model does not
count. Where each load was measured at one time only, in order, the two cannot be told apart, and the page says so. Each
run counts by itself, repeats are not averaged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array, Mask
from calibrate.prediction.comparison import Comparison
from calibrate.report.compared.residuals import MISS, TITLE, add_noise_floor, missed
from calibrate.report.drawing import BLUE, GREY, RED, Drawing, by_use, dashed, empty_figure, outlined

FEWEST = 8
"""Runs without which an autocorrelation tells nothing."""

MOST_LAGS = 10
IN_ORDER = 0.9
"""A rank correlation of load and time beyond which the loads were measured in order."""


@dataclass(frozen=True)
class Ordered:
    """Runs in the order of time: ``minutes`` since the first (m,), loads (m,), residuals in percent (m,) of ``what``.

    ``autocorrelation`` (k,) at lags 1 to k; independent misses stay within ``bound`` (a 95 % interval, 1.96 / sqrt(m)).
    ``p_value`` is Ljung and Box's (Biometrika 1978): how often independent misses go together as much as these.
    ``about_means`` is whether the mean miss of its load was taken off each run.
    """

    what: str
    colour: str
    minutes: Array
    load: Array
    held_out: Mask
    residual_pct: Array
    autocorrelation: Array
    bound: float
    p_value: float
    in_order: bool
    about_means: bool

    def sentence(self) -> str:
        """What the autocorrelation says."""
        first, n = float(self.autocorrelation[0]), len(self.minutes)
        test = f"Ljung-Box p = {self.p_value:.2g}" if self.p_value >= 0.001 else "Ljung-Box p < 0.001"
        found = (
            f"Neighbours in time are correlated by {first:.2f} ({n} runs; independent ones would stay within "
            f"±{self.bound:.2f}; {test}{'; the mean miss of each load taken off' if self.about_means else ''})"
        )
        if self.p_value >= 0.05:
            return f"{found}: nothing speaks against independent misses."
        if self.in_order:
            return (
                f"{found}: the misses go together. The loads were measured in their order, so it may be drift or the "
                "wrong shape of the model; measured in another order, the two can be told apart."
            )
        return f"{found}: the misses go together in time, which is drift of the device or of its host."


def ordered(comparison: Comparison, runs: pd.DataFrame) -> Ordered | None:
    """The runs of this curve in the order of their starts; None where too few of them tell when they began."""
    if runs["started_at"].notna().sum() < FEWEST:
        return None
    started = pd.to_datetime(runs["started_at"], errors="coerce", utc=True, format="ISO8601")
    rows = runs.assign(started=started).dropna(subset=["started"]).sort_values("started", kind="stable")
    if len(rows) < FEWEST or rows["started"].nunique() < len(rows):
        return None
    from scipy.stats import spearmanr
    from statsmodels.stats.diagnostic import acorr_ljungbox
    from statsmodels.tsa.stattools import acf

    one = missed(comparison)[0]
    points, load = comparison.points, rows["load"].to_numpy(float)
    place = np.abs(points.load[None, :] - load[:, None]).argmin(axis=1)
    column = "throughput_per_s" if one.name == "throughput" else "latency_s"
    residual = 100 * (one.predicted[place] / rows[column].to_numpy(float) - 1)
    if float(residual.std()) == 0:
        return None
    in_order = len(set(load)) > 2 and abs(float(spearmanr(load, np.arange(len(load))).statistic)) > IN_ORDER
    counts = np.bincount(place)
    about_means = not in_order and bool((counts[counts > 0] > 1).all())
    lags = min(MOST_LAGS, len(rows) // 2 - 1)
    series = residual
    if about_means:
        sums = np.bincount(place, weights=residual)
        series = residual - (sums / np.maximum(counts, 1))[place]
        lags = max(1, min(lags, int((counts > 0).sum()) - 1))  # a load's own runs balance each other
    found = acf(series, nlags=lags, fft=False)[1:]
    tested = min(lags, max(1, len(rows) // 5))
    return Ordered(
        one.name,
        one.colour,
        (rows["started"] - rows["started"].iloc[0]).dt.total_seconds().to_numpy(float) / 60,
        load,
        comparison.held_out[place],
        residual,
        np.asarray(found),
        float(1.96 / np.sqrt(len(rows))),
        float(acorr_ljungbox(series, lags=[tested])["lb_pvalue"].iloc[0]),
        bool(in_order),
        about_means,
    )


def in_time(found: Ordered, noise_pct: float | None) -> Drawing:
    """Residuals against the minutes since the first run."""
    figure = empty_figure("minutes since the first run", TITLE)
    figure.update_yaxes(rangemode="normal")
    add_noise_floor(figure, noise_pct)
    figure.add_scatter(
        x=found.minutes,
        y=found.residual_pct,
        mode="lines",
        line={"color": GREY, "width": 1},
        showlegend=False,
        hoverinfo="skip",
    )
    for mask, words, opened in by_use(found.held_out):
        figure.add_scatter(
            x=found.minutes[mask],
            y=found.residual_pct[mask],
            mode="markers",
            name=f"{found.what}, {words}",
            marker=outlined(found.colour, f"circle{opened}"),
            customdata=found.load[mask],
            hovertemplate=MISS,
        )
    return figure


def autocorrelation(found: Ordered) -> Drawing:
    """The autocorrelation at each lag, with the interval of independent misses."""
    figure = empty_figure("lag (runs)", "autocorrelation of the residuals")
    lags = np.arange(1, len(found.autocorrelation) + 1)
    outside = np.abs(found.autocorrelation) > found.bound
    figure.add_bar(
        x=lags,
        y=found.autocorrelation,
        width=0.4,
        marker={"color": np.where(outside, RED, BLUE)},
        showlegend=False,
        hovertemplate="lag %{x}: %{y:.2f}<extra></extra>",
    )
    for bound in (found.bound, -found.bound):
        figure.add_level(bound, dashed())
    figure.add_to_legend("95 % of independent misses lie inside", dashed())
    figure.update_xaxes(dtick=1, rangemode="normal")
    figure.update_yaxes(range=[-1, 1])
    return figure


def ordered_table(found: Ordered) -> pd.DataFrame:
    """A row for each run, in the order of time."""
    return pd.DataFrame(
        {
            "minutes": found.minutes,
            "load": found.load,
            "held_out": found.held_out,
            f"residual_{found.what.replace(' ', '_')}_pct": found.residual_pct,
        }
    )


def autocorrelation_table(found: Ordered) -> pd.DataFrame:
    """A row for each lag."""
    lags = np.arange(1, len(found.autocorrelation) + 1)
    return pd.DataFrame({"lag": lags, "autocorrelation": found.autocorrelation, "bound": found.bound})
