"""What speaks against a calibration: data that contradict themselves, no saturated point, repeats that disagree.

A fit is made all the same, as the data may be all there is; but nobody should learn of it from the audit alone.
"""

from __future__ import annotations

import numpy as np

from calibrate.fitting.fit import Fit
from calibrate.load_text import load_text
from calibrate.points import Points, points_of
from measure.auditing.all_checks import audit
from measure.findings import Finding
from measure.sweep import Sweep
from measure.units import format_rate

TOLD = ("no-saturated-point", "mixed-submission", "noisy-repeats", "one-bin", "misses-its-points")
"""Checks that matter to a fit, besides every error."""

UNSERVED = 0.05
"""An open device that completes less than what arrives, by more than this share, is overloaded."""


def matters(finding: Finding, *, calibrated_here: bool = True) -> bool:
    """Whether a finding speaks against a calibration; what these points lack, one that was made elsewhere may have."""
    if finding.check == "no-saturated-point" and not calibrated_here:
        return False
    return finding.severity == "error" or finding.check in TOLD


def doubts_about(fit: Fit, sweep: Sweep) -> tuple[Finding, ...]:
    """What speaks against ``fit``, which was calibrated on points of ``sweep``.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> [finding.check for finding in doubts_about(fit(sweep), sweep)]
    []
    """
    known = [f for f in audit(sweep, fit.series) if matters(f)]
    return (*known, *doubts_of_its_points(fit, points_of(sweep, fit.series)))


def doubts_of_its_points(fit: Fit, points: Points) -> tuple[Finding, ...]:
    """What the points that ``fit`` was calibrated on say against it; ``points`` of the same series."""
    if not fit.used:
        return ()
    return (*not_served(fit), *missing_its_own_points(fit), *noisier_than_the_model(fit, points))


def not_served(fit: Fit) -> tuple[Finding, ...]:
    """Where fewer requests were completed than arrived: such a queue has no steady state to calibrate on."""
    if not fit.load_type.is_open:
        return ()
    rates, served = np.array(fit.used), np.array(fit.used_throughput_per_s)
    behind = served < (1 - UNSERVED) * rates
    if not behind.any():
        return ()
    worst = int((served / rates).argmin())
    kept = ",".join(f"{n:.10g}" for n in rates[~behind])
    return (
        Finding(
            "not-served",
            "error",
            f"{format_rate(rates[worst])} arrived and {format_rate(served[worst])} were completed.",
            "the device is overloaded: the queue grows as long as it is watched, and so does its response time.",
            f"leave such rates out ({f'--use {kept}, or ' if behind.sum() < len(rates) - 1 else ''}qsim measure fio "
            "TARGET --arrival-rates, below the peak).",
            fit.series,
            float(rates[worst]),
        ),
    )


def missing_its_own_points(fit: Fit) -> tuple[Finding, ...]:
    """Where the curve is far from points that it was calibrated on: the model cannot look like this device."""
    if not fit.is_far_off:
        return ()
    missed, response = fit.missed, fit.load_type.is_throughput
    worst = int(missed.argmax())
    return (
        Finding(
            "misses-its-points",
            "warning",
            f"the model {fit.model} misses the {'response time' if response else 'throughput'} that it was calibrated "
            f"on by {100 * missed[worst]:.0f} % at {fit.load_type.place(load_text(fit.load_kind, fit.used[worst]))}.",
            "what the model assumes is not true of this device, or the points are not of one device.",
            "see the other models: qsim compare DATA --report FILE.",
            fit.series,
            float(fit.used[worst]),
        ),
    )


def noisier_than_the_model(fit: Fit, points: Points) -> tuple[Finding, ...]:
    """Where the repeats of a point calibrated on differ by more than the model itself is expected to miss by."""
    spread = points.response_spread if points.throughput_is_given else points.throughput_spread
    used = fit.was_used(points) & np.isfinite(spread)
    if not used.any():
        return ()
    error = fit.table.typical_misfit()
    worst = int(np.flatnonzero(used)[spread[used].argmax()])
    if spread[worst] <= error:
        return ()
    what = "response times" if points.throughput_is_given else "throughputs"
    again = "measure it five times in a row"
    if points.load_type.is_watched:
        again = "watch the device for longer (qsim watch DEVICE --record FILE)"
    elif points.load_type.is_drive and points.load_type.option:
        load = f"{points.load_type.option} {points.load[worst]:g}"
        again = f"qsim measure fio TARGET {load} --repeats auto:20 --out DIR"
    return (
        Finding(
            "noisy-repeats",
            "warning",
            f"the {what} of {points.repeats[worst]:.0f} repeats have a standard deviation of {100 * spread[worst]:.2g} "
            f"%, and the model itself is expected to miss by {100 * error:.2g} %.",
            "the device, or what else runs on the machine, changed between the repeats: the noise of this point, and "
            "not the model, decides how well anything is known.",
            f"measure until the mean is known better than the model: {again}.",
            fit.series,
            float(points.load[worst]),
        ),
    )
