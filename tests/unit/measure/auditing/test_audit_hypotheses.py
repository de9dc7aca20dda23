"""Each hypothesis on curves made to order: it fires on its own mistake, and on no other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measure.auditing.all_checks import audit
from measure.findings import Finding
from measure.formats.tables.table import csv_sweep
from measure.origin import Provenance
from measure.sweep import Sweep


def _sweep(load: Sequence[float], x: Sequence[float], r: Sequence[float], **kept: Any) -> Sweep:
    table = pd.DataFrame({"series": "c", "load": load, "throughput_per_s": x, "latency_s": r, **kept.pop("more", {})})
    return Sweep(table, **kept)


def test_rate_limited_and_unknown_depths_are_no_errors() -> None:
    limited = Finding("rate-limited", "info", "limited", series="c", load=8)
    sweep = _sweep([8], [1000], [1e-4], findings=(limited,))
    (finding,) = audit(sweep)
    assert (finding.severity, "cannot be checked" in finding.message) == ("info", True)


def test_buffered_io_is_told_from_the_recorded_options() -> None:
    def with_options(**options: str) -> list[str]:
        details = {"options": options}
        return [f.check for f in audit(_sweep([1], [1000], [1e-3], provenance=Provenance(details=details)))]

    assert "buffered" in with_options(rw="randread", ioengine="libaio")
    assert "buffered" not in with_options(rw="randread", ioengine="libaio", direct="1")
    assert "buffered" not in with_options(rw="randread", ioengine="null")
    assert "buffered" not in with_options()


def test_the_drives_of_others_hold_to_half_a_percent(repository: Path) -> None:
    deviation: list[float] = []
    for path in sorted((repository / "docs" / "data" / "drives").iterdir()):
        sweep = csv_sweep(path.read_text("utf-8"), name=path.name)
        assert not [f for f in audit(sweep) if f.severity == "error"], path.name
        p = sweep.points
        deviation += list((p["throughput_per_s"] * p["latency_s"] / p["load"] - 1).abs())
    assert len(deviation) == 199
    assert np.median(deviation) < 0.005
