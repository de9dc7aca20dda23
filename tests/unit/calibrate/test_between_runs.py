"""What moves between runs: wider intervals where the machine is virtual, late, or its repeats differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made_up import points_at

from calibrate import fit, points_of
from calibrate.points import LATE, LOCAL, MOST, SERVICE, VIRTUAL
from measure.loads import Clients
from measure.origin import Provenance
from measure.sweep import Sweep

N = np.array([1.0, 2, 4, 8, 16, 32, 64])
VIRTUAL_HOST = {"host_facts": {"virtual": True}}


def sweep(details: dict[str, Any] | None = None, repeats: tuple[float, ...] = (1.0,), **columns: Any) -> Sweep:
    rate = 10e3 * N / (1 + (N / 6) ** 4) ** 0.25
    runs = [points_at(N, rate * f, repeat=i, **columns) for i, f in enumerate(repeats)]
    return Sweep(pd.concat(runs), provenance=Provenance(details=details or {}))


def share(one: Sweep) -> float:
    return points_of(one).between_runs


@pytest.mark.parametrize(
    ("details", "expected"), [({}, LOCAL), (VIRTUAL_HOST, VIRTUAL), ({"host_facts": {"virtual": False}}, LOCAL)]
)
def test_the_share_of_a_machine(details: dict[str, Any], expected: float) -> None:
    assert share(sweep(details)) == pytest.approx(expected)


def test_a_service_moves_more_than_a_drive() -> None:
    assert share(replace(sweep(), load_type=Clients())) == pytest.approx(SERVICE)


@pytest.mark.parametrize("details", [{}, VIRTUAL_HOST])
def test_a_machine_that_wakes_late_moves_more_and_its_lateness_replaces_what_is_usual(details: dict[str, Any]) -> None:
    shortest = points_of(sweep()).response_time_s.min()
    assert share(sweep(details, wakeup_late_s=0.25 * shortest)) == pytest.approx(np.hypot(LOCAL, LATE / 2))
    assert share(sweep(details, wakeup_late_s=50 * shortest)) == MOST


def test_repeats_correct_the_share() -> None:
    alike, apart = (share(sweep(VIRTUAL_HOST, repeats)) for repeats in ((1.0,) * 5, (0.6, 1.0, 1.4)))
    assert alike == pytest.approx(VIRTUAL * np.sqrt(4 / (4 + 28)))
    assert apart > 0.3


@pytest.mark.parametrize(("details", "moves"), [({}, LOCAL), (VIRTUAL_HOST, VIRTUAL)])
def test_intervals_hold_what_other_runs_find_and_sure_is_seldom_wrong(details: dict[str, Any], moves: float) -> None:
    """Latency and peak move between runs by the share, and each point by 1 %: N* = R1 Xpeak moves by both."""
    truth, one, inside, wrong = fit(sweep()).knee.load, sweep(details), [], []
    assert truth is not None
    for seed in range(60):
        random = np.random.default_rng(seed)
        slower, lower = np.exp(moves * random.standard_normal(2))
        rate = 10e3 / slower * N / (1 + (N * lower / 6) ** 4) ** 0.25 * np.exp(0.01 * random.standard_normal(len(N)))
        knee = fit(replace(one, points=one.points.assign(throughput_per_s=rate, latency_s=N / rate))).knee
        assert knee.low is not None
        assert knee.high is not None
        inside.append(knee.low <= truth <= knee.high)
        wrong.append(knee.identified and not 0.5 < knee.load / truth < 2)  # type: ignore[operator]
    assert np.mean(inside) >= 0.85
    assert np.mean(wrong) <= 0.05


def test_every_interval_of_the_answer_is_wider_and_sure_means_less_than_a_factor_of_two() -> None:
    local, virtual = fit(sweep()), fit(sweep(VIRTUAL_HOST))
    for narrow, wide in ((local.knee, virtual.knee), (local.ninety, virtual.ninety)):
        assert narrow.load == wide.load
        assert wide.low < narrow.low < narrow.high < wide.high
    for name in ("R1", "Xmax"):
        narrow_e, wide_e = local.parameters[name], virtual.parameters[name]
        assert narrow_e.estimate == wide_e.estimate
        assert wide_e.high / wide_e.low > narrow_e.high / narrow_e.low > np.exp(2 * 1.64 * LOCAL)
    late = fit(sweep(VIRTUAL_HOST, wakeup_late_s=5 * N[0] / 10e3))
    assert local.knee.identified
    assert not late.knee.identified
    assert not late.parameters["Xmax"].identified


def test_a_fit_on_file_keeps_the_share() -> None:
    made = fit(sweep(VIRTUAL_HOST))
    again = type(made).from_dict(made.to_dict())
    assert (again.knee.low, again.knee.high) == pytest.approx((made.knee.low, made.knee.high))
