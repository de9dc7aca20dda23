"""Every sweep in some folders, fitted, as one table; a broken file is reported and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pandas as pd

from calibrate.fitting.fit import Fit, fit
from calibrate.fleet.odd import Power, with_oddness
from calibrate.fleet.workers import spread
from calibrate.inference.parameters import how_sure
from calibrate.points import points_of
from measure.errors import DataError
from measure.loading import load
from measure.sweep import Sweep
from qsim.result import Result, shown_by

BATCH = 50
FIGURES = (
    "idle_latency_s",
    "idle_latency_low_s",
    "idle_latency_high_s",
    "peak_per_s",
    "peak_low_per_s",
    "peak_high_per_s",
    "knee",
    "knee_low",
    "knee_high",
)


@dataclass(frozen=True, repr=False)
class Fleet(Result):
    """``drives``: a row a curve, with its ``kind`` and what is ``odd`` of it; ``broken``: file -> why.

    ``curves`` holds the throughput of each row of ``drives`` at each load (NaN: not measured), ``powers`` what would
    have been found among each group of like drives.
    """

    drives: pd.DataFrame
    curves: pd.DataFrame
    powers: Sequence[Power]
    broken: Mapping[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The table of drives."""
        return self.drives

    @property
    def odd(self) -> pd.DataFrame:
        """The rows of odd drives."""
        return self.drives[self.drives["odd"] != ""]

    def plot(self) -> Any:
        """Throughput over the load against that of like drives, odd ones marked: a plotly Figure."""
        drawing = resolve_name("calibrate.report.fleet:against_like")(self)  # what knows does not import what shows
        return drawing.to_plotly()

    __repr__ = shown_by("calibrate.fleet.answer:short_text")


def fleet(
    folders: Iterable[str | Path], *, workers: int = 1, progress: Callable[[float], object] | None = None
) -> Fleet:
    """Fit every drive: each file, and each folder, in one of ``folders`` is a measurement of one.

    ``workers`` processes share the work, -1 is one a core, with the same result. Raises DataError where nothing could
    be read.
    """
    paths = [path for folder in folders for path in _entries(Path(folder))]
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    done = spread(_fitted, batches, workers=workers, progress=progress)
    rows = [row for found, _, _ in done for row in found]
    broken = {name: why for _, _, failed in done for name, why in failed}
    if not rows:
        first = next(iter(broken.items()), None)
        raise DataError(f"{first[0]}: {first[1]}" if first else "the folders are empty; name folders of sweeps")
    table = pd.DataFrame(rows).astype(dict.fromkeys(FIGURES, float))
    curves = pd.DataFrame([curve for _, found, _ in done for curve in found]).sort_index(axis=1)
    judged, powers = with_oddness(table, curves)
    return Fleet(judged, curves, powers, broken)


def _entries(folder: Path) -> Iterator[Path]:
    """The measurements in a folder; a file, or a sweep directory, is one itself."""
    if not folder.exists():
        raise DataError(f"{folder} does not exist; check the name")
    if folder.is_file() or (folder / "sweep.json").exists():
        yield folder
        return
    yield from sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _fitted(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], list[Mapping[float, float]], list[tuple[str, str]]]:
    """The rows of some measurements, their throughputs by load, and why others could not be read or fitted."""
    rows, broken = [], []
    curves: list[Mapping[float, float]] = []
    for path in paths:
        try:
            sweep = load(path)
            for name in sweep.series:
                points = points_of(sweep, name)
                rows.append({"drive": path.name, "series": name, **make_of(sweep), **_row(fit(sweep, series=name))})
                rows[-1]["source"] = str(path)
                curves.append(dict(zip(points.load.tolist(), points.throughput_per_s.tolist(), strict=True)))
        except (DataError, OSError) as error:
            broken.append((str(path), str(error)))
    return rows, curves, broken


def make_of(sweep: Sweep) -> dict[str, str]:
    """The ``model`` and the ``firmware`` of the drive, as far as the measurement knows them."""
    details = sweep.provenance.details
    storage = details.get("storage") or {}
    names = (details.get("model"), storage.get("model"), storage.get("device"), sweep.provenance.device)
    return {"model": str(next(filter(None, names), "")), "firmware": str(details.get("firmware") or "")}


def _row(made: Fit) -> dict[str, Any]:
    idle, peak = (made.curve_parameters.get(name) for name in ("R1", "Xmax"))
    if idle is None or peak is None:
        raise DataError(f"{made.series} is no curve over requests outstanding, which a fleet is compared by")
    figures = (e for one in (idle, peak) for e in (one.estimate, one.low, one.high))
    knee = (made.knee.load, made.knee.low, made.knee.high)
    sure = all(how_sure(e.identified, e.low, e.high) == "sure" for e in (idle, peak))
    return {"points": len(made.used), **dict(zip(FIGURES, (*figures, *knee), strict=True)), "sure": sure}
