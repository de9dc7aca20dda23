"""``qsim fit-service``: laws of service times from files, tables and typed percentiles."""

from __future__ import annotations

import numpy as np
import pytest
from places import GOLDEN

from measure.formats.law_file import read_law
from qsim import MG1, simulate, solve
from qsim.distributions import law_from_dict

JSON_PLUS = str(GOLDEN / "fio" / "json-plus.json")
TYPED = "p10=40us,p50=80us,p90=120us,p95=140us,p99=200us,p99.9=320us"
SLOW = TYPED.replace("us", "0us")


def test_a_histogram_of_fio_becomes_a_law(qsim):
    run = qsim("fit-service", JSON_PLUS, "--json")
    assert run.code == 0
    document = run.json
    assert document["kind"] == "histogram"
    assert document["requests"] == 6320
    assert {f["name"] for f in document["families"]} >= {"exponential", "Burr XII", "shifted gamma"}
    bics = [f["bic"] for f in document["families"]]
    assert bics == sorted(bics)
    law = law_from_dict(document["law"])
    assert law.mean == pytest.approx(document["families"][0]["mean_s"])
    assert "tail-beyond-data" in {f["check"] for f in document["findings"]}
    assert "waiting as well as the service" in run.err  # it was measured at depth 4


def test_a_table_of_percentiles_in_a_csv_file(qsim, tmp_path):
    (tmp_path / "drive.csv").write_text("iodepth,iops,lat_us,p50_us,p95_us,p99_us\n1,10000,100,80,150,300\n")
    run = qsim("fit-service", "drive.csv", "--requests", "10k")
    assert run.code == 0, run.err
    assert "10,000 requests in 4 bins (percentiles)" in run.out
    (tmp_path / "drive.csv").write_text("iodepth,iops,lat_us,p50_us,p95_us,p99_us\n1,10000,100,80,150,120\n")
    run = qsim("fit-service", "drive.csv", "--requests", "10k")
    assert run.code == 1
    assert "drive.csv: p99 = 120 µs is below p95 = 150 µs at load 1" in run.err


def test_the_law_is_kept_and_drives_solve_and_simulate(qsim, tmp_path):
    run = qsim("fit-service", "--percentiles", SLOW, "--requests", "10k", "--out", "law.json", "--json")
    assert run.code == 0
    law = law_from_dict(run.json["law"])
    assert read_law(tmp_path / "law.json") == law
    solved = qsim("solve", "mg1", "--arrival-rate", "500/s", "--service", "fitted:law.json", "--json")
    assert solved.json["W"] == pytest.approx(solve(MG1(500.0, law)).W, rel=1e-12)
    simulated = qsim("simulate mg1 --arrival-rate 500/s --service fitted:law.json --customers 3e5 --seed 1 --json")
    assert simulated.json["W"] == simulate(MG1(500.0, law), customers=300_000, seed=1).W
    again = qsim("fit-service", "--percentiles", SLOW, "--out", "law.json")
    assert again.code == 1
    assert again.error == "law.json exists and is not replaced; choose another name for --out"
    assert read_law(tmp_path / "law.json") == law


def test_the_law_drives_the_known_device(qsim, require_tool):
    require_tool("fio")
    law = qsim("fit-service", "--percentiles", SLOW, "--out", "law.json", "--json").json["law"]
    played = qsim("measure", "device", "--service", "fitted:law.json", "--dry-run", "--json")
    assert played.json["truth"]["mean_service_time_s"] == law_from_dict(law).mean


def test_a_list_of_latencies_from_a_file_and_from_stdin(qsim, tmp_path, monkeypatch):
    times = np.random.default_rng(1).gamma(4, 20, size=500)
    text = "latency_us\n" + "\n".join(f"{t:.2f}" for t in times)
    (tmp_path / "requests.txt").write_text(text)
    run = qsim("fit-service", "requests.txt", "--json")
    assert run.code == 0, run.err
    assert run.json["requests"] == 500
    assert law_from_dict(run.json["law"]).mean == pytest.approx(80e-6, rel=0.05)
    with monkeypatch.context() as patched:
        patched.setattr("calibrate.service.observed_times.read_text", lambda path: text)  # of the standard input
        assert qsim("fit-service", "-", "--json").json["law"] == run.json["law"]
    (tmp_path / "bare.txt").write_text("80\n95\n120\n")
    assert "name the column latency_us" in qsim("fit-service", "bare.txt").err
