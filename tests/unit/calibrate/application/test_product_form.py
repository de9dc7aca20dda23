"""Networks put together station by station: the same throughput as the formula of qsim, for many rows at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrate.application.many_networks import at_rates, beyond, doubled, has_product_form, pair, rates, together
from qsim import Closed, Delay, Erlang, Exponential, Station, solve

THINK, CPU = Delay(0.02), Station(Exponential(1e-3), servers=4)
DIES = Station(Exponential(2e-3), servers=8, queues="random", visits=2)
DISK = Station(Exponential(1e-3), speeds=tuple(np.minimum(np.arange(1.0, 41), 7) ** 0.9), discipline="PS", visits=3)


@pytest.mark.parametrize("n", [1, 2, 17, 40])
def test_it_is_the_throughput_of_the_network(n: int) -> None:
    stations = [THINK, CPU, DIES, DISK]
    found = together([rates(s, 40)[None, :] for s in stations])
    assert found[0, n - 1] == pytest.approx(solve(Closed(n, stations)).throughput, rel=1e-10)


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=6), st.integers(1, 60), st.floats(0.0, 100.0))
def test_no_throughput_is_impossible(demands: list[float], n: int, think: float) -> None:
    stations = [Delay(think), *(Station(Exponential(d)) for d in demands)]
    found = together([rates(s, n)[None, :] for s in stations])[0]
    assert (found <= min(1 / d for d in demands) * (1 + 1e-9)).all()
    assert (found <= np.arange(1, n + 1) / (think + sum(demands)) * (1 + 1e-9)).all()
    assert (np.diff(found) >= -1e-9 * found[:-1]).all()


def test_how_many_are_at_a_station_has_probability_one() -> None:
    _, present = pair(rates(THINK, 50)[None, :], rates(CPU, 50)[None, :])
    assert present.sum() == pytest.approx(1)
    mean = float(present[0] @ np.arange(51))
    assert mean == pytest.approx(solve(Closed(50, [THINK, CPU])).L)
    alone = [rates(s, 50)[None, :] for s in (THINK, CPU)]
    assert beyond(alone, 1, 20) == pytest.approx(present[0, 21:].sum())


def test_two_stations_do_not_help_a_lone_customer() -> None:
    once = rates(DISK, 40)[None, :]
    twice = doubled(once)[0]
    assert twice[0] == once[0, 0]
    assert twice[1] == pytest.approx(2 * once[0, 0])
    assert (twice >= once[0] * (1 - 1e-12)).all()
    assert twice[-1] == pytest.approx(2 * once[0, 19])


def test_a_station_at_given_rates_works_at_these_with_as_many_visits_as_before() -> None:
    asked = np.array([300.0, 500.0, 550.0])
    made = at_rates(DISK, asked)
    assert rates(made, 3) == pytest.approx(asked)
    assert made.visits == DISK.visits


def test_general_service_in_turn_has_no_product_form() -> None:
    assert has_product_form(CPU)
    assert not has_product_form(Station(Erlang(k=4, mean=1.0)))
    assert has_product_form(Station(Erlang(k=4, mean=1.0), discipline="PS"))
