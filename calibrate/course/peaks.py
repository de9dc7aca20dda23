"""What was measured beside a predicted peak: one figure for a workload, the same on every page of a course."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from calibrate.fitting.readings import ninety_among
from calibrate.prediction.comparison import Comparison
from measure.fio.points import UNDER_ARRIVALS
from measure.loads import ClosedLoad, InjectedDelay, Load
from measure.origin import judged


@dataclass(frozen=True)
class MeasuredPeak:
    """The highest throughput of a workload, and the ``load`` where it was measured.

    ``ninety`` is where 90 % of it is reached, read between the measured loads; None over delays.
    """

    series: str
    load_type: Load
    load: float
    throughput_per_s: float
    ninety: float | None

    @property
    def highest(self) -> str:
        """The throughput, of a memory the bandwidth."""
        return self.load_type.throughput_figure(self.throughput_per_s)

    @property
    def place(self) -> str:
        """Where it was measured."""
        return self.load_type.at(self.load)

    def sentence(self) -> str:
        """Both readings, for a page that predicts the peak."""
        first = f"Measured, {self.series}: the highest {self.load_type.rate_name} is {self.highest}, at {self.place}"
        if self.ninety is None:
            return f"{first}."
        ninety = self.load_type.place(self.load_type.figure(self.ninety))
        return f"{first}; 90 % of it is reached at {ninety}, read between measured points."


def measured_peak(series: str, comparisons: Iterable[Comparison]) -> MeasuredPeak | None:
    """The highest measured throughput of a workload in all sweeps over a depth or a delay; None below two loads."""
    name = series.removesuffix(f" {UNDER_ARRIVALS}")
    curves = [c for c in comparisons if c.series == name and isinstance(c.points.load_type, ClosedLoad | InjectedDelay)]
    if not curves:
        return None
    load = curves[0].points.load_type
    points = pd.concat([judged(c.measured, ["load", "throughput_per_s"]) for c in curves])
    rates = points.groupby("load")["throughput_per_s"].max()
    if len(rates) < 2:
        return None
    found = rates.index.to_numpy(float), rates.to_numpy(float)
    ninety = None if isinstance(load, InjectedDelay) else ninety_among(*found)
    return MeasuredPeak(name, load, float(found[0][rates.argmax()]), float(rates.max()), ninety)
