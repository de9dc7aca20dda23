"""The audit's questions about how runs were made: repeats, caches, links, latency kinds, depths without effect."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from measure.auditing.all_checks import audit
from measure.auditing.runs import parse_link
from measure.findings import Finding
from measure.formats.fio.sweep import fio_sweep
from measure.sweep import Provenance, Sweep


def _sweep(rows: dict[str, list[Any]], details: dict[str, Any] | None = None, tool: str = "fio", **kept: Any) -> Sweep:
    return Sweep(pd.DataFrame({"series": "c", **rows}), provenance=Provenance(tool=tool, details=details or {}), **kept)


def _one(sweep: Sweep, check: str, **asked: Any) -> Finding:
    (found,) = [f for f in audit(sweep, **asked) if f.check == check]
    return found


@pytest.mark.parametrize(
    ("tool", "kind", "told", "command"),
    [
        (
            "fio",
            "queue_depth",
            {"block_bytes": 131072, "read_fraction": 0.7, "pattern": "sequential"},
            "qsim measure fio TARGET --depths 4 --block 128KiB --read 70 --pattern sequential --repeats 5",
        ),
        (
            "csv",
            "queue_depth",
            {"block_bytes": 4096, "read_fraction": 1.0},
            "qsim measure fio TARGET --depths 4 --repeats 5",
        ),
        ("mlc", "injected_delay", {}, "qsim measure mlc --delays 4 --repeats 5"),
        ("qsim memory probe", "injected_delay", {}, "qsim measure memory --delays 4 --repeats 5"),
        ("mess", "injected_delay", {}, ""),
    ],
)
def test_the_command_that_repeats_a_point_is_of_its_tool_and_workload(
    tool: str, kind: Any, told: dict[str, Any], command: str
) -> None:
    rows = {"load": [4.0] * 3, "throughput_per_s": [40e3, 41e3, 25e3], "latency_s": [1e-4, 1e-4, 1.6e-4]}
    found = _one(
        _sweep({**rows, **{k: [v] * 3 for k, v in told.items()}}, tool=tool, load_kind=kind), "repeats-disagree"
    )
    assert (f"({command} --out DIR)" if command else "in a row, and") in found.remedy


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


@pytest.mark.parametrize("text", ["", "pcie9x4", "wire", "sata9", "ddr"])
def test_an_unknown_link_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"link '.*' is unknown; name it like sata3, sas3, pcie4x4"):
        parse_link(text)


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
