"""Where a figure comes from: measured, computed, corrected, told or assumed.

``Sweep.points`` has a column of origins beside each of load, throughput and latency, and a column of the published
value beside each that was corrected. An origin is a word, and behind a colon the law or the reason:

``measured``   the tool or the table printed it
``computed``   by a law, from other figures of the same row (``computed: N / X``)
``corrected``  the published value was wrong (``corrected: a unit off by 1000``); it stands in the published column
``told``       the user said it (``--columns load=1``)
``assumed``    nobody said it

>>> computed("N / X"), word_of("computed: N / X"), reason_of("computed: N / X"), word_of(MEASURED)
('computed: N / X', 'computed', 'N / X', 'measured')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

OriginWord = Literal["measured", "computed", "corrected", "told", "assumed"]

MEASURED = "measured"
ORIGIN: Mapping[str, str] = {
    "load": "load_origin",
    "throughput_per_s": "throughput_origin",
    "latency_s": "latency_origin",
}
"""Column of a figure -> column of its origin."""
PUBLISHED: Mapping[str, str] = {
    "load": "load_published",
    "throughput_per_s": "throughput_published_per_s",
    "latency_s": "latency_published_s",
}
"""Column of a figure -> column of what was published where the figure was corrected; NaN elsewhere."""


def computed(law: str) -> str:
    """The origin of a figure that ``law`` gives from others of its row."""
    return f"computed: {law}"


def corrected(why: str) -> str:
    """The origin of a figure whose published value was wrong."""
    return f"corrected: {why}"


def told(how: str) -> str:
    """The origin of a figure that the user said."""
    return f"told: {how}"


def assumed(why: str) -> str:
    """The origin of a figure that nobody said."""
    return f"assumed: {why}"


def word_of(origin: str) -> OriginWord:
    """The word of an origin, without its law or reason."""
    return origin.partition(":")[0]  # type: ignore[return-value]


def reason_of(origin: str) -> str:
    """The law or the reason of an origin; empty for a measured figure."""
    return origin.partition(":")[2].strip()
