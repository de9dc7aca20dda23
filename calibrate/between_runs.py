"""What moves between runs of the same device: a share that every interval has beside what one run tells.

Public repeats of one test differ by 1 to 5 % on local drives at rest and by tens of percent on virtual machines
(``examples/accuracy/between_runs.py`` measures it for a drive of yours). So the share of a local device is 3 %, that of
a drive of a virtual machine 20 %. To it comes, in squares, how late the machine woke a sleeping program in the median,
over the shortest latency. Repeats in the sweep correct the sum, which counts as four of them. The bands of a prediction
are those of one run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calibrate.points import Points
from measure.sweep import Sweep

LOCAL, VIRTUAL = 0.03, 0.2
"""Relative standard deviations of a figure between runs."""

MOST = 0.5
"""However late the machine, no share is larger."""

COUNTS_AS = 4.0
"""How many repeats the expected share counts as."""


def between_runs(sweep: Sweep, points: Points) -> float:
    """The relative standard deviation of a figure between runs of the device of ``points``, a curve of ``sweep``."""
    details = sweep.provenance.details
    facts = details.get("host_facts")
    virtual = isinstance(facts, Mapping) and facts.get("virtual") is True
    has_truth = "truth" in details  # a known device waits by the clock, whatever machine it is on
    expected = VIRTUAL if virtual and points.load_type.is_drive and not has_truth else LOCAL
    if points.woken_late_s is not None:
        late = float(np.median(points.woken_late_s) / points.response_time_s.min())
        expected = min(float(np.hypot(expected, late)), MOST)
    spread = points.response_spread if points.throughput_is_given else points.throughput_spread
    known = np.isfinite(spread)
    freedom = points.repeats[known] - 1
    squares = COUNTS_AS * expected**2 + float(freedom @ spread[known] ** 2)
    return float(np.sqrt(squares / (COUNTS_AS + freedom.sum())))
