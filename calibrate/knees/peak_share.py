"""An operating point: the load that gives a share of the peak throughput. N90 is that of 90 %.

It says where throughput is had, where N* says where queueing starts. Of X = [(N/N*)^-p + 1]^(-1/p) Xmax it is
N* (share^-p - 1)^(-1/p): it moves with the sharpness p, so that its interval is wider than that of N*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calibrate.inference.estimates import ROUGH, widened
from calibrate.knees.curve_places import CurvePaths, along, ends_of, first_reaching, load_at, middle_of
from calibrate.knees.knee import Knee
from calibrate.load_text import knee_text, load_text
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from calibrate.fitting.calibration import Calibration
    from calibrate.inference.parameters import Array

USUAL = 0.9
"""The share of the peak that most performance reports mean."""


def share_knee(fit: Calibration, path: CurvePaths, share: float = USUAL) -> Knee:
    """The load that gives ``share`` of the peak of ``fit``, with its interval; its load is None where there is none.

    ``path`` are the fit's curves (``Fit.paths``).

    Raises ValueError for a share that is not between 0 and 1.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(80e-6, 600e3)
    >>> 25 < share_knee(drive, drive.paths, 0.5).load < 32
    True
    """
    if not 0 < share < 1:
        raise InvalidParameterError(
            "share", f"must lie between 0 and 1, like 0.9 for 90 % of the peak, not {share!r}", value=share
        )
    return knee_at(fit, path, f"{100 * share:g} % of the peak throughput", share_of_peak(path, share))


def share_of_peak(path: CurvePaths, share: float) -> Array:
    """Where along the path (w,) each curve first has ``share`` of its peak."""
    return first_reaching(path.throughput / (share * path.peak[:, None]))


def share_text(knee: Knee, told: Callable[[float], str]) -> str:
    """``90 % of the peak at 23 (19 to 29)``; ``told`` writes a load. Empty where it is not reached."""
    if knee.load is None:
        return ""
    low, high = ("..." if end is None else told(end) for end in (knee.low, knee.high))
    return f"{knee.definition.removesuffix(' throughput')} at {told(knee.load)} ({low} to {high})"


def knee_at(fit: Calibration, drawn: CurvePaths, definition: str, places: Array) -> Knee:
    """A knee from its places (w,) on the devices' curves: their median, and the interval that they leave."""
    loads = load_at(drawn.load, places)
    load = middle_of(loads)
    low, high = ends_of(loads, fit.level)
    note = ""
    if fit.load_type.is_delay:  # the throughput is what counts: a delay of 0 is no knee of its own
        note = "" if 0 < load < np.inf else "the loaders of this sweep do not reach it"
    elif not np.isfinite(load):
        note = f"beyond {knee_text(fit.load_kind, drawn.load[-1])}"
    if not 0 < load < np.inf:
        return Knee(None, low, high, float("nan"), float("nan"), definition, fit.load_name, False, note)
    throughput, response = (float(np.median(along(v, places))) for v in (drawn.throughput, drawn.response))
    if fit.used and not fit.load_type.is_delay and load > max(fit.used):
        note = note or f"beyond the heaviest load calibrated on ({load_text(fit.load_kind, max(fit.used))})"
    if low is not None and high is not None:
        low, high = widened(low, load, high, fit.between_runs, fit.level)
    known = low is not None and high is not None and high / low < ROUGH
    return Knee(load, low, high, throughput, response, definition, fit.load_name, known, note)
