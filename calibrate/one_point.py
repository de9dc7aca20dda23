"""A closed device from a single measured point: what must be assumed, and how far that lets it be known.

One point fixes one number. The rest is assumed: the knee's sharpness p and the onset (latency of a lone request over
that of a busy device) as they are over public devices, and either the peak, from a data sheet, or the knee N*, as it is
over public devices. The point itself is then met exactly: for given N*, p and onset the throughput is in proportion to
the peak, and for a given peak there is one N* that passes through the point.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrate.curve_models import (
    ONSET_ERROR,
    ONSET_LOG_SCALE,
    ONSET_POWER,
    ONSET_SHARPNESS_LOG_SD,
    SHARPNESS_MEDIAN,
    OnsetPNorm,
)
from calibrate.estimates import LEVEL, Estimate, middle, quantity
from calibrate.fitted import KEPT_DRAWS, Fit
from calibrate.points import Points
from calibrate.posterior import Array, ErrorPrior, balanced
from measure.errors import DataError
from measure.units import format_rate

CROSSING_MEDIAN, CROSSING_LOG_SD = 4.0, 2.0
"""N* over public devices: 2 to 9 on SATA and RAID, 1 on hard disks and floppies, 66 on an NVMe drive; 18 curves have a
median of 2.6, which leans on old drives, and all lie within two of these standard deviations. What lies below 1 is 1: a
quarter of all, as it is of those curves."""

ONE_POINT_ERROR = ErrorPrior(median=2 * ONSET_ERROR.median, log_sd=ONSET_ERROR.log_sd)
"""Twice the usual error: what one point deviates from the curve is taken for the curve, and missed again elsewhere.
With it 93 % of 85 points of public sweeps lie in the 90 % bands from depth 1 alone, and 77 % without."""

UNREPEATED = 0.02
"""The relative error of a point that was measured once."""

TOLERANCE = 0.1
"""How far (relative standard deviation) a sheet's peak is from what a device reaches."""


