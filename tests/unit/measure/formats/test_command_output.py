"""Outputs of one command at several loads: the load is known, and what cannot be is refused."""

from __future__ import annotations

import json

import pytest

from measure.errors import DataError
from measure.formats.command_output import CommandOutput, Placeholder, command_sweep
from measure.loads import ArrivalRate, Clients
from measure.origin import MEASURED
from measure.sweep import Sweep

WRK = """Running 2s test @ http://127.0.0.1/
  {threads} threads and {asked} connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    10.00ms    1.00ms  30.00ms   90.00%
    Req/Sec    50.00      5.00    60.00     80.00%
  400 requests in 2.00s, 40.00KB read
Requests/sec:    {rate}
"""
HEY = """
Summary:
  Total:\t2.0000 secs
  Slowest:\t0.0300 secs
  Average:\t0.0100 secs
  Requests/sec:\t{rate}

Status code distribution:
  [200]\t400 responses
"""
REDIS = """====== {test} ======
  20000 requests completed in 0.50 seconds
  {n} parallel clients
  3 bytes payload

Summary:
  throughput summary: {rate} requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.100     0.010     0.090     0.200     0.300     1.000
"""


def read(texts: dict[float, str], placeholder: Placeholder = "N") -> Sweep:
    outputs = {f"{placeholder} = {n:g}": CommandOutput(text, n) for n, text in texts.items()}
    return command_sweep(outputs, placeholder, "job.sh")


def line(**figures: float) -> str:
    return json.dumps(figures)


BOMBARDIER = """Bombarding http://127.0.0.1:80/ for 1s using {n} connection(s)
Statistics        Avg      Stdev        Max
  Reqs/sec       {rate}      10.00     200.00
  Latency       10.00ms     1.00ms    20.00ms
"""


def test_a_tool_that_is_held_at_a_rate_is_asked_about_under_n_and_read_under_a_rate() -> None:
    held = read({n: BOMBARDIER.format(n=n, rate=50.0) for n in (1, 4, 16)})
    (asked,) = [f for f in held.findings if f.check == "load-kind" and f.severity == "error"]
    assert asked.remedy == "take -r out of the command, or put {rate} there instead of {N}."
    sweep = read({rate: BOMBARDIER.format(n=16, rate=rate) for rate in (50.0, 100.0)}, "rate")
    assert isinstance(sweep.load_type, ArrivalRate)
    assert sweep.points["load"].tolist() == [50, 100]


def test_n_is_known_where_the_tool_prints_none() -> None:
    sweep = read({n: HEY.format(rate=100 * n) for n in (1.0, 2.0, 4.0)})
    assert sweep.points["load"].tolist() == [1, 2, 4]
    assert set(sweep.points["load_origin"]) == {"told: {N} of the command"}
    assert set(sweep.points["latency_origin"]) == {MEASURED}


def test_where_wrk_keeps_fewer_busy_that_is_the_load_and_it_is_said() -> None:
    sweep = read({n: WRK.format(threads=2, asked=int(n), rate=100 * (n // 2 * 2)) for n in (2.0, 3.0, 8.0)})
    assert sorted(sweep.points["load"]) == [2, 2, 8]
    assert "3 connections over 2 threads are 2: wrk divides them evenly" in {f.message for f in sweep.findings}


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_a_latency_without_a_unit_gets_that_by_which_x_r_is_n(scale: float) -> None:
    sweep = read({n: line(throughput=min(n, 4) * 100, latency=scale * n / (min(n, 4) * 100)) for n in (1.0, 4.0, 16.0)})
    assert sweep.points["latency_s"].tolist() == pytest.approx([0.01, 0.01, 0.04])
    assert sweep.series == ("job.sh",)


def test_without_a_latency_it_is_computed_and_marked() -> None:
    sweep = read({n: line(throughput=100 * n) for n in (1.0, 2.0)})
    assert set(sweep.points["latency_origin"]) == {"computed: N / X"}


def test_clients_of_a_script_may_think() -> None:
    sweep = read({n: line(throughput=n / 1.01, latency=0.01) for n in (1.0, 4.0, 16.0)})
    assert isinstance(sweep.load_type, Clients)
    assert sweep.load_type.think == pytest.approx(1.0)


def test_rates_are_those_that_came() -> None:
    sweep = read({n: line(throughput=0.99 * n, latency=0.01) for n in (10.0, 100.0)}, "rate")
    assert isinstance(sweep.load_type, ArrivalRate)
    assert sweep.points["load"].tolist() == pytest.approx([9.9, 99.0])


def test_a_command_that_ignores_n_is_named() -> None:
    sweep = read({n: line(throughput=100, latency=0.01) for n in (1.0, 2.0, 4.0)})
    asked = next(f for f in sweep.findings if f.check == "load-kind")
    assert asked.severity == "error"
    assert "X R is 1 at {N} = 1 and 1 at {N} = 4" in asked.message
    assert "ignores {N}" in asked.hypothesis


def test_a_server_of_one_worker_is_not_taken_for_a_command_that_ignores_n() -> None:
    sweep = read({n: line(throughput=100, latency=n / 100) for n in (1.0, 2.0, 4.0)})
    assert not [f for f in sweep.findings if f.check == "load-kind"]


def test_a_remedy_never_names_an_option_that_a_command_does_not_take() -> None:
    odd = {
        1.0: line(throughput=100, latency=0.01),
        2.0: line(throughput=120, latency=0.01),
        8.0: line(throughput=400, latency=0.01),
    }
    assert "--columns" not in "".join(f.remedy for f in read(odd).findings)


@pytest.mark.parametrize(
    ("texts", "placeholder", "said"),
    [
        ({1.0: "all done"}, "N", "holds no result that is read: neither that of a known tool"),
        ({1.0: ""}, "N", "holds no result that is read"),
        ({1.0: "".join(map(str, range(100)))}, "N", f"it ends '{''.join(map(str, range(70, 100)))}'"),  # 60 letters
        (
            {n: WRK.format(threads=1, asked=10, rate=900) for n in (1.0, 4.0)},
            "N",
            "the command does not follow {N}: its tool says 10 connections where {N} was 1 and 4",
        ),
        (
            {1.0: REDIS.format(test="GET", n=1, rate=9e3) + REDIS.format(test="SET", n=1, rate=8e3)},
            "N",
            "N = 1 holds 2 runs (GET, SET); let the command make one",
        ),
        ({1.0: line(throughput=5), 2.0: HEY.format(rate=9)}, "N", "outputs of different kinds"),
        (
            {5.0: WRK.format(threads=1, asked=10, rate=900)},
            "rate",
            "wrk keeps 10 connections busy and sends at no rate",
        ),
        ({900.0: line(throughput=400, latency=1)}, "rate", "overloaded: 900 /s were asked for and 400 /s answered"),
    ],
)
def test_what_is_no_point_is_refused_with_its_cause(texts, placeholder, said) -> None:
    with pytest.raises(DataError) as error:
        read(texts, placeholder)
    assert said in str(error.value)


def test_few_arrivals_of_a_short_run_are_chance_and_not_an_overload() -> None:
    few = HEY.format(rate=6.5).replace("400 responses", "13 responses")
    assert read({10.0: few}, "rate").points["load"].tolist() == [6.5]
    many = HEY.format(rate=650).replace("400 responses", "1300 responses")
    with pytest.raises(DataError, match="overloaded"):
        read({1000.0: many}, "rate")
