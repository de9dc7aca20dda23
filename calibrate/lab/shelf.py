"""Everything that can be compared, read once and kept until it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
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
    """One curve of a source: ``identity`` names it on the page, ``label`` in words; arrays in SI units, by load."""

    identity: str
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
    _kept: OrderedDict[object, Future[Any]] = field(default_factory=OrderedDict)

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
        for number, (series, group) in enumerate(rows.groupby("series", sort=False)):
            ordered = group.sort_values("load")
            if ordered["load"].nunique() < 2:
                continue
            columns = ("load", "throughput_per_s", "bandwidth_bytes_per_s", "latency_s")
            values = [ordered[c].to_numpy(float) for c in columns]
            found.append(
                ShelfCurve(
                    f"{source.identity}/{number}",
                    f"{source.short}: {series}",
                    source,
                    str(series),
                    table.sweep.load_kind,
                    *values,
                )
            )
        return found

    def fitted(self, curve: ShelfCurve) -> Fit:
        """The model calibrated on all points of a curve. DataError where it has too few, or of the wrong kind."""

        from calibrate.fitting.curve_fit import fit

        def calibrate() -> Fit:
            sweep = curve.source.load().select(curve.series)
            return fit(sweep, sorted({float(n) for n in sweep.points["load"]}))

        return self._once(("fit", curve.identity, curve.source.changed_ns()), calibrate)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        """What ``make`` gives, kept under ``key``; browsers that ask for the same at once wait for one answer."""
        with self._lock:
            asked = self._kept.get(key)
            answer: Future[Any] = asked if asked is not None else Future()
            self._kept[key] = answer
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if asked is None:
            try:
                answer.set_result(make())
            except Exception as error:  # noqa: BLE001 - handed on to all who wait
                with self._lock:
                    self._kept.pop(key, None)  # it may go well another time
                answer.set_exception(error)
        return cast(T, answer.result())
