"""Fit a device model to a few points of a sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.asked_depths import asked_loads
from calibrate.curve_models import CurveModel
from calibrate.datasheet import from_datasheet
from calibrate.discrepancy import beyond_the_points
from calibrate.estimates import LEVEL, Estimate, estimates, quantity, reaching
from calibrate.fitted import KEPT_DRAWS, Fit
from calibrate.model_names import model_for, model_named
from calibrate.points import Points, points_of, with_delay
from calibrate.posterior import Array, most_probable, posterior
from calibrate.servers_and_delay import servers_and_think
from measure.calibration_checks import check_submission
from measure.dataset import Sweep
from measure.errors import DataError

__all__ = [
    "KEPT_DRAWS",
    "LEVEL",
    "Estimate",
    "Fit",
    "correlation_of",
    "curve_of_mode",
    "fit",
    "fit_points",
    "from_datasheet",
    "mode_of",
    "model_named",
    "needed",
    "quantity",
    "reaching",
]


def fit(
    sweep: Sweep,
    use: Sequence[float] | None = None,
    *,
    series: str | None = None,
    model: str | None = None,
    level: float = LEVEL,
    delay_s: tuple[float, float] | None = None,
    seed: int = 0,
) -> Fit:
    """Calibrate a device model on the points of ``sweep`` at the loads ``use``.

    ``use`` None takes the depths that the model asks for (a closed sweep: the first, the one nearest to 128 and, where
    four or more were measured, a third that these two ask for; ``asked_depths.asked_loads``), or the
    smallest, the middle and the largest delay (a memory sweep) or arrival rate (an open one). ``series`` names the
    curve where there are several. ``model`` None means ``p-norm with onset`` for closed sweeps (with a decline, where
    the deepest of the points used shows one), ``delay law`` for memory sweeps and ``M/G/c`` for open ones, with one
    queue or a queue for each server (``open_choice``). ``level`` is that of intervals and bands. ``delay_s`` is the
    least and the most that the delay Z of a closed sweep may be (at 90 %), where it was measured by itself: then the
    number of servers is told where means alone leave it open.

    Raises ValueError where these make no sense, DataError where the series or a load is missing or the points are too
    few for the model: two for a closed sweep, three for a memory sweep.
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level:g} must lie between 0 and 1, like 0.9")
    points = with_delay(points_of(sweep, series), delay_s)
    chosen = points.choose(asked_loads(points) if use is None else use)
    if len(points) < needed(points) and (apart := [f for f in check_submission(sweep) if f.series is None]):
        raise DataError(
            f"{points.series}: {len(points)} point(s) cannot calibrate a model: {apart[0].message.rstrip('.')}, and "
            f"each way is a curve of its own; {apart[0].remedy.rstrip('.')}"
        )
    return fit_points(chosen, model_for(chosen, model), level=level, seed=seed)


def fit_points(points: Points, curve_model: CurveModel, *, level: float = LEVEL, seed: int = 0) -> Fit:
    """Calibrate ``curve_model`` on all of ``points``; ``fit`` chooses them first."""
    least = needed(points)
    if len(points) < least:
        raise DataError(
            f"{points.series}: {len(points)} point(s) cannot calibrate the {curve_model.name} model, which needs "
            f"{least}; {_lacking(points)} (here: {points.loads_text()})"
        )
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    parameters = curve_model.parameters(load, throughput, response)
    noise = points.noise(len(curve_model.observables(throughput, response)) // len(load))

    found = posterior(
        parameters, curve_model.start(load, throughput, response), lambda values: curve_model.predicted(values, load),
        curve_model.observables(throughput, response), noise, curve_model.error_prior,
        correlation_of(curve_model, load), seed=seed,
    )  # fmt: skip
    keep = np.linspace(0, len(found.draws) - 1, KEPT_DRAWS).astype(int)
    draws = found.draws[keep]
    told = estimates(curve_model, draws, {p.name: p.prior_spread for p in parameters}, level)
    notes = list(points.notes)
    if not found.settled:
        notes.append("the sampler has not settled on these points: the intervals are rough")
    return Fit(
        model=curve_model.name, assumption=curve_model.assumption, load_kind=points.load_kind,
        load_unit=points.load_unit, series=points.series, used=tuple(float(n) for n in load),
        parameters={**told, **servers_and_think(points, level)},
        mode=found.mode, draws=draws, error_draws=found.error[keep],
        used_throughput_per_s=tuple(float(x) for x in throughput), used_noise=tuple(float(e) for e in points.noise(1)),
        used_response_s=tuple(float(r) for r in response),
        used_response_noise=tuple(float(e) for e in points.noise(2)[-len(load) :]),
        level=level, notes=tuple(notes), source=points.source,
    )  # fmt: skip


def needed(points: Points) -> int:
    """How many points a model of this kind of load needs."""
    return 3 if points.load_kind in ("injected_delay", "bandwidth") else 2


def _lacking(points: Points) -> str:
    """What else to measure, where the points are too few, and by which command."""
    measured = {
        "arrival_rate": "more rates: qsim measure fio TARGET --arrival-rates 500,1k,2k --out DIR",
        "injected_delay": "more delays: qsim measure memory --delays 0,100,500,20000 --out DIR",
        "bandwidth": "more of the curve: qsim measure memory --out DIR",
    }
    if (more := measured.get(points.load_kind)) is not None:
        return f"name (--use) or measure {more}"
    deep = len(points) and points.load[-1] > 4
    missing = "depth 1" if deep else "a depth of 32 or more"
    return f"name (--use) or measure {missing} as well: qsim measure fio TARGET --depths 1,4,32 --out DIR"


def mode_of(points: Points, curve_model: CurveModel) -> Array:
    """The most probable parameters (d,) alone, without intervals: what the ladder of models needs."""
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    observed = curve_model.observables(throughput, response)
    return most_probable(
        curve_model.parameters(load, throughput, response), curve_model.start(load, throughput, response),
        lambda values: curve_model.predicted(values, load), observed, points.noise(len(observed) // len(load)),
        curve_model.error_prior, correlation_of(curve_model, load),
    )  # fmt: skip


def curve_of_mode(points: Points, curve_model: CurveModel, mode: Array, loads: Array) -> tuple[Array, Array]:
    """Throughput and response (m,) at ``loads`` by a ``mode_of`` these points, with what it misses carried over."""
    throughput, response = (v[0] for v in curve_model.curve(mode[None, :], loads))
    at_used = curve_model.curve(mode[None, :], points.load)
    error = np.array([curve_model.error_prior.median])

    def carried(observed: Array, fitted: Array, noise: Array) -> Array:
        misses = np.log(observed / fitted)
        factor, _ = beyond_the_points(curve_model.discrepancy, points.load, noise, misses, error, loads)
        return np.asarray(np.exp(factor[0]))

    noise = points.noise(2)
    more = carried(points.throughput_per_s, at_used[0], noise[: len(points)])
    if points.load_kind == "queue_depth":
        return throughput * more, response / more  # N = X R
    slower = carried(points.response_time_s, at_used[1], noise[-len(points) :])
    return throughput if points.throughput_is_given else throughput * more, response * slower


def correlation_of(curve_model: CurveModel, load: Array) -> Array | None:
    """That of the model's misses at ``load``; None where they are independent.

    Where throughput and response are both fitted, those of the one tell nothing of the other's.
    """
    if curve_model.discrepancy is None:
        return None
    ones = np.ones_like(load)
    blocks = len(curve_model.observables(ones, ones)) // len(load)
    return np.asarray(np.kron(np.eye(blocks), curve_model.discrepancy.seen(load).among(load)), dtype=np.float64)
