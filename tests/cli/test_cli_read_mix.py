"""``qsim read-mix`` from the command line."""

from __future__ import annotations

import pytest


def test_inner_mixes_are_predicted_from_the_others(qsim):
    run = qsim("read-mix", "--dataset", "001-memory", "--series", "64 B", "--json")
    assert run.code == 0
    assert [round(m["read_pct"]) for m in run.json["mixes"]] == [67, 75]
    assert run.json["left_out"] == ["64 B write non-temporal"]
    assert run.json["idle_spread_pct"] == pytest.approx(7.3, abs=0.5)
    assert run.json["summary"]["points"] == 38
    assert run.json["summary"]["inside_band_pct"] > 80


def test_a_mix_that_was_not_measured_has_a_peak_and_a_band(qsim):
    run = qsim("read-mix", "--dataset", "001-memory", "--series", "64 B", "--use", "50,100", "--at", "90,75", "--json")
    first, second = run.json["mixes"]
    assert first["read_pct"] == 90
    assert len(first["points"]) == 13
    assert all(p["latency_low_s"] < p["latency_s"] < p["latency_high_s"] for p in first["points"])
    assert 25.7e9 < first["peak_bytes_per_s"] < 28.5e9
    assert "measured_latency_s" in second["points"][0]


def test_it_prints_tables_and_says_what_the_noise_is(qsim):
    run = qsim("read-mix", "--dataset", "001-memory", "--series", "64 B")
    assert run.code == 0
    assert "67 % reads, peak " in run.out.replace("66.7", "67")
    assert "missed by 15 % at the median" in run.out
    assert "differ by 7.3 % (standard deviation): noise between runs" in run.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--dataset", "001-memory"], 1, "several curves of one mix (by stride, buffer or stores); select one by"),
        (["--dataset", "001-memory", "--series", "64 B", "--use", "50"], 2, "needs two of them at least"),
        (["--dataset", "001-memory", "--series", "64 B", "--use", "50,60"], 2, "no mix of 60 % reads was measured"),
        (["--dataset", "001-memory", "--series", "64 B", "--at", "20"], 1, "20 % reads lie outside the measured mixes"),
        (["--dataset", "001-memory", "--series", "64 B", "--level", "2"], 2, "--level: 2 must lie between 0 and 1"),
        (["--dataset", "003-ssd-read"], 1, "no memory measured at two or more mixes"),
    ],
)
def test_what_cannot_be_done_is_one_line(qsim, arguments, code, said):
    run = qsim("read-mix", *arguments)
    assert run.code == code
    assert said in run.error


def test_the_check_fails_with_3(qsim):
    run = qsim("read-mix", "--dataset", "001-memory", "--series", "64 B", "--max-error", "5")
    assert run.code == 3
    assert "the measured mixes are missed by" in run.err
