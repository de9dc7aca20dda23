"""The audit's questions about how runs were made: repeats, caches, links, latency kinds, depths without effect."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from measure.auditing.all_checks import audit
from measure.findings import Finding
from measure.formats.fio.sweep import fio_sweep
from measure.sweep import Provenance, Sweep


def _sweep(rows: dict[str, list[Any]], details: dict[str, Any] | None = None, tool: str = "fio", **kept: Any) -> Sweep:
    return Sweep(pd.DataFrame({"series": "c", **rows}), provenance=Provenance(tool=tool, details=details or {}), **kept)


def _one(sweep: Sweep, check: str, **asked: Any) -> Finding:
    (found,) = [f for f in audit(sweep, **asked) if f.check == check]
    return found


def test_the_recorded_cpus_caches_count_for_memory_curves() -> None:
    rows = {"load": [0.0, 100.0], "throughput_per_s": [2e8, 1e8], "latency_s": [90e-9, 60e-9]}
    details = {
        "buffer_bytes": 2.0**24,
        "host_facts": {
            "caches": [
                {"level": 1, "kind": "Instruction", "size_bytes": 2**30},
                {"level": 3, "kind": "Unified", "size_bytes": 2**25},
            ]
        },
    }
    found = _one(_sweep(rows, details, "mlc", load_kind="injected_delay"), "fits-a-cache")
    assert (found.severity, "fits the level-3 cache" in found.hypothesis) == ("error", True)


def _fio(options: dict[str, str], iops: float = 10_000.0, mean_ns: float = 1e5) -> str:
    read = {
        "iops": iops,
        "bw_bytes": int(iops * 4096),
        "runtime": 1000,
        "total_ios": int(iops),
        "lat_ns": {"mean": mean_ns, "stddev": 1.0},
    }
    every = {"rw": "randread", "bs": "4k", "direct": "1", **options}
    job = {"jobname": "j", "groupid": 0, "error": 0, "job options": every, "read": read}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]})


def test_a_rate_limited_point_is_no_evidence_against_littles_law() -> None:
    sweep = fio_sweep({"f": _fio({"iodepth": "32", "ioengine": "libaio", "rate_iops": "10000"})})
    assert "rate-limited" in {f.check for f in sweep.findings}
    stripped = Sweep(sweep.points, provenance=sweep.provenance)  # as the command line audits it
    assert not [f for f in audit(stripped) if f.check == "littles-law" and f.severity != "info"]
