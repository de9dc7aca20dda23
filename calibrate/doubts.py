"""What speaks against a calibration: data that contradict themselves, no saturated point, repeats that disagree.

A fit is made all the same, as the data may be all there is; but nobody should learn of it from the audit alone.
"""

from __future__ import annotations

import numpy as np

from calibrate.fitting import Fit
from calibrate.points import Points, points_of
from measure.auditing import audit
from measure.dataset import Sweep
from measure.findings import Finding

TOLD = ("no-saturated-point", "mixed-submission", "noisy-repeats")
"""Checks that matter to a fit, besides every error of the audit."""


def matters(finding: Finding, *, calibrated_here: bool = True) -> bool:
    """Whether a finding speaks against a calibration; what these points lack, one that was made elsewhere may have."""
    if finding.check == "no-saturated-point" and not calibrated_here:
        return False
    return finding.severity == "error" or finding.check in TOLD


def doubts_about(fit: Fit, sweep: Sweep) -> tuple[Finding, ...]:
    """What speaks against ``fit``, which was calibrated on points of ``sweep``."""
    told = [f for f in audit(sweep, fit.series) if matters(f)]
    return (*told, *noisier_than_the_model(fit, points_of(sweep, fit.series)))


def noisier_than_the_model(fit: Fit, points: Points) -> tuple[Finding, ...]:
    """Where the repeats of a point calibrated on differ by more than the model itself is expected to miss by."""
    spread = points.response_spread if points.throughput_is_given else points.throughput_spread
    used = fit.was_used(points) & np.isfinite(spread)
    if not used.any():
        return ()
    error = float(np.median(fit.error_draws))
    worst = int(np.flatnonzero(used)[spread[used].argmax()])
    if spread[worst] <= error:
        return ()
    what = "response times" if points.throughput_is_given else "throughputs"
    option = "--arrival-rates" if points.load_kind == "arrival_rate" else "--depths"
    again = "measure it again with --repeats 5"
    if points.load_kind in ("queue_depth", "arrival_rate"):
        precision = max(1, round(50 * error))
        load = f"{option} {points.load[worst]:g}"
        again = f"qsim measure fio TARGET {load} --repeats auto:20 --precision {precision}% --out DIR"
    return (
        Finding(
            "noisy-repeats", "warning",
            f"the {what} of {points.repeats[worst]:.0f} repeats have a standard deviation of {100 * spread[worst]:.2g} "
            f"%, and the model itself is expected to miss by {100 * error:.2g} %.",
            "the device, or what else runs on the machine, changed between the repeats: the noise of this point, and "
            "not the model, decides how well anything is known.",
            f"measure until the mean is known better than the model: {again}.",
            fit.series, float(points.load[worst]),
        ),
    )  # fmt: skip
