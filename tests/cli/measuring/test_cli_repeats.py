"""How often ``qsim measure fio`` measures, what it lets settle, what it writes before: options, refusals, results."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def fio(require_tool) -> str:
    return require_tool("fio")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--repeats", "auto:2"), "3 repeats at least"),
        (("--repeats", "often"), "'often'"),
        (("--repeats", "2.5"), "'2.5' is not a whole number"),
        (("--precision", "5%"), "--precision is for --repeats auto"),
        (("--steady", "5%:2s"), "window of the steady state must be whole seconds"),
        (("--steady", "5%:10s:5s"), "longer than the window"),
        (("--steady", "0%"), "tolerance"),
        (("--steady", "a:b:c:d"), "expected e.g. 5%, 5%:10s or 5%:10s:2min"),
        (("--precondition", "twice"), "auto, none, sequential, random"),
    ],
)
def test_what_cannot_be_is_wrong_usage_in_one_line(qsim, fio, disk, options, says):
    run = qsim("measure", "fio", str(disk), "--depths", "1", "--out", "sweep", *options)
    assert run.code == 2
    assert says in run.error
    assert not Path("sweep").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--arrival-rates", "100", "--steady", "5%"), "settling is for depths"),
        (("--depths", "1", "--repeats", "auto", "--precision", "200%"), "precision is 2"),
    ],
)
def test_what_the_plan_refuses_is_told_and_nothing_runs(qsim, fio, disk, options, says):
    run = qsim("measure", "fio", str(disk), "--out", "sweep", *options)
    assert run.code == 2
    assert says in run.error
    assert not Path("sweep").exists()


def test_the_plan_tells_what_may_come_on_top(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--depths", "1,8", "--runtime", "2s", "--ramp", "0s", "--plan")
    run = qsim(*args, "--repeats", "auto:5", "--precision", "3%", "--remeasure")
    assert run.code == 0, run.err
    assert "6 points" in run.out
    assert "then up to 5 repeats of each point until its mean is known within 3 %: up to 10.4 s more" in run.out
    settled = qsim(*args, "--steady", "slope:0.3%:4s:20s")
    assert "each point runs first until its throughput changes by less than 0.3 % a second over 4.00 s" in settled.out
    commands = [line for line in settled.out.splitlines() if line.startswith("fio ")]
    assert [("--steadystate=iops_slope:0.3%" in c) for c in commands] == [False, True, False, True, False]
    writes = qsim(*args, "--read", "0", "--precondition", "sequential")
    assert "first writing the test file, writing it a second time: about" in writes.out


def test_a_budget_holds_every_repeat_and_settling_that_there_may_be(qsim, fio, disk):
    args = ("measure", "fio", str(disk), "--depths", "1,8", "--ramp", "0s", "--size", "16MiB", "--plan", "--json")
    auto = qsim(*args, "--repeats", "auto:6", "--budget", "60s").json
    assert len(auto["points"]) == 6  # three rounds over two depths
    each_s = auto["points"][0]["seconds"]
    assert 50 <= auto["fill_seconds"] + 2 * 6 * each_s <= 60
    settled = qsim(*args, "--steady", "5%:5s:20s", "--budget", "60s").json
    assert 55 <= settled["fill_seconds"] + 2 * (settled["runtime_s"] + 20 + 2 * 0.6) <= 60
    run = qsim(*args, "--steady", "5%:5s:20s", "--budget", "30s")
    assert run.code == 2
    assert "too short" in run.err


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
        "--ramp",
        "0s",
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
    args = ("measure", "fio", str(disk), "--depths", "1", "--runtime", "200ms", "--ramp", "0s", "--size", "16MiB")
    run = qsim(*args, "--out", "sweep")
    assert run.code == 0, run.err
    assert "±" not in run.out
    (mean,) = qsim(*args, "--out", "sweep", "--json").json["means"]
    assert mean["throughput_low"] is None
