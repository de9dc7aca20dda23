"""The tails of a curve: percentiles observed and predicted at each depth, and whether to rely on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.tails.structures import Structure
from measure.units import counted, format_percent
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

QUANTILES: Mapping[str, float] = {"p50_s": 0.5, "p95_s": 0.95, "p99_s": 0.99, "p999_s": 0.999}

MISFIT = 0.06
"""Relative error of a percentile that a structure which is right for all purposes has."""

LEVEL = 0.95
"""A right prediction is called so in this share of cases."""

USEFUL_PCT = 100 * (math.sqrt(2) - 1)
"""Tails that are missed by more are not relied on, however much they scatter: no 90 % interval within a factor of 2."""

FITS = 0.5
"""Where no depth is held out, tails may be relied on whose structure is trusted more than this."""

FACTOR_PCT = 100.0
"""A larger error than this is written as a factor."""

Z90 = 1.645
"""Half the width of a 90 % interval, in standard errors."""


@dataclass(frozen=True)
class TailPoint:
    """The tails at one load: observed, predicted, the ends of 90 % intervals, by the names of ``QUANTILES``.

    >>> from calibrate import predict_tails
    >>> import numpy as np
    >>> from measure.formats.fio.latency_bins import Histogram
    >>> bins = np.linspace(60e-6, 140e-6, 9)
    >>> alone = Histogram(bins[:-1], bins[1:], np.array([2, 8, 20, 30, 20, 10, 6, 4]), "lat")
    >>> point = predict_tails({1: alone}, {1: 97e-6, 16: 400e-6}, [16], customers=2000).points[0]
    >>> point.low["p99_s"] < point.predicted["p99_s"] < point.high["p99_s"]
    True
    """

    load: float
    held_out: bool
    observed: Mapping[str, float]
    predicted: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]

    @property
    def residual_pct(self) -> dict[str, float]:
        """100 (predicted / observed - 1)."""
        return {name: 100 * (self.predicted[name] / seen - 1) for name, seen in self.observed.items()}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "residual_pct": self.residual_pct}


@dataclass(frozen=True, repr=False)
class Tails(Result):
    """Predicted and observed tails of one curve, and the structures they were predicted with: the likeliest first.

    >>> from calibrate import predict_tails
    >>> import numpy as np
    >>> from measure.formats.fio.latency_bins import Histogram
    >>> bins = np.linspace(60e-6, 140e-6, 9)
    >>> alone = Histogram(bins[:-1], bins[1:], np.array([2, 8, 20, 30, 20, 10, 6, 4]), "lat")
    >>> tails = predict_tails({1: alone}, {1: 97e-6, 16: 400e-6}, [1, 16, 64], customers=2000)
    >>> tails.to_frame()["load"].tolist()
    [1.0, 16.0, 64.0]
    """

    points: tuple[TailPoint, ...]
    structures: tuple[tuple[Structure, float], ...]
    trust: float
    """How well the likeliest structure does at the calibrated depths: 1 as well as one that is right, 0 not at all."""
    noise: float | None = None
    """By how much the p99 of one repeat differs from another's (relative standard deviation); None where unknown."""
    sampling: float | None = None
    """The relative standard error of p99 at depth 1 by the number of requests."""

    @property
    def structure(self) -> Structure:
        """The likeliest structure."""
        return self.structures[0][0]

    def median_error_pct(self, quantile: str = "p99_s", *, held_out: bool = True) -> float | None:
        """The median absolute residual of one percentile over the held-out loads (or all); None without any."""
        errors = [
            abs(p.residual_pct[quantile])
            for p in self.points
            if quantile in p.observed and (p.held_out or not held_out)
        ]
        return float(np.median(errors)) if errors else None

    def sentence(self) -> str:
        """The outcome in words: the error of p99 and whether to rely on it, how noisy it is, and the model."""
        noise = ""
        if self.noise is not None:
            noise = f" Repeats of one depth differ by {format_percent(100 * self.noise)}."
        elif self.sampling is not None:
            noise = f" Nothing was repeated; one histogram gives p99 to ±{format_percent(100 * Z90 * self.sampling)}."
        return f"{self.reliance()}.{noise} Model: {self.structure.label}."

    @property
    def limit_pct(self) -> float:
        """The median residual of p99 that a right prediction stays within, in ``LEVEL`` of cases, or ``USEFUL_PCT``.

        The p99 at each held-out depth scatters by its noise between repeats or, where nothing was repeated, by the
        number of requests, and so does that which the prediction rests on. The median of k absolute normal residuals
        is an order statistic: its share of the normal law is a beta variate.
        """
        from scipy.special import betaincinv, ndtri

        held = max(1, self._held)
        own = self.noise if self.noise is not None else self.sampling or 0.0
        reached = betaincinv((held + 1) / 2, (held + 1) / 2, LEVEL)
        log = float(ndtri((1 + reached) / 2)) * math.hypot(math.sqrt(2) * own, MISFIT)
        return min(100 * math.expm1(log), USEFUL_PCT)

    @property
    def _held(self) -> int:
        """The held-out depths at which p99 was observed."""
        return sum(bool(p.held_out and "p99_s" in p.observed) for p in self.points)

    def reliance(self) -> str:
        """What p99 is missed by at the held-out depths, and whether to rely on it: within ``limit_pct``."""
        error, advice = self.median_error_pct(), "rely on it" if self.reliable else "do not rely on it"
        if error is None:
            fits = "fits" if self.reliable else "does not fit"
            return f"p99 is not checked at any held-out depth; the model {fits} the calibrated ones: {advice}"
        at = "the held-out depth" if self._held == 1 else f"{self._held} held-out depths (median)"
        missed = format_percent(round(error, 1)) if error <= FACTOR_PCT else f"a factor of {1 + error / 100:.2g}"
        limit = f"{'within' if self.reliable else 'beyond'} the {format_percent(self.limit_pct)} of a right prediction"
        return f"p99 is missed by {missed} at {at}, {limit}: {advice}"

    @property
    def reliable(self) -> bool:
        """Whether p99 is missed by little at the held-out depths; without any, whether the model fits the others."""
        error = self.median_error_pct()
        return self.trust > FITS if error is None else error <= self.limit_pct

    def to_frame(self) -> pd.DataFrame:
        """A row for each depth: each percentile observed (or NaN), predicted and with its interval, seconds."""
        import pandas as pd

        rows = []
        for point in self.points:
            row: dict[str, float | bool] = {"load": point.load, "held_out": point.held_out}
            for name in QUANTILES:
                column = name.removesuffix("_s")
                row[f"{column}_observed_s"] = point.observed.get(name, np.nan)
                row[f"{column}_predicted_s"] = point.predicted[name]
                row[f"{column}_low_s"], row[f"{column}_high_s"] = point.low[name], point.high[name]
            rows.append(row)
        return pd.DataFrame(rows)

    def plot(self) -> Figure:
        """The percentiles against the depth, observed and predicted."""
        return resolve_name("calibrate.report.plots:tail_figure")(self)  # what knows does not import what shows

    def __repr__(self) -> str:
        return f"Tails at {counted(len(self.points), 'depth')}\n{self.sentence()}"

    def to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: one entry a load."""
        return [p.to_dict() for p in self.points]

    def structures_to_list(self) -> list[dict[str, Any]]:
        """JSON-ready: each structure with its weight, the likeliest first."""
        return [{**asdict(structure), "weight": weight} for structure, weight in self.structures]
