"""``qsim change OLD NEW``: what moved, and the exit code for a release that got slower."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32])


@pytest.fixture
def builds(tmp_path: Path) -> None:
    """Three repeats each of old.csv, same.csv, more old ones, and slow.csv, whose peak is 30 % lower."""
    random = np.random.default_rng(3)
    for name, peak in (("old", 1e5), ("same", 1e5), ("slow", 7e4), ("old2", 1e5), ("old3", 1e5)):
        rows = ["series,depth,iops,latency_us"]
        for _ in range(3):
            rate = ((DEPTHS / 1e-4) ** -3 + peak**-3) ** (-1 / 3) * np.exp(0.01 * random.standard_normal(6))
            rows += [f"read,{n:g},{x:.1f},{1e6 * n / x:.3f}" for n, x in zip(DEPTHS, rate, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")


def test_a_slower_build_fails_and_says_by_how_much(qsim, builds):
    run = qsim("change", "old.csv", "slow.csv", "--fail-on", "slower:5%")
    assert run.code == 3
    assert run.out.startswith("SLOWER by up to ")
    assert run.error.splitlines()[-1].startswith("read: SLOWER by up to ")
    assert qsim("change", "old.csv", "slow.csv", "--fail-on", "slower:50%").code == 0
    found = qsim("change", "old.csv", "slow.csv", "--json").json
    assert found["verdict"] == "slower"
    assert [c["load"] for c in found["loads"]] == DEPTHS.tolist()
    assert found["peak"]["change_pct"] == pytest.approx(-30, abs=2)
    assert found["idle_latency"]["low_pct"] < 0 < found["idle_latency"]["high_pct"]
    assert 10 < found["detectable_pct"] < 20
    assert found["loads"][0]["detectable_pct"] <= found["detectable_pct"]


def test_more_sweeps_of_the_old_state_narrow_what_is_seen(qsim, builds):
    alone = qsim("change", "old.csv", "slow.csv", "--json").json
    more = qsim("change", "old.csv", "slow.csv", "--old", "old2.csv", "--old", "old3.csv", "--json").json
    assert (alone["old_sweeps"], more["old_sweeps"], more["more_old"]) == (1, 3, ["old2.csv", "old3.csv"])
    assert more["detectable_pct"] < 0.75 * alone["detectable_pct"]
    text = qsim("change", "old.csv", "same.csv").out
    assert "Seen nine times in ten: a loss of " in text
    assert "sweeps are assumed to vary by 3 %" in text
    assert "more sweeps of the old state (--old)" in text


def test_loads_can_be_left_out_which_is_said(qsim, builds):
    run = qsim("change", "old.csv", "slow.csv", "--at", "16,32")
    assert "depths 1, 2, 4, 8 left out, as asked" in run.out
    run = qsim("change", "old.csv", "slow.csv", "--at", "7")
    assert (run.code, "depth 7 was not measured in all sweeps" in run.error) == (1, True)
    run = qsim("change", "old.csv", "slow.csv", "--at", "7,9")
    assert (run.code, "depths 7, 9 were not measured in all sweeps" in run.error) == (1, True)


def test_a_loss_that_cannot_be_excluded_is_undecided(qsim, builds):
    run = qsim("change", "old.csv", "same.csv", "--fail-on", "slower:1%")
    assert run.code == 4
    assert "a loss of 1 % cannot be excluded" in run.error


def test_several_builds_are_one_table_against_the_first(qsim, builds):
    run = qsim("change", "old.csv", "same.csv", "slow.csv")
    header, same, slow = run.out.splitlines()[:3]
    assert "TIMES AS FAST" in header
    assert same.startswith("same.csv")
    assert slow.startswith("slow.csv")
    assert "SLOWER" in slow
    advised = [line for line in run.out.splitlines() if line.startswith("NEXT")]
    assert [line[:18] for line in advised] == ["NEXT    same.csv: ", "NEXT    slow.csv: "]  # unlike, so each is named
    found = qsim("change", "old.csv", "same.csv", "slow.csv", "--json").json
    assert [c["new"] for c in found["comparisons"]] == ["same.csv", "slow.csv"]
    assert (found["new"], found["verdict"]) == ("slow.csv", "slower")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--fail-on", "slower:x"], 2, "invalid check 'slower:x': expected a share between 0 and 100 %, as slower:5%"),
        (["--fail-on", "often"], 2, "invalid check 'often'"),
        (["--series", "write"], 2, "--series: 'write' is unknown"),
    ],
)
def test_what_is_wrong_is_one_line(qsim, builds, args, code, words):
    run = qsim("change", "old.csv", "same.csv", *args)
    assert run.code == code
    assert words in run.error


def test_what_nothing_measured_in_both_can_decide_exits_with_4(qsim, tmp_path):
    (tmp_path / "times.csv").write_text("iodepth,lat_us\n1,100\n4,110\n16,200\n64,640\n")
    (tmp_path / "rates.csv").write_text("iodepth,iops\n1,10000\n4,36000\n16,80000\n64,100000\n")
    names = (str(tmp_path / "times.csv"), str(tmp_path / "rates.csv"))
    run = qsim("change", *names)
    assert (run.code, run.error.count("cannot be decided: of one sweep the throughput was computed")) == (1, 1)
    assert qsim("change", *names, "--fail-on", "slower:5%").code == 4
    same = qsim("change", names[0], names[0])
    assert "NOTE    response times alone are compared: the throughput was computed" in same.out
