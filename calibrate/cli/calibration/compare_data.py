"""The devices that ``qsim compare`` was given: where each is read from, and what it is held against."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrate.cli import parsing
from calibrate.cli.console import warn
from calibrate.cli.data import DataSource, check_peak, check_use, known_series, of_each
from calibrate.cli.failures import wrong_usage

if TYPE_CHECKING:
    from calibrate import Comparison, Fit
    from calibrate.sealing.sealed_prediction import SealedPrediction
    from measure import Sweep


@dataclass(frozen=True)
class Device:
    """One device: its sweep, the curves that were compared, and why others could not be."""

    name: str
    sweep: Sweep
    names: tuple[str, ...]
    done: list[Comparison]
    refused: dict[str, str]


@dataclass(frozen=True)
class Calibration:
    """How to calibrate, as typed; None leaves it to the library, and no loads (``use`` is empty) means all."""

    series: str | None
    use: Sequence[float] | None
    model: str | None
    level: float | None
    peak: float | None = None


def sources_of(
    data: Sequence[str], datasets: Sequence[str], columns: str | None, as_published: bool, *, together: bool
) -> list[DataSource]:
    """Where each device is read from: every dataset, every directory, and every file that holds a curve of its own.

    Files of single points, as fio writes them, are one device together, and so is all DATA with ``together``.
    """
    if as_published and not datasets:
        raise wrong_usage("--as-published is about datasets: files are always read as they are")
    if columns is not None and datasets and not data:
        raise wrong_usage("--columns is about CSV files: the columns of a dataset are known")
    published = [DataSource((), name, None, as_published) for name in datasets]
    if together and len(published) + bool(data) > 1:
        raise wrong_usage("--fit and --sealed are held against one DATA or --dataset; name one")
    if together or len(data) < 2:
        return [DataSource(data, None, columns), *published] if data or not published else published
    return [*_apart(data, columns), *published]


def _apart(data: Sequence[str], columns: str | None) -> list[DataSource]:
    """Directories each by itself, and files so where each holds a curve."""
    files = [name for name in data if not Path(name).is_dir()]
    each = [DataSource([name], None, columns) for name in files]
    if len(each) > 1 and not all(_is_curve(source) for source in each):
        each = [DataSource(files, None, columns)]
    directories = {name: DataSource([name], None, columns) for name in data if name not in files}
    of_files = {source.data[0]: source for source in each}
    return [({**of_files, **directories})[name] for name in data if name in of_files or name in directories]


def _is_curve(source: DataSource) -> bool:
    """Whether the file holds several loads of one curve; one that cannot be read alone does not."""
    from measure.errors import DataError

    try:
        points = source.load().points
    except DataError:
        return False
    return int(points.groupby("series")["load"].nunique().max()) > 1


def short_names(sources: Sequence[DataSource]) -> list[str]:
    """A name for each device: the last part of its path where that tells them apart, else what was typed."""
    last = [s.name if s.dataset or len(s.data) > 1 else os.path.basename(s.name.rstrip("/")) or s.name for s in sources]
    return last if len(set(last)) == len(last) else [s.name for s in sources]


def baseline_first(sources: list[DataSource], baseline: str | None) -> list[DataSource]:
    """The sources, the one named first; CommandError where none has that name."""
    if baseline is None:
        return sources
    if len(sources) < 2:
        raise wrong_usage("--baseline is about several DATA or datasets, and there is one device")
    names = short_names(sources)
    chosen = [i for i, s in enumerate(sources) if baseline.rstrip("/") in (names[i], s.name.rstrip("/"))]
    if not chosen:
        raise wrong_usage(f"--baseline: {parsing.not_one_of(baseline, names)}")
    return [sources[chosen[0]], *(s for i, s in enumerate(sources) if i != chosen[0])]


def compared(source: DataSource, name: str, chosen: Calibration, *, several: bool) -> Device:
    """Every curve of one device, calibrated on itself; ``several``: its name goes before what is wrong with it."""
    from measure.errors import DataError

    sweep = source.load()
    names = known_series(sweep, chosen.series, name if several else "")
    check_use(sweep, names, chosen.use)
    check_peak(sweep, chosen.peak)
    try:
        return Device(name, sweep, names, *_calibrated(sweep, names, chosen.use, chosen))
    except DataError as error:
        raise DataError(f"{name}: {error}" if several else str(error)) from error


def against_fits(source: DataSource, name: str, series: str | None, path: Path) -> Device:
    """Every curve of one device against the fits kept in ``path``."""
    from calibrate.cli.fit_files import read_fits

    sweep = source.load()
    names = known_series(sweep, series)
    return Device(name, sweep, names, *_held_against(sweep, names, read_fits(path), path))


def against_sealed(
    source: DataSource, name: str, series: str | None, held: SealedPrediction, path: Path, only_new: bool
) -> Device:
    """Each curve against the sealed prediction of its name; DataError where the prediction knew the data."""
    from dataclasses import replace

    from calibrate.sealing.sealed_prediction import doubt_of, unseen

    sweep = source.load()
    names = known_series(sweep, series)
    rows = sweep.points[sweep.points["series"].isin(list(names))]
    fresh = unseen(held, replace(sweep, points=rows), drop=only_new)
    if doubt := doubt_of(held, fresh):
        warn(doubt)
    here = [n for n in names if n in fresh.series]
    return Device(name, sweep, names, *_held_against(fresh, here, held.fits, path))


def _calibrated(
    sweep: Sweep, names: Sequence[str], use: Sequence[float] | None, chosen: Calibration
) -> tuple[list[Comparison], dict[str, str]]:
    from calibrate.fitting.curve_fit import LEVEL
    from calibrate.points import points_of
    from calibrate.prediction.comparison import compare, compare_all

    level = LEVEL if chosen.level is None else chosen.level
    if len(names) < len(sweep.series) or use == ():
        loads = {n: points_of(sweep, n).load.tolist() if use == () else use for n in names}
        return [
            compare(sweep, loads[n], series=n, model=chosen.model, level=level, peak_per_s=chosen.peak) for n in names
        ], {}
    return compare_all(sweep, use, model=chosen.model, level=level, peak_per_s=chosen.peak)


def _held_against(
    sweep: Sweep, names: Sequence[str], brought: Sequence[Fit], path: Path
) -> tuple[list[Comparison], dict[str, str]]:
    """Each curve against the fit of its name; where there is one fit only, it is held against every curve."""
    from calibrate.prediction.comparison import compare
    from measure.errors import DataError

    fits = {f.series: f for f in brought}
    only = next(iter(fits.values())) if len(fits) == 1 else None

    def held(name: str) -> Comparison:
        fitted = fits.get(name, only)
        if fitted is None:
            raise DataError(f"{name}: {path} has no fit of this name; it has: {', '.join(fits)}")
        return compare(sweep, series=name, fitted=fitted)

    done, refused = of_each(names, held)
    return [*done.values()], refused
