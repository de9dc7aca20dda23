"""Which model: one by its name, those of a kind of load, and the usual one for some points."""

from __future__ import annotations

from collections.abc import Iterator

from calibrate.models.curves import (
    TIMES,
    AsymptoticBounds,
    ClosedModel,
    Copies,
    CurveModel,
    Declining,
    OnsetPNorm,
    PNorm,
    ScalabilityLaw,
    is_past_its_peak,
)
from calibrate.points import OpenFacts, Points
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Load, MemoryLoad, Outstanding
from qsim.errors import InvalidParameterError

ANY_LOAD = "p-norm with onset, any load"
"""The model of points that are seen through the chain of what is present."""

KINDS = ("queue_depth", "injected_delay", "bandwidth", "arrival_rate", "any")
"""The kinds of load that models are for; ``any``: of thinking users too."""


def models_of(kind: str) -> Iterator[CurveModel]:
    """The models of one of ``KINDS`` of load, the usual one first; a module is imported where its model is reached.

    >>> [model.name for model in models_of("arrival_rate")][:2]
    ['M/G/c', 'M/G/c, a queue each']
    """
    match kind:
        case "queue_depth":
            yield from (OnsetPNorm(), Declining(), PNorm(), AsymptoticBounds(), ScalabilityLaw())
            from calibrate.models.structure import ServersAndDelay

            yield ServersAndDelay()
        case "injected_delay":
            from calibrate.models.memory_models import DelayLaw

            yield DelayLaw()
        case "bandwidth":
            from calibrate.models.memory_models import MemoryCurve

            yield MemoryCurve()
        case "arrival_rate":
            from calibrate.models.open_models import MD1, MG1, MM1, MGc, MGcEach, SleepingQueue

            yield from (MGc, MGcEach, SleepingQueue(), MG1, MM1, MD1)
        case "any":
            from calibrate.models.through_chain import AnyLoad

            yield AnyLoad()


def is_open(load: Load) -> bool:
    """Whether a watched number of requests is that under arrivals, as far as is known."""
    return isinstance(load, Outstanding) and load.arrivals


def model_for(points: Points, name: str | None) -> CurveModel:
    """The model of that name, or the usual one; ValueError where it is for another kind of load."""
    if name is not None:
        return _named_for(points, name)
    if isinstance(points.load_type, MemoryLoad):
        return next(models_of(points.load_type.kind))
    if points.also or points.capacity_per_s is not None or points.load_type.thinking_s or is_open(points.load_type):
        return model_named(ANY_LOAD).under(points.load_type)
    if isinstance(points.load_type, ClosedLoad):
        declines = isinstance(points.load_type, CountedLoad) and is_past_its_peak(points.throughput_per_s)
        return Declining() if declines else OnsetPNorm()
    from calibrate.models.open_models import SleepingQueue, falls, usual_open

    of_service = isinstance(points.facts, OpenFacts) and points.facts.of_service
    usual = None if of_service and not falls(points) else usual_open(points)
    if usual is None or (of_service and not isinstance(usual, SleepingQueue)):  # X(n) knows no sleep, but all gaps
        return model_named(ANY_LOAD).under(points.load_type)
    return usual


def _named_for(points: Points, name: str) -> CurveModel:
    found = model_named(name).under(points.load_type)
    if name == ANY_LOAD and isinstance(points.load_type, ClosedLoad | ArrivalRate):
        return found
    if points.also:
        why = f"{name!r} takes one kind of load, and these points are of {1 + len(points.also)}"
        raise InvalidParameterError("model", why, f"take {ANY_LOAD!r}", value=name)
    if points.load_type.thinking_s:
        raise InvalidParameterError(
            "model", f"{name!r} takes {points.load_type.plural} for requests in flight, and these think", value=name
        )
    kind = next((kind for kind in KINDS if any(model.name == name for model in models_of(kind))), "queue_depth")
    if kind != points.load_type.kind:
        wanted = f"{kind.replace('_', ' ')}s"
        raise InvalidParameterError(
            "model",
            f"{name!r} needs a sweep over {wanted}",
            f"{points.series} varies the {points.load_type.name}",
            name,
        )
    return found


def model_named(name: str) -> CurveModel:
    """The device model of that name (``p-norm``, ``M/M/1``...). Raises ValueError listing the names."""
    known = []
    for model in (model for kind in KINDS for model in models_of(kind)):
        if model.name == name:
            return model
        known.append(model.name)
    one, times, factor = name.rpartition(TIMES)
    if times:
        return _copies(model_named(one), factor)
    raise InvalidParameterError("model", f"{name!r} is unknown", f"there are: {'; '.join(known)}", value=name)


def _copies(base: CurveModel, factor: str) -> Copies:
    """``factor`` copies of ``base``. Raises ValueError where ``factor`` is not a number, or ``base`` not closed."""
    try:
        times = float(factor)
    except ValueError:
        times = -1.0
    if not isinstance(base, ClosedModel) or times <= 0:
        raise InvalidParameterError("model", f"'{base.name}{TIMES}{factor}' is unknown", value=factor)
    return Copies(base, times)
