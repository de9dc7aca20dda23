"""``qsim surface`` from the command line."""

from __future__ import annotations

import pandas as pd
import pytest


def test_a_published_drive_is_predicted_from_nine_points(qsim):
    run = qsim("surface", "--dataset", "001-ssd", "--json")
    assert run.code == 0
    document = run.json
    assert [p["use"] for p in document["points"]].count("calibrated on") == 8
    assert [p["use"] for p in document["points"]].count("asked for") == 1
    assert document["summary"]["held_out_points"] == 7
    assert document["summary"]["held_out_mdape_throughput_pct"] < 10
    assert {k["block_bytes"] for k in document["knees"]} == {4096, 32768}
    assert "read: peak rate" in document["parameters"]


def test_places_that_were_not_measured_are_predicted_and_the_page_and_the_tables_written(qsim, tmp_path):
    run = qsim(
        "surface", "--dataset", "001-ssd", "--ask", "0", "--at", "block=16KiB read=70 depth=1..4", "--report", "s.html",
        "--csv", "tables",
    )  # fmt: skip
    assert run.code == 0
    predicted = run.out[run.out.index("Predicted\n") :].splitlines()
    assert [row.split()[:5] for row in predicted[2:5]] == [["16", "KiB", "70", "%", n] for n in ("1", "2", "4")]
    assert "Throughput at 100 % reads" in (tmp_path / "s.html").read_text("utf-8")
    table = pd.read_csv(tmp_path / "tables" / "surface-points.csv")
    assert len(table) == 24
    assert {"block_bytes", "predicted_throughput_per_s", "error_pct"} <= set(table.columns)


def test_the_points_to_calibrate_on_can_be_named(qsim):
    run = qsim("surface", "--dataset", "001-ssd", "--use", "depth=1,8,64", "--ask", "0", "--json")
    assert sum(p["use"] == "calibrated on" for p in run.json["points"]) == 12


def test_the_check_fails_with_3(qsim):
    run = qsim("surface", "--dataset", "001-ssd", "--max-error", "0.1")
    assert run.code == 3
    assert "the throughput of held-out points is missed by" in run.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--dataset", "004-ssd-depth"], 1, "one block size and one share of reads"),
        (["--dataset", "004-ssd-block-size"], 1, "over the size alone: qsim blocks"),
        (["--dataset", "003-ssd-read", "--use", "block=4KiB"], 1, "so nothing is known of 16 KiB"),
        (["--dataset", "003-ssd-read", "--at", "read=50"], 1, "nothing is known of 50 %"),
        (["--dataset", "003-ssd-read", "--use", "size=4KiB"], 2, "write places like block=4KiB,64KiB"),
        (["--dataset", "003-ssd-read", "--use", "block=4KiB block=8KiB"], 2, "'block' is named twice"),
        (["--dataset", "003-ssd-read", "--at", ""], 2, "no place is named"),
        (["--dataset", "003-ssd-read", "--ask", "-1"], 2, "--ask is -1; it must be zero or more"),
        (["--dataset", "003-ssd-read", "--pattern", "random"], 1, "has no pattern 'random'"),
    ],
)
def test_what_cannot_be_done_is_one_line(qsim, arguments, code, said):
    run = qsim("surface", *arguments)
    assert run.code == code
    assert said in run.error
