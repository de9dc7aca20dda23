"""Orders of service."""

from __future__ import annotations

import math

import pytest
from class_networks import Flow, queue_of
from service_laws import LAWS

from qsim import (
    MG1,
    Deterministic,
    Erlang,
    Exponential,
    LogNormal,
    MMc,
    MMcK,
    NoFormulaError,
    Open,
    UnstableQueueError,
    solve,
)


def test_sharing_sees_only_the_mean() -> None:
    for service in LAWS:
        shared = solve(Open(Exponential(1.25), service.scaled(1 / service.mean), discipline="PS"))
        assert shared.W == pytest.approx(5.0)
        stacked = solve(Open(Exponential(1.25), service.scaled(1 / service.mean), discipline="LCFS-PR"))
        assert stacked.W == pytest.approx(5.0)
    two = solve(Open(Exponential(1 / 1.6), Deterministic(1.0), 2, discipline="PS"))
    assert two.W == pytest.approx(solve(MMc(1.6, 1.0, 2)).W)
    full = solve(Open(Exponential(1 / 3), Deterministic(1.0), 2, 5, discipline="PS"))
    assert full.p_block == pytest.approx(solve(MMcK(3, 1, 2, 5)).p_block)


def test_priorities_conserve_the_work_that_waits() -> None:
    laws = (Erlang(2, 1.0), LogNormal(0.5, 3.0), Deterministic(2.0))
    classes = [Flow(Exponential(5.0), law, i) for i, law in enumerate(laws)]
    reference = solve(queue_of(classes))
    served = solve(queue_of(classes, priority="non-preemptive"))
    # Kleinrock's conservation law: the sum of rho times Wq does not depend on the order (1976, section 3.4).
    weights = [c.service.mean / c.arrivals.mean for c in classes]
    assert sum(w * c.Wq for w, c in zip(weights, served.classes, strict=True)) == pytest.approx(
        sum(w * c.Wq for w, c in zip(weights, reference.classes, strict=True))
    )
    assert served.L == pytest.approx(sum(c.L for c in served.classes))
    interrupted = solve(queue_of(classes, priority="preemptive-resume"))
    assert interrupted.classes[0].W == pytest.approx(solve(MG1(0.2, laws[0])).W)  # notices nobody else
    assert math.isnan(interrupted.p_wait)


def test_priorities_on_several_servers_of_several_services_are_left_to_simulation() -> None:
    classes = [Flow(Exponential(2.0), Exponential(1.0)), Flow(Exponential(2.0), Exponential(2.0), 1)]
    with pytest.raises(NoFormulaError, match="simulate"):
        solve(queue_of(classes, 2, priority="non-preemptive"))
    assert solve(queue_of(classes, 2)).kind == "exact"
    for priority in ("none", "non-preemptive", "preemptive-resume"):
        with pytest.raises(UnstableQueueError, match=r"rho = 1\.5"):
            solve(queue_of(classes, 1, priority=priority))
        with pytest.raises(UnstableQueueError, match=r"rho = 1,"):
            solve(queue_of([classes[0], classes[0]._replace(priority=1)], 1, priority=priority))
    with pytest.raises(NoFormulaError):
        solve(queue_of([k._replace(arrivals=Erlang(2, 2.0)) for k in classes], 1, priority="non-preemptive"))
