"""What is told of a memory is a bandwidth, what is told of arrivals a rate: by fit, predict and compare."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MLC = "Intel(R) Memory Latency Checker - v3.9\nInject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n" + "=" * 26 + "\n"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    rows = zip(
        [0, 100, 300, 1000, 3000, 10000], [200, 150, 110, 92, 90, 89], [90e3, 80e3, 50e3, 20e3, 8e3, 3e3], strict=True
    )
    path = tmp_path / "memory.txt"
    path.write_text(MLC + "".join(f" {d:05.0f}\t{lat:.2f}\t{bw:.1f}\n" for d, lat, bw in rows))
    return path


@pytest.fixture
def accelerator(tmp_path: Path) -> Path:
    """A published curve of 5 TB/s: bandwidth in GB/s, latency in ns."""
    rows = ((100, 500), (1000, 520), (2000, 545), (3000, 590), (4000, 700), (4800, 1000), (5000, 1300))
    path = tmp_path / "curve.txt"
    path.write_text("".join(f"{bandwidth} {latency}\n" for bandwidth, latency in rows))
    return path


@pytest.fixture
def arrivals(tmp_path: Path) -> Path:
    """M/M/1 with a service time of 100 us."""
    rows = [f"{x},{x},{1e6 / (1e4 - x)}" for x in (1000, 3000, 5000, 7000, 9000)]
    path = tmp_path / "open.csv"
    path.write_text("arrival_rate,iops,lat_us\n" + "\n".join(rows) + "\n")
    return path


def test_a_memory_is_predicted_as_a_bandwidth(qsim, memory):
    fitted = qsim("fit", "memory.txt", "--out", "fit.json")
    assert fitted.code == 0, fitted.err
    assert fitted.out.rstrip().endswith("next: qsim predict fit.json"), "depths of 1 to 256 are no delays"
    run = qsim("predict", "fit.json", "--at", "0,500")
    header, first = (line for line in run.out.splitlines() if "band)" in line or line.split()[:1] == ["0"])
    assert "BANDWIDTH (90 % band)" in header
    assert re.search(r"\d GB/s \(\d.* to \d.*\)", first)


def test_the_peak_of_a_memory_is_told_as_a_bandwidth(qsim, memory):
    run = qsim("fit", "memory.txt", "--out", "fit.json", "--details")
    assert re.search(r"^  B +\d+(\.\d+)? GB/s  \[\S+ GB/s, \S+ GB/s\]", run.out, re.M), run.out
    document = qsim("predict", "fit.json", "--at", "0,500", "--report", "page.html", "--json").json
    peak = document["parameters"]["B"]
    assert peak["unit"] == "lines/s", "JSON stays in the model's own unit"
    page = Path("page.html").read_text("utf-8")
    (row,) = re.findall(r"<tr><td[^>]*>B</td>(.*?)</tr>", page)
    assert f">{64 * peak['estimate'] / 1e9:.0f} GB/s<" in row
    assert "M/s" not in row


def test_memories_of_terabytes_a_second_are_fitted_and_predicted(qsim, accelerator):
    columns = ("--columns", "bandwidth=1:GB/s,latency=2:ns")
    fitted = qsim("fit", "curve.txt", *columns, "--out", "fit.json")
    assert fitted.code == 0, fitted.err
    (point,) = qsim("predict", "fit.json", "--at", "5e12", "--json").json["points"]
    assert point["load"] == 5e12
    assert point["throughput_per_s"] * 64 == pytest.approx(5e12)
    (bad,) = (line for line in qsim("predict", "fit.json", "--at", "2e15").err.splitlines())
    assert "invalid load 2e+15: expected 1e-06 to 1e+15" in bad


def test_arrivals_are_told_as_rates(qsim, arrivals):
    assert qsim("fit", "open.csv", "--out", "fit.json").out.rstrip().endswith("next: qsim predict fit.json")
    run = qsim("predict", "fit.json", "--at", "500,9k")
    assert re.search(r"^ *9\.00 k/s +\d.* ms \(.* to .*\)$", run.out, re.M), run.out
