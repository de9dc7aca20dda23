"""Curves as if they had been measured, for tests that make some up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from measure import Sweep
from measure.loads import ArrivalRate


def points_at(load: ArrayLike, rate_per_s: ArrayLike, latency_s: ArrayLike | None = None, **more: Any) -> pd.DataFrame:
    """A row for each load, with ``more`` columns; where no time is given, a request takes N / X."""
    n, x = np.broadcast_arrays(np.array(load, dtype=float), np.array(rate_per_s, dtype=float))
    known = {"series": "made", "load": n, "throughput_per_s": x, "latency_s": n / x if latency_s is None else latency_s}
    return pd.DataFrame({**known, **more})


def open_sweep(rate_per_s: ArrayLike, latency_s: ArrayLike, **more: Any) -> Sweep:
    """Requests that arrive at a rate, all of which are completed."""
    points = points_at(rate_per_s, rate_per_s, latency_s, **more)
    return Sweep(points, load_type=ArrivalRate())
