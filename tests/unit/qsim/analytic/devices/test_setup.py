"""Setup by formula, where it can be seen without a formula."""

from __future__ import annotations

import pytest

from qsim import MG1, Deterministic, Exponential, MG1Setup, solve


def test_a_lone_request_pays_for_the_setup_and_a_busy_server_never_sleeps() -> None:
    service, setup = Exponential(1.0), Deterministic(5.0)
    assert solve(MG1Setup(1e-9, service, setup)).W == pytest.approx(6.0)
    busy = solve(MG1Setup(0.999, service, setup, off_after=1.0)).W / solve(MG1(0.999, service)).W
    assert busy == pytest.approx(1.0, abs=0.01)
