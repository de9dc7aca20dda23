"""What kinds of load have in common, their words, limits and laws, and loads that are a number of requests in flight:
depths, clients that may think, and what is outstanding on average.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from measure.units import Figure, format_bandwidth, format_duration, format_rate, plain_number, significant
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from qsim._types import FloatArray
    from qsim.analytic.any_load import Curves, Present

LoadKind = Literal["queue_depth", "injected_delay", "arrival_rate", "bandwidth", "buffer_size"]
"""The name of a kind of load in files and in JSON. Outstanding requests have one, whoever counts them."""

BANDWIDTH_FROM = 64 * 2**10
"""The block size, bytes, from which a rate is shown with its bandwidth."""


@dataclass(frozen=True, repr=False)
class Load(ABC):
    """A kind of load, with the ``values`` that are asked for, if any.

    Raises ValueError for a value beyond its limits. Kinds over which one law holds share a base: ``ClosedLoad``,
    ``ThroughputLoad``, ``MemoryLoad``.
    """

    values: Sequence[float] = ()

    kind: ClassVar[LoadKind]
    symbol: ClassVar[str]
    """Heads a column, or stands before a value."""
    knee_symbol: ClassVar[str]
    column: ClassVar[str]
    """The load's column in tables for people; its ending selects the unit."""
    option: ClassVar[str] = ""
    """The command-line option that sets it; empty if none does."""
    rate_name: ClassVar[str] = "throughput"
    most: ClassVar[float]
    """Above any real load: a larger value comes from another column."""
    may_be_zero: ClassVar[bool] = True
    least_points: ClassVar[int]
    """The number of points that a model needs."""
    default_points: ClassVar[tuple[float, ...]] = ()
    """The first values to measure; empty for the two ends and the middle."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(float, self.values)))
        for value in self.values:
            if not (math.isfinite(value) and 0 <= value <= self.most) or (value == 0 and not self.may_be_zero):
                least = "zero or more" if self.may_be_zero else "greater than zero"
                limits = f"must be {least} and at most {self.most:g}, not {value:g}"
                raise InvalidParameterError("values", limits, value=value)

    @property
    @abstractmethod
    def law(self) -> str:
        """What must hold: N or L requests in flight, throughput X, response time R, think time Z."""

    @property
    @abstractmethod
    def name(self) -> str:
        """For axes and messages."""

    @property
    def singular(self) -> str:
        """One of it, in a sentence."""
        return self.name

    @property
    @abstractmethod
    def plural(self) -> str:
        """Several, in a sentence."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """The unit of the values in files."""

    @property
    @abstractmethod
    def knee_unit(self) -> str:
        """The unit of the knee; a delay's knee is a throughput."""

    @property
    @abstractmethod
    def more(self) -> str:
        """What to measure where points are too few."""

    @property
    def thinking_s(self) -> float:
        """The think time Z between an answer and the next request, seconds; 0 where there is none, or none is known."""
        return 0.0

    @property
    def named(self) -> str:
        """The name with the unit; requests need none."""
        return f"{self.name} ({self.unit})"

    @property
    def heading(self) -> str:
        """The heading of a column of its values, in words."""
        return self.singular

    def text(self, value: float, digits: int = 3) -> str:
        """A value as text; a rate or a bandwidth has ``digits`` significant digits."""
        return f"{value:g}"

    def estimated_text(self, value: float, digits: int = 3) -> str:
        """An estimated value as text, to ``digits`` significant digits."""
        return plain_number(value, digits)

    def legend(self, value: float) -> str:
        """A value in a few words, ``N = 8``, ``delay 100``, ``8.00 k/s``."""
        return f"{self.symbol} {self.text(value)}"

    def texts(self, values: Iterable[float]) -> str:
        """Several values, separated by commas."""
        return ", ".join(self.text(value) for value in values)

    def place(self, values: str) -> str:
        """Values in words, such as ``1 to 8``, as a place of the curve."""
        return f"{self.singular} {values}"

    def in_full(self, values: str) -> str:
        """As :meth:`place`, with how requests come where that is not plain: ``70 users who think for 1.00 s``."""
        return self.place(values) + self.who

    @property
    def who(self) -> str:
        """The words behind a number of clients who think, `` who think for 1.00 s``; else empty."""
        return ""

    def places(self, values: str) -> str:
        """As :meth:`place`, where the words name several values."""
        return f"{self.plural} {values}"

    def at(self, *values: float) -> str:
        """Values as a place of the curve: ``depths 1, 8``, ``8 clients``."""
        text = ", ".join(f"{value:g}" for value in values)
        return self.places(text) if len(values) > 1 else self.place(text)

    def are(self, *values: float) -> str:
        """The verb of these values as a place: ``depth 8`` is, ``depths 1, 8`` and ``8 clients`` are."""
        return "is" if len(values) == 1 else "are"

    def place_of(self, value: float) -> str:
        """One measured value as a place, with its unit."""
        return self.place(self.text(value))

    def where(self, values: Iterable[float]) -> str:
        """Values as a place of the curve; a rate, a bandwidth or a size by its value alone."""
        return self.at(*values)

    def listed(self, values: Iterable[float]) -> str:
        """Values in a sentence: ``depths 1, 8 and 64``."""
        texts = [self.text(value) for value in values]
        if not texts:
            return f"no {self.plural}"
        text = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
        return self.places(text) if len(texts) > 1 else self.place(text)

    @property
    def figure(self) -> Figure:
        """Formats an estimated load."""
        return _plain

    @property
    def throughput_figure(self) -> Figure:
        """Formats a throughput."""
        return format_rate

    def moved_text(self, block_bytes: float | None, throughput_per_s: float) -> str:
        """The bandwidth of a throughput of blocks of 64 KiB or more; empty for smaller ones."""
        if block_bytes is None or block_bytes < BANDWIDTH_FROM:
            return ""
        return format_bandwidth(block_bytes * throughput_per_s, 2)

    def measure(self, values: str, options: str = "") -> str:
        """How to measure ``values``, in words: the command with its ``options``, or the tool of the table."""
        return f"qsim measure fio TARGET {self.option} {values}{options} --out DIR"

    def shared_by(self, jobs: Iterable[float]) -> Load:
        """The load of points whose numbers of jobs are ``jobs`` (NaN where unknown); only depths are shared."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without the values; :func:`measure.loads.load_from_dict` is the inverse."""
        return {"load_kind": self.kind, "load_unit": self.unit}

    def __repr__(self) -> str:
        given = [f"[{', '.join(map('{:.15g}'.format, self.values))}]"] if self.values else []
        for field in fields(self)[1:]:
            if (value := getattr(self, field.name)) != field.default:
                given.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"


