"""What a fit is told against its data: repeats noisier than the model, and errors of the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrate import compare, fit
from calibrate.doubts import doubts_about, noisier_than_the_model
from calibrate.points import points_of
from measure import Sweep
from measure.dataset import LoadKind
from measure.errors import DataError

DEPTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


def sweep(noise: float, repeats: int = 5, **columns: Any) -> Sweep:
    """A knee at 8, each depth repeated with throughputs evenly spread by the standard deviation ``noise``."""
    factors = 1 + noise * np.linspace(-1, 1, repeats) / np.std(np.linspace(-1, 1, repeats), ddof=1)
    rows = [
        {"series": "reads", "load": n, "throughput_per_s": 1e4 * min(n, 8) * f, "latency_s": n / (1e4 * min(n, 8) * f),
         "repeat": i, **columns}
        for i, f in enumerate(factors) for n in DEPTHS
    ]  # fmt: skip
    return Sweep(points=pd.DataFrame(rows))


def test_repeats_that_differ_by_more_than_the_model_misses_are_told() -> None:
    noisy = sweep(0.2)
    made = fit(noisy, [1, 32])
    (found,) = noisier_than_the_model(made, points_of(noisy))
    assert found.check == "noisy-repeats"
    assert "5 repeats have a standard deviation of 20 %" in found.message
    assert "--depths" in found.remedy
    assert "--repeats auto:20 --precision" in found.remedy
    assert found in compare(noisy, [1, 32]).audit


def test_quiet_repeats_and_points_measured_once_are_not() -> None:
    for quiet in (sweep(0.002), sweep(0.001, repeats=2)):
        assert not noisier_than_the_model(fit(quiet, [1, 32]), points_of(quiet))
    once = Sweep(points=sweep(0.2).points.query("repeat == 0"))
    assert not noisier_than_the_model(fit(once, [1, 32]), points_of(once))


def test_noise_of_points_that_were_not_used_is_no_doubt_of_the_fit() -> None:
    table = sweep(0.2).points
    mean = 1e4 * np.minimum(table["load"], 8)
    quiet = table["load"].isin([1.0, 32.0])
    table["throughput_per_s"] = table["throughput_per_s"].where(~quiet, mean)
    table["latency_s"] = table["load"] / table["throughput_per_s"]
    one = Sweep(points=table)
    assert not noisier_than_the_model(fit(one, [1, 32]), points_of(one))


def test_open_rates_are_judged_by_their_response_times() -> None:
    kind: LoadKind = "arrival_rate"
    rows = [
        {"series": "open", "load": x, "throughput_per_s": x, "latency_s": f * 1e-3 / (1 - x / 1e3), "repeat": i}
        for i, f in enumerate((0.6, 1.0, 1.4)) for x in (200.0, 500.0, 800.0)
    ]  # fmt: skip
    noisy = Sweep(points=pd.DataFrame(rows), load_kind=kind, load_unit="1/s")
    (found,) = noisier_than_the_model(fit(noisy), points_of(noisy))
    assert "response times of 3 repeats" in found.message
    assert "--arrival-rates" in found.remedy


def test_points_that_contradict_littles_law_are_told_with_the_fit() -> None:
    wrong = sweep(0.001, repeats=2)
    wrong = Sweep(points=wrong.points.assign(latency_s=1e3 * wrong.points["latency_s"]))
    told = doubts_about(fit(wrong, [1, 32]), wrong)
    assert [f.check for f in told] == ["littles-law"]
    assert told[0].severity == "error"


def test_a_sweep_that_ends_below_the_knee_is_told_with_the_fit() -> None:
    shallow = Sweep(points=sweep(0.001, repeats=2).points.query("load <= 8"))
    assert [f.check for f in doubts_about(fit(shallow, [1, 8]), shallow)] == ["no-saturated-point"]


def test_too_few_points_are_refused_with_the_command_that_gives_more() -> None:
    with pytest.raises(DataError, match=r"needs 2; .* depth 1 as well: qsim measure fio TARGET --depths"):
        fit(sweep(0.01), [8])
    delays = np.array([0.0, 100.0])
    table = {"series": "m", "load": delays, "throughput_per_s": 1e8, "latency_s": 1e-7}
    memory = Sweep(points=pd.DataFrame(table), load_kind="injected_delay", load_unit="ns")
    with pytest.raises(DataError, match=r"needs 3; .* qsim measure memory --delays"):
        fit(memory)


@pytest.mark.parametrize("use", [[1.0, 32.0], [1.0, 4.0, 32.0]])
def test_a_sound_sweep_raises_no_doubt(use: list[float]) -> None:
    sound = sweep(0.002)
    assert doubts_about(fit(sound, use), sound) == ()
