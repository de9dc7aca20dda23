"""Devices side by side, and what compare leaves as files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

DEPTHS = [1, 2, 4, 8, 16, 32, 64]


@pytest.fixture
def drives(tmp_path: Path) -> dict[str, Path]:
    """Two drives, the second with twice the peak, as tables of one curve each."""
    made = {}
    for name, peak in (("old", 1e5), ("new", 2e5)):
        rows = ["depth,iops,lat_us"]
        for n in DEPTHS:
            x = ((n / 1e-4) ** -3 + peak**-3) ** (-1 / 3)
            rows.append(f"{n},{x},{n / x * 1e6}")
        made[name] = tmp_path / f"{name}.csv"
        made[name].write_text("\n".join(rows) + "\n")
    return made


def test_two_devices_are_compared_and_the_difference_is_told(qsim, drives):
    run = qsim("compare", "old.csv", "new.csv", "--use", "1,4,64", "--json")
    document = run.json
    assert [d["name"] for d in document["devices"]] == ["old.csv", "new.csv"]
    assert [(s["device"], len(s["points"])) for s in document["series"]] == [("old.csv", 7), ("new.csv", 7)]
    found = {d["quantity"]: d for d in document["differences"]}
    assert found["Xmax"]["beyond"]
    assert found["Xmax"]["low"] < 2 < found["Xmax"]["high"]
    assert not found["R1"]["beyond"]


def test_the_text_has_every_device_and_what_lies_beyond(qsim, drives):
    run = qsim("compare", "old.csv", "new.csv", "--use", "1,4,64", "--report", "both.html")
    assert run.code == 0
    rows = [line for line in run.out.splitlines() if " sure " in line or " rough " in line]
    assert [row.split()[0] for row in rows if not row.startswith("KNEE")] == ["old.csv", "new.csv"]
    assert re.search(r"new\.csv against old\.csv: a peak [\d.]+ times higher \([\d.]+ to [\d.]+\)", run.out)
    page = Path("both.html").read_text("utf-8")
    for title in ("Side by side", "Parameters and knees"):
        assert f">{title}</h" in page
    assert page.count("<h4>Audit</h4>") == 2


def test_a_memory_and_a_drive_are_shown_apart(qsim, drives, tmp_path):
    delays = np.array([0.0, 100, 300, 1000, 3000, 10000])
    text = "Intel(R) Memory Latency Checker - v3.9\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n" + "=" * 26 + "\n"
    for d, lat, bw in zip(delays, [200, 150, 110, 92, 90, 89], [90e3, 80e3, 50e3, 20e3, 8e3, 3e3], strict=True):
        text += f" {d:05.0f}\t{lat:.2f}\t{bw:.1f}\n"
    (tmp_path / "memory.txt").write_text(text)
    run = qsim("compare", "old.csv", "memory.txt", "--json")
    assert run.code == 0
    assert [d["name"] for d in run.json["devices"]] == ["old.csv", "memory.txt"]
    assert run.json["differences"] == []
    assert "vary different loads" in run.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--dataset", "003-ssd-read", "--prediction", "fit.json"], 2, ["one DATA"]),
        (["new.csv", "--series", "nothing"], 2, ["--series: old.csv: 'nothing' is unknown"]),
        (["missing.csv"], 1, ["missing.csv"]),
    ],
)
def test_what_cannot_be_is_one_line(qsim, drives, arguments, code, words):
    run = qsim("compare", "old.csv", *arguments)
    assert run.code == code
    for word in words:
        assert word in run.error


def test_an_objective_is_answered_for_every_curve_by_its_name(qsim, drives):
    """Such curves take 200 us, twice R1, at N = 7^(1/3) R1 Xpeak: 19.1 and 38.3."""
    both = qsim("compare", "old.csv", "new.csv", "--use", "1,4,64", "--slo", "200us").out
    asked = [line for line in both.splitlines() if "Under 200 µs" in line]
    assert [line.partition(":")[0] for line in asked] == ["old.csv", "new.csv"]
    one = qsim("compare", "old.csv", "--use", "1,4,64", "--slo", "200us").out
    (alone,) = (line for line in one.splitlines() if line.startswith("Under 200 µs"))
    assert asked[0].endswith(alone)
    depths = [int(re.search(r"at depth (\d+) ", line).group(1)) for line in asked]
    assert depths == pytest.approx([19.1, 38.3], rel=0.03)
    assert "Under" not in qsim("compare", "old.csv", "--use", "1,4,64").out
