"""Parsers of option values: they raise typer.BadParameter, which names the option.

Each takes the text and gives a value in SI units; a default that is not text passes through untouched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import typer

from measure import units
from measure.loads import LOADS, ArrivalRate, Clients, Gaps, Load, PeakShare

T = TypeVar("T")
QUANTILES = ("p50", "p95", "p99", "p99.9")  # the tails that are predicted


def parser(parse: Callable[[str], T]) -> Callable[[Any], T]:
    """Turn a ValueError into the parser's error for its option."""

    @wraps(parse)
    def checked(text: Any) -> T:
        if not isinstance(text, str):
            return text  # type: ignore[no-any-return]  # a default
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return checked


@dataclass(frozen=True)
class Quantity:
    """A time or a rate in seconds or 1/second, and whether it was written with its unit."""

    value: float
    has_unit: bool


@parser
def rate(text: str) -> Quantity:
    """``16``, ``20k``, ``20k/s``, ``12/ms``."""
    return Quantity(units.parse_rate(text), "/" in text or text.strip().lower().endswith("iops"))


@parser
def time(text: str) -> Quantity:
    """``0.25``, ``80us``."""
    return Quantity(units.parse_duration(text), text.strip()[-1:].isalpha())


seconds = parser(units.parse_duration)
"""``80us`` or ``5``, in seconds."""

size = parser(units.parse_bytes)
"""``4KiB``, in bytes."""

number = parser(units.parse_count)
"""``2.5``, ``1e7``, ``600k``."""


@parser
def per_second(text: str) -> float:
    """``600k`` or ``20k/s``, in 1/second."""
    found = units.parse_rate(text)
    if found <= 0:
        raise ValueError(f"invalid rate {text!r}: expected a value above 0, e.g. 600k")
    return found


@parser
def whole(text: str) -> int:
    """A whole number: ``3``, ``1e6``, ``2k``."""
    value = units.parse_count(text)
    if value != int(value):
        raise ValueError(f"invalid number {text!r}: expected a whole number")
    return int(value)


@parser
def percent(text: str) -> float:
    """``5`` or ``5%``."""
    return units.parse_count(text.strip().removesuffix("%"))


@parser
def share(text: str) -> float:
    """A part of the peak: ``0.9`` or ``90%``."""
    value = percent(text) / (100 if text.strip().endswith("%") else 1)
    if not 0 < value < 1:
        raise ValueError(f"{text} must lie between 0 and 1, like 0.9 or 90%")
    return value


@dataclass(frozen=True)
class Objective:
    """An objective for the response time, seconds: for the mean, or for a ``quantile`` such as "p99"."""

    time_s: float
    quantile: str | None = None


@parser
def objective(text: str) -> Objective:
    """``1ms`` or ``mean=1ms`` for the mean, ``p99=1ms`` for a quantile."""
    quantile, _, time = text.rpartition("=")
    quantile = quantile.strip().lower()
    if quantile not in ("", "mean", *QUANTILES):
        raise ValueError(f"{not_one_of(quantile, ('mean', *QUANTILES))}; write it like 1ms or p99=1ms")
    return Objective(units.parse_duration(time), quantile if quantile in QUANTILES else None)


class Numbers(tuple[float, ...]):
    """Numbers typed as one word; a class, since Typer reads a plain list from many words."""

    __slots__ = ()


def numbers(
    what: str, expected: str, may_be: Callable[[float], bool], each: Callable[[str, str], float] = units.parse_count
) -> Callable[[Any], Numbers]:
    """A parser of comma-separated numbers that all satisfy ``may_be``; its error names the first that does not."""

    def parse(text: str) -> Numbers:
        values = units.parse_list(text, "value", each)
        for value in values:
            if not may_be(value):
                raise ValueError(f"invalid {what} {value:g}: expected {expected}")
        return Numbers(values)

    return parser(parse)


def _whole_up_to(most: float) -> Callable[[float], bool]:
    return lambda n: n == int(n) and 1 <= n <= most


LEAST_LOAD = 1e-6
MOST_TYPED = max(load.most for load in LOADS.values())
"""The largest load of any kind: no depth, delay, rate or bandwidth of a device is larger."""
MOST_DEPTH, MOST_DELAY = LOADS["queue_depth"].most, LOADS["injected_delay"].most

loads = numbers(
    "load",
    f"{LEAST_LOAD:g} to {MOST_TYPED:g}, e.g. 1,2,4,8 or 1..64",
    lambda n: n == 0 or LEAST_LOAD <= n <= MOST_TYPED,
)
"""``1,2,4,8`` or ``1..64``, of any kind; zero is a delay."""

delays = numbers(
    "delay",
    f"0, or {LEAST_LOAD:g} to {MOST_DELAY:g}, e.g. 0,100,1000",
    lambda n: n == 0 or LEAST_LOAD <= n <= MOST_DELAY,
)
"""``0,100,1000`` or ``50..800``: injected delays, zero among them."""

_times = numbers("time", "zero or more, e.g. 10min,1h", lambda t: t >= 0, units.parse_duration)


class Times(Numbers):
    """Times in seconds, and whether any was written with its unit."""

    has_unit = False


@parser
def times(text: str) -> Times:
    """``10min`` or ``0.5,2``."""
    found = Times(_times(text))
    found.has_unit = any(time.strip()[-1:].isalpha() for time in text.split(","))
    return found


rates = numbers("rate", "a value above 0, e.g. 500,1k,20k/s", lambda x: x > 0, units.parse_rate)
"""``500,1k,20k/s`` or ``100..800``, in 1/second."""

