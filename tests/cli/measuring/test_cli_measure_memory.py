"""``qsim measure memory``: mixes, loaders, buffer sizes, what it refuses, and how."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from measure.machine.host import Cache
from measure.memory import plan as probe_plan
from measure.memory.plan import MemoryLimits

two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a loaded memory takes two CPUs")
QUICK = ("--repeats", "2", "--seconds", "20ms")


@pytest.fixture(autouse=True)
def modest_caches(monkeypatch):
    """A last cache of 4 MiB, so that default buffers of 16 MiB are filled in no time on any machine."""
    facts = MemoryLimits((Cache(1, "Data", 32 * 2**10, 1), Cache(3, "Unified", 4 * 2**20, 1)), 2**34)
    monkeypatch.setattr(probe_plan, "memory_limits", lambda: facts)


@two_cores
def test_each_traffic_is_a_series_with_mean_and_interval(qsim):
    args = ("--delays", "0,5000", "--traffic", "3:1,write", *QUICK, "--out", "mixes")
    run = qsim("measure", "memory", *args)
    assert run.code == 0, run.err
    for part in ("3:1, 1 loader", "write, 1 loader", "95 % interval", "peak of write", "next: qsim compare mixes"):
        assert part in run.out
    table = pd.read_csv("mixes/points.csv")
    assert len(table) == 2 * 2 * 2
    assert set(table["read_fraction"]) == {0.75, 0.5}
    kept = {p: p.stat().st_mtime_ns for p in Path("mixes/raw").iterdir()}
    again = qsim("measure", "memory", *args, "--json")
    assert again.code == 0, again.err
    assert {p: p.stat().st_mtime_ns for p in Path("mixes/raw").iterdir()} == kept
    first = again.json["means"][0]
    assert first["latency_low"] <= first["latency_s"] <= first["latency_high"]
    assert all(p["latency_s"] > 0 for p in again.json["points"])


def test_buffer_sizes_are_measured_printed_and_no_curve(qsim):
    args = ("--buffers", "16KiB..64KiB", "--loaders", "1", *QUICK, "--out", "caches")
    run = qsim("measure", "memory", *args)
    assert run.code == 0, run.err
    for part in ("16 KiB", "32 KiB", "64 KiB", "read, 1 thread", "next: qsim show caches"):
        assert part in run.out
    assert "qsim compare" not in run.out
    document = qsim("measure", "memory", *args, "--json").json
    assert document["load_kind"] == "buffer_size"
    assert sorted({p["load"] for p in document["points"]}) == [16384, 32768, 65536]
    for command in ("fit", "compare"):
        refused = qsim(command, "caches")
        assert refused.code == 1
        assert "a buffer that fits a cache is not a memory curve" in refused.error
    audit = qsim("audit", "caches")
    assert audit.code == 0
    assert "buffer-sizes" in audit.out


@two_cores
def test_plans_state_their_points_and_time_and_write_nothing(qsim):
    mixes = qsim("measure", "memory", "--traffic", "read,75", "--delays", "0,100", "--dry-run", "--json").json
    loaded = {(p["traffic"], p["delay_iterations"]) for p in mixes["points"] if p["kind"] == "loaded"}
    assert loaded == {(traffic, delay) for traffic in ("read", "3:1") for delay in (0, 100)}
    assert mixes["seconds"] > sum(p["seconds"] for p in mixes["points"]) > 0
    sizes = qsim("measure", "memory", "--buffers", "16KiB..1MiB", "--dry-run", "--json").json
    assert {p["buffer_bytes"] for p in sizes["points"]} == {2**n for n in range(14, 21)}
    assert sizes["seconds"] > sum(p["seconds"] for p in sizes["points"]) > 0
    assert "s in all" in qsim("measure", "memory", "--buffers", "16KiB..1MiB", "--dry-run").out
    assert list(Path().iterdir()) == []


@two_cores
def test_a_command_of_the_plan_gives_the_same_plan(qsim):
    plan = qsim("measure memory --traffic 3:1,write --strides 64,256 --loaders 1 --dry-run --json").json
    command = plan["commands"][0].removeprefix("qsim ").split()
    assert json.dumps(qsim(*command, "--dry-run", "--json").json) == json.dumps(plan)
