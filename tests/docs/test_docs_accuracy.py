"""The default model earns its place: over the sweeps of docs/data it is not behind what takes ten lines."""

from __future__ import annotations

from collections.abc import Sequence

import accuracy as script
import numpy as np
import pytest
from accuracy_devices import held_share
from between_runs import learned

from calibrate.points import LOCAL, SERVICE, VIRTUAL

BEHIND_IN_THE_MEDIAN, BEHIND_AT_P90 = 1.15, 1.10
MODEL, RIVAL = "default model", "p-norm, most probable"
EVERY = (*script.PAIRS, *script.TRIPLES)
USES = [
    pytest.param(script.PAIRS, id="pairs"),
    pytest.param(script.TRIPLES, id="triples"),
    pytest.param(EVERY, id="pairs and triples"),
]


def pooled(name: str, uses: Sequence[tuple[float, ...]]) -> np.ndarray:
    """The errors of a predictor in percent over every sweep and all of these choices of depths."""
    return np.concatenate(script.pooled(script.collected(), uses, script.PREDICTORS[name]))


@pytest.mark.slow
@pytest.mark.xdist_group("the default model over docs/data")  # each fit of it is made once in a process
@pytest.mark.parametrize("uses", USES)
def test_the_default_model_is_not_behind_the_ten_line_p_norm(uses: tuple[tuple[float, ...], ...]) -> None:
    assert np.median(pooled(MODEL, uses)) <= BEHIND_IN_THE_MEDIAN * np.median(pooled(RIVAL, uses))


@pytest.mark.slow
@pytest.mark.xdist_group("the default model over docs/data")
@pytest.mark.parametrize("uses", USES)
def test_the_default_model_is_not_behind_the_best_baseline_at_the_worst_tenth(
    uses: tuple[tuple[float, ...], ...],
) -> None:
    worst = {name: float(np.percentile(pooled(name, uses), 90)) for name in script.PREDICTORS}
    model = worst.pop(MODEL)
    assert model <= BEHIND_AT_P90 * min(worst.values()), worst


@pytest.mark.slow
@pytest.mark.xdist_group("the default model over docs/data")
@pytest.mark.parametrize("percent", [50, 90])
def test_from_depths_1_8_and_64_the_default_model_is_not_behind_the_p_norm_at_all(percent: float) -> None:
    model, rival = (np.percentile(pooled(name, [(1.0, 8.0, 64.0)]), percent) for name in (MODEL, RIVAL))
    assert model <= rival


@pytest.mark.parametrize("use", [*script.PAIRS, *script.TRIPLES])
def test_every_predictor_is_judged_by_the_same_points(use: Sequence[float]) -> None:
    baselines = [p for name, p in script.PREDICTORS.items() if name != MODEL]
    counts = {tuple(len(e) for e in script.errors(script.collected(), use, p)) for p in baselines}
    assert len(counts) == 1
    assert len(counts.pop()) == 52


def test_the_shares_are_those_of_public_repeats() -> None:
    found = learned()
    assert {kind: round(share, 2) for kind, (share, _) in found.items()} == {
        "local drive": 0.02,
        "virtual drive": VIRTUAL,
        "service": SERVICE,
    }
    assert found["local drive"][0] < LOCAL


def test_points_of_one_device_count_as_one_where_they_stand_and_fall_together() -> None:
    apart = [np.array([False] * 10 + [True] * 90)]  # Wilson's interval of 90 of 100: 84 to 94 %
    alike = [np.full(10, k > 0) for k in range(10)]  # of 9 of 10: 65 to 98 %
    assert held_share([one[k::10] for one in apart for k in range(10)]) == "90 % [84, 94]"
    assert held_share(alike) == "90 % [65, 98]"
