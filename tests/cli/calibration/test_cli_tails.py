"""Tails before the measurement: ``qsim predict``, ``--slo p99=...``, and what is sealed of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated_fio import write_simulated

from qsim import LogNormal


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A device of four servers, measured in 2023."""
    folder = tmp_path_factory.mktemp("measured")
    return write_simulated(folder / "four", LogNormal(2e-3, 2.0), 4, [1, 8, 32])


@pytest.fixture(scope="module")
def next_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same device, measured after any test was written."""
    folder = tmp_path_factory.mktemp("next_day")
    return write_simulated(folder / "again", LogNormal(2e-3, 2.0), 4, [1, 4, 16], seed=7, started_s=4_000_000_000)


def test_tails_are_sealed_and_held_against_what_is_measured_since(qsim, measured, next_day, tmp_path):
    predicted = qsim("predict", str(measured), "--use", "1,32", "--seal", "before.json", "--at", "1,4,16", "--json")
    assert predicted.code == 0, predicted.err
    assert [t["load"] for t in predicted.json["tails"]] == [1, 4, 16]
    compared = qsim("compare", str(next_day), "--prediction", "before.json", "--json", "--report", "page.html")
    assert compared.code == 0, compared.err
    tails = compared.json["tails"]
    assert [t["load"] for t in tails] == [1, 4, 16]
    assert all(t["held_out"] for t in tails)
    assert tails[1]["predicted"] == predicted.json["tails"][1]["predicted"]
    assert all(abs(t["residual_pct"]["p99_s"]) < 20 for t in tails)
    assert "Tails" in (tmp_path / "page.html").read_text()


def test_predict_prints_the_tails_and_the_deepest_queue_that_meets_an_objective(qsim, measured):
    run = qsim("predict", str(measured), "--use", "1,32", "--slo", "p99=20ms", "--at", "1,8", "--details")
    assert run.code == 0, run.err
    assert "p99.9" in run.out
    assert "Model: 4 servers, one queue" in run.out
    assert run.out.startswith("p99 under 20.0 ms: ")
    found = qsim("fit", str(measured), "--use", "1,32", "--slo", "p99=20ms", "--json").json["objective"]
    assert found["low"] <= found["load"] <= found["high"]


def test_compare_takes_it_as_well(qsim, measured):
    run = qsim("compare", str(measured), "--use", "1,32", "--slo", "p95=15ms", "--json")
    assert run.code == 0, run.err
    assert run.json["objective"]["definition"].startswith("p95 of the response time within 15")
    mean = qsim("predict", "--idle-latency", "80us", "--peak-iops", "600k", "--slo", "mean=15ms", "--json")
    assert mean.json["objective"]["definition"].startswith("mean response time within 15")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["predict", "--idle-latency", "80us", "--peak-iops", "600k", "--slo", "p99=1ms"], 2, "qsim predict DATA"),
        (["predict", "--idle-latency", "80us", "--peak-iops", "600k", "--slo", "p98=1ms"], 2, "did you mean p99?"),
        (["predict", "--idle-latency", "80us", "--peak-iops", "600k", "--slo", "p99=fast"], 2, "--slo"),
        (["fit", "--dataset", "003-ssd-read", "--series", "4 KiB read", "--slo", "p99=1ms"], 1, "measure with json+"),
        (
            ["fit", "--dataset", "001-memory", "--series", "64 B read", "--slo", "p99=1ms"],
            1,
            "tails are predicted over queue depths",
        ),
        (["predict", "--dataset", "003-ssd-read", "--slo", "p99=1ms", "--what-if", "drives=2"], 2, "changed device"),
    ],
)
def test_what_cannot_be_told_is_one_line(qsim, args, code, words):
    run = qsim(*args)
    assert run.code == code
    assert words in run.err.splitlines()[-1]
    assert run.out == ""


def test_a_deep_point_without_depth_1_is_refused_only_where_tails_were_asked_for(qsim, measured):
    asked = qsim("predict", str(measured), "--use", "8,32", "--slo", "p99=20ms")
    assert asked.code == 1
    assert "measure depth 1 with json+" in asked.error
    plain = qsim("predict", str(measured), "--use", "8,32", "--json")
    assert plain.code == 0
    assert plain.json["tails"] == []
    assert "measure depth 1" in plain.json["tails_refused"]
