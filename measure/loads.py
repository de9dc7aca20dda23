"""The load: what a sweep varies. ``LOADS`` has an entry for each kind of load.

>>> LOADS["queue_depth"].is_closed, LOADS["arrival_rate"].text(63900.7)
(True, '63.9 k/s')
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from measure.units import (
    CACHE_LINE_BYTES,
    Figure,
    format_bandwidth,
    format_bytes,
    format_rate,
    plain_number,
    significant,
)

BANDWIDTH_FROM = 64 * 2**10
"""The block size, bytes, from which a rate is shown with its bandwidth."""

OUTSTANDING = "outstanding"
"""The unit of a load that was watched: the mean number of requests in the device, from all programs."""

LoadKind = Literal["queue_depth", "injected_delay", "arrival_rate", "bandwidth", "buffer_size"]


@dataclass(frozen=True)
class Load:
    """A kind of load: its names, its limits and its properties.

    ``name`` is for axes and messages, ``noun`` and ``plural`` are for sentences, ``symbol`` heads a column or stands
    before a value, ``knee_symbol`` and ``knee_unit`` are those of the knee (a delay's is known by its throughput).
    ``unit`` is the unit where a file gives none, ``column`` the load's column in tables for people (its ending selects
    the unit). ``option`` is the command-line option that sets it, empty if no option does; ``more`` says what to
    measure if points are too few.

    ``jobs`` is how many jobs share a load of outstanding requests, where all loads have the same number; else 1.
    ``most`` is above any real load: a larger value comes from another column. ``least_points`` is the number of points
    that a model needs; ``default_points`` are the first values to measure, empty for the two ends and the middle.
    ``format`` writes a value with its unit; without it a value is a plain number.
    """

    kind: LoadKind
    name: str
    noun: str
    plural: str
    symbol: str
    knee_symbol: str
    knee_unit: str
    unit: str
    column: str
    option: str
    more: str
    most: float
    least_points: int
    default_points: tuple[float, ...] = ()
    format: Callable[[float, int], str] | None = None
    is_closed: bool = False
    """N requests circulate: each is sent when another completes."""
    is_open: bool = False
    """Requests arrive independently of completions."""
    is_delay: bool = False
    """A pause between requests: the longer, the lower the throughput, by which a knee is given."""
    is_memory: bool = False
    """A curve of a memory: requests are cache lines."""
    is_throughput: bool = False
    """The load is the throughput, so that only the response time is predicted."""
    is_size: bool = False
    """The size of a buffer: it shows the caches, and no queue describes it."""
    may_be_zero: bool = True
    jobs: int = 1

    @property
    def is_drive(self) -> bool:
        """Requests are those of a drive or a server, sent by fio or the like."""
        return self.is_closed or self.is_open

    @property
    def is_probed(self) -> bool:
        """Whether the memory probe varies it: pauses and buffer sizes."""
        return self.is_delay or self.is_size

    @property
    def is_bandwidth(self) -> bool:
        """Whether it is a memory's bandwidth, of a curve published without what was varied."""
        return self.is_memory and self.is_throughput

    @property
    def rate_name(self) -> str:
        """The name of a throughput: bandwidth for a memory."""
        return "bandwidth" if self.is_memory else "throughput"

    def text(self, value: float, digits: int = 3) -> str:
        """A value as text; a rate or a bandwidth has ``digits`` significant digits."""
        return f"{value:g}" if self.format is None else self.format(value, digits)

    def estimated_text(self, value: float, digits: int = 3) -> str:
        """An estimated value as text, to ``digits`` significant digits."""
        return plain_number(value, digits) if self.format is None else self.format(value, digits)

    def legend(self, value: float) -> str:
        """A value in a few words, ``N = 8``, ``delay 100``, ``8.00 k/s``."""
        if self.format is not None:
            return self.text(value)
        return f"{self.symbol}{' =' if self.is_closed else ''} {self.text(value)}"

    def texts(self, values: Iterable[float]) -> str:
        """Several values, separated by commas."""
        return ", ".join(self.text(value) for value in values)

    def listed(self, values: Iterable[float]) -> str:
        """Values in a sentence.

        >>> depth = LOADS["queue_depth"]
        >>> depth.listed([1, 8, 64]), depth.listed([4]), depth.counted_in("clients").listed([1, 8])
        ('depths 1, 8 and 64', 'depth 4', '1 and 8 clients')
        """
        texts = [self.text(value) for value in values]
        if not texts:
            return f"no {self.plural}"
        text = " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
        return f"{self.plural} {text}" if len(texts) > 1 and not self.is_counted else self.place(text)

    @property
    def figure(self) -> Figure:
        """Formats an estimated load: a rate or a bandwidth with its unit, others as plain numbers."""
        return format_rate if self.is_open else format_bandwidth if self.is_bandwidth else _plain

    @property
    def throughput_figure(self) -> Figure:
        """Formats a throughput: requests a second, or a memory's cache lines as a bandwidth."""
        return _lines if self.is_memory else format_rate

    def moved_text(self, block_bytes: float | None, throughput_per_s: float) -> str:
        """The bandwidth of a throughput of blocks of 64 KiB or more; empty for smaller ones, and for a memory's lines.

        >>> LOADS["queue_depth"].moved_text(131072.0, 19e3), LOADS["queue_depth"].moved_text(4096.0, 300e3)
        ('2.5 GB/s', '')
        """
        if block_bytes is None or block_bytes < BANDWIDTH_FROM or self.is_memory:
            return ""
        return format_bandwidth(block_bytes * throughput_per_s, 2)

    @property
    def is_counted(self) -> bool:
        """Whether it is a number of clients, users or threads: a table's word for outstanding requests."""
        return self.is_closed and not self.option

    @property
    def is_watched(self) -> bool:
        """Whether the load was observed, not set."""
        return self.unit == OUTSTANDING

    def at(self, *values: float) -> str:
        """Values as a place of the curve.

        >>> depth = LOADS["queue_depth"]
        >>> depth.at(1, 8), depth.counted_in("clients").at(8), depth.counted_in("requests in 4 jobs").at(9.5)
        ('depths 1, 8', '8 clients', 'outstanding 9.5 (iodepth 2.4 × 4 jobs)')
        """
        text = ", ".join(f"{value:g}" for value in values)
        if len(values) > 1 and not self.is_counted:
            return f"{self.plural} {text}"
        share = f" (iodepth {values[0] / self.jobs:.2g} × {self.jobs} jobs)" if 1 < self.jobs <= values[0] else ""
        return f"{self.place(text)}{share}"

    def place(self, values: str) -> str:
        """As :meth:`at`, with values in words, such as ``1 to 8``."""
        if self.is_counted:
            return f"{values} {self.noun if values == '1' else self.plural}"
        return f"{self.noun} {values}"

    def place_of(self, value: float) -> str:
        """One measured value as a place, with its unit, or with the jobs that share it.

        >>> LOADS["arrival_rate"].place_of(63900.7)
        'arrival rate 63.9 k/s'
        """
        return self.at(value) if self.is_closed else self.place(self.text(value))

    def measure(self, values: str, options: str = "") -> str:
        """How to measure ``values``, in words: the command with its ``options``, or the tool of the table."""
        if self.is_counted:
            return f"measure {self.place(values)} with the tool that made the table"
        return f"qsim measure fio TARGET {self.option} {values}{options} --out DIR"

    def counted_in(self, unit: str) -> Load:
        """The load of a table that calls its outstanding requests ``unit``: clients, users, threads.

        >>> LOADS["queue_depth"].counted_in("clients").name
        'clients N'
        """
        if not self.is_closed or unit == self.unit:
            return self
        if found := _IN_JOBS.fullmatch(unit):
            return replace(self, noun=OUTSTANDING, plural=OUTSTANDING, jobs=int(found["jobs"] or 1))
        return replace(
            self,
            name=f"{unit} N",
            noun=_SINGULAR.get(unit, unit.removesuffix("s")),
            plural=unit,
            knee_unit=unit,
            unit=unit,
            option="",
            more=f"1, about 64, and the most {unit} you will ever have",
        )

    def named(self, unit: str) -> str:
        """The name with the unit; requests need none."""
        return self.name if self.is_closed else f"{self.name} ({unit})"


