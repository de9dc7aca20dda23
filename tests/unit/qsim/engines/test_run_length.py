"""Runs whose service law is so skewed that intervals would not hold are refused, with what would help."""

from __future__ import annotations

import math

import pytest

from qsim import (
    Arrivals,
    BurrXII,
    Closed,
    Delay,
    Exponential,
    Gamma,
    LogNormal,
    Metrics,
    MGc,
    Network,
    Open,
    Station,
    SteadyStateError,
    Tandem,
    simulate,
)
from qsim.engines.run_length import customers_needed, services_needed, shortcoming, stretch_above

NO_THIRD = BurrXII(2.2, 1.0, 1.0)


def test_the_services_needed_are_those_that_know_the_second_moment_to_a_tenth() -> None:
    # E[S⁴]/E[S²]² of an exponential is 24/4, of a lognormal (1 + scv)⁴
    assert services_needed(Exponential(3.0)) == pytest.approx(500)
    assert services_needed(LogNormal(1.0, scv=20)) == pytest.approx((21**4 - 1) / 0.01)
    assert services_needed(NO_THIRD) == math.inf


def test_a_skewed_law_asks_for_a_longer_run() -> None:
    with pytest.raises(SteadyStateError, match=r"so skewed.*44 %.*at least 20,000,000 customers") as refusal:
        simulate(MGc(0.5, LogNormal(1.0, scv=20), servers=1), customers=1_000_000, seed=1)
    assert refusal.value.metrics.W > 1


def test_no_run_is_long_enough_without_a_third_moment() -> None:
    with pytest.raises(SteadyStateError, match=r"no third moment.*\. Give allow_short=True"):
        simulate(MGc(0.5, NO_THIRD, servers=1), customers=20_000, seed=1)
    warned = simulate(MGc(0.5, NO_THIRD, servers=1), customers=20_000, seed=1, allow_short=True)
    assert "no third moment" in warned.warnings[0]


@pytest.mark.parametrize(
    "model",
    [
        Open(Exponential(0.5), NO_THIRD, servers=4),  # three servers keep up
        Open(Exponential(2.0), NO_THIRD, discipline="PS"),
        Network({"disk": Station(NO_THIRD, servers=4, speeds=(1.0, 2.0, 3.0, 4.0))}, Arrivals(2.0)),
        Network({"disk": Station(NO_THIRD, speeds=(1.0, 2.0), discipline="PS")}, Arrivals(0.5)),
        Closed(8, [Delay(4.0), Station(NO_THIRD)]),
    ],
)
def test_a_queue_that_is_not_exposed_is_simulated(model: Network) -> None:
    assert customers_needed(model) < 5_000
    assert shortcoming(model, 10**9) is None


SKEWED = LogNormal(1.0, scv=20)
ONE_QUEUE_IN_OTHER_WORDS = [
    Network({"disk": Station({"a": SKEWED, "b": SKEWED})}, {"a": Arrivals(0.4), "b": Arrivals(0.4)}),
    Network(
        {"disk": Station({"a": SKEWED, "b": SKEWED}, discipline="priority", priority={"a": 0, "b": 1})},
        {"a": Arrivals(0.4), "b": Arrivals(0.4)},
    ),
    Tandem(Exponential(1.25), [Station(SKEWED), Station(Exponential(0.1))]),
    Network({"cpu": Station(Exponential(0.1)), "disk": Station(SKEWED)}, {"a": Arrivals(0.8), "b": 3}),
    Network({"disk": Station(SKEWED, speeds=(1.0, 1.0))}, Arrivals(0.8)),  # one in service, whatever its speed
]


@pytest.mark.parametrize("model", ONE_QUEUE_IN_OTHER_WORDS)
def test_one_queue_is_refused_however_it_is_written(model: Network) -> None:
    assert customers_needed(model) == pytest.approx(customers_needed(MGc(0.8, SKEWED, servers=1)))
    assert "so skewed" in str(shortcoming(model, 1_000_000))


def test_servers_that_keep_up_without_one_are_asked_for_the_time_in_which_several_are_stuck() -> None:
    # Of exponential services the least that is left is exponential: E[S⁴]/E[S²]² = 6. Runs of a million customers held
    # the mean W of the second queue in 34 of 40, of the third in 140 of 150.
    assert customers_needed(MGc(1.0, Gamma(1.5, scv=1.0), servers=4)) == pytest.approx(2_000, rel=0.01)
    assert customers_needed(MGc(1.0, LogNormal(0.8, scv=50), servers=2)) == pytest.approx(4.61e6, rel=0.02)
    assert customers_needed(MGc(1.0, LogNormal(1.2, scv=50), servers=4)) < 1_000_000


def test_a_station_that_is_visited_twice_needs_half_the_customers() -> None:
    twice = Network({"disk": Station(SKEWED, visits=2)}, Arrivals(0.4))
    assert customers_needed(twice) == pytest.approx(customers_needed(MGc(0.8, SKEWED, servers=1)) / 2)


def test_a_rare_class_with_a_heavy_tail_counts_in_the_mixture() -> None:
    heavy = BurrXII(2.2, 1.0, 1.0)
    model = Network({"disk": Station({"a": Exponential(1.0), "b": heavy})}, {"a": Arrivals(0.7), "b": Arrivals(0.01)})
    assert customers_needed(model) == math.inf


@pytest.mark.parametrize(
    ("model", "customers", "factor"),
    [
        (MGc(0.8, LogNormal(1.0, scv=5.0), servers=1), 1_000_000, 1 + 3 * (math.sqrt((6**4 - 1) / 1e6) - 0.03)),
        (MGc(0.8, Exponential(1.0), servers=1), 6_000, 1.0),  # E[S²] is known to 2.9 %
        (MGc(0.8, LogNormal(1.0, scv=8.0), servers=1), 1_000_000, 1.15),
        (MGc(0.8, BurrXII(3.5, 1.0, 1.0), servers=1), 10**9, 1.15),  # no fourth moment
        (Open(Exponential(2.0), BurrXII(3.5, 1.0, 1.0), discipline="PS"), 1_000_000, 1.0),
    ],
)
def test_the_less_the_second_moment_is_known_the_longer_the_interval_above(
    model: Network, customers: int, factor: float
) -> None:
    assert stretch_above(model, customers) == pytest.approx(factor)


def test_waits_alone_have_longer_intervals_in_the_whole_and_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    station = Station({"a": LogNormal(1.0, 8.0), "b": Exponential(1.0)})
    model = Network({"disk": station}, {"a": Arrivals(0.3), "b": Arrivals(0.3)})

    def run() -> Metrics:
        return simulate(model, customers=50_000, seed=1, allow_short=True)

    longer = run()
    monkeypatch.setattr("qsim.engines.run_length.stretch_above", lambda *_: 1.0)
    plain = run()
    for one, other in ((longer, plain), (longer["a"], plain["a"])):
        for name, (low, high) in other.intervals.items():
            factor = 1.15 if name in ("L", "Lq", "W", "Wq") else 1.0
            value = getattr(other, name)
            assert one.intervals[name] == pytest.approx((low, value + factor * (high - value)))
