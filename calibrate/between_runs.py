"""What moves between runs of the same device: a share that every interval has in addition to what one run shows.

It is learned from public repeats (``examples/accuracy/between_runs.py`` computes it): 2.4 % for a local drive, 20 % for
drives of virtual machines, 6.7 % for a service. To it comes, in squares, how late the machine woke a sleeping program
in the median, over the shortest latency. Repeats in the sweep correct the sum, which counts as four of them. The bands
of a prediction are those of one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrate.inference.parameters import Array
from measure.loads import Load

LOCAL, VIRTUAL, SERVICE = 0.03, 0.2, 0.07
"""Relative standard deviations of a figure between runs; the first rounded up, as it rests on three runs."""

MOST = 0.5
"""However late the machine, no share is larger."""

COUNTS_AS = 4.0
"""How many repeats the expected share counts as."""


@dataclass(frozen=True)
class Runs:
    """The points of a curve: response times, the spread of repeats and their numbers, how late programs woke, (m,)."""

    response_s: Array
    spread: Array
    repeats: Array
    woken_late_s: Array | None = None


def between_runs(details: Mapping[str, Any], load: Load, runs: Runs) -> float:
    """The relative standard deviation of a figure between runs; ``details`` are those of the sweep's provenance."""
    facts = details.get("host_facts")
    virtual = isinstance(facts, Mapping) and facts.get("virtual") is True
    has_truth = "truth" in details  # a known device waits by the clock, whatever machine it is on
    expected = VIRTUAL if virtual and load.is_drive and not has_truth else SERVICE if load.is_counted else LOCAL
    if runs.woken_late_s is not None:
        late = float(np.median(runs.woken_late_s) / runs.response_s.min())
        expected = min(float(np.hypot(expected, late)), MOST)
    known = np.isfinite(runs.spread)
    freedom = runs.repeats[known] - 1
    squares = COUNTS_AS * expected**2 + float(freedom @ runs.spread[known] ** 2)
    return float(np.sqrt(squares / (COUNTS_AS + freedom.sum())))
