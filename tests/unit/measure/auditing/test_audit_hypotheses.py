"""Each hypothesis on curves made to order: it fires on its own mistake, and on no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measure.auditing.all_checks import audit
from measure.auditing.curve_shape import ClosedCurve
from measure.auditing.littles_law import diagnose
from measure.datasets import check_labels
from measure.findings import Finding
from measure.formats.tables.table import csv_sweep
from measure.loads import LOADS
from measure.sweep import Provenance, Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def _curve(
    change: Callable[[np.ndarray], Any] = lambda r: r, depths: Sequence[float] | np.ndarray = DEPTHS, **kept: Any
) -> ClosedCurve:
    """A truthful closed curve (X = N / (80 us + waiting), R = N / X) with its latency changed."""
    n = np.asarray(depths, dtype=float)
    x = n / (80e-6 * (1 + n / 16))
    r, of = np.asarray(change(n / x)), LOADS["queue_depth"]
    return ClosedCurve("c", n, x, r, kept.get("block_bytes"), kept.get("read_fraction"), of)


def _sweep(load: Sequence[float], x: Sequence[float], r: Sequence[float], **kept: Any) -> Sweep:
    table = pd.DataFrame({"series": "c", "load": load, "throughput_per_s": x, "latency_s": r, **kept.pop("more", {})})
    return Sweep(table, **kept)


def test_a_truthful_curve_holds() -> None:
    assert diagnose(_curve()).cause == "holds"
    assert diagnose(_curve(lambda r: r * 1.019)).cause == "holds"


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e6, 1e-6])
def test_a_unit_off_by_a_power_of_1000(factor: float) -> None:
    found = diagnose(_curve(lambda r: r * factor * 0.97))
    assert (found.cause, found.factor, found.severity) == ("unit", factor, "error")


def test_one_point_far_off_is_no_unit() -> None:
    assert diagnose(_curve(lambda r: np.where(DEPTHS == 8, r * 1000, r))).cause == "unexplained"


@pytest.mark.parametrize("jobs", [2, 4, 16])
def test_jobs_that_were_not_counted(jobs: int) -> None:
    found = diagnose(_curve(lambda r: r * jobs))
    assert (found.cause, found.factor) == ("jobs-not-counted", jobs)


def test_a_gap_of_the_host_is_an_info_with_its_time() -> None:
    found = diagnose(_curve(lambda r: r - 9e-6))
    assert (found.cause, found.severity) == ("submission-gap", "info")
    assert "9.00 µs" in found.evidence


def test_a_gap_at_depth_one_alone() -> None:
    found = diagnose(_curve(lambda r: np.where(DEPTHS == 1, 0.93 * r, r)))
    assert (found.cause, found.severity) == ("submission-gap", "info")


def test_a_gap_of_milliseconds_is_not_the_hosts() -> None:
    slow = replace(_curve(), throughput=_curve().throughput / 1000, latency=_curve().latency * 1000)
    assert diagnose(replace(slow, latency=slow.latency - 9e-3)).cause != "submission-gap"


def test_half_of_the_latency() -> None:
    share = np.array([0.97, 0.9, 0.75, 0.6, 0.53, 0.5, 0.5])
    assert diagnose(_curve(lambda r: r * share)).cause == "half-latency"


def test_a_synchronous_engine_keeps_one_in_flight_whatever_the_depth() -> None:
    found = diagnose(_curve(lambda r: r / DEPTHS))
    assert found.cause == "depth-not-filled"
    assert "synchronous" in found.hypothesis


@pytest.mark.parametrize("most", [15, 30])
def test_a_queue_limit_is_named_with_its_size(most: int) -> None:
    found = diagnose(_curve(lambda r: r * np.minimum(1, most / DEPTHS)))
    assert found.cause == "depth-not-filled"
    assert f"about {most} requests" in found.hypothesis


def test_two_depths_close_together_show_no_limit() -> None:
    depths = np.array([8.0, 16, 60, 64])
    found = diagnose(_curve(lambda r: r * np.minimum(1, 15 / depths), depths))
    assert found.cause == "depth-not-filled"
    assert "the depth was not filled" in found.hypothesis


def test_a_constant_share_is_no_fixed_time() -> None:
    found = diagnose(_curve(lambda r: 0.78 * r))
    assert (found.cause, found.severity) == ("constant-share", "error")
    assert diagnose(_curve(lambda r: 0.86 * r)).severity == "warning"
    assert diagnose(_curve(lambda r: 0.95 * r)).severity == "info"


def test_a_gap_grows_only_where_it_does() -> None:
    many = diagnose(_curve(lambda r: 0.78 * r))
    assert "N/X - R grows from " in many.evidence
    one = diagnose(_curve(lambda r: 0.8 * r, depths=[8]))
    assert one.cause == "constant-share"
    assert "grows" not in one.evidence


def test_one_direction_needs_a_mix() -> None:
    assert diagnose(_curve(lambda r: 0.45 * r, read_fraction=0.5)).cause == "one-direction"
    assert diagnose(_curve(lambda r: 0.45 * r, read_fraction=1.0)).cause == "unexplained"


def test_one_direction_is_dropped_where_reads_alone_are_as_wrong() -> None:
    reads = _curve(lambda r: 0.45 * r, read_fraction=1.0)
    assert diagnose(_curve(lambda r: 0.45 * r, read_fraction=0.5), [reads]).cause != "one-direction"


def test_writes_to_the_page_cache_are_told_by_the_reads() -> None:
    reads = _curve(read_fraction=1.0)
    assert diagnose(_curve(lambda r: r * 0.02, read_fraction=0.0), [reads]).cause == "page-cache"
    assert diagnose(_curve(lambda r: r * 0.02, read_fraction=0.0)).cause != "page-cache"


def _table_with_blocks(claimed: Sequence[int], true: int) -> Sweep:
    rows = ["depth,latency_us,bandwidth_KBps,block_KB,read_pct"]
    for block in claimed:
        for depth in (1, 8):
            iops = depth / (100e-6 * (1 + depth / 16))
            rows.append(f"{depth},{depth / iops * 1e6},{iops * true / 1024},{block},100")
    return csv_sweep("\n".join(rows))


def test_a_files_size_for_a_block_needs_two_sizes_that_agree() -> None:
    (first, *_) = audit(_table_with_blocks([64, 128, 512], true=8192))
    assert "the block was 8 KiB" in first.hypothesis
    assert not [f for f in audit(_table_with_blocks([8], true=8192)) if f.severity == "error"]


def test_no_block_is_suspected_where_the_throughput_was_counted() -> None:
    sweep = _table_with_blocks([64, 128], true=8192)
    counted = replace(sweep, provenance=Provenance(details={"throughput_from": "its own column"}))
    assert not any("size of the file" in f.hypothesis for f in audit(counted))


def test_rate_limited_and_unknown_depths_are_no_errors() -> None:
    limited = Finding("rate-limited", "info", "limited", series="c", load=8)
    sweep = _sweep([8], [1000], [1e-4], findings=(limited,))
    (finding,) = audit(sweep)
    assert (finding.severity, "cannot be checked" in finding.message) == ("info", True)


def test_a_mostly_idle_point_at_depth_one_says_that_one_depth_cannot_tell() -> None:
    (finding,) = audit(_sweep([1], [1000], [1e-5]))
    assert finding.severity == "error"
    assert "depth of 4" in finding.remedy


def test_drift_between_the_first_depths() -> None:
    x = [9000, 6000, 6100, 6050]
    found = audit(_sweep([1, 2, 4, 8], x, [n / v for n, v in zip([1, 2, 4, 8], x, strict=True)]))
    assert next(f for f in found if f.check == "drift").severity == "warning"
    recovered = [9000, 6000, 12000, 20000]
    found = audit(_sweep([1, 2, 4, 8], recovered, [n / v for n, v in zip([1, 2, 4, 8], recovered, strict=True)]))
    assert not [f for f in found if f.check == "drift"]


def test_latency_that_falls_with_depth_is_told() -> None:
    found = audit(_sweep([1, 2, 4], [6000, 16000, 30000], [1 / 6000, 2 / 16000, 4 / 30000]))
    assert "idle states" in next(f for f in found if f.check == "latency-order").hypothesis


def test_buffered_io_is_told_from_the_recorded_options() -> None:
    def with_options(**options: str) -> list[str]:
        details = {"options": options}
        return [f.check for f in audit(_sweep([1], [1000], [1e-3], provenance=Provenance(details=details)))]

    assert "buffered" in with_options(rw="randread", ioengine="libaio")
    assert "buffered" not in with_options(rw="randread", ioengine="libaio", direct="1")
    assert "buffered" not in with_options(rw="randread", ioengine="null")
    assert "buffered" not in with_options()


def test_open_arrivals_are_held_against_the_rate_asked_for_and_not_against_n() -> None:
    sweep = _sweep([10_000, 30_000], [10_010, 30_900], [1e-5, 2e-5], load_kind="arrival_rate")
    (finding,) = audit(sweep)
    assert (finding.check, finding.severity, finding.load) == ("arrival-rate", "warning", 30_000)
    (finding,) = audit(_sweep([10_000], [10_010], [1e-5], load_kind="arrival_rate"))
    assert (finding.check, finding.severity) == ("arrival-rate", "info")


def test_a_memory_with_less_than_one_line_in_flight_has_a_wrong_unit() -> None:
    memory = _sweep([0, 1000], [4e8, 2e7], [1e-10, 6e-11], load_kind="injected_delay")
    assert "off by 1000" in next(f for f in audit(memory) if f.check == "lines-in-flight").hypothesis


def test_a_memory_measured_inside_a_known_cache_names_it() -> None:
    details = {"buffer_bytes": 4 * 2**20, "caches": {"L1d": 32768, "L2": 2**20, "L3": 32 * 2**20}}
    memory = _sweep(
        [0, 1000], [4e8, 3e7], [6e-8, 5e-8], load_kind="injected_delay", provenance=Provenance(details=details)
    )
    assert "fits the L3 cache" in next(f for f in audit(memory) if f.check == "fits-a-cache").hypothesis


@pytest.mark.parametrize(
    ("measured", "found"),
    [
        ({"read": 50e-6, "write": 20e-6}, 0),
        ({"read": 20e-6, "write": 50e-6}, 1),
        ({"read": 300e-6, "write": 9e-6}, 0),
        ({"read": 50e-6}, 0),
    ],
)
def test_labels_are_exchanged_only_where_the_exchange_fits(measured: dict[str, float], found: int) -> None:
    assert len(check_labels(measured, {"read": 52e-6, "write": 19e-6})) == found


def test_the_drives_of_others_hold_to_half_a_percent(repository: Path) -> None:
    deviation: list[float] = []
    for path in sorted((repository / "docs" / "data" / "drives").iterdir()):
        sweep = csv_sweep(path.read_text("utf-8"), name=path.name)
        assert not [f for f in audit(sweep) if f.severity == "error"], path.name
        p = sweep.points
        deviation += list((p["throughput_per_s"] * p["latency_s"] / p["load"] - 1).abs())
    assert len(deviation) == 199
    assert np.median(deviation) < 0.005
