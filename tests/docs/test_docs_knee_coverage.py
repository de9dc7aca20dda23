"""Intervals of N*, N90, peak and idle latency hold the truth as often as the page says, on one kind of device now."""

from __future__ import annotations

import knee_coverage
import numpy as np
import pytest
from on_page import shown_table

LEAST, MOST = 85, 100


def test_the_page_has_every_reading_and_each_holds() -> None:
    lines = shown_table("accuracy.md", "coverage of readings").splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert head[-1] == knee_coverage.FEW_REQUESTS
    assert [row[0] for row in rows[:4]] == list(knee_coverage.READINGS)
    for row in rows[:4]:
        assert all(LEAST <= float(cell.partition(" ")[0]) <= MOST for cell in row[1:]), row


def test_the_truth_of_balanced_stations_is_their_number() -> None:
    device = knee_coverage.Device(knee_coverage.balanced(8))
    crossing, ninety, peak, idle = device.truth
    assert (crossing, idle) == (pytest.approx(8, rel=0.01), pytest.approx(8))
    assert ninety == pytest.approx(63, rel=0.03)  # 9 (m - 1)
    assert peak == pytest.approx(1, rel=0.01)


def test_intervals_of_noisy_points_hold() -> None:
    found = knee_coverage.held(("M/M/c", 5, 0.05, False), devices=4)
    assert np.mean(found["inside"]) >= LEAST
