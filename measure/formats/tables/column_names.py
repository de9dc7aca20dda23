"""The meaning of a column: its role, and its unit where the name has one, by its name or as the user declares it.

A name is recognised only where it is unambiguous: ``latency_us`` is, ``latency`` is not, because a wrong unit gives a
wrong curve without an error. Bits (``Mbps``) are rejected: people too often write them for bytes. Words and units are
in ``synonyms.toml``.

Where no exact name fits, words tell rates and mean times. A name is *sure* where its words leave one meaning, as
"Achieved RPS" and "clat avg (us)" do; of "Max throughput" and "wait" Little's law decides, or the user is asked.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.which_kind import TOLD
from measure.units import first_of, parse_bytes

VOCABULARY: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("synonyms.toml").read_text("utf-8"))
"""The words of columns, and the units."""
_WORDS: Mapping[str, list[str]] = VOCABULARY["words"]
_KINDS: Mapping[str, str] = VOCABULARY["roles"]
_UNITS = {"": {}, "load": VOCABULARY["units"]["delay"] | VOCABULARY["units"]["rate"], **VOCABULARY["units"]}

UNITS: Mapping[str, Mapping[str, float]] = {role: _UNITS[kind] for role, kind in _KINDS.items()}
"""Role -> its possible units, and their factors to SI."""
DEFAULT_UNIT: Mapping[str, str] = VOCABULARY["defaults"]
"""Role -> unit of a column without one in its name; other roles need a unit."""
OPEN_UNIT = "?"  # stands for a unit that only Little's law can determine
IN_CELLS = "in its cells"  # stands for the unit of a column whose cells each have their own
TEXT_ROLES = frozenset({"series", "mix", "pattern", "engine"})
LOAD_ROLES = ("load", "depth", "delay", "arrival_rate")
SPEEDS = ("throughput", "read_throughput", "write_throughput", "bandwidth", "read_bandwidth", "write_bandwidth")


def any_of(words: Iterable[str], *, or_one: bool = False) -> str:
    """A pattern for one of these words; with ``or_one`` a final s may be missing."""
    patterns = (re.sub("s$", "s?", word) if or_one else word for word in words)
    return "(?i:" + "|".join(pattern.replace(" ", "_?") for pattern in patterns) + ")"


_MEAN, _THEN_MEAN = rf"(?:{any_of(_WORDS['means'])}_)?", rf"(?:_{any_of(_WORDS['means'])})?"
_TIME_UNIT = rf"_(?:in_)?(?P<unit>{'|'.join(_UNITS['time'])})"
_BW_UNIT = r"(?P<unit>(?:[kKMG]i?)?B(?:/s|ps|_per_s|/sec|_s))"
_LATENCY = any_of(_WORDS["latencies"])
_LATENCY_MEAN = rf"{_MEAN}{_LATENCY}{_THEN_MEAN}"
_COUNTED = rf"(?:{any_of(_WORDS['counted'])}_?)?"
_SECOND = r"(?i:(?:/|_(?:per|par|pro|por)_|_)(?:s|secs?|seconde?|sekunde|segundo))"
_PER_SECOND = rf"(?:{any_of(_WORDS['things'], or_one=True)}{_SECOND}|{any_of((*_WORDS['rates'], 'throughput per s'))})"
_A_SECOND = r"_(?:1/s|(?P<unit>[kM]?/s))"
_SD = r"(?i:sd|std|stdev|stddev)"


def _percentile(digits: str) -> str:
    """A pattern for the names of one percentile, before or behind the word for a latency."""
    median = "|median" if digits == "50" else ""
    name = rf"(?i:p{digits}{median}|{digits}(?:th|st)?_?(?:%|%ile|percentile))"
    return rf"(?:{_LATENCY}_)?{name}(?:_{_LATENCY})?{_TIME_UNIT}"


_NAMES: tuple[tuple[str, str], ...] = (
    ("depth", any_of((*_WORDS["depths"], *_WORDS["means_in_flight"]))),
    ("clients", rf"{_COUNTED}{any_of(_WORDS['clients'], or_one=True)}(?i:_count|_num)?"),
    ("jobs", rf"(?!(?i:job)$){_COUNTED}{any_of(_WORDS['jobs'], or_one=True)}(?i:_count|_num)?"),
    ("pipeline", any_of(_WORDS["pipelines"])),
    ("think", rf"{_MEAN}{any_of(_WORDS['thinks'])}(?:{_TIME_UNIT})?"),
    ("delay", r"(?i:inject(?:ed|ion)?_?delay|delay)(?:_(?P<unit>cycles|ns|us))?"),
    ("arrival_rate", rf"(?i:arrival_rate|asked_rate|arrivals)(?:{_A_SECOND}|{_SECOND}|_{_PER_SECOND})"),
    ("arrival_rate", r"(?i:arrival_rate|asked_rate)"),
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
    ("block", r"(?i:block|block_?size|bs|access_size|io_size)_(?P<unit>B|bytes|k|K|kB|KB|KiB|MB|MiB)"),
    ("buffer", r"(?i:buffer|buffer_?size)_(?P<unit>B|bytes|k|K|kB|KB|KiB|MB|MiB)"),
    ("read_percent", r"(?i:reads?_?(?:pct|percent|%)|rwmixread|percent(?:age)?_of_reads?(?:_?%)?)"),
    ("write_percent", r"(?i:writes?_?(?:pct|percent|%)|rwmixwrite|percent(?:age)?_of_writes?(?:_?%)?)"),
    ("latency_sd", rf"(?:{_LATENCY}_{_SD}|{_SD}_{_LATENCY}){_TIME_UNIT}"),
    ("latency_p50", _percentile("50")),
    ("latency_p95", _percentile("95")),
    ("latency_p99", _percentile("99")),
    ("latency_p999", _percentile("99_?9")),
    ("mix", r"(?i:mix|direction|rw|read_?write(?:_mix)?|traffic)"),
    ("series", r"(?i:series)"),
    ("pattern", r"(?i:pattern)"),
    ("engine", r"(?i:(?:io_?)?engine)"),
)
#: Names used only where there is no better one, best first: role, pattern.
_WEAK: tuple[tuple[str, str], ...] = (
    ("latency", rf"{any_of(_WORDS['means'])}(?i:_time|_duration)?{_TIME_UNIT}"),
    ("latency", _LATENCY_MEAN),
    ("latency", rf"{any_of(_WORDS['means'])}(?i:_time|_duration)?"),
    ("throughput", rf"{_MEAN}(?i:throughput|ops|durchsatz|débit)"),
    ("throughput", r"(?i:x(?:_n)?)"),
    ("latency", r"(?i:r(?:_n)?)"),
    ("depth", any_of(_WORDS["loads"])),
    (
        "arrival_rate",
        rf"{any_of(_WORDS['asked'])}_(?:(?i:rate|load|throughput)(?:_{_PER_SECOND}|{_A_SECOND})?|{_PER_SECOND})",
    ),
)
_UNIT_SUFFIX = re.compile(r"(?:^|_)(?P<unit>[A-Za-zµμ%]+(?:/s|/sec|_per_s)?)$")
_TOKENS = re.compile(r"(?i:tok(?:en)?s?|ttft|tpot|itl)")


@dataclass(frozen=True)
class ColumnRole:
    """One column with its role, its factor to SI, its unit; ``constant``: the SI value that the user gave instead."""

    role: str
    column: str
    scale: float = 1.0
    unit: str = ""
    constant: float | None = None


@dataclass(frozen=True)
class Roles:
    """The columns of one table by role, those without one, and what was decided.

    ``per_job``: the load is that of one job, so that several multiply it; ``declared``: the roles that the user gave.
    """

    by_role: Mapping[str, ColumnRole]
    ignored: tuple[str, ...]
    per_job: bool
    declared: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    def __getitem__(self, role: str) -> ColumnRole:
        return self.by_role[role]

    @property
    def load(self) -> ColumnRole:
        """The role of the load: depth, delay or arrival_rate."""
        return next(self.by_role[r] for r in LOAD_ROLES if r in self.by_role)

    @property
    def rate_without_throughput(self) -> bool:
        """Whether the load is a rate of arrivals, and no column holds what was served of it."""
        return "arrival_rate" in self.by_role and not {*SPEEDS} & self.by_role.keys()

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        given = [r for r in self.by_role.values() if r.constant is None and r.unit != IN_CELLS]
        return [r.column for r in given if r.role not in TEXT_ROLES]


def plain_name(column: str) -> str:
    """A column's name in snake case: spaces, brackets, commas, dashes and word boundaries become one underscore.

    >>> plain_name("Requests/sec"), plain_name("AverageLatency(us)"), plain_name("kIOPS")
    ('Requests/sec', 'Average_Latency_us', 'kIOPS')
    """
    words = re.sub(r"(?<=[a-z]{2})(?=[A-Z][a-z]{2})", "_", re.sub(r"^\s*#\s*(?:of\b)?", "num ", column))
    return re.sub(r"[\s\-\[\]().,:]+", "_", words.strip()).strip("_")


def recognise(column: str) -> ColumnRole | None:
    """The role of a column with an unambiguous name, or None; "clients" counts all requests, "depth" those of a job.

    >>> recognise("Latency (us)").role, recognise("Requests/sec").role, recognise("latency")
    ('latency', 'throughput', None)
    """
    name = plain_name(column)
    for role, pattern in _NAMES:
        if (match := re.fullmatch(pattern, name)) is not None:
            groups = match.groupdict()
            prefix = {"k": "k", "m": "M"}.get((groups.get("prefix") or "").lower())
            unit = groups.get("unit") or prefix or DEFAULT_UNIT.get(role, "")
            return ColumnRole(role, column, unit_scale(role, unit) if unit else 1.0, unit)
    return None


def weakly_recognised(columns: Iterable[str], role: str) -> list[ColumnRole]:
    """The columns that may have this role where there is no better name: only those of the best kind of name.

    >>> [(r.column, r.unit) for r in weakly_recognised(["mean", "latency", "bs"], "latency")]
    [('latency', '?')]
    """
    names = {column: plain_name(column) for column in columns}
    for pattern in (pattern for weak, pattern in _WEAK if weak == role):
        matches = {column: match for column, name in names.items() if (match := re.fullmatch(pattern, name))}
        if matches:
            units = {column: match.groupdict().get("unit") or OPEN_UNIT for column, match in matches.items()}
            return [_with_unit(role, column, unit) for column, unit in units.items()]
    return []


def unit_in_name(role: str, column: str) -> str | None:
    """The unit at the end of a declared column's name, else the role's usual one, else None."""
    suffix = _UNIT_SUFFIX.search(plain_name(column))
    if suffix is not None and _normal_unit(role, suffix["unit"]) in UNITS[role]:
        return suffix["unit"]
    return DEFAULT_UNIT.get(role)


def unit_scale(role: str, unit: str) -> float:
    """The factor of a unit to SI. Raises DataError naming the units that the role takes."""
    scale = UNITS[role].get(_normal_unit(role, unit))
    if scale is None:
        if _KINDS[role] == "bandwidth" and re.search(r"bit|b(?:/s|ps)$", unit):
            raise DataError(f"{role} in {unit!r} are bits; give the column in bytes, for example {role}=NAME:MB/s")
        choice = f"expected one of {', '.join(UNITS[role])}" if UNITS[role] else "expected none"
        raise DataError(f"invalid unit {unit!r} of {role}: {choice}")
    return scale


def _normal_unit(role: str, unit: str) -> str:
    if _KINDS[role] == "bandwidth":
        return re.sub(r"(?:ps|_per_s|/sec|_s)$", "/s", unit)
    return f"{unit}/s" if _KINDS[role] == "rate" and unit in ("k", "M") else unit


def counts_tokens(header: Iterable[str]) -> bool:
    """Whether a column is about tokens of a language model: their number or times (ttft, tpot)."""
    return any(_TOKENS.fullmatch(word) for column in header for word in re.split(r"[_/\d]+", plain_name(column)))


def load_noun(column: str) -> str:
    """The table's word for outstanding requests: clients, connections, users, threads; else requests.

    >>> load_noun("Concurrent users"), load_noun("concurrency"), load_noun("io_depth")
    ('users', 'concurrent requests', 'requests')
    """
    name = plain_name(column).lower()
    return next((noun for noun, pattern in VOCABULARY["nouns"].items() if re.search(pattern, name)), "requests")


def is_mean_in_flight(column: str) -> bool:
    """Whether a column holds iostat's mean number of requests in flight, which nobody set.

    >>> is_mean_in_flight("aqu-sz"), is_mean_in_flight("depth")
    (True, False)
    """
    return re.fullmatch(any_of(_WORDS["means_in_flight"]), plain_name(column)) is not None


# --- what the user declares -------------------------------------------------------------------------------------------

EXAMPLE = "--columns load=io_depth,latency=latency_us:us,throughput=iops"
_USUAL_UNIT = {"latency": "us", "think": "ms", "bandwidth": "MB/s", "block": "KiB", "buffer": "KiB", "load": "ns"}
_MOST_NAMES = 20


def parse_columns(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """``columns`` and ``units`` from the text after ``--columns``: ``role=column`` or ``role=column:unit``, ...

    A column with a comma in its name is put in double quotes together with its role. Raises DataError for other text.

    >>> parse_columns("load=io_depth,latency=lat:us,throughput=iops")
    ({'load': 'io_depth', 'latency': 'lat', 'throughput': 'iops'}, {'latency': 'us'})
    """
    columns: dict[str, str] = {}
    units: dict[str, str] = {}
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise DataError(f"--columns {text!r} cannot be read ({error}); write it like {EXAMPLE}") from error
    for part in (p.strip() for p in parts):
        role, _, rest = (p.strip() for p in part.partition("="))
        if not rest:
            raise DataError(f"--columns: {part!r} is not role=column; write it like {EXAMPLE}")
        if role not in TOLD:
            check_role(role)
        if role in columns:
            raise DataError(f"--columns names the role {role!r} twice ({columns[role]!r} and {rest!r}); keep one")
        columns[role] = rest
        column, _, unit = (p.strip() for p in rest.rpartition(":"))
        if column and UNITS.get(role):
            unit_scale(role, unit)
            columns[role], units[role] = column, unit
    if not columns:
        raise DataError(f"--columns is empty; write it like {EXAMPLE}")
    return columns, units


def declared_roles(
    header: Sequence[str], declared: Mapping[str, str], units: Mapping[str, str], where: str
) -> dict[str, ColumnRole]:
    """The roles that the user declared, a column or a value each."""
    chosen: dict[str, ColumnRole] = {}
    for asked, column in declared.items():
        lower, said = column.lower(), meaning_of(column)
        is_rate = "rate" in lower or (said is not None and said.column.role == "throughput")
        kind = "delay" if "delay" in lower or "pause" in lower else "arrival_rate" if is_rate else "depth"
        role = kind if asked == "load" else asked
        constant = None if column in header else _constant(role, column)
        if column not in header and constant is None:
            raise DataError(f"{where} has no column {column!r} (declared as {asked}); {found_columns(header)}")
        twice = next((a for a, c in declared.items() if c == column and a != asked), None) if constant is None else None
        if twice is not None:
            raise DataError(f"{where}: the column {column!r} is declared as {asked} and as {twice}; keep one")
        if role in chosen:
            raise DataError(f"{where}: {column!r} and {chosen[role].column!r} are both declared as {role}; keep one")
        known = ColumnRole(role, column, constant=constant)
        chosen[role] = known if constant is not None else declared_role(role, column, units.get(asked), where)
    return chosen


def declared_role(role: str, column: str, unit: str | None, where: str) -> ColumnRole:
    """A declared column; without a declared unit, the one in its name, or the role's usual one."""
    if not UNITS[role]:
        return ColumnRole(role, column)
    unit = unit if unit is not None else unit_in_name(role, column)
    if unit is None and role == "latency":
        return ColumnRole(role, column, unit=OPEN_UNIT)
    if unit is None:
        usual = _USUAL_UNIT.get(role.removeprefix("read_").removeprefix("write_").partition("_")[0], "us")
        raise DataError(
            f"{where}: the unit of column {column!r} ({role}) is not in its name; say it, for example "
            f"{role}={column}:{usual}"
        )
    return ColumnRole(role, column, unit_scale(role, unit), unit)


