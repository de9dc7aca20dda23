"""``qsim surface`` from the command line."""

from __future__ import annotations


def test_a_published_drive_is_predicted_from_nine_points(qsim):
    run = qsim("surface", "--dataset", "001-ssd", "--ask", "1", "--json")
    assert run.code == 0
    document = run.json
    assert [p["use"] for p in document["points"]].count("calibrated on") == 8
    assert [p["use"] for p in document["points"]].count("asked for") == 1
    assert document["summary"]["held_out_points"] == 7
    assert document["summary"]["held_out_mdape_throughput_pct"] < 10
    assert {k["block_bytes"] for k in document["knees"]} == {4096, 32768}
    assert "read: peak rate" in document["parameters"]
    assert document["next"]["half_width_then"] < document["next"]["half_width_now"]
    ours = document["summary"]["held_out_mdape_throughput_pct"]
    assert all(error > 2 * ours for error in document["baselines"].values())


def test_the_answer_comes_first_then_the_table_then_what_to_measure(qsim):
    run = qsim("surface", "--dataset", "001-ssd")
    lines = run.out.splitlines()
    assert lines[0] == "001-ssd: 10 of 24 points used, 2 of them asked for, 6 points held out"
    assert lines[1].startswith("MISSED  ")
    assert "from the same points: bilinear in logarithms " in lines[1]
    assert lines[2].startswith("SURE?   ")
    assert [line.split()[0] for line in lines[-3:]] == ["WORST", "NEXT", "MORE"]
    assert "Parameters" not in run.out
    details = qsim("surface", "--dataset", "001-ssd", "--details").out
    assert "read: peak rate" in details
    assert "QUEUEING STARTS" in details
    assert "90 % OF PEAK AT" in details


def test_places_that_were_not_measured_are_predicted_and_the_page_is_written(qsim, tmp_path):
    run = qsim("surface --dataset 001-ssd --ask 0 --at 'block=16KiB read=70 depth=1..4' --report s.html")
    assert run.code == 0
    predicted = run.out[run.out.index("Predicted at 16 KiB, 70 % read") :].splitlines()
    assert [row.split()[:5] for row in predicted[2:5]] == [["16", "KiB", "70", "%", n] for n in "124"]
    assert "Throughput at 100 % reads" in (tmp_path / "s.html").read_text("utf-8")
