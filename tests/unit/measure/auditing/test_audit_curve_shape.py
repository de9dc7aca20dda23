"""The shape of curves: where drift, a fall past the peak, latencies out of order and odd bandwidths begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from measure.auditing.curve_shape import (
    ClosedCurve,
    check_bandwidth,
    check_curve,
    check_open,
    closed_curves,
    with_block,
)
from measure.findings import Finding
from measure.loads import ArrivalRate, Clients, Depth, Load
from measure.sweep import Sweep

DEPTH = Depth()


def shape(x: Sequence[float], r: Sequence[float] = (), check: str = "", load: Load = DEPTH) -> list[Finding]:
    n = 2.0 ** np.arange(len(x))
    found = list(check_curve(ClosedCurve("c", n, np.array(x, float), np.array(r) if len(r) else n, None, None, load)))
    return [f for f in found if f.check == check] if check else found


@pytest.mark.parametrize(
    ("throughput", "drifts"),
    [
        ([1000, 849, 900], True),
        ([1000, 850, 900], False),
        ([1000, 500, 949], True),
        ([1000, 500, 950], False),
        ([1000, 500], True),
    ],
)
def test_drift_is_a_fall_by_a_seventh_that_does_not_come_back(throughput: Sequence[float], drifts: bool) -> None:
    found = shape(throughput, check="drift")
    assert [(f.severity, f.series, f.load) for f in found] == [("warning", "c", 2.0)] * drifts
    if drifts:
        change = round(100 * (throughput[1] / throughput[0] - 1))
        (served,) = shape(throughput, check="drift", load=Clients())
        assert "drive" not in f"{served.hypothesis} {served.remedy}"
        assert f"falls from 1.00 k/s at depth 1 to {throughput[1]} /s at depth 2 ({change} %)" in found[0].message


@pytest.mark.parametrize(
    ("throughput", "falls"),
    [
        ([500, 1000, 969], True),
        ([500, 1000, 970], False),
        ([1000, 900], False),
        ([500, 1000, 900, 980], False),
        ([500, 1000, 980, 900], True),
    ],
)
def test_past_the_peak_the_last_depth_is_three_per_cent_lower(throughput: Sequence[float], falls: bool) -> None:
    found = shape(throughput, check="past-the-peak")
    assert [(f.severity, f.load) for f in found] == [("info", 2.0)] * falls
    if falls:
        assert f"({100 * (throughput[-1] / 1000 - 1):.0f} %)" in found[0].message


def over_depths(more: Sequence[float], block_bytes: float = 4096.0) -> list[Finding]:
    """164 requests a second of 4 KiB at every depth by the bandwidth, and fewer in the column of the rate."""
    by_bytes = 164.0
    table = points_at(
        2.0 ** np.arange(len(more)),
        by_bytes / (1 + np.array(more)),
        block_bytes=block_bytes,
        bandwidth_bytes_per_s=4096 * by_bytes,
    )
    return list(check_bandwidth(Sweep(table)))


@pytest.mark.parametrize("block_bytes", [4096.0, np.nan])
def test_requests_missing_more_the_deeper_the_queue_are_those_of_a_ramp(block_bytes: float) -> None:
    (found,) = over_depths([0.0, 0.004, 0.012, 0.03, 0.06, 0.13], block_bytes)
    assert (found.check, found.severity, found.load) == ("bandwidth-block", "warning", 32)
    assert "1.130 times at depth 32: the bandwidth is that of 164 /s, where 145 /s stands" in found.message
    assert found.hypothesis.startswith("a ramp (ramp_time): fio leaves the requests in flight at its end out")


@pytest.mark.parametrize("more", [[0.0, 0.004, 0.012], [0.05, 0.05, 0.05], [0.0, 0.1, 0.02], [0.0, -0.1, -0.2]])
def test_other_disagreements_of_bandwidth_and_rate_name_no_ramp(more: Sequence[float]) -> None:
    assert not [f for block in (4096.0, np.nan) for f in over_depths(more, block) if "ramp" in f.hypothesis]


def bandwidths(scale: Sequence[float]) -> list[Finding]:
    """1000 requests a second of 4 KiB, whose bandwidth is off by a factor in each row."""
    bandwidth = 4.096e6 * np.array(scale)
    table = points_at(np.ones(len(scale)), 1e3, block_bytes=4096.0, bandwidth_bytes_per_s=bandwidth)
    return list(check_bandwidth(Sweep(table)))


@pytest.mark.parametrize(
    ("scale", "severity", "cause"),
    [
        (1.014, None, ""),
        (0.986, None, ""),
        (1.017, "info", "over different times"),
        (0.96, "info", "over different times"),
        (1.049, "info", "2^20"),
        (1.024, "info", "1000 KiB"),
        (1 / 1.024, "info", "1000 KiB"),
        (1.0275, "info", "over different times"),
        (1 / 1.048576, "info", "2^20"),
        (1.06, "warning", "the block is another one"),
        (0.94, "warning", "the block is another one"),
        (2.0, "warning", "the block is another one"),
    ],
)
def test_bandwidth_is_throughput_times_block(scale: float, severity: str | None, cause: str) -> None:
    found = bandwidths([scale, scale, 1.0 if severity is None else scale])
    assert [f.severity for f in found] == ([severity] if severity else [])
    if found:
        assert cause in found[0].hypothesis
        assert f"is {scale:.3f} times the block size" in found[0].message
        assert bool(found[0].remedy) == (severity == "warning")
    first = "(the first row: 8 KiB a request where the block is 4 KiB)"
    assert first in bandwidths([2.0, 1.9, 2.5])[0].message


def test_a_rate_counted_in_other_blocks_moves_as_many_bytes() -> None:
    table = {"series": "c", "load": [1.0, 2.0], "throughput_per_s": 1e3, "latency_s": 1e-3, "block_bytes": 4096.0}
    (curve,) = closed_curves(Sweep(points=pd.DataFrame({**table, "read_fraction": [0.701, 0.699]})))
    other = with_block(curve, 16384.0)
    assert (other.throughput.tolist(), other.block_bytes, other.file_bytes) == ([250.0, 250.0], 16384.0, 4096.0)
    assert other.read_fraction == 0.7


def opened(asked: Sequence[float], came: Sequence[float], **more: Any) -> Finding:
    table = {"series": "o", "load": asked, "throughput_per_s": came, "latency_s": 1e-4, **more}
    (found,) = check_open(Sweep(points=pd.DataFrame(table), load_type=ArrivalRate()))
    return found


@pytest.mark.parametrize(("came", "severity"), [(1019, "info"), (1021, "warning"), (981, "info"), (979, "warning")])
def test_a_rate_is_reached_within_two_per_cent(came: float, severity: str) -> None:
    assert opened([500, 1000], [500, came]).severity == severity


def test_too_low_a_rate_is_saturation_and_too_high_a_one_is_rounding() -> None:
    low, high = opened([500, 1000], [500, 900]), opened([1000, 500], [1040, 500])
    assert "saturated" in low.hypothesis
    assert "microseconds" in high.hypothesis
    assert (low.load, high.load) == (1000, 1000)
    assert "(-10.0 %)" in low.message
    assert "(+4.0 %)" in high.message


def test_three_errors_of_counting_excuse_a_rate() -> None:
    """3 / sqrt(n): 0.25 of 144, 0.03 of 10,000 requests, 0.0212 of 20,000; a repeat counts as many again."""
    assert opened([0.5], [0.625], requests=144).severity == "info"
    assert opened([1000], [1029], requests=10_000).severity == "info"
    assert opened([1000], [1031], requests=10_000).severity == "warning"
    assert opened([1000, 1000], [1029, 1029], requests=10_000).severity == "warning"
    assert opened([1000, 1000], [1020.5, 1020.5], requests=10_000).severity == "info"
    assert opened([1000], [1019], requests=10**8).severity == "info"


def test_what_was_asked_is_held_against_what_came_where_both_are_recorded() -> None:
    assert opened([900], [900], asked_rate_per_s=[1000.0]).severity == "warning"
    assert opened([1000, 500], [1000, 500], asked_rate_per_s=[0.0, 500.0]).severity == "info"
