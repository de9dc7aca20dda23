"""The results of solving or simulating a queue.

The symbols are the textbook's. X: throughput, rho: utilization of one server, L and Lq: mean number present
and waiting, W and Wq: mean time present and waiting. For a closed model they describe the queueing stations;
think time is not counted. Every value says whether it is exact, a bound, an approximation or simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.result import Result

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Kind: TypeAlias = Literal["exact", "bound", "approximation", "simulated"]
Interval: TypeAlias = tuple[float, float]

SYMBOLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "throughput": ("X", "throughput, customers per time unit"),
        "utilization": ("rho", "utilization of one server"),
        "L": ("L", "mean number present"),
        "Lq": ("Lq", "mean number waiting"),
        "W": ("W", "mean time present (response time)"),
        "Wq": ("Wq", "mean time waiting"),
        "p_wait": ("P(wait)", "probability that an arrival waits"),
        "p_block": ("P(block)", "probability that an arrival is lost"),
    }
)
"""Value name -> (textbook symbol, meaning), in the order in which they are printed."""

SHARES = ("utilization", "p_wait", "p_block")  # values that are at most one


MOST_PIECES = 200


def variance_from_tail(survival: Callable[[float], float], scale: float) -> float:
    """Var[T] = 2·integral of t·P(T > t) - (integral of P(T > t))², over pieces of doubling length.

    ``scale`` is a typical time.  Infinite where the pieces do not converge.

    >>> round(variance_from_tail(lambda t: math.exp(-t / 3), scale=1.0), 6)
    9.0
    """
    from scipy.integrate import quad

    first = second = 0.0
    low, high = 0.0, scale
    for _ in range(MOST_PIECES):
        area = quad(survival, low, high, limit=200, epsabs=1e-10 * scale, epsrel=1e-9)[0]
        moment = 2 * quad(lambda t: t * survival(t), low, high, limit=200, epsabs=1e-10 * scale**2, epsrel=1e-9)[0]
        first, second = first + area, second + moment
        if moment <= 1e-11 * second:
            return max(0.0, second - first**2)
        low, high = high, 2 * high
    return math.inf


class Described(Protocol):
    """The model that was solved or simulated."""

    @property
    def kendall(self) -> str: ...


class States(Protocol):
    """A distribution of the number present."""

    def p(self, n: int) -> float: ...


class TimeDistribution(Protocol):
    """The distributions of W and Wq."""

    def quantile(self, q: float, of: str) -> float:
        """The time t with P(T <= t) = q, 0 < q < 1."""

    def quantile_interval(self, q: float, of: str) -> Interval:
        """A confidence interval for the quantile; both ends are equal where it is exact."""

    def survival(self, t: float, of: str) -> float:
        """P(T > t), t >= 0."""

    def variance(self, of: str) -> float:
        """Var[T]."""


@runtime_checkable
class EstimatedTimes(TimeDistribution, Protocol):
    """Times that were simulated."""

    def survival_interval(self, t: float, of: str) -> Interval:
        """A confidence interval for P(T > t)."""


class ExactTimes(TimeDistribution, Protocol):
    """Times whose quantiles are exact, so that each is its own interval."""

    def quantile_interval(self, q: float, of: str) -> Interval:
        """The quantile twice."""
        value = self.quantile(q, of)
        return (value, value)

    def variance(self, of: str) -> float:
        """Integrated from P(T > t)."""
        return variance_from_tail(lambda t: self.survival(t, of), self.quantile(0.5, "W"))


class Later(partial[Any]):
    """A call that gives a field's value; it is made when the field is first read."""


