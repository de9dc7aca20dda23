"""Predicted curves: throughput and response time at given loads, each with its band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.inference.weights import quantiles
from calibrate.models.calibration import Calibration, is_open
from calibrate.models.closed_models import DECLINE_FROM, ClosedModel
from measure.errors import DataError
from measure.loads import ArrivalRate, Bandwidth, Clients, ClosedLoad, CountedLoad, InjectedDelay, Load, ThroughputLoad
from measure.units import CACHE_LINE_BYTES, counted, format_bandwidth, format_duration, with_interval
from qsim.result import Result
from qsim.text_table import table, without_empty

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

BEYOND = 1.001
"""Relative tolerance above the highest bandwidth."""

SHOWN = 5
"""The most loads in a short text."""


@dataclass(frozen=True, repr=False)
class Prediction(Result):
    """Predictions at ``load`` (m,): medians and the ends of the band for a new point, repeated as often as the known.

    The band covers the parameters' uncertainty, the model's own misfit, and the noise of a point where repeats or
    counts tell it, with probability ``level``. All three are quantiles of the same distribution: an estimate lies in
    its band. ``p99_s`` and its ends are simulated, where asked for (``calibrate.with_p99``). ``notes`` are what it
    assumes, ``doubts`` what speaks against it.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> curve = drive.predict([1, 8, 64])
    >>> [round(x) for x in curve.throughput_per_s]
    [12545, 96399, 510991]
    >>> curve.to_frame().shape
    (3, 7)
    """

    load: Array
    throughput_per_s: Array
    throughput_low_per_s: Array
    throughput_high_per_s: Array
    response_time_s: Array
    response_time_low_s: Array
    response_time_high_s: Array
    level: float
    load_type: Load
    notes: tuple[str, ...] = ()
    block_bytes: float | None = None
    p99_s: Array | None = None
    p99_low_s: Array | None = None
    p99_high_s: Array | None = None
    doubts: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per load, columns as the attributes, SI units."""
        import pandas as pd

        return pd.DataFrame(self._columns())

    def plot(self) -> Figure:
        """Throughput and response time with their bands against the load."""
        from calibrate.report.plots import prediction_figure

        return prediction_figure(self)

    def __repr__(self) -> str:
        return "\n".join([f"Prediction at {counted(len(self.load), 'load')}", *str(self).splitlines()[: SHOWN + 1]])

    def to_dicts(self) -> list[dict[str, float | None]]:
        """JSON-ready rows, SI units; None for the end of a band that is open."""
        columns = self._columns()
        return [
            {name: float(column[i]) if np.isfinite(column[i]) else None for name, column in columns.items()}
            for i in range(len(self.load))
        ]

    def throughput_band(self, i: int) -> tuple[float, float, float]:
        """The predicted throughput at a load, with the ends of its band."""
        return (
            float(self.throughput_per_s[i]),
            float(self.throughput_low_per_s[i]),
            float(self.throughput_high_per_s[i]),
        )

    def response_band(self, i: int) -> tuple[float, float, float | None]:
        """The predicted response time at a load, with the ends of its band; None where it may grow without end."""
        high = float(self.response_time_high_s[i])
        return float(self.response_time_s[i]), float(self.response_time_low_s[i]), high if np.isfinite(high) else None

    def p99_band(self, i: int) -> tuple[float, float, float | None]:
        """The simulated p99 at a load, with the ends of its band; None where it may grow without end."""
        ends = (self.p99_s, self.p99_low_s, self.p99_high_s)
        middle, low, high = (float(each[i]) for each in ends if each is not None)
        return middle, low, high if np.isfinite(high) else None

    def _columns(self) -> dict[str, Array]:
        return {name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)}

    def __str__(self) -> str:
        load, show = self.load_type, self.load_type.throughput_figure
        rows = [
            (
                load.text(n),
                "" if isinstance(load, ThroughputLoad) else with_interval(show, *self.throughput_band(i)),
                load.moved_text(self.block_bytes, self.throughput_per_s[i]),
                with_interval(format_duration, *self.response_band(i)),
                "" if self.p99_s is None else with_interval(format_duration, *self.p99_band(i)),
            )
            for i, n in enumerate(self.load)
        ]
        band = f"({100 * self.level:g} % band)"
        symbol = load.heading if isinstance(load, Clients) and load.think else load.symbol
        tail = f"P99, SIMULATED {band}"
        header = (symbol.upper(), f"{load.rate_name.upper()} {band}", "BANDWIDTH", f"RESPONSE {band}", tail)
        remarks = [f"note: {n}" for n in self.notes] + [f"warning: {d}" for d in self.doubts]
        return "\n".join([table(*without_empty(header, rows), left=0), *remarks])


