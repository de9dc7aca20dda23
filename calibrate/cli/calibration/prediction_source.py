"""Fits of points, in a file or of a data sheet: what ``qsim fit`` keeps and ``qsim predict`` predicts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import warn
from calibrate.cli.data import DataSource, check_peak, check_use, known_series, of_each, tell, tell_findings
from calibrate.cli.failures import wrong_usage
from measure.units import format_duration

if TYPE_CHECKING:
    from calibrate import Fit
    from measure import Sweep

MOST_OUTSTANDING = 1e5
"""No device is known to take so many requests at once; a time without its unit asks for as many."""


@dataclass(frozen=True)
class Basis:
    """The fits that predict, and the sweep that they were calibrated on just now (None: it is not at hand)."""

    fits: list[Fit]
    sweep: Sweep | None = None


@dataclass(frozen=True)
class Sheet:
    """The figures of a data sheet, as typed; None where one was left out."""

    idle_latency: float | None
    peak_iops: float | None
    sharpness: float | None

    def given(self) -> list[str]:
        """The options that were typed."""
        named = {"--idle-latency": self.idle_latency, "--peak-iops": self.peak_iops, "--sharpness": self.sharpness}
        return [name for name, value in named.items() if value is not None]

    def fit(self) -> Fit:
        """The device that the sheet describes. CommandError where a figure is missing."""
        from calibrate.fitting.curve_fit import from_datasheet

        for name, value in (("--idle-latency", self.idle_latency), ("--peak-iops", self.peak_iops)):
            if value is None:
                raise wrong_usage(f"a data sheet needs {name} too, as --idle-latency 80us --peak-iops 600k")
        assert self.idle_latency is not None  # noqa: S101  (seen above; this tells the type checker)
        assert self.peak_iops is not None  # noqa: S101
        if self.idle_latency * self.peak_iops > MOST_OUTSTANDING:
            warn(
                f"the sheet asks for {self.idle_latency * self.peak_iops:.3g} outstanding requests; is an idle latency "
                f"of {format_duration(self.idle_latency)} meant? Write it with its unit, as --idle-latency 80us"
            )
        if self.sharpness is None:
            return from_datasheet(self.idle_latency, self.peak_iops)
        return from_datasheet(self.idle_latency, self.peak_iops, sharpness=self.sharpness)


def basis(
    data: Sequence[str],
    dataset: str | None,
    columns: str | None,
    sheet: Sheet,
    series: str | None,
    calibration: Mapping[str, Any],
) -> Basis:
    """The fits to predict from. ``calibration`` are the options that need points: --use, --model, --level, --peak.

    CommandError for what does not go together; what loading and fitting raise.
    """
    if dataset is not None or columns is not None or _measured(data, calibration):
        source = DataSource(data, dataset, columns)
        given = sheet.given()
        if given and given != ["--peak-iops"]:
            raise wrong_usage(
                f"{given[0]} is of a data sheet, and DATA is measured: predict from one of them (only --peak-iops goes "
                "with measured points, as --use 1 --peak-iops 600k)"
            )
        return _calibrated(source, series, sheet.peak_iops, calibration)
    if data and sheet.given():
        raise wrong_usage(
            f"FIT and {sheet.given()[0]} were both given: predict from a fit or from a data sheet, not from both"
        )
    if data:
        return Basis(_fits(Path(data[0]), series))
    if not sheet.given():
        raise wrong_usage("nothing to predict from; give FIT (a file of qsim fit), or --idle-latency and --peak-iops")
    if series is not None:
        raise wrong_usage("--series chooses a fit of FIT; a data sheet has one curve")
    return Basis([sheet.fit()])


def _measured(data: Sequence[str], calibration: Mapping[str, Any]) -> bool:
    from measure.text_files import read_head

    if len(data) > 1 or any(value is not None for value in calibration.values()):
        return True
    paths = [Path(name) for name in data]
    return any(
        path.is_dir() or path.suffix.lower() in (".csv", ".txt") or '"fio version"' in read_head(path) for path in paths
    )


def _calibrated(
    source: DataSource, series: str | None, peak_iops: float | None, calibration: Mapping[str, Any]
) -> Basis:
    """The fits of every curve, or of the one named, each with what it was calibrated on; of one point with a peak."""
    use, model, level, peak = (calibration[o] for o in ("--use", "--model", "--level", "--peak"))
    if peak is not None and peak_iops is not None:
        raise wrong_usage("--peak is a memory's and --peak-iops a drive's; give one of them")
    made = calibrated(source, series, use, model, level, peak, peak_iops=peak_iops)
    made.tell("not predicted")
    return Basis(made.fits, made.sweep)


@dataclass(frozen=True)
class Calibrated:
    """The fits of the curves of a sweep, and why others have none."""

    sweep: Sweep
    names: Sequence[str]
    fits: list[Fit]
    refused: Mapping[str, str]

    def tell(self, refusal: str) -> None:
        """What the importer noticed, what speaks against the fits, and which curves have none, on stderr."""
        from calibrate.fitting.fit_warnings import doubts_about

        tell_findings(self.sweep, self.names)
        tell([doubt for f in self.fits for doubt in doubts_about(f, self.sweep)])
        for reason in self.refused.values():
            warn(f"{refusal}: {reason}")


def calibrated(
    source: DataSource,
    series: str | None,
    use: Sequence[float] | None,
    model: str | None,
    level: float | None,
    peak: float | None,
    *,
    peak_iops: float | None = None,
    delay_s: tuple[float, float] | None = None,
) -> Calibrated:
    """Load, and fit every curve or the one named. CommandError for what does not go together; DataError without a fit.

    ``peak`` is the bandwidth of a memory, ``peak_iops`` the peak of a drive of which one point was measured.
    """
    sweep = source.load()
    names = known_series(sweep, series)
    check_use(sweep, names, use)
    check_peak(sweep, peak)

    from calibrate.fitting.curve_fit import LEVEL, fit
    from calibrate.fitting.origin import with_origin

    options: dict[str, Any] = {
        "model": model,
        "level": LEVEL if level is None else level,
        "delay_s": delay_s,
        "peak_per_s": peak if peak is not None else peak_iops,
    }
    fits, refused = of_each(names, lambda name: with_origin(fit(sweep, use or None, series=name, **options), sweep))
    return Calibrated(sweep, names, [*fits.values()], refused)


def _fits(path: Path, series: str | None) -> list[Fit]:
    from calibrate.cli.fit_files import read_fits

    fits = read_fits(path)
    if series is not None and series not in [f.series for f in fits]:
        raise wrong_usage(f"--series: {parsing.not_one_of(series, [f.series for f in fits])}")
    return fits
