"""Memory curves at mixes that were not measured."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.read_mix import mix_family, unseen_mix_errors
from measure import load_dataset
from measure.dataset import Sweep
from measure.errors import DataError

SHARES = np.linspace(0.02, 0.99, 30)


def peak(mix: float) -> float:
    return 1 / (mix / 100e9 + (1 - mix) / 60e9)


def memory(mixes: tuple[float, ...] = (0.5, 0.6, 0.75, 0.9, 1.0)) -> Sweep:
    """A memory whose writes take longer, and queue more."""
    rows = [
        {"series": f"{m}", "load": x * peak(m), "throughput_per_s": x * peak(m) / 64, "read_fraction": m,
         "latency_s": 90e-9 + (10e-9 + 15e-9 * (1 - m)) * x / (1.02 - x)}
        for m in mixes for x in SHARES
    ]  # fmt: skip
    return Sweep(pd.DataFrame(rows), "bandwidth", "B/s")


def test_an_unseen_mix_is_predicted_from_its_neighbours() -> None:
    family = mix_family(memory())
    errors = unseen_mix_errors(family)
    assert len(errors) == 3 * len(SHARES)
    assert np.median(np.abs(errors)) < 1
    assert family.without(2).peak(0.75) == pytest.approx(peak(0.75), rel=0.01)


def test_a_measured_mix_gives_its_own_points_and_the_peak_is_never_passed() -> None:
    family = mix_family(memory())
    assert family.latency(0.75, family.bandwidth_bytes_per_s[2]) == pytest.approx(family.latency_s[2])
    beyond = family.latency(0.8, np.array([1.0, 3.0]) * family.peak(0.8))
    assert beyond[0] == beyond[1]


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(DataError, match="30 % reads lie outside the measured mixes, 50 to 100 %"):
        mix_family(memory()).latency(0.3, np.array([1e9]))
    with pytest.raises(DataError, match="no memory measured at two or more mixes"):
        mix_family(memory((1.0,)))
    with pytest.raises(DataError, match="several curves of one mix"):
        mix_family(load_dataset("001-memory"))