shares = numbers("share", "a value between 0 and 1, e.g. .3,.5,.7 or 0.5,0.99", lambda share: 0 < share < 1)
"""``.3,.5,.7`` or ``0.5,0.99``: utilizations or quantiles, between 0 and 1."""

depths = numbers("depth", f"a whole number from 1 to {MOST_DEPTH:g}, e.g. 1,2,4,8 or 1..64", _whole_up_to(MOST_DEPTH))
"""``1,2,4,8`` or ``1..64``, whole numbers."""

clients = numbers("number of clients", "whole numbers, 1 or more, as 1..500", _whole_up_to(MOST_TYPED))
"""``1,10,100`` or ``1..500``, whole numbers."""


def _percentage(text: str, what: str) -> float:
    return units.parse_count(text.strip().removesuffix("%"), what)


percents = numbers(
    "percentage", "a whole number from 0 to 100, e.g. 100,70,0", lambda n: n == int(n) and 0 <= n <= 100, _percentage
)
"""``100,70,0``, whole numbers from 0 to 100, with or without their sign."""

sizes = numbers("size", "1 byte or more", lambda size: size >= 0, units.parse_bytes)
"""``4KiB,16KiB`` or ``16KiB..1GiB`` (doubling), in bytes."""

peak_shares = numbers("share of the peak", "above 0% and below 100%, e.g. 60%,80%", lambda x: 0 < x < 100, _percentage)

_KIND_OF_LOAD = re.compile(r"(?P<values>[^:]*?(?:(?<=\d)[kKM])?)\s*(?P<noun>[A-Za-z]{4,}s)?\s*(?::(?P<fact>[^:]*))?")


@parser
def loads_of_any_kind(text: str) -> Numbers | Load | PeakShare:
    """Loads as numbers, or of another kind by their unit: ``2k/s,8k/s``, ``10..200users:think=1s``.

    ``:paced`` behind rates spaces the arrivals evenly; else they are Poisson's. Percentages are shares of the peak: of
    its rate, ``60%,80%``, or the clients that give it, ``60%users:think=1s``.
    """
    found = _KIND_OF_LOAD.fullmatch(text.strip())
    if found is None and text.count(":") > 1:
        raise ValueError(
            f"{text!r} says more than once what the loads are: say it behind the last alone, as 2k/s,8k/s:paced or "
            "10,50users:think=1s"
        )
    if found is None or not (found["noun"] or found["fact"] is not None or "/" in text or "%" in text):
        return loads(text)
    values, noun, fact = found["values"], found["noun"], (found["fact"] or "").strip()
    of_peak = "%" in values
    if noun is None and ("/" in values or of_peak):
        if fact not in ("", "paced", "poisson"):
            raise ValueError(f"invalid {fact!r} behind rates: expected paced or poisson, as 2k/s,8k/s:paced")
        gaps: Gaps = "paced" if fact == "paced" else "poisson"
        return _of_peak(values, ArrivalRate(gaps=gaps)) if of_peak else ArrivalRate(rates(values), gaps=gaps)
    name, equals, time = fact.partition("=")
    if fact and (name != "think" or not equals):
        raise ValueError(f"invalid {fact!r} behind clients: expected a think time, as 10..200users:think=1s")
    think = units.parse_duration(time) if fact else 0.0
    users = Clients(think=think, noun=noun or "clients")
    return _of_peak(values, users) if of_peak else replace(users, values=clients(values))


def _of_peak(text: str, load: ArrivalRate | Clients) -> PeakShare:
    """``60%,80%`` of the peak, as loads of this kind; a rate among them is refused."""
    if unlike := [part for part in text.split(",") if part.strip() and "%" not in part]:
        raise ValueError(f"{unlike[0].strip()!r} stands beside shares of the peak: give shares alone, as 60%,80%")
    return PeakShare([percent / 100 for percent in peak_shares(text)], load)


@parser
def used_loads(text: str) -> Numbers:
    """Loads to calibrate on, or ``all``: no numbers."""
    found = Numbers() if text.strip().lower() == "all" else loads(text)
    if len(set(found)) < len(found):
        raise ValueError(f"a load is named twice in {text!r}; name each once")
    return found


@parser
def path(text: str) -> Path:
    """A file or a directory."""
    if not text:
        raise ValueError("the path is empty")
    if "\0" in text:
        raise ValueError("a path holds no NUL character")
    return Path(text)


def choice(*names: str) -> Callable[[Any], str]:
    """A parser of one of ``names``, ignoring case; its error lists them with the nearest."""

    def word(text: str) -> str:  # the help shows this name
        known = {name.lower(): name for name in names}
        if (name := known.get(text.strip().lower())) is not None:
            return name
        raise ValueError(not_one_of(text, names))

    return parser(word)


class Words(tuple[str, ...]):
    """Comma-separated words typed as one word; see Numbers."""

    __slots__ = ()


def choices(*names: str) -> Callable[[Any], Words]:
    """Several of ``names``, with commas between them."""
    one = choice(*names)
    return parser(lambda text: Words(one(part) for part in text.split(",")))


def not_one_of(text: str, names: Sequence[str]) -> str:
    """``'mm2' is unknown; did you mean mm1? There are: ...``"""
    typed = text.strip().lower()
    begun = [n for n in names if typed and n.lower().startswith(typed)]
    close = begun or get_close_matches(typed, names, n=1, cutoff=0.5)
    guess = f"; did you mean {close[0]}?" if close else "."
    return f"{text!r} is unknown{guess} There are: {', '.join(names)}"
