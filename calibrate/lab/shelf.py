"""Everything that can be compared, read once and kept until it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from calibrate.lab.folder import LabFolder, LabSource
from measure.loads import LOADS, Load

if TYPE_CHECKING:
    from calibrate.fitting.fit import Fit
    from calibrate.report.measured.points import MeasuredData

KEPT = 24
T = TypeVar("T")


@dataclass(frozen=True)
class ShelfCurve:
    """One curve of a source, ``label`` in words; arrays in SI units, by load."""

    label: str
    source: LabSource
    series: str
    load_kind: str
    load: np.ndarray[Any, np.dtype[np.float64]]
    throughput_per_s: np.ndarray[Any, np.dtype[np.float64]]
    bandwidth_bytes_per_s: np.ndarray[Any, np.dtype[np.float64]]
    latency_s: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def load_type(self) -> Load:
        """What varies."""
        return LOADS[self.load_kind]


@dataclass
class Shelf:
    """What the lab's folder and the package hold. Methods may be called by several threads."""

    folder: LabFolder
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: dict[object, object] = field(default_factory=dict)

    def measured(self, source: LabSource) -> MeasuredData:
        """The source's points, averaged and audited. DataError, StoreError where it cannot be read."""

        from calibrate.report.measured.points import measured, published

        def read() -> MeasuredData:
            return published(source.dataset) if source.dataset else measured(source.load(), source.label)

        return self._once(("measured", source.identity, source.changed_ns()), read)

    def curves(self, source: LabSource) -> list[ShelfCurve]:
        """The curves of a source, those of two points or more. DataError, StoreError where it cannot be read."""
        table = self.measured(source)
        rows = table.table.dropna(subset=["load", "throughput_per_s", "latency_s"])
        found = []
        for series, group in rows.groupby("series", sort=False):
            ordered = group.sort_values("load")
            if ordered["load"].nunique() < 2:
                continue
            columns = ("load", "throughput_per_s", "bandwidth_bytes_per_s", "latency_s")
            values = [ordered[c].to_numpy(float) for c in columns]
            label = f"{source.short}: {series}"
            found.append(ShelfCurve(label, source, str(series), table.sweep.load_kind, *values))
        return found

    def fitted(self, curve: ShelfCurve) -> Fit:
        """The model calibrated on all points of a curve. DataError where it has too few, or of the wrong kind."""

        from calibrate.fitting.fit import fit

        def calibrate() -> Fit:
            sweep = curve.source.load().select(curve.series)
            return fit(sweep, sorted({float(n) for n in sweep.points["load"]}))

        return self._once(("fit", curve.source.identity, curve.series, curve.source.changed_ns()), calibrate)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` gives, kept under ``key``; browsers that ask for the same at once wait for one answer."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
                if len(self._kept) > KEPT:
                    del self._kept[next(iter(self._kept))]
            return cast(T, self._kept[key])
