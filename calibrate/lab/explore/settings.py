"""What a student sets: a model and its parameters, checked, since browsers may send anything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import urlencode

from calibrate.lab.widgets import SliderNumber, plain

if TYPE_CHECKING:
    from qsim import Distribution, Network

Kind = Literal["mm1", "mmc", "mg1", "closed"]
KINDS: Mapping[Kind, str] = {
    "mm1": "M/M/1: one server",
    "mmc": "M/M/c: c servers",
    "mg1": "M/G/1: any service times",
    "closed": "closed: N requests circulate",
}


@dataclass(frozen=True)
class SliderParameter(SliderNumber):
    """A parameter by its name, and the models that have it."""

    name: str = ""
    kinds: tuple[Kind, ...] = ()


_OPEN: tuple[Kind, ...] = ("mm1", "mmc", "mg1")
_ALL: tuple[Kind, ...] = (*_OPEN, "closed")
MOST_SERVERS, MOST_REQUESTS, MOST_VARIABLE = 1000, 2000, 100.0
"""Up to where a page is worked out while one waits for it."""
PARAMETERS: Mapping[str, SliderParameter] = {
    p.name: p
    for p in (
        SliderParameter("arrival rate λ", 0.05, 2.0, 0.05, 0.7, name="arrival_rate", kinds=_OPEN),
        SliderParameter("service time S", 0.1, 5.0, 0.05, 1.0, name="service_time", kinds=_ALL),
        SliderParameter("servers c", 1, 16, 1, 4, MOST_SERVERS, "servers", ("mmc", "closed")),
        SliderParameter(
            "variability of service times c² (1: exponential)", 0.0, 10.0, 0.1, 4.0, MOST_VARIABLE, "scv", ("mg1",)
        ),
        SliderParameter("requests in flight N", 1, 128, 1, 8, MOST_REQUESTS, "population", ("closed",)),
        SliderParameter("think time Z", 0.0, 20.0, 0.1, 1.0, name="think_time", kinds=("closed",)),
    )
}
STEPS = {1: 0.02, 2: 0.05, 5: 0.1, 10: 0.2}


def range_of_rates(settings: Settings) -> list[float]:
    """The slider of the arrival rate, [lowest, highest, step]: to twice what the servers can do, rounded up.

    >>> range_of_rates(Settings("mm1")), range_of_rates(Settings("mm1", service_time=0.05))
    ([0.05, 2.0, 0.05], [1.0, 50.0, 1.0])
    """
    wanted = 2 * settings.servers / settings.service_time
    size = 10.0 ** math.floor(math.log10(wanted))
    first = next(digit for digit in STEPS if digit * size >= wanted * (1 - 1e-9))
    step = float(f"{STEPS[first] * size:.6g}")
    return [step, float(f"{first * size:.6g}"), step]


@dataclass(frozen=True)
class Settings:
    """A model with its parameters, in one time unit; those that the model lacks keep their defaults."""

    kind: Kind
    arrival_rate: float = 0.7
    service_time: float = 1.0
    servers: int = 1
    scv: float = 1.0
    population: int = 8
    think_time: float = 1.0

    @property
    def utilization(self) -> float:
        """rho = lambda S / c of an open model."""
        return self.arrival_rate * self.service_time / self.servers

    @property
    def is_open(self) -> bool:
        """Whether requests come from outside."""
        return self.kind != "closed"

    def at_rate(self, arrival_rate: float) -> Network:
        """The open model at another arrival rate."""
        from qsim import MG1, MMc

        if self.kind == "mg1":
            return MG1(arrival_rate, self.law())
        return MMc(arrival_rate, 1 / self.service_time, self.servers)

    def at_population(self, population: int) -> Network:
        """The closed model with another number of requests."""
        from qsim import MMcN

        return MMcN(population, self.think_time, self.service_time, self.servers)

    def model(self) -> Network:
        """The model with these settings."""
        return self.at_rate(self.arrival_rate) if self.is_open else self.at_population(self.population)

    def law(self) -> Distribution:
        """The service law: a gamma law has any variability, 0 is a constant and 1 the exponential."""
        from qsim import Deterministic, Exponential, Gamma

        if self.kind != "mg1":
            return Exponential(self.service_time)
        if self.scv == 0:
            return Deterministic(self.service_time)
        return Exponential(self.service_time) if self.scv == 1 else Gamma(self.service_time, self.scv)


def linked(query: Mapping[str, str]) -> dict[str, Any]:
    """The model and the parameters that a link asks for, the usual ones where it does not or asks for nonsense.

    >>> linked({"model": "mmc", "servers": "3", "arrival_rate": "x"})["servers"]
    3.0
    """
    kind = query.get("model")
    values: dict[str, Any] = {"model": kind if kind in KINDS else "mm1"}
    for name, parameter in PARAMETERS.items():
        try:
            values[name] = parameter.checked(float(query[name]))
        except (KeyError, ValueError):
            values[name] = parameter.start
    return values


def not_opened(query: Mapping[str, str]) -> str:
    """What of a link is not opened, and why; empty where all is.

    >>> not_opened({"model": "mmc", "servers": "2.5"})
    'The link is not opened as it stands: servers c is 2.5; it must be a whole number. The usual value is shown.'
    """
    reasons = [f"there is no model {query['model']}"] if query.get("model", "mm1") not in KINDS else []
    for name, parameter in PARAMETERS.items():
        try:
            parameter.checked(float(query.get(name, parameter.start)))
        except ValueError as error:
            known = str(error).startswith(parameter.label)
            reasons.append(str(error) if known else f"{parameter.label}: {query[name]} is no number")
    return f"The link is not opened as it stands: {'; '.join(reasons)}. The usual value is shown." if reasons else ""


def link_to(settings: Settings) -> str:
    """The query that opens the settings: ``model=mmc&arrival_rate=0.7&...``."""
    shown = {p.name: plain(getattr(settings, p.name)) for p in PARAMETERS.values() if settings.kind in p.kinds}
    return urlencode({"model": settings.kind, **shown})


def settings_of(kind: object, values: Mapping[str, Any]) -> Settings:
    """The settings sent by a page. ValueError in the student's words for an invalid one."""
    if kind not in get_args(Kind):
        raise ValueError("choose one of the models")
    numbers = {name: p.checked(values.get(name)) for name, p in PARAMETERS.items() if kind in p.kinds}
    whole = {name: int(v) if PARAMETERS[name].step == 1 else v for name, v in numbers.items()}
    return Settings(kind, **whole)  # type: ignore[arg-type]
