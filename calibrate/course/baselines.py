"""What the line over block sizes says of the baselines: the same reads and writes, and those that come in order.

The sweep over block sizes gives N / X = alpha + beta b for random reads and for random writes, from its smallest and
its largest size (:mod:`calibrate.surface`). The baselines are other runs, of 4 KiB at random and of 128 KiB in
order. So the random ones tell how well a measurement repeats, and the sequential ones what order gains: read-ahead and
merging, of which a line through random blocks knows nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calibrate.report.axes import throughput_axis
from calibrate.report.measured.drawings import bars
from calibrate.report.measured.tables import shown
from calibrate.report.view import View
from calibrate.surface import Places, Surface, size_lines, surface_points
from measure.errors import DataError
from measure.sweep import Sweep

_DRAWN = {"throughput_per_s": "observed", "predicted_per_s": "predicted"}
_NAMES = {"throughput_per_s": "observed", "predicted_per_s": "predicted", "error_pct": "error"}


def baseline_view(baseline: Sweep, sizes: Sweep | None) -> View | None:
    """Throughput of every baseline beside the line's; None where nothing of it has a line among ``sizes``."""
    rows = []
    for series in baseline.series if sizes is not None else ():
        row = baseline.select(series).mean_points().iloc[0]
        line = None if sizes is None or row["load"] != 1 else _line(sizes, float(row["read_fraction"]))
        if line is None or not row["block_bytes"] > 0:
            continue
        size, observed = float(row["block_bytes"]), float(row["throughput_per_s"])
        one = np.ones(1)
        at = line.predict(Places(size * one, line.used.places.read_fraction[:1], one, one)).rows()[0]
        predicted = at["predicted_throughput_per_s"]
        rows.append({
            "series": series, "throughput_per_s": observed, "predicted_per_s": predicted,
            "predicted_low_per_s": at["predicted_throughput_low_per_s"],
            "predicted_high_per_s": at["predicted_throughput_high_per_s"],
            "error_pct": round(100 * (predicted / observed - 1), 3) + 0.0,
        })  # fmt: skip
    if not rows:
        return None
    table = pd.DataFrame(rows)
    axis = throughput_axis(table[list(_DRAWN)].to_numpy(float))
    caption = (
        "Predicted from another sweep of this course: the line alpha + beta b through the smallest and the largest "
        "random block. What is random here repeats a point of that sweep, so its error says how well a measurement "
        "repeats; for what is sequential it says what order gains."
    )
    return View("predicted-baseline", "predicted-baseline", "The baselines, from the line over block sizes", caption,
                table, bars(table, "series", _DRAWN, axis), shown(table, _NAMES))  # fmt: skip


def _line(sizes: Sweep, share: float) -> Surface | None:
    """The line of blocks with this share of reads, one request at a time."""
    points = sizes.points
    near = np.isclose(points["read_fraction"].to_numpy(float), share, atol=0.01) & (points["load"].to_numpy() == 1)
    try:
        lines = size_lines(surface_points(replace(sizes, points=points[near])))
    except DataError:  # none, or one size
        return None
    return lines[0].surface if lines else None
