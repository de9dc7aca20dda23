"""The ladder: several device models fitted to the same points, from the crudest to the most particular.

Each rung states what it assumes. The ranking is by the error at the points that no rung was fitted to; where every
point was calibrated on, by that of leaving each out in its turn. It only ranks: the model that a comparison reports was
fixed before the held-out points were looked at. A rung's predictions are the means of the logarithm over its table of
weights; those of the model that was fitted are the fit's own, medians.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from calibrate.fitting.curve_fit import fit_points, needed
from calibrate.fitting.fit import Fit
from calibrate.fitting.predicted_curve import Prediction
from calibrate.inference.parameters import Array, Mask
from calibrate.models.calibration import MODELS, model_named
from calibrate.models.closed import AsymptoticBounds, Declining, OnsetPNorm, PNorm, ScalabilityLaw, shows_decline
from calibrate.models.curves import CurveModel
from calibrate.points import Points, mape

E = TypeVar("E", float, float | None)

FOLDS = 8
"""Points are left out in this many groups, one after another."""

DOUBLINGS = tuple(2**i for i in range(9))
"""Numbers of servers that are tried of every device."""


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
    rank: int = 0
    why: str = ""

    @property
    def in_sample_pct(self) -> float:
        """The error at the calibrated points of what it is ranked by."""
        return self._ranked(self.in_sample_mape_throughput_pct, self.in_sample_mape_response_pct)

    @property
    def held_out_pct(self) -> float | None:
        """The error at the held-out points of what it is ranked by."""
        return self._ranked(self.held_out_mape_throughput_pct, self.held_out_mape_response_pct)

    @property
    def left_out_pct(self) -> float | None:
        """The error of leaving out each point, in what it is ranked by."""
        return self._ranked(self.left_out_mape_throughput_pct, self.left_out_mape_response_pct)

    def _ranked(self, throughput: E, response: E) -> E:
        return response if self.ranked_by == "response time" else throughput

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


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
    return [replace(rung, rank=i, why=_why(rung, by_error[0])) for i, rung in enumerate(by_error, 1)]


def _models(points: Points, deepest: float) -> list[CurveModel]:
    if points.load_type.is_memory:
        return [model_named(name) for name in MODELS[points.load_kind]]
    if points.load_type.is_open:
        from calibrate.models.open import MD1, MG1, MM1, MGc, MGcEach, SleepingQueue, falls, ggc, mmc

        known = [ggc(*points.variability)] if points.variability is not None else []
        servers = float(MGc.weights(points).most_probable[1])
        counts = sorted({*(c for c in DOUBLINGS if 1 < c < servers), max(1, round(servers))} - {1})
        return [*([SleepingQueue()] if falls(points) else []), MGc, MGcEach, MM1, MD1, MG1, *map(mmc, counts), *known]
    from calibrate.models.stations import MOST_CROSSING, ServersAndDelay

    crossing = float(PNorm().weights(points).quantiles(lambda values: values[:, 0], (0.5,))[0])
    decline = [Declining()] if shows_decline(points.load, points.throughput_per_s) else []
    formulas: list[CurveModel] = [OnsetPNorm(), *decline, PNorm(), AsymptoticBounds(), ScalabilityLaw()]
    counted = max(deepest, crossing) <= MOST_CROSSING and len(points) > 1
    return [*formulas, ServersAndDelay()] if counted else formulas


def _rung(made: Fit, points: Points, calibrated: Mask, expected: tuple[Array, Array]) -> Rung:
    """The rung of a fit to the points ``calibrated`` (m,), by the throughput and response (m,) it gives at all."""
    model, all_used = made.curve_model, bool(calibrated.all())
    parameters = {
        name: float(np.exp(made.table.weight @ np.log(np.maximum(values, 1e-300))))
        for name, (_, values) in model.report(made.table.values).items()
    }
    x_in, r_in = _missed(points, expected, calibrated)
    (x_out, r_out), (x_left, r_left) = (None, None), (None, None)
    if not all_used:
        x_out, r_out = _missed(points, expected, ~calibrated)
    elif (left_out := _left_out(model, points)) is not None:
        x_left, r_left = left_out
    by: Literal["throughput", "response time"] = "response time" if points.throughput_is_given else "throughput"
    return Rung(model.name, model.assumption, parameters, x_in, r_in, x_out, r_out, x_left, r_left, by)


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


def _left_out(model: CurveModel, points: Points) -> tuple[float, float] | None:
    """The errors at points that are left out in their turn; None where too few are left to calibrate on."""
    if len(points) <= needed(points):
        return None
    expected = np.empty((2, len(points)))
    folds = np.arange(len(points)) % min(FOLDS, len(points))
    for fold in np.unique(folds):
        out = folds == fold
        expected[:, out] = _expected(fit_points(points.at(~out), model), points.load[out])
    return _missed(points, (expected[0], expected[1]), np.ones(len(points), dtype=bool))


def _order(rung: Rung) -> tuple[float, float]:
    unseen = rung.held_out_pct if rung.held_out_pct is not None else rung.left_out_pct
    return (np.inf if unseen is None else round(unseen, 9), round(rung.in_sample_pct, 9))


def _why(rung: Rung, best: Rung) -> str:
    if rung.left_out_pct is not None and best.left_out_pct is not None:
        what, error, least = "points that are left out of the calibration", rung.left_out_pct, best.left_out_pct
    elif rung.held_out_pct is not None and best.held_out_pct is not None:
        what, error, least = f"the held-out {rung.ranked_by}s", rung.held_out_pct, best.held_out_pct
    else:
        return (
            f"no held-out point; misses its own calibration points by {rung.in_sample_pct:.2g} %, "
            "which says little about others"
        )
    against = "the least of all" if rung.name == best.name else f"against {least:.3g} % for {best.name}"
    return f"misses {what} by {error:.3g} % on average, {against}"
