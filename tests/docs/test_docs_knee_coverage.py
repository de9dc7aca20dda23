"""Intervals of N*, N90, peak and idle latency hold the truth as often as the page says, on one kind of device now."""

from __future__ import annotations

import knee_coverage
import numpy as np
import pytest
from knee_coverage import EVERY, Case, Device
from on_page import shown_table

from calibrate.models.curves import CLOSED_MISFIT, CLOSED_PROCESS

LEAST, MOST = 85, 100
MOST_AS_EXPECTED = 97
"""The most that 90 % intervals may hold of devices that miss their curve as a fit expects."""


def shown() -> list[list[str]]:
    lines = shown_table("accuracy.md", "coverage of readings").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_has_every_reading_and_each_holds() -> None:
    head, _, *rows = shown()
    assert head[-2:] == [knee_coverage.FEW_REQUESTS, Case("M/M/c", 2, knee_coverage.MISSING_NOISE, misses=True).column]
    assert [row[0] for row in rows[:4]] == list(knee_coverage.READINGS)
    for row in rows[:4]:
        assert all(LEAST <= float(cell.partition(" ")[0]) <= MOST for cell in row[1:]), row
        assert float(row[-1].partition(" ")[0]) <= MOST_AS_EXPECTED, row


def test_the_truth_of_balanced_stations_is_their_number() -> None:
    device = Device(knee_coverage.balanced(8))
    crossing, ninety, peak, idle = device.truth
    assert (crossing, idle) == (pytest.approx(8, rel=0.01), pytest.approx(8))
    assert ninety == pytest.approx(63, rel=0.03)  # 9 (m - 1)
    assert peak == pytest.approx(1, rel=0.01)


def test_intervals_of_noisy_points_hold() -> None:
    found = knee_coverage.held(Case("M/M/c", 5, 0.05), devices=4)
    assert np.mean(found["inside"]) >= LEAST


def test_devices_that_miss_their_curve_do_so_by_what_a_fit_expects() -> None:
    """Sizes average to those of the prior, single loads add their own share, and neighbours miss alike."""
    random, curve = np.random.default_rng(1), Device(knee_coverage.bounds(4.0))
    drawn = [knee_coverage.missing(curve, random) for _ in range(2000)]
    missed = np.log([device.throughput / curve.throughput for device, _ in drawn])
    sizes, log_probability = CLOSED_MISFIT.sizes()
    expected = float(np.exp(log_probability) @ sizes**2 / np.exp(log_probability).sum())
    own = np.mean([own**2 for _, own in drawn])
    assert own == pytest.approx(CLOSED_PROCESS.own * expected, rel=0.1)
    assert np.mean(missed**2) + own == pytest.approx(expected, rel=0.15)
    near, far = (np.searchsorted(EVERY, n) for n in (9, 1024))
    first = missed[:, np.searchsorted(EVERY, 8)]
    assert np.corrcoef(first, missed[:, near])[0, 1] > 0.8
    assert np.corrcoef(first, missed[:, far])[0, 1] < 0.2


def test_only_devices_that_miss_their_curve_are_measured_off_it() -> None:
    on, off = (Case("M/D/c, host delay", 5, 0.0, misses=misses).measured(np.random.default_rng(3)) for misses in (0, 1))
    for (device, sweep), least, most in ((on, 0.0, 1e-9), (off, 0.005, 1.0)):
        loads = sweep.points["load"].to_numpy()
        ratio = np.log(sweep.points["throughput_per_s"] / device.throughput[np.searchsorted(EVERY, loads)])
        assert least <= np.std(ratio) <= most
