"""Run until a relative precision is met."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from typing import Any

import pytest

from qsim import MM1, Metrics, MMc, PrecisionError, SteadyStateError, UnstableQueueError, simulate, solve
from qsim.engines.precision import STRETCH, PrecisionTarget, relative_half_width, run_to_precision
from qsim.engines.run import shortest_run

MODEL = MM1(0.5, 1.0)


@pytest.mark.parametrize("precision", [0.05, 0.02, 0.01])
def test_the_precision_asked_for_is_met(precision: float) -> None:
    r = simulate(MODEL, precision=precision, customers=10_000, seed=1)
    assert relative_half_width(r, "W") <= precision
    assert not r.warnings


def test_a_narrower_interval_takes_more_customers() -> None:
    taken = [simulate(MODEL, precision=p, customers=10_000, seed=2).customers or 0 for p in (0.1, 0.03, 0.01)]
    assert taken == sorted(set(taken))


def test_the_outcome_is_that_of_a_plain_run_of_the_final_length() -> None:
    r = simulate(MODEL, precision=0.02, customers=10_000, seed=3)
    assert r.customers is not None
    assert simulate(MODEL, customers=r.customers, seed=3) == r


def test_several_values_are_all_met() -> None:
    r = simulate(MODEL, precision=0.02, precision_of=("W", "Lq", "p_wait"), customers=10_000, seed=4)
    assert all(relative_half_width(r, name) <= 0.02 for name in ("W", "Lq", "p_wait"))
    alone = simulate(MODEL, precision=0.02, precision_of="p_wait", customers=10_000, seed=4)
    assert (alone.customers or 0) < (r.customers or 0)


def test_the_cap_holds_and_the_estimate_comes_with_the_refusal() -> None:
    with pytest.raises(PrecisionError, match="most_customers") as refusal:
        simulate(MODEL, precision=0.001, customers=10_000, most_customers=40_000, seed=1)
    assert refusal.value.metrics.customers == 40_000
    assert "interval of W" in refusal.value.metrics.warnings[0]
    shown = simulate(MODEL, precision=0.001, customers=10_000, most_customers=40_000, seed=1, allow_short=True)
    assert shown == refusal.value.metrics


def test_it_never_stops_before_the_queue_forgets_its_start() -> None:
    slow = MMc(2.85, 1.0, 3)
    r = simulate(slow, precision=0.9, customers=100, seed=1)
    assert (r.customers or 0) >= shortest_run(slow)


def test_each_run_is_twice_the_one_before_or_more() -> None:
    """Widths that shrink as they should, from a made-up run."""
    lengths = []
    some = simulate(MODEL, customers=10_000, seed=1)

    def once(customers: int, _: object) -> Metrics:
        lengths.append(customers)
        reach = 10 / customers**0.5
        return dataclasses.replace(some, W=1.0, intervals={**some.intervals, "W": (1 - reach, 1 + reach)})

    run_to_precision(once, PrecisionTarget.checked(0.01, "W", 1e9, 100), 100, None)
    assert 10 / lengths[-1] ** 0.5 <= 0.01
    factors = [b / a for a, b in itertools.pairwise(lengths)]
    assert all(2 <= factor <= STRETCH for factor in factors)
    assert lengths[-1] <= 4e6  # a million are enough


def test_progress_only_rises_and_ends_at_one() -> None:
    seen: list[float] = []
    simulate(MODEL, precision=0.005, customers=600_000, seed=1, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"precision": 0}, "^precision "),
        ({"precision": 1}, "^precision "),
        ({"precision": "tight"}, "^precision "),
        ({"precision": 0.1, "precision_of": "R"}, "^precision_of .* 'R'"),
        ({"precision": 0.1, "precision_of": "p_block"}, "^precision_of"),
        ({"precision": 0.1, "precision_of": ()}, "^precision_of must not be empty"),
        ({"precision": 0.1, "most_customers": 10}, "^most_customers"),
    ],
)
def test_nonsense_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(MODEL, **{"customers": 1000, **arguments})


@pytest.mark.parametrize(
    ("model", "of"), [(MM1(0.8, 1.0), ("W",)), (MMc(2.4, 1.0, 3), ("W", "Lq")), (MM1(0.9, 1.0), ("Lq",))]
)
def test_what_is_reached_is_true(model: Any, of: tuple[str, ...]) -> None:
    """Twice the precision is about four standard errors: beyond it a run in thousands."""
    exact = solve(model)
    for seed in range(5):
        r = simulate(model, precision=0.02, precision_of=of, customers=50_000, seed=seed)
        for name in of:
            assert getattr(r, name) == pytest.approx(getattr(exact, name), rel=0.04)


@pytest.mark.parametrize("kind", [SteadyStateError, PrecisionError])
def test_refusals_survive_the_way_from_another_process(kind: Any) -> None:
    error = kind("It is too short.", "Give {allow_short}.", simulate(MODEL, customers=10_000, seed=1))
    back = pickle.loads(pickle.dumps(error))  # noqa: S301
    told = "It is too short. Give allow_short=True to see the estimate as it is."
    assert (type(back), str(back), back.metrics) == (kind, told, error.metrics)
    unstable = pickle.loads(pickle.dumps(UnstableQueueError("M/M/1", 2.0, 1.0, 1)))  # noqa: S301
    assert unstable.rho == 2
