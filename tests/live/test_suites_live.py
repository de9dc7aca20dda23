"""Suites with real fio on a file of this disk: measured, shown, interrupted, continued."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from calibrate.cli.app import app
from measure.suites.runs import SuitePlan, plan_suites, run_suites

pytestmark = pytest.mark.live
MIB = 2**20


@pytest.fixture(autouse=True)
def real_fio(require_tool: Callable[..., str]) -> None:
    require_tool("fio")


def short(disk: Path, name: str) -> SuitePlan:
    return plan_suites(name, disk, quick=True, runtime_s=0.2, size_bytes=16 * MIB)


def test_the_rates_are_taken_from_the_peak_just_measured(disk: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    results = run_suites(short(disk, "rate"), out)
    assert results.failed == {}
    peak, rate = results.sweeps["rate-peak"], results.sweeps["rate"]
    assert rate.load_type.kind == "arrival_rate"
    most = peak.points["throughput_per_s"].max()
    asked = rate.points["asked_rate_per_s"] / most  # the device may refuse the highest: those are left out
    assert set(asked.round(2)) <= {0.3, 0.6, 0.8}
    assert list(disk.iterdir()) == []
    kept = {p: p.stat().st_mtime_ns for p in out.rglob("raw/*")}
    run_suites(short(disk, "rate"), out)
    assert {p: p.stat().st_mtime_ns for p in out.rglob("raw/*")} == kept  # and none was measured again


def test_the_command_measures_and_writes_tables_and_page(disk: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ["measure", "suite", "mix", str(disk), "--quick", "--size", "16MiB"]
    result = CliRunner().invoke(app, [*args, "--out", str(out)])
    assert result.exit_code == 0, result.stderr
    idle, most = result.stdout.splitlines()[:2]
    assert re.fullmatch(r"IDLE    [\d.]+ [mµ]s(?: \([^)]*\))?, p99 [\d.]+ [mµ]s: .* at depth 1", idle)
    assert re.fullmatch(r"MOST    [\d.]+ k?/s.*: .* at depth \d+;   [\d.]+ [kMG]B/s.*: .* at depth \d+", most)
    assert "4 KiB random 50/50 mix" in result.stdout
    page = (out / "report.html").read_text("utf-8")
    for title in ("Throughput against the share of reads", "Latency against the share of reads"):
        assert title in page
    assert "What reads and writes do to each other" in page
    assert list(disk.iterdir()) == []
    shown = CliRunner().invoke(app, ["show", str(out), "--json"])
    assert shown.exit_code == 0, shown.stderr
