"""The audit of a published table, curve or not: a table is checked for labels that are exchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping

from measure.auditing.all_checks import audit
from measure.datasets import about, dataset_table, load_dataset
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


def audit_dataset(name: str, link: str | None = None) -> list[Finding]:
    """The audit of a dataset of the catalogue, also of those that are tables and no curves (and know no ``link``)."""
    if about(name).curve:
        return audit(load_dataset(name), link=link)
    if name == "002-ssd-tails":
        tails, baseline = dataset_table(name), dataset_table("002-ssd-baseline")
        at_one = tails[tails["queue_depth"] == 1]
        measured = {
            str(d).split()[0]: float(p) / 1e6 for d, p in zip(at_one["direction"], at_one["p50_us"], strict=True)
        }
        mean = baseline[baseline["statistic_us"] == "Average Latency"]
        known = {d: float(mean[f"4Ki_random_{d}"].iloc[0]) / 1e6 for d in ("read", "write")}
        return check_labels(measured, known)
    return []
