"""``--what-if``: what is typed, and the table of the changed device beside the present one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import table
from measure import units

if TYPE_CHECKING:
    from calibrate import Prediction
    from calibrate.prediction.what_if import Scenario, WhatIf

KEYS = ("drives", "service", "host", "block", "bandwidth", "write-cache", "medium")


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
    if key == "drives":
        now, then = (before, after) if colon else ("1", value)
        return {"drives": (units.parse_count(now), units.parse_count(then))}
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
    where = f"{scenario.fit.load_type.noun} {present.load[best]:g}"
    return f"{', '.join(scenario.changes)}: about {100 * (gains[best] - 1):+.0f} % at {where} ({then}, now {now})."


def beside(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The changed device's curve beside the present one's, with what is assumed."""
    rows = []
    for now, then in zip(present.to_dicts(), changed.to_dicts(), strict=True):
        gained = 100 * (then["throughput_per_s"] / now["throughput_per_s"] - 1)
        rows.append((
            f"{now['load']:g}", units.format_rate(now["throughput_per_s"]), units.format_rate(then["throughput_per_s"]),
            f"[{units.format_rate(then['throughput_low_per_s'])}, {units.format_rate(then['throughput_high_per_s'])}]",
            f"{round(gained) + 0:+d} %", units.format_duration(now["response_time_s"]),
            units.format_duration(then["response_time_s"]),
            f"[{units.format_duration(then['response_time_low_s'])}, "
            f"{units.format_duration(then['response_time_high_s'])}]",
        ))  # fmt: skip
    band = f"[{100 * changed.level:g} % band]"
    header = (present.load_name, "throughput", "then", band, "gained", "response", "then", band)
    knee = scenario.fit.knee
    interval = "" if knee.low is None or knee.high is None else f" [{knee.low:.3g}, {knee.high:.3g}]"
    lines = [f"what if: {', '.join(scenario.changes)}", *(f"  assumes: {a}" for a in scenario.assumptions)]
    lines += ["" if knee.load is None else f"  its knee: {knee.load:.4g}{interval}", "", table(header, rows, left=0)]
    return "\n".join(lines)
