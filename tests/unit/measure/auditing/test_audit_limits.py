"""Where the audit's other questions begin: repeats, files, known devices, percentiles and saturation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measure.auditing.all_checks import _sorted, audit, check_repeats, check_working_set, corrected
from measure.auditing.curve_shape import ClosedCurve, check_saturation, check_submission
from measure.auditing.littles_law import block_verdict, check_littles_law
from measure.datasets import check_labels
from measure.findings import Finding
from measure.loads import ArrivalRate, Depth, Load
from measure.origin import Provenance
from measure.sweep import Sweep

DEPTH = Depth()


def swept(kind: Load = DEPTH, tool: str = "fio", details: dict[str, Any] | None = None, **columns: Any) -> Sweep:
    table = {"series": "c", "load": [4.0], "throughput_per_s": 4e4, "latency_s": 1e-4, **columns}
    return Sweep(pd.DataFrame(table), kind, provenance=Provenance(tool=tool, details=details or {}))


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("apart", "severity"), [(0.099, None), (0.101, "warning"), (0.293, "warning"), (0.299, "warning"), (0.301, "error")]
)
def test_repeats_disagree_from_a_tenth_on(apart: float, severity: str | None) -> None:
    """Of a rate less a share and the rate plus it the standard deviation is the share times the root of 2."""
    share = apart / np.sqrt(2)
    rates = {"load": [2.0, 4.0, 4.0], "throughput_per_s": [1e4, 1e4 * (1 - share), 1e4 * (1 + share)]}
    found = list(check_repeats(swept(**rates, source=["b", "a.r1.json", "a.r2.json"])))
    for f in check_repeats(swept(**rates, source=["a", "b", "c"])):
        assert "different things: b, c." in f.hypothesis
    assert [(f.severity, f.load) for f in found] == ([(severity, 4.0)] if severity else [])
    for f in found:
        assert "different things" not in f.hypothesis
        assert "(--repeats 5)" in f.remedy
        assert f"2 repeats give {(1 - share) * 10:.3g} k/s to {(1 + share) * 10:.3g} k/s" in f.message
        assert f"a standard deviation of {100 * apart:.0f} %" in f.message


@pytest.mark.parametrize(
    ("size", "engine", "told"),
    [
        ("1023m", "libaio", True),
        ("1g", "libaio", False),
        ("16m", "null", False),
        ("16m", "net", False),
        ("", "libaio", False),
    ],
)
def test_a_file_of_less_than_a_gibibyte_is_small(size: str, engine: str, told: bool) -> None:
    found = list(check_working_set(swept(details={"options": {"size": size, "ioengine": engine, "direct": "1"}})))
    assert [f.severity for f in found] == ["info"] * told
    if found:
        assert "the file has 1,023 MiB;" in found[0].message.replace("1023", "1,023")
        assert "--size=4g" in found[0].remedy


def test_a_file_as_large_as_a_cache_fits_it() -> None:
    def with_cache(size: int) -> str:
        details = {"options": {"size": "16m"}, "caches": {"L3": size, "L2": 2**20}}
        (found,) = check_working_set(swept(details=details))
        return f"{found.severity}: {found.message}"

    assert with_cache(2**24).startswith("warning: the file has 16 MiB and fits the L3 cache of 16 MiB;")
    assert with_cache(2**24 - 1).startswith("info: the file has 16 MiB;")


@pytest.mark.parametrize(
    ("read", "write", "found"),
    [(20e-6, 50e-6, 1), (20e-6, 51.1e-6, 0), (15.9e-6, 40e-6, 0), (16.1e-6, 49.9e-6, 1), (40e-6, 20e-6, 0)],
)
def test_labels_are_exchanged_within_a_quarter(read: float, write: float, found: int) -> None:
    assert len(check_labels({"read": read, "write": write}, {"read": 40e-6, "write": 20e-6})) == found


# --- what a calibration needs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "told"),
    [([1.0, 2.0, 2 * 2**0.7], False), ([1.0, 2.0, 2 * 2**0.71], True), ([1.0, 2.0], False), ([1.0, 2.0, 4.0], True)],
)
def test_a_rate_that_still_rises_as_the_depth_to_the_power_of_0_7(rates: Sequence[float], told: bool) -> None:
    depths = [2.0**i for i in range(len(rates))]
    found = list(check_saturation(swept(load=depths, throughput_per_s=rates)))
    assert [f.load for f in found] == [depths[-1]] * told
    if found:
        assert "--depths 8,16,32 --out" in found[0].remedy
        assert f"from 2.00 /s at depth 2 to {rates[-1]:.2f} /s at depth 4" in found[0].message


@pytest.mark.parametrize(("longest_s", "told"), [(1.29, True), (1.3, False)])
def test_an_open_device_is_busy_where_the_response_grows_by_three_tenths(longest_s: float, told: bool) -> None:
    rates = [100.0, 300.0, 200.0]
    measured = {"load": rates, "throughput_per_s": rates, "latency_s": [1, 1.1, longest_s]}
    found = list(check_saturation(swept(ArrivalRate(), **measured, asked_rate_per_s=rates)))
    assert [(f.check, f.load) for f in found] == [("no-saturated-point", 300.0)] * told
    if found:
        assert "--arrival-rates 600,1200 --out" in found[0].remedy
        assert "1.00 s to 1.29 s at all rates up to 300 /s" in found[0].message
        (of_another_tool,) = check_saturation(swept(ArrivalRate(), **measured))
        assert of_another_tool.remedy == "measure higher rates with the tool that sent these, as 600 /s and 1.20 k/s."


def test_ways_of_submission_that_are_kept_apart_are_a_warning_and_in_one_curve_an_error() -> None:
    ways = {"load": [1.0, 4.0, 16.0, 32.0], "throughput_per_s": 1e4, "engine": ["psync"] * 2 + ["libaio"] * 2}
    (apart,) = check_submission(swept(**ways, read_fraction=[0.701, 0.701, 0.699, 0.699], series=["a", "a", "b", "b"]))
    assert (apart.severity, apart.series) == ("warning", None)
    assert "psync (loads 1, 4) and libaio (loads 16, 32)" in apart.message
    assert "--depths 1,8,64" in apart.remedy
    (mixed,) = (f for f in audit(swept(**ways)) if f.check == "mixed-submission")
    assert (mixed.severity, mixed.series) == ("error", "c")
    assert "fit it apart" in mixed.remedy


def test_requests_handed_over_in_one_way_or_of_other_kinds_are_no_mixture() -> None:
    of = {"load": [1.0, 4.0], "block_bytes": 4096.0, "read_fraction": 1.0, "pattern": "random"}
    assert not list(check_submission(swept(**of, engine="libaio")))
    assert not list(check_submission(swept(**of, engine=[None, "libaio"])))
    for other in ({"read_fraction": [0.0, 1.0]}, {"block_bytes": [4096.0, 65536.0]}):
        assert not list(check_submission(swept(**{**of, **other}, engine=["psync", "libaio"], series=["a", "b"])))


# --- the block, and what is put right ---------------------------------------------------------------------------------


def judged(claimed_and_ratio: Sequence[tuple[float | None, float]], told: str = "bandwidth / block") -> float | None:
    curves = [
        ClosedCurve(f"c{i}", np.array([1.0]), np.array([1.0]), np.array([ratio]), block, 1.0, DEPTH)
        for i, (block, ratio) in enumerate(claimed_and_ratio)
    ]
    verdict = block_verdict(swept(details={"throughput_from": told}), curves)
    return None if verdict is None else verdict.block_bytes


@pytest.mark.parametrize(
    ("curves", "block"),
    [
        ([(65536.0, 0.125), (131072.0, 0.0625)], 8192.0),
        ([(65536.0, 0.125)], None),
        ([(65536.0, 0.125), (131072.0, 0.0625), (4096.0, 1.0), (None, 1.0)], 8192.0),
        ([(65536.0, 0.125), (131072.0, 0.0625), (4096.0, 1.0), (None, 1.0), (2048.0, 1.0)], None),
        ([(65536.0, 2.0**-7), (131072.0, 2.0**-8)], 512.0),
        ([(65536.0, 2.0**-8), (131072.0, 2.0**-9)], None),
        ([(65536.0, 0.125 * 1.059), (131072.0, 0.0625)], 8192.0),
        ([(65536.0, 0.125 * 1.061), (131072.0, 0.0625)], None),
        ([(65536.0, 0.125 * 0.941), (131072.0, 0.0625)], 8192.0),
        ([(4096.0, 1.0), (4096.0, 1.0)], None),
        ([(65536.0, 0.25), (65536.0, 0.125), (131072.0, 0.0625)], 8192.0),
    ],
)
def test_a_block_is_a_power_of_two_that_half_of_the_curves_agree_on(
    curves: Sequence[tuple[float | None, float]], block: float | None
) -> None:
    assert judged(curves) == block
    assert judged(curves, "its own column") is None


def test_the_laws_own_findings_say_how_well_it_holds_with_which_block() -> None:
    at_one = {"series": ["a", "b"], "load": 1.0, "throughput_per_s": 1.0}
    block = {"block_bytes": [65536.0, 131072.0], "latency_s": [0.125 * 1.05, 0.0625]}
    wrong, *_ = check_littles_law(swept(details={"throughput_from": "bandwidth / block"}, **at_one, **block))
    assert "X R / N is 0.0625 to 0.131 with blocks of 64 KiB, 128 KiB as tabulated" in wrong.message
    assert "with blocks of 8 KiB it is 1.000 to 1.050." in wrong.message
    good = {"series": ["a", "a", "b", "c"], "load": [1.0, 2, 1, 1], "throughput_per_s": [1.0, 2, 1, 1]}
    holds, other = check_littles_law(swept(**good, latency_s=[1.0, 1.01, 1.003, 1.5]))
    assert "3 points of 2 curves: the deviation is 0.30 % at the median, 1.00 % at most" in holds.message
    assert other.series == "c"


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"throughput_origin": "computed: N / R"}, "depths 1, 2: the throughput was computed (N / R)"),
        ({"latency_origin": "computed: N / X"}, "depths 1, 2: the latency was computed (N / X)"),
        ({"unchecked": "limited"}, "depth is unknown"),
    ],
)
def test_why_the_law_cannot_be_checked(columns: dict[str, str], why: str) -> None:
    sweep = swept(**columns, load=[1.0, 2.0], throughput_per_s=[1e4, 5e3])
    (finding,) = (f for f in audit(sweep) if f.check == "littles-law")
    assert why in finding.message
    assert ("drift" in {f.check for f in audit(sweep)}) == ("latency_origin" in columns)


@pytest.mark.parametrize(("off", "changed"), [(1.04, False), (1.06, True), (0.96, False), (0.94, True)])
def test_a_latency_is_replaced_where_it_is_off_by_more_than_a_twentieth(off: float, changed: bool) -> None:
    """Beside a point at depth 8 that is three times too long, so that the curve is in error."""
    load = np.array([1.0, 2, 8])
    sweep = swept(load=load, throughput_per_s=1e4, latency_s=load / 1e4 * np.array([1, off, 3]))
    found = corrected(sweep).points["latency_s"].to_numpy() * 1e4
    assert found == pytest.approx([1, 2 if changed else 2 * off, 8])


@pytest.mark.parametrize(("off", "changed"), [(1.09, False), (1.11, True), (0.91, False), (0.89, True)])
def test_at_depth_one_a_tenth_may_be_the_host(off: float, changed: bool) -> None:
    load = np.array([1.0, 2, 8])
    sweep = swept(load=load, throughput_per_s=1e4, latency_s=load / 1e4 * np.array([off, 1, 3]))
    assert corrected(sweep).points["latency_s"].iloc[0] * 1e4 == pytest.approx(1 if changed else off)


# --- the whole audit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "more"),
    [
        ("ab", ""),
        ("abc", "2 more curves: b, c."),
        ("abcdefghij", "9 more curves: b, c, d, e, f, g, h, i, j."),
        ("abcdefghijk", "10 more curves: b, c, d, e, f, g, h, i, j, ...."),
    ],
)
def test_three_curves_that_say_the_same_are_one_finding(names: str, more: str) -> None:
    load = np.arange(4.0, 4 + len(names))
    found = audit(swept(series=list(names), load=load, throughput_per_s=1e4, latency_s=1.5 * load / 1e4))
    assert [f.series for f in found if f.severity == "error"] == ([None] if more else ["a", "b"])
    assert found[0].message.startswith("a: X R / N is 1.500 at depth 4" if more else "X R / N")
    assert found[0].message.endswith(more)
    assert [f.load for f in _sorted([Finding("c", "info", "", load=n) for n in (8, None, 0.5)])] == [None, 0.5, 8]
