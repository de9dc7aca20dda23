"""Impatient customers, resting servers, bursts: formula against simulation, engine against engine."""

from __future__ import annotations

import pytest
from test_open_formulas_agree import disagreements

from qsim import MAP, Deterministic, Erlang, Exponential, LogNormal, Open, simulate, solve

M = Exponential
KNOWN = [
    Open(M(1 / 12), M(1.0), 10, patience=M(2.0)),
    Open(M(1.25), M(1.0), patience=M(5.0)),
    Open(M(1 / 3), M(1.0), 2, 5, patience=M(1.0)),
    Open(M(1 / 3), M(1.0), 2, balking=(0, 0, 0.1, 0.3, 0.6, 0.9)),
    Open(M(1 / 3), M(1.0), 2, balking=(0, 0, 0.1, 0.3, 0.6, 0.9), patience=M(2.0), discipline="LCFS"),
    Open(M(0.5), M(1.0), patience=M(2.0), discipline="SIRO"),
    Open(MAP([[-3.0, 1.0], [0.5, -1.0]], [[2.0, 0.0], [0.25, 0.25]]), Erlang(2, 1.3), 2),
    Open(M(1.25), Erlang(2, 1.0), discipline="SRPT"),
    Open(M(1.25), LogNormal(1.0, 2.0), discipline="SRPT"),
    Open(M(1.25), Erlang(2, 1.0), discipline="FB"),
    Open(M(1.25), LogNormal(1.0, 2.0), discipline="FB"),
]
SIMULATED = [
    Open(LogNormal(1.0, 2.0), Erlang(2, 1.9), 2, patience=LogNormal(1.0, 2.0)),
    Open(M(1.0), Erlang(2, 1.9), 2, patience=Deterministic(1.5), queues="shortest"),
    Open(M(1.0), Erlang(2, 1.2), patience=Erlang(2, 1.5), discipline="SJF", balking=(0, 0.2, 0.3)),
    Open(M(1.0), Erlang(2, 1.7), 2, discipline="SRPT"),
    Open(M(1.0), M(1.0), capacity=5, discipline="FB"),
    Open(M(1.0), Erlang(2, 1.2), patience=M(1.0), speeds=(1.0, 1.5)),
]


@pytest.mark.parametrize("model", KNOWN, ids=lambda m: m.kendall)
def test_the_formula_lies_in_the_interval(model: Open) -> None:
    exact, run = solve(model), simulate(model, customers=600_000, seed=20, confidence=0.9999)
    assert not disagreements(exact, run)
    low, high = run.intervals.get("p_block", (0.0, 0.0))
    assert low <= exact.p_block <= high
    for part, simulated in zip(exact.classes, run.classes, strict=False):
        assert not disagreements(part, simulated), part.name


@pytest.mark.parametrize("model", [*KNOWN, *SIMULATED], ids=lambda m: m.kendall)
def test_both_engines_live_through_the_same_run(model: Open) -> None:
    compiled, reference = (
        simulate(model, customers=17_000, seed=50, engine=engine, allow_short=True, warmup=0.1)
        for engine in ("compiled", "reference")
    )
    # Under FB rounding decides whether one who was held up for no time at all counts as waiting.
    values = ("throughput", "utilization", "L", "Lq", "W", "Wq", "p_block", *(["p_wait"] * (model.discipline != "FB")))
    for name in values:
        assert getattr(compiled, name) == pytest.approx(getattr(reference, name), rel=1e-9), name
