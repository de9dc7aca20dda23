"""``qsim measure device``: the plan, refusals, and a real device that is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def tools(require_tool) -> None:
    require_tool("fio")
    require_tool("nbdkit")


def test_dry_run_says_the_truth_and_writes_nothing(qsim, tools):
    args = ("measure", "device", "--servers", "4", "--service", "lognormal:2ms:scv=2", "--depths", "1,8", "--dry-run")
    run = qsim(*args, "--out", "sweep")
    assert run.code == 0, run.err
    assert "4 servers, one queue, lognormal, mean 2.00 ms, scv 2" in run.out
    assert "peak 2.00 k/s" in run.out
    assert sum(line.startswith("fio ") for line in run.out.splitlines()) == 2
    document = qsim(*args, "--json").json
    assert document["truth"]["servers"] == 4
    assert document["truth"]["service"] == {"family": "LogNormal", "mean": 2e-3, "scv": 2.0}
    assert [p["load"] for p in document["points"]] == [1, 8]
    assert list(Path().iterdir()) == []


def test_the_help_shows_what_is_simulated_where_nothing_is_said(qsim):
    said = " ".join(qsim("measure", "device", "--help").out.split())
    for option in ("Servers. [default: 1]", "Rounds over all points. [default: 1]", "[default: exponential:2ms]"):
        assert option in said


def test_utilizations_are_shares_of_the_peak(qsim, tools):
    args = ("--servers", "2", "--service", "exponential:4ms", "--utilizations", ".3,.7", "--dry-run", "--json")
    document = qsim("measure", "device", *args).json
    assert [p["load"] for p in document["points"]] == pytest.approx([150, 350])
    assert "--rate_process=poisson" in document["commands"][0]


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--depths", "1", "--utilizations", ".3"], "--depths and --utilizations exclude each other"),
        (["--arrival-rates", "600"], "--arrival-rates is 600; it must be above 0 and below the device's peak"),
        (["--utilizations", "1.2"], "--utilizations: invalid share 1.2: expected a value between 0 and 1"),
        (["--service", "lognorm:2ms"], "did you mean lognormal?"),
        (["--service", "exponential:10us"], "longer service time"),
        (["--depths", "2000"], "--depths is 2000"),
    ],
)
def test_a_wrong_value_is_named(qsim, tools, args, part):
    run = qsim("measure", "device", *args, "--dry-run")
    assert run.code == 2
    assert part in run.error
