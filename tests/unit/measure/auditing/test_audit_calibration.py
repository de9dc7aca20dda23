"""What the audit says of sweeps that cannot be calibrated on, or not as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from measure import Sweep, audit
from measure.findings import Finding

DEPTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def closed(knee: float, depths: Sequence[float] = DEPTHS, **columns: Any) -> Sweep:
    """X = 10 k/s min(N, knee), and Little's law."""
    n = np.array(depths)
    x = 1e4 * np.minimum(n, knee)
    return Sweep(
        points=pd.DataFrame({"series": "reads", "load": n, "throughput_per_s": x, "latency_s": n / x, **columns})
    )


def found(sweep: Sweep, check: str) -> list[Finding]:
    return [f for f in audit(sweep) if f.check == check]


def test_ways_of_submission_that_are_kept_apart_are_a_warning() -> None:
    table = closed(
        8,
        depths=(1.0, 4.0, 16.0, 32.0),
        block_bytes=4096.0,
        read_fraction=1.0,
        pattern="random",
        engine=["psync", "psync", "libaio", "libaio"],
    ).points
    apart = table.assign(series=["reads psync"] * 2 + ["reads libaio"] * 2)
    (one,) = found(Sweep(points=apart), "mixed-submission")
    assert one.severity == "warning"
    assert "psync (loads 1, 4) and libaio (loads 16, 32)" in one.message
    assert "--depths 1,8,64" in one.remedy


def test_ways_of_submission_in_one_curve_are_an_error() -> None:
    mixed = closed(
        8, depths=(1.0, 4.0), block_bytes=4096.0, read_fraction=1.0, pattern="random", engine=["psync", "libaio"]
    )
    (one,) = found(mixed, "mixed-submission")
    assert (one.severity, one.series) == ("error", "reads")
    assert "fit it apart" in one.remedy


def test_other_blocks_by_another_engine_are_no_mixture() -> None:
    table = closed(
        8,
        depths=(1.0, 4.0),
        block_bytes=[4096.0, 65536.0],
        read_fraction=1.0,
        pattern="random",
        engine=["psync", "libaio"],
    ).points
    assert not found(Sweep(points=table.assign(series=["a", "b"])), "mixed-submission")
