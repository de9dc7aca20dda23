"""Reads the outputs of load generators by the table ``load_tools.toml``: patterns of lines, or keys of documents.

Each tool is a table there: how it is known, which patterns or keys hold which fields, and its unit of time. A run is
made of the fields alone; what a tool does not print stays open: X R then tells the clients, N / X the response time.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from measure.errors import DataError
from measure.formats.server_reports import (
    CLOSED_LOOP,
    LONG,
    ServerRun,
    each_run,
    lacking,
    load_of_a_count,
    parts_of,
    rate_of_growth,
)
from measure.loads import Gaps
from measure.units import format_duration, parse_duration, plain_number

Fields = dict[str, list[float]]
"""What was found: each field, as <n2> or <r>, with its values in the order of the text."""

_NUMBER = r"[+-]?\d[\d.,]{0,30}(?:[eE][+-]?\d{1,3})?"
_TIME = rf"(?:\d{{1,3}}[hm])*{_NUMBER}(?: ?(?:ns|us|µs|μs|ms|nsec|usec|msec|(?:10 )?secs?|s|min|m|h)(?![A-Za-z]))?"
_RATE = rf"{_NUMBER} ?[kKMG]?(?![A-Za-z])"
_LONG = re.compile(r"[^\n]{4096,}")
"""A line, or its part, that no tool prints: patterns take long to look through it."""
_PERCENTILES = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p999": 99.9}
_TIMES = {"r", "s", "span", "lag", *_PERCENTILES}
_UNITS = {"nsec": "ns", "usec": "us", "μs": "us", "msec": "ms", "secs": "s", "sec": "s", "m": "min"}
_PREFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}


@dataclass(frozen=True)
class Tool:
    """One table of the file; see there for what each entry means."""

    name: str
    known: str | tuple[str, ...]
    begins: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    time: str = "s"
    unit: str = "clients"
    arrivals: Gaps | None = None
    paces: str = ""
    series: str = ""
    note: str = ""
    coarse: float = 0.0
    thousands: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    document: str = ""
    columns: str = ""
    instead: str = ""

    def is_in(self, text: str) -> bool:
        """Whether the beginning of a text is its."""
        return isinstance(self.known, str) and _pattern(self.known).search(text) is not None

    def wrote(self, document: Mapping[str, Any]) -> bool:
        """Whether a document is its."""
        return not isinstance(self.known, str) and all(at(document, path) is not None for path in self.known)


@cache
def tools() -> tuple[Tool, ...]:
    """The tools of the table, those that are read first."""
    found = []
    for name, entries in tomllib.loads(files(__package__).joinpath("load_tools.toml").read_text("utf-8")).items():
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in entries.items()
        }
        found.append(Tool(re.sub("-(?:csv|json|xml|text)$", "", name), **values))
    return tuple(found)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern of the table, with its blanks and fields as patterns of their own."""
    spaced = re.sub(r"(?<!\[)(?<!\\) (?:\+|(?![*?\]]))", r"[ \\t]+", re.sub(r"(?<!\[)\^ ", r"^[ \\t]*", text))
    fields = re.sub(r"\{([a-z]\w*)\}", lambda m: rf"(?P<{m[1]}>{_TIME if m[1] in _TIMES else _RATE})", spaced)
    return re.compile(fields, re.MULTILINE)


def tool_of(text: str) -> Tool | None:
    """The tool that wrote a text, read or only known; None for others."""
    short = _LONG.sub("", text)
    return next((tool for tool in tools() if tool.is_in(short)), None)


# --- fields -----------------------------------------------------------------------------------------------------------


def fields_of_text(tool: Tool, text: str, name: str) -> Fields:
    """The fields in the text of one run, each by the first pattern that finds it; of counts all."""
    found: Fields = {}
    for pattern in map(_pattern, tool.lines):
        known = {key for key in found if not key.startswith(("failed", "count"))}
        matches = (pair for match in pattern.finditer(text) for pair in match.groupdict().items())
        for key, value in ((k, v) for k, v in matches if v is not None and k not in known):
            found.setdefault(key, []).append(_value(key, value, tool, name))
    return found


def fields_of_document(tool: Tool, document: Mapping[str, Any], name: str) -> Fields:
    """The fields in one JSON document."""
    found: Fields = {}
    for key, path in tool.keys.items():
        value = _sum_at(document, path) if ">~" in path else at(document, path)
        is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
        if is_number and any(map(str.isdigit, str(value))):  # fortio asks for "max"
            found[key] = [_value(key, str(value), tool, name)]
    return found


