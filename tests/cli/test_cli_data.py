"""``qsim`` audit, fit, predict and compare: the pipeline on files and on published tables."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from calibrate.cli.data import audit_text
from measure import Finding, load_dataset

ROOT = Path(__file__).parents[2]


def test_a_dataset_says_what_is_wrong_with_it(qsim):
    assert "microseconds" in qsim("datasets", "003-ssd-read").out
    assert "no throughput" in qsim("datasets", "002-ssd-tails").out
    assert "qsim fit-service --dataset 002-ssd-tails" in qsim("compare", "--dataset", "002-ssd-tails").error
    assert "reads take 17.5 µs" in qsim("audit", "--dataset", "002-ssd-tails").out


def test_the_line_on_the_audit_counts_what_the_audit_shows():
    found = [Finding("drift", "warning", f"by {n} %", series=f"curve {n}") for n in (1, 2, 3)]
    found += [Finding("misses-its-points", "warning", "the model misses")]
    assert audit_text(found, [], "x") == "1 warning (drift); to read it: qsim audit x"
    found.append(Finding("outlier", "warning", "a run lies apart"))
    assert audit_text(found, [], "x") == "2 warnings (drift, outlier); to read them: qsim audit x"
    found[3:] = [Finding("corrected", "info", "the latency was divided by 1000")]
    assert audit_text(found, [], "x").endswith("1 warning (drift); to read them: qsim audit x")


def test_audit_finds_the_unit_and_fails_on_request(qsim):
    plain = qsim("audit", "--dataset", "003-ssd-read")
    assert plain.code == 0
    assert "1,000" in plain.out
    checked = qsim("audit", "--dataset", "003-ssd-read", "--fail-on", "error", "--json")
    assert checked.code == 3
    assert checked.json["findings"]
    assert checked.json["error"]["exit_code"] == 3


def test_compare_says_of_which_device_it_warns_and_not_where_the_fit_was_made_elsewhere(qsim, tmp_path):
    shallow = "iodepth,iops,lat_us\n1,10000,100\n2,19900,100.5\n4,39600,101\n8,78500,102\n"
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(shallow)
    warned = qsim("compare", "a.csv", "b.csv", "--use", "1,8").err
    assert "no-saturated-point (a" in warned
    assert "no-saturated-point (b" in warned
    (tmp_path / "deep.csv").write_text(
        "iodepth,iops,lat_us\n1,10000,100\n8,78500,102\n64,100000,640\n128,100000,1280\n"
    )
    assert qsim("fit", "deep.csv", "--use", "1,8,128", "--out", "fit.json").code == 0
    held = qsim("compare", "a.csv", "--prediction", "fit.json")
    assert held.code == 0
    assert "no-saturated-point" not in held.err


def test_fit_predict_and_compare_agree(qsim, sweep_csv):
    fitted = qsim("fit", str(sweep_csv), "--use", "1,32,64", "--out", "fit.json", "--json")
    assert fitted.code == 0, fitted.err
    assert fitted.json["written"] == "fit.json"
    predicted = qsim("predict", "fit.json", "--at", "1,8,64", "--json").json
    assert [p["load"] for p in predicted["points"]] == [1, 8, 64]
    assert predicted["knee"]["load"] == fitted.json["knee"]["load"] == pytest.approx(10, rel=0.1)
    compared = qsim("compare", str(sweep_csv), "--prediction", "fit.json", "--json").json
    assert compared["knee"]["load"] == predicted["knee"]["load"]
    at_eight = next(p for p in compared["points"] if p["load"] == 8)
    assert at_eight["predicted"]["throughput_per_s"] == pytest.approx(predicted["points"][1]["throughput_per_s"])
    assert at_eight["held_out"]


def test_datasets_are_compared_corrected(qsim):
    corrected = qsim("compare", "--dataset", "003-ssd-read", "--series", "4 KiB read", "--json")
    published = load_dataset("003-ssd-read", as_published=True).select("4 KiB read").points["latency_s"].iloc[0]
    assert 1000 * corrected.json["points"][0]["observed"]["response_time_s"] == pytest.approx(published)
    assert "corrected" in {f["check"] for f in corrected.json["audit"]}


def test_several_fits_share_a_file(qsim, tmp_path):
    fitted = qsim("fit", "--dataset", "003-ssd-read", "--out", "fits.json")
    assert fitted.code == 0
    assert fitted.err.count("the latency was divided by 1000. Likewise 3 more curves: 16 KiB read") == 1
    assert json.loads((tmp_path / "fits.json").read_text())["schema"] == "qsim-fits/3"
    predicted = qsim("predict", "fits.json", "--at", "8", "--json").json
    assert len(predicted["series"]) == 4
    one = qsim("predict", "fits.json", "--at", "8", "--series", "32 KiB read", "--json").json
    assert one["name"] == "32 KiB read"
    assert one["points"] == predicted["series"][2]["points"]
    held = qsim("compare --dataset 003-ssd-read --prediction fits.json --series '32 KiB read' --json").json
    assert held["knee"] == one["knee"]


def test_a_fit_replaces_nothing(qsim, sweep_csv, tmp_path):
    args = ("fit", str(sweep_csv), "--out", "fit.json")
    assert qsim(*args).code == 0
    before = (tmp_path / "fit.json").read_text()
    again = qsim(*args, "--use", "2,16")
    assert again.code == 1
    assert again.error == "fit.json exists and is not replaced; choose another name for --out"
    assert (tmp_path / "fit.json").read_text() == before


SHEET = ("predict", "--idle-latency", "100us", "--peak-iops", "100k", "--at", "1,8,64")


def test_a_what_if_stands_beside_the_present_curve(qsim, tmp_path):
    run = qsim(*SHEET, "--what-if", "drives=1:2,service=0.5,latency=+10us", "--report", "what.html")
    assert run.code == 0, run.err
    assert run.out.startswith("With service times x 0.5, latency +10.0 µs, 2 drives for 1: 3")
    assert "report: what.html" in run.out
    assert "2 drives for 1" in (tmp_path / "what.html").read_text()
    document = qsim(*SHEET, "--what-if", "drives=1:2", "--json").json
    now, then = document["points"][2], document["what_if"]["points"][2]
    assert now["load"] == then["load"] == 64
    assert 1.2 < then["throughput_per_s"] / now["throughput_per_s"] < 2
    assert document["what_if"]["assumptions"]
    assert document["what_if"]["knee"]["load"] == pytest.approx(2 * document["knee"]["load"], rel=0.05)


def test_a_sealed_what_if_is_held_against_the_changed_device(qsim, sweep_csv):
    assert qsim(*SHEET, "--what-if", "drives=1:2", "--seal", "what.json").code == 0
    seen = qsim("compare", str(sweep_csv), "--prediction", "what.json", "--json").json["points"][0]
    assert seen["predicted"]["response_time_s"] == pytest.approx(seen["observed"]["response_time_s"], rel=0.05)


def test_a_time_without_its_unit_is_asked_about(qsim):
    run = qsim("predict", "--idle-latency", "80", "--peak-iops", "600k", "--at", "1")
    assert run.code == 0
    assert "is an idle latency of 80.0 s meant? Write it with its unit" in run.err
    assert qsim("predict", "--idle-latency", "80us", "--peak-iops", "600k", "--at", "1").err == ""


def test_show_and_audit_take_one_curve(qsim):
    args = ("--dataset", "003-ssd-read", "--series", "4 KiB read")
    shown = qsim("show", *args)
    assert shown.code == 0
    assert "4 KiB read" in shown.out
    assert "16 KiB read" not in shown.out
    assert all(f["series"] in (None, "4 KiB read") for f in qsim("audit", *args, "--json").json["findings"])
    for command in ("show", "audit"):
        refused = qsim(command, "--dataset", "003-ssd-read", "--series", "5 KiB read")
        assert refused.code == 2
        assert "128 KiB read" in refused.error


def test_show_says_what_its_audit_could_not_check_and_how_to_read_what_it_found(qsim):
    quick = str(ROOT / "docs" / "data" / "quick")
    shown = qsim("show", quick, "--dataset", "004-ssd-mix").out
    assert f"2 warnings (busy-machine, drift-within-run); to read them: qsim audit {shlex.quote(quick)}\n" in shown
    assert "AUDIT   no errors, no warnings; not checked: repeats (every load was measured once)" in shown
    assert "not checked: repeats" in qsim("datasets", "004-ssd-mix").out


def test_what_was_computed_stands_in_one_line_and_the_audit_says_that_it_reads_the_published_values(qsim):
    (line,) = (x for x in qsim("show", "--dataset", "001-ssd").out.splitlines() if x.startswith("AUDIT"))
    assert line.count("N / X stands beside the latency") == 1
    assert "which contradicts it; likewise on 3 more curves; no other errors or warnings; not checked: " in line
    assert line.endswith("; to read them: qsim audit --dataset 001-ssd")
    assert qsim("audit", "--dataset", "001-ssd").out.startswith("001-ssd as published: 3 errors, 1 warning")


def test_the_command_that_reads_the_findings_has_the_columns_of_the_table(qsim, tmp_path):
    (tmp_path / "my drive.csv").write_text("qd,rate,lat\n1,1000,1000\n2,1000,2000\n4,1000,900\n", encoding="utf-8")
    args = ["my drive.csv", "--columns", "load=qd,throughput=rate,latency=lat:us"]
    asked = re.search(r"to read them: qsim (audit .*)", qsim("show", *args).out)
    assert asked is not None
    words = shlex.split(asked.group(1))
    assert words == ["audit", *args]
    assert qsim(*words).code == 0


def test_a_measured_load_beyond_any_device_is_refused(qsim, tmp_path):
    (tmp_path / "odd.csv").write_text("depth,iops,latency_us\n1,10000,100\n64,90000,711\n1e300,100000,640\n")
    run = qsim("fit", "odd.csv", "--use", "1,64")
    assert run.code == 1
    assert "load 1e+300 in row 3" in run.err.splitlines()[-1]
    assert "say which column is the load" in run.err.splitlines()[-1]


@pytest.mark.parametrize("command", ["fit", "compare", "show"])
def test_loads_of_several_jobs_are_named_outstanding_by_every_command(qsim, tmp_path, command):
    table = tmp_path / "jobs.csv"
    table.write_text("iodepth,jobs,iops,lat_us\n1,4,40000,100\n2.375,4,80000,118.75\n8,4,150000,213\n32,4,175000,731\n")
    text = qsim(command, str(table)).out
    assert "QUEUEING STARTS outstanding" in text
    assert "depth 9.5" not in text
