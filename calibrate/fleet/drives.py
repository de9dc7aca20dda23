"""Every sweep in some folders, fitted, as one table; a broken file is reported and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import theilslopes

from calibrate.fitting.curve_fit import fit
from calibrate.fitting.fit import Fit
from calibrate.fleet.odd import FALSE_ALARMS, Power, with_oddness
from calibrate.fleet.workers import spread
from calibrate.inference.parameters import how_sure
from calibrate.points import points_of
from measure.errors import DataError
from measure.loading import load
from measure.sweep import Sweep
from qsim.result import Result, shown_by

BATCH = 50
LEAST_TIMES = 5
"""Measurements of a drive for a slope over time at least."""
DRIFT_LEVEL = 0.99
MONTH_DAYS = 30.0
COLUMNS = (
    "drive",
    "series",
    "model",
    "firmware",
    "measured_at",
    "points",
    "idle_latency_s",
    "idle_latency_low_s",
    "idle_latency_high_s",
    "peak_per_s",
    "peak_low_per_s",
    "peak_high_per_s",
    "knee",
    "knee_low",
    "knee_high",
    "sure",
    "source",
)
Facts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, repr=False)
class Fleet(Result):
    """``drives``: a row a curve (``COLUMNS``, ``kind``, ``odd``); ``drifting``: what moved; ``broken``: file -> why.

    ``curves`` holds the throughput of each row of ``drives`` at each load (NaN: not measured), ``powers`` what would
    have been found among each group of like drives.
    """

    drives: pd.DataFrame
    curves: pd.DataFrame
    powers: Sequence[Power]
    drifting: pd.DataFrame
    broken: Mapping[str, str]
    false_alarms: float

    def to_frame(self) -> pd.DataFrame:
        """The table of drives."""
        return self.drives

    @property
    def odd(self) -> pd.DataFrame:
        """The rows of odd drives."""
        return self.drives[self.drives["odd"] != ""]

    def plot(self) -> Any:
        """Throughput over the load against that of like drives, odd ones marked: a plotly Figure."""
        return resolve_name("calibrate.report.fleet:against_like")(
            self
        ).to_plotly()  # what knows does not import what shows

    __repr__ = shown_by("calibrate.fleet.answer:short_text")


def fleet(
    folders: Iterable[str | Path],
    *,
    inventory: Facts | None = None,
    false_alarms: float = FALSE_ALARMS,
    workers: int = 1,
    progress: Callable[[float], object] | None = None,
) -> Fleet:
    """Fit every drive: each file, and each folder, in one of ``folders`` is a measurement of one.

    ``inventory`` tells of a file or folder, by its name, which ``drive`` it is of, its ``model`` and ``firmware`` and
    when it was ``measured_at`` (ISO 8601); what it does not tell comes from the measurement itself where that knows.
    ``workers`` processes share the work, -1 is one a core, with the same result. Raises DataError where nothing could
    be read, or a ``measured_at`` is no date.
    """
    _check_dates(inventory or {})
    paths = [path for folder in folders for path in _entries(Path(folder))]
    batches = [(paths[i : i + BATCH], inventory or {}) for i in range(0, len(paths), BATCH)]
    done = spread(_fitted, batches, workers=workers, progress=progress)
    rows = [row for found, _, _ in done for row in found]
    broken = {name: why for _, _, failed in done for name, why in failed}
    if not rows:
        first = next(iter(broken.items()), None)
        raise DataError(f"{first[0]}: {first[1]}" if first else "the folders are empty; name folders of sweeps")
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"drive": str})
    curves = pd.DataFrame([curve for _, found, _ in done for curve in found]).sort_index(axis=1)
    judged, powers = with_oddness(table, curves, false_alarms)
    return Fleet(judged, curves, powers, drifts(table), broken, false_alarms)


def _check_dates(inventory: Facts) -> None:
    for name, facts in inventory.items():
        text = facts.get("measured_at")
        if text and pd.isna(pd.to_datetime(text, format="ISO8601", utc=True, errors="coerce")):
            raise DataError(f"inventory, {name}: measured_at {text!r} is not a date; write it like 2026-03-01")


def _entries(folder: Path) -> Iterator[Path]:
    """The measurements in a folder; a file, or a sweep directory, is one itself."""
    if not folder.exists():
        raise DataError(f"{folder} does not exist; check the name")
    if folder.is_file() or (folder / "sweep.json").exists():
        yield folder
        return
    yield from sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _fitted(
    batch: tuple[Sequence[Path], Facts],
) -> tuple[list[tuple[Any, ...]], list[Mapping[float, float]], list[tuple[str, str]]]:
    """The rows of some measurements, their throughputs by load, and why others could not be read or fitted."""
    rows, broken = [], []
    curves: list[Mapping[float, float]] = []
    for path in batch[0]:
        try:
            sweep = load(path)
            facts = _facts(path, sweep, batch[1])
            for name in sweep.series:
                points = points_of(sweep, name)
                rows.append((facts["drive"], name, *_row(fit(sweep, series=name), facts), str(path)))
                curves.append(dict(zip(points.load.tolist(), points.throughput_per_s.tolist(), strict=True)))
        except (DataError, OSError) as error:
            broken.append((str(path), str(error)))
    return rows, curves, broken


def _facts(path: Path, sweep: Sweep, inventory: Facts) -> Mapping[str, str]:
    details = sweep.provenance.details
    storage = details.get("storage") or {}
    names = (details.get("model"), storage.get("model"), storage.get("device"), sweep.provenance.device)
    own = {
        "drive": path.name,
        "model": str(next(filter(None, names), "")),
        "firmware": str(details.get("firmware") or ""),
        "measured_at": sweep.provenance.started_at,
    }
    return {**own, **{k: v for k, v in inventory.get(path.name, {}).items() if v}}


def _row(made: Fit, facts: Mapping[str, str]) -> tuple[Any, ...]:
    idle, peak = (made.curve_parameters.get(name) for name in ("R1", "Xmax"))
    if idle is None or peak is None:
        raise DataError(f"{made.series} is no curve over requests outstanding, which a fleet is compared by")
    knee = made.knee
    sure = all(how_sure(e.identified, e.low, e.high) == "sure" for e in (idle, peak))
    nothing = np.nan
    return (
        facts["model"],
        facts["firmware"],
        facts["measured_at"],
        len(made.used),
        *(nothing if v is None else v for e in (idle, peak) for v in (e.estimate, e.low, e.high)),
        *(nothing if v is None else v for v in (knee.load, knee.low, knee.high)),
        sure,
    )


def drifts(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each drive and quantity that drifts: the share by which it changes a month, low and high.

    Of each drive's idle latency and peak the median of all slopes between two times (Theil-Sen), with the interval of
    Sen (JASA 1968), where that does not hold 0. The level is 99 %, for there are many drives.
    """
    when = pd.to_datetime(table["measured_at"].replace("", None), format="ISO8601", utc=True, errors="coerce")
    timed = table.assign(day=(when - when.min()).dt.total_seconds() / 86400).dropna(subset=["day"])
    rows = []
    for (drive, series), group in timed.groupby(["drive", "series"], sort=False):
        if len(group) < LEAST_TIMES or group["day"].nunique() < LEAST_TIMES:
            continue
        for name in ("idle_latency_s", "peak_per_s"):
            slope, _, low, high = theilslopes(np.log(group[name]), group["day"], alpha=DRIFT_LEVEL)
            if low > 0 or high < 0:
                rows.append((drive, series, name, len(group), *(np.expm1(MONTH_DAYS * s) for s in (slope, low, high))))
    return pd.DataFrame(rows, columns=["drive", "series", "quantity", "measurements", "a_month", "low", "high"])
