"""Device models by name, and the usual one for each kind of load; a model's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from calibrate.models.closed import ClosedModel, Declining, OnsetPNorm, shows_decline
from calibrate.models.curves import TIMES, CurveModel
from calibrate.points import Points
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from calibrate.models.open import OpenModel

MODELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "queue_depth": {
        "p-norm with onset": ("closed", "OnsetPNorm"),
        "p-norm with onset and decline": ("closed", "Declining"),
        "p-norm": ("closed", "PNorm"),
        "asymptotic bounds": ("closed", "AsymptoticBounds"),
        "Universal Scalability Law": ("closed", "ScalabilityLaw"),
        "servers and delay": ("stations", "ServersAndDelay"),
    },
    "injected_delay": {"delay law": ("delay_law", "DelayLaw"), "no queueing": ("delay_law", "Unloaded")},
    "bandwidth": {
        "latency curve": ("memory_curve", "MemoryCurve"),
        "latency of a queue": ("memory_curve", "MemoryQueue"),
    },
}
"""The module and the class of each model, by the kind of load; those of arrival rates are named in ``open``."""

USUAL = {"injected_delay": "delay law", "bandwidth": "latency curve"}

MARGIN = 2.0
"""A queue each, or setup, must make the points more probable by a factor of e squared, else one queue it is."""


def usual_open(points: Points) -> OpenModel:
    """M/G/c with a queue each, or with setup, where the points (two or more) speak for it, else with one queue.

    The first two have the same parameters. One queue lets W stay at S until shortly before saturation, a queue each
    bends it from the first request on.
    """
    from calibrate.models.open import MGc, MGcEach, SleepingQueue, falls

    each, one = (model.weights(points).log_evidence for model in (MGcEach, MGc))
    usual = MGcEach if each > one + MARGIN else MGc
    if not falls(points):
        return usual
    sleeping = SleepingQueue()
    return sleeping if sleeping.weights(points).log_evidence > max(each, one) + MARGIN else usual


def model_for(points: Points, name: str | None) -> CurveModel:
    """The model of that name, or the usual one; ValueError where it is for another kind of load."""
    if name is None and points.load_type.is_closed:
        return Declining() if shows_decline(points.load, points.throughput_per_s) else OnsetPNorm()
    if name is None:
        return usual_open(points) if points.load_type.is_open else model_named(USUAL[points.load_kind])
    found = model_named(name)
    kind = next((kind for kind, models in MODELS.items() if name in models), "arrival_rate")
    kind = "queue_depth" if isinstance(found, ClosedModel) else kind
    if kind != points.load_kind:
        wanted = f"{kind.replace('_', ' ')}s"
        raise InvalidParameterError(
            "model",
            f"{name!r} needs a sweep over {wanted}",
            f"{points.series} varies the {points.load_type.name}",
            name,
        )
    if name == "G/G/c":
        from calibrate.models.open import ggc

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
    known = {model: place for models in MODELS.values() for model, place in models.items()}
    if name in known:
        module, made = known[name]
        model: CurveModel = getattr(import_module(f"calibrate.models.{module}"), made)()
        return model
    one, times, factor = name.rpartition(TIMES)
    if times:
        from calibrate.models.stations import copies

        return copies(model_named(one), factor)
    from calibrate.models.open import open_named

    if (found := open_named(name)) is not None:
        return found
    raise InvalidParameterError(
        "model",
        f"{name!r} is unknown",
        f"there are: {', '.join(known)}, and for arrival rates M/M/1, M/D/1, M/G/1, M/M/c, M/G/c (and: M/G/c, a queue "
        "each; M/G/c with setup), G/G/c, where the c of M/M/c is a number",
        value=name,
    )
