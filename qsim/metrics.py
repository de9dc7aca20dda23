"""What is known of a queue once it is solved or simulated.

The symbols are the textbook's.  X: throughput, rho: utilization of one server, L and Lq: mean number present
and waiting, W and Wq: mean time present and waiting.  For a closed model they describe the queueing stations;
think time is not counted.  Every value says whether it is exact, a bound, an approximation or simulated.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, overload

import numpy as np

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.errors import InvalidParameterError
from qsim.result import Result
from qsim.tails import variance_from_tail, variance_of_number
from qsim.text_table import table, without_empty

if TYPE_CHECKING:
    import pandas as pd

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

LOSSES: Mapping[str, str] = MappingProxyType(
    {
        "p_wait": "probability that an arrival that is let in waits",
        "p_block": "probability that an arrival is lost, of all",
    }
)
"""Their meaning where arrivals are lost: the two are not shares of the same arrivals."""

_NAMES = {symbol: name for name, (symbol, _) in SYMBOLS.items()} | {"R": "W"}
"""The names of values by what is printed."""

ShowValue: TypeAlias = Callable[[str, float], str]
"""Writes the value of that name."""


def plain_value(_: str, value: float) -> str:
    """Six digits, without a unit."""
    return f"{value:.6g}"


def short_value(_: str, value: float) -> str:
    """Four digits, without a unit."""
    return f"{value:.4g}"


_MOST_DRAWN = 256  # states in a figure
_LONGEST_DRAWN, _POINTS_DRAWN = 0.995, 201  # times in a figure

SHARES = ("utilization", "p_wait", "p_block")
"""Values that are at most one."""


@dataclass(frozen=True)
class Approximation:
    """One author's value of the mean wait, or a bound on it, and what it is good for.

    >>> from qsim import Gamma, MGc, solve
    >>> found = solve(MGc(1.6, Gamma(mean=1, scv=2), servers=2)).approximations
    >>> {author: round(value.Wq, 2) for author, value in found.items()}
    {'phase-type fit': 2.64, 'Allen-Cunneen': 2.67, 'Krämer-Langenbach-Belz': 2.67, 'Whitt': 2.58, 'Kingman': 5.56}
    """

    Wq: float
    kind: Kind
    validity: str


class Described(Protocol):
    """What was solved or simulated: it has a name, and (a network) may have named stations."""

    @property
    def kendall(self) -> str:
        """Kendall's name, or a description."""
        ...


class States(Protocol):
    """A distribution of the number present."""

    def p(self, n: int) -> float:
        """Probability of exactly n present, n >= 0."""
        ...


class TimeDistribution(Protocol):
    """The distributions of W and Wq."""

    def quantile(self, q: float, of: str) -> float:
        """The time within which a share q stays below, 0 < q < 1."""
        ...

    def quantile_interval(self, q: float, of: str) -> Interval:
        """A confidence interval for that time; both ends equal where it is exact."""
        ...

    def survival(self, t: float, of: str) -> float:
        """P(T > t), t >= 0."""
        ...

    def variance(self, of: str) -> float:
        """Var[T]."""
        ...


class ExactTimes(TimeDistribution, Protocol):
    """Times whose quantiles are exact, and so their own intervals."""

    def quantile_interval(self, q: float, of: str) -> Interval:
        """The quantile twice."""
        value = self.quantile(q, of)
        return (value, value)

    def variance(self, of: str) -> float:
        """Integrated from P(T > t)."""
        return variance_from_tail(lambda t: self.survival(t, of), self.quantile(0.5, "W"))


