"""A loader's memory traffic: the lines of a burst that it only reads, and those that it updates.

``read``          reads
``R:W`` (3:1)     R reads to W writes on the memory bus: of R lines, W are updated: read, changed and written back
``mix``, ``write``  2:1 and 1:1 by name; no traffic writes more than it reads
``75``            percentage of reads: 3:1

A store reads its line into a cache first (a read for ownership) and the line is written back later. The program also
reads the updated lines, so each counts as one line read and one written, which is the traffic on the bus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import gcd

from measure.units import CACHE_LINE_BYTES, format_bytes
from qsim.errors import InvalidParameterError

BURST_LINES = 64
MOST_PARTS = 100
MOST_STRIDE_BYTES = 65536

NAMED = {"read": (1, 0), "mix": (2, 1), "write": (1, 1)}
HOW_TO_WRITE = "read, mix, write, a ratio like 3:1, or a percentage of reads like 75"


@dataclass(frozen=True)
class Traffic:
    """The lines of one burst: first those that are only read, then those updated.

    ``name`` is as given by the user; traffics with the same lines are equal. The lines of a burst lie ``stride_lines``
    apart (1: adjacent).
    """

    name: str = field(compare=False)
    read_lines: int
    updated_lines: int
    stride_lines: int = 1

    @property
    def label(self) -> str:
        """The name, with the stride if that is not one line: "read stride 256 B"."""
        return self.name if self.stride_lines == 1 else f"{self.name} stride {format_bytes(self.stride_bytes)}"

    @property
    def stride_bytes(self) -> int:
        """Bytes from one line to the next."""
        return self.stride_lines * CACHE_LINE_BYTES

    @property
    def burst_lines(self) -> int:
        """Lines that a burst touches: about BURST_LINES, so that the ratio is exact."""
        return self.read_lines + self.updated_lines

    @property
    def bus_lines(self) -> int:
        """Lines that a burst moves over the memory bus: an updated line counts twice, read and written."""
        return self.burst_lines + self.updated_lines

    @property
    def read_fraction(self) -> float:
        """Lines read / lines moved."""
        return 1 - self.updated_lines / self.bus_lines

    @property
    def slug(self) -> str:
        """The name as part of a file name: "3to1"."""
        stride = "" if self.stride_lines == 1 else f"-by{self.stride_bytes}"
        return self.name.replace(":", "to") + stride


def parse_traffic(text: str) -> Traffic:
    """The traffic of that name, ratio or percentage (see the module's text).

    Raises ValueError naming what is wrong and how to write it.

    >>> parse_traffic("3:1").read_fraction
    0.75
    """
    name = text.strip().lower()
    reads, writes = _parts(name, text)
    if writes > reads:
        raise InvalidParameterError(
            "traffic", f"{text!r} writes more than it reads, and a store reads its line first", "take 1:1", text
        )
    if name not in NAMED:
        name = f"{reads}:{writes}" if writes else "read"
    whole = BURST_LINES // reads or 1
    return Traffic(name, (reads - writes) * whole, writes * whole)


def parse_traffics(texts: str | Iterable[str], strides: Iterable[int] = (CACHE_LINE_BYTES,)) -> tuple[Traffic, ...]:
    """Several traffics, from a list or one comma-separated text, each at every stride; duplicates are dropped.

    ``strides`` are bytes from one line to the next. Raises ValueError where there is no traffic or no stride, for a
    stride that is no multiple of a cache line or above MOST_STRIDE_BYTES, and as ``parse_traffic``.
    """
    names = texts.split(",") if isinstance(texts, str) else list(texts)
    kinds = tuple(dict.fromkeys(parse_traffic(name) for name in names if name.strip()))
    if not kinds:
        raise InvalidParameterError("traffic", "is empty", f"write {HOW_TO_WRITE}")
    steps = tuple(dict.fromkeys(strides))
    if not steps:
        raise InvalidParameterError("strides", "is empty", "give bytes from one line to the next, like 64,256")
    for step in steps:
        if step != int(step) or not CACHE_LINE_BYTES <= step <= MOST_STRIDE_BYTES or step % CACHE_LINE_BYTES:
            most = f"a multiple of a cache line ({CACHE_LINE_BYTES} B) up to {format_bytes(MOST_STRIDE_BYTES)}"
            why = f": invalid value {step:g} B: expected {most}, e.g. 64,256,4096"
            raise InvalidParameterError("strides", why)
    return tuple(replace(kind, stride_lines=int(step) // CACHE_LINE_BYTES) for step in steps for kind in kinds)


def _parts(name: str, text: str) -> tuple[int, int]:
    if name in NAMED:
        return NAMED[name]
    if (ratio := re.fullmatch(r"(\d{1,6}):(\d{1,6})", name)) is not None:
        reads, writes = int(ratio[1]), int(ratio[2])
    elif (share := re.fullmatch(r"(\d{1,3})%?", name)) is not None and int(share[1]) <= 100:
        reads, writes = int(share[1]), 100 - int(share[1])
    else:
        raise InvalidParameterError("traffic", f"{text!r} is unknown", f"write {HOW_TO_WRITE}", value=text)
    divisor = gcd(reads, writes)
    if divisor == 0:
        raise InvalidParameterError("traffic", f"{text!r} moves nothing", f"write {HOW_TO_WRITE}", value=text)
    if (reads + writes) // divisor > MOST_PARTS:
        raise InvalidParameterError(
            "traffic", f"{text!r} has more than {MOST_PARTS} parts", "take a rounder ratio", value=text
        )
    return reads // divisor, writes // divisor
