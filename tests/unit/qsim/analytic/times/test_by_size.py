"""Service by size against priority classes: with two sizes, the shorter jobs are a class above the longer ones."""

from __future__ import annotations

import numpy as np
import pytest

from qsim import CustomerClass, Deterministic, Erlang, Exponential, Mixture, Open, OpenClasses, solve
from qsim.analytic.open.size_based import response_of

SHORT, LONG = Deterministic(0.5), Deterministic(2.0)
TWO_SIZES = Mixture((SHORT, LONG), (0.75, 0.25))


@pytest.mark.parametrize(("rule", "priority"), [("SJF", "non-preemptive"), ("PSJF", "preemptive-resume")])
def test_two_sizes_are_two_classes(rule: str, priority: str) -> None:
    r = solve(Open(Exponential(1.5), TWO_SIZES, discipline=rule))  # type: ignore[arg-type]
    classes = [CustomerClass(Exponential(1.5 / 0.75), SHORT, 0), CustomerClass(Exponential(1.5 / 0.25), LONG, 1)]
    known = solve(OpenClasses(classes, priority=priority))  # type: ignore[arg-type]
    assert r.W == pytest.approx(known.W, rel=1e-5)
    for size, part in zip((0.5, 2.0), known.classes, strict=True):
        assert response_of(1 / 1.5, TWO_SIZES, size, rule) == pytest.approx(part.W, rel=1e-5)  # type: ignore[arg-type]
    # The laws of the classes have jumps, which inversion rounds off: at times away from them.
    for t in (0.3, 1.7, 3.3, 7.1):
        for of in ("W", "Wq"):
            late = sum(share * part.survival(t, of) for share, part in zip((0.75, 0.25), known.classes, strict=True))
            assert r.survival(t, of) == pytest.approx(late, abs=2e-3)


def test_the_shorter_jobs_never_see_the_longer_ones_that_they_interrupt() -> None:
    r, alone = solve(Open(Exponential(1.5), TWO_SIZES, discipline="PSJF")), solve(Open(Exponential(2.0), SHORT))
    for t in (0.6, 0.9, 1.2, 1.7):  # before any of the longer ones can be done
        assert r.survival(t) == pytest.approx(0.25 + 0.75 * alone.survival(t), abs=1e-4)


@pytest.mark.parametrize("rule", ["SJF", "PSJF"])
def test_any_sizes_have_their_mean(rule: str) -> None:
    r = solve(Open(Exponential(2.0), Erlang(2, 1.0), discipline=rule))  # type: ignore[arg-type]
    nodes, weights = np.polynomial.legendre.leggauss(4)
    parts = [(low + (high - low) * (nodes + 1) / 2, (high - low) * weights / 2) for low, high in ((0, 4), (4, 30))]
    assert sum(r.survival(t) @ weight for t, weight in parts) == pytest.approx(r.W, rel=5e-3)


@pytest.mark.parametrize("rule", ["SJF", "PSJF"])
def test_one_size_is_first_come(rule: str) -> None:
    r = solve(Open(Exponential(1.5), Deterministic(1.0), discipline=rule))  # type: ignore[arg-type]
    known = solve(Open(Exponential(1.5), Deterministic(1.0)))
    t = np.array([0.0, 0.5, 1.3, 2.4, 4.0])
    assert r.survival(t) == pytest.approx(known.survival(t), abs=2e-3)
    assert r.survival(t, "Wq") == pytest.approx(known.survival(t, "Wq"), abs=2e-3)
    assert r.quantile(0.9) == pytest.approx(known.quantile(0.9), rel=2e-2)


@pytest.mark.parametrize("rule", ["SJF", "PSJF"])
def test_the_share_that_waits_at_all_is_the_limit_of_short_waits(rule: str) -> None:
    r = solve(Open(Exponential(1.5), TWO_SIZES, discipline=rule))  # type: ignore[arg-type]
    assert r.survival(0.0, "Wq") == pytest.approx(r.survival(1e-6, "Wq"), abs=1e-5)
