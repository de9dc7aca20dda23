"""``qsim predict --seal`` and ``compare --prediction``: prediction before measurement."""

from __future__ import annotations

import pytest


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
    compared = qsim("compare", str(next_day), "--prediction", "before.json", "--report", "report.html", "--json")
    assert compared.code == 0, compared.err
    assert compared.json["seal"]["sha256"] == predicted.json["seal"]["sha256"]
    assert all(p["held_out"] for p in compared.json["points"])
    at_eight = next(p for p in compared.json["points"] if p["load"] == 8)
    assert at_eight["predicted"]["throughput_per_s"] == predicted.json["points"][1]["throughput_per_s"]
    assert "the data do not say when" in compared.err
    assert predicted.json["seal"]["sha256"] in (tmp_path / "report.html").read_text()
    later = qsim("compare", str(next_day), "--prediction", "before.json").out
    assert predicted.json["seal"]["sha256"] in later
    assert "predicted from depths 1 and 32 of another run" in later
    qsim("predict", "--dataset", "004-ssd-depth", "--use", "1,32", "--seal", "here.json")
    assert "32, which are left out" in qsim("compare", "--dataset", "004-ssd-depth", "--prediction", "here.json").out


def test_a_kept_fit_knows_its_points_and_a_seal_is_written_once(qsim, sweep_csv):
    assert qsim("fit", str(sweep_csv), "--use", "1,32", "--out", "fit.json").code == 0
    assert qsim("predict", "fit.json", "--seal", "before.json").code == 0
    assert qsim("predict", "fit.json", "--seal", "before.json").code == 1
    assert "used" in qsim("compare", str(sweep_csv), "--prediction", "before.json").error
