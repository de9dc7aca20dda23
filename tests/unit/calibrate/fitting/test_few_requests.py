"""The knee of short runs: few requests leave each point open, and the highest of several noisy points is too high."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import fit
from measure import Sweep

SERVICE_S, RUN_S = 3e-3, 1.4
DEPTHS = np.array([1.0, 2, 4, 8, 16, 32])


def short_run(servers: int, random: np.random.Generator, *, counted: bool = True) -> Sweep:
    """A sweep of exponential servers: as many services a run as a Poisson process gives."""
    requests = random.poisson(np.minimum(DEPTHS, servers) / SERVICE_S * RUN_S)
    latency = DEPTHS / (requests / RUN_S)
    known = {"requests": requests, "latency_sd_s": latency / np.sqrt(DEPTHS)} if counted else {}
    return Sweep(points_at(DEPTHS, requests / RUN_S, latency, **known))


@pytest.mark.parametrize("servers", [1, 3])
def test_short_runs_of_servers_have_their_knee_and_intervals_that_hold_it(servers):
    random = np.random.default_rng(1)
    knees = [fit(short_run(servers, random)).knee for _ in range(50)]
    assert np.median([k.load for k in knees]) == pytest.approx(servers, rel=0.025)
    held = sum(k.low <= servers <= k.high for k in knees)
    assert held >= 43  # of 50: nine in ten, less one standard error


def test_points_know_what_the_number_of_their_requests_leaves_open():
    made = fit(short_run(1, np.random.default_rng(1)))
    assert made.used_noise == pytest.approx([1 / np.sqrt(SERVICE_S**-1 * RUN_S)] * 6, rel=0.1)
    unknown = fit(short_run(1, np.random.default_rng(1), counted=False))
    assert unknown.used_noise == (0.0,) * 6