class LoadWithUnit(Load):
    """A load with a unit of its own, so that its value alone says what it is."""

    @abstractmethod
    def text(self, value: float, digits: int = 3) -> str: ...

    def estimated_text(self, value: float, digits: int = 3) -> str:
        return self.text(value, digits)

    def legend(self, value: float) -> str:
        return self.text(value)

    def where(self, values: Iterable[float]) -> str:
        return self.texts(values)


class ThroughputLoad(LoadWithUnit):
    """The load is the throughput, so that only the response time is predicted."""

    @property
    def figure(self) -> Figure:
        return self.throughput_figure


def _plain(value: float, digits: int = 3, like: float | None = None, /) -> str:
    return significant(value, digits)


# --- requests in flight -----------------------------------------------------------------------------------------------

Figures = TypeVar("Figures", Any, float)
_SINGULAR = {"processes": "process"}


class ClosedLoad(Load):
    """N requests circulate: each is sent when another completes, at once or after a think time.

    So the queue is that of a machine repairman, not M/M/1: N = X (R + Z) (Denning and Buzen, ACM Computing Surveys
    1978, the interactive response time law).
    """

    kind: ClassVar[LoadKind] = "queue_depth"
    symbol = "N"
    knee_symbol = "N*"
    column = "load"
    most = 1e6
    may_be_zero = False
    least_points = 1
    default_points = (1.0, 8.0, 64.0)

    @property
    def law(self) -> str:
        return "N = X R"

    @property
    def named(self) -> str:
        return self.name

    @property
    def step(self) -> int:
        """The least load that can be set; the others are its multiples."""
        return 1

    def legend(self, value: float) -> str:
        return f"{self.symbol} = {self.text(value)}"

    def place_of(self, value: float) -> str:
        return self.at(value)

    def by_law(self, throughput_per_s: Figures, response_s: Figures) -> Figures | None:
        """The load that the law gives from a throughput and a response time; None where the think time is unknown."""
        return throughput_per_s * response_s

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        """What is present at stations of these ``curves`` under ``load``; ``scv`` (w,) is that of service times."""
        return curves.closed(load)

    def response_by_law(self, load: Figures, throughput_per_s: Figures) -> Figures | None:
        """The response time that the law gives, seconds; None where the think time is unknown."""
        return load / throughput_per_s


