"""The delay law of memories is ahead of its rivals on the dataset's curves, as accuracy.md says."""

from __future__ import annotations

import accuracy_memory
import numpy as np
import pytest


@pytest.mark.slow
def test_the_delay_law_is_ahead_of_thinking_loaders_and_of_interpolation() -> None:
    for _, found in accuracy_memory.of_the_dataset():
        median = {name: np.median(np.concatenate([one.percent[name] for one in found])) for name in found[0].percent}
        assert median["qsim"] < min(median["chain"], median["interpolation"])


def test_thinking_loaders_are_found_again_from_a_curve_of_their_own() -> None:
    delays = np.array([0.0, 100, 200, 500, 2000, 20000])
    rate, latency = accuracy_memory._loaders(np.log([60.0, 1e-7, 1e-9, 8e-8, 5e8, 4.0]), delays)
    three = [0, 2, 5]
    found = accuracy_memory.thinking_loaders(delays[three], rate[three], latency[three], delays)
    assert found[0] == pytest.approx(rate, rel=0.1)
    assert found[1] == pytest.approx(latency, rel=0.1)
