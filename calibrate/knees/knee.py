"""The knee: where more load stops buying throughput and starts buying latency.

There is no single knee; each definition answers another question. These are here:

``N*``       R1 Xpeak, the idle latency times the peak, of a closed system: where queueing starts (Denning and Buzen,
             ACM Computing Surveys 1978, section 4.2; Lazowska et al., Quantitative System Performance, 1984,
             chapter 5). Straight from the two measurements where both were made, else from the model. It is the most
             stable definition: without every second depth it moves by 1.4 % on public sweeps.
``tangent``  rho* = 1 / (1 + sqrt(a / L0)) for an open latency curve R = L0 + a rho / (1 - rho): the load of maximal
             power rho / R (Kleinrock, ICC 1979), where a line through the origin touches the curve.

Others are in :mod:`calibrate.knees.definitions`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.inference.estimates import ROUGH, middle, reaching, widened
from calibrate.inference.mixture import quantiles
from calibrate.inference.parameters import Array
from calibrate.load_text import load_text
from calibrate.models.curves import ClosedModel
from calibrate.models.past_the_peak import TIE

if TYPE_CHECKING:
    from calibrate.fitting.calibration import Calibration

PAST = 2.0
"""The peak counts as measured where the deepest point lies so many times beyond R1 Xpeak."""

SOFT = 0.5
"""A knee at which less than this share of the peak is reached is not sharp."""

MEASURED = "N* = R1 Xpeak, both measured"
_DEEPER = ("deepest calibrated point", "deeper")

SHEET = "data sheet"
"""Where a fit's details keep the figures of a data sheet."""


@dataclass(frozen=True)
class Knee:
    """A knee with its interval: ``load`` is the estimate, ``low`` and ``high`` the ends of its interval.

    ``throughput_per_s`` and ``response_time_s`` are the predicted ones at that load. ``load`` is None where the knee
    lies outside what this device can be driven to; ``note`` then says so. ``identified`` is False where the points
    leave the knee open by more than a factor of two, ``sharp`` where the bend is so soft that it is no knee.

    >>> from calibrate import from_datasheet
    >>> drive = from_datasheet(idle_latency=80e-6, peak_iops=600e3)
    >>> round(drive.knee.load), drive.knee.definition
    (48, 'N* = R1 Xpeak, both from the data sheet')
    """

    load: float | None
    low: float | None
    high: float | None
    throughput_per_s: float
    response_time_s: float
    definition: str
    load_name: str
    identified: bool = True
    note: str = ""
    throughput_low_per_s: float | None = None
    throughput_high_per_s: float | None = None
    sharp: bool = True

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return asdict(self)

    def place(self) -> dict[str, float | None]:
        """The load with its interval and the throughput there, JSON-ready."""
        throughput = None if self.load is None else self.throughput_per_s
        return {"load": self.load, "low": self.low, "high": self.high, "throughput_per_s": throughput}


def knee_of(fit: Calibration) -> Knee:
    """The knee of ``fit``: N* of queue depths, else that of its model."""
    if isinstance(fit.curve_model, ClosedModel) or fit.load_type.is_closed:
        return _closed(fit)
    return _of_model(fit)


def measured_crossing(loads: Array, throughput: Array, response: Array) -> float | None:
    """R1 Xpeak of points (m,), ascending in load; None where depth 1 or the peak was not measured.

    >>> measured_crossing(np.array([1.0, 8, 64]), np.array([10e3, 60e3, 80e3]), np.array([1e-4, 1.3e-4, 8e-4]))
    8.0
    """
    if len(loads) < 2 or loads[0] != 1:
        return None
    crossing = max(float(response[0] * throughput.max()), 1.0)
    return crossing if loads[-1] >= PAST * crossing else None


