"""The script that recovers servers, service and delay: its intervals hold the truth of simulated devices."""

from __future__ import annotations

import known_device_recovery
import numpy as np
import pytest

DEVICES = 24


@pytest.fixture(scope="module")
def cases() -> list[known_device_recovery.Case]:
    rng = np.random.default_rng(11)
    return [known_device_recovery.simulated(known_device_recovery.drawn(rng), rng) for _ in range(DEVICES)]


def test_intervals_hold_the_truth(cases: list[known_device_recovery.Case]) -> None:
    outcomes = [known_device_recovery.outcome(case) for case in cases]
    inside = np.array([o.inside for o in outcomes])
    assert (inside.mean(axis=0) >= 0.9).all()
    assert inside.all(axis=1).mean() >= 0.85
    constant = [o.c_ratio for o, case in zip(outcomes, cases, strict=True) if case.truth.service.scv == 0]
    varying = [o.c_ratio for o, case in zip(outcomes, cases, strict=True) if case.truth.service.scv > 0]
    assert np.mean([ratio == 1 for ratio in varying]) >= 0.5
    assert np.median(constant) > 1  # nothing but the delay can tell
