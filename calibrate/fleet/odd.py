"""Finds odd drives among like ones, by their throughput at every common load.

At each load, and for the mean over all of them, the generalized extreme Studentized deviate test finds the drives that
lie apart from the others (Rosner, Technometrics 1983): it removes the furthest drive, up to the share ``MOST_ODD``,
and compares each with the limit of a normal law, so that three odd drives of ten do not hide each other. Logarithms are
compared: a drive that is 20 % slower is as odd at 10 k/s as at 500. The level is shared by all tests (Bonferroni), so
that in at most a share ``false_alarms`` of fleets without an odd drive one is called odd. It is also divided among
Rosner's steps: otherwise the test finds too many in groups below 25.

Fleets have heavier tails than a normal law. So what the test finds must also lie beyond the law of the other drives:
Student's, with the fewest degrees of freedom that fit their deviations at all loads nearly as well as the best.

Where no model is known, a folder may hold two: drives in two clusters, together narrower than the gap between them and
each larger than odd drives may be, and of three or more, are judged separately.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import gammaln, ndtri, stdtrit

from calibrate.inference.parameters import Array, Mask
from measure.repeats import TIE, first_highest

Rows = npt.NDArray[np.intp]

FALSE_ALARMS = 0.05
LEAST = 8  # in a smaller group no drive is called odd
MOST_ODD = 0.3  # the share of a group that may be odd
LEAST_KIND = 3  # the least number of drives that are a kind of their own
FREEDOMS = (2.5, 3.0, 3.5, 4.0, 5.0, 7.0, 10.0, 20.0, 1000.0)  # the degrees of freedom that are tried
NEARLY = 1.0  # how much lower the log likelihood of the chosen law may be than the best
CAUTION = 3.0  # the level is divided by this, as a law's scale comes from the same few drives
POWER = 0.9
LIKE = ["series", "model", "firmware", "kind"]
"""Drives that share these are compared; ``kind`` numbers the clusters of one model."""


@dataclass(frozen=True)
class Power:
    """The least loss (percent) found in nine of ten cases in a group, at one load and at all; None: not judged."""

    series: str
    model: str
    firmware: str
    kind: int
    drives: int
    one_load_pct: float | None = None
    all_loads_pct: float | None = None


def apart(values: Array, level: float) -> Mask:
    """True for the values that lie apart from the others of their row: Rosner's test at ``level``, up to ``MOST_ODD``.

    >>> apart(np.array([1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.1, 5.0]), 0.05).nonzero()[0].tolist()
    [7]
    """
    left = np.array(values, ndmin=2, order="C")
    each, drives = np.ogrid[: len(left), : left.shape[1]]
    odd, removed, places = np.zeros(left.shape, bool), np.zeros(left.shape, bool), np.repeat(drives, len(left), axis=0)
    steps = int(MOST_ODD * left.shape[1])
    for _ in range(steps):
        away, spread = np.abs(left - left.mean(axis=1, keepdims=True)), left.std(axis=1, ddof=1)
        furthest = first_highest(away)[:, None]
        removed[each, places[each, furthest]] = True
        beyond = away.max(axis=1) > np.maximum(spread * _critical(left.shape[1], level / steps), TIE)
        odd[beyond] = removed[beyond]
        kept = np.arange(left.shape[1]) != furthest
        left, places = (rows[kept].reshape(len(left), -1) for rows in (left, places))
    return odd.reshape(values.shape)


def limits(healthy: Array, level: float) -> Array:
    """How far from the median (m,) the furthest of so many drives lies with probability ``level``, by their own law.

    ``healthy`` (n, m) are the values of drives that are not suspected.
    """
    away = np.abs(healthy - np.median(healthy, axis=0))
    middle = np.maximum(np.median(away, axis=0), TIE)
    scales = middle / -stdtrit(np.array(FREEDOMS)[:, None], 0.25)  # (freedoms, m)
    likelihood = [
        _fits(away / scale, v) - len(away) * np.log(scale).sum() for v, scale in zip(FREEDOMS, scales, strict=True)
    ]
    chosen = int(np.argmax(np.array(likelihood) >= max(likelihood) - NEARLY))
    return np.asarray(-stdtrit(FREEDOMS[chosen], level / CAUTION / (2 * len(healthy))) * scales[chosen])


def _beyond_both(values: Array, level: float) -> tuple[Mask, Array]:
    """The values (n, m) beyond Rosner's limit and that of the other drives' own law, and the latter (m,).

    The others are the drives that Rosner's test suspects nowhere, or, where fewer are left than ``MOST_ODD``
    allows, those suspected at the fewest loads. More than a few drives suspected at one load alone are the tails of
    the law: without them it would look lighter than it is.
    """
    odd = apart(values.T, level).T
    suspected = odd.sum(axis=1)
    if LEAST_KIND <= np.count_nonzero(suspected == 1) <= MOST_ODD * len(values):
        suspected[suspected == 1] = 0
    count = max(np.count_nonzero(suspected == 0), len(values) - int(MOST_ODD * len(values)))
    others = values[np.argsort(suspected, kind="stable")[:count]]
    furthest = limits(others, level)
    return odd & (np.abs(values - np.median(others, axis=0)) > furthest), furthest


def _fits(deviates: Array, freedom: float) -> float:
    """The log likelihood of ``deviates`` under Student's law."""
    normed = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom * np.pi) / 2
    return float((normed - (freedom + 1) / 2 * np.log1p(deviates**2 / freedom)).sum())


