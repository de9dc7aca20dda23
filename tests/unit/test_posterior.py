"""The sampler says nothing of its own."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.posterior import ErrorPrior, Parameter, posterior


def test_an_interruption_within_the_sampler_passes_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    calls = 0

    def interrupted(values: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > 100:  # the mode takes fewer
            raise KeyboardInterrupt
        return np.log(values[:, :1] * np.array([1.0, 2.0, 3.0]))

    with pytest.raises(KeyboardInterrupt):
        posterior(
            [Parameter("a", "", 0.1, 10.0)], np.array([1.0]), interrupted, np.log([1.0, 2.0, 3.0]), np.zeros(3),
            ErrorPrior(0.03),
        )  # fmt: skip
    assert calls > 100
    assert capfd.readouterr() == ("", "")
