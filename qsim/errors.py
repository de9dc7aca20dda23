"""What the library refuses, and what it says when it does.

Every refusal names the thing, its value and the remedy.  Parameters that make no sense at all are plain
``ValueError``s raised by the constructors; the classes here are for models that are well formed but have no
answer of the kind that was asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from qsim.metrics import Metrics


class QsimError(Exception):
    """Base of every refusal that is more than a malformed parameter."""


class UnstableQueueError(QsimError, ValueError):
    """More work arrives than the servers can do, so no steady state exists.

    Attributes: ``rho``, the offered load per server (at least 1).

    >>> from qsim import MM1, solve
    >>> try:
    ...     solve(MM1(arrival_rate=3, service_rate=2))
    ... except UnstableQueueError as error:
    ...     print(str(error)[:30])
    M/M/1 is overloaded: rho = 1.5
    """

    def __init__(self, name: str, arrival_rate: float, service_rate: float, servers: int) -> None:
        self._given = (name, arrival_rate, service_rate, servers)
        self.rho = arrival_rate / (servers * service_rate)
        super().__init__(
            f"{name} is overloaded: rho = {self.rho:.6g}, and only rho < 1 has a steady state. "
            f"Stable with at least {_shown(math.floor(arrival_rate / service_rate) + 1)} servers, or an arrival rate "
            f"below {servers * service_rate:.6g}, or a service rate above {arrival_rate / servers:.6g}."
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, float, float, int]]:
        return type(self), self._given  # so that it survives the way home from another process


def _shown(count: int) -> str:
    return str(count) if count < 10**9 else f"{count:.3g}"


class NoFormulaError(QsimError, ValueError):
    """No formula is known here for this model; ``simulate`` is the way.

    >>> from qsim import Closed, LogNormal, Station, solve
    >>> try:
    ...     solve(Closed(4, [Station(LogNormal(1, 4)), Station(LogNormal(2, 4))]))
    ... except NoFormulaError as error:
    ...     print(type(error).__name__)
    NoFormulaError
    """

    def __init__(self, name: str, why: str = "") -> None:
        reason = f" ({why})" if why else ""
        super().__init__(f"no formula for {name}{reason}; use simulate(model, customers=1_000_000) instead.")


class NoEngineError(QsimError, ValueError):
    """The simulation engines do not run this model."""


class SteadyStateError(QsimError, ValueError):
    """The run is too short to speak of a steady state.

    Attributes: ``metrics``, the estimate the run gave, with the reasons in ``metrics.warnings``.
    """

    def __init__(self, message: str, metrics: Metrics) -> None:
        self.metrics = metrics
        super().__init__(message)

    def __reduce__(self) -> tuple[type[Self], tuple[str, Metrics]]:
        return type(self), (str(self), self.metrics)  # so that it survives the way home from another process


class PrecisionError(SteadyStateError):
    """The run is too short for the precision that was asked for; the estimate is in ``metrics``."""


class MissingExtraError(QsimError, ImportError):
    """An optional part was not installed; the message says how to install it."""
