"""What a terminal shows first: the answer in few lines and plain words, the exact terms behind --details."""

from __future__ import annotations

import re

import numpy as np
import pytest

from calibrate import compare, fit
from measure import load_dataset
from measure.units import missed_text

FOUR = ("--dataset", "003-ssd-read")
ONE = ("--dataset", "004-ssd-depth")
KNEE = "QUEUEING STARTS depth 2."

HIDDEN = ("not identifiable", "anything from", "mostly its prior")
"""A statistician's words, which a terminal shows with --details alone."""

UNWRITTEN = (
    r"\d us\b",
    r"\b1 (?:points|curves|errors|warnings|notes|knees|rows)\b",
    r"\b[a-z]+\(s\)",
    r"(?<![\d.])1(?:\.0)? times\b",
    r"[+-]\d{3,} %",
)
"""Regular expressions of what no command prints: us for µs, a wrong plural, a ratio in hundreds of percent."""


def lines(text: str) -> list[str]:
    return text.rstrip("\n").splitlines()


@pytest.mark.parametrize(("source", "knee"), [(ONE, KNEE), (FOUR, "QUEUEING STARTS depth ")])
@pytest.mark.parametrize("command", ["fit", "compare", "show"])
def test_the_knee_is_in_the_first_three_lines(once, command, source, knee):
    assert any(line.startswith(knee) for line in lines(once(command, *source).out)[:3])


def test_a_prediction_of_several_curves_begins_with_the_name_of_their_file(qsim, tmp_path):
    (tmp_path / "both.csv").write_text("series,depth,iops\na,1,1e4\na,8,7e4\nb,1,1e4\nb,8,4e4\n")
    assert qsim("predict both.csv --at 4").out.startswith("both.csv: 2 curves")


@pytest.mark.parametrize("source", [FOUR, ONE])
def test_compare_says_how_many_points_are_inside_the_bands_and_shows_the_bands(once, source):
    out = once("compare", *source).out
    sure = next(line for line in lines(out) if line.startswith("SURE?"))
    sweep = load_dataset(source[1])
    done = [compare(sweep, series=name) for name in sweep.series]
    held = sum(int(c.held_out.sum()) for c in done)
    inside = sum(round(c.summary().inside_band_pct * c.held_out.sum() / 100) for c in done)
    assert f"{'All' if inside == held else f'{inside} of'} {held} held-out points are inside their 90 % bands" in sure
    worst = next(line for line in lines(out) if line.startswith("WORST"))
    assert re.search(r"measured, .* \(.+ to .+\) predicted", worst)
    assert sum(line.startswith("AUDIT") for line in lines(out)) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("compare", *FOUR),
        ("compare", *ONE),
        ("compare", "--dataset", "001-memory"),
        ("fit", *FOUR),
        ("fit", *ONE, "--slo", "500us"),
        ("predict", *ONE, "--slo", "500us"),
        ("predict", "--idle-latency", "80us", "--peak-iops", "600k"),
        ("show", *FOUR),
        ("show", "--dataset", "001-memory"),
        ("surface", *FOUR),
        ("audit", *ONE),
        ("datasets",),
    ],
)
def test_without_details_there_are_plain_words(once, command):
    run = once(*command)
    assert run.code == 0
    for text in HIDDEN:
        assert text not in run.out
    for pattern in UNWRITTEN:
        assert not re.search(pattern, run.out), pattern


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_details_hold_the_exact_terms_and_every_point(once, command):
    out = once(command, *FOUR, "--details").out
    assert "not identifiable" in out
    assert "Rbusy" in out
    if command == "compare":
        assert sum(line.startswith(" 256 ") for line in lines(out)) == 4


def test_an_objective_is_answered_first_and_the_deepest_point_stands_beside_it(once):
    first = lines(once("predict", *ONE, "--slo", "500us").out)[0]
    found = r"Under 500 µs: 106 k/s at depth \d+ \(\d+ to \d+\), sure\. Depth 1024 gave 94 k/s at 11 ms\."
    assert re.fullmatch(found, first)


