"""``qsim simulate``: estimates with intervals, and runs that are too short."""

from __future__ import annotations

import pytest

MMC = ("mmc", "--arrival-rate", "2.7", "--service-rate", "1", "--servers", "3")


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_interval_covers_the_formula(qsim, engine):
    customers = {"compiled": "2e6", "reference": "1e5"}[engine]
    args = ("mm1", "--arrival-rate", "0.5", "--service-rate", "1", "--customers", customers, "--engine", engine)
    document = qsim("simulate", *args, "--seed", "3", "--confidence", "0.999", "--json").json
    low, high = document["intervals"]["W"]
    assert low <= 2.0 <= high
    assert document["kind"] == "simulated"
    assert document["seed"] == 3
    assert document["customers"] == float(customers)


def test_text_says_simulated_and_the_seed(qsim):
    run = qsim("simulate", *MMC, "--customers", "1e6", "--seed", "7", "--quantiles", "0.99")
    assert run.code == 0
    assert "M/M/3: simulated" in run.out
    assert "seed 7" in run.out
    assert "W(0.99)" in run.out
    assert run.err == ""


def test_a_fresh_seed_is_told_and_repeats_the_run(qsim):
    args = ("simulate", "mm1", "--arrival-rate", "0.5", "--service-rate", "1", "--customers", "1e5", "--json")
    first = qsim(*args).json
    assert qsim(*args, "--seed", str(first["seed"])).json["W"] == first["W"]


def test_too_short_for_a_steady_state_is_refused_with_its_estimate(qsim):
    args = ("simulate", "mm1", "--arrival-rate", "0.99", "--service-rate", "1", "--customers", "1000", "--seed", "1")
    run = qsim(*args, "--json")
    assert run.code == 1
    assert "--allow-short" in run.error
    assert "allow_short" not in run.error
    assert run.json["error"]["exit_code"] == 1
    assert run.json["estimate"]["W"] > 0
    text = qsim(*args)
    assert text.code == 1
    assert text.out == ""
    assert "W = " in text.error


def test_allow_short_prints_it_with_a_warning(qsim):
    args = ("simulate", "mm1", "--arrival-rate", "0.99", "--service-rate", "1", "--customers", "1000", "--seed", "1")
    run = qsim(*args, "--allow-short")
    assert run.code == 0
    assert run.err.startswith("warning: too short")
    assert "warning" not in run.out


def test_a_run_goes_on_until_it_is_precise(qsim):
    args = ("simulate", "mm1", "--arrival-rate", "0.5", "--service-rate", "1", "--customers", "1e4", "--seed", "2")
    document = qsim(*args, "--precision", "1%", "--json").json
    low, high = document["intervals"]["W"]
    assert (high - low) / 2 <= 0.01 * document["W"]
    assert document["customers"] > 1e4
    refused = qsim(*args, "--precision", "0.01%", "--most-customers", "5e4")
    assert refused.code == 1
    assert "--most-customers" in refused.error
    assert "allow_short" not in refused.error


def test_regenerative_intervals_are_another_way(qsim):
    args = (
        "simulate",
        "mm1",
        "--arrival-rate",
        "0.5",
        "--service-rate",
        "1",
        "--customers",
        "1e5",
        "--seed",
        "2",
        "--confidence",
        "0.999",
    )
    batch, cycles = qsim(*args, "--json").json, qsim(*args, "--intervals", "regenerative", "--json").json
    assert batch["intervals"]["W"] != cycles["intervals"]["W"]
    assert cycles["intervals"]["W"][0] < 2.0 < cycles["intervals"]["W"][1]


def test_replications_give_the_same_however_many_workers_share_them(qsim):
    args = ("simulate", *MMC, "--customers", "5e4", "--seed", "2", "--replications", "4", "--json")
    one, two = qsim(*args).json, qsim(*args, "--workers", "2").json
    assert one == two
    assert one["customers"] == 2e5
    assert "4 replications" in one["method"]


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ((*MMC, "--customers", "-5"), "--customers"),
        ((*MMC, "--customers", "many"), "--customers"),
        ((*MMC, "--engine", "quantum"), "--engine"),
        ((*MMC, "--confidence", "95"), "--confidence"),
        ((*MMC, "--seed", "-1"), "--seed"),
        ((*MMC, "--seed", "1.5"), "--seed"),
        ((*MMC, "--warmup", "1e9"), "--warmup"),
        ((*MMC, "--precision", "0"), "--precision"),
        ((*MMC, "--intervals", "guess"), "--intervals"),
        ((*MMC, "--replications", "1"), "--replications"),
        ((*MMC, "--replications", "4", "--workers", "0"), "--workers"),
        ((*MMC, "--replications", "4", "--precision", "1%"), "--precision"),
        ((*MMC, "--workers", "2"), "--replications"),
        (("mm1", "--arrival-rate", "2", "--service-rate", "1"), "rho = 2"),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else None,
)
def test_wrong_usage_is_one_line_and_exit_2(qsim, args, part):
    run = qsim("simulate", *args)
    assert run.code == 2
    assert run.out == ""
    assert part in run.error
