"""Adaptive sweeps: the loop around :func:`calibrate.next.load.next_load`, until the knee is known.

Depths 1 and 32 first, then the depth that narrows the knee most. Over devices drawn at random with noise of 3 % four to
five points give N* as well as six fixed ones (1, 4, 16, 32, 64, 256) do, and as nine by doublings: the table of
``examples/accuracy/adaptive_accuracy.py``, in accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.fitting.fit import fit
from calibrate.fitting.knee import Knee
from calibrate.next.load import PAIR, next_load
from measure.sweep import Sweep

DEPTHS: tuple[int, ...] = tuple(int(n) for n in np.unique(np.round(2 ** (np.arange(33) / 4))))
"""The depths to choose among: every whole number at first, then four to an octave, up to 256."""

LEAST = 4
"""The two ends, one point where the knee is, and one to check the model."""

REACH = 4.0
"""How many times deeper than before the next point may lie: past the peak throughput can fall."""


def next_depth(
    sweep: Sweep | None, most: int, *, depths: Sequence[float] = DEPTHS, tolerance: float = 0.1
) -> float | None:
    """The depth to measure next for the knee of a closed device of which ``sweep`` holds what was measured, one series.

    None where ``most`` depths were measured, the 90 % interval of the knee lies within ``tolerance`` (relative) to
    either side, or no other depth would tell more. It depends on the points alone, so a search resumes from them.

    >>> import pandas as pd
    >>> from calibrate import from_datasheet
    >>> drive, found = from_datasheet(idle_latency=80e-6, peak_iops=600e3), []
    >>> while (depth := next_depth(sweep if found else None, 4)) is not None:
    ...     found.append(depth)
    ...     rates = drive.predict(found).throughput_per_s
    ...     columns = {"load": found, "throughput_per_s": rates, "latency_s": found / rates}
    ...     sweep = Sweep(pd.DataFrame(columns).assign(series="4 KiB read"))
    >>> found[:2], len(found)
    ([1.0, 32.0], 4)
    """
    measured = set() if sweep is None else {float(n) for n in sweep.points["load"]}
    if missing := [n for n in PAIR if n not in measured]:
        return missing[0]
    if sweep is None or len(measured) >= most:
        return None
    made = fit(sweep, sorted(measured))
    if len(measured) >= LEAST and half_width(made.knee) <= tolerance:
        return None
    within_reach = [n for n in depths if n <= REACH * max(measured)]
    # The third depth has a rule of its own; from then on the knee is what is asked for.
    choice = next_load(made, within_reach, goal=None if len(measured) == len(PAIR) else "knee")
    return None if choice is None else choice.load


def half_width(knee: Knee) -> float:
    """Half the width of the knee's interval, relative: 0.1 for 10 % to either side; infinite where it is open."""
    return float(np.sqrt(knee.high / knee.low) - 1) if knee.low is not None and knee.high is not None else np.inf
