"""Where the audit's other questions begin: repeats, files, known devices, percentiles and saturation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measure.auditing.all_checks import audit, check_repeats, check_working_set, corrected
from measure.auditing.curve_shape import ClosedCurve, check_saturation, check_submission
from measure.auditing.littles_law import block_verdict
from measure.datasets import check_labels
from measure.loads import LOADS, LoadKind
from measure.sweep import Provenance, Sweep

DEPTH = LOADS["queue_depth"]


def swept(
    kind: LoadKind = "queue_depth", tool: str = "fio", details: dict[str, Any] | None = None, **columns: Any
) -> Sweep:
    table = {"series": "c", "load": [4.0], "throughput_per_s": 4e4, "latency_s": 1e-4, **columns}
    return Sweep(pd.DataFrame(table), kind, provenance=Provenance(tool=tool, details=details or {}))


# --- runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("apart", "severity"), [(0.099, None), (0.101, "warning"), (0.299, "warning"), (0.301, "error")]
)
def test_repeats_disagree_from_a_tenth_on(apart: float, severity: str | None) -> None:
    """Of a rate less a share and the rate plus it the standard deviation is the share times the root of 2."""
    share = apart / np.sqrt(2)
    sweep = swept(load=[2.0, 4.0, 4.0], throughput_per_s=[1e4, 1e4 * (1 - share), 1e4 * (1 + share)])
    found = list(check_repeats(sweep))
    assert [(f.severity, f.load) for f in found] == ([(severity, 4.0)] if severity else [])
    for f in found:
        assert f"2 repeats give {(1 - share) * 10:.3g} k/s to {(1 + share) * 10:.3g} k/s" in f.message


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
    [([1.0, 2.0, 2 * 2**0.69], False), ([1.0, 2.0, 2 * 2**0.71], True), ([1.0, 2.0], False), ([1.0, 2.0, 4.0], True)],
)
def test_a_rate_that_still_rises_as_the_depth_to_the_power_of_0_7(rates: Sequence[float], told: bool) -> None:
    depths = [2.0**i for i in range(len(rates))]
    found = list(check_saturation(swept(load=depths, throughput_per_s=rates)))
    assert [f.load for f in found] == [depths[-1]] * told
    if found:
        assert "--depths 8,16,32 --out" in found[0].remedy
        assert f"from 2.00 /s at depth 2 to {rates[-1]:.2f} /s at depth 4" in found[0].message


@pytest.mark.parametrize(("longest_s", "told"), [(1.29e-4, True), (1.31e-4, False)])
def test_an_open_device_is_busy_where_the_response_grows_by_three_tenths(longest_s: float, told: bool) -> None:
    rates = [100.0, 300.0, 200.0]
    found = list(
        check_saturation(swept("arrival_rate", load=rates, throughput_per_s=rates, latency_s=[1e-4, 1.1e-4, longest_s]))
    )
    assert [(f.check, f.load) for f in found] == [("no-saturated-point", 300.0)] * told
    if found:
        assert "--arrival-rates 600,1200 --out" in found[0].remedy
        assert "100 µs to 129 µs at all rates up to 300 /s" in found[0].message


def test_requests_handed_over_in_one_way_or_of_other_kinds_are_no_mixture() -> None:
    of = {"load": [1.0, 4.0], "block_bytes": 4096.0, "read_fraction": 1.0, "pattern": "random"}
    assert not list(check_submission(swept(**of, engine="libaio")))
    assert not list(check_submission(swept(**of, engine=[None, "libaio"])))
    assert not list(
        check_submission(swept(**{**of, "read_fraction": [0.0, 1.0]}, engine=["psync", "libaio"], series=["a", "b"]))
    )


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


@pytest.mark.parametrize(("names", "merged"), [(["a", "b"], False), (["a", "b", "c"], True)])
def test_three_curves_that_say_the_same_are_one_finding(names: Sequence[str], merged: bool) -> None:
    rows = [{"series": name, "load": 4.0, "throughput_per_s": 1e4, "latency_s": 1.5 * 4e-4} for name in names]
    found = [f for f in audit(Sweep(pd.DataFrame(rows))) if f.severity == "error"]
    assert [f.series for f in found] == ([None] if merged else ["a", "b"])
    if merged:
        assert found[0].message.startswith("a: ")
        assert found[0].message.endswith("Likewise 2 more curves: b, c.")
