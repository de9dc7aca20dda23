"""The ladder: several device models fitted to the same points, from the crudest to the most particular.

Each rung states what it assumes. The ranking is by the error at the points that no rung was fitted to; where every
point was calibrated on, by that of leaving each out in its turn. It only ranks: the model that a comparison reports was
fixed before the held-out points were looked at. A rung's predictions are the means of the logarithm over its table of
weights; those of the model that was fitted are the fit's own, medians.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from calibrate.fitting.curve_fit import fit_points, needed
from calibrate.fitting.fitted import Fit
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, Mask
from calibrate.models.curves import AsymptoticBounds, CurveModel, OnsetPNorm, PNorm, server_counts
from calibrate.models.delay_law import DelayLaw, Unloaded
from calibrate.models.memory_curve import MemoryCurve, MemoryQueue
from calibrate.models.open import MD1, MG1, MM1, MGc, MGcEach, ggc, mmc
from calibrate.models.open_setup import SleepingQueue, falls
from calibrate.models.past_the_peak import Declining, ScalabilityLaw, shows_decline
from calibrate.models.servers_and_delay import MOST_CROSSING
from calibrate.models.stations import ServersAndDelay
from calibrate.points import Points


@dataclass(frozen=True)
class Rung:
    """One model of the ladder: errors are mean absolute percentages; held-out ones are None without such points.

    ``left_out`` errors are those of leaving out each calibrated point; None where there are held-out points, or too
    few to leave one out. It is ranked by its throughput, and in open sweeps, whose throughput is given, by its response
    time.
    """

    name: str
    assumption: str
    parameters: dict[str, float]
    in_sample_mape_throughput_pct: float
    in_sample_mape_response_pct: float
    held_out_mape_throughput_pct: float | None
    held_out_mape_response_pct: float | None
    left_out_mape_throughput_pct: float | None
    left_out_mape_response_pct: float | None
    ranked_by: Literal["throughput", "response time"]
    rank: int
    why: str

    @property
    def in_sample_pct(self) -> float:
        """The error at the calibrated points of what it is ranked by."""
        open_sweep = self.ranked_by == "response time"
        return self.in_sample_mape_response_pct if open_sweep else self.in_sample_mape_throughput_pct

    @property
    def held_out_pct(self) -> float | None:
        """The error at the held-out points of what it is ranked by."""
        open_sweep = self.ranked_by == "response time"
        return self.held_out_mape_response_pct if open_sweep else self.held_out_mape_throughput_pct

    @property
    def left_out_pct(self) -> float | None:
        """The error of leaving out each point, in what it is ranked by."""
        open_sweep = self.ranked_by == "response time"
        return self.left_out_mape_response_pct if open_sweep else self.left_out_mape_throughput_pct

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def mape(predicted: Array, observed: Array) -> float:
    """Mean absolute error in percent of what was observed."""
    return float(100 * np.mean(np.abs(predicted / observed - 1)))


FOLDS = 8
"""Points are left out in so many groups, one after another."""


def ladder(points: Points, fitted: Fit, predicted: Prediction) -> list[Rung]:
    """Every model that fits these points' kind of load, calibrated on the points of ``fitted``, best first.

    ``predicted`` is what ``fitted`` predicts at the loads of ``points``.
    """
    calibrated = fitted.was_used(points)
    chosen = points.at(calibrated)
    models = _models(chosen, float(points.load.max()))
    if fitted.model not in {m.name for m in models}:
        models.append(fitted.curve_model)
    climbed = []
    for model in models:
        if model.name == fitted.model:
            climbed.append(_rung(fitted, points, calibrated, (predicted.throughput_per_s, predicted.response_time_s)))
        else:
            made = fit_points(chosen, model)
            climbed.append(_rung(made, points, calibrated, _expected(made, points.load)))
    by_error = sorted(climbed, key=_order)
    return [Rung(**{**asdict(rung), "rank": i, "why": _why(rung, by_error[0])}) for i, rung in enumerate(by_error, 1)]


def _models(points: Points, deepest: float) -> list[CurveModel]:
    if points.load_type.is_delay:
        return [DelayLaw(), Unloaded()]
    if points.load_type.is_bandwidth:
        return [MemoryCurve(), MemoryQueue()]
    if points.load_type.is_open:
        known = [ggc(*points.variability)] if points.variability is not None else []
        servers = float(MGc.weights(points).most_probable[1])
        sleeping = [SleepingQueue()] if falls(points) else []
        return [*sleeping, MGc, MGcEach, MM1, MD1, MG1, *(mmc(c) for c in server_counts(servers) if c > 1), *known]
    crossing = float(PNorm().weights(points).quantiles(lambda values: values[:, 0], (0.5,))[0])
    decline = [Declining()] if shows_decline(points.load, points.throughput_per_s) else []
    formulas: list[CurveModel] = [OnsetPNorm(), *decline, PNorm(), AsymptoticBounds(), ScalabilityLaw()]
    if max(deepest, crossing) > MOST_CROSSING:
        return formulas
    return [*formulas, ServersAndDelay()] if len(points) > 1 else formulas


def _rung(made: Fit, points: Points, calibrated: Mask, expected: tuple[Array, Array]) -> Rung:
    """The rung of a fit to the points ``calibrated`` (m,), by the throughput and response (m,) it gives at all."""
    model, all_used = made.curve_model, bool(calibrated.all())
    throughput, response = expected
    at_chosen = _missed(points.at(calibrated), throughput[calibrated], response[calibrated])
    missed = None if all_used else _missed(points.at(~calibrated), throughput[~calibrated], response[~calibrated])
    parameters = {
        name: float(np.exp(made.table.weight @ np.log(np.maximum(values, 1e-300))))
        for name, (_, values) in model.report(made.table.values).items()
    }
    left_out = _left_out(model, points) if all_used else None
    (x_held, r_held), (x_left, r_left) = missed or (None, None), left_out or (None, None)
    return Rung(
        model.name,
        model.assumption,
        parameters,
        *at_chosen,
        x_held,
        r_held,
        x_left,
        r_left,
        "response time" if points.throughput_is_given else "throughput",
        0,
        "",
    )


def _expected(fit: Fit, loads: Array) -> tuple[Array, Array]:
    """Throughput and response (m,) at ``loads``: means of the logarithm."""
    if fit.load_type.is_closed:
        throughput = fit.expected(loads)
        return throughput, loads / throughput
    response = fit.expected(loads, "response")
    if fit.load_type.is_throughput:
        return np.exp(fit.table.weight @ np.log(fit.curve_model.curve(fit.table.values, loads)[0])), response
    return fit.expected(loads), response


def _missed(points: Points, throughput: Array, response: Array) -> tuple[float, float]:
    return mape(throughput, points.throughput_per_s), mape(response, points.response_time_s)


def _left_out(model: CurveModel, points: Points) -> tuple[float, float] | None:
    """The errors at points that are left out in their turn; None where too few are left to calibrate on."""
    if len(points) <= needed(points):
        return None
    throughput, response = np.empty(len(points)), np.empty(len(points))
    folds = np.arange(len(points)) % min(FOLDS, len(points))
    for fold in np.unique(folds):
        out = folds == fold
        kept = points.at(~out)
        throughput[out], response[out] = _expected(fit_points(kept, model), points.load[out])
    return _missed(points, throughput, response)


def _order(rung: Rung) -> tuple[float, float]:
    unseen = rung.held_out_pct if rung.held_out_pct is not None else rung.left_out_pct
    return (np.inf if unseen is None else unseen, rung.in_sample_pct)


def _why(rung: Rung, best: Rung) -> str:
    if rung.left_out_pct is not None and best.left_out_pct is not None:
        error = f"misses points that are left out of the calibration by {rung.left_out_pct:.3g} % on average"
        return f"{error}, {_beside(rung, best, best.left_out_pct)}"
    if rung.held_out_pct is None or best.held_out_pct is None:
        return (
            f"no held-out point; misses its own calibration points by {rung.in_sample_pct:.2g} %, "
            "which says little about others"
        )
    error = f"misses the held-out {rung.ranked_by}s by {rung.held_out_pct:.3g} % on average"
    return f"{error}, {_beside(rung, best, best.held_out_pct)}"


def _beside(rung: Rung, best: Rung, least: float) -> str:
    return "the least of all" if rung.name == best.name else f"against {least:.3g} % for {best.name}"
