"""Services beyond what was measured: wide bands there, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import fit, predict
from calibrate.fitting.own_load import DELAYS, EVENLY, HAZARD, collapsing, losses
from measure.loads import counted_in
from measure.sweep import Sweep


def sweep(unit: str) -> Sweep:
    return Sweep(points_at([1, 32], [1e3, 10e3]), load_type=counted_in(unit))


def test_the_delays_have_the_mean_of_the_hazard() -> None:
    assert DELAYS.mean() == pytest.approx(1 / HAZARD, rel=0.05)


def test_nothing_is_lost_where_the_hazard_begins_and_never_gained() -> None:
    log_loss, weight = losses(np.array([64.0, 640.0, 6400.0]), 64.0)
    assert (log_loss[:, 0] == 0).all()
    assert (np.diff(weight @ log_loss) > 0).all()
    assert weight.sum() == pytest.approx(1)


def test_a_distribution_without_a_loss_stays() -> None:
    known = np.exp(np.linspace(-1, 1, len(EVENLY)))[:, None]
    found = collapsing(known, np.array([64.0]), 64.0, (0.05, 0.5, 0.95))
    assert np.log(found[:, 0]) == pytest.approx([-0.9, 0.0, 0.9], abs=0.01)


def test_clients_beyond_the_deepest_may_meet_a_collapse_and_depths_do_not() -> None:
    at = [16.0, 32.0, 128.0, 1000.0]
    clients, depths = (predict(fit(sweep(unit)), at) for unit in ("clients", "requests"))
    assert clients.throughput_low_per_s[:2] == pytest.approx(depths.throughput_low_per_s[:2])
    assert (clients.throughput_low_per_s[2:] < 0.8 * depths.throughput_low_per_s[2:]).all()
    assert clients.throughput_per_s == pytest.approx(depths.throughput_per_s, rel=0.3)
    assert (clients.throughput_high_per_s <= depths.throughput_high_per_s * (1 + 1e-9)).all()
    (note,) = clients.notes
    assert note.startswith("nothing is known beyond 32 clients, the most that were measured")
    assert note.endswith("measure 1, about 64, and the most clients you will ever have")