def _constant(role: str, text: str) -> float | None:
    """The SI value declared in place of a column, or None where the text is not a value."""
    try:
        if role in ("block", "buffer"):
            return float(parse_bytes(text))
        if role in ("read_percent", "write_percent"):
            return float(text.removesuffix("%")) / 100
        return float(text) if role in (*LOAD_ROLES, "jobs", "pipeline") else None
    except ValueError:
        return None


def check_role(role: str) -> None:
    if role not in UNITS:
        raise DataError(f"invalid role {role!r}: expected one of {', '.join(UNITS)}")


def columns_option(parts: Sequence[str]) -> str:
    """The option ``--columns`` with these parts, quoted as a shell needs it.

    >>> columns_option(["latency=Latency (ms):ms"])
    "--columns 'latency=Latency (ms):ms'"
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return f"--columns {text}" if re.fullmatch(r"[\w=,:./-]+", text) else f"--columns '{text}'"


def found_columns(header: Sequence[str]) -> str:
    """The columns of a table in words."""
    return f"its columns are {first_of(header, _MOST_NAMES)}"


# --- rates and mean times by their words ------------------------------------------------------------------------------

_NAMED: Mapping[str, frozenset[str]] = {kind: frozenset(words) for kind, words in VOCABULARY["named"].items()}
_PER = re.compile(
    r"(?:_?/_?|_p(?:er|ar|ro|or)_|(?<=requests)_|(?<=reqs)_)"
    r"(s|secs?|seconde?s?|sekunde|segundo|min|minutes?|h|hours?)(?![a-z])"
)
_RATE_UNIT = re.compile(r"(?:k|m)?(?:iops|rps|qps|tps|fps)|(?:k|m)ops")
_THING = re.compile(any_of(_WORDS["things"], or_one=True))
_SIZE_IN_NAME = re.compile(r"(?<![a-z\d.])\d+_?[kmg]?i?b(?:ytes?)?(?![a-z\d])")
_BYTES_PER = re.compile(r"(?<![a-z])b(?:/|ps|_per_)")
_IN_THOUSANDS = {"k": "k/s", "m": "M/s", "thousand": "k/s", "thousands": "k/s", "million": "M/s", "millions": "M/s"}
_DIRECTIONS = {"r": "read_", "read": "read_", "reads": "read_", "w": "write_", "write": "write_", "writes": "write_"}
_NO_MEAN = re.compile(r"p\d+|\d+(?:th|st)|\d\d?|9{3,}|%.*|.*%")  # 980 and 4610 name drives


@dataclass(frozen=True)
class WordedName:
    """A column whose words name a rate or a mean time; ``is_contradictory``: the unit is that of the other."""

    column: ColumnRole
    is_sure: bool
    is_contradictory: bool = False


def worded_name(column: str) -> WordedName | None:
    """The rate or the mean time that the words of a column name; None where they name neither.

    >>> found = map(worded_name, ["Achieved RPS", "NOPM", "Max throughput"])
    >>> [(n.column.role, n.column.unit, n.is_sure) for n in found]
    [('throughput', '/s', True), ('throughput', '/min', True), ('throughput', '?', False)]
    >>> [(n.column.role, n.column.unit, n.is_sure) for n in map(worded_name, ["r_await", "resp_ms", "elapsed (ms)"])]
    [('read_latency', 'ms', True), ('latency', 'ms', True), ('latency', 'ms', False)]
    >>> worded_name("p90 (ms)"), worded_name("errors/s"), worded_name("MB/s")
    (None, None, None)
    """
    name = plain_name(column)
    per = _PER.search(name.lower())
    words = _words(re.sub("^i/o", "io_", _PER.sub("_", name.lower())), name.lower())
    not_of_requests = _NAMED["no_requests"].intersection(words)
    if not_of_requests and not (not_of_requests == {"success"} and any(map(_RATE_UNIT.fullmatch, words))):
        return None
    parts = re.split("[_/]", _PER.sub("_", name) if per else name)
    time_unit = next((word for word in reversed(parts) if word in UNITS["latency"]), None)
    counts = any(_RATE_UNIT.fullmatch(w) or w in _NAMED["rates"] for w in words)
    times = _NAMED["times"] | _NAMED["doubtful_times"]
    if times.intersection(words):
        if per and words[-1] not in times:
            return WordedName(ColumnRole("latency", column, unit=OPEN_UNIT), is_sure=False, is_contradictory=True)
        return None if per else _time(column, words, time_unit)
    is_rate = per is not None or counts
    if not (is_rate or _NAMED["per_minute"].intersection(words)):
        return _time(column, words, time_unit) if time_unit and time_unit[0] in "mnuµμ" else None
    role = _with_direction("throughput", words)
    if time_unit is not None:
        return WordedName(ColumnRole(role, column, unit=OPEN_UNIT), is_sure=False, is_contradictory=True)
    unit = _rate_unit(words, per)
    is_sure = not _NAMED["doubtful_rates"].intersection(words)
    return WordedName(_with_unit(role, column, unit), is_sure)


def meaning_of(column: str) -> WordedName | None:
    """What a name says: surely where it is unambiguous, else by its words; None where it says nothing."""
    exact = recognise(column)
    return worded_name(column) if exact is None else WordedName(exact, is_sure=True)


def _words(text: str, name: str) -> list[str]:
    """The words of a ``text`` without sizes of blocks; "b" alone is bytes but beside requests, as in "drive B IOPS"."""
    text = _SIZE_IN_NAME.sub("", text).replace("end_to_end", "e2e")
    words = [word for word in re.split(r"[_/#@]+", text) if word]
    named = {*_NAMED["times"], *UNITS["latency"]}
    of_requests = any(_RATE_UNIT.fullmatch(w) or _THING.fullmatch(w) or w in named for w in words)
    return [word for word in words if word != "b" or not of_requests or _BYTES_PER.search(name)]


def _time(column: str, words: Sequence[str], unit: str | None) -> WordedName | None:
    others = [word for word in words if word not in UNITS["latency"]]
    if _NAMED["no_means"].intersection(others) or any(_NO_MEAN.fullmatch(word) for word in others):
        return None
    unit = unit or ("ms" if "await" in words else OPEN_UNIT)  # iostat's, which are milliseconds
    is_sure = bool(_NAMED["times"].intersection(words))
    return WordedName(_with_unit(_with_direction("latency", words), column, unit), is_sure)


def _rate_unit(words: Sequence[str], per: re.Match[str] | None) -> str:
    if _NAMED["per_minute"].intersection(words) or (per is not None and per[1].startswith("min")):
        return "/min"
    if per is not None and per[1].startswith("h"):
        return "/h"
    named = next((word for word in words if _RATE_UNIT.fullmatch(word)), None)
    prefix = next((_IN_THOUSANDS[word] for word in words if word in _IN_THOUSANDS), None)
    if named is not None and named[0] in "km":
        prefix = _IN_THOUSANDS[named[0]]
    return prefix or ("/s" if named is not None or per is not None else OPEN_UNIT)


def _with_direction(role: str, words: Sequence[str]) -> str:
    directions = {_DIRECTIONS[word] for word in words if word in _DIRECTIONS}
    return f"{directions.pop()}{role}" if len(directions) == 1 else role


def _with_unit(role: str, column: str, unit: str) -> ColumnRole:
    return ColumnRole(role, column, 1.0 if unit == OPEN_UNIT else unit_scale(role, unit), unit)


def may_be_a_mean(column: str) -> bool:
    """Whether nothing in a column's name speaks against the mean time, or the rate, of all requests.

    >>> [may_be_a_mean(name) for name in ("Durchsatz", "p90 (ms)", "max_lat", "errors/s", "TTFT (ms)", "lat_p999_us")]
    [True, False, False, False, False, False]
    """
    name = plain_name(column).lower()
    others = [word for word in _words(name, name) if word not in UNITS["latency"]]
    is_part = any(_NO_MEAN.fullmatch(word) for word in others)
    return not (is_part or _NAMED["no_means"].intersection(others) or _NAMED["no_requests"].intersection(others))


def is_achieved(column: str) -> bool:
    """Whether a name says that this is the rate that was reached, beside the one that was asked for.

    >>> [is_achieved(name) for name in ("achieved", "Actual RPS", "rate")]
    [True, True, False]
    """
    return not _NAMED["achieved"].isdisjoint(re.split(r"[_/#]+", plain_name(column).lower())) and may_be_a_mean(column)
