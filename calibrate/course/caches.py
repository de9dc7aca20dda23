"""What the reported caches predict of a sweep over buffer sizes: where the latency must rise, and where it does."""

from __future__ import annotations

import pandas as pd

from calibrate.report.measured import shown
from calibrate.report.view import View
from measure.memory.steps import LatencyStep, plateaus, steps
from measure.sweep import Sweep, recorded_caches
from measure.units import format_bytes


def cache_view(sweep: Sweep) -> View | None:
    """Each reported cache beside the rise in which its size lies; None for any other sweep, or without caches."""
    caches = recorded_caches(sweep.provenance.details)
    if not sweep.load_type.is_size or not caches:
        return None
    rises = steps(plateaus(sweep), caches)

    def of(size: float) -> LatencyStep | None:
        """The rise of a cache: a buffer as large as the cache does not fit any more beside all else."""
        return next((rise for rise in rises if rise.after_bytes <= size <= rise.upto_bytes), None)

    largest = float(sweep.points["load"].max())
    rows = []
    for name, size in caches.items():
        found = of(size)
        rows.append({
            "cache": name, "reported_bytes": size,
            "after_bytes": float("nan") if found is None else float(found.after_bytes),
            "upto_bytes": float("nan") if found is None else float(found.upto_bytes),
            "factor_ratio": float("nan") if found is None else found.factor,
            "rise": "found" if found is not None else "beyond the sweep" if size >= largest else "none found there",
        })  # fmt: skip
    table = pd.DataFrame(rows)
    named = [of(size) for size in caches.values()]
    others = [rise for rise in rises if rise not in named]
    beside = "".join(
        f" A rise by {r.factor:.2g} between {format_bytes(r.after_bytes)} and {format_bytes(r.upto_bytes)} belongs to "
        "no reported cache." for r in others
    )  # fmt: skip
    shows = sum(row["rise"] == "found" for row in rows)
    caption = (
        f"A buffer larger than a cache is answered by the next one, so the latency must rise at its size: {shows} of "
        f"{len(rows)} reported caches show so.{beside}"
    )
    names = {"reported_bytes": "reported", "after_bytes": "rises after", "upto_bytes": "up to", "factor_ratio": "by"}
    return View("predicted-caches", "predicted-caches", "Where the caches end, from what the system reports", caption,
                table, None, shown(table, names))  # fmt: skip
