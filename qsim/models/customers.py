"""The customers of a network: those that arrive from outside and leave, and those that circulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from qsim import _check
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.station import ByName


@dataclass(frozen=True)
class Arrivals:
    """Customers of a class that come from outside and leave in the end.

    ``rate``: the rate of a Poisson process; or the law of independent times between arrivals; or one of these for
    each station at which they come in, by its name. Without a name they pass the stations by their visits, or begin at
    the first one of the network.

    >>> from qsim import Exponential, Network, Station, solve
    >>> solve(Network({"cpu": Station(Exponential(0.25))}, Arrivals(2))).W
    0.5
    """

    rate: float | Distribution | Mapping[str, float | Distribution]

    def __post_init__(self) -> None:
        checked: Any
        if isinstance(self.rate, Mapping):
            if not self.rate:
                raise InvalidParameterError("rate", "must not be empty", "give a rate or law for each station")
            checked = ByName({str(s): _source(f"arrivals at {s}", v) for s, v in self.rate.items()})
        else:
            checked = _source("arrivals", self.rate)
        object.__setattr__(self, "rate", checked)

    @property
    def sources(self) -> dict[str | None, Distribution]:
        """What comes in at each station; at None where the network says where."""
        if isinstance(self.rate, Mapping):
            return dict(self.rate)  # type: ignore[arg-type]
        return {None: self.rate}  # type: ignore[dict-item]


Customers: TypeAlias = int | Arrivals
"""How many circulate and never leave, or those that come from outside."""


def customers_of(given: object, parameter: str = "customers") -> Customers:
    """Customers of one class, from what describes them."""
    if isinstance(given, Arrivals):
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return _check.count(parameter.replace("customers", "population", 1), given)
    raise InvalidParameterError(
        parameter,
        f"must be a whole number of customers that circulate, or Arrivals(rate), not {given!r}",
        "with several classes give one of these for each, by its name",
        given,
    )


def _source(parameter: str, given: object) -> Distribution:
    """A law of times between arrivals; a number is a Poisson rate."""
    if isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        return Exponential(1 / _check.positive(parameter, given, "give the mean number of arrivals per time unit"))
    return require_arrivals(parameter, given)


def require_arrivals(parameter: str, given: object) -> Distribution:
    """The value when it is a law of times between arrivals; an infinite exponential one is a Poisson rate of zero."""
    return given if isinstance(given, Exponential) else require(parameter, given)
