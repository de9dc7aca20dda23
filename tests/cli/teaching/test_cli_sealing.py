"""``qsim predict --seal``, ``compare --sealed`` and ``seal``: prediction before measurement from the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibrate import fit
from calibrate.sealing.sealed_prediction import seal
from measure import load_dataset


@pytest.fixture
def next_day(tmp_path, sweep_csv):
    """The device of ``sweep_csv`` measured again: every throughput 1 % higher."""
    header, *rows = sweep_csv.read_text().split()
    again = [row.split(",") for row in rows]
    lines = [f"{d},{1.01 * float(x):.3f},{float(r) / 1.01:.4f},{b},{p}" for d, x, r, b, p in again]
    path = tmp_path / "next-day.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_a_sealed_prediction_is_held_against_what_was_measured_since(qsim, sweep_csv, next_day, tmp_path):
    predicted = qsim("predict", str(sweep_csv), "--use", "1,32", "--seal", "before.json", "--at", "1,8,64", "--json")
    assert predicted.code == 0, predicted.err
    assert [p["load"] for p in predicted.json["points"]] == [1, 8, 64]
    compared = qsim("compare", str(next_day), "--sealed", "before.json", "--report", "report.html", "--json")
    assert compared.code == 0, compared.err
    assert compared.json["seal"]["sha256"] == predicted.json["seal"]["sha256"]
    assert all(p["held_out"] for p in compared.json["points"])
    at_eight = next(p for p in compared.json["points"] if p["load"] == 8)
    assert at_eight["predicted"]["throughput_per_s"] == predicted.json["points"][1]["throughput_per_s"]
    assert "the data do not say when" in compared.err
    assert predicted.json["seal"]["sha256"] in (tmp_path / "report.html").read_text()
    assert predicted.json["seal"]["sha256"] in qsim("compare", str(next_day), "--sealed", "before.json").out


def test_data_that_were_used_are_refused(qsim, sweep_csv):
    assert qsim("predict", str(sweep_csv), "--use", "1,32", "--seal", "before.json").code == 0
    for more in ((), ("--only-new",)):
        run = qsim("compare", str(sweep_csv), "--sealed", "before.json", *more)
        assert run.code == 1
        assert run.out == ""
        assert "sealed prediction" in run.error


def test_a_kept_fit_knows_its_points_and_a_seal_is_written_once(qsim, sweep_csv):
    assert qsim("fit", str(sweep_csv), "--use", "1,32", "--out", "fit.json").code == 0
    assert qsim("predict", "fit.json", "--seal", "before.json").code == 0
    assert qsim("predict", "fit.json", "--seal", "before.json").code == 1
    assert "used" in qsim("compare", str(sweep_csv), "--sealed", "before.json").error


def test_a_data_sheet_is_sealed_too(qsim, sweep_csv):
    run = qsim("predict", "--idle-latency", "100us", "--peak-iops", "100k", "--seal", "sheet.json")
    assert run.code == 0
    assert "qsim compare DATA --sealed sheet.json" in run.out
    compared = qsim("compare", str(sweep_csv), "--sealed", "sheet.json", "--json").json
    assert compared["summary"]["held_out_mape_throughput_pct"] < 10


def test_an_edited_seal_fails_in_one_line(qsim, next_day, tmp_path):
    qsim("predict", "--idle-latency", "100us", "--peak-iops", "100k", "--seal", "sheet.json")
    edited = (tmp_path / "sheet.json").read_text().replace("data sheet", "data cheat", 1)
    (tmp_path / "sheet.json").write_text(edited)
    run = qsim("compare", str(next_day), "--sealed", "sheet.json")
    assert run.code == 1
    assert "broken" in run.error


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["compare", "x.csv", "--sealed", "s", "--fit", "f"], ["--sealed", "--fit"]),
        (["compare", "x.csv", "--sealed", "s", "--use", "1,2"], ["--sealed", "--use"]),
        (["compare", "x.csv", "--only-new"], ["--only-new", "--sealed"]),
        (["predict", "x.csv", "--use", "1", "--idle-latency", "1us"], ["--idle-latency"]),
        (["seal", "add", "c.json", "--name", "Ada", "--knee", "0"], ["--knee", "positive"]),
        (["seal", "add", "c.json", "--name", "", "--knee", "3"], ["--name"]),
        (["seal", "add", "c.json", "--name", "Ada"], ["--knee"]),
        (["seal", "reveal", "c.json"], ["--data"]),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line(qsim, args, parts):
    run = qsim(*args)
    assert run.code == 2, run.err
    assert all(part in run.error for part in parts)


def test_a_class_seals_and_reveals(qsim, next_day, tmp_path):
    added = qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "9", "--peak", "100k", "--json").json
    assert qsim("seal", "add", "class.json", "--name", "Bob", "--knee", "40", "--peak", "300k").code == 0
    assert qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "10").code == 1
    shown = qsim("seal", "show", "class.json", "--json").json
    assert [g["name"] for g in shown["guesses"]] == ["Ada", "Bob"]
    assert shown["guesses"][0]["commitment"] == added["commitment"]
    assert "100000" not in qsim("seal", "show", "class.json").out
    revealed = qsim("seal", "reveal", "class.json", "--data", str(next_day), "--json").json
    assert [(r["rank"], r["name"]) for r in revealed["leaderboard"]] == [(1, "Ada"), (2, "Bob")]
    assert revealed["knee"]["load"] == pytest.approx(10, rel=0.1)
    assert "1.  Ada" in qsim("seal", "reveal", "class.json", "--data", str(next_day)).out
    missing = qsim("seal", "reveal", "nothing.json", "--data", str(next_day))
    assert missing.code == 1
    assert "nothing.json" in missing.error


def test_who_knew_the_data_does_not_stop_the_class(qsim, sweep_csv, next_day):
    qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "12")
    assert qsim("predict", str(next_day), "--use", "1,32", "--seal", "knew.json").code == 0
    assert qsim("predict", str(sweep_csv), "--use", "1,32", "--seal", "blind.json").code == 0
    run = qsim("seal", "reveal", "class.json", "knew.json", "blind.json", "--data", str(next_day), "--json")
    assert run.code == 0, run.err
    assert [(r["rank"], r["name"], r["state"]) for r in run.json["leaderboard"]] == [
        (1, "qsim (blind.json)", "revealed"),
        (2, "Ada", "revealed"),
        (None, "qsim (knew.json)", "was made from these data"),
    ]
    alone = qsim("seal", "reveal", "knew.json", "--data", str(next_day))
    assert alone.code == 1
    assert "knew.json" in alone.error
    assert "--only-new" not in alone.error, "which reveal does not have"


def test_guesses_of_a_depth_are_not_held_against_rates(qsim, tmp_path):
    qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "12")
    rows = "\n".join(f"{x},{x},{1e6 / (1e4 - x)}" for x in (1000, 5000, 9000))
    (tmp_path / "open.csv").write_text(f"arrival_rate,iops,lat_us\n{rows}\n")
    run = qsim("seal", "reveal", "class.json", "--data", "open.csv")
    assert run.code == 1
    assert "outstanding requests" in run.error
    assert "arrival rate" in run.error


MEMORY = ("--dataset", "001-memory", "--series", "64 B read")


@pytest.fixture
def sheet_and_memory(qsim, tmp_path):
    """A sealed prediction over queue depths, sheet.json, and one of a memory over delays, memory.json."""
    assert qsim("predict", "--idle-latency", "80us", "--peak-iops", "600k", "--seal", "sheet.json").code == 0
    measured = load_dataset("001-memory").select("64 B read")
    points = measured.points.assign(throughput_per_s=1.01 * measured.points["throughput_per_s"])
    seal([fit(replace(measured, points=points, raw=()))], [[0.0, 500.0]], tmp_path / "memory.json")


def test_predictions_over_depths_are_not_held_against_delays(qsim, sheet_and_memory):
    run = qsim("seal", "reveal", "sheet.json", *MEMORY)
    assert run.code == 1
    assert run.out == ""
    assert "sheet.json" in run.error
    assert "outstanding requests" in run.error
    assert "injected delay (cycles)" in run.error


def test_a_prediction_over_another_load_is_listed_apart(qsim, sheet_and_memory, next_day):
    run = qsim("seal", "reveal", "sheet.json", "memory.json", *MEMORY, "--json")
    assert run.code == 0, run.err
    assert [(r["rank"], r["name"], r["state"]) for r in run.json["leaderboard"]] == [
        (1, "qsim (memory.json)", "revealed"),
        (None, "qsim (sheet.json)", "is over another load: outstanding requests N"),
    ]
    assert run.json["leaderboard"][1]["knee_error_pct"] is None
    qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "12")
    told = qsim("seal", "reveal", "class.json", "memory.json", "--data", str(next_day))
    assert told.code == 0, told.err
    assert "1.  Ada" in told.out
    assert "is over another load: injected delay (cycles)" in told.out


def test_the_scale_of_the_errors_is_told(qsim, next_day):
    qsim("seal", "add", "class.json", "--name", "Ada", "--knee", "12")
    qsim("seal", "add", "class.json", "--name", "Bob", "--knee", "30")
    said = qsim("seal", "reveal", "class.json", "--data", str(next_day)).out
    assert "20 % too high" in said
    assert "3.0 times too high" in said
    assert "Half as much and twice as much are equally wrong" in said
