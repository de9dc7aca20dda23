"""Two systems on the same random numbers: what another service, or another number of servers, makes of one path."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calibrate.lab.explore.path import SampleStretch, served
from calibrate.lab.explore.settings import Settings
from qsim import MD1, MMc, UnstableQueueError, solve


@dataclass(frozen=True)
class Rival:
    """The other system: its name, its path, and its W in the long run (None where it has none)."""

    name: str
    path: SampleStretch
    mean_response: float | None


def rival_of(settings: Settings, path: SampleStretch) -> Rival | None:
    """Constant service for one server, and one fast server for several; None for a closed system.

    Arrivals are those of ``path``, and the fast server takes its service times divided by their number.
    """
    if not settings.is_open:
        return None
    rate, count = settings.arrival_rate, settings.servers
    if settings.kind == "mmc":
        name = f"one server, {count} times as fast"
        services = [(finish - start) / count for start, finish in zip(path.start, path.finish, strict=True)]
        model = MMc(rate, count / settings.service_time, 1)
    else:
        name = "M/D/1, constant service times"
        services = [settings.service_time] * len(path.arrival)
        model = MD1(rate, settings.service_time)
    try:
        mean = float(solve(model).W)
    except UnstableQueueError:
        mean = None
    return Rival(name, served(replace(settings, servers=1), path.arrival, services), mean)


def comparison(settings: Settings, path: SampleStretch, rival: Rival, own_mean: float | None) -> str:
    """Both mean response times, of these requests and in the long run."""
    name = {"mm1": "M/M/1", "mmc": f"{settings.servers} servers", "mg1": "M/G/1"}[settings.kind]
    text = f"The same arrivals: W of these {len(path.arrival)} requests is {path.mean_response():.3g} with {name} and "
    text += f"{rival.path.mean_response():.3g} with {rival.name}"
    if own_mean is None or rival.mean_response is None:
        return f"{text}."
    return f"{text}; in the long run {own_mean:.3g} and {rival.mean_response:.3g}."
