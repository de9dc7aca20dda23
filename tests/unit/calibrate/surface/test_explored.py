"""A surface that measures itself: the time is spent, the places are told apart, and few runs say as much as all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calibrate.surface import Places, SurfacePoints
from calibrate.surface.explored import ExploredSurface, explore
from calibrate.surface.surface_comparison import SURFACE_BASELINES

GRID = np.array(
    list(product([4096.0, 16384, 65536, 262144], [0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 2, 4, 8, 16, 32, 64], [1.0]))
)
PLACES = Places(*GRID.T)
SECONDS = 1.7


def truth(places: Places) -> np.ndarray:
    """A drive of ten requests at a time whose writes take twice as long, behind a link of 1 GB/s."""
    block, share, n, _ = places.as_rows().T
    alone = (100e-6 * share + 200e-6 * (1 - share)) * (1 + block / 60e3)
    busy = np.hypot(alone / 10, block / 1e9)
    return ((n / alone) ** -2.5 + busy**2.5) ** (-1 / 2.5)


class Bench:
    """Runs of that drive with relative noise, and a clock that runs by them."""

    def __init__(self, noise: float, seed: int = 1) -> None:
        self.disturbed = -1
        self.random, self.noise, self.runs = np.random.default_rng(seed), noise, {}

    def measure(self, chosen) -> SurfacePoints:
        for place in map(int, chosen):
            slower = 0.3 if place == self.disturbed else 1.0
            x = slower * truth(PLACES)[place] * np.exp(self.noise * self.random.standard_normal())
            self.runs.setdefault(place, []).append(x)
        at = np.array(sorted(self.runs))
        runs = [np.array(self.runs[i]) for i in at]
        mean = np.array([r.mean() for r in runs])
        spread = np.array([r.std(ddof=1) / r.mean() if len(r) > 1 else np.nan for r in runs])
        repeats = np.array([float(len(r)) for r in runs])
        return SurfacePoints(PLACES.at(at), mean, PLACES.outstanding[at] / mean, repeats, spread)

    def clock(self) -> float:
        return SECONDS * sum(map(len, self.runs.values()))


def explored(noise: float, budget_s: float = 60.0, seed: int = 1) -> ExploredSurface:
    bench = Bench(noise, seed)
    return explore(bench.measure, PLACES, budget_s, SECONDS, clock=bench.clock)


def test_the_time_is_spent_and_not_overdrawn():
    found = explored(0.05)
    assert 60 - SECONDS < found.seconds <= 60
    assert found.known.sum() == 31  # 35 runs, four corners twice
    assert "31 of 140 places measured" in found.answer()[0]


@pytest.mark.parametrize(("noise", "missed"), [(0.01, 5.0), (0.1, 8.0)])
def test_a_minute_predicts_the_other_places_better_than_the_baselines(noise, missed):
    found = explored(noise)
    unseen = ~found.known
    at, exact = PLACES.at(unseen), truth(PLACES)[unseen]
    off = np.abs(found.predicted.throughput_per_s[unseen] / exact - 1)
    assert 100 * np.median(off) < missed
    rivals = [f(found.points.places, found.points.throughput_per_s, at) for f in SURFACE_BASELINES.values()]
    assert all(np.median(off) < 0.7 * np.median(np.abs(rival / exact - 1)) for rival in rivals)


@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_the_bands_hold_another_run(noise):
    inside = []
    for seed in range(4):
        found = explored(noise, seed=seed)
        runs = truth(PLACES) * np.exp(noise * np.random.default_rng(100 + seed).standard_normal(len(PLACES)))
        p = found.predicted
        inside.append(np.mean((p.throughput_low_per_s <= runs) & (runs <= p.throughput_high_per_s)))
    assert 0.85 <= np.mean(inside) <= 1


def test_the_map_marks_what_was_measured():
    lines = explored(0.02, 40.0).map_text().splitlines()
    assert len(lines) == 20
    assert lines[0].startswith("4 KiB, 0 % read ")
    assert lines[0].split()[5] == "#"
    assert sum(line.count("#") for line in lines) == explored(0.02, 40.0).known.sum()


def test_a_place_that_the_others_contradict_is_the_worst():
    bench = Bench(0.01)
    bench.disturbed = int(np.flatnonzero(GRID[:, 0] == GRID[-1, 0])[-1])  # 256 KiB, 100 % read, N = 64
    found = explore(bench.measure, PLACES, 60.0, SECONDS, clock=bench.clock)
    assert found.answer()[-1].startswith("WORST   256 KiB, 100 % read, N = 64")
