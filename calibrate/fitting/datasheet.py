"""A device model from the two figures of a data sheet, before any measurement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calibrate.fitting.calibrating import fit_points
from calibrate.fitting.fit import NOTHING_USED, Fit
from calibrate.fitting.readings import SHEET
from calibrate.inference.parameters import LEVEL
from calibrate.models.closed_models import PNorm
from calibrate.models.curves import TOLERANCE, estimates
from calibrate.points import Points
from measure.loads import Depth
from qsim.errors import InvalidParameterError

BEFORE = "before any measurement: two points of a run (depth 1 and 32) replace these assumptions"


def from_datasheet(idle_latency: float, peak_iops: float, *, level: float = LEVEL) -> Fit:
    """The closed device model before any run: ``idle_latency`` in seconds and ``peak_iops`` in 1/second.

    Nothing is measured, so the bands show only assumptions: the sheet's two figures to within 10 % (relative
    standard deviation), and a knee as sharp as those of public devices. Raises ValueError for a figure that is not
    positive.

    >>> from calibrate import from_datasheet
    >>> round(from_datasheet(idle_latency=80e-6, peak_iops=600e3).knee.load)
    48
    """
    for name, value in (("idle_latency", idle_latency), ("peak_iops", peak_iops)):
        if not (np.isfinite(value) and value > 0):
            raise InvalidParameterError(name, f"must be a positive number, not {value!r}", value=value)
    if idle_latency * peak_iops < 1:
        raise InvalidParameterError(
            "idle_latency",
            f"x peak_iops = {idle_latency * peak_iops:.3g} outstanding requests, less than one: a device that answers "
            "in that time can do more than that rate",
            "check the units (seconds, requests a second)",
            idle_latency,
        )
    model, one = PNorm(), np.ones(1)
    rate, time, off = one / idle_latency, one * idle_latency, one * TOLERANCE
    sheet = Points("data sheet", Depth(), one, rate, time, one, off, off, source="data sheet")
    made = fit_points(sheet, model, level=level, peak_per_s=peak_iops)
    from_sheet = f"from the data sheet, assumed right to {100 * TOLERANCE:g} %"
    parameters = {
        name: replace(e, note="assumed, not measured" if name == "p" else from_sheet, identified=name != "p")
        for name, e in estimates(model, made.table, {}, level).items()
    }
    details = {SHEET: {"idle_latency_s": idle_latency, "peak_per_s": peak_iops}}
    told = {"R1": idle_latency, "Xmax": peak_iops, "N*": idle_latency * peak_iops}
    given = {name: replace(e, estimate=told.get(name, e.estimate)) for name, e in parameters.items()}
    unmeasured = replace(made, **NOTHING_USED, points=None, known_peak_per_s=None)
    return replace(unmeasured, given=given, details=details, notes=(BEFORE,))
