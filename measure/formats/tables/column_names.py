"""What the name of a column means: its role, and its unit where the name has one.

A name is recognised only where nothing is left to guess: ``latency_us`` is, ``latency`` is not, because a wrong unit
gives a wrong curve without an error. What is left open (a unit, which of two rates) the numbers may settle by Little's
law, see :mod:`measure.formats.tables.unit_choice`.

Units follow what storage tools print:

- a *block* of "4 KB" or "4k" has 4096 bytes (no drive has blocks of 4000), and ``kB`` is 1000;
- a *bandwidth* in "KB/s" is fio's, 1024 bytes a second, while ``kB/s``, ``MB/s`` and ``GB/s`` are decimal;
- bits (``Mbps``) are refused: they are too often written for bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from measure.errors import DataError

_TIME = {
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "millisecond": 1e-3,
    "milliseconds": 1e-3,
    "us": 1e-6,
    "usec": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "microsecond": 1e-6,
    "microseconds": 1e-6,
    "ns": 1e-9,
    "nsec": 1e-9,
    "nanosecond": 1e-9,
    "nanoseconds": 1e-9,
}
_RATE = {"/s": 1.0, "iops": 1.0, "IOPS": 1.0, "k/s": 1e3, "kiops": 1e3, "kIOPS": 1e3, "M/s": 1e6, "MIOPS": 1e6}
BLOCK_UNITS = {
    "B": 1.0,
    "bytes": 1.0,
    "kB": 1e3,
    "k": 2.0**10,
    "K": 2.0**10,
    "KB": 2.0**10,
    "KiB": 2.0**10,
    "m": 2.0**20,
    "M": 2.0**20,
    "MB": 2.0**20,
    "MiB": 2.0**20,
}
_BANDWIDTH = {
    "B/s": 1.0,
    "bytes/s": 1.0,
    "kB/s": 1e3,
    "KB/s": 2.0**10,
    "KiB/s": 2.0**10,
    "MB/s": 1e6,
    "MiB/s": 2.0**20,
    "GB/s": 1e9,
    "GiB/s": 2.0**30,
}
_READ = {"%": 0.01, "fraction": 1.0}
_DELAY = {"cycles": 1.0, "ns": 1.0, "us": 1.0}  # as the tool counts it; the unit goes to Sweep.load_unit

#: Role -> the units it may have. Roles without units map to an empty table.
UNITS: Mapping[str, Mapping[str, float]] = {
    "load": {**_DELAY, **_RATE},
    "depth": {},
    "jobs": {},
    "delay": _DELAY,
    "arrival_rate": _RATE,
    "latency": _TIME,
    "read_latency": _TIME,
    "write_latency": _TIME,
    "throughput": _RATE,
    "read_throughput": _RATE,
    "write_throughput": _RATE,
    "bandwidth": _BANDWIDTH,
    "read_bandwidth": _BANDWIDTH,
    "write_bandwidth": _BANDWIDTH,
    "block": BLOCK_UNITS,
    "buffer": BLOCK_UNITS,
    "read_percent": _READ,
    "write_percent": _READ,
    "latency_sd": _TIME,
    "latency_p50": _TIME,
    "latency_p95": _TIME,
    "latency_p99": _TIME,
    "latency_p999": _TIME,
    "series": {},
    "mix": {},
    "pattern": {},
    "engine": {},
}

#: The unit of a column that has none in its name; roles that are absent here need one.
DEFAULT_UNIT = {
    "throughput": "/s",
    "read_throughput": "/s",
    "write_throughput": "/s",
    "arrival_rate": "/s",
    "read_percent": "%",
    "write_percent": "%",
    "delay": "cycles",
}

LOAD_ROLES = ("load", "depth", "delay", "arrival_rate")
SPEEDS = ("throughput", "read_throughput", "write_throughput", "bandwidth", "read_bandwidth", "write_bandwidth")

#: The unit of a column whose unit only Little's law can tell.
OPEN_UNIT = "?"

#: The words for what a column holds. A space stands for a blank, a dash, an underscore or nothing; capitals make no
#: difference. ``accepted_names`` lists them for the documentation.
_DEPTHS = ("queue depth", "io depth", "i/o depth", "qd", "depth")
_CLIENTS = (
    "clients",
    "connections",
    "conns",
    "users",
    "vus",
    "sessions",
    "concurrency",
    "concurrency level",
    "max concurrency",
    "concurrent requests",
    "in flight",
    "outstanding",
    "outstanding requests",
    "outstanding ios",
)
_JOBS = ("jobs", "threads", "workers", "processes", "procs")
_COUNTED = ("num", "n", "nr", "number of", "concurrent", "active", "virtual", "parallel", "total", "max")
_RATES = ("iops", "rps", "qps", "tps")
_THINGS = (
    "requests",
    "reqs",
    "http reqs",
    "http requests",
    "queries",
    "query",
    "transactions",
    "txns",
    "trans",
    "operations",
    "ops",
    "completions",
    "calls",
    "messages",
    "msgs",
    "ios",
    "i/os",
)
_LATENCIES = (
    "latency",
    "lat",
    "latencies",
    "total lat",
    "total latency",
    "request latency",
    "e2e latency",
    "end to end latency",
    "e2el",
    "response time",
    "resp time",
    "response",
    "rt",
    "time per request",
    "request time",
    "request duration",
    "req duration",
    "http req duration",
)
_MEANS = ("mean", "avg", "average")


def _any(words: Iterable[str], *, or_one: bool = False) -> str:
    """A pattern for one of these words; ``or_one`` lets a last s be missing."""
    patterns = (re.sub("s$", "s?", word) if or_one else word for word in words)
    return "(?i:" + "|".join(pattern.replace(" ", "_?") for pattern in patterns) + ")"


_MEAN = rf"(?:{_any(_MEANS)}_)?"
_THEN_MEAN = rf"(?:_{_any(_MEANS)})?"
_TIME_UNIT = (
    r"_(?:in_)?(?P<unit>s|secs?|seconds?|ms|msec|milliseconds?|us|usec|µs|μs|microseconds?|ns|nsec|nanoseconds?)"
)
_BW_UNIT = r"(?P<unit>(?:[kKMG]i?)?B(?:/s|ps|_per_s|/sec|_s))"
_BLOCK_UNIT = r"_(?P<unit>B|bytes|k|K|kB|KB|KiB|MB|MiB)"
_LATENCY = _any(_LATENCIES)
_LATENCY_MEAN = rf"{_MEAN}{_LATENCY}{_THEN_MEAN}"
_SECOND = r"(?i:(?:/|_per_|_)(?:s|secs?|second))"
_PER_SECOND = rf"(?:{_any(_THINGS, or_one=True)}{_SECOND}|{_any((*_RATES, 'throughput per s'))})"


def _percentile(digits: str) -> str:
    """A pattern for the names of one percentile, before or behind the word for a latency."""
    name = rf"(?i:p{digits}|{digits}(?:th|st)?_?(?:%|%ile|percentile))"
    return rf"(?:{_LATENCY}_)?{name}(?:_{_LATENCY})?{_TIME_UNIT}"


_NAMES: tuple[tuple[str, str], ...] = (
    ("depth", _any(_DEPTHS)),
    ("clients", rf"(?:{_any(_COUNTED)}_?)?{_any(_CLIENTS, or_one=True)}(?i:_count)?"),
    ("jobs", rf"(?!(?i:job)$)(?:{_any(_COUNTED)}_?)?{_any(_JOBS, or_one=True)}(?i:_count)?"),
    ("delay", r"(?i:inject(?:ed|ion)?_?delay|delay)(?:_(?P<unit>cycles|ns|us))?"),
    ("arrival_rate", r"(?i:arrival_rate|asked_rate)(?i:_per_s)?"),
    ("latency", rf"{_LATENCY_MEAN}{_TIME_UNIT}{_THEN_MEAN}"),
    ("read_latency", rf"(?i:read_){_LATENCY_MEAN}{_TIME_UNIT}"),
    ("write_latency", rf"(?i:write_){_LATENCY_MEAN}{_TIME_UNIT}"),
    ("throughput", r"(?i:iops)_(?P<unit>k)|(?i:(?P<prefix>k|m)(?:iops|tps|qps|rps))"),
    ("throughput", r"(?i:request_throughput)"),
    ("throughput", rf"(?:{_MEAN}|(?i:total_|request_))(?i:throughput_)?{_PER_SECOND}(?:_#/sec)?{_THEN_MEAN}"),
    ("throughput", rf"{_MEAN}(?i:throughput)_(?P<unit>[kM]?/s)"),
    ("read_throughput", r"(?i:read_iops)(?:_(?P<unit>k))?"),
    ("write_throughput", r"(?i:write_iops)(?:_(?P<unit>k))?"),
    ("bandwidth", rf"(?:(?i:bandwidth|bw|throughput)_)?{_BW_UNIT}"),
    ("read_bandwidth", rf"(?i:read)_(?:(?i:bandwidth|bw)_)?{_BW_UNIT}"),
    ("write_bandwidth", rf"(?i:write)_(?:(?i:bandwidth|bw)_)?{_BW_UNIT}"),
    ("block", rf"(?i:block|block_?size|bs|access_size|io_size){_BLOCK_UNIT}"),
    ("buffer", rf"(?i:buffer|buffer_?size){_BLOCK_UNIT}"),
    ("read_percent", r"(?i:reads?_?(?:pct|percent|%)|rwmixread|percent(?:age)?_of_reads?(?:_?%)?)"),
    ("write_percent", r"(?i:writes?_?(?:pct|percent|%)|rwmixwrite|percent(?:age)?_of_writes?(?:_?%)?)"),
    ("latency_sd", rf"(?:{_LATENCY}_(?i:sd|std|stdev|stddev)|(?i:sd|std|stdev|stddev)_{_LATENCY}){_TIME_UNIT}"),
    ("latency_p50", _percentile("50")),
    ("latency_p95", _percentile("95")),
    ("latency_p99", _percentile("99")),
    ("latency_p999", _percentile("99_?9")),
    ("mix", r"(?i:mix|direction|rw|read_?write(?:_mix)?|traffic)"),
    ("series", r"(?i:series)"),
    ("pattern", r"(?i:pattern)"),
    ("engine", r"(?i:(?:io_?)?engine)"),
)
#: Names that count only where no better one is there, best first: role, pattern.
_WEAK: tuple[tuple[str, str], ...] = (
    ("latency", rf"{_any(_MEANS)}(?i:_time|_duration)?{_TIME_UNIT}"),
    ("latency", _LATENCY_MEAN),
    ("latency", rf"{_any(_MEANS)}(?i:_time|_duration)?"),
    ("throughput", rf"{_MEAN}(?i:throughput|ops)"),
)
_UNIT_SUFFIX = re.compile(r"(?:^|_)(?P<unit>[A-Za-zµμ%]+(?:/s|/sec|_per_s)?)$")
_TOKENS = re.compile(r"(?i:tok(?:en)?s?|ttft|tpot|itl)")
_NOUNS = (
    ("clients", r"client"),
    ("connections", r"conn"),
    ("users", r"user|vu"),
    ("sessions", r"session"),
    ("threads", r"thread"),
    ("workers", r"worker"),
    ("processes", r"proc"),
    ("jobs", r"jobs"),
    ("concurrent requests", r"concurren"),
)


@dataclass(frozen=True)
class ColumnRole:
    """One column with its meaning: ``column`` as the table spells it, the factor that makes SI of it, the unit.

    ``constant`` is the SI value where the user declared a value for all rows ("load=1") instead of a column.
    """

    role: str
    column: str
    scale: float = 1.0
    unit: str = ""
    constant: float | None = None


def plain_name(column: str) -> str:
    """The name of a column with every space, bracket, comma and dash, and every new word, as one underscore.

    >>> plain_name("Requests/sec"), plain_name("AverageLatency(us)"), plain_name("kIOPS")
    ('Requests/sec', 'Average_Latency_us', 'kIOPS')
    """
    words = re.sub(r"(?<=[a-z]{2})(?=[A-Z][a-z]{2})", "_", column)
    return re.sub(r"[\s\-\[\]().,:]+", "_", words.strip()).strip("_")


def recognise(column: str) -> ColumnRole | None:
    """The role of a column whose name leaves nothing to guess, or None.

    "clients" is the role of what counts all outstanding requests (clients, connections, concurrency), "depth" that of
    what one job keeps outstanding.

    >>> recognise("Latency (us)").role, recognise("Requests/sec").role, recognise("latency")
    ('latency', 'throughput', None)
    """
    name = plain_name(column)
    for role, pattern in _NAMES:
        match = re.fullmatch(pattern, name)
        if match is None:
            continue
        groups = match.groupdict()
        prefix = groups.get("prefix")
        unit = groups.get("unit") or (prefix and {"k": "k", "m": "M"}[prefix.lower()]) or DEFAULT_UNIT.get(role, "")
        return ColumnRole(role, column, unit_scale(role, unit) if unit else 1.0, unit)
    return None


def weakly_recognised(columns: Iterable[str], role: str) -> list[ColumnRole]:
    """The columns that may have this role where no better name is there: those of the best kind of name alone.

    Where the name has no unit, the unit is ``OPEN_UNIT``, for Little's law to tell.

    >>> [(r.column, r.unit) for r in weakly_recognised(["mean", "latency", "bs"], "latency")]
    [('latency', '?')]
    """
    names = {column: plain_name(column) for column in columns}
    for weak, pattern in _WEAK:
        found = []
        for column, name in names.items():
            if weak == role and (match := re.fullmatch(pattern, name)) is not None:
                unit = match.groupdict().get("unit") or OPEN_UNIT
                found.append(ColumnRole(role, column, 1.0 if unit == OPEN_UNIT else unit_scale(role, unit), unit))
        if found:
            return found
    return []


def unit_in_name(role: str, column: str) -> str | None:
    """The unit at the end of a declared column's name, else the role's usual one, else None."""
    suffix = _UNIT_SUFFIX.search(plain_name(column))
    if suffix is not None and _normal_unit(role, suffix["unit"]) in UNITS[role]:
        return suffix["unit"]
    return DEFAULT_UNIT.get(role)


def unit_scale(role: str, unit: str) -> float:
    """The factor that makes SI of a unit. Raises DataError naming the units that the role takes."""
    table = UNITS[role]
    scale = table.get(_normal_unit(role, unit))
    if scale is None:
        if table is _BANDWIDTH and re.search(r"bit|b(?:/s|ps)$", unit):
            raise DataError(f"{role} in {unit!r} are bits; give the column in bytes, for example {role}=NAME:MB/s")
        choice = f"expected one of {', '.join(table)}" if table else "expected none"
        raise DataError(f"invalid unit {unit!r} of {role}: {choice}")
    return scale


def counts_tokens(header: Iterable[str]) -> bool:
    """Whether a column counts tokens of a language model, or times one of them (ttft, tpot)."""
    return any(_TOKENS.fullmatch(word) for column in header for word in re.split(r"[_/\d]+", plain_name(column)))


def accepted_names() -> list[tuple[str, str]]:
    """What a column may hold, and the names that say so, for the documentation."""
    counted = f"with {_listed(_COUNTED)} before it, or count behind it"
    return [
        ("load: what one job has outstanding", _listed(_DEPTHS)),
        ("load: all requests outstanding", f"{_listed(_CLIENTS)}; {counted}"),
        ("jobs, or the load where there is no other", f"{_listed(_JOBS)}; {counted}"),
        ("load: others", _listed(("delay", "injected delay", "arrival rate"))),
        (
            "throughput",
            f"{_listed(_RATES)}; {_listed(_THINGS)} per second, /s or /sec; kIOPS, MIOPS, kTPS; request_throughput",
        ),
        ("latency, with its unit", f"{_listed(_LATENCIES)}; with {_listed(_MEANS)} beside it, or these alone"),
        ("units of a latency", _listed(_TIME)),
        (
            "percentiles and the deviation",
            _listed(("p50", "p95", "p99", "p99.9", "95th percentile", "99%", "latency stddev")),
        ),
    ]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def load_noun(column: str) -> str:
    """What a table calls its outstanding requests: clients, connections, users, threads; else requests.

    >>> load_noun("Concurrent users"), load_noun("concurrency"), load_noun("io_depth")
    ('users', 'concurrent requests', 'requests')
    """
    name = plain_name(column).lower()
    return next((noun for noun, pattern in _NOUNS if re.search(pattern, name)), "requests")


def _normal_unit(role: str, unit: str) -> str:
    if UNITS[role] is _BANDWIDTH:
        return re.sub(r"(?:ps|_per_s|/sec|_s)$", "/s", unit)
    if UNITS[role] is _RATE and unit in ("k", "M"):
        return f"{unit}/s"
    return unit