class CountedLoad(ClosedLoad):
    """Requests counted by another tool, as that of a table; qsim does not set them."""

    @property
    def name(self) -> str:
        return f"{self.plural} N"

    @property
    def unit(self) -> str:
        return self.plural

    @property
    def knee_unit(self) -> str:
        return self.plural

    @property
    def more(self) -> str:
        return f"1, about 64, and the most {self.plural} you will ever have"

    @property
    def heading(self) -> str:
        return self.plural

    def place(self, values: str) -> str:
        return f"{values} {self.singular if values == '1' else self.plural}"

    def places(self, values: str) -> str:
        return self.place(values)

    def are(self, *values: float) -> str:
        return "is" if values == (1.0,) else "are"

    def measure(self, values: str, options: str = "") -> str:
        return f"measure {self.place(values)} with the tool that made the table"


@dataclass(frozen=True, repr=False)
class Depth(ClosedLoad):
    """N requests are outstanding, in ``jobs`` jobs that share them (None where points differ in their jobs).

    >>> Depth([1, 8, 64]).listed([1, 8, 64]), Depth().at(8), Depth(jobs=4).at(9.5)
    ('depths 1, 8 and 64', 'depth 8', 'outstanding 9.5 (iodepth 2.4 × 4 jobs)')
    """

    jobs: int | None = 1

    name = "outstanding requests N"
    unit = "requests"
    knee_unit = ""
    option = "--depths"
    more = "depths 1 and 32; with three, 1, 8 and 64: qsim measure fio TARGET --depths 1,32 --out DIR"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jobs is not None and self.jobs < 1:
            raise InvalidParameterError("jobs", f"must be 1 or more, not {self.jobs!r}", value=self.jobs)

    @property
    def singular(self) -> str:
        return "depth" if self.jobs == 1 else "outstanding"

    @property
    def plural(self) -> str:
        return "depths" if self.jobs == 1 else "outstanding"

    @property
    def step(self) -> int:
        return self.jobs or 1

    def at(self, *values: float) -> str:
        shared = len(values) == 1 and 1 < self.step <= values[0]
        share = f" (iodepth {values[0] / self.step:.2g} × {self.step} jobs)" if shared else ""
        return f"{super().at(*values)}{share}"

    def shared_by(self, jobs: Iterable[float]) -> Depth:
        """The load of points whose numbers of jobs are ``jobs``, NaN where unknown.

        >>> Depth().shared_by([4, 4]), Depth().shared_by([1, 4]), Depth(jobs=4).shared_by([1])
        (Depth(jobs=4), Depth(jobs=None), Depth())
        """
        numbers = {int(number) for number in jobs if not math.isnan(number)}
        if max(numbers, default=1) <= 1:
            return replace(self, jobs=1)
        return replace(self, jobs=numbers.pop() if len(numbers) == 1 else None)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.jobs == 1 else {"load_jobs": self.jobs})


