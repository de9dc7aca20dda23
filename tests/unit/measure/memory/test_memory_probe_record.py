"""The raw record: what is kept comes back, what is derived follows its definition, what is damaged is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from measure.errors import DataError
from measure.memory.record import ProbeRecord, Trial, parse_record
from measure.memory.threads import ChaserCount, LoaderCount


def trial(hops: int = 1000, chaser_ns: int = 100_000, bursts: int = 10, loader_ns: int = 2_000) -> Trial:
    return Trial(
        "2026-01-01T00:00:00+00:00",
        ChaserCount(hops, chaser_ns, chaser_ns, hops, chaser_ns),
        (LoaderCount(bursts, loader_ns, loader_ns),),
    )


def record(**changes: Any) -> ProbeRecord:
    values: dict[str, Any] = {
        "kind": "loaded",
        "delay_iterations": 500,
        "spin_ns_per_iteration": 2.0,
        "traffic": "read",
        "burst_lines": 64,
        "updated_lines": 0,
        "buffer_bytes": 2**27,
        "chaser_cpu": 1,
        "loader_cpus": (0,),
        "huge_page_shares": (1.0, None),
        "trials": (trial(), trial(hops=900)),
    }
    return ProbeRecord(**{**values, **changes})


def test_a_record_survives_the_disk() -> None:
    original = record()
    assert parse_record(original.to_json()) == original


def test_rows_follow_the_definitions() -> None:
    first, second = record().rows("delay-500.json")
    loaders = 10 * 64 / 2e-6  # lines / seconds
    assert first["throughput_per_s"] == pytest.approx(loaders + 1e7)
    assert first["bandwidth_bytes_per_s"] == pytest.approx(64 * (loaders + 1e7))
    assert first["latency_s"] == pytest.approx(100e-9)
    assert (first["load"], first["repeat"], second["repeat"]) == (500.0, 0, 1)
    assert first["series"] == "read, 1 loader"
    assert first["source"] == "delay-500.json"


@pytest.mark.parametrize(("updated", "reads"), [(0, 1.0), (32, 2 / 3), (64, 0.5)])
def test_an_updated_line_crosses_the_bus_twice(updated: int, reads: float) -> None:
    changed = record(updated_lines=updated, traffic="any", loader_cpus=(0, 2))
    assert changed.load.read_fraction == pytest.approx(reads)
    assert changed.loaders_per_s(changed.trials[0]) == pytest.approx(10 * (64 + updated) / 2e-6)
    assert changed.series == "any, 2 loaders"


def test_time_off_the_cpu_is_not_the_memorys() -> None:
    assert Trial("", ChaserCount(1000, 200_000, 100_000, 1000, 100_000), ()).latency_s == pytest.approx(100e-9)
    taken = Trial("", ChaserCount(1, 100, 90, 1, 90), (LoaderCount(1, 100, 60), LoaderCount(1, 100, 101)))
    assert taken.off_cpu_share == pytest.approx(0.4)


def test_only_the_time_beside_running_loaders_counts() -> None:
    assert Trial("", ChaserCount(1000, 200_000, 150_000, 500, 100_000), ()).latency_s == pytest.approx(200e-9)
    assert Trial("", ChaserCount(1000, 200_000, 150_000, 0, 0), ()).latency_s == pytest.approx(150e-9)
    halved = Trial("", ChaserCount(1000, 200_000, 200_000, 500, 100_000), (LoaderCount(10, 4_000, 2_000),))
    assert record().loaders_per_s(halved) == pytest.approx(10 * 64 / 2e-6)


def test_a_record_without_chaser_has_no_latency() -> None:
    peak = record(trials=(Trial("", None, (LoaderCount(1, 1, 1),)),))
    with pytest.raises(DataError, match="no chaser"):
        peak.rows()


def damaged(change: Any) -> str:
    document = json.loads(record().to_json())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a JSON"),
        ("{", "not a JSON"),
        ("[]", "schema"),
        ('{"schema": "other"}', "schema"),
        ('{"schema": "qsim-memory-probe/1"}', "lacks a part"),
        (damaged(lambda d: d.pop("trials")), "lacks a part"),
        (damaged(lambda d: d.update(trials=[])), "not positive"),
        (damaged(lambda d: d.update(trials=7)), "lacks a part"),
        (damaged(lambda d: d.update(surprise=1)), "lacks a part"),
        (damaged(lambda d: d["trials"][0]["chaser"].update(hops=0)), "not positive"),
        (damaged(lambda d: d["trials"][0]["chaser"].update(hops="many")), "lacks a part"),
        (damaged(lambda d: d["trials"][0]["chaser"].update(hops=1e30)), r"1e\+30 is no number of the probe"),
        (damaged(lambda d: d["trials"][0]["chaser"].update(hops=True)), "True is no number of the probe"),
        (damaged(lambda d: d["trials"][0]["chaser"].update(hops=float("nan"))), "nan is no number of the probe"),
        (damaged(lambda d: d["trials"][1]["loaders"][0].update(elapsed_ns=-5)), "not positive"),
        (damaged(lambda d: d.update(burst_lines=0)), "not positive"),
    ],
)
def test_damaged_records_are_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refusal:
        parse_record(text, "raw/delay-500.json")
    assert "raw/delay-500.json" in str(refusal.value)
