"""Adaptive sweeps by real fio: the knee of a device whose truth is known, in a third of the points."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calibrate.next.adaptive import AdaptiveResult, AdaptiveStep
from calibrate.next.adaptive_fio import HISTORY, adaptive_fio
from measure.fio.sweep import plan_fio
from measure.known_device.server import known_device, truth_of
from measure.store.directory import SweepStore

pytestmark = pytest.mark.live

DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64)
TRIES = 5


@pytest.fixture(scope="module")
def four_servers(fio_and_nbdkit: None) -> Iterator[str]:
    """4 servers of 2 ms, one queue: N* = 4."""
    with known_device(truth_of(2e-3, 4)) as uri:
        yield uri


def search(uri: str, directory: Path, budget: int = len(DEPTHS) // 3) -> AdaptiveResult:
    plan = plan_fio(uri, DEPTHS, runtime_s=0.7, ramp_s=0.1, label="four servers of 2 ms")
    return adaptive_fio(plan, directory, budget)


def test_a_third_of_the_points_gives_the_true_knee(four_servers: str, tmp_path: Path) -> None:
    """Other work on the machine can spoil a search of six points; the best of some is held to 10 %.

    It also makes a lone request take longer than 2 ms, and the knee R(1) Xmax is then that of what fio sees.
    """
    off: list[float] = []
    for number in range(TRIES):
        result = search(four_servers, tmp_path / f"try-{number}")
        assert len(result.steps) <= len(DEPTHS) // 3
        alone = result.sweep.mean_points().set_index("load").loc[1.0, "latency_s"]
        off.append(min(abs(math.log((result.knee.load or math.inf) / n)) for n in (4.0, 4.0 * alone / 2e-3)))
        if off[-1] <= np.log(1.1):
            break
    assert min(off) <= np.log(1.1), off


def test_an_interrupted_search_goes_on_from_its_points(four_servers: str, tmp_path: Path) -> None:
    directory = tmp_path / "sweep"

    def interrupt(choice: AdaptiveStep) -> None:
        if choice.why not in ("start", "deeper"):
            raise KeyboardInterrupt

    plan = plan_fio(four_servers, DEPTHS, runtime_s=0.3, ramp_s=0.0, label="four servers of 2 ms")
    with pytest.raises(KeyboardInterrupt):
        adaptive_fio(plan, directory, 5, on_choice=interrupt)
    kept = SweepStore.read(directory).finished()
    assert len(kept) >= 2
    assert not (directory / HISTORY).exists()

    told: list[AdaptiveStep] = []
    result = adaptive_fio(plan, directory, 5, on_choice=told.append)
    assert len(result.steps) == len(kept) + len(told)
    assert [s.load for s in result.steps[len(kept) :]] == [c.load for c in told]
    assert [s.why for s in result.steps[:2]] == ["start", "start"]  # the reasons are found again
    assert SweepStore.read(directory).finished() >= kept
    assert json.loads((directory / HISTORY).read_text())["points_used"] == len(result.steps)
