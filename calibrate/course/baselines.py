"""What the line over block sizes says of the baselines: the same reads and writes, and those that come in order.

The sweep over block sizes gives N / X = alpha + beta b for random reads and for random writes, from its smallest and
its largest size (:mod:`calibrate.block_sizes`). The baselines are other runs, of 4 KiB at random and of 128 KiB in
order. So the random ones tell how well a measurement repeats, and the sequential ones what order gains: read-ahead and
merging, of which a line through random blocks knows nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from calibrate.block_sizes import BlockLine, block_lines
from calibrate.report.axes import throughput_axis
from calibrate.report.measured.drawings import bars
from calibrate.report.measured.tables import shown
from calibrate.report.view import View
from measure.dataset import Sweep
from measure.errors import DataError

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
        at = np.flatnonzero(np.isclose(line.block_bytes, size))
        law = 1 / (line.per_request_s[0] + line.per_byte_s[0] * size)
        predicted = float(line.predicted_per_s[at[0]]) if at.size else law
        low, high = (float(ends[at[0]]) if at.size else np.nan for ends in (line.low_per_s, line.high_per_s))
        rows.append({
            "series": series, "throughput_per_s": observed, "predicted_per_s": predicted, "predicted_low_per_s": low,
            "predicted_high_per_s": high, "error_pct": round(100 * (predicted / observed - 1), 3) + 0.0,
        })  # fmt: skip
    if not rows:
        return None
    table = pd.DataFrame(rows)
    axis = throughput_axis(table[list(_DRAWN)].to_numpy(float), "queue_depth")
    caption = (
        "Predicted from another sweep of this course: the line alpha + beta b through the smallest and the largest "
        "random block. What is random here repeats a point of that sweep, so its error says how well a measurement "
        "repeats; for what is sequential it says what order gains."
    )
    return View("predicted-baseline", "predicted-baseline", "The baselines, from the line over block sizes", caption,
                table, bars(table, "series", _DRAWN, axis), shown(table, _NAMES))  # fmt: skip


def _line(sizes: Sweep, share: float) -> BlockLine | None:
    """The line of random blocks with this share of reads, one request at a time."""
    near = np.isclose(sizes.points["read_fraction"].to_numpy(float), share, atol=0.01)
    try:
        lines = block_lines(replace(sizes, points=sizes.points[near]))
    except DataError:
        return None
    return next((line for line in lines if line.outstanding == 1), None)
