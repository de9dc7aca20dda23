"""``qsim network``: stations in a row, with a way back, or in a circle, and every way to write them wrongly."""

from __future__ import annotations

import pytest

THREE = ("--station", ".605", "--station", "2.1", "--station", "1.35")


def test_a_tandem_is_two_queues_one_after_the_other(qsim):
    run = qsim("network", "--station", "2ms", "--station", "1ms", "--arrival-rate", "300/s")
    assert run.code == 0, run.err
    # M/M/1 twice: W = 1 / (500 - 300) and 1 / (1000 - 300)
    assert "W         6.429 ms" in run.out
    column = run.out.splitlines()[-3].index("  W ") + 3
    assert [line[:column].split()[-2:] for line in run.out.splitlines()[-2:]] == [["5.000", "ms"], ["1.429", "ms"]]


def test_a_circle_is_the_one_of_the_book(qsim):
    """Lazowska et al. (1984), p. 117."""
    run = qsim("network", *THREE, "--population", "3", "--think-time", "15", "--explain", "--json")
    assert run.code == 0, run.err
    assert run.json["throughput"] == pytest.approx(0.151516, abs=5e-7)
    assert [s["L"] for s in run.json["stations"]] == pytest.approx([0.097566, 0.394657, 0.23503], abs=5e-7)
    (table,) = (line for line in run.json["derivation"]["lines"] if "rows" in line)
    assert table["header"] == ["n", "R(1)", "R(2)", "R(3)", "X", "Q(1)", "Q(2)", "Q(3)"]
    assert [row[0] for row in table["rows"]] == [1, 2, 3]
    assert table["rows"][-1][4] == run.json["throughput"]


def test_the_way_back_is_in_the_traffic_equations(qsim):
    words = ("--station", "1", "--station", "0.5,servers=2", "--arrival-rate", ".3,.2", "--routing", "0,.5;.2,0")
    run = qsim("network", *words, "--explain")
    assert run.code == 0, run.err
    assert "lambda(1) = gamma(1) + 0.2 * lambda(2) = 0.3 + 0.2 * 0.388889 = 0.377778" in run.out
    assert "station 2: M/M/2" in run.out


def test_visits_and_names(qsim):
    words = ("--station", "cpu:40ms,visits=5", "--station", "disk:30ms,visits=2.5", "--arrival-rate", "4/s")
    run = qsim("network", *words, "--json")
    assert [(s["name"], round(s["L"], 3)) for s in run.json["stations"]] == [("cpu", 4.0), ("disk", 0.429)]


def test_one_station_is_the_queue_itself(qsim):
    alone = qsim("solve", "mmcn", "--population", "10", "--think-time", "5", "--service-time", "1", "--json").json
    one = qsim("network", "--station", "1", "--population", "10", "--think-time", "5", "--json").json
    assert one["W"] == pytest.approx(alone["W"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--arrival-rate", "1"), "--station is missing"),
        (("--station", "1"), "give either --arrival-rate"),
        (("--station", "1", "--arrival-rate", "1", "--population", "3"), "give either --arrival-rate"),
        (("--station", "1,speed=3", "--population", "3"), "'speed=3' does not belong to a station"),
        (("--station", "1,servers=1.5", "--population", "3"), "invalid number of servers 1.5"),
        (("--station", "disk", "--population", "3"), "--station"),
        (("--station", "1", "--arrival-rate", "1,2"), "which go with --routing"),
        (("--station", "1", "--arrival-rate", ".1,.2", "--routing", "0"), "a rate for each of the 1 stations, not 2"),
        (("--station", "1", "--arrival-rate", ".1", "--routing", "0,1"), "routing must be a square matrix"),
        (("--station", "1", "--arrival-rate", ".1", "--routing", "1"), "nobody does"),
        (("--station", "1", "--population", "3", "--routing", "0"), "--routing goes with --arrival-rate"),
        (("--station", "1", "--arrival-rate", ".1", "--think-time", "1"), "--think-time goes with --population"),
        (("--station", "1", "--arrival-rate", "2"), "station 1 of open network of 1 station is overloaded"),
        (("--station", "1", "--population", "0"), "population"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(qsim, words, said):
    run = qsim("network", *words)
    assert run.code == 2
    assert said in run.error