def from_one_point(points: Points, peak_per_s: float | None = None, *, level: float = LEVEL, seed: int = 0) -> Fit:
    """The closed device through the only one of ``points``, with ``peak_per_s`` from a data sheet where it is known.

    The fit's notes say what is assumed. Raises DataError where there is not exactly one point of queue depths, or where
    its throughput is above the peak, and ValueError for a peak that is not positive.
    """
    if peak_per_s is not None and not (np.isfinite(peak_per_s) and peak_per_s > 0):
        raise ValueError(f"peak_iops must be a positive number, not {peak_per_s!r}")
    if points.load_kind != "queue_depth" or len(points) != 1:
        raise DataError(
            f"{points.series}: only a queue depth can be predicted from one point, and this is {len(points)} of the "
            f"{points.load_kind.replace('_', ' ')}; calibrate on three"
        )
    load, measured = float(points.load[0]), float(points.throughput_per_s[0])
    if peak_per_s is not None and measured >= peak_per_s:
        raise DataError(
            f"{points.series}: {format_rate(measured)} at depth {load:g} is not below the data sheet's peak, "
            f"{format_rate(peak_per_s)}; check its unit, block size and direction"
        )
    model, rng = OnsetPNorm(), np.random.default_rng(seed)
    normal = balanced(rng, KEPT_DRAWS // 2, 6)
    scatter = np.exp(normal)
    error = ONE_POINT_ERROR.median * scatter[:, 4] ** ONE_POINT_ERROR.log_sd
    noise = float(points.noise(1)[0]) or UNREPEATED
    p = SHARPNESS_MEDIAN * np.clip(scatter[:, 0] ** ONSET_SHARPNESS_LOG_SD, 0.2, 20)
    onset = np.exp(ONSET_LOG_SCALE * normal[:, 1] * np.sqrt(_mixing(rng)))
    seen = measured * np.exp(noise * normal[:, 2] + error * normal[:, 5])  # the curve need not meet the point
    if peak_per_s is None:
        crossing = np.maximum(CROSSING_MEDIAN * scatter[:, 3] ** CROSSING_LOG_SD, 1.0)
        mode = _through(load, np.array([measured]), *(np.array([v]) for v in (CROSSING_MEDIAN, SHARPNESS_MEDIAN, 1.0)))
        draws = _through(load, seen, crossing, p, onset)
        assumed = (
            f"the knee is assumed: N* near {CROSSING_MEDIAN:g}, two thirds of devices within a factor of "
            f"{np.exp(CROSSING_LOG_SD):.2g}; a data sheet's peak (--peak-iops) or a second, deep point replaces that"
        )
    else:
        peak = np.maximum(peak_per_s * scatter[:, 3] ** TOLERANCE, 1.001 * seen)
        mode = _below(load, np.array([measured]), *(np.array([v]) for v in (peak_per_s, SHARPNESS_MEDIAN, 1.0)))
        draws = _below(load, seen, peak, p, onset)
        assumed = f"the peak is that of the data sheet, assumed right to {100 * TOLERANCE:g} %, and not measured"
    made = Fit(
        model=model.name, assumption=model.assumption, load_kind="queue_depth", load_unit=points.load_unit,
        series=points.series, used=(load,), used_throughput_per_s=(measured,), used_noise=(noise,),
        used_response_s=(load / measured,), used_response_noise=(noise,), parameters={}, mode=mode[0], draws=draws,
        error_draws=error, level=level,
        notes=(*points.notes, f"one point alone, depth {load:g}: {assumed}",
               "knee sharpness and onset are assumed as they are over public devices; depths 4 and 32 would tell them"),
        source=points.source,
    )  # fmt: skip
    return replace(made, parameters=_told(made, measured_latency=load <= 1, sheet=peak_per_s is not None))


def _mixing(rng: np.random.Generator) -> Array:
    """Variances (KEPT_DRAWS + 1,) that make of normal numbers those of a sparse prior, alike for opposite ones.

    exp(-sqrt(1 + u^2)) is a normal whose variance is generalised inverse Gaussian (Barndorff-Nielsen 1977).
    """
    from scipy.stats import geninvgauss

    half = geninvgauss.rvs(1.0, 1.0, size=KEPT_DRAWS // 2, random_state=rng)
    return np.concatenate([[1.0], half, half])


def _through(load: float, seen: Array, crossing: Array, p: Array, onset: Array) -> Array:
    """Parameters (w, 4) of the curves with these knees that pass through the point."""
    unit = np.column_stack([crossing, np.ones_like(crossing), p, onset])
    share = OnsetPNorm().curve(unit, np.array([load]))[0][:, 0]
    return np.column_stack([crossing, seen / share, p, onset])


def _below(load: float, seen: Array, peak: Array, p: Array, onset: Array) -> Array:
    """Parameters (w, 4) of the curves with these peaks that pass through the point; N* is at least one."""
    below = np.expm1(-p * np.log(seen / peak)) ** (-1 / p)
    crossing = load * onset ** (-(load**-ONSET_POWER)) / below
    return np.column_stack([np.maximum(crossing, 1.0), peak, p, onset])


def _told(fit: Fit, *, measured_latency: bool, sheet: bool) -> dict[str, Estimate]:
    """The parameters with their intervals; only a latency measured at depth 1 is more than an assumption."""
    told = {}
    for name, (unit, values) in fit.curve_model.report(fit.draws).items():
        estimate, low, high = middle(values, fit.level)
        known = (name == "R1" and measured_latency) or (name == "Xmax" and sheet)
        sure = "" if name == "R1" else "from the data sheet"
        note = sure if known else f"assumed, not measured: {quantity(low, unit)} to {quantity(high, unit)}"
        told[name] = Estimate(estimate, low, high, known, unit, note)
    return told
