"""How often ``qsim measure fio`` measures, what it writes before: options, refusals, results."""

from __future__ import annotations

import pytest


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


@pytest.mark.live
def test_repeats_come_with_intervals_in_the_table_and_in_json(qsim, fio, disk):
    args = (
        "measure",
        "fio",
        str(disk),
        "--depths",
        "1,2",
        "--runtime",
        "200ms",
        "--size",
        "16MiB",
        "--repeats",
        "3",
        "--out",
        "sweep",
    )
    run = qsim(*args)
    assert run.code == 0, run.err
    assert run.out.count("±") >= 4 + 1
    assert "95 % interval of the mean of 3 repeats (Student's t)" in run.out
    document = qsim(*args, "--json").json
    assert document["level"] == 0.95
    for mean in document["means"]:
        assert mean["repeats"] == 3
        assert mean["throughput_low"] < mean["throughput_per_s"] < mean["throughput_high"]
        assert mean["latency_low"] < mean["latency_s"] < mean["latency_high"]


@pytest.mark.live
def test_one_repeat_has_no_interval(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--depths", "1", "--runtime", "200ms", "--size", "16MiB")
    run = qsim(*args, "--out", "sweep")
    assert run.code == 0, run.err
    assert "±" not in run.out
    (mean,) = qsim(*args, "--out", "sweep", "--json").json["means"]
    assert mean["throughput_low"] is None
