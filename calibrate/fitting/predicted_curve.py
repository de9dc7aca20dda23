"""What a fit answers: throughput and response time at given loads, each with its band, and the knee."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.parameters import Array
from measure.loads import Clients, Load, ThroughputLoad
from measure.units import counted, format_duration, with_interval
from qsim.result import Result, table, without_empty

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

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
        ends = self.throughput_low_per_s[i], self.throughput_high_per_s[i]
        return float(self.throughput_per_s[i]), float(ends[0]), float(ends[1])

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


@dataclass(frozen=True)
class Knee:
    """A knee with its interval: ``load`` is the estimate, ``low`` and ``high`` the ends of its interval.

    ``throughput_per_s`` and ``response_time_s`` are the predicted ones at that load. ``load`` is None where the knee
    is beyond any possible load; ``note`` then says so. ``identified`` is False where its interval spans more than a
    factor of two, ``sharp`` where the bend is too soft to be a knee.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> round(drive.knee.load), drive.knee.definition
    (48, 'N* = R1 Xpeak, both from the data sheet')
    """

    load: float | None
    low: float | None
    high: float | None
    throughput_per_s: float
    response_time_s: float
    definition: str
    load_name: str
    identified: bool = True
    note: str = ""
    throughput_low_per_s: float | None = None
    throughput_high_per_s: float | None = None
    sharp: bool = True

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return asdict(self)

    def place(self) -> dict[str, float | None]:
        """The load with its interval and the throughput there, JSON-ready."""
        throughput = None if self.load is None else self.throughput_per_s
        return {"load": self.load, "low": self.low, "high": self.high, "throughput_per_s": throughput}


def grid(low: float, high: float, points: int = 72) -> Array:
    """Loads for a smooth curve: logarithmic, or linear-logarithmic from zero where ``low`` is zero."""
    if low <= 0:
        return np.concatenate([[0.0], np.geomspace(max(high / 1e4, 1e-3), high, points - 1)])
    return np.geomspace(low, high, points)