@dataclass(frozen=True, repr=False)
class Clients(CountedLoad):
    """N clients, each with one request or thinking; ``noun`` is what the table calls them.

    ``think`` is the mean think time Z between an answer and the next request, seconds: 0 where there is none, None
    where it is unknown and to be found from Z = N / X - R. Its law does not matter to the means (Baskett, Chandy,
    Muntz and Palacios, Journal of the ACM 1975). Raises ValueError for an impossible think time or noun.

    >>> users = Clients([10, 100], think=1.0, noun="users")
    >>> users, users.law, users.at(10), users.by_law(95.0, 0.05)
    (Clients([10, 100], think=1.0, noun='users'), 'N = X (R + Z)', '10 users', 99.75)
    >>> Clients(noun="processes").at(1), Clients().law
    ('1 process', 'N = X R')
    """

    think: float | None = 0.0
    noun: str = "clients"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.think is not None and not (math.isfinite(self.think) and self.think >= 0):
            raise InvalidParameterError("think", f"must be zero or more seconds, not {self.think!r}", value=self.think)
        if not self.noun or any(letter.isdigit() for letter in self.noun):
            raise InvalidParameterError("noun", f"must be a word such as users, not {self.noun!r}", value=self.noun)

    @property
    def thinking_s(self) -> float:
        return self.think or 0.0

    @property
    def law(self) -> str:
        return "N = X R" if self.think == 0 else "N = X (R + Z)"

    @property
    def singular(self) -> str:
        return _SINGULAR.get(self.noun, self.noun.removesuffix("s"))

    @property
    def plural(self) -> str:
        return self.noun

    @property
    def who(self) -> str:
        return f" who think for {format_duration(self.think)}" if self.think else ""

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        if not self.think:
            return curves.closed(load)
        return curves.under_thinking(max(round(load), 1), self.think, 0.5 * (1 + scv))

    def by_law(self, throughput_per_s: Figures, response_s: Figures) -> Figures | None:
        return None if self.think is None else throughput_per_s * (response_s + self.think)

    def response_by_law(self, load: Figures, throughput_per_s: Figures) -> Figures | None:
        return None if self.think is None else load / throughput_per_s - self.think

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({} if self.think == 0 else {"load_think_s": self.think})


@dataclass(frozen=True, repr=False)
class Outstanding(CountedLoad):
    """The mean number of requests in the device that the kernel or a tool counted; nobody set it.

    It varies around its mean, so N = X R becomes L = X R. Where it is that under Poisson ``arrivals`` its variance is
    that of the queue; else it is taken to stay about its mean.

    >>> Outstanding().at(2.5), Outstanding().law
    ('2.5 outstanding', 'L = X R')
    """

    arrivals: bool = False

    law = "L = X R"
    singular = "outstanding"
    plural = "outstanding"

    def present(self, curves: Curves, load: float, scv: FloatArray | float) -> Present:
        """As for other closed loads; under arrivals X is that which keeps ``load`` present, in proportion to X(n)."""
        return curves.with_mean(load, 0.5 * (1 + scv)) if self.arrivals else curves.closed(load)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({"load_arrivals": True} if self.arrivals else {})


def counted_in(noun: str) -> ClosedLoad:
    """The load of a table that calls its outstanding requests ``noun``: requests, clients, users, threads.

    >>> counted_in("requests"), counted_in("users"), counted_in("outstanding")
    (Depth(), Clients(noun='users'), Outstanding())
    """
    if noun == Depth.unit:
        return Depth()
    return Outstanding() if noun == Outstanding.plural else Clients(noun=noun)
