"""``qsim trace``: the table, what is drawn and what is given, and every way to ask for it wrongly."""

from __future__ import annotations

import pytest

from calibrate.cli.theory.queue_models import MODELS
from calibrate.cli.theory.trace import FOLLOWED

MM1 = ("trace", "mm1", "--arrival-rate", ".8", "--service-rate", "1")


def test_a_table_as_at_the_board(qsim):
    run = qsim("trace", "mm1", "--gaps", "0,2,1,4", "--times", "3,3,1,2")
    assert run.code == 0
    rows = [line.split() for line in run.out.split("\n\n")[1].splitlines()]
    assert rows[0] == ["customer", "gap", "arrival", "found", "start", "wait", "service", "finish", "response"]
    assert rows[3] == ["3", "1", "3", "1", "6", "3", "1", "7", "4"]
    assert "Little's law on this table, from zero to 9: X * W = 0.444444 * 3.25 = 1.44444, and L = 1.44444" in run.out
    assert "long run" not in run.out


def test_what_is_printed_adds_up(qsim):
    rows = qsim(*MM1, "--customers", "200", "--json").json["customers"]
    assert len(rows) == 200
    for row in rows:
        hundredths = {k: 100 * v for k, v in row.items()}
        assert all(v == pytest.approx(round(v), abs=1e-6) for v in hundredths.values())
        assert row["start"] + row["service"] == pytest.approx(row["finish"])
        assert row["arrival"] + row["wait"] == pytest.approx(row["start"])


def test_the_long_run_stands_beside_the_table(qsim):
    document = qsim(*MM1, "--json").json
    assert len(document["customers"]) == 10
    assert document["long_run"]["L"] == pytest.approx(4)
    assert document["averages"]["L"] == pytest.approx(document["averages"]["throughput"] * document["averages"]["W"])
    overloaded = qsim("trace", "mm1", "--arrival-rate", "2", "--service-rate", "1", "--json").json
    assert overloaded["long_run"] is None


def test_units_choose_one_for_the_table(qsim):
    run = qsim("trace", "mmc", "--arrival-rate", "20k/s", "--service", "80us", "--servers", "2")
    assert "rounded to 0.1 µs, in µs" in run.out
    assert "server" in run.out
    document = qsim("trace", "mm1", "--arrival-rate", "10k/s", "--service", "80us", "--json").json
    assert document["time_unit"] == "s"
    assert document["customers"][-1]["finish"] < 0.01


def test_the_events_are_listed_when_asked_for(qsim):
    assert "waiting" not in qsim(*MM1, "--customers", "2").out.partition("table")[0]
    listed = qsim(*MM1, "--customers", "2", "--events").out.split("\n\n")[2].splitlines()
    assert listed[0].split() == ["time", "customer", "event", "present", "waiting"]
    assert len(listed) == 1 + 2 * 3


@pytest.mark.parametrize("model", FOLLOWED)
def test_every_model_it_names_is_followed(qsim, model):
    options = {"arrival-rate": "0.4", "service": "1", "servers": "2"}
    needed = "|".join(MODELS[model].needs).split("|")
    words = [word for name, value in options.items() if name in needed for word in (f"--{name}", value)]
    assert len(qsim("trace", model, *words, "--json").json["customers"]) == 10
