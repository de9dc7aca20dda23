"""The audit of a published table, curve or not."""

from __future__ import annotations

from measure.auditing.all_checks import audit
from measure.auditing.labels import check_labels
from measure.datasets import about, dataset_table, load_dataset
from measure.findings import Finding


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