def at(document: Any, path: str) -> Any:
    """The value at a path of keys, parted by ">"; None where there is none."""
    for key in path.split(">"):
        if isinstance(document, list):
            name, _, value = key.partition("=")
            document = next((d for d in document if isinstance(d, Mapping) and str(d.get(name)) == value), None)
        else:
            document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _sum_at(document: Any, path: str) -> float:
    """The sum of the numbers whose names begin with the pattern behind ">~"."""
    where, _, pattern = path.partition(">~")
    numbers = at(document, where)
    return math.fsum(n for key, n in numbers.items() if re.match(pattern, key)) if isinstance(numbers, Mapping) else 0.0


def _value(key: str, text: str, tool: Tool, name: str) -> float:
    """A number as printed: a time in seconds, anything else with its prefix. DataError for an ambiguous comma."""
    text = text.strip()
    if key not in _TIMES:
        prefix = _PREFIX.get(text[-1:], 1.0)
        return _plain(text.rstrip("kKMG "), tool, name) * prefix
    found = re.match(_NUMBER, text)
    digits = found[0] if found else ""
    unit = text.removeprefix(digits).strip()
    if unit and "," not in digits:
        return parse_seconds(text)
    unit = unit or ("s" if key == "span" else tool.time)
    return parse_duration(f"{_plain(digits, tool, name)!r}{_UNITS.get(unit, unit)}")


def parse_seconds(text: str) -> float:
    """The seconds in a time with units, also one of several parts, as Go prints it.

    >>> parse_seconds("1m2.5s"), parse_seconds("583.523ms"), parse_seconds("12 usec")
    (62.5, 0.583523, 1.2e-05)
    """
    if tens := re.fullmatch(r"([\d.]+) 10 sec", text):  # oha's own unit of long times
        return 10 * float(tens[1])
    parts = re.findall(r"([\d.]+) ?([a-zµμ]+)", text)
    return math.fsum(parse_duration(f"{number}{_UNITS.get(unit, unit)}") for number, unit in parts)


def _plain(text: str, tool: Tool, name: str) -> float:
    digits = text.rstrip(".,")
    whole, comma, behind = digits.rpartition(",")
    if tool.thousands:
        return float(digits.replace(tool.thousands, ""))
    if comma and len(behind) == 3 and "." not in digits and whole.isdigit() and len(whole) <= 3 and whole != "0":
        either = f"{whole}.{behind} or {whole}{behind}"
        raise DataError(f"{name}: {digits!r} may be {either}; run {tool.name} with LC_ALL=C")
    if comma and "." in whole:
        raise DataError(f"{name}: {digits!r} has a decimal comma; run {tool.name} with LC_ALL=C")
    is_decimal = comma and "." not in digits and "," not in whole and len(behind) != 3
    return float(digits.replace(",", "." if is_decimal or whole == "0" else ""))


# --- runs -------------------------------------------------------------------------------------------------------------


COARSE_MEANS = 20
"""The least mean that is not too coarse, as a multiple of the least such deviation: ab prints it in tenths of a ms."""


