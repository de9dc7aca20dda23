"""Parses and formats quantities with units, and mixes of reads and writes. Inside the program everything is SI."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

CACHE_LINE_BYTES = 64  # size of a memory request, which moves a whole cache line

A_FACTOR = 1.5  # an error beyond this ratio is written as a factor, a smaller one in percent

_NUMBER = re.compile(r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s].*?)?\s*$")

_SECONDS = {
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "ms": 1e-3,
    "msec": 1e-3,
    "us": 1e-6,
    "usec": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
    "nsec": 1e-9,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
}
_BYTES = {
    "b": 1,
    "byte": 1,
    "bytes": 1,
    "k": 2**10,
    "kib": 2**10,
    "kb": 10**3,
    "m": 2**20,
    "mib": 2**20,
    "mb": 10**6,
    "g": 2**30,
    "gib": 2**30,
    "gb": 10**9,
    "t": 2**40,
    "tib": 2**40,
    "tb": 10**12,
}
_COUNT = {"k": 1e3, "m": 1e6, "g": 1e9}


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.match(text)
    if match is None:
        raise ValueError(f"{what} {text!r} is not a number with a unit; write it like {example}")
    value = float(match.group(1))
    if not math.isfinite(value):
        raise ValueError(f"{what} {text!r} is not finite; write it like {example}")
    return value, (match.group(2) or "").strip()


def _finite(value: float, text: str, what: str) -> float:
    """``value``; ValueError where the unit made it overflow."""
    if not math.isfinite(value):
        raise ValueError(f"{what} {text!r} is too large")
    return value


def _quantity(text: str, what: str, scales: Mapping[str, float], *, takes: str, example: str) -> tuple[float, float]:
    """The number and the factor of its unit (1 without a unit). ValueError naming ``what`` for an unknown unit."""
    value, unit = _split(text, what, example)
    scale = 1.0 if not unit else scales.get(unit if unit == "m" else unit.lower())
    if scale is None:
        if unit.startswith(","):
            raise ValueError(f"{what} {text!r} has a comma; write a point before decimals, nothing between thousands")
        raise ValueError(f"{what} {text!r}: unit {unit!r} is unknown; use {takes}")
    return value, scale


def parse_duration(text: str, what: str = "duration") -> float:
    """Seconds from ``"80us"``, ``"1.5 ms"``, ``"2min"``; a bare number is seconds. ValueError naming ``what``.

    >>> parse_duration("80us")
    8e-05
    """
    value, scale = _quantity(text, what, _SECONDS, takes="ns, us, ms, s, min or h", example="80us, 1.5ms or 2s")
    return _finite(value * scale if scale >= 1 else value / round(1 / scale), text, what)


def parse_bytes(text: str, what: str = "size") -> int:
    """Bytes from ``"4KiB"``, ``"4k"`` (as fio: 1024), ``"4kB"`` (1000); a bare number is bytes. ValueError for others.

    >>> parse_bytes("4KiB"), parse_bytes("4k"), parse_bytes("4kB")
    (4096, 4096, 4000)
    """
    value, scale = _quantity(text, what, _BYTES, takes="B, KiB, MiB, GiB, kB, MB or GB", example="4KiB, 128k or 1GiB")
    size = _finite(value * scale, text, what)
    if size != round(size):
        raise ValueError(f"{what} {text!r} is not a whole number of bytes")
    return round(size)


def parse_count(text: str, what: str = "number") -> float:
    """A plain number with an optional decimal prefix: ``"600k"``, ``"1e7"``. ValueError naming ``what`` for others.

    >>> parse_count("600k")
    600000.0
    """
    value, scale = _quantity(text, what, _COUNT, takes="k, M or G", example="600k or 1.2M")
    return _finite(value * scale, text, what)


def parse_rate(text: str, what: str = "rate") -> float:
    """Events a second from ``"20k/s"``, ``"600k"``, ``"12/ms"``. ValueError naming ``what`` for an unknown unit.

    >>> parse_rate("20k/s")
    20000.0
    """
    count, slash, per = text.partition("/")
    value = parse_count(count.strip().removesuffix("IOPS").removesuffix("iops"), what)
    if not slash:
        return value
    scale = _SECONDS.get(per.strip().lower())
    if scale is None:
        raise ValueError(f"{what} {text!r}: unit {per!r} is unknown; use s, ms, us, min or h, e.g. 20k/s")
    return _finite(value / scale, text, what)


def parse_list(text: str, what: str = "value", each: Callable[[str, str], float] = parse_count) -> list[float]:
    """Numbers from ``"1,2,4,8"`` and doubling ranges ``"1..64"``, read by ``each``. ValueError naming ``what``.

    >>> parse_list("1..16,24")
    [1.0, 2.0, 4.0, 8.0, 16.0, 24.0]
    """
    if parts := re.search(r"(\d+),(0\d+)", text):
        one, other = parts.groups()
        meant = f"{one}{other}" if len(other) == 3 and float(one) else f"{one}.{other}"
        raise ValueError(f"{what} {text!r}: a comma stands between values; write {meant}")
    values: list[float] = []
    for part in (p.strip() for p in text.split(",")):
        if not part:
            continue
        first, dots, last = part.partition("..")
        if not dots:
            try:
                values.append(each(part, what))
            except ValueError:
                if ends := re.fullmatch(r"(\d[\d.]*\w*)-(\d[\d.]*\w*)", part):
                    raise ValueError(f"invalid range {part!r}: write {ends[1]}..{ends[2]}, which doubles") from None
                raise
            continue
        value, end = each(first, what), each(last, what)
        if value <= 0 or end < value:
            raise ValueError(f"{what} {part!r}: a doubling range goes from a positive number upwards, like 1..64")
        while value < end:
            values.append(value)
            value *= 2
        values.append(end)
    if not values:
        raise ValueError(f"{what} {text!r} is empty; write it like 1,2,4,8 or 1..64")
    return values


def _scaled(value: float, steps: list[tuple[float, str]], digits: int, like: float | None = None) -> str:
    if (value == 0 or not math.isfinite(value)) and like is None:
        return f"{value:g} {steps[-1][1]}".strip()
    sample = value if like is None else like
    scale, unit = next(((s, u) for s, u in steps if abs(sample) >= s * 0.9995), steps[-1])
    return f"{significant(value / scale, digits)} {unit if like is None else ''}".strip()


def significant(value: float, digits: int) -> str:
    """``value`` to ``digits`` significant digits or as a whole number, never in exponent form between 0.001 and 1e6.

    >>> significant(22.62, 2), significant(158.2, 2), significant(3.0, 2)
    ('23', '158', '3.0')
    """
    if not math.isfinite(value):
        return f"{value:g}"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits - 1}e}")  # 9.97 to two digits is 10, which has none after the point
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{decimals}f}" if decimals < 7 and abs(value) < 1e6 else f"{value:.{digits}g}"


def plain_number(value: float, digits: int = 3) -> str:
    """``value`` to ``digits`` significant digits without trailing zeros; whole from there to a million, no exponent.

    >>> plain_number(3.0), plain_number(22.62), plain_number(1957.2), plain_number(99.9, 2)
    ('3', '22.6', '1957', '100')
    """
    rounded = f"{value:.{digits}g}"  # 99.9 to two digits is 100
    return f"{value:.0f}" if 10**digits <= abs(float(rounded)) and abs(value) < 1e6 else rounded


def format_duration(seconds: float, digits: int = 3, like: float | None = None) -> str:
    """``8e-05`` as ``"80.0 µs"``; in the unit of ``like``, and without its name, where that is given.

    >>> format_duration(8e-05)
    '80.0 µs'
    """
    return _scaled(seconds, [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")], digits, like)


def format_rate(per_second: float, digits: int = 3, like: float | None = None) -> str:
    """``600000`` as ``"600 k/s"``; ``like`` as in :func:`format_duration`.

    >>> format_rate(600000)
    '600 k/s'
    """
    return _scaled(per_second, [(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s")], digits, like)


def format_bandwidth(bytes_per_second: float, digits: int = 3, like: float | None = None) -> str:
    """Decimal bytes a second: ``28439.1e6`` as ``"28.4 GB/s"``; ``like`` as in :func:`format_duration`.

    >>> format_bandwidth(28439.1e6)
    '28.4 GB/s'
    """
    return _scaled(bytes_per_second, [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")], digits, like)


def format_percent(percent: float, digits: int = 2) -> str:
    """``percent`` to ``digits`` significant digits, "4.7 %", and never in powers of ten: "217 %", below a million."""
    return f"{plain_number(percent, digits)} %"


def missed_text(percent: float) -> str:
    """The error of a prediction in words.

    >>> missed_text(9.24), missed_text(-23.1), missed_text(110.0), missed_text(-60.0)
    ('+9.2 %', '-23 %', '2.1 times too high', '2.5 times too low')
    """
    ratio = 1 + percent / 100
    if ratio > A_FACTOR:
        return f"{significant(ratio, 2)} times too high"
    if math.isnan(ratio):
        return "not scored"
    if 0 < ratio < 1 / A_FACTOR:
        return f"{significant(1 / ratio, 2)} times too low"
    return f"{'+' if percent >= 0.05 else ''}{format_percent(round(percent, 1) + 0.0)}"


def format_bytes(size: float, digits: int = 4) -> str:
    """``4096`` as ``"4 KiB"``, in the largest unit not above the size.

    >>> format_bytes(4096), format_bytes(3 * 2**30), format_bytes(5000, digits=3)
    ('4 KiB', '3 GiB', '4.88 KiB')
    """
    steps = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
    scale, unit = next((step for step in steps if size >= step[0]), steps[-1])
    return f"{plain_number(size / scale, digits)} {unit}"


def counted(count: int, noun: str) -> str:
    """A number of things with the right plural.

    >>> counted(1, "row"), counted(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def first_of(names: Sequence[object], most: int) -> str:
    """At most so many names, and how many more there are.

    >>> first_of(["a", "b"], 2), first_of([1, 2, 4, 8], 2)
    ('a, b', '1, 2 and 2 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(str, names[:most]))}{more}"


_RATIO = re.compile(r"(?<![\d:/.])(\d+(?:\.\d+)?)\s*[:/]\s*(?!0\d)(\d+(?:\.\d+)?)(?![\d:/])")
_ONE_WAY = re.compile(
    r"(?:100\s*%\s*)?(?:all\s+)?(?:rand(?:om)?[\s_-]*|seq(?:uential)?[\s_-]*)?(read|write)s?(?:[\s_-]*only)?"
)


@dataclass(frozen=True)
class Mix:
    """``read_fraction`` (None where unknown), ``pattern`` (random | sequential), and further words."""

    read_fraction: float | None = None
    pattern: str | None = None
    note: str = ""


def parse_mix(text: str) -> Mix:
    """The mix named in a cell or an option. A mix without its ratio ("Read and Write") has no read fraction.

    >>> parse_mix("3:1 R:W").read_fraction, parse_mix("Write-Only (Non-Temporal)")
    (0.75, Mix(read_fraction=0.0, pattern=None, note='non-temporal'))
    """
    words = text.strip().lower()
    bracket = re.search(r"\(([^)]*)\)", words)
    note = bracket[1].strip() if bracket else ""
    bare = re.sub(r"\s*\([^)]*\)", "", words).strip()
    pattern = "random" if re.search(r"\brand", bare) else "sequential" if re.search(r"\bseq", bare) else None
    if alone := _ONE_WAY.fullmatch(bare):
        return Mix(float(alone[1] == "read"), pattern, note)
    ratio = _RATIO.search(bare)
    if ratio is not None and (reads := float(ratio[1])) + (writes := float(ratio[2])) > 0:
        return Mix(reads / (reads + writes), pattern, note)
    return Mix(None, pattern, note)


class Figure(Protocol):
    """Formats a number with its unit to ``digits`` significant digits; with ``like``, in its unit, unnamed."""

    def __call__(self, value: float, digits: int = 3, like: float | None = None, /) -> str:
        """The text."""
        ...


def with_interval(
    show: Figure, value: float, low: float | None, high: float | None, *, to: str = " to ", digits: int = 2
) -> str:
    """A number to ``digits`` with the ends of its interval in the same unit, or to three; alone where three show none.

    To three where two show none of the interval, or would round the number by more than an eighth of it: so products of
    printed numbers agree.

    >>> with_interval(format_rate, 308e3, 225e3, 2.39e6)
    '308 k/s (225 to 2390)'
    >>> with_interval(format_duration, 4.61e-6, 1.7e-6, None)
    '4.6 µs (1.7 and more)'
    >>> with_interval(format_duration, 1.04e-3, 0.957e-3, 1.07e-3)
    '1.04 ms (0.957 to 1.07)'
    >>> with_interval(format_duration, 110e-3, 110e-3, 110e-3)
    '110 ms'
    """
    texts = {digits: [None if end is None else show(end, digits, value) for end in (low, high)] for digits in (2, 3)}
    if low is not None and high is not None and value:
        if texts[3][0] == texts[3][1]:
            return show(value, 3)
        unit = 10 ** (math.floor(math.log10(float(f"{abs(value):.1e}"))) - 1)  # of the second digit
        coarse = 4 * unit > high - low and show(value, 2) != show(value, 3)
        digits = 3 if coarse or texts[2][0] == texts[2][1] else digits
    ends = interval_text(*texts[digits], to=to)
    return f"{show(value, digits)} ({ends})" if ends else show(value, digits)


def band_beside(
    show: Figure, measured: float, value: float, low: float | None, high: float | None, *, to: str = " to "
) -> str:
    """A prediction beside a measured value of three digits: to two, or to three where two show it across an end.

    >>> band_beside(format_rate, 1.66e3, 1.05e3, 0.628e3, 1.654e3, to="-")
    '1.05 k/s (0.628-1.65)'
    """
    shown = float(show(measured, 3, value))
    ends = [(end, float(show(end, 2, value))) for end in (low, high) if end is not None]
    hidden = any((shown - rounded) * (measured - end) <= 0 for end, rounded in ends)
    return with_interval(show, value, low, high, to=to, digits=3 if hidden else 2)


def measured_and_predicted(show: Figure, measured: float, value: float, low: float | None, high: float | None) -> str:
    """Both as they stand in a table of points: the measured value to three digits, then :func:`band_beside` it.

    >>> measured_and_predicted(format_rate, 5.36e3, 5.95e3, 5.43e3, 6.47e3)
    '5.36 k/s measured, 6.0 k/s (5.4 to 6.5) predicted'
    """
    return f"{show(measured)} measured, {band_beside(show, measured, value, low, high)} predicted"


def around(show: Callable[[Any], str], value: float, low: float | None, high: float | None) -> str:
    """A number with the ends of its interval, or alone where nothing is uncertain.

    >>> around(str, 3, 1, 10), around(str, 3, 3, 3)
    ('3 (1 to 10)', '3')
    """
    middle, *ends = (None if v is None else show(v) for v in (value, low, high))
    interval = "" if ends == [middle, middle] else interval_text(*ends)
    return f"{middle} ({interval})" if interval else f"{middle}"


def interval_text(low: str | None, high: str | None, *, to: str = " to ") -> str:
    """The ends of an interval, either of which may be open; empty where both are.

    >>> interval_text("1.7", "4.6"), interval_text("1.7", None), interval_text(None, "4.6")
    ('1.7 to 4.6', '1.7 and more', '4.6 at most')
    """
    if low is not None and high is not None:
        return f"{low}{to}{high}"
    return f"{low} and more" if low is not None else f"{high} at most" if high is not None else ""
