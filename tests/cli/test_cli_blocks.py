"""``qsim blocks``: the line over the block size from the command line."""

from __future__ import annotations

import pytest


def test_a_published_drive_is_predicted_from_its_end_sizes(qsim):
    run = qsim("blocks", "--dataset", "004-ssd-block-size", "--json")
    assert run.code == 0
    (line,) = run.json["lines"]
    assert line["calibrated"] == [True, False, False, False, True]
    assert line["held_out_mdape_pct"] < 5
    assert line["crossing_bytes"] == pytest.approx(78e3, rel=0.1)


def test_it_prints_a_table_and_marks_what_is_extrapolated(qsim):
    run = qsim("blocks", "--dataset", "004-ssd-block-size", "--use", "4KiB,128KiB")
    assert run.code == 0
    assert [line.split()[-1] for line in run.out.splitlines() if line.strip().startswith("512 KiB")] == ["extrapolated"]


def test_the_check_fails_with_3_and_says_where(qsim):
    run = qsim("blocks", "--dataset", "003-ssd-read", "--max-error", "5")
    assert run.code == 3
    assert "at 4 outstanding is missed by" in run.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dataset", "001-memory"], "tells no block sizes of requests"),
        (["--dataset", "004-ssd-block-size", "--use", "4KiB"], "needs two sizes"),
        (["--dataset", "004-ssd-block-size", "--use", "4KiB,8KiB"], "has 4 KiB and 8 KiB at no depth"),
    ],
)
def test_what_cannot_be_done_is_one_line(qsim, arguments, said):
    run = qsim("blocks", *arguments)
    assert run.code == 1
    assert said in run.error


def test_a_level_or_an_error_that_makes_no_sense_is_wrong_usage(qsim):
    for command in (
        ("blocks", "--dataset", "004-ssd-block-size"),
        ("read-mix", "--dataset", "001-memory"),
        ("surface", "--dataset", "003-ssd-read"),
    ):
        level = qsim(*command, "--level", "0")
        assert level.code == 2
        assert level.error.startswith("--level: 0 must lie between 0 and 1, like 0.9")
        run = qsim(*command, "--max-error", "-1")
        assert run.code == 2
        assert run.error.startswith("--max-error: -1 must be a percentage above 0")