@dataclass(frozen=True, repr=False)
class Metrics(Result):
    """The answer, in the model's own time unit.

    ``method`` names the formula (with its source) or the engine.  ``intervals`` holds a confidence interval,
    at level ``confidence``, for each simulated value.  ``warnings`` says what weakens the numbers.

    Of a network, the values are those of a whole cycle or passage (utilization: of the busiest station), and
    ``stations`` holds one Metrics for each queueing station, per visit; of several classes of customers they are
    the totals, and ``classes`` holds one for each class, as do those of each station: ``net["die"]["read"].W``.
    ``name`` says which station or class a part is.

    Where only approximations are known, ``approximations`` holds the mean wait by each author's name; how
    far they differ is no confidence interval.

    >>> from qsim import MM1, solve
    >>> solve(MM1(arrival_rate=16, service_rate=20)).W
    0.25
    >>> solve(MM1(arrival_rate=16, service_rate=20))
    M/M/1: exact, M/M/1 (Kleinrock 1975, section 3.2)
    A customer stays W = 0.25 on average, 0.2 of it waiting; L = 4 present; servers 80 % busy
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
    approximations: Mapping[str, Approximation] = field(default_factory=dict)
    states: States | None = field(default=None, repr=False, compare=False)
    times: TimeDistribution | None = field(default=None, repr=False, compare=False)

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
        p_wait: float = math.nan,
        p_block: float = 0.0,
        kind: Kind = "exact",
        **more: Any,
    ) -> Self:
        """The Metrics of one station by Little's law: L = X·W, Lq = X·Wq, with W = Wq + S.

        Give the mean waiting time ``Wq`` or the mean response time ``W``.  ``service`` is the mean time in service S,
        ``servers`` their number c; the ``utilization`` is X·S/c unless it is given.  ``more`` are other fields.

        >>> from qsim import MM1
        >>> r = Metrics.from_times(MM1(16, 20), throughput=16, Wq=0.2, service=0.05, servers=1, method="by hand")
        >>> round(r.W, 9), round(r.L, 9), round(r.utilization, 9)
        (0.25, 4.0, 0.8)
        """
        if (Wq is None) == (W is None):
            raise InvalidParameterError("Wq", "must be given, or W", "one of them, not both")
        wait = Wq if Wq is not None else max(0.0, float(W or 0.0) - service)
        stay = W if W is not None else wait + service
        flows = throughput > 0  # nobody comes: nobody is there, however long a visit would take
        busy = min(throughput * service / servers, 1.0) if flows else 0.0
        return cls(
            model=model,
            throughput=throughput,
            utilization=busy if utilization is None else utilization,
            L=throughput * stay if flows else 0.0,
            Lq=throughput * wait if flows else 0.0,
            W=stay,
            Wq=wait,
            p_wait=p_wait,
            p_block=p_block,
            kind=kind,
            method=method,
            **more,
        )

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
                return self  # of one station the whole says it all
            known = ", ".join(parts) or "none"
            raise InvalidParameterError("name", f"must be that of a station or class ({known}), not {name!r}")
        return parts[name]

    def kind_of(self, name: str) -> Kind:
        """How the value called ``name`` came about: exact, bound, approximation or simulated."""
        name = self._require(name)
        return self.kinds.get(name, self.kind)

    def interval(self, name: str) -> Interval:
        """The confidence interval (low, high) of a simulated value; exact values are their own interval."""
        name = self._require(name)
        value: float = getattr(self, name)
        if name in self.intervals:
            return self.intervals[name]
        if self.kind_of(name) == "exact":
            return (value, value)
        raise ValueError(f"{name} of {self.model.kendall} has no interval: {self.method} gives a single value")

    @property
    def X(self) -> float:  # noqa: N802
        """The throughput."""
        return self.throughput

    @property
    def rho(self) -> float:
        """The utilization of one server."""
        return self.utilization

    @property
    def R(self) -> float:  # noqa: N802
        """The response time W."""
        return self.W

    @overload
    def p(self, n: int) -> float: ...
    @overload
    def p(self, n: Sequence[int] | range | IntArray) -> FloatArray: ...
    def p(self, n: int | Sequence[int] | range | IntArray) -> float | FloatArray:
        """Long-run share of time with exactly ``n`` customers present (at the stations, think time apart).

        >>> from qsim import MM1, solve
        >>> solve(MM1(arrival_rate=16, service_rate=20)).p([0, 1]).round(6).tolist()
        [0.2, 0.16]
        """
        return _each(lambda one: self._states().p(_check.count("n", one, minimum=0)), n)

    @overload
    def cdf(self, t: float, of: str = "W") -> float: ...
    @overload
    def cdf(self, t: Sequence[float] | FloatArray, of: str = "W") -> FloatArray: ...
    def cdf(self, t: float | Sequence[float] | FloatArray, of: str = "W") -> float | FloatArray:
        """P(W <= t), the share of customers that are done within ``t``; ``of="Wq"`` for the waiting time.

        >>> from qsim import MM1, solve
        >>> round(solve(MM1(arrival_rate=16, service_rate=20)).cdf(0.5), 4)
        0.8647
        """
        return 1 - self.survival(t, of)

    @overload
    def survival(self, t: float, of: str = "W") -> float: ...
    @overload
    def survival(self, t: Sequence[float] | FloatArray, of: str = "W") -> FloatArray: ...
    def survival(self, t: float | Sequence[float] | FloatArray, of: str = "W") -> float | FloatArray:
        """P(W > t), the share of customers that take longer; ``of="Wq"`` for the waiting time.

        >>> from qsim import MM1, solve
        >>> solve(MM1(arrival_rate=16, service_rate=20)).survival([0, 0.5, 1]).round(4).tolist()
        [1.0, 0.1353, 0.0183]
        """
        times, name = self._times(), self._time_name(of)
        return _each(lambda one: times.survival(_check.non_negative("t", one), name), t)

    @overload
    def quantile(self, q: float, of: str = "W") -> float: ...
    @overload
    def quantile(self, q: Sequence[float] | FloatArray, of: str = "W") -> FloatArray: ...
    def quantile(self, q: float | Sequence[float] | FloatArray, of: str = "W") -> float | FloatArray:
        """The time that a share ``q`` of the customers stays below; ``of`` is "W" (response) or "Wq" (waiting)."""
        times, name = self._times(), self._time_name(of)

        def one(share: float) -> float:
            value = times.quantile(_check.fraction("q", share), name)
            if value == 0 and name == "Wq" and self.p_wait > (1 - share) * (1 + 1e-9):
                raise ValueError(
                    f"the quantile {share:g} of Wq came out as 0 where P(wait) is {self.p_wait:.6g}: "
                    "simulate() estimates it"
                )
            return value

        return _each(one, q)

    def quantile_interval(self, q: float, of: str = "W") -> Interval:
        """The confidence interval of :meth:`quantile`."""
        return self._times().quantile_interval(_check.fraction("q", q), self._time_name(of))

    def variance(self, of: str = "W") -> float:
        """The variance of the response time "W", the waiting time "Wq" or the number present "L".

        >>> from qsim import MM1, solve
        >>> r = solve(MM1(arrival_rate=16, service_rate=20))
        >>> round(r.variance(), 6), round(r.variance("L"), 6)
        (0.0625, 20.0)
        """
        if of == "L":
            return variance_of_number(self._states().p)
        return self._times().variance(self._time_name(of))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; values that are not known are None."""

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        parts = {
            key: [part.to_dict() for part in parts]
            for key, parts in (("stations", self.stations), ("classes", self.classes))
            if parts
        }
        return {
            "model": self.model.kendall,
            **({"name": self.name} if self.name else {}),
            **{name: plain(getattr(self, name)) for name in SYMBOLS},
            "kind": self.kind,
            "kinds": {name: self.kind_of(name) for name in SYMBOLS},
            "method": self.method,
            "intervals": {name: [plain(low), plain(high)] for name, (low, high) in self.intervals.items()},
            "confidence": self.confidence,
            "customers": self.customers,
            "warmup": self.warmup,
            "seed": self.seed,
            "approximations": {
                name: {"Wq": plain(entry.Wq), "kind": entry.kind, "validity": entry.validity}
                for name, entry in self.approximations.items()
            },
            "warnings": list(self.warnings),
            **parts,
        }

    def to_frame(self) -> pd.DataFrame:
        """A row for the model, then one for each station and class: ``name``, the values, the ends of their intervals.

        Classes inside a station follow it, as "die, read".
        Columns are named as the attributes (``W``, ``W_low``, ``W_high``); times are in the model's own unit.
        """
        import pandas as pd

        inside = [
            row
            for s in self.stations
            for row in (s.values(), *({**c.values(), "name": f"{s.name}, {c.name}"} for c in s.classes))
        ]
        return pd.DataFrame([self.values(), *inside, *(part.values() for part in self.classes)])

    def values(self) -> dict[str, Any]:
        """One row of :meth:`to_frame`."""
        row: dict[str, Any] = {"name": self.name or self.model.kendall}
        for name in SYMBOLS:
            row[name] = getattr(self, name)
            if name in self.intervals:
                row[f"{name}_low"], row[f"{name}_high"] = self.intervals[name]
        return row

    def plot(self, of: str = "L") -> Any:
        """A plotly Figure: the utilization of each part of a network, or the probabilities of n present.

        ``of="W"`` or ``"Wq"``: the share of customers that take longer than t.
        """
        import pandas as pd

        if of != "L":
            t = np.linspace(0, self.quantile(_LONGEST_DRAWN, of), _POINTS_DRAWN)
            drawn = pd.DataFrame({"t": t, f"P({of} > t)": self.survival(t, of)})
            return drawn.plot(kind="line", x="t", y=f"P({of} > t)", title=self._headline(), backend="plotly")
        if self.stations or self.classes or self.states is None:
            frame, x, y = self.to_frame(), "name", "utilization"
        else:
            most = 1
            while most < _MOST_DRAWN and sum(map(self.p, range(most))) < 0.999:
                most *= 2
            frame, x, y = pd.DataFrame({"n": range(most), "p(n)": [self.p(n) for n in range(most)]}), "n", "p(n)"
        return frame.plot(kind="bar", x=x, y=y, title=self._headline(), backend="plotly")

    def answer(self, show: ShowValue = short_value) -> str:
        """The time a customer stays and waits, the number present and the utilization, in a sentence."""
        between = self.intervals.get("W")
        ends = f" ({show('W', between[0])} to {show('W', between[1])})" if between else ""
        parts = [
            "" if math.isnan(self.W) else f"a customer stays W = {show('W', self.W)}{ends} on average",
            "" if math.isnan(self.Wq) else f"{show('Wq', self.Wq)} of it waiting",
        ]
        stays = ", ".join(part for part in parts if part)
        present = "" if math.isnan(self.L) else f"L = {self.L:.4g} present"
        busy = "" if math.isnan(self.utilization) else f"servers {100 * self.utilization:.3g} % busy"
        text = "; ".join(part for part in (stays, present, busy) if part)
        return text[:1].upper() + text[1:]

    def rows(self, show: ShowValue = plain_value) -> list[tuple[str, str, str, str]]:
        """The printed table: (symbol, value, interval or "", meaning), for the values that are known."""
        rows = []
        for name, (symbol, meaning) in SYMBOLS.items():
            value = getattr(self, name)
            if math.isnan(value):
                continue
            ends = self.intervals.get(name)
            between = f"{show(name, ends[0])} .. {show(name, ends[1])}" if ends else ""
            kind = self.kind_of(name)
            words = LOSSES.get(name, meaning) if self.p_block > 0 else meaning
            rows.append((symbol, show(name, value), between, words if kind == self.kind else f"{words} [{kind}]"))
        return rows

    def __str__(self) -> str:
        return self.text()

    def text(self, show: ShowValue | None = None, *, details: bool = False) -> str:
        """The answer, then a table of the values and one of the parts; ``show`` writes a value by its name.

        With ``details`` each station is followed by its classes.
        """
        first = [self._headline(), self.answer(show or short_value)]
        show = show or plain_value
        level = f"{100 * self.confidence:g} % interval" if self.confidence is not None else ""
        header, rows = without_empty(("", "value", level, ""), self.rows(show))
        values = table(header, rows, left=[i in (0, len(header) - 1) for i in range(len(header))])
        parts = [table(head, rows) for head, *rows in self._part_tables(show, details=details)]
        return "\n".join([*first, "", values, *parts, *(f"warning: {w}" for w in self.warnings)])

    def _part_tables(self, show: ShowValue = plain_value, *, details: bool = False) -> list[list[list[str]]]:
        """Stations and classes as rows of cells, the first row being the head."""
        tables = []
        stations = [
            part for s in self.stations for part in (s, *(replace(c, name=f"  {c.name}") for c in s.classes if details))
        ]
        for heading, parts in (("per visit", stations), ("class", self.classes)):
            known = [n for n in SYMBOLS if any(math.isfinite(getattr(part, n)) for part in parts)]
            if parts:
                values = [[(n, getattr(part, n)) for n in known] for part in parts]
                rows = [
                    [part.name, *("" if math.isnan(v) else show(n, v) for n, v in of_part)]
                    for part, of_part in zip(parts, values, strict=True)
                ]
                tables.append([[heading, *(SYMBOLS[n][0] for n in known)], *rows])
        return tables

    def _repr_html_(self) -> str:
        level = f"{100 * self.confidence:g}&nbsp;% interval" if self.confidence is not None else ""
        parts = "".join(f"<table>{_html_rows(table)}</table>" for table in self._part_tables())
        warnings = "".join(f"<p>warning: {html.escape(w)}</p>" for w in self.warnings)
        return (
            f"<table><caption>{html.escape(self._headline())}</caption>"
            f"<tr><th></th><th>value</th><th>{level}</th><th></th></tr>{_html_rows(self.rows())}</table>{parts}{warnings}"
        )

    def __repr__(self) -> str:
        return f"{self._headline()}\n{self.answer()}"

    def _headline(self) -> str:
        part = f"{self.name} of " if self.name else ""
        return f"{part}{self.model.kendall}: {self.kind}, {self.method}"

    def _states(self) -> States:
        if self.states is None:
            raise ValueError(
                f"state probabilities of {self.model.kendall} are not known from {self.method}: "
                "for a model with a formula solve() gives them"
            )
        return self.states

    def _times(self) -> TimeDistribution:
        if self.times is None:
            raise ValueError(
                f"quantiles of {self.model.kendall} are not known from {self.method}: simulate() estimates them"
            )
        return self.times

    @staticmethod
    def _time_name(of: str) -> str:
        if of not in ("W", "Wq"):
            raise InvalidParameterError(
                "of", f"must be 'W' (response time) or 'Wq' (waiting time), not {of!r}", value=of
            )
        return of

    @staticmethod
    def _require(name: str) -> str:
        """The name of a value, which may be given as its symbol."""
        found = _NAMES.get(name, name)
        if found not in SYMBOLS:
            raise InvalidParameterError("name", f"must be one of {', '.join(SYMBOLS)}, not {name!r}", value=name)
        return found


def _each(function: Callable[[Any], float], given: Any) -> float | FloatArray:
    """The function of one value, or an array of those of each."""
    if np.ndim(given) == 0:
        return float(function(given))
    return np.array([function(one) for one in np.asarray(given).tolist()], dtype=np.float64)


def _html_rows(rows: Sequence[Sequence[str]]) -> str:
    return "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
