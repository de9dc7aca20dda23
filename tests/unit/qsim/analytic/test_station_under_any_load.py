"""A station X(n) under thinking customers and arrivals, against the exact formulas of the textbook's queues."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from qsim import MG1, Deterministic, Exponential, MMc, MMcN, Open, solve
from qsim.analytic import any_load
from qsim.analytic.any_load import Curves, Present, nodes


def servers(count: int, service: float, top: float) -> Curves:
    n = nodes(top)
    return Curves(n, np.log(np.minimum(n, count) / service)[None])


@pytest.mark.parametrize(("count", "rho"), [(1, 0.3), (1, 0.99), (4, 0.9), (60, 0.95), (200, 0.99), (500, 0.97)])
def test_servers_under_poisson_arrivals_are_the_erlang_c_queue(count: int, rho: float) -> None:
    exact = solve(MMc(rho * count, 1, count))
    found = servers(count, 1.0, 4 * count + 64).under_arrivals(rho * count)
    assert found.mean[0] == pytest.approx(exact.L, rel=1e-3)
    assert found.response[0] == pytest.approx(exact.W, rel=1e-3)
    assert found.throughput[0] == rho * count


@pytest.mark.parametrize(
    ("population", "think", "service", "count"),
    [
        (80, 10, 4, 8),
        (1000, 1, 0.01, 4),
        (1000, 1, 0.01, 12),
        (64, 1e-6, 80e-6, 32),
        (5000, 1, 0.5, 2000),
        (3, 1, 1, 4),
    ],
)
def test_servers_under_thinking_customers_are_the_machine_repairman(
    population: int, think: float, service: float, count: int
) -> None:
    exact = solve(MMcN(population=population, think_time=think, service_time=service, servers=count))
    found = servers(count, service, population).under_thinking(population, think)
    assert found.throughput[0] == pytest.approx(exact.throughput, rel=1e-3)
    assert found.response[0] == pytest.approx(exact.W, rel=1e-3)
    assert found.mean[0] + found.throughput[0] * think == pytest.approx(population, rel=1e-9)


@pytest.mark.parametrize("scv", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("rho", [0.05, 0.5, 0.95])
def test_one_server_with_any_law_waits_as_pollaczek_and_khinchine_say(scv: float, rho: float) -> None:
    found = servers(1, 1.0, 64).under_arrivals(rho, 0.5 * (1 + scv))
    assert found.response[0] == pytest.approx(1 + 0.5 * (1 + scv) * rho / (1 - rho), rel=1e-6)


def test_constant_service_of_one_server_is_the_exact_md1() -> None:
    assert servers(1, 1.0, 64).under_arrivals(0.8, 0.5).response[0] == pytest.approx(
        solve(MG1(0.8, Deterministic(1.0))).W, rel=1e-6
    )


def test_a_load_dependent_station_is_that_of_birth_and_death() -> None:
    speeds = (1.0, 1.7, 2.2, 2.5, 2.6)
    n = nodes(64)
    curves = Curves(n, np.log(np.asarray(speeds)[np.minimum(n, 5).astype(int) - 1])[None])
    exact = solve(Open(Exponential(1 / 2.2), Exponential(1.0), speeds=speeds))
    assert curves.under_arrivals(2.2).mean[0] == pytest.approx(exact.L, rel=1e-6)


def test_the_sensitivity_is_the_change_of_the_response_with_the_curve() -> None:
    step = 1e-5
    n = nodes(128)
    curve = np.log(np.minimum(n, 4.0))
    curves = Curves(n, np.array([curve, curve + step]))
    for found in (curves.under_arrivals(3.4), curves.under_thinking(40, 9.0)):
        moved = -np.diff(np.log(found.response))[0] / step
        assert found.sensitivity[0] == pytest.approx(moved, rel=1e-3)


def test_near_the_peak_constant_service_halves_the_wait_of_thinking_customers_too() -> None:
    curves = servers(1, 1.0, 200)
    random, constant = (curves.under_thinking(20, 25.0, v).response[0] for v in (1.0, 0.5))
    assert 1 < constant < random


def test_a_rate_that_is_not_served_has_no_response_and_its_throughput_is_the_last_rate() -> None:
    n = nodes(64)
    falls = Curves(n, np.log(np.minimum(n, 8.0) / np.maximum(n / 32, 1.0))[None])
    found = falls.under_arrivals(4.5)
    assert math.isinf(found.response[0])
    assert found.throughput[0] == pytest.approx(4.0)
    assert found.beyond[0] == 1.0


def test_the_chance_that_more_are_present_than_known_is_that_of_the_geometric_queue() -> None:
    n = nodes(64)
    for known in (10, 64, 100):
        found = Curves(n, np.zeros((1, n.size)), known).under_arrivals(0.9)
        assert found.beyond[0] == pytest.approx(0.9 ** (known + 1), rel=0.03)


def test_curves_in_rows_are_computed_as_each_alone() -> None:
    n = nodes(100)
    rows = np.log(np.minimum(n, np.array([[1.0], [3.0], [40.0]])))
    together = Curves(n, rows)
    variability = np.array([0.5, 1.0, 2.5])
    alone = [
        Curves(n, row[None]).under_thinking(60, 30.0, v).response[0] for row, v in zip(rows, variability, strict=True)
    ]
    assert together.under_thinking(60, 30.0, variability).response == pytest.approx(alone, rel=1e-12)


def test_customers_who_hardly_think_are_a_closed_load() -> None:
    curves = servers(4, 0.01, 64)
    closed, thinking = curves.closed(12), curves.under_thinking(12, 1e-9)
    assert closed.throughput[0] == pytest.approx(400)
    assert closed.response[0] == pytest.approx(thinking.response[0], rel=1e-6)
    assert closed.sensitivity[0] == 1


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.8, 0.95])
def test_one_server_at_even_gaps_is_the_d_m_1_queue(rho: float) -> None:
    # Kleinrock (1975), Queueing Systems I, section 6.4: sigma = exp(-(1 - sigma) / rho), W = 1 / (1 - sigma)
    sigma = 0.5
    for _ in range(500):
        sigma = math.exp(-(1 - sigma) / rho)
    found = servers(1, 1.0, 64).under_arrivals(rho, 0.5, gap_scv=0.0)
    assert found.response[0] == pytest.approx(1 / (1 - sigma), rel=0.01)


def test_several_rates_at_once_are_those_of_each_alone() -> None:
    n = nodes(64)
    curves = Curves(n, np.log(np.minimum(n, np.array([[1.0], [4.0]]))))
    together = curves.under_arrivals(np.array([[0.5], [0.9], [3.0]]), np.array([0.7, 1.8]), gap_scv=0.0)
    for i, rate in enumerate((0.5, 0.9, 3.0)):
        alone = curves.under_arrivals(rate, np.array([0.7, 1.8]), gap_scv=0.0)
        assert together.response[i] == pytest.approx(alone.response, rel=1e-12)
        assert together.sensitivity[i] == pytest.approx(alone.sensitivity, rel=1e-12)


def rows(top: float) -> Curves:
    """Stations of which no two have their queues at the same numbers present."""
    n = nodes(top)
    return Curves(n, np.log(np.minimum(n, np.array([[1.0], [7.5], [60.0], [0.9 * top]])) / 0.01), known=0.5 * top)


def whole(monkeypatch: pytest.MonkeyPatch, found: Callable[[], Present]) -> tuple[Present, Present]:
    """What is found, and what is found where no number present is left out."""
    with monkeypatch.context() as patched:
        patched.setattr(any_load, "MANY", math.inf)
        full = found()
    return found(), full


@pytest.mark.parametrize("v", [0.005, 0.6, 20.0])
@pytest.mark.parametrize("think", [1e-9, 0.05, 1.0, 10.0, 1e22])
@pytest.mark.parametrize("population", [33, 400, 1000, 3000])
def test_numbers_that_are_hardly_ever_present_are_left_out_unseen(
    monkeypatch: pytest.MonkeyPatch, population: int, think: float, v: float
) -> None:
    curves = rows(1000)  # the largest population is beyond the last node
    trimmed, full = whole(monkeypatch, lambda: curves.under_thinking(population, think, v))
    for name in ("mean", "throughput", "response", "sensitivity"):
        assert getattr(trimmed, name) == pytest.approx(getattr(full, name), rel=1e-8), name
    assert trimmed.beyond == pytest.approx(full.beyond, abs=1e-10)


@pytest.mark.parametrize("gap_scv", [0.0, 1.0])
def test_a_long_tail_of_arrivals_is_not_left_out(monkeypatch: pytest.MonkeyPatch, gap_scv: float) -> None:
    n = nodes(2000)
    falls = Curves(n, np.log(np.minimum(n, 64.0) / np.maximum(n / 64, 1.0) ** 0.02)[None], known=100)
    last = float(np.exp(falls.log_rate[0, -1]))
    for rate in (0.1 * last, 0.9 * last, last * (1 - 1e-9)):
        trimmed, full = whole(monkeypatch, partial(falls.under_arrivals, rate, 0.7, gap_scv=gap_scv))
        for name in ("mean", "variance", "response", "sensitivity"):
            assert getattr(trimmed, name) == pytest.approx(getattr(full, name), rel=1e-8), name


def test_between_nodes_a_curve_is_a_power_of_the_number_present_and_beyond_the_last_it_stays() -> None:
    n = nodes(1000)
    between = np.setdiff1d(np.arange(1.0, 1000.0), n)
    curve = Curves(n, 0.7 * np.log(n)[None])
    assert curve.log_rates_at(between)[0] == pytest.approx(0.7 * np.log(between), rel=1e-12)
    assert curve.closed(2000).throughput[0] == pytest.approx(1000**0.7)


@pytest.mark.parametrize("v", [0.5, 1.0, 30.0])
def test_users_beyond_the_last_node_meet_the_last_rate(v: float) -> None:
    short, long = servers(4, 0.01, 40), servers(4, 0.01, 700)
    for population in (30, 100, 700):
        one, other = (curves.under_thinking(population, 1.0, v) for curves in (short, long))
        assert one.response == pytest.approx(other.response, rel=1e-9)


def test_constant_services_at_even_gaps_wait_for_no_one() -> None:
    found = servers(4, 1.0, 64).under_arrivals(3.0, 0.0, gap_scv=0.0)
    assert found.response[0] == pytest.approx(1.0, rel=1e-3)
    assert found.sensitivity[0] > 0
