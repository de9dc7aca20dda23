"""``qsim predict`` on the runs of a server: clients within an objective, workers for a rate, a second replica."""

from __future__ import annotations

import json
from pathlib import Path

RUNS = Path(__file__).parents[2] / "data" / "servers"


def test_the_questions_of_a_service_are_answered_first(qsim):
    asked = ("--at", "1..500", "--slo", "30ms", "--target", "5k/s", "--what-if", "replicas=1:2")
    out = qsim("predict", str(RUNS / "wrk"), *asked).out.splitlines()
    assert out[0].startswith("Under 30.0 ms:")
    assert "connections, rough as the curve misses its own points. 64 connections gave" in out[0]
    assert out[1] == "For 5.0 k/s you need 4 (3 to 6) of today's kind, rough; 5 (3 to 7) to stay below 80 % busy."
    assert out[2].startswith("With 2 replicas for 1: ")
    assert " times the throughput at 500 connections (" in out[2]
    assert out[2].endswith(" today), rough.")
    assert out[3] == "For 5.0 k/s you need 2 (2 to 3) of the changed kind, rough; 3 (2 to 4) to stay below 80 % busy."
    assert [line.split()[1] for line in out if line.startswith("THEN ")] == ["queueing", "90"]
    assert any(line.startswith("ASSUMES 2 replicas for 1: the load spreads evenly") for line in out)


def test_more_clients_than_were_measured_say_what_to_measure(qsim):
    def notes(*clients: str) -> str:
        return qsim("predict", str(RUNS / "wrk"), "--at", *clients).out

    assert "nothing is known beyond 64 connections, the most that were measured" in notes("1..500")
    assert "measure 1, about 64, and the most connections you will ever have" in notes("1..500")
    assert "nothing is known" not in notes("1,32,64")
    wide = qsim("predict", str(RUNS / "wrk"), "--at", "256", "--slo", "400ms", "--json").json
    assert (wide["objective"]["low"] < 256) == (wide["points"][0]["response_time_high_s"] > 0.4)


def test_the_capacity_is_in_the_json(qsim):
    done = qsim("predict", str(RUNS / "pgbench"), "--target", "30k/s", "--json")
    capacity = json.loads(done.out)["capacity"]
    assert capacity["rate_per_s"] == 30000
    assert (capacity["needed"] - 1) * capacity["peak_per_s"] < 30000 <= capacity["needed"] * capacity["peak_per_s"]
    assert 30000 <= 0.8 * capacity["roomy"] * capacity["peak_per_s"]


def test_the_kind_is_named_by_its_workers(qsim):
    source = ("predict", str(RUNS / "wrk"), "--target", "5k/s", "--what-if", "workers=1:2")
    out = qsim(*source).out.splitlines()
    assert out[0].startswith("For 5.0 k/s you need 4 (3 to 6) of today's 1-worker kind, rough; 5 (3 to 7) to stay")
    assert "of the changed 2-worker kind" in out[2]
    assert qsim(*source, "--json").json["what_if"]["capacity"]["kind"] == "the changed 2-worker kind"


def test_contention_and_coherency_stand_beside_the_knees_of_a_service(qsim):
    figures = qsim("fit", str(RUNS / "wrk"), "--json").json["scalability"]
    assert set(figures) == {"contention", "coherency"}
    for command in ("fit", "predict", "compare"):
        assert "Universal Scalability Law, all points: contention " in qsim(command, str(RUNS / "wrk"), "--details").out
        assert qsim(command, str(RUNS / "wrk"), "--json").json["scalability"] == figures
    assert qsim("compare", "--dataset", "004-ssd-depth", "--json").json["scalability"] == {}
