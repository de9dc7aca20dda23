"""What the report says of held-out misses: all on one side, in runs, wider at large loads, or like chance."""

from __future__ import annotations

import numpy as np

from calibrate.report.compared.diagnostics import diagnosed

LOAD = np.arange(1.0, 21.0)


def test_misses_by_chance_are_called_so() -> None:
    words = diagnosed(LOAD, np.random.default_rng(2).standard_normal(20))
    assert "take turns as by chance" in words
    assert "missed independently" in words
    assert "spread no more" in words
    assert "No single miss decides" in words


def test_a_curve_of_another_shape_is_seen_by_its_runs() -> None:
    words = diagnosed(LOAD, np.sin(LOAD / 4))
    assert "longer runs than by chance" in words
    assert "missed alike" in words


def test_misses_that_grow_with_the_load_are_seen() -> None:
    assert "spread more at the large loads" in diagnosed(LOAD, LOAD * (-1.0) ** LOAD)


def test_one_miss_that_decides_how_they_run_is_named() -> None:
    missed = np.random.default_rng(2).standard_normal(20)
    missed[-1] = 30
    assert "hangs on one, at 20 (Cook's distance" in diagnosed(LOAD, missed)


def test_misses_all_of_one_size_or_on_a_line_are_told_without_a_warning() -> None:
    assert "spread no more" in diagnosed(LOAD, (-1.0) ** LOAD)
    assert "Cook" not in diagnosed(LOAD, LOAD - 10)


def test_few_points_decide_nothing() -> None:
    assert diagnosed(LOAD[:7], np.sin(LOAD[:7])) == ""
    assert diagnosed(LOAD, np.zeros(20)) == ""
    assert diagnosed(np.ones(20), np.sin(LOAD)) == ""
