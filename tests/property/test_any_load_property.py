"""A device is found from points of thinking users and of arrivals alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import open_sweep, points_at

from calibrate import fit
from measure import Sweep
from measure.loads import Clients
from qsim import MMc, MMcN, solve


@settings(max_examples=8)
@given(servers=st.integers(1, 16), service_s=st.floats(1e-5, 1.0), thought=st.floats(2, 100))
def test_users_who_think_show_the_idle_latency_and_the_peak(servers: int, service_s: float, thought: float) -> None:
    think = service_s * thought
    crossing = servers * (1 + thought)
    users = np.unique(np.rint(crossing * np.array([0.1, 0.4, 0.8, 1.2, 2.0])).clip(1))
    exact = [solve(MMcN(population=int(n), think_time=think, service_time=service_s, servers=servers)) for n in users]
    points = points_at(users, [e.throughput for e in exact], [e.W for e in exact])
    found = fit(Sweep(points, load_type=Clients(think=think))).parameters
    assert found["R1"].estimate == pytest.approx(service_s, rel=0.1)
    assert found["Xmax"].estimate == pytest.approx(servers / service_s, rel=0.1)


@settings(max_examples=8)
@given(servers=st.integers(1, 16), service_s=st.floats(1e-5, 1.0))
def test_arrivals_show_the_idle_latency_and_the_peak(servers: int, service_s: float) -> None:
    rates = servers / service_s * np.array([0.1, 0.5, 0.8, 0.9, 0.95])
    sweep = open_sweep(rates, [solve(MMc(rate, 1 / service_s, servers)).W for rate in rates])
    found = fit(sweep, model="p-norm with onset, any load").parameters
    assert found["R1"].estimate == pytest.approx(service_s, rel=0.1)
    assert found["Xmax"].estimate == pytest.approx(servers / service_s, rel=0.1)
