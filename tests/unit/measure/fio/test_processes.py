"""While fio measures several depths in one process, the device's own counters preview each throughput."""

from __future__ import annotations

import pytest

from measure.fio.plan import FioPoint
from measure.fio.processes import PREVIEW_S, Preview
from measure.fio.workload import FioJob

POINTS = [FioPoint(f"d{n}", FioJob(n, 1, 4096, 100, "random"), 0, ("fio",)) for n in (1, 2)]
RATES = {"d1": 1000.0, "d2": 1900.0}


def completed(elapsed_s: float) -> int:
    """1.7 s of the first point, then the second."""
    return round(RATES["d1"] * min(elapsed_s, 1.7) + RATES["d2"] * max(0.0, elapsed_s - 1.7))


def test_each_point_is_previewed_after_its_ramp_by_the_rate_of_the_device() -> None:
    now_s = 0.0
    preview = Preview(POINTS, 1.7, 0.3, lambda: completed(now_s))
    seen: dict[str, float] = {}
    for step in range(36):
        now_s = 0.1 * step
        if found := preview.at(now_s):
            point, rate = found
            seen[point.key] = rate
            assert now_s >= 0.3 + PREVIEW_S - 0.01
    assert seen == {key: pytest.approx(rate, rel=0.01) for key, rate in RATES.items()}


def test_a_device_that_completes_nothing_is_not_previewed() -> None:
    preview = Preview(POINTS, 1.7, 0.3, lambda: 7)
    assert [preview.at(0.1 * step) for step in range(30)] == [None] * 30
