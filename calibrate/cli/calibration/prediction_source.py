"""Fits of points, in a file or of a data sheet: what ``qsim fit`` keeps and ``qsim predict`` predicts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import calibrate
import measure
from calibrate.cli import parsing
from calibrate.cli.console import warn
from calibrate.cli.data import DataSource, findings_of, known_series, of_each, print_findings
from calibrate.cli.failures import wrong_usage
from calibrate.cli.fit_files import read_fits
from measure.text_files import read_head
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Fit

MOST_OUTSTANDING = 1e5
"""More requests than any device takes at once; a time without its unit asks for more."""


@dataclass(frozen=True)
class CalibratedCurves:
    """The fits of curves, the sweep they come from (None: unknown), and why other curves have none."""

    fits: Sequence[Fit]
    sweep: measure.Sweep | None = None
    names: Sequence[str] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    def warn(self, refusal: str) -> None:
        """What the importer noticed, what speaks against the fits, and which curves have none, on stderr."""
        if self.sweep is not None:
            print_findings(findings_of(self.sweep, self.names))
            print_findings([doubt for f in self.fits for doubt in calibrate.doubts_about(f, self.sweep)])
        for reason in self.refused.values():
            warn(f"{refusal}: {reason}")


def calibrated(
    source: DataSource,
    series: str | None,
    use: Sequence[float] | None,
    model: str | None = None,
    *,
    peak_iops: float | None = None,
) -> CalibratedCurves:
    """Load, and fit every curve or the one named. CommandError for what does not go together; DataError without a fit.

    ``peak_iops`` is the peak of a drive of which one point was measured.
    """
    sweep = source.load()
    names = known_series(sweep.series, series)

    def fitted(name: str) -> Fit:
        made = calibrate.fit(sweep, use or None, series=name, model=model, peak_per_s=peak_iops)
        return calibrate.with_origin(made, sweep)

    fits, refused = of_each(names, fitted)
    return CalibratedCurves([*fits.values()], sweep, names, refused)


def fits_of(
    source: DataSource | None,
    file: Path | None,
    sheet: Sequence[float | None],
    series: str | None,
    use: parsing.Numbers | None,
) -> CalibratedCurves:
    """The fits to predict from: of measured points, of a ``file``, or of a data ``sheet`` (idle latency, peak IOPS)."""
    idle_latency, peak_iops = sheet
    if source is not None:
        made = calibrated(source, series, use, peak_iops=peak_iops)
        made.warn("not predicted")
        return made
    if file is not None:
        fits = read_fits(file)
        names = known_series([f.series for f in fits], series)
        return CalibratedCurves([f for f in fits if f.series in names])
    if idle_latency is None and peak_iops is None:
        raise wrong_usage("nothing to predict from; give FIT (a file of qsim fit), or --idle-latency and --peak-iops")
    return CalibratedCurves([datasheet_fit(idle_latency, peak_iops)])


def datasheet_fit(idle_latency: float | None, peak_iops: float | None) -> Fit:
    """The device that a data sheet describes. CommandError where a figure is missing."""
    if idle_latency is None or peak_iops is None:
        missing = "--idle-latency" if idle_latency is None else "--peak-iops"
        raise wrong_usage(f"a data sheet needs {missing} too, as --idle-latency 80us --peak-iops 600k")
    if idle_latency * peak_iops > MOST_OUTSTANDING:
        warn(
            f"the sheet asks for {idle_latency * peak_iops:.3g} outstanding requests; is an idle latency of "
            f"{format_duration(idle_latency)} meant? Write it with its unit, as --idle-latency 80us"
        )
    return calibrate.from_datasheet(idle_latency, peak_iops)


def holds_points(data: Sequence[str]) -> bool:
    """Whether DATA is measured points, and not one file of fits."""
    return len(data) > 1 or any(
        path.is_dir() or path.suffix.lower() in (".csv", ".txt") or '"fio version"' in read_head(path)
        for path in map(Path, data)
    )
