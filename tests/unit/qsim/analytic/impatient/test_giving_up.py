"""Erlang-A and balking against other formulas, published answers and what is refused."""

from __future__ import annotations

import math

import pytest

from qsim import MM1K, Erlang, Exponential, MMc, NoFormulaError, Open, UnstableQueueError, solve
from qsim.errors import InvalidParameterError

M = Exponential


def test_balking_with_certainty_is_a_limit_on_places() -> None:
    limited, balking = solve(MM1K(0.9, 1.0, 4)), solve(Open(M(1 / 0.9), M(1.0), balking=(0, 0, 0, 0, 1)))
    for name in ("throughput", "L", "W", "Wq", "p_wait", "p_block"):
        assert getattr(balking, name) == pytest.approx(getattr(limited, name), rel=1e-12)


def test_endless_patience_is_no_patience() -> None:
    patient, plain = solve(Open(M(1 / 2.4), M(1.0), 3, patience=M(1e9))), solve(MMc(2.4, 1.0, 3))
    assert patient.W == pytest.approx(plain.W, rel=1e-6)
    assert patient["served"].Wq == pytest.approx(plain.Wq, rel=1e-6)


def test_patience_like_the_service_is_an_endless_servers_queue() -> None:
    """With θ = μ everybody present leaves at rate μ: the number present is Poisson (Garnett et al. 2002)."""
    assert solve(Open(M(1 / 12), M(1.0), 10, patience=M(1.0))).L == pytest.approx(12.0, rel=1e-12)


def test_flows_balance() -> None:
    r = solve(Open(M(1 / 12), M(1.0), 10, capacity=30, patience=M(2.0), balking=(0,) * 12 + (0.1, 0.3)))
    served, gone = r.classes
    assert served.L + gone.L == pytest.approx(r.L, rel=1e-12)
    assert (served.throughput + gone.throughput) * r.W == pytest.approx(r.L, rel=1e-12)
    assert r.throughput == pytest.approx(12 * (1 - r.p_block), rel=1e-12)


def test_where_nobody_joins_or_nobody_waits() -> None:
    empty = solve(Open(M(2.0), M(0.7), balking=(1.0,)))
    assert (empty.W, empty.Wq, empty.L, empty.p_wait, empty.p_block, empty.throughput) == (0.7, 0, 0, 0, 1, 0)
    loss = solve(Open(M(1.0), M(1.4), 2, capacity=2, patience=M(3.0)))
    served, gone = loss.classes
    assert (gone.throughput, served.p_block, gone.p_block) == (0, 0, 0)
    assert math.isnan(gone.W)
    assert math.isnan(gone.Wq)
    assert served.Wq == 0
    patient = solve(Open(M(1.0), M(1.4), 2, patience=M(3.0)))
    assert patient["gave up"].W == pytest.approx(patient["gave up"].L / patient["gave up"].throughput)


def test_one_server_has_one_queue_however_it_is_called() -> None:
    known = solve(Open(M(1.0), M(0.9), patience=M(3.0)))
    assert solve(Open(M(1.0), M(0.9), patience=M(3.0), queues="random")).W == known.W
    with pytest.raises(NoFormulaError):
        solve(Open(M(1.0), M(0.9), 2, patience=M(3.0), queues="random"))


def test_an_overloaded_balking_queue_is_refused() -> None:
    with pytest.raises(UnstableQueueError):
        solve(Open(M(0.5), M(1.0), balking=(0, 0.4)))


def test_general_patience_has_no_formula() -> None:
    with pytest.raises(NoFormulaError, match="impatient"):
        solve(Open(M(0.5), M(1.0), patience=Erlang(2, 1.0)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"balking": (0, 1.2)}, r"balking\[1\] must be a probability"),
        ({"balking": (-0.1,)}, r"balking\[0\] must be zero or positive"),
        ({"balking": ()}, "balking must not be empty"),
        ({"patience": 2.0}, "patience must be a Distribution"),
        ({"patience": M(1.0), "discipline": "PS"}, "patience must be None under PS"),
        ({"patience": M(1.0), "capacity": 3, "when_full": "blocked"}, "patience must be None where arrivals"),
    ],
)
def test_what_describes_no_impatience_is_refused(given: dict, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(InvalidParameterError, match=said):
        Open(M(1.0), M(1.0), **given)