class _MadeWhenRead:
    """A field of Metrics that may be given as Later."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, metrics: Metrics | None, owner: type[Metrics]) -> Any:
        if metrics is None:  # the class itself is looked at
            return self
        value = metrics.__dict__[self._name]
        if type(value) is Later:
            value = metrics.__dict__[self._name] = value()
        return value

    def __set__(self, metrics: Metrics, value: object) -> None:
        metrics.__dict__[self._name] = value


@dataclass(frozen=True, repr=False)
class Metrics(Result):
    """The results for a model, in its time unit.

    ``method`` names the formula (with its source) or the engine. ``intervals`` holds a confidence interval,
    at level ``confidence``, for each simulated value. ``warnings`` says what weakens the numbers.

    For a network, the values are those of a whole cycle or passage (utilization: of the busiest station), and
    ``stations`` holds one Metrics for each queueing station, per visit; with several classes of customers they are
    the totals, and ``classes`` holds one for each class, as does each station: ``net["die"]["read"].W``.
    ``name`` says which station or class a part is.

    Where only approximations are known, ``approximations`` holds the mean wait by each author's name; how
    far they differ is not a confidence interval.

    >>> from qsim import MM1, solve
    >>> solve(MM1(arrival_rate=16, service_rate=20)).W
    0.25
    >>> solve(MM1(arrival_rate=16, service_rate=20))
    M/M/1: exact, M/M/1 (Kleinrock 1975, section 3.2)
    A customer stays W = 0.25 on average, 0.2 of it waiting; L = 4 present; the server 80 % busy
    """

    model: Described
    throughput: float
    utilization: float
    L: float
    Lq: float
    W: float
    Wq: float
    p_wait: float
    p_block: float
    kind: Kind
    method: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    confidence: float | None = None
    customers: int | None = None
    warmup: int | None = None
    seed: int | None = None
    warnings: tuple[str, ...] = ()
    name: str = ""
    stations: tuple[Metrics, ...] = ()
    classes: tuple[Metrics, ...] = ()
    approximations: Mapping[str, float] = field(default_factory=dict)
    states: States | None = field(default=None, repr=False, compare=False)
    times: TimeDistribution | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        from qsim.metrics_view import short_text

        return short_text(self)

    def __str__(self) -> str:
        from qsim.metrics_view import long_text

        return long_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; values that are not known are None."""
        from qsim.metrics_view import document

        return document(self)

    def to_frame(self) -> pd.DataFrame:
        """A row for the model, then one for each station and class: ``name``, the values, their intervals' ends."""
        from qsim.metrics_view import frame

        return frame(self)

    def plot(self, of: str = "L") -> Figure:
        """A plotly Figure: P(n present) or, of a network, utilizations; ``of='W'`` or ``'Wq'``: P(T > t)."""
        from qsim.metrics_view import figure

        return figure(self, of)

    @classmethod
    def from_times(
        cls,
        model: Described,
        *,
        throughput: float,
        service: float,
        servers: float,
        method: str,
        Wq: float | None = None,
        W: float | None = None,
        utilization: float | None = None,
        most: float = math.inf,
        p_wait: float = math.nan,
        p_block: float = 0.0,
        kind: Kind = "exact",
        **more: Any,
    ) -> Self:
        """The Metrics of one station by Little's law: L = X·W, Lq = X·Wq, with W = Wq + S.

        Give the mean waiting time ``Wq`` or the mean response time ``W``.  ``service`` is the mean time in service S,
        ``servers`` their number c; the ``utilization`` is X·S/c unless it is given.  ``most``: the upper limit of L
        and Lq, despite rounding.  ``more``: other fields.

        >>> from qsim import MM1
        >>> r = Metrics.from_times(MM1(16, 20), throughput=16, Wq=0.2, service=0.05, servers=1, method="by hand")
        >>> round(r.W, 9), round(r.L, 9), round(r.utilization, 9)
        (0.25, 4.0, 0.8)
        """
        if (Wq is None) == (W is None):
            raise InvalidParameterError("Wq", "must be given, or W", "one of them, not both")
        wait = Wq if Wq is not None else max(0.0, float(W or 0.0) - service)
        stay = W if W is not None else wait + service
        flows = throughput > 0  # without arrivals L is 0, however long a visit would take
        busy = min(throughput * service / servers, 1.0) if flows else 0.0
        return cls(
            model=model,
            throughput=throughput,
            utilization=busy if utilization is None else utilization,
            L=min(throughput * stay, most) if flows else 0.0,
            Lq=throughput * wait if flows else 0.0,
            W=stay,
            Wq=wait,
            p_wait=p_wait,
            p_block=p_block,
            kind=kind,
            method=method,
            **more,
        )

    def alike(self, **values: object) -> Self:
        """The same but for these fields: quicker than making each field anew, where there are many alike.

        >>> from qsim import MM1, solve
        >>> solve(MM1(arrival_rate=16, service_rate=20)).alike(name="disk").name
        'disk'
        """
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, **values)
        return made

    def __getitem__(self, name: str) -> Metrics:
        """The station or class of that name.

        >>> from qsim import Arrivals, Exponential, Network, Station, solve
        >>> net = solve(Network({"cpu": Station(Exponential(0.1)), "die": Station(Exponential(0.2))}, Arrivals(4)))
        >>> round(net["die"].W, 6)
        1.0
        """
        parts = {part.name: part for part in (*self.classes, *self.stations)}
        if name not in parts:
            if not self.stations and name in getattr(self.model, "listed", ()):
                return self  # a single station has the values of the network
            known = ", ".join(parts) or "none"
            raise InvalidParameterError("name", f"must be that of a station or class ({known}), not {name!r}")
        return parts[name]

    def kind_of(self, name: str) -> Kind:
        """The kind of the value called ``name``: exact, bound, approximation or simulated."""
        _check.one_of("name", name, tuple(SYMBOLS))
        return self.kinds.get(name, self.kind)

    def interval(self, name: str) -> Interval:
        """The confidence interval (low, high) of a simulated value; exact values are their own interval."""
        _check.one_of("name", name, tuple(SYMBOLS))
        value: float = getattr(self, name)
        if name in self.intervals:
            return self.intervals[name]
        if self.kind_of(name) == "exact":
            return (value, value)
        raise ValueError(f"{name} of {self.model.kendall} has no interval: {self.method} gives a single value")

    def p(self, n: int | Sequence[int] | range | IntArray) -> Any:
        """Long-run share of time with exactly ``n`` customers present (at the stations, think time apart)."""
        if (states := self.states) is None:
            raise ValueError(
                f"state probabilities of {self.model.kendall} are not known from {self.method}: "
                "for a model with a formula solve() gives them"
            )
        return _each(lambda one: states.p(_check.count("n", one, minimum=0)), n)

    def cdf(self, t: float | Sequence[float] | FloatArray, of: str = "W") -> Any:
        """P(W <= t), the share of customers that are done within ``t``; ``of="Wq"`` for the waiting time."""
        return 1 - self.survival(t, of)

    def survival(self, t: float | Sequence[float] | FloatArray, of: str = "W") -> Any:
        """P(W > t), the share of customers that take longer; ``of="Wq"`` for the waiting time.

        >>> from qsim import MM1, solve
        >>> solve(MM1(arrival_rate=16, service_rate=20)).survival([0, 0.5, 1]).round(4).tolist()
        [1.0, 0.1353, 0.0183]
        """
        times = self._times(of)
        return _each(lambda one: times.survival(_check.non_negative("t", one), of), t)

    def quantile(self, q: float | Sequence[float] | FloatArray, of: str = "W") -> Any:
        """The time that a share ``q`` of the customers stays below; ``of`` is "W" (response) or "Wq" (waiting)."""
        times = self._times(of)

        def one(share: float) -> float:
            value = times.quantile(_check.fraction("q", share), of)
            if value == 0 and of == "Wq" and self.p_wait > (1 - share) * (1 + 1e-9):
                raise ValueError(
                    f"the quantile {share:g} of Wq came out as 0 where P(wait) is {self.p_wait:.6g}: "
                    "simulate() estimates it"
                )
            return value

        return _each(one, q)

    def quantile_interval(self, q: float, of: str = "W") -> Interval:
        """The confidence interval of :meth:`quantile`."""
        return self._times(of).quantile_interval(_check.fraction("q", q), of)

    def survival_interval(self, t: float, of: str = "W") -> Interval:
        """The confidence interval of :meth:`survival`; by formula both ends are its value."""
        times, time = self._times(of), _check.non_negative("t", t)
        if isinstance(times, EstimatedTimes):
            return times.survival_interval(time, of)
        share = times.survival(time, of)
        return (share, share)

    def variance(self, of: str = "W") -> float:
        """The variance of the response time "W" or the waiting time "Wq"."""
        return self._times(of).variance(of)

    def _times(self, of: str) -> TimeDistribution:
        _check.one_of("of", of, ("W", "Wq"))
        if self.times is None:
            raise NoFormulaError(f"quantiles of {self.model.kendall}", f"not known from {self.method}")
        return self.times


for _name in ("stations", "states", "times"):
    setattr(Metrics, _name, _MadeWhenRead(_name))


def _each(function: Callable[[Any], float], given: Any) -> float | FloatArray:
    """The function of one value, or an array of its values for a sequence."""
    if np.ndim(given) == 0:
        return float(function(given))
    return np.array([function(one) for one in np.asarray(given).tolist()], dtype=np.float64)