def predict(fit: Calibration, at: Sequence[float] | Array) -> Prediction:
    """Throughput and response time at the loads ``at``, with bands, by a fitted (or data-sheet) model.

    ``at``: loads in the unit of the fit (outstanding requests; injected delay). Raises ValueError for a load that is
    not positive (zero is allowed for an injected delay) or not finite.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> predict(drive, [1, 8, 64]).load.tolist()
    [1.0, 8.0, 64.0]
    """
    loads = np.atleast_1d(np.asarray(at, dtype=float))
    allows_zero = isinstance(fit.load_type, InjectedDelay)
    bad = ~np.isfinite(loads) | ((loads < 0) if allows_zero else (loads <= 0))
    if loads.size == 0 or bad.any():
        what = f"{loads[bad][0]:g}" if loads.size else "an empty list"
        least = "zero or more" if allows_zero else "greater than zero"
        raise ValueError(f"cannot predict at load {what}: every load must be {least}")
    _check_reach(fit, loads)
    shares = (0.5, *fit.shares)
    if not isinstance(fit.load_type, ThroughputLoad):
        x, x_low, x_high = _throughputs(fit, loads, shares)
    else:  # throughput equals arrivals, up to the peak
        known = fit.table.moments(lambda values: fit.curve_model.curve(values, loads)[0])
        x, x_low, x_high = np.exp(quantiles(*known, fit.table.weight, shares))
    if isinstance(fit.load_type, ClosedLoad):
        r, r_low, r_high = loads / x, loads / x_high, loads / x_low  # N = X R
    else:
        r, r_low, r_high = fit.measurements(loads, "response").quantiles(shares)
        r_high = np.where(_not_served(fit, loads) > 1 - shares[2], np.inf, r_high)
    columns = (loads, x, x_low, x_high, r, r_low, r_high)
    return Prediction(*columns, fit.level, fit.load_type, _not_covered(fit, loads), fit.block_bytes)


def _not_served(fit: Calibration, loads: Array) -> Array:
    """The probability (m,) that the peak lies below each of ``loads``, where these are rates of arrivals."""
    if not isinstance(fit.load_type, ArrivalRate):
        return np.zeros(len(loads))
    served = fit.curve_model.curve(fit.table.values, loads)[0] >= loads
    return np.asarray(fit.table.weight @ ~served)


def is_own_kind(measured: Load, asked: Load) -> bool:
    """Whether a load is of the kind that was measured; depths and clients who do not think are one kind."""
    closed = all(isinstance(load, ClosedLoad) and getattr(load, "think", 0.0) == 0 for load in (measured, asked))
    return (closed and is_open(measured) == is_open(asked)) or replace(measured, values=()) == replace(asked, values=())


def _check_reach(fit: Calibration, loads: Array) -> None:
    """Raise DataError for a bandwidth above the highest measured: the peak is unknown, and errors are 70 % and more."""
    if not isinstance(fit.load_type, Bandwidth) or not fit.used:
        return
    highest = max(*fit.used, (fit.known_peak_per_s or 0.0) * CACHE_LINE_BYTES)
    if loads.max() > highest * BEYOND:
        what = "the highest calibrated on" if highest == max(fit.used) else "the known peak"
        raise DataError(
            f"{fit.series}: {format_bandwidth(float(loads.max()))} is beyond {what}, {format_bandwidth(highest)}; "
            "calibrate on a higher bandwidth"
        )


def _throughputs(fit: Calibration, loads: Array, shares: tuple[float, ...]) -> Array:
    """Quantiles (k, m) of the throughput; for services beyond the deepest load and the knee with their collapse.

    A closed curve's own median, ``shares[0]``, stays at or below the printed peak, which is sought at few loads.
    """
    found = fit.measurements(loads).quantiles(shares)
    if isinstance(fit.load_type, ClosedLoad) and isinstance(fit.curve_model, ClosedModel):
        found[0] = np.minimum(found[0], fit.asymptotes[1].estimate or np.inf)
        found[1] = np.minimum(found[1], found[0])
    if fit.collapse is not None:
        start, power = fit.collapse
        return np.asarray(found * np.minimum(start / loads, 1.0) ** power)
    if (origin := collapses_beyond(fit)) is not None and (beyond := loads > origin).any():
        from calibrate.models.collapse import SHARES, collapsing

        deeper = loads[beyond]
        found[:, beyond] = collapsing(fit.measurements(deeper).quantiles(SHARES), deeper, origin, shares)
    return found


def collapses_beyond(fit: Calibration) -> float | None:
    """The load beyond which the throughput of a service may collapse; None for a device without that hazard."""
    if not (isinstance(fit.load_type, CountedLoad) and fit.used) or _declines(fit):
        return None
    return max(*fit.used, fit.crossing or 0.0)


def _declines(fit: Calibration) -> bool:
    """Whether the fitted curve itself falls past its peak."""
    return isinstance(fit.curve_model, ClosedModel) and fit.curve_model.declines


def _not_covered(fit: Calibration, loads: Array) -> tuple[str, ...]:
    """Notes on unmeasured depths where throughput may decline."""
    load = fit.load_type
    is_service = isinstance(load, CountedLoad) and bool(fit.used)
    covered = max(fit.used) if is_service else max((*fit.used, DECLINE_FROM - 1))
    if not isinstance(load, ClosedLoad) or _declines(fit) or loads.max() <= covered:
        return ()
    if is_service:
        return (
            f"nothing is known beyond {load.at(covered)}, the most that were measured: many servers lose throughput "
            f"there, and the bands allow for it; measure {load.more}",
        )
    return (
        f"not covered beyond N = {covered:g}: many drives lose throughput there, which no shallower point foretells; "
        f"measure {load.at(loads.max())}, and the curve follows it",
    )


def grid(low: float, high: float, points: int = 72) -> Array:
    """Loads for a smooth curve: logarithmic, or linear-logarithmic from zero where ``low`` is zero."""
    if low <= 0:
        return np.concatenate([[0.0], np.geomspace(max(high / 1e4, 1e-3), high, points - 1)])
    return np.geomspace(low, high, points)
