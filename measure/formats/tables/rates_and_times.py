"""Names of rates and of mean times by their words, where no exact name of ``synonyms.toml`` fits.

"Achieved RPS", "images/s", "tps (excluding connections)" and "NOPM" are rates; "resp_ms", "r_await" and "clat avg (us)"
are mean times. A name is *sure* where its words leave one meaning. "Max throughput", "elapsed" and "wait" are not:
Little's law decides, or the user is asked. Percentiles, extremes and deviations are no means, and no name here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from measure.formats.tables.column_names import OPEN_UNIT, UNITS, VOCABULARY, ColumnRole, plain_name, unit_scale

_WORDS: Mapping[str, frozenset[str]] = {kind: frozenset(words) for kind, words in VOCABULARY["named"].items()}
_PER = re.compile(
    r"(?:_?/_?|_p(?:er|ar|ro|or)_|(?<=requests)_|(?<=reqs)_)"
    r"(s|secs?|seconde?s?|sekunde|segundo|min|minutes?|h|hours?)(?![a-z])"
)
_RATE_UNIT = re.compile(r"(?:k|m)?(?:iops|rps|qps|tps|fps)|(?:k|m)ops")
_IN_THOUSANDS = {"k": "k/s", "m": "M/s", "thousand": "k/s", "thousands": "k/s", "million": "M/s", "millions": "M/s"}
_DIRECTIONS = {"r": "read_", "read": "read_", "reads": "read_", "w": "write_", "write": "write_", "writes": "write_"}
_NO_MEAN = re.compile(r"p\d+|\d+(?:th|st)?%?|%.*|.*%")


@dataclass(frozen=True)
class WordedName:
    """A column whose words name a rate or a mean time: its role and unit, and whether they leave one meaning.

    ``is_contradictory``: the words name a rate, and the unit is one of time, or the other way round.
    """

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
    words = [word for word in re.split(r"[_/#@]+", _PER.sub("_", name.lower()).removeprefix("i/o")) if word]
    if name.lower().startswith("i/o"):
        words.insert(0, "io")
    if _WORDS["no_requests"].intersection(words):
        return None
    parts = re.split("[_/]", _PER.sub("_", name) if per else name)
    time_unit = next((word for word in reversed(parts) if word in UNITS["latency"]), None)
    counts = any(_RATE_UNIT.fullmatch(w) or w in _WORDS["rates"] for w in words)
    times = _WORDS["times"] | _WORDS["doubtful_times"]
    if times.intersection(words):
        if per and words[-1] not in times:
            return WordedName(ColumnRole("latency", column, unit=OPEN_UNIT), is_sure=False, is_contradictory=True)
        return None if per else _time(column, words, time_unit)
    is_rate = per is not None or counts
    if not (is_rate or _WORDS["per_minute"].intersection(words)):
        return _time(column, words, time_unit) if time_unit and time_unit[0] in "mnuµμ" else None
    role = _with_direction("throughput", words)
    if time_unit is not None:
        return WordedName(ColumnRole(role, column, unit=OPEN_UNIT), is_sure=False, is_contradictory=True)
    unit = _rate_unit(words, per)
    is_sure = not _WORDS["doubtful_rates"].intersection(words)
    return WordedName(_with_unit(role, column, unit), is_sure)


def _time(column: str, words: Sequence[str], unit: str | None) -> WordedName | None:
    others = [word for word in words if word not in UNITS["latency"]]
    if _WORDS["no_means"].intersection(others) or any(_NO_MEAN.fullmatch(word) for word in others):
        return None
    unit = unit or ("ms" if "await" in words else OPEN_UNIT)  # iostat's, which are milliseconds
    is_sure = bool(_WORDS["times"].intersection(words))
    return WordedName(_with_unit(_with_direction("latency", words), column, unit), is_sure)


def _rate_unit(words: Sequence[str], per: re.Match[str] | None) -> str:
    if _WORDS["per_minute"].intersection(words) or (per is not None and per[1].startswith("min")):
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
    words = [word for word in re.split(r"[_/#]+", plain_name(column).lower()) if word]
    others = [word for word in words if word not in UNITS["latency"]]
    is_part = any(_NO_MEAN.fullmatch(word) for word in others)
    return not (is_part or _WORDS["no_means"].intersection(others) or _WORDS["no_requests"].intersection(others))


def is_achieved(column: str) -> bool:
    """Whether a name says that this is the rate that was reached, beside the one that was asked for.

    >>> [is_achieved(name) for name in ("achieved", "Actual RPS", "rate")]
    [True, True, False]
    """
    return not _WORDS["achieved"].isdisjoint(re.split(r"[_/#]+", plain_name(column).lower())) and may_be_a_mean(column)
