"""The devices that ``qsim compare`` was given: where each is read from, and how its curves are predicted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import calibrate
import measure
from calibrate.cli.calibration.tails import simulated_tails
from calibrate.cli.console import warn
from calibrate.cli.data import DataSource, known_series, of_each
from calibrate.cli.failures import wrong_usage
from calibrate.cli.fit_files import read_fits
from measure.text_files import read_head

if TYPE_CHECKING:
    from calibrate import Comparison, SealedPrediction, Tails


@dataclass(frozen=True)
class Device:
    """One device: its sweep, the curves that were compared, why others could not be, and their tails."""

    sweep: measure.Sweep
    names: tuple[str, ...]
    comparisons: Sequence[Comparison]
    refused: Mapping[str, str]
    tails: Mapping[str, Tails]


def sources_of(
    data: Sequence[str], datasets: Sequence[str], columns: str | None, *, together: bool
) -> list[DataSource]:
    """Where each device is read from: every dataset, every directory, and every file that holds a curve of its own.

    Files of single points, as fio writes them, are one device together, and so is all DATA with ``together``.
    """
    published = [DataSource((), name, None if data else columns) for name in datasets]
    if together and len(published) + bool(data) > 1:
        raise wrong_usage("--prediction is compared with one DATA or --dataset; name one")
    if together or len(data) < 2:
        return [DataSource(data, None, columns), *published] if data or not published else published
    return [*_apart(data, columns), *published]


def _apart(data: Sequence[str], columns: str | None) -> list[DataSource]:
    """Directories each by itself, and files so where each holds a curve."""
    files = [name for name in data if not Path(name).is_dir()]
    each = [DataSource([name], None, columns) for name in files]
    if len(each) > 1 and not all(_is_curve(source) for source in each):
        each = [DataSource(files, None, columns)]
    sources = {source.data[0]: source for source in each}
    sources |= {name: DataSource([name], None, columns) for name in data if name not in files}
    return [sources[name] for name in data if name in sources]


def _is_curve(source: DataSource) -> bool:
    """Whether the file holds several loads of one curve; one that cannot be read alone does not."""
    try:
        points = source.load().points
    except measure.DataError:
        return False
    return int(points.groupby("series")["load"].nunique().max()) > 1


def short_names(sources: Sequence[DataSource]) -> list[str]:
    """A name for each device: the last part of its path where these differ, else the path as typed."""
    last = [s.name if s.dataset or len(s.data) > 1 else os.path.basename(s.name.rstrip("/")) or s.name for s in sources]
    return last if len(set(last)) == len(last) else [s.name for s in sources]


def calibrated_device(
    source: DataSource, name: str, series: str | None, use: Sequence[float] | None, model: str | None
) -> Device:
    """Every curve of one device, calibrated on some of its points; errors name the device unless that is empty."""
    sweep = source.load()
    names = known_series(sweep.series, series, name)

    def compared(curve: str) -> Comparison:
        loads = calibrate.points_of(sweep, curve).load.tolist() if use == () else use
        return calibrate.compare(sweep, loads, series=curve, model=model)

    try:
        found, refused = of_each(names, compared)
    except measure.DataError as error:
        raise measure.DataError(f"{name}: {error}" if name else str(error)) from error
    tails = simulated_tails([(c.fit, n, None) for n, c in found.items()], sweep)
    return Device(sweep, names, [*found.values()], refused, tails)


def predicted_device(
    source: DataSource, series: str | None, prediction: Path
) -> tuple[Device, SealedPrediction | None]:
    """Every curve of one device against the fit of its name in a file, and the seal; a lone fit is compared with all.

    Points that a sealed prediction was made from are left out. DataError where that leaves none.
    """
    from calibrate.sealing.sealed_prediction import SCHEMA

    sweep = source.load()
    names = known_series(sweep.series, series)
    seal = calibrate.read_seal(prediction) if f'"{SCHEMA}"' in read_head(prediction) else None
    if seal is not None:
        sweep = _unseen(seal, sweep, names)
        names = tuple(n for n in names if n in sweep.series)
    fits = {f.series: f for f in (read_fits(prediction) if seal is None else seal.fits)}
    only = next(iter(fits.values())) if len(fits) == 1 else None

    def compared(curve: str) -> Comparison:
        fitted = fits.get(curve, only)
        if fitted is None:
            raise measure.DataError(f"{curve}: {prediction} has no fit of this name; it has: {', '.join(fits)}")
        return calibrate.compare(sweep, series=curve, fitted=fitted)

    found, refused = of_each(names, compared)
    tails = simulated_tails([(c.fit, n, None) for n, c in found.items()] if seal is None else [], sweep)
    return Device(sweep, names, [*found.values()], refused, tails), seal


def _unseen(seal: SealedPrediction, sweep: measure.Sweep, names: Sequence[str]) -> measure.Sweep:
    """The points that the sealed prediction did not have; a warning says what may have been known."""
    from calibrate.sealing.sealed_prediction import doubt_of, unseen

    rows = sweep.points[sweep.points["series"].isin(list(names))]
    fresh = unseen(seal, replace(sweep, points=rows))
    if left_out := len(rows) - len(fresh.points):
        warn(f"{left_out} of {len(rows)} points were used in the sealed prediction and are left out")
    if doubt := doubt_of(seal, fresh):
        warn(doubt)
    return fresh
