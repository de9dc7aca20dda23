"""The queue of an open sweep: measured, by the model, and by the textbook."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate import compare, fit
from calibrate.points import points_of
from calibrate.prediction.open_queue import waiting, waiting_table
from measure import Sweep
from measure.loads import LoadKind
from qsim import MG1, Deterministic, Exponential, MMc, solve

OPEN: LoadKind = "arrival_rate"
RHO = np.array([0.2, 0.4, 0.6, 0.8])


def sweep(rates: np.ndarray, response_s: list[float]) -> Sweep:
    table = {"series": "open", "load": rates, "throughput_per_s": rates, "latency_s": response_s}
    return Sweep(points=pd.DataFrame(table), load_kind=OPEN, load_unit="1/s")


def test_of_mm1_all_three_are_the_same() -> None:
    measured = sweep(500 * RHO, [solve(MG1(500 * r, Exponential(2e-3))).W for r in RHO])
    for row, rho in zip(waiting(fit(measured, model="M/M/1"), points_of(measured)), RHO, strict=True):
        assert row.utilization == pytest.approx(rho, rel=1e-3)
        assert row.measured == pytest.approx(rho**2 / (1 - rho), rel=5e-3)
        assert row.model == pytest.approx(row.measured, rel=5e-3)
        assert row.mm1 == pytest.approx(row.measured, rel=5e-3)


def test_constant_times_and_more_servers_wait_less_than_the_textbook_says() -> None:
    constant = sweep(500 * RHO, [solve(MG1(500 * r, Deterministic(2e-3))).W for r in RHO])
    rows = waiting(fit(constant, model="M/D/1"), points_of(constant))
    assert len(rows) == len(RHO)
    for row in rows:
        assert row.mm1 is not None
        assert row.measured == pytest.approx(row.mm1 / 2, rel=0.01)
    four = sweep(2000 * RHO, [solve(MMc(2000 * r, 500, 4)).W for r in RHO])
    rows = waiting(fit(four, model="M/M/4"), points_of(four))
    assert len(rows) == len(RHO)
    for row in rows:
        assert row.mm1 is not None
        assert row.measured < row.mm1
        assert row.measured == pytest.approx(row.model, abs=0.02)


def test_compare_tells_it_as_text_and_as_json() -> None:
    measured = sweep(500 * RHO, [solve(MG1(500 * r, Exponential(2e-3))).W for r in RHO])
    compared = compare(measured, model="M/M/1")
    assert "M/M/1: ρ²/(1-ρ)" in str(compared)
    assert [q["measured"] for q in compared.to_dict()["queue"]] == pytest.approx(list(RHO**2 / (1 - RHO)), rel=5e-3)


def test_a_closed_sweep_has_no_such_queue() -> None:
    depths = np.array([1.0, 4.0, 16.0])
    table = {"series": "reads", "load": depths, "throughput_per_s": 100 * depths, "latency_s": 0.01}
    closed = Sweep(points=pd.DataFrame(table))
    assert waiting(fit(closed), points_of(closed)) == ()
    assert waiting_table(()) == ""
    assert compare(closed).to_dict()["queue"] == []
