"""Device models by name, and the usual one for each kind of load."""

from __future__ import annotations

from collections.abc import Callable

from calibrate.models.curves import AsymptoticBounds, CurveModel, OnsetPNorm, PNorm
from calibrate.models.delay_law import DelayLaw, Unloaded
from calibrate.models.memory_curve import MemoryCurve, MemoryQueue
from calibrate.models.open import MGc, MGcEach, OpenModel, ggc, open_named
from calibrate.models.open_setup import SleepingQueue, falls
from calibrate.models.past_the_peak import Declining, ScalabilityLaw, shows_decline
from calibrate.models.stations import TIMES, ServersAndDelay, copies_named
from calibrate.points import Points
from qsim.errors import InvalidParameterError

MARGIN = 2.0
"""A queue each, or setup, must make the points more probable by a factor of e squared, else one queue it is."""


def usual_open(points: Points) -> OpenModel:
    """M/G/c with a queue each, or with setup, where the points (two or more) speak for it, else with one queue.

    The first two have the same parameters. One queue lets W stay at S until shortly before saturation, a queue each
    bends it from the first request on.
    """
    each, one = (model.weights(points).log_evidence for model in (MGcEach, MGc))
    usual = MGcEach if each > one + MARGIN else MGc
    if not falls(points):
        return usual
    sleeping = SleepingQueue()
    return sleeping if sleeping.weights(points).log_evidence > max(each, one) + MARGIN else usual


def model_for(points: Points, name: str | None) -> CurveModel:
    """The model of that name, or the usual one; ValueError where it is for another kind of load."""
    is_open = points.load_type.is_open
    if name is None and points.load_type.is_closed:
        return Declining() if shows_decline(points.load, points.throughput_per_s) else OnsetPNorm()
    if name is None:
        return usual_open(points) if is_open else MemoryCurve() if points.load_type.is_bandwidth else DelayLaw()
    found = model_named(name)
    if isinstance(found, MemoryQueue) != points.load_type.is_bandwidth:
        raise InvalidParameterError(
            "model",
            (
                f"{name!r} is for {('' if isinstance(found, MemoryQueue) else 'no ')}curves over the bandwidth "
                f"itself, and the load of {points.series} is {points.load_type.name}"
            ),
            value=name,
        )
    if isinstance(found, OpenModel) != is_open:
        meant = "arrival rates (open)" if isinstance(found, OpenModel) else "queue depths or delays (closed)"
        raise InvalidParameterError(
            "model", f"{name!r} needs a sweep over {meant}", f"{points.series} is over another load", value=name
        )
    if name == "G/G/c":
        if points.variability is None:
            raise InvalidParameterError(
                "model",
                "'G/G/c' takes the measured variability of arrivals and service, which this sweep does not hold",
                "take M/G/c, where that of the service is fitted",
            )
        return ggc(*points.variability)
    return found


def model_named(name: str) -> CurveModel:
    """The device model of that name (``p-norm``, ``M/M/4``...). Raises ValueError listing what there is."""
    models: dict[str, Callable[[], CurveModel]] = {
        m.name: m
        for m in (
            OnsetPNorm,
            Declining,
            PNorm,
            AsymptoticBounds,
            ScalabilityLaw,
            ServersAndDelay,
            DelayLaw,
            Unloaded,
            MemoryCurve,
            MemoryQueue,
        )
    }
    if name in models:
        return models[name]()
    if name == (sleeping := SleepingQueue()).name:
        return sleeping
    if (found := open_named(name)) is not None:
        return found
    if TIMES in name and (copies := copies_named(name, model_named(name.rpartition(TIMES)[0]))) is not None:
        return copies
    raise InvalidParameterError(
        "model",
        f"{name!r} is unknown",
        (
            f"there are: {', '.join(models)}, "
            "and for arrival rates M/M/1, M/D/1, M/G/1, M/M/c, M/G/c (and: M/G/c, a queue each; M/G/c with setup), "
            "G/G/c, where the c of M/M/c is a number"
        ),
        value=name,
    )
