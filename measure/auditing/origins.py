"""What cannot be checked because it was not measured, and rows that are copies of others.

A law never proves itself: a figure that N = X R gave, or corrected, cannot show that N = X R holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from measure.findings import Finding
from measure.loads import ClosedLoad
from measure.origin import ORIGIN, by_littles_law, can_judge, judged, reason_of, word_of
from measure.repeats import each_series
from measure.sweep import Sweep
from measure.units import counted

_WORDS = {"load": "load", "throughput_per_s": "throughput", "latency_s": "latency"}


def _stands_open(origin: str) -> bool:
    """Whether N = X R cannot be shown to hold with a figure of this origin."""
    return by_littles_law(origin) or not can_judge(origin)


def check_origins(sweep: Sweep, broken: Collection[str | None] = ()) -> Iterator[Finding]:
    """A finding for each curve and each figure that N = X R gave: what cannot be checked, and at which points.

    On the curves ``broken`` the law was checked with what it had corrected, and does not hold even so.
    """
    closed = isinstance(sweep.load_type, ClosedLoad)
    if sweep.all_measured:
        return
    for series, curve in each_series(sweep.mean_points()):
        for figure, column in ORIGIN.items():
            origins = curve[column].to_numpy(object)
            for given in dict.fromkeys(o for o in origins if _stands_open(o)):
                if can_judge(given) and series in broken:
                    continue
                at = sweep.load_type.at(*dict.fromkeys(curve["load"][origins == given].tolist()))
                checks = ["N = X R"] if closed else []
                checks += ["the course of the throughput"] if figure != "latency_s" and not can_judge(given) else []
                yield Finding(
                    "littles-law" if closed else "not-measured",
                    "info",
                    f"{' and '.join(checks) or 'the latency'} cannot be checked at {at}: the {_WORDS[figure]} was "
                    f"{word_of(given)} ({reason_of(given)}).",
                    remedy="measure load, throughput and latency.",
                    series=series,
                )


def not_measured(sweep: Sweep) -> str:
    """Which figures leave N = X R unchecked, and at how many points: "latency computed at 3 of 5 points"; or ""."""
    if not isinstance(sweep.load_type, ClosedLoad):
        return ""
    points, parts = sweep.mean_points(), []
    for figure, name in _WORDS.items():
        origins = points[ORIGIN[figure]]
        words = origins[origins.map(_stands_open)].map(word_of)
        parts += [
            f"{name} {word} at {count} of {counted(len(points), 'point')}"
            for word, count in words.value_counts().items()
        ]
    return ", ".join(parts)


def check_copies(sweep: Sweep) -> Iterator[Finding]:
    """Runs, and curves, of which every point equals another's to the last digit: copies, which are no repeats."""
    if len(sweep.series) < 2 and (sweep.means["repeats"] < 2).all():
        return
    points = judged(sweep.points, ["throughput_per_s", "latency_s"])
    first_with: dict[bytes, str] = {}
    for series, curve in each_series(points):
        rows, times = np.unique(curve[list(ORIGIN)].to_numpy(float), axis=0, return_counts=True)
        if len(rows) < 2:
            continue
        if times.min() > 1:
            yield Finding(
                "copies",
                "warning",
                f"every point is there {times.min()} times{' or more' if times.max() > times.min() else ''}, equal to "
                "the last digit.",
                "one run was copied; copies are no repeats, and that they do not differ says nothing of the noise.",
                "leave the copies out, or measure again.",
                series,
            )
        if (first := first_with.setdefault(rows.tobytes(), series)) != series:
            yield Finding(
                "copies",
                "warning",
                f"every point equals that of {first}, to the last digit.",
                "one run was copied under another name.",
                "leave one of the two out, or measure again.",
                series,
            )
