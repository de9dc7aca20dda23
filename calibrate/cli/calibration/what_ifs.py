"""``--what-if``: its parser, and the table of the changed device next to the present one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import table
from measure import units

if TYPE_CHECKING:
    from calibrate import Prediction
    from calibrate.prediction.what_if import Scenario, WhatIf

DOUBLE = 2.0
"""A gain beyond this is written as a factor, and a smaller one in percent."""

KEYS = ("drives", "replicas", "service", "host", "block", "bandwidth", "write-cache", "medium")


@parsing.parser
def what_if(text: str) -> WhatIf:
    """``drives=1:2``, ``service=0.5,host=5us``, ``block=16KiB,bandwidth=3GB/s``, ``write-cache=off,medium=3ms``."""
    from calibrate.prediction.what_if import WhatIf

    given: dict[str, Any] = {}
    seen: set[str] = set()
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise ValueError(f"invalid change {part.strip()!r}: expected e.g. drives=1:2,service=0.5")
        if key not in KEYS:
            raise ValueError(parsing.not_one_of(key, KEYS))
        if key in seen:
            raise ValueError(f"{key} is named twice")
        seen.add(key)
        given.update(_value(key, value))
    return WhatIf(**given)


def _value(key: str, value: str) -> dict[str, Any]:
    before, colon, after = value.partition(":")
    if key in ("drives", "replicas"):
        now, then = (before, after) if colon else ("1", value)
        return {"drives": (units.parse_count(now), units.parse_count(then)), "called": key.removesuffix("s")}
    if key == "block":
        size = {"block_bytes": units.parse_bytes(after or before)}
        return {**size, "from_block_bytes": units.parse_bytes(before)} if colon else size
    if key == "service":
        return {"service": units.parse_count(value)}
    if key == "bandwidth":
        return {"bandwidth_bytes_per_s": float(units.parse_bytes(value.removesuffix("/s")))}
    if key == "write-cache":
        if value != "off":
            raise ValueError(f"write-cache is {value!r}; only write-cache=off changes anything")
        return {"write_cache_off": True}
    return {"host_s" if key == "host" else "medium_s": units.parse_duration(value)}


def answer(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """What the change is worth in a line, at the load where the throughput changes most."""
    gains = changed.throughput_per_s / present.throughput_per_s
    best = int(abs(gains - 1).argmax())
    then, now = (units.format_rate(curve.throughput_per_s[best], 2) for curve in (changed, present))
    where = scenario.fit.load_type.place(f"{present.load[best]:g}")
    gain = f"{gains[best]:.2g} times" if gains[best] > DOUBLE else f"{100 * (gains[best] - 1):+.0f} %"
    return f"{', '.join(scenario.changes)}: about {gain} at {where} ({then}, now {now})."


def changed_table(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The changed device's curve next to the present one's, with what is assumed."""
    from calibrate.fitting.answer import knee_line, labelled
    from calibrate.load_text import with_interval

    gains = 100 * (changed.throughput_per_s / present.throughput_per_s - 1)
    rows = [
        (
            f"{load:g}",
            units.format_rate(present.throughput_per_s[i]),
            with_interval(units.format_rate, *changed.throughput_band(i)),
            f"{round(gains[i]) + 0:+d} %",
            units.format_duration(present.response_time_s[i]),
            with_interval(units.format_duration, *changed.response_band(i)),
        )
        for i, load in enumerate(present.load)
    ]
    then = f"THEN ({100 * changed.level:g} % band)"
    header = (scenario.fit.load_type.symbol.upper(), "THROUGHPUT", then, "GAIN", "RESPONSE", then)
    first = [labelled("THEN", f"knee: {knee_line(scenario.fit)}")] if scenario.fit.knee.load is not None else []
    first += [labelled("ASSUMES", assumption) for assumption in scenario.assumptions]
    return "\n".join([*first, "", table(header, rows, left=0)])