def test_an_error_is_a_percentage_and_beyond_one_and_a_half_a_ratio():
    assert [missed_text(100 * (ratio - 1)) for ratio in (1.04, 0.9, 1.5, 2.13, 0.4, 1.0)] == [
        "+4 %",
        "-10 %",
        "+50 %",
        "2.1 times too high",
        "2.5 times too low",
        "0 %",
    ]


def test_a_repr_is_what_the_terminal_says_first(once):
    sweep = load_dataset(ONE[1])
    for command, result in (("fit", fit(sweep)), ("compare", compare(sweep))):
        printed = lines(once(command, *ONE).out)
        assert lines(repr(result))[1:3] == printed[1:3]
        assert len(lines(repr(result))) <= 7


def test_a_simulation_says_whether_its_interval_holds_the_theory(qsim):
    words = ("simulate", "mm1", "--arrival-rate", "16", "--service-rate", "20", "--customers", "2e5")
    lines = [qsim(*words, "--seed", str(seed)).out.splitlines()[-1] for seed in range(1, 4)]
    assert all(line.startswith("theory: W = 0.25, ") for line in lines)
    assert "theory: W = 0.25, inside the interval" in lines


def test_an_audit_begins_with_what_it_means_for_the_data(once):
    first, second = lines(once("audit", *ONE).out)[:2]
    assert first == "004-ssd-depth as published: 1 error, 0 warnings, 1 note: these data contradict themselves"
    assert second.startswith("ERROR    littles-law (16 KiB, depth 1024): ")


def test_bands_of_an_open_sweep_are_those_of_the_response_time(qsim, tmp_path):
    rates = np.array([100.0, 300, 500, 700, 900])
    rows = [f"{x:g},{x:g},{1e3 / (1000 - x):.6f}" for x in rates]
    (tmp_path / "open.csv").write_text("\n".join(["arrival_rate,throughput,latency_ms", *rows]))
    out = qsim("compare", "open.csv", "--columns", "load=arrival_rate,throughput=throughput,latency=latency_ms:ms").out
    assert "MISSED  response time by " in out


def test_curves_of_one_point_have_an_assumed_knee_and_nothing_to_leave_out(once):
    points = ("--dataset", "004-ssd-mix")
    heading, knee, missed = once("compare", *points).out.splitlines()[:3]
    assert heading == "004-ssd-mix: 5 curves, each fitted to its only point"
    assert re.fullmatch(r"QUEUEING STARTS depth [0-9.]+, assumed: these points do not tell", knee)
    assert missed == "MISSED  unknown: one point checks nothing; measure a second"
    assert once("fit", *points).out.splitlines()[:2] == ["004-ssd-mix: 5 curves, each fitted to depth 1", knee]


def test_a_warning_names_its_load_and_no_curve_without_a_name(qsim, tmp_path):
    """``repeats-disagree (all points): ... Measure this load five times``: which load was not said."""
    table = tmp_path / "noisy.csv"
    rows = [(n, x * k) for k in (0.8, 1.0, 1.2) for n, x in ((1, 1e3), (2, 2e3 * k), (4, 4e3), (8, 4e3))]
    table.write_text("\n".join(["iodepth,iops", *(f"{n},{x:g}" for n, x in rows)]) + "\n")
    run = qsim("fit", str(table))
    assert "repeats-disagree (depth 2): 3 repeats give " in run.err
    assert "all points" not in run.err
    assert run.out.startswith("noisy.csv: a smooth curve ")
    assert qsim("predict", str(table)).out.startswith("A smooth curve ")
    assert qsim("compare", str(table)).out.startswith("noisy.csv: predicted from depths ")


def test_an_audit_without_findings_stands_beside_the_warning_of_the_fit(qsim, tmp_path):
    table = tmp_path / "falls.csv"
    rates = ((1, 101.18), (4, 388.62), (8, 611.73), (16, 652.31), (32, 573.16), (64, 431.35))
    table.write_text("\n".join(["iodepth,iops", *(f"{n},{x}" for n, x in rates)]) + "\n")
    run = qsim("compare", str(table))
    assert "warning: misses-its-points: " in run.err
    assert "AUDIT   no errors, no warnings beside misses-its-points; " in run.out