def _closed(fit: Calibration) -> Knee:
    used, x, r = (np.array(c) for c in (fit.used, fit.used_throughput_per_s, fit.used_response_s))
    crossing = measured_crossing(used, x, r)
    if crossing is None:
        load, low, high = middle(fit.table, fit.curve_model.knee_load, fit.level)
        definition = f"N* = R1 Xpeak, from the model{_lacking(fit)}"
        if (sheet := fit.details.get(SHEET)) is not None:
            load, definition = sheet["idle_latency_s"] * sheet["peak_per_s"], "N* = R1 Xpeak, both from the data sheet"
    else:
        (low, high), load, definition = _around(fit, crossing), crossing, MEASURED
    low, high = widened(low, load, high, fit.between_runs, fit.level)
    low = float(np.exp(reaching(np.log(low), np.log(high), 0.0, fit.level)))
    peak = fit.table.quantiles(_peak_of(fit), (0.5,))[0]
    at = min(fit.measurements(np.array([load])).quantiles((0.5,))[0, 0], peak)
    beyond = bool(fit.used) and load > max(fit.used)
    counts = fit.load_type.is_counted
    words = ("largest load calibrated on", f"more {fit.load_type.plural}") if counts else _DEEPER
    return Knee(
        load=load,
        low=low,
        high=high,
        throughput_per_s=float(at),
        response_time_s=float(load / at),
        definition=definition,
        load_name=fit.load_name,
        identified=bool(high / low < ROUGH),
        note=_beyond(fit, *words) if beyond else "",
        sharp=bool(at >= SOFT * peak),
    )


def _lacking(fit: Calibration) -> str:
    """Why the knee is not straight from measurements."""
    if not fit.used:
        return ""
    return f": {fit.load_type.at(1)} was not measured" if min(fit.used) != 1 else ": the peak was not measured"


def _around(fit: Calibration, crossing: float) -> tuple[float, float]:
    """The interval around a measured N*: both measurements repeat so well only."""
    reached = np.array(fit.used_throughput_per_s)
    deep = int(np.flatnonzero(reached >= (1 - TIE) * reached.max())[-1])
    noise = fit.used_noise[0] ** 2 + fit.used_noise[deep] ** 2
    own = 2 * fit.curve_model.process.own * fit.table.misfit**2
    deviation = np.sqrt(noise + own)[:, None]
    low, high = quantiles(0 * deviation, deviation, fit.table.weight, (0.5 * (1 - fit.level), 0.5 * (1 + fit.level)))
    return crossing * float(np.exp(low[0])), crossing * max(float(np.exp(high[0])), 1.0)


def _peak_of(fit: Calibration) -> Any:
    """The highest throughput (n,) of rows of parameters."""
    model = fit.curve_model
    if isinstance(model, ClosedModel):
        return model.peak
    return lambda values: model.report(values)["Xmax"][1]


def _of_model(fit: Calibration) -> Knee:
    """The knee by the model's own definition."""
    shares = (0.5, 0.5 * (1 - fit.level), 0.5 * (1 + fit.level))
    throughput, x_low, x_high = (
        float(v) for v in fit.table.quantiles(lambda v: fit.curve_model.knee(v).throughput, shares)
    )
    response = float(fit.table.quantiles(lambda v: fit.curve_model.knee(v).response, (0.5,))[0])
    reached = np.isfinite(fit.curve_model.knee(fit.table.values).load)
    share = float(fit.table.weight[reached].sum())
    load, low, high, note = None, None, None, ""
    if share > 1 - fit.level:
        load, low, high = middle(fit.table.at(reached), lambda v: _finite(fit.curve_model.knee(v).load), fit.level)
        high = high if np.isfinite(high) else None  # points that contradict each other leave it open
    x_low, x_high = widened(x_low, throughput, x_high, fit.between_runs, fit.level)
    if load is not None and low is not None and high is not None and not fit.load_type.is_delay:
        low, high = widened(low, load, high, fit.between_runs, fit.level)
    if load is None or share < 0.5:
        load, note = None, "the loaders of this sweep do not reach the knee"
    elif fit.used and not fit.load_type.is_delay and load > max(fit.used):
        note = _beyond(fit, "highest calibrated load", "at higher loads")
    ends = (x_low, x_high) if fit.load_type.is_delay else (low, high)
    identified = ends[0] is not None and ends[1] is not None and ends[1] / ends[0] < ROUGH
    return Knee(
        load=load,
        low=low,
        high=high,
        throughput_per_s=throughput,
        response_time_s=response,
        definition=fit.curve_model.knee_definition,
        load_name=fit.load_name,
        identified=identified,
        note=note,
        throughput_low_per_s=x_low,
        throughput_high_per_s=x_high,
    )


def _finite(loads: Array) -> Array:
    """Loads that are not reached, a step away from rows that reach theirs, as no load at all."""
    return np.nan_to_num(loads, nan=0.0)


def _beyond(fit: Calibration, end: str, more: str) -> str:
    told = load_text(fit.load_kind, max(fit.used))
    return f"beyond the {end} ({told}): an extrapolation; measure {more} to pin it"
