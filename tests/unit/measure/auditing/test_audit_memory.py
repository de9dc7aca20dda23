"""Memory curves in the audit: which latencies are a cache's, how many lines may be in flight, and what rises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from measure.auditing.memory_curves import check_buffer_sizes, check_memory, listed_peak
from measure.errors import DataError
from measure.findings import Finding
from measure.loads import Bandwidth, BufferSize, InjectedDelay, Load
from measure.origin import Provenance
from measure.sweep import Sweep

DELAY = InjectedDelay()


def memory(
    latency_s: Sequence[float],
    rates: Sequence[float] = (),
    kind: Load = DELAY,
    load: Sequence[float] = (),
    details: dict[str, Any] | None = None,
    **columns: Any,
) -> Sweep:
    """Cache lines a second over injected delays 0, 1, 2, ... where nothing else is given."""
    table = {"series": "m", "load": load or range(len(latency_s)), "latency_s": latency_s, **columns}
    points = pd.DataFrame({**table, "throughput_per_s": rates or [10 / r for r in latency_s]}).astype({"load": float})
    return Sweep(points=points, load_type=kind, provenance=Provenance(details=details or {}))


def one(sweep: Sweep, check: str) -> Finding:
    (found,) = [f for f in check_memory(sweep) if f.check == check]
    return found


def absent(sweep: Sweep, check: str) -> bool:
    return check not in {f.check for f in check_memory(sweep)}


@pytest.mark.parametrize(
    ("latencies_ns", "severity"),
    [
        ([19, 19, 90], "error"),
        ([20, 20, 90], "warning"),
        ([44, 90, 90], "warning"),
        ([45, 90, 90], None),
        ([90, 90, 19], "warning"),
    ],
)
def test_a_latency_below_20_ns_is_a_caches_and_one_below_45_ns_partly(
    latencies_ns: Sequence[float], severity: str | None
) -> None:
    found = [f for f in check_memory(memory([r / 1e9 for r in latencies_ns])) if f.check == "fits-a-cache"]
    assert [f.severity for f in found] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("buffer", "latency_s", "which"),
    [
        (32 * 2**10, 1e-9, "a buffer of 32 KiB fits a level-1 cache"),
        (33 * 2**10, 1e-9, "a buffer of 33 KiB fits a level-2 cache"),
        (256 * 2**10, 1e-9, "level-2 cache (256 KiB and more)"),
        (257 * 2**10, 1e-9, "a level-1 or level-2 cache"),
        (None, 7.9e-9, "the buffer fits a level-1 or level-2 cache"),
        (None, 8e-9, "a cache of the CPU"),
    ],
)
def test_the_cache_is_named_by_the_buffer_or_else_by_the_latency(
    buffer: float | None, latency_s: float, which: str
) -> None:
    found = one(memory([latency_s] * 2, details={"buffer_bytes": buffer}), "fits-a-cache")
    assert which in found.hypothesis


def test_a_buffer_as_large_as_a_cache_fits_it() -> None:
    def with_buffer(size: Any) -> Sweep:
        return memory([6e-8] * 2, details={"buffer_bytes": size, "caches": {"L2": 2**20, "L3": 2**25}})

    assert "fits the L2 cache" in one(with_buffer(2**20), "fits-a-cache").hypothesis
    assert "fits the L3 cache" in one(with_buffer({"m": 2**20 + 1}), "fits-a-cache").hypothesis
    for size in (2**25 + 1, 0, None, {"other": 4096}, "4096"):
        assert absent(with_buffer(size), "fits-a-cache")
    facts = [{"level": n, "kind": k, "size_bytes": b} for n, k, b in ((1, "Instruction", 2**30), (3, "Unified", 2**25))]
    host = {"buffer_bytes": 2.0**24, "host_facts": {"caches": facts}}
    assert "fits the level-3 cache" in one(memory([6e-8] * 2, details=host), "fits-a-cache").hypothesis
    with pytest.raises(DataError, match=r"m: a buffer of .* fits the L2 cache"):
        listed_peak(with_buffer(1))
    listed_peak(memory([4.4e-8] * 2))  # a warning is no refusal


@pytest.mark.parametrize(
    ("lines", "severity", "load", "words"),
    [
        ([4, 0.9], "info", 0, "at most 4 cache lines are in flight"),
        ([4, 0.89], "error", 1, "is 0.89 lines in flight"),
        ([20_000, 2], "info", 0, "at the longest delay 2"),
        ([20_001, 2], "error", 0, "more than any machine"),
        ([1, 20_001], "error", 1, "more than any machine"),
    ],
)
def test_between_one_and_twenty_thousand_lines_may_be_in_flight(
    lines: Sequence[float], severity: str, load: float, words: str
) -> None:
    found = one(memory([2.0**-23] * 2, [n * 2.0**23 for n in lines]), "lines-in-flight")
    assert (found.severity, found.load) == (severity, load)
    assert words in found.message


def test_a_thousand_times_too_few_lines_are_a_unit() -> None:
    assert "(then it is 1)" in one(memory([1e-7] * 2, [1e4] * 2), "lines-in-flight").hypothesis
    assert "(then it is 0.9)" in one(memory([1.0] * 2, [0.0009] * 2), "lines-in-flight").hypothesis
    assert "by more than 1000" in one(memory([1.0] * 2, [0.00089] * 2), "lines-in-flight").hypothesis


@pytest.mark.parametrize(
    ("idle_ns", "peak", "lines", "severity"),
    [
        (100, 6.4e9, [10, 0.9], "info"),
        (79, 6.4e9, [10, 0.9], "warning"),  # begins at 27 % more
        (79, 6.4e9, [10, 1], "info"),  # the curve has no point at rest
        (80, 5.12e9, [10, 0.9], "info"),
        (0, 6.4e9, [10, 0.9], "info"),
        (134, 6.4e9, [10, 0.9], "warning"),
        (100, 5e9, [10, 0.9], "warning"),  # reaches 28 % more
        (100, 64e9, [10, 0.9], "info"),
    ],
)
def test_listed_figures_that_a_curve_contradicts_are_a_warning(
    idle_ns: float, peak: float, lines: Sequence[float], severity: str
) -> None:
    listed = {"m": {"idle_latency_s": idle_ns / 1e9, "peak_bytes_per_s": peak}}
    curve = {"latency_s": [1e-7] * 2, "rates": [n * 1e7 for n in lines], "details": {"listed": listed}}
    found = one(memory(**curve, read_fraction=1.0), "listed-figures")
    assert (found.severity, bool(found.hypothesis)) == (severity, bool(found.remedy))
    assert bool(found.remedy) == (severity == "warning")
    assert absent(memory(**curve, read_fraction=0.5), "listed-figures")


def test_buffer_sizes_tell_which_of_them_fit_a_cache() -> None:
    sizes = [2.0**15, 2.0**16, 2.0**26]
    swept = memory([1e-9, 1e-9, 9e-8], kind=BufferSize(), load=sizes, details={"caches": {"L1": 2**15, "L2": 2**16}})
    (first,) = check_buffer_sizes(swept)
    assert "of 32 KiB to 64 MiB, of which those up to 64 KiB fit the L2 cache of 64 KiB." in first.message
    (unknown,) = check_buffer_sizes(memory([9e-8] * 2, kind=BufferSize(), load=sizes[1:]))
    assert "in buffers of 64 KiB to 64 MiB." in unknown.message


@pytest.mark.parametrize(
    ("gb_per_s", "severity"),
    [
        ([30, 20, 10, 5], None),
        ([30, 20, 20.9, 5], None),  # 4.5 %: noise of a quiet machine
        ([30, 20, 22, 5], "warning"),
        ([26, 30, 20, 5], "info"),  # near the peak a memory may lose bandwidth to conflicts
        ([30, 10, 15, 12], "warning"),
    ],
)
def test_a_bandwidth_that_rises_with_the_delay_is_told(gb_per_s: Sequence[float], severity: str | None) -> None:
    sweep = memory([1e-7] * 4, [1e9 * x / 64 for x in gb_per_s], load=[0, 100, 200, 2500])
    found = [f for f in check_memory(sweep) if f.check == "rises-with-delay"]
    assert [f.severity for f in found] == ([severity] if severity else [])


def test_the_rise_names_the_two_delays_it_lies_between() -> None:
    sweep = memory([1e-7] * 4, [1e9 * x / 64 for x in (30, 10, 12, 15)], load=[0, 100, 200, 2500])
    rise = one(sweep, "rises-with-delay")
    assert "rises from 10.0 GB/s at delay 100 to 15.0 GB/s at delay 2500 (+50 %)" in rise.message
    assert (rise.load, rise.series) == (2500, "m")
    assert absent(memory([1e-7] * 3, [1e8, 2e8, 3e8], kind=Bandwidth(), load=[1e9, 2e9, 3e9]), "rises-with-delay")


@pytest.mark.parametrize("kind", [DELAY, Bandwidth()])
@pytest.mark.parametrize(
    ("column", "origin", "value"),
    [
        ("latency_s", "computed: N / X", 3e-9),  # a cache's, if it had been measured
        ("latency_s", "assumed: a figure of others", 3e-9),
        ("throughput_per_s", "computed: N / R", 1e15),  # more lines than any machine keeps in flight
        ("throughput_per_s", "assumed: a peak", 1.0),
    ],
)
def test_no_finding_on_a_memory_rests_on_what_was_not_measured(
    kind: Load, column: str, origin: str, value: float
) -> None:
    whole = memory([90e-9, 100e-9, 150e-9, 300e-9], [1e7, 1e8, 3e8, 4e8], kind, [1e9, 6e9, 2e10, 3e10])
    points = whole.points.copy()
    points.loc[2, column] = value
    points.loc[2, {"latency_s": "latency_origin", "throughput_per_s": "throughput_origin"}[column]] = origin
    found = [(f.check, f.severity, f.message) for f in check_memory(Sweep(points, load_type=kind))]
    rest = Sweep(points.drop(index=2), load_type=kind)
    assert [one for one in found if one[0] == "lines-in-flight"] == [
        (f.check, f.severity, f.message) for f in check_memory(rest) if f.check == "lines-in-flight"
    ]
    assert all(severity == "info" or check == "rises-with-delay" for check, severity, _ in found)


def test_a_memory_of_which_no_latency_was_measured_has_no_finding() -> None:
    points = memory([3e-9, 4e-9, 5e-9]).points.assign(latency_origin="computed: N / X")
    assert list(check_memory(Sweep(points, load_type=DELAY))) == []
