"""``--what-if``: its parser, and the table of the changed device next to the present one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calibrate.cli import parsing
from calibrate.cli.console import labelled, table
from measure import units
from measure.loads import Clients, ThroughputLoad

if TYPE_CHECKING:
    from calibrate import Prediction
    from calibrate.prediction.what_if import Scenario, WhatIf

DOUBLE = 2.0
"""A gain beyond this is written as a factor, and a smaller one in percent."""

KEYS = ("workers", "replicas", "drives", "service", "latency")
COPIES = {"replicas", "drives"}


@parsing.parser
def what_if(text: str) -> WhatIf:
    """``workers=4:8``, ``replicas=2``, ``service=0.5``, ``latency=+50us``, several with commas between them."""
    from calibrate.prediction.what_if import WhatIf

    given: dict[str, Any] = {}
    seen: set[str] = set()
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not value:
            raise ValueError(f"invalid change {part.strip()!r}: expected e.g. workers=4:8,service=0.5")
        if key not in KEYS:
            raise ValueError(parsing.not_one_of(key, KEYS))
        if key in seen:
            raise ValueError(f"{key} is named twice")
        if key in COPIES and seen & COPIES:
            raise ValueError("replicas and drives are both copies of the device: give one of them")
        seen.add(key)
        given.update(_value(key, value))
    return WhatIf(**given)


def _value(key: str, value: str) -> dict[str, Any]:
    if key == "service":
        return {"service": units.parse_count(value)}
    if key == "latency":
        sign = -1 if value.startswith("-") else 1
        return {"latency_s": sign * units.parse_duration(value.lstrip("+-"))}
    now, colon, then = value.partition(":")
    if key == "workers":
        if not colon:
            raise ValueError("write how many workers there are now, too, as workers=4:8")
        return {"workers": (units.parse_count(now), units.parse_count(then))}
    pair = (units.parse_count(now), units.parse_count(then)) if colon else (1.0, units.parse_count(value))
    return {"copies": pair, "called": key.removesuffix("s")}


def kind_of(change: WhatIf | None, whose: str, which: int) -> str:
    """The device in words, now (``which`` 0) or changed (1): ``today's 4-worker kind``."""
    workers = None if change is None else change.workers
    return f"{whose} kind" if workers is None else f"{whose} {workers[which]:g}-worker kind"


def answer(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The gain from the change in a line, at the load where it changes most: throughput, or response at a rate."""
    from calibrate.inference.parameters import ROUGH

    is_rate = isinstance(present.load_type, ThroughputLoad)
    what, show = ("response time", units.format_duration) if is_rate else ("throughput", units.format_rate)
    before, after = (c.response_time_s if is_rate else c.throughput_per_s for c in (present, changed))
    gains = after / before
    best = int(abs(gains - 1).argmax())
    bands = [c.response_band(best) if is_rate else c.throughput_band(best) for c in (present, changed)]
    widest = max(bands, key=lambda band: (band[2] or math.inf) / band[1])  # a gain is as sure as its lesser known side
    _, low, high = widest
    then, now = (show(values[best], 2) for values in (after, before))
    where = present.load_type.place_of(present.load[best])
    percent = f"{100 * abs(gains[best] - 1):.0f} %"
    gain = f"{percent} {'more' if gains[best] >= 1 else 'less'}"
    if gains[best] > DOUBLE:
        gain = f"{gains[best]:.2g} times the"
    elif percent == "0 %":
        gain = "the same"
    word = scenario.fit.sureness(high is not None and high / low < ROUGH, low, high)
    return f"With {', '.join(scenario.changes)}: {gain} {what} at {where} ({then}, {now} today), {word}."


def changed_table(scenario: Scenario, present: Prediction, changed: Prediction) -> str:
    """The changed device's curve next to the present one's, with the assumptions."""
    from calibrate.fitting.fit import PRESENT
    from calibrate.fitting.fit_answer import NINETY, QUEUEING, knee_line, ninety_line
    from calibrate.fitting.readings import users_at_knee
    from measure.units import with_interval

    gains = 100 * (changed.throughput_per_s / present.throughput_per_s - 1)
    rows = [
        (
            present.load_type.text(load),
            units.format_rate(present.throughput_per_s[i]),
            with_interval(units.format_rate, *changed.throughput_band(i)),
            f"{round(gains[i]) + 0:+d} %",
            units.format_duration(present.response_time_s[i]),
            with_interval(units.format_duration, *changed.response_band(i)),
        )
        for i, load in enumerate(present.load)
    ]
    then = f"THEN ({100 * changed.level:g} % band)"
    header = (present.load_type.symbol.upper(), "THROUGHPUT", then, "GAIN", "RESPONSE", then)
    first = []
    fit = scenario.fit
    if PRESENT in fit.details:  # the device behind users who think, or behind arrivals, whose depths nobody set
        fit = replace(fit, load_type=Clients(noun="requests present"))
    if fit.knee.load is not None:
        first.append(labelled("THEN", f"{QUEUEING.lower()} at {knee_line(fit)}"))
        first.append(labelled("THEN", f"{NINETY.lower()} {ninety_line(fit)}"))
        if think_s := present.load_type.thinking_s:
            users = with_interval(present.load_type.figure, *users_at_knee(scenario.fit, think_s))
            first.append(labelled("THEN", f"{QUEUEING.lower()} at {present.load_type.in_full(users)}"))
    first += [labelled("ASSUMES", assumption) for assumption in scenario.assumptions]
    return "\n".join([*first, "", table(header, rows, left=0)])
