"""Baselines of curves against data whose law is known."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.prediction.baselines import (
    Baseline,
    interpolation,
    interpolation_over_delay,
    interpolation_over_rate,
    most_probable_p_norm,
    scalability_law,
    single_server,
    three_parameter_queue,
    three_parameter_queue_over_delay,
)

AT = np.array([1.0, 2, 3, 8, 24, 64, 500])
R1, PEAK = 1e-4, 1e5


def closed(baseline: Baseline, loads: list[float], throughput: np.ndarray) -> np.ndarray:
    x, r = baseline(loads, throughput, np.array(loads) / throughput, AT)
    assert x * r == pytest.approx(AT)  # Little's law
    return x


def p_norm(n: np.ndarray, p: float) -> np.ndarray:
    return np.asarray(((n / R1) ** -p + PEAK**-p) ** (-1 / p))


def law(n: np.ndarray, contention: float, coherency: float) -> np.ndarray:
    return np.asarray(9e3 * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


def test_the_p_norm_of_usual_sharpness_is_found_again_from_two_depths() -> None:
    loads = np.array([1.0, 32.0])
    assert closed(most_probable_p_norm, list(loads), p_norm(loads, 2.6)) == pytest.approx(p_norm(AT, 2.6), rel=0.02)


@pytest.mark.parametrize("sharpness", [1.0, 2.6, 8.0])
def test_a_whole_sweep_overrules_what_is_usual(sharpness: float) -> None:
    loads = 2.0 ** np.arange(8)
    found = closed(most_probable_p_norm, list(loads), p_norm(loads, sharpness))
    assert found == pytest.approx(p_norm(AT, sharpness), rel=0.04)


@pytest.mark.parametrize("values", [(0.03, 1e-5), (0.3, 0.01), (0.02, 0.0), (0.0, 0.0), (0.9, 0.5)])
@pytest.mark.parametrize("loads", [[1, 4, 32], [2, 8, 16, 64], [1, 1, 8, 64, 512]])
def test_the_scalability_law_is_found_again(values: tuple[float, float], loads: list[float]) -> None:
    assert closed(scalability_law, loads, law(np.array(loads, float), *values)) == pytest.approx(law(AT, *values))


def test_the_scalability_law_has_no_coherency_from_two_depths_and_no_contention_from_one() -> None:
    loads = np.array([1.0, 32.0])
    assert closed(scalability_law, [1, 32], law(loads, 0.04, 0.0)) == pytest.approx(law(AT, 0.04, 0.0))
    assert closed(scalability_law, [4, 4], np.array([4e4, 4e4])) == pytest.approx(1e4 * AT)


def test_interpolation_goes_through_the_points_and_on_as_its_ends() -> None:
    found = closed(interpolation, [2, 8, 32], np.array([2e4, 6e4, 5e4]))
    slope = np.log(6e4 / 2e4) / np.log(8 / 2)
    assert found[[0, 1, 3]] == pytest.approx([1e4, 2e4, 6e4])
    assert found[2] == pytest.approx(2e4 * (3 / 2) ** slope)
    assert found[5:] == pytest.approx([5e4, 5e4])


def test_a_memory_queue_is_found_again() -> None:
    peak, idle, queueing = 110e9, 90e-9, 12e-9
    bandwidth = np.array([5e9, 65e9, 100e9])

    def latency(b: np.ndarray) -> np.ndarray:
        return idle + queueing * b / (peak - b)

    at = np.array([20e9, 90e9, 104e9])
    lines, found = three_parameter_queue(bandwidth, bandwidth / 64, latency(bandwidth), at)
    assert lines == pytest.approx(at / 64)
    assert found == pytest.approx(latency(at), rel=0.02)


def test_a_memory_queue_refuses_what_is_beyond_its_peak() -> None:
    with pytest.raises(ValueError, match=r"^the three-parameter queue has no answer at load 2.5e\+11: its capacity is"):
        three_parameter_queue([1e9, 1e11], [1e7, 1e9], [9e-8, 2e-7], [2.5e11])


def test_over_a_delay_throughput_and_latency_go_through_the_points() -> None:
    delay, x, r = np.array([0.0, 500, 20000]), np.array([1e9, 4e8, 2e7]), np.array([3e-7, 1.1e-7, 9e-8])
    for found in (interpolation_over_delay(delay, x, r, delay), three_parameter_queue_over_delay(delay, x, r, delay)):
        assert found[0] == pytest.approx(x)
        assert found[1] == pytest.approx(r, rel=0.03)
    between = interpolation_over_delay(delay, x, r, [1500])[0]
    assert between[0] == pytest.approx(4e8 * (2e7 / 4e8) ** (np.log(2) / np.log(20.5)))
    alone = interpolation_over_delay([0], [1e9], [1e-7], [0, 300])
    assert alone[0] == pytest.approx([1e9, 1e9])


def test_a_single_server_is_found_again_from_its_lowest_rate() -> None:
    service, rates = 1e-3, np.array([100.0, 500, 900])
    response = service / (1 - rates * service)
    x, found = single_server(rates[::-1], rates[::-1], np.array([9.0, 9.0, response[0]]), [500.0, 900.0])
    assert x == pytest.approx([500, 900])
    assert found == pytest.approx(response[1:])
    with pytest.raises(ValueError, match=r"^M/M/1 has no answer at load 2e\+03: its capacity is 1e\+03$"):
        single_server(rates, rates, response, [500.0, 2000.0])


def test_over_a_rate_latency_is_interpolated_in_logarithms() -> None:
    found = interpolation_over_rate([10, 30], [10, 30], [1e-3, 4e-3], [5, 20, 30, 99])[1]
    assert found == pytest.approx([1e-3, 2e-3, 4e-3, 4e-3])
