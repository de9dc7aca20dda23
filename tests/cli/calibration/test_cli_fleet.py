"""``qsim fleet``: a rack of drives with a slow one and a broken file, on one process and on two."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrate.fleet.drives import fit_fleet, make_of
from calibrate.fleet.workers import processes
from measure.origin import Provenance
from measure.sweep import Sweep

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


@pytest.fixture
def rack(tmp_path: Path) -> Path:
    """Thirty drives of R1 = 100 us and 100 k/s, of which d07 reaches half; a file that is no table, and a README."""
    random, folder = np.random.default_rng(0), tmp_path / "rack"
    folder.mkdir()
    for i in range(30):
        peak = (0.5 if i == 7 else 1.0) * 1e5 * np.exp(0.02 * random.standard_normal())
        rate = ((DEPTHS / 1e-4) ** -3 + peak**-3) ** (-1 / 3) * np.exp(0.005 * random.standard_normal(7))
        rows = [f"4 KiB read,{n:g},{x:.1f},{1e6 * n / x:.3f}" for n, x in zip(DEPTHS, rate, strict=True)]
        (folder / f"d{i:02d}.csv").write_text("\n".join(["series,depth,iops,latency_us", *rows]) + "\n")
    (folder / "broken.csv").write_text("series,depth,iops\n4 KiB read,1,oops\n")
    (folder / "README.md").write_text("Rack 7\n")
    return folder


def test_the_answer_names_the_odd_drive_and_the_broken_file(qsim, rack):
    run = qsim("fleet", str(rack))
    lines = run.out.splitlines()
    assert run.code == 0
    assert lines[0] == "30 drives, 30 curves"
    assert lines[1].startswith("MIDDLE  knee 10, peak ")
    assert lines[2] == "ODD     1 curve; by chance 1 of 20 fleets has one"
    assert re.match(r"SEEN    a drive [\d.]+ % slower at any one load, or [\d.]+ % at all, would have been", lines[3])
    assert "d07.csv" in run.out
    assert "-50 % at " in run.out or "-49 % at " in run.out
    assert "1 measurement left out or incomplete, the first" in run.out
    assert run.err.endswith("note: files-left-out: 1 file left out: README.md (no measurement).\n")


def test_a_curve_that_cannot_be_fitted_loses_no_other(tmp_path):
    (tmp_path / "d.csv").write_text("series,depth,iops,lat_us\na,1,1e4,100\na,1e9,1e4,100\nb,1,1e4,100\nb,8,7e4,114\n")
    found = fit_fleet([tmp_path])
    assert found.drives["series"].tolist() == ["b"]
    assert "1e+09" in found.broken[str(tmp_path / "d.csv")]


def test_tables_are_new_files_with_every_drive(qsim, rack, tmp_path, require_module, monkeypatch):
    require_module("pyarrow", "pip install 'qsim-queue[fleet]'")
    found = fit_fleet([rack])
    monkeypatch.setattr("calibrate.fleet.drives.fit_fleet", lambda *_, **__: found)
    assert qsim("fleet", str(rack), "--out", "f.csv", "--report", "f.html").code == 0
    assert qsim("fleet", str(rack), "--out", "f.parquet").code == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "f.csv").read_text())))
    assert [row["drive"] for row in rows if row["odd"]] == ["d07.csv"]
    assert len(pd.read_parquet(tmp_path / "f.parquet")) == len(rows) == 30
    assert "Throughput against like drives" in (tmp_path / "f.html").read_text()
    again = qsim("fleet", str(rack), "--out", "f.csv")
    assert (again.code, again.error) == (1, "f.csv exists and is not replaced; choose another name for --out")


def test_two_processes_give_the_same_table(rack):
    some = sorted(rack.iterdir())[:12]
    with processes(2) as executor:
        alone, spread = fit_fleet(some), fit_fleet(some, executor)
    pd.testing.assert_frame_equal(alone.drives, spread.drives)
    assert dict(alone.broken) == dict(spread.broken)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["none"], 1, "none does not exist; check the name"),
        (["."], 1, "no measurement in the folders"),
        ([".", "--out", "f.txt"], 2, "name a file that ends in .csv or .parquet"),
    ],
)
def test_bad_input_is_one_line(qsim, tmp_path, args, code, words):
    (tmp_path / ".hidden").touch()
    run = qsim("fleet", *args)
    assert run.code == code
    assert words in run.error


@pytest.mark.parametrize(
    ("table", "words"), [("f.csv", "no measurement in the folders"), ("f.parquet", "a Parquet file needs pyarrow")]
)
def test_of_both_kinds_of_table_only_parquet_needs_pyarrow(qsim, monkeypatch, table, words):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert words in qsim("fleet", ".", "--out", table).error


def test_a_drive_is_named_by_its_model_not_by_its_file_system():
    points = pd.DataFrame({"load": [1.0, 8.0], "throughput_per_s": [12e3, 80e3], "latency_s": [83e-6, 1e-4]})
    storage = {"filesystem": "ext4", "device": "/dev/nvme0n1", "model": "PM981a"}
    for model in ("PM981a", ""):
        known = Provenance(device="/dev/nvme0n1 (PM981a), ext4", details={"storage": {**storage, "model": model}})
        make = make_of(Sweep(points.assign(series="reads"), provenance=known))
        assert make["model"] == (model or "/dev/nvme0n1")
