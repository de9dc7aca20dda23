"""Swapped labels: latencies by direction held against a baseline of the same device that names them too."""

from __future__ import annotations

import math
from collections.abc import Mapping

from measure.findings import Finding
from measure.units import format_duration


def check_labels(measured: Mapping[str, float], baseline: Mapping[str, float]) -> list[Finding]:
    """Whether "read" and "write" in ``measured`` (latencies at depth 1, s) are those of ``baseline`` or exchanged.

    Compares the distance on a logarithmic scale as labelled and as exchanged. An error where the exchange brings both
    within 25 % and the labels do not; an empty list where the labels fit or neither does.

    >>> [f.check for f in check_labels({"read": 18e-6, "write": 52e-6}, {"read": 53e-6, "write": 19e-6})]
    ['labels']
    """
    if not {"read", "write"} <= set(measured) & set(baseline):
        return []
    near = math.log(1.25)
    straight = max(abs(math.log(measured[d] / baseline[d])) for d in ("read", "write"))
    crossed = max(abs(math.log(measured[a] / baseline[b])) for a, b in (("read", "write"), ("write", "read")))
    if straight <= near or crossed > near:
        return []
    told = {d: (format_duration(measured[d]), format_duration(baseline[d])) for d in ("read", "write")}
    return [Finding(
        "labels", "error",
        f"at depth 1 the reads take {told['read'][0]} and the writes {told['write'][0]}, where the baselines of the "
        f"same device are {told['read'][1]} and {told['write'][1]}.",
        "the labels read and write are exchanged.", "look at rw= in the command of one run.",
    )]  # fmt: skip
