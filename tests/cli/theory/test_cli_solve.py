"""``qsim solve``: values, units, and every way to describe a queue wrongly."""

from __future__ import annotations

import math

import pytest

from calibrate.cli.theory.queue_models import MODELS


def in_words(text: str) -> str:
    """Text without its alignment."""
    return " ".join(text.split())


def test_units_make_seconds(qsim):
    run = qsim("solve", "mm1", "--arrival-rate", "10k/s", "--service", "80us", "--json")
    assert run.json["W"] == pytest.approx(400e-6)
    assert run.json["time_unit"] == "s"
    text = qsim("solve", "mm1", "--arrival-rate", "10k/s", "--service", "80us").out
    assert "400.0 µs" in text
    assert "10.00 k/s" in text


@pytest.mark.parametrize(("mean", "unit"), [("2s", "s"), ("2min", "s"), ("2", None)])
def test_the_service_tells_that_times_are_seconds_where_the_rate_has_no_unit(qsim, mean, unit):
    for model, service in (("mm1", mean), ("mg1", f"lognormal:mean={mean},scv=2")):
        run = qsim("solve", model, "--arrival-rate", "0.001", "--service", service, "--json")
        assert run.json["time_unit"] == unit, model


def test_a_quantile_without_a_formula_leaves_the_means(qsim):
    arguments = "solve mdc --arrival-rate 1.5 --service 1 --servers 2 --quantiles 0.99"
    assert "W(0.99) not known by formula: qsim simulate estimates it" in in_words(qsim(arguments).out)
    document = qsim(f"{arguments} --json").json
    assert document["quantiles"] == [{"q": 0.99, "W": None, "interval": None}]
    assert document["W"] == pytest.approx(qsim(f"{arguments.partition(' --q')[0]} --json").json["W"])


@pytest.mark.parametrize("model", MODELS)
def test_every_model_builds_what_its_name_says(model):
    from calibrate.cli.parsing import Quantity
    from calibrate.cli.theory.queue_models import QueueArguments, law, queue_of

    letters = MODELS[model].kendall
    values = {
        "arrival-rate": law("weibull:shape=2,mean=2") if letters.startswith("G") else Quantity(0.5, False),
        "service": law("erlang:k=2,mean=1") if "/G" in letters else Quantity(1.0, False),
        "servers": 2,
        "capacity": 7,
        "population": 9,
    }
    given = {name: values[name] for need in MODELS[model].needs for name in need.split("|") if name in values}
    if model == "mmcn":
        given["servers"] = 2
    built = queue_of(QueueArguments(model, given)).kendall
    letters = letters.replace("/K", "/7").replace("//N", "//9").replace("/c", "/2")
    if "G" in letters:
        letters = letters.replace("G", "E2") if letters.startswith("M") else letters.replace("/G", "/E2")
    assert built == letters


def test_no_formula_names_the_simulation(qsim):
    words = ("ggc", "--arrival-rate", "erlang:k=2,mean=1s", "--service", "weibull:shape=2,mean=1s", "--servers", "2")
    run = qsim("solve", *words, "--queues", "shortest")
    assert run.code == 2
    assert run.error.endswith("simulate it: qsim simulate ggc, with the same options")


def test_the_derivation_ends_in_the_values(qsim):
    words = ("solve", "mmc", "--arrival-rate", "2.7", "--service-rate", "1", "--servers", "3", "--explain")
    text = qsim(*words).out
    assert "B(3) = a * B(2) / (3 + a * B(2)) = 2.7 * 0.496256 / (3 + 2.7 * 0.496256) = 0.308738" in text
    document = qsim(*words, "--json").json
    ends = {line["name"]: line["value"] for line in document["derivation"]["lines"] if line.get("name")}
    assert ends.pop("p_wait") == pytest.approx(0.817061, rel=1e-6)
    assert all(value == pytest.approx(document[name]) for name, value in ends.items())


def test_a_derivation_with_units_ends_in_units(qsim):
    text = qsim("solve", "mm1", "--arrival-rate", "10k/s", "--service", "80us", "--explain").out
    assert "W = L / lambda = 4 / 10000 = 400.0 µs" in text


def test_an_overload_of_bare_numbers_hints_at_units(qsim):
    """``--service 300`` with ``--arrival-rate 5`` is a forgotten unit more often than an overload."""
    for command in ("solve", "simulate"):
        bare = qsim(command, "mm1", "--arrival-rate", "5", "--service", "300")
        assert (bare.code, "with units, write 300us" in bare.err) == (2, True)
    units = qsim("solve", "mm1", "--arrival-rate", "5k/s", "--service", "300us")
    assert (units.code, "overloaded" in units.err, "units" in units.err) == (2, True, False)


def test_the_share_that_takes_longer_is_asked_for_and_hours_stay_hours(qsim):
    asked = ("mmc", "--arrival-rate", "5/h", "--service", "10min", "--servers", "2", "--over", "10min,1h")
    solved = qsim("solve", *asked)
    assert solved.code == 0
    words = in_words(solved.out)
    assert "W = 12.10 min on average" in words
    assert "X 5.000 /h throughput, customers an hour" in words
    assert "P(Wq > 10.00 min) 0.0763243 the share that waits longer" in words
    assert "P(W > 1.000 h) 0.00478297" in words
    found = qsim("solve", *asked, "--json").json["over"]
    assert [one["time"] for one in found] == [600, 3600]
    assert found[0]["Wq"]["share"] == pytest.approx(0.0763243, rel=1e-5)
    assert qsim("solve", *asked[:-1], "-1").code == 2


def test_a_time_with_its_unit_gives_units_to_bare_numbers(qsim):
    """Else an hour would be asked of a queue whose own unit may be the minute, and nothing would say so."""
    bare = ("mm1", "--arrival-rate", "0.5", "--service", "1", "--over")
    assert "W 2.000 s" in in_words(qsim("solve", *bare, "1,1h").out)
    assert "P(W > 1.000 h)" in qsim("solve", *bare, "1,1h").out
    assert "P(W > 3600)" in qsim("solve", *bare, "1,3600").out
    assert qsim("simulate", *bare, "1h", "--customers", "1e5", "--seed", "1", "--json").json["time_unit"] == "s"
    assert qsim("simulate", *bare, "9", "--customers", "1e5", "--seed", "1", "--json").json["time_unit"] is None


def test_a_simulated_share_has_its_interval_also_where_nobody_took_so_long(qsim):
    asked = ("mm1", "--arrival-rate", "0.5", "--service", "1", "--over", "2,60", "--customers", "1e5", "--seed", "1")
    often, never = qsim("simulate", *asked, "--json").json["over"]
    low, high = often["W"]["interval"]
    assert low < math.exp(-1) < high
    assert never["W"]["share"] == 0
    assert 1e-5 < never["W"]["interval"][1] < 1e-4


def test_a_share_without_a_formula_says_what_estimates_it(qsim):
    run = qsim(
        "solve", "mgc", "--servers", "3", "--arrival-rate", "1", "--service", "lognormal:0.5:scv=2", "--over", "1"
    )
    assert "P(W > 1) not known by formula: qsim simulate estimates it" in in_words(run.out)
