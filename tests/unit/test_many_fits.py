"""Many least-squares problems at once end where one at a time does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from calibrate.many_fits import descend

FREE = np.full(2, -50.0), np.full(2, 50.0)


def banana(theta, which):
    """Rosenbrock's valley, its end at (a, a^2) with a = 1, 2, 3..."""
    end = 1.0 + which
    return np.column_stack([10 * (theta[:, 1] - theta[:, 0] ** 2), end - theta[:, 0]])


def test_each_problem_has_its_own_end():
    theta, squares = descend(banana, np.tile([-1.2, 1.0], (4, 1)), *FREE, steps=400)
    ends = np.arange(1.0, 5)
    assert theta == pytest.approx(np.column_stack([ends, ends**2]), rel=1e-4)
    assert squares == pytest.approx(np.zeros(4), abs=1e-7)


def test_at_bounds_it_ends_where_scipy_does():
    low, high = np.array([-2.0, -2.0]), np.array([0.5, 2.0])
    theta, squares = descend(banana, np.array([[-1.2, 1.0]]), low, high, steps=400)
    one = least_squares(lambda t: banana(t[None, :], np.zeros(1))[0], [-1.2, 1.0], bounds=(low, high))
    assert theta[0] == pytest.approx(one.x, abs=1e-3)
    assert squares[0] == pytest.approx(2 * one.cost, abs=1e-6)


def test_a_direction_that_nothing_depends_on_is_left_where_it_is():
    theta, squares = descend(lambda t, _: t[:, :1] - 3, np.array([[0.0, 7.0]]), *FREE)
    assert theta[0] == pytest.approx([3, 7])
    assert squares[0] == pytest.approx(0, abs=1e-12)
