"""Each hypothesis on curves made to order: it fires on its own mistake, and on no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from measure.auditing.all_checks import audit
from measure.auditing.curve_shape import ClosedCurve
from measure.auditing.littles_law import diagnose
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


@pytest.mark.parametrize("jobs", [2, 4, 16])
def test_jobs_that_were_not_counted(jobs: int) -> None:
    found = diagnose(_curve(lambda r: r * jobs))
    assert (found.cause, found.factor) == ("jobs-not-counted", jobs)


def test_a_synchronous_engine_keeps_one_in_flight_whatever_the_depth() -> None:
    found = diagnose(_curve(lambda r: r / DEPTHS))
    assert found.cause == "depth-not-filled"
    assert "synchronous" in found.hypothesis


def test_rate_limited_and_unknown_depths_are_no_errors() -> None:
    limited = Finding("rate-limited", "info", "limited", series="c", load=8)
    sweep = _sweep([8], [1000], [1e-4], findings=(limited,))
    (finding,) = audit(sweep)
    assert (finding.severity, "cannot be checked" in finding.message) == ("info", True)


def test_a_mostly_idle_point_at_depth_one_says_that_one_depth_cannot_tell() -> None:
    (finding,) = audit(_sweep([1], [1000], [1e-5]))
    assert finding.severity == "error"
    assert "depth of 4" in finding.remedy


def test_buffered_io_is_told_from_the_recorded_options() -> None:
    def with_options(**options: str) -> list[str]:
        details = {"options": options}
        return [f.check for f in audit(_sweep([1], [1000], [1e-3], provenance=Provenance(details=details)))]

    assert "buffered" in with_options(rw="randread", ioengine="libaio")
    assert "buffered" not in with_options(rw="randread", ioengine="libaio", direct="1")
    assert "buffered" not in with_options(rw="randread", ioengine="null")
    assert "buffered" not in with_options()


def test_a_memory_measured_inside_a_known_cache_names_it() -> None:
    details = {"buffer_bytes": 4 * 2**20, "caches": {"L1d": 32768, "L2": 2**20, "L3": 32 * 2**20}}
    memory = _sweep(
        [0, 1000], [4e8, 3e7], [6e-8, 5e-8], load_kind="injected_delay", provenance=Provenance(details=details)
    )
    assert "fits the L3 cache" in next(f for f in audit(memory) if f.check == "fits-a-cache").hypothesis


def test_the_drives_of_others_hold_to_half_a_percent(repository: Path) -> None:
    deviation: list[float] = []
    for path in sorted((repository / "docs" / "data" / "drives").iterdir()):
        sweep = csv_sweep(path.read_text("utf-8"), name=path.name)
        assert not [f for f in audit(sweep) if f.severity == "error"], path.name
        p = sweep.points
        deviation += list((p["throughput_per_s"] * p["latency_s"] / p["load"] - 1).abs())
    assert len(deviation) == 199
    assert np.median(deviation) < 0.005
