"""The ladder: several device models fitted to the same points, from the crudest to the most particular.

Each rung states what it assumes. The ranking is by the mean error at the points that no rung was fitted to, of the
throughput, and in open sweeps, whose throughput is given, of the response time. It only ranks: the model that a
comparison reports was fixed before the held-out points were looked at. A rung's predictions are the means of the
logarithm over its table of weights; those of the model that was fitted are the fit's own, medians.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrate.fitting.fit import Fit, fit_points
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, Mask
from calibrate.models.calibration import MODELS, model_named
from calibrate.models.closed import AsymptoticBounds, Declining, OnsetPNorm, PNorm, ScalabilityLaw, shows_decline
from calibrate.models.curves import CurveModel
from calibrate.points import Points, mape


@dataclass(frozen=True)
class Rung:
    """One model of the ladder: errors are mean absolute percentages; held-out ones are None without such points."""

    name: str
    assumption: str
    parameters: dict[str, float]
    in_sample_mape_throughput_pct: float
    in_sample_mape_response_pct: float
    held_out_mape_throughput_pct: float | None
    held_out_mape_response_pct: float | None
    rank: int = 0


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
    what = "response" if points.load_type.is_throughput else "throughput"

    def errors(rung: Rung) -> tuple[float, float]:
        held: float | None = getattr(rung, f"held_out_mape_{what}_pct")
        return np.inf if held is None else round(held, 9), round(getattr(rung, f"in_sample_mape_{what}_pct"), 9)

    return [replace(rung, rank=i) for i, rung in enumerate(sorted(climbed, key=errors), 1)]


def _models(points: Points, deepest: float) -> list[CurveModel]:
    if points.load_type.is_memory:
        return [model_named(name) for name in MODELS[points.load_kind]]
    if points.load_type.is_open:
        from calibrate.models.open import SleepingQueue, falls

        every = map(model_named, MODELS[points.load_kind])
        return [model for model in every if falls(points) or not isinstance(model, SleepingQueue)]
    from calibrate.models.stations import MOST_CROSSING, ServersAndDelay

    crossing = float(PNorm().weights(points).quantiles(lambda values: values[:, 0], (0.5,))[0])
    decline = [Declining()] if shows_decline(points.load, points.throughput_per_s) else []
    formulas: list[CurveModel] = [OnsetPNorm(), *decline, PNorm(), AsymptoticBounds(), ScalabilityLaw()]
    counted = max(deepest, crossing) <= MOST_CROSSING and len(points) > 1
    return [*formulas, ServersAndDelay()] if counted else formulas


def _rung(made: Fit, points: Points, calibrated: Mask, expected: tuple[Array, Array]) -> Rung:
    """The rung of a fit to the points ``calibrated`` (m,), by the throughput and response (m,) it gives at all."""
    model = made.curve_model
    parameters = {
        name: float(np.exp(made.table.weight @ np.log(np.maximum(values, 1e-300))))
        for name, (_, values) in model.report(made.table.values).items()
    }
    x_in, r_in = _missed(points, expected, calibrated)
    x_out, r_out = (None, None) if calibrated.all() else _missed(points, expected, ~calibrated)
    return Rung(model.name, model.assumption, parameters, x_in, r_in, x_out, r_out)


def _expected(fit: Fit, loads: Array) -> tuple[Array, Array]:
    """Throughput and response (m,) at ``loads``: means of the logarithm."""
    if fit.load_type.is_closed:
        throughput = fit.expected(loads)
        return throughput, loads / throughput
    response = fit.expected(loads, "response")
    if fit.load_type.is_throughput:
        return np.exp(fit.table.weight @ np.log(fit.curve_model.curve(fit.table.values, loads)[0])), response
    return fit.expected(loads), response


def _missed(points: Points, expected: tuple[Array, Array], at: Mask) -> tuple[float, float]:
    throughput, response = expected
    return mape(throughput[at], points.throughput_per_s[at]), mape(response[at], points.response_time_s[at])
