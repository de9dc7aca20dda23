"""``qsim simulate``: estimates with intervals, and runs that are too short."""

from __future__ import annotations

MMC = ("mmc", "--arrival-rate", "2.7", "--service-rate", "1", "--servers", "3")


def test_text_says_simulated_and_the_seed(qsim):
    run = qsim("simulate", *MMC, "--customers", "1e6", "--seed", "7")
    assert run.code == 0
    assert "M/M/3: simulated" in run.out
    assert "seed 7" in run.out
    assert "theory: W = " in run.out
    (row,) = (line for line in run.out.splitlines() if line.startswith("W(0.99)"))
    assert " .. " in row  # as the other intervals of the table
    assert "[" not in row
    assert run.err == ""


def test_too_short_for_a_steady_state_is_refused_with_its_estimate(qsim):
    args = ("simulate", "mm1", "--arrival-rate", "0.99", "--service-rate", "1", "--customers", "1000", "--seed", "1")
    run = qsim(*args, "--json")
    assert run.code == 1
    assert "allow_short=True" in run.error
    assert run.json["error"]["exit_code"] == 1
    assert run.json["estimate"]["W"] > 0
    text = qsim(*args)
    assert text.code == 1
    assert text.out == ""
    assert "W = " in text.error
