"""Which drives are odd among their like: far from the median, in robust standard deviations.

A drive is odd where the logarithm of its idle latency, peak or knee is further from the median of its group than
``limit`` times 1.4826 times the median absolute deviation (Hampel, JASA 1974), and, where its own interval is wider
than that, than ``limit`` times the standard deviation of its own: a sweep that ends before the peak tells the peak
roughly, and is not odd for it. The limit is set so that of drives whose logarithms are normal the share
``false_alarms`` is called odd by chance, in all three quantities together. For small groups, whose median absolute
deviation is itself uncertain, the limit comes from 200,000 simulated drives with a fixed seed; from ``MANY`` on it is
the normal quantile.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.stats import norm

from calibrate.inference.parameters import Array

QUANTITIES = {
    "idle_latency_s": ("idle_latency_low_s", "idle_latency_high_s"),
    "peak_per_s": ("peak_low_per_s", "peak_high_per_s"),
    "knee": ("knee_low", "knee_high"),
}
"""What drives are compared by, and the columns of its 90 % interval."""
INTERVAL = 1.645
"""Half a 90 % interval, in standard deviations."""
FALSE_ALARMS = 0.001
LEAST = 8
"""In a smaller group no drive is called odd."""
MANY = 400
NORMAL = 1.4826
"""The standard deviation of a normal law over its median absolute deviation."""
SIMULATED = 200_000


def deviations(values: Array, low: Array, high: Array) -> Array:
    """How far each of the logarithms of ``values`` (n,) lies from their median, in robust standard deviations.

    ``low`` and ``high`` (n,) are the ends of each one's own interval, NaN where it has none: where that is wider than
    the group, on the side of the median, it counts instead.
    """
    logs = np.log(values)
    away = logs - np.nanmedian(logs)
    own = np.where(away > 0, logs - np.log(low), np.log(high) - logs) / INTERVAL
    scale = np.fmax(NORMAL * np.nanmedian(np.abs(away)), own)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(away == 0, 0.0, away / scale))


@lru_cache(maxsize=256)
def limit(drives: int, false_alarms: float = FALSE_ALARMS) -> float:
    """The deviation beyond which one of so many drives is odd in one quantity.

    >>> round(limit(10_000), 2), limit(10) > limit(100) > limit(10_000)
    (3.59, True)
    """
    share = false_alarms / len(QUANTITIES)
    if drives >= MANY:
        return float(norm.isf(share / 2))
    groups = np.random.default_rng(1).standard_normal((max(1, SIMULATED // drives), drives))
    away = np.abs(groups - np.median(groups, axis=1, keepdims=True))
    return float(np.quantile(away / (NORMAL * np.median(away, axis=1, keepdims=True)), 1 - share))


def with_oddness(table: pd.DataFrame, false_alarms: float = FALSE_ALARMS) -> pd.DataFrame:
    """The table with a column ``odd``: which quantity of the drive is how far off among its like; "" for the others.

    Like drives are those of one ``series``, ``model`` and ``firmware``. Groups of fewer than ``LEAST`` are left alone.
    """
    odd = pd.Series("", index=table.index, dtype=object)
    for _, group in table.groupby(["series", "model", "firmware"], sort=False):
        if len(group) < LEAST:
            continue
        beyond = limit(len(group), false_alarms)
        for name, ends in QUANTITIES.items():
            values, low, high = (group[column].to_numpy(float) for column in (name, *ends))
            for place in np.flatnonzero(np.abs(deviations(values, low, high)) > beyond):
                told, index = f"{WORDS[name]} {text_of(values[place] / np.nanmedian(values))}", group.index[int(place)]
                odd[index] = f"{odd[index]}, {told}" if odd[index] else told
    return table.assign(odd=odd)


WORDS = {"idle_latency_s": "idle latency", "peak_per_s": "peak", "knee": "knee"}


def text_of(ratio: float) -> str:
    """A ratio to the median in words: percent for small ones.

    >>> text_of(1.2), text_of(0.4), text_of(2.5)
    ('+20 %', '-60 %', '2.5 times')
    """
    return f"{ratio:.2g} times" if ratio > 1.5 else f"{100 * (ratio - 1):+.0f} %"
