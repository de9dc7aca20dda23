"""The points of a fit, calibrated again as servers and a delay: what what-if questions change."""

from __future__ import annotations

from dataclasses import replace

from calibrate.fitting.calibration import Calibration
from calibrate.fitting.curve_fit import fit_points
from calibrate.fitting.fitted import Fit
from calibrate.fitting.structure import points_again
from calibrate.models.stations import ServersAndDelay


def structure_fit(fit: Calibration, servers: int | None = None) -> Fit:
    """The points of ``fit``, calibrated as ``servers`` (None: unknown) and a delay.

    Raises DataError for a fit of no closed sweep.
    """
    made = fit_points(points_again(fit), ServersAndDelay(servers), level=fit.level)
    made = replace(made, details=fit.details, measured=fit.measured, law=fit.law)
    if fit.used:
        return made
    none: tuple[float, ...] = ()
    return replace(
        made, used=none, used_throughput_per_s=none, used_noise=none, used_response_s=none, used_response_noise=none
    )
