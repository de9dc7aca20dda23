"""What kinds of load have in common: their words, their limits, their laws, and how values are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar, Literal

from measure.units import Figure, format_bandwidth, format_rate, plain_number, significant
from qsim.errors import InvalidParameterError

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
            if not (isfinite(value) and 0 <= value <= self.most) or (value == 0 and not self.may_be_zero):
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
