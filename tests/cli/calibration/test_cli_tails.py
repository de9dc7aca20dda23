"""Tails before the measurement: ``qsim predict`` and ``--slo p99=...``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from simulated_fio import write_simulated

from qsim import LogNormal


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A device of four servers, measured in 2023."""
    folder = tmp_path_factory.mktemp("measured")
    return write_simulated(folder / "four", LogNormal(2e-3, 2.0), 4, [1, 8, 32])


def test_predict_prints_the_tails_and_the_deepest_queue_that_meets_an_objective(qsim, measured):
    run = qsim("predict", str(measured), "--use", "1,32", "--slo", "p99=20ms", "--at", "1,8", "--details")
    assert run.code == 0, run.err
    assert "p99.9" in run.out
    assert "Model: 4 servers, one queue" in run.out
    assert run.out.startswith("p99 under 20.0 ms: ")
    assert re.search(r"at depth \d+ \(\d+ to \d+\), ", run.out.splitlines()[0])  # whole requests
    found = qsim("fit", str(measured), "--use", "1,32", "--slo", "p99=20ms", "--json").json["objective"]
    assert found["low"] <= found["load"] <= found["high"]


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
    assert "measure depth 1 with json+" in asked.err.splitlines()[-1]
    plain = qsim("predict", str(measured), "--use", "8,32", "--json")
    assert plain.code == 0
    assert plain.json["tails"] == []
    assert "no tails: " in plain.err
    assert "measure depth 1" in plain.err
