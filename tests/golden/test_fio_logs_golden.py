"""Logs that fio 3.33 wrote here: alone they are points, beside a result they are left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from measure import load
from measure.errors import DataError
from measure.formats.fio.logs import summarise

DATA = Path(__file__).parent / "data" / "fio-logs"


def test_the_summary_of_a_log_is_what_fio_counted() -> None:
    path = DATA / "together" / "run_lat.1.log"
    latency_s = np.loadtxt(path, delimiter=",", usecols=1) / 1e9
    document = json.loads((DATA / "together" / "run.json").read_text("utf-8"))
    read, write = (document["jobs"][0][d] for d in ("read", "write"))
    summary = summarise(path)
    assert summary.requests == summary.histogram.total == read["total_ios"] + write["total_ios"]
    assert summary.reads == read["total_ios"]
    assert summary.mean_s * summary.requests == pytest.approx(
        sum(part["lat_ns"]["mean"] * 1e-9 * part["total_ios"] for part in (read, write)), rel=1e-6
    )
    assert summary.sd_s == pytest.approx(latency_s.std(), rel=1e-9)
    assert summary.histogram.quantile(0.95) == pytest.approx(np.quantile(latency_s, 0.95), rel=0.03)
    assert (summary.block_bytes, summary.averaged) == (4096, False)


def test_logs_by_fio_plots_names_are_one_point_of_known_depth() -> None:
    sweep = load(DATA / "plot")
    row = sweep.points.iloc[0]
    assert len(sweep) == 1
    assert (row["depth"], row["jobs"], row["load"], row["read_fraction"]) == (4, 2, 8, 1)
    assert sweep.series == ("4 KiB random read",)
    assert row["latency_p99_s"] > row["latency_p50_s"] > 0
    assert not sweep.findings


def test_a_histogram_log_holds_the_requests_of_its_run() -> None:
    summary = summarise(DATA / "h_clat_hist.1.log")
    read = json.loads((DATA / "h.json").read_text("utf-8"))["jobs"][0]["read"]
    assert 0.6 * read["total_ios"] < summary.requests <= read["total_ios"]  # the last interval is not logged
    assert summary.mean_s == pytest.approx(read["clat_ns"]["mean"] * 1e-9, rel=0.05)


def test_a_log_beside_its_result_is_no_second_point() -> None:
    sweep = load(DATA / "together")
    assert sweep.points["source"].tolist() == ["run.json"]
    (finding,) = [f for f in sweep.findings if f.check == "files-left-out"]
    assert "run_lat.1.log (fio log)" in finding.message


def test_averaged_logs_and_logs_of_rates_are_refused_with_their_reason() -> None:
    with pytest.raises(DataError, match=r"avg_lat\.1\.log holds means over intervals \(log_avg_msec\), not requests"):
        load(DATA / "avg_lat.1.log")
    with pytest.raises(DataError, match=r"avg_iops\.1\.log logs no latency of requests"):
        load(DATA / "avg_iops.1.log")


def test_a_log_without_a_name_is_asked_for_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    shutil.copy(DATA / "together" / "run_lat.1.log", path)
    with pytest.raises(DataError, match=r"mine\.txt looks like a log of fio's, but its name does not say of what"):
        load(path)