def run_of(tool: Tool, found: Fields, name: str) -> ServerRun:
    """The run that has these fields. DataError where it has no throughput, or no answer."""
    first = {key: values[0] for key, values in found.items()}
    count = math.fsum(sum(values) for key, values in found.items() if key.startswith("count"))
    failed = _failed(first, found, count)
    if "r" not in found and count and failed >= count:
        raise DataError(f"{name}: none of {count:,.0f} requests was answered; check the address, run again")
    for key, what in tool.needs.items():
        if key not in found:
            raise lacking(what, name)
    rate, mean = _throughput(found, first, count, name), _weighted(found)
    clients = math.prod(_clients(found)) or None
    is_one_kind = len(found.get("w", ())) < 2
    percentiles = {p: t for key, p in _PERCENTILES.items() if is_one_kind and (t := first.get(key))}
    asked = first.get("asked") if tool.arrivals else None
    if asked:
        seconds = first.get("span") or count / rate
        asked = load_of_a_count(rate, mean or 0.0, asked, seconds, percentiles)
        if mean and _lagged_more_and_more(mean, first, seconds):
            asked = rate_of_growth(rate, mean, seconds)
    if not asked and clients is None and mean is None:
        raise lacking("mean response time", name)
    deviation = first.get("s", 0.0)
    notes = [tool.note] if tool.note else [] if asked or not percentiles else [CLOSED_LOOP]
    if clients and (spread := first.get("spread", clients)) > clients:
        divided = f"{spread:g} connections over {first['n']:g} threads are {clients:g}"
        notes.append(f"{divided}: {tool.name} divides them evenly")
    if clients and not asked and mean is not None and mean < tool.coarse:
        notes.append(f"{tool.name} measures whole milliseconds: the mean is clients / throughput (Little's law)")
        mean = None
    late = first.get("late", 0.0) / count if count else 0.0
    if clients and mean is not None and late and mean < clients / rate:
        left_out = f"{plain_number(100 * late, 2)} % of the answers, which came after {tool.name}'s --timeout"
        printed = f"the mean of {format_duration(mean)} and the percentiles leave out {left_out}"
        notes.append(f"{printed}: the mean of all is clients / throughput (Little's law)")
        mean, percentiles, deviation = None, {}, 0.0
    return ServerRun(
        tool.name,
        rate,
        mean or None,
        clients=None if asked else clients,
        unit=tool.unit,
        rate_per_s=asked or None,
        rate_is_inferred=bool(asked and asked > first["asked"]),
        gaps=tool.arrivals or "paced",
        paces="" if asked else tool.paces,
        percentiles=percentiles,
        sd_s=deviation if is_one_kind and deviation and deviation >= tool.coarse / COARSE_MEANS else math.nan,
        requests=count or None,
        failed=failed,
        notes=tuple(notes),
    )


OFTEN_LATE, EVEN_SD = 0.2, 0.2
"""A queue grew, if requests lagged behind for this share of a long time, and if their standard deviation is as near to
that of times that are evenly long from nothing to twice their mean."""


def _lagged_more_and_more(mean: float, first: Mapping[str, float], seconds: float) -> bool:
    """Whether requests waited for a free client longer and longer, as long as the run lasted."""
    even = abs(first.get("s", 0.0) * math.sqrt(3) / mean - 1) < EVEN_SD
    return even and first.get("lag", 0.0) >= OFTEN_LATE * mean and mean >= LONG * seconds


def _throughput(found: Fields, first: Mapping[str, float], count: float, name: str) -> float:
    """The throughput as printed, else requests over time. DataError for none, and for zero."""
    rate = math.fsum(found.get("xsum", ())) or first.get("x")
    if rate is None and count and first.get("span"):
        rate = count / first["span"]
    if rate is None or (not rate and not count):
        raise lacking("throughput", name)
    if not rate > 0:
        raise DataError(f"{name}: none of the requests was answered; check the address, run again")
    return rate


def _weighted(found: Fields) -> float | None:
    """The mean response time, of several kinds of requests by their numbers; one of two parts takes both times."""
    times = found.get("r", [])
    weights = found.get("w", [])[: len(times)] or [1.0] * min(1, len(times))
    total = math.fsum(weights) - math.fsum(found.get("twice", ()))
    return math.fsum(w * r for w, r in zip(weights, times, strict=False)) / total if total > 0 else None


def _clients(found: Fields) -> list[float]:
    """The factors whose product is the number of clients; a zero where it is not known."""
    if "nsum" in found:
        return [math.fsum(found["nsum"])]
    if "n" in found and "spread" in found:
        return [found["n"][0], found["spread"][0] // found["n"][0]]
    return [values[0] or 1.0 for key, values in found.items() if re.fullmatch(r"n\d*", key)] if "n" in found else [0.0]


def _failed(first: Mapping[str, float], found: Fields, count: float) -> float:
    listed = math.fsum(sum(values) for key, values in found.items() if key.startswith("failed"))
    share = first["percent"] / 100 if "percent" in first else first.get("success", 1.0)
    return listed or round((1 - share) * count)


def runs_of_text(tool: Tool, text: str, name: str, read: Callable[[Fields, str], ServerRun]) -> list[ServerRun]:
    """The runs in a text; what stands above the first, such as a batch size, holds for all."""
    head, *parts = parts_of(text, tool.begins)
    above = fields_of_text(tool, head, name)

    def run_in(part: str, where: str) -> ServerRun:
        run = read({**above, **fields_of_text(tool, part, where)}, where)
        series = re.search(tool.series, part, re.MULTILINE) if tool.series else None
        return run if series is None else replace(run, series=series[1])

    return each_run(parts, name, run_in)