def _plain(value: float, digits: int = 3, like: float | None = None, /) -> str:
    return significant(value, digits)


def _lines(lines_per_s: float, digits: int = 3, like: float | None = None, /) -> str:
    return format_bandwidth(lines_per_s * CACHE_LINE_BYTES, digits, None if like is None else like * CACHE_LINE_BYTES)


_LOADS = (
    Load(
        "queue_depth",
        "outstanding requests N",
        "depth",
        "depths",
        "N",
        "N*",
        "",
        "requests",
        "load",
        option="--depths",
        is_closed=True,
        may_be_zero=False,
        most=1e6,
        least_points=1,
        default_points=(1.0, 8.0, 64.0),
        more="depths 1 and 32; with three, 1, 8 and 64: qsim measure fio TARGET --depths 1,32 --out DIR",
    ),
    Load(
        "injected_delay",
        "injected delay",
        "delay",
        "delays",
        "delay",
        "delay",
        "lines/s",
        "cycles",
        "load",
        option="--delays",
        is_delay=True,
        is_memory=True,
        most=1e12,
        least_points=3,
        default_points=(0.0, 500.0, 2500.0),
        more="more delays: qsim measure memory --delays 0,100,500,2500 --out DIR",
    ),
    Load(
        "arrival_rate",
        "arrival rate",
        "arrival rate",
        "rates",
        "arrivals",
        "λ*",
        "1/s",
        "requests/s",
        "load_per_s",
        option="--arrival-rates",
        is_open=True,
        is_throughput=True,
        may_be_zero=False,
        most=1e12,
        least_points=2,
        more="more rates: qsim measure fio TARGET --arrival-rates 500,1k,2k --out DIR",
        format=format_rate,
    ),
    Load(
        "bandwidth",
        "bandwidth",
        "bandwidth",
        "bandwidths",
        "load",
        "bytes/s",
        "B/s",
        "B/s",
        "load_bytes_per_s",
        option="",
        is_memory=True,
        is_throughput=True,
        most=1e15,
        least_points=3,
        more="more of the curve: qsim measure memory --out DIR",
        format=format_bandwidth,
    ),
    Load(
        "buffer_size",
        "buffer size",
        "buffer size",
        "buffer sizes",
        "buffer",
        "buffer size",
        "B",
        "B",
        "load_bytes",
        option="--buffers",
        is_size=True,
        most=1e15,
        least_points=3,
        more="more delays: qsim measure memory --delays 0,100,500,2500 --out DIR",
        format=lambda size, _: format_bytes(size),
    ),
)
LOADS: Mapping[str, Load] = {load.kind: load for load in _LOADS}
"""Every kind of load, by its name in files and in JSON."""

_SINGULAR = {"processes": "process"}
_IN_JOBS = re.compile(r"requests in (?:(?P<jobs>\d+) )?jobs")


def unit_in_jobs(unit: str, jobs: Iterable[float]) -> str:
    """The unit of loads that are iodepth times ``jobs``; ``unit`` itself where each is that of one job.

    >>> unit_in_jobs("requests", [1, 1]), unit_in_jobs("requests", [4, 4]), unit_in_jobs("requests", [1, 4])
    ('requests', 'requests in 4 jobs', 'requests in jobs')
    """
    numbers = {number for number in jobs if not math.isnan(number)}
    if unit != LOADS["queue_depth"].unit or max(numbers, default=1) <= 1:
        return unit
    return f"{unit} in {numbers.pop():g} jobs" if len(numbers) == 1 else f"{unit} in jobs"


def load_of(kind: LoadKind, unit: str) -> Load:
    """The Load of data over this kind of load, counted in ``unit``."""
    return LOADS[kind].counted_in(unit)