def _critical(drives: int, level: float) -> float:
    """The deviate that the furthest of ``drives`` normal values exceeds with probability ``level``."""
    freedom = drives - 2
    quantile = -stdtrit(freedom, level / (2 * drives))
    return float((drives - 1) * quantile / np.sqrt((freedom + quantile**2) * drives))


def crowds(curves: Array) -> Array:
    """The cluster (n,) of each drive, from 0: ``curves`` (n, m) of log throughputs are split where two lie far apart.

    One drive in ten may lie between them; it belongs to the nearer one.
    """
    kinds = np.zeros(len(curves), dtype=int)
    centred = curves - np.median(curves, axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    along = centred @ (axis if axis.sum() > 0 else -axis)  # from slow to fast
    order = np.argsort(along, kind="stable")
    ends, least, between = along[order], max(int(MOST_ODD * len(curves)) + 1, LEAST_KIND), len(curves) // 10
    cuts = [
        (low, high)
        for low in range(least, len(curves) - least + 1)
        for high in range(low, min(low + between, len(curves) - least) + 1)
        if ends[high] - ends[low - 1] > (ends[low - 1] - ends[0]) + (ends[-1] - ends[high]) + TIE
    ]
    if not cuts:
        return kinds
    low, high = max(cuts, key=lambda cut: ends[cut[1]] - ends[cut[0] - 1])
    upper = along > (ends[low - 1] + ends[high]) / 2
    first, second = crowds(curves[~upper]), crowds(curves[upper])
    kinds[~upper], kinds[upper] = first, second + first.max() + 1
    return kinds


def with_oddness(
    drives: pd.DataFrame, curves: pd.DataFrame, false_alarms: float = FALSE_ALARMS
) -> tuple[pd.DataFrame, list[Power]]:
    """The table with the columns ``kind`` and ``odd`` (how a drive is odd; "" for the others), and the powers.

    ``curves`` holds the throughputs: a row for each of ``drives``, a column for each load, NaN where not measured.
    """
    logs, loads = np.log(curves.to_numpy(float)), curves.columns.to_numpy(float)
    kinds, odd_texts = np.zeros(len(drives), dtype=int), np.full(len(drives), "", dtype=object)
    makes = [drives[name].tolist() for name in LIKE[:3]]
    for rows in _groups(*makes).values():
        here, common = _shared(logs, rows)
        if common.any():
            kinds[here] = crowds(logs[here][:, common])
    groups = [(key, *_shared(logs, rows)) for key, rows in _groups(*makes, kinds.tolist()).items()]
    tests = sum(int(common.sum()) + 1 for _, here, common in groups if len(here) >= LEAST)
    powers = []
    for (series, model, firmware, kind), here, common in groups:
        power = Power(series, model, firmware, kind + 1, len(here))
        if len(here) >= LEAST and common.any():
            level, known = false_alarms / tests, logs[here][:, common]
            values = np.column_stack([known, known.mean(axis=1)])
            odd, furthest = _beyond_both(values, level)
            healthy = [column[~away] for column, away in zip(values.T, odd.T, strict=True)]
            ratios = np.exp(values - np.array([np.median(column) for column in healthy]))
            for row in np.flatnonzero(odd.any(axis=1)):
                odd_texts[here[row]] = _text(loads[common], ratios[row], odd[row])
            *of_load, of_all = (_seen(*column, level) for column in zip(healthy, furthest, strict=True))
            power = replace(power, one_load_pct=max(of_load), all_loads_pct=of_all)
        powers.append(power)
    return drives.assign(kind=kinds + 1, odd=odd_texts), powers


def _groups(*columns: list[Any]) -> dict[tuple[Any, ...], Rows]:
    """The rows that have the same values in these columns, by those values, in the order of their first rows."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*columns, strict=True)):
        found.setdefault(key, []).append(row)
    return {key: np.array(rows) for key, rows in found.items()}


def _shared(logs: Array, rows: Rows) -> tuple[Rows, Mask]:
    """The drives that have all common loads, and which loads (m,) are common: those of most of the drives ``rows``."""
    known = ~np.isnan(logs[rows])
    common = np.asarray(known.mean(axis=0) > 1 - MOST_ODD)
    return rows[known[:, common].all(axis=1)], common


def _seen(healthy: Array, furthest: float, level: float) -> float:
    """The loss in percent of one further drive that would be found with probability ``POWER``."""
    drives = len(healthy) + 1
    reach = ndtri(POWER) - stdtrit(drives - 2, level / int(MOST_ODD * drives) / (2 * drives))
    spread = healthy.std(ddof=1) * np.sqrt(1 + 1 / len(healthy))
    furthest *= 1 + 2 / np.sqrt(len(healthy))  # another fleet's own law differs by about as much
    return float(-100 * np.expm1(-max(reach * spread, furthest + ndtri(POWER) * spread)))


def _text(loads: Array, ratios: Array, odd: Mask) -> str:
    """``-20 % at 4, 8, 16``; where the mean over all loads alone is odd, ``-4 % at all loads``."""
    if not odd[:-1].any():
        return f"{text_of(float(ratios[-1]))} at all loads together"
    here = ratios[:-1][odd[:-1]]
    worst = text_of(float(here[np.abs(np.log(here)).argmax()]))
    return f"{worst} at {'every load' if odd[:-1].all() else ', '.join(f'{n:g}' for n in loads[odd[:-1]])}"


def text_of(ratio: float) -> str:
    """A ratio to the median in words: percent for small ones.

    >>> text_of(1.2), text_of(0.4), text_of(2.5)
    ('+20 %', '-60 %', '2.5 times')
    """
    return f"{ratio:.2g} times" if ratio > 1.5 else f"{100 * (ratio - 1):+.0f} %"
