"""The errors of the library.

Each names the parameter or model, its value and the remedy, and holds them as fields.  Constructors raise
``InvalidParameterError``, a ``ValueError``, for an invalid parameter; a ``QsimError`` is for a valid model that has no
answer of the kind requested.
"""

from __future__ import annotations

import math
from typing import Any, Self

ROUNDING = 1e-9  # relative tolerance for rounding a number of servers up: a load of 3 less the last bit is a load of 3


class QsimError(Exception):
    """Base of every error that is not about an invalid parameter."""


class InvalidParameterError(ValueError):
    """An invalid parameter.

    Attributes: ``parameter``, its name; ``problem``, what is wrong, as "must be positive, not -1" or "is empty";
    ``remedy``, what to give instead or why ("" where the problem implies it); ``value``, as it was given, or None.
    """

    def __init__(self, parameter: str, problem: str, remedy: str = "", value: object = None) -> None:
        self.parameter, self.problem, self.remedy, self.value = parameter, problem, remedy, value
        super().__init__(parameter, problem, remedy, value)

    def __str__(self) -> str:
        return self.sentence(self.parameter)

    def sentence(self, name: str) -> str:
        """The whole sentence, with ``name`` as the parameter's name (an option, a column)."""
        begun = f"{name}{self.problem}" if self.problem.startswith((":", "=")) else f"{name} {self.problem}"
        if not self.remedy:
            return begun
        return f"{begun}{': ' if self.problem.startswith('must') else '; '}{self.remedy}"


def must_be(holds: bool, parameter: str, value: object, wanted: str) -> None:
    """Raise InvalidParameterError naming what ``value`` must be, unless ``holds`` is true."""
    if not holds:
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        raise InvalidParameterError(parameter, f"is {shown}", f"it must be {wanted}", value)


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
        least = math.floor(arrival_rate / service_rate * (1 + ROUNDING)) + 1
        super().__init__(
            f"{name} is overloaded: rho = {self.rho:.6g}, and only rho < 1 has a steady state. "
            f"Stable with at least {least if least < 10**9 else f'{least:.3g}'} servers, or an arrival rate "
            f"below {servers * service_rate:.6g}, or a service rate above {arrival_rate / servers:.6g}."
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, float, float, int]]:
        return type(self), self._given  # so that it can be pickled between processes


class NoFormulaError(QsimError, ValueError):
    """No formula is known for this model; the message names ``simulate`` or another remedy.

    Attributes: ``reason``, what there is no formula for, and why.

    >>> from qsim import Exponential, Open, solve
    >>> try:
    ...     solve(Open(Exponential(1.0), Exponential(1.0), servers=2, queues="shortest"))
    ... except NoFormulaError as error:
    ...     print(type(error).__name__)
    NoFormulaError
    """

    def __init__(self, name: str, why: str = "", instead: str = "simulate(model, customers=1_000_000)") -> None:
        self._given = (name, why, instead)
        self.reason = f"no formula for {name} ({why})" if why else f"no formula for {name}"
        super().__init__(f"{self.reason}; use {instead} instead.")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), self._given


class NoEngineError(QsimError, ValueError):
    """The simulation engines do not run this model."""


class SteadyStateError(QsimError, ValueError):
    """The run is too short for a steady state.

    Attributes: ``metrics``, the estimate of the run (:class:`qsim.Metrics`), with the reasons in its ``warnings``;
    ``problem``; ``remedy``, a sentence that ends before the word for ``allow_short``.
    """

    def __init__(self, problem: str, remedy: str, metrics: Any) -> None:
        self.problem, self.remedy, self.metrics = problem, remedy, metrics
        super().__init__(problem, remedy, metrics)

    def __str__(self) -> str:
        return self.sentence("allow_short=True to see the estimate as it is")

    def sentence(self, allow_short: str) -> str:
        """The whole sentence, with the words for ``allow_short``."""
        return f"{self.problem} {self.remedy} {allow_short}."


class MissingExtraError(QsimError, ImportError):
    """An optional part is not installed; the message says how to install it."""
