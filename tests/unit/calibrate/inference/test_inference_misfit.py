"""What no curve of a model draws: correlation by the load, and what misses at some loads say of others."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.inference.parameters import Independent, MisfitProcess, carried, covariance_of

PROCESS = MisfitProcess(length=1.0, own=0.2)
LOADS = np.array([1.0, 4.0, 32.0])


def test_nearness_is_by_the_ratio_of_loads() -> None:
    near, far = PROCESS.between(np.array([8.0, 80.0]), np.array([8.0 * np.e, 80.0 * np.e**2])).diagonal()
    assert near == pytest.approx(0.8 * np.exp(-1))
    assert far == pytest.approx(0.8 * np.exp(-2))
    assert PROCESS.among(LOADS).diagonal() == pytest.approx(np.ones(3))


def test_the_covariance_adds_the_noise_of_each_measurement() -> None:
    found = covariance_of(PROCESS, LOADS, np.array([0.0, 0.1, 0.2]), 0.3)
    np.testing.assert_allclose(found, 0.09 * PROCESS.among(LOADS) + np.diag([0, 0.01, 0.04]))
    assert (np.linalg.eigvalsh(found) > 0).all()


def test_what_is_carried_is_the_conditional_normal_distribution() -> None:
    new, noise, size = np.array([2.0, 1024.0]), np.full(3, 0.02), 0.1
    every = np.concatenate([LOADS, new])
    whole = size**2 * PROCESS.among(every) + np.diag([*noise**2, 0, 0])
    of = carried(PROCESS, LOADS, noise, np.array([0.3, size]), new)
    gain = whole[3:, :3] @ np.linalg.inv(whole[:3, :3])
    np.testing.assert_allclose(of.gain[1], gain, rtol=1e-9)
    np.testing.assert_allclose(of.covariance[1], whole[3:, 3:] - gain @ whole[:3, 3:], rtol=1e-9)


def test_nothing_measured_and_misses_of_their_own_say_nothing() -> None:
    none = np.zeros(0)
    of = carried(PROCESS, none, none, np.array([0.1]), LOADS)
    assert of.gain.shape == (1, 3, 0)
    np.testing.assert_allclose(of.covariance[0], 0.01 * PROCESS.among(LOADS))
    own = carried(Independent(), LOADS, np.zeros(3), np.array([0.1]), LOADS)
    np.testing.assert_allclose(own.gain[0], np.zeros((3, 3)))
    np.testing.assert_allclose(own.covariance[0], 0.01 * np.eye(3))
