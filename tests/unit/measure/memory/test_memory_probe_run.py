"""Running, interrupting, resuming and reading a memory sweep, on small buffers: the numbers do not count here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measure import load
from measure.errors import StoreError
from measure.memory.placement import Placement
from measure.memory.probe import MemoryPlan, findings, run_memory, summary_facts
from measure.memory.record import ProbeRecord, Trial
from measure.memory.threads import ChaserCount, LoaderCount
from measure.memory.traffic import parse_traffics
from measure.store.directory import SweepStore


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """These numbers do not count."""
    monkeypatch.setattr("measure.memory.plan.WARM_UP_S", 0.0)


def plan(*delays: int, traffic: str = "read", repeats: int = 2) -> MemoryPlan:
    """Two unpinned threads on buffers of 1 MiB: plan_memory would refuse it."""
    return MemoryPlan(
        delays=delays or (0, 100),
        traffics=parse_traffics(traffic),
        sizes=(2**20,),
        placement=Placement(None, (None,)),
        loader_counts=(1,),
        repeats=repeats,
        seconds_per_repeat=0.01,
        seed=1,
    )


def raw_files(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in (directory / "raw").iterdir()}


@pytest.mark.parametrize("traffic", ["read", "write"])
def test_a_run_gives_a_sweep_with_its_raw_files(tmp_path: Path, traffic: str) -> None:
    sweep = run_memory(plan(0, 1000, traffic=traffic), tmp_path / "m")
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("injected_delay", "loop iterations")
    assert sweep.series == (f"{traffic}, 1 loader",)
    assert list(sweep.points["load"]) == [0, 0, 1000, 1000]
    assert set(raw_files(tmp_path / "m")) == {
        "idle.json",
        *(f"{traffic}-1-delay-{delay}.r{repeat}.json" for delay in (0, 1000) for repeat in (0, 1)),
        "idle-after.json",
        *(f"{traffic}-peak.r{repeat}.json" for repeat in (0, 1)),
    }
    assert list(sweep.points["repeat"]) == [0, 1, 0, 1]
    assert all(path.exists() for path in sweep.raw)
    points = sweep.points
    np.testing.assert_allclose(points["bandwidth_bytes_per_s"], 64 * points["throughput_per_s"])
    details = sweep.provenance.details
    assert details["idle_latency_s"] > 0
    assert details["peak_bandwidth_bytes_per_s"] > 0
    assert details["spin_ns_per_iteration"] > 0
    assert details["numba"]
    assert len(sweep.provenance.commands) == 4
    assert all(c.endswith(f" --out {tmp_path / 'm'}") for c in sweep.provenance.commands)
    assert (tmp_path / "m" / "points.csv").read_text().startswith("series,load,")


def test_several_traffics_give_a_series_each_and_extend_a_directory(tmp_path: Path) -> None:
    run_memory(plan(0, 100, traffic="read"), tmp_path / "m")
    before = raw_files(tmp_path / "m")
    sweep = run_memory(plan(0, 100, traffic="read,3:1"), tmp_path / "m")
    assert sweep.series == ("read, 1 loader", "3:1, 1 loader")
    assert {n: f for n, f in raw_files(tmp_path / "m").items() if n in before} == before
    shares = sweep.points.groupby("series", sort=False)["read_fraction"].first()
    assert list(shares) == [1.0, 0.75]
    assert set(sweep.provenance.details["peaks_bytes_per_s"]) == {"read", "3:1"}


def test_repeats_of_a_delay_are_measured_in_rounds_and_further_rounds_extend_a_directory(tmp_path: Path) -> None:
    first = run_memory(plan(0, 1000), tmp_path / "m").points
    ends = first.groupby("repeat")["started_at"].agg(["min", "max"])
    assert ends["max"].iloc[0] <= ends["min"].iloc[1]
    before = raw_files(tmp_path / "m")
    longer = run_memory(plan(0, 1000, repeats=3), tmp_path / "m")
    assert list(longer.points["repeat"]) == [0, 1, 2, 0, 1, 2]
    assert {n: f for n, f in raw_files(tmp_path / "m").items() if n in before} == before


def test_a_directory_whose_repeats_were_taken_back_to_back_is_read_and_not_mixed(tmp_path: Path) -> None:
    """As directories were written before repeats went in rounds: a record a delay, with all of its repeats."""
    old = SweepStore.create(tmp_path / "m", "memory_probe", {"mode": "delays", "repeats": 3}, {})
    with old.locked():
        for delay in (0, 1000):
            raw = replace(made("loaded", delay), trials=tuple(fake_trial(i, 1.0) for i in range(3))).to_json()
            record = {"status": "ok", "command": "c", "started_at": "2026", "request": {"delay_iterations": delay}}
            old.add(f"read-1-delay-{delay}", raw.encode(), record)
    sweep = load(tmp_path / "m")
    assert list(sweep.points["load"]) == [0, 0, 0, 1000, 1000, 1000]
    assert list(sweep.points["repeat"]) == [0, 1, 2, 0, 1, 2]
    with pytest.raises(StoreError, match=r"other settings .*repeats: there 3, now 'in rounds'.*choose another --out"):
        run_memory(plan(0, 1000), tmp_path / "m")


def test_peaks_of_all_rounds_are_one_with_their_spread() -> None:
    rounds = [replace(made("peak"), trials=(fake_trial(i, on_cpu),)) for i, on_cpu in enumerate((1.0, 0.5))]
    peak = summary_facts(rounds)["peaks_bytes_per_s"]["read"]
    assert peak["best"] == pytest.approx(2 * rounds[0].bandwidths()[0])
    assert peak["spread"] == pytest.approx(np.std([1, 2], ddof=1) / 1.5)
    assert summary_facts(rounds[:1])["peaks_bytes_per_s"]["read"]["spread"] is None  # of one round it is not known


def test_strides_give_a_series_each(tmp_path: Path) -> None:
    apart = replace(plan(0, 100), traffics=parse_traffics("read,write", [64, 256]))
    sweep = run_memory(apart, tmp_path / "m")
    assert "write stride 256 B, 1 loader" in sweep.series
    assert set(sweep.points["block_bytes"]) == {64, 256}
    assert set(sweep.provenance.details["peaks_bytes_per_s"]) >= {"read", "read stride 256 B"}


def fake_trial(number: int, on_cpu: float, latency_ns: int = 100) -> Trial:
    ns = 1_000_000
    chaser = ChaserCount(ns // latency_ns, ns, ns, ns // latency_ns, ns)
    return Trial(f"2026-01-01T00:00:{number:02d}", chaser, (LoaderCount(10, ns, int(on_cpu * ns)),))


def made(
    kind: str, delay: int = 0, on_cpu: float = 1.0, latency_ns: int = 100, pages: float | None = 1.0
) -> ProbeRecord:
    return ProbeRecord(
        kind,
        delay,
        2.0,
        "read",
        64,
        0,
        2**27,
        1,
        (0,),
        (pages,),
        (fake_trial(0, on_cpu, latency_ns),),  # type: ignore[arg-type]
    )


def checks(*records: ProbeRecord, notes: tuple[str, ...] = ()) -> list[str]:
    facts = {**summary_facts(records), "notes": notes, "buffer_bytes": 2**27}
    return [f.check for f in findings(records, facts)]


def test_a_clean_curve_has_no_finding() -> None:
    assert checks(made("idle"), made("loaded", 0, latency_ns=200), made("loaded", 500)) == []


def test_disturbed_points_are_counted_and_the_worst_is_named() -> None:
    records = (made("loaded", 0, on_cpu=0.7), made("loaded", 50, on_cpu=0.8), made("peak", on_cpu=0.9))
    told = next(f for f in findings(records, summary_facts(records)) if f.check == "disturbed")
    assert told.message == (
        "In 3 points a thread was kept off its CPU, for up to 30 % of a repeat at delay 0, buffers of 128 MiB."
    )


def test_the_rounds_of_a_disturbed_point_are_one_point() -> None:
    records = (made("loaded", 0, on_cpu=0.7), made("loaded", 0, on_cpu=0.8), made("loaded", 50))
    assert findings(records, summary_facts(records))[0].message.startswith("In 1 point a thread")


def test_findings_name_what_spoils_a_curve() -> None:
    rising = made("loaded", 0, latency_ns=200)
    assert checks(made("idle", pages=0.3), rising) == ["huge-pages"]
    assert checks(made("idle", pages=None), rising) == ["huge-pages"]
    assert checks(made("idle"), rising, made("loaded", 100, on_cpu=0.7)) == ["disturbed"]
    assert checks(made("idle"), rising, notes=("may hit the cache",)) == ["cache-size"]
    assert checks(made("idle"), made("loaded", 0, latency_ns=105), made("peak")) == ["unsaturated"]
    assert checks(made("idle"), rising, made("idle", latency_ns=125)) == ["drift"]
    assert checks(made("idle"), made("loaded", 100, latency_ns=105)) == []  # the heaviest load was not asked for
