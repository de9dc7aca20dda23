"""Arguments at the edge of what floats, memory and time can hold: an answer, or one sentence that names them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from qsim import (
    MG1,
    MM1,
    MM1K,
    BurrXII,
    Closed,
    Delay,
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    GGc,
    HyperExponential,
    LogNormal,
    MMc,
    MMcN,
    Network,
    NoFormulaError,
    Open,
    Station,
    SteadyStateError,
    UnstableQueueError,
    Weibull,
    asymptotic_bounds,
    erlang_b,
    simulate,
    solve,
    trace,
)

ONE = Exponential(1.0)
MANY = 10**9

REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: MM1(10**400, 1), "arrival_rate must be a number below"),
    (lambda: MM1(5e-324, 1), "arrival_rate must be at least 1e-100"),
    (lambda: MM1(1, 1e308), "service_rate must be at most 1e\\+100"),
    (lambda: Exponential(1e308), "mean must be at most 1e\\+100"),  # simulated, its sums were no floats
    (lambda: Deterministic(1e308), "value must be at most 1e\\+100"),
    (lambda: HyperExponential.from_moments(1.0, 1e308), "scv must be at most 1e\\+100"),
    (lambda: Empirical([1.0, 1e308]), r"values\[1\] must be at most 1e\+100"),
    (lambda: Station(ONE, visits=1e18), "visits must be at most 1e\\+12"),
    (lambda: Network({"a": Station({"Reads": ONE})}, {"reads": 1}), "service of a must name classes, not 'Reads'"),
    (lambda: Network({"a": Station(ONE, visits={"b": 2})}, {"reads": 1}), "visits of a must name classes, not 'b'"),
    (lambda: MMc(1, 1, 1e30), "servers must be at most"),  # type: ignore[arg-type]
    (lambda: MMcN(10**20, 1, 1), "population must be at most"),
    (lambda: solve(MM1(0.5, 1)).p(10**400), "n must be a number below"),
    (lambda: Weibull(0.001, 1.0), "shape must be at least"),
    (lambda: BurrXII(1e-3, 2000, 1.0), "c must not be as small"),
    (lambda: LogNormal(1.0, 1e100), "scv must be at most 1e\\+12"),
    (lambda: Empirical.from_histogram(3, 4), "edges must be a list"),  # type: ignore[arg-type]
    (lambda: Empirical.from_histogram([0, 1, "a"], [1, 2]), r"edges\[2\] must be a number"),  # type: ignore[list-item]
    (lambda: erlang_b(10**9, 5e8), "offered_load must be below"),
    (lambda: asymptotic_bounds(["a"], 1, [1]), r"populations\[0\] must be a number"),
    (lambda: asymptotic_bounds([[1, 2]], 1, [1]), r"populations\[0\] must be a number"),
    (lambda: asymptotic_bounds([1], 1, [1], servers=2), "servers must be a list"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("build", "said"), REFUSED)
def test_a_refusal_names_the_argument(build: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        build()


@pytest.mark.parametrize(
    "model",
    [
        MMcN(MANY, 1, 1),
        MM1K(1, 1, MANY),
        Closed(MANY, [Delay(1), Station(Exponential(1), 2, capacity=MANY)]),
        Closed(MANY, [Station(ONE), Station(ONE)]),
        Closed(MANY, [Station(ONE, 4, queues="random")]),
        Closed(10**6, [Station(ONE, 4, queues="random"), Station(ONE)]),
        Open(ONE, Exponential(0.5), capacity=MANY, discipline="PS"),
        Open(ONE, Exponential(0.5), capacity=MANY, speeds=(1, 2)),
        Open(ONE, Deterministic(0.5), MANY, MANY),
        GGc(Gamma(1.0, 0.5), Exponential(0.9 * MANY), MANY),
        Closed(5, [Delay(1), Station(BurrXII(1.3, 1.0, 1.0))]),  # its variance is infinite
        Open(BurrXII(1.01, 1.0, 1.0), Exponential(0.5)),  # waits of 1e30 services
    ],
    ids=lambda model: model.kendall,
)
def test_what_memory_time_or_floats_do_not_hold_has_no_formula(model: Network) -> None:
    with pytest.raises(NoFormulaError, match=r"simulate|asymptotic_bounds|a law that ends sooner"):
        solve(model)


def test_an_overload_beyond_counting_is_told_in_one_short_line() -> None:
    with pytest.raises(UnstableQueueError, match=r"at least 5e\+98 servers") as refusal:
        solve(MM1(1e100, 20))
    assert len(str(refusal.value)) < 250


def test_the_rare_phase_of_an_extreme_hyperexponential_keeps_its_digits() -> None:
    law = HyperExponential.from_moments(1.0, 1e17)
    assert law.mean == pytest.approx(1.0)
    assert law.scv == pytest.approx(1e17)


VARIED = [LogNormal(1.0, 1e9), Gamma(1.0, 1e9), HyperExponential((1 - 1e-20, 1e-20), (1.0, 1e15)), Weibull(0.02, 1.0)]


@pytest.mark.parametrize("servers", [1, 2, 3])
@pytest.mark.parametrize("law", VARIED)
def test_waits_of_laws_that_vary_beyond_all_measure_are_possible_numbers(law: Distribution, servers: int) -> None:
    fast = law.scaled(0.5 * servers)
    even = Erlang(2, 1.0)
    for model in (Open(even, fast, servers), Open(law, even.scaled(0.5 * servers), servers), Open(law, fast, servers)):
        r = solve(model)
        assert 0 <= r.Wq <= max(r.approximations.values(), default=math.inf)
        assert 0 <= r.p_wait <= 1


def test_arrivals_of_a_long_tailed_weibull_keep_the_digits_of_the_longest_waits() -> None:
    r = solve(Open(Weibull(0.02, 1.0), Exponential(0.5)))
    # The wait is exponential of this mean, as nearly everybody waits.
    assert r.Wq > 1e20
    assert r.quantile(0.5) == pytest.approx(r.Wq * math.log(2))
    assert r.survival(r.Wq, "Wq") == pytest.approx(math.exp(-1))


def test_moments_of_a_long_tailed_weibull_do_not_overflow() -> None:
    law = Weibull(0.02, 1.0)
    assert law.moment(1) == pytest.approx(1.0)
    assert solve(MG1(0.5, law)).W == pytest.approx(1 + 0.5 * (1 + law.scv) / 2 / 0.5)


def test_the_shortest_job_first_wait_is_infinite_where_the_variance_is() -> None:
    service = BurrXII(1.5, 1.0, 1.0)
    W = {rule: solve(Open(Exponential(2.0), service, discipline=rule)).W for rule in ("SJF", "SRPT", "PSJF")}  # type: ignore[arg-type]
    assert W["SRPT"] < W["PSJF"] < W["SJF"] == math.inf


def test_times_of_infinite_variance_are_told_and_never_called_steady() -> None:
    endless = MG1(0.5, BurrXII(1.5, 1.0, 1.0))
    with pytest.raises(SteadyStateError, match=r"infinite variance.*Give allow_short=True") as refusal:
        simulate(endless, customers=20_000, seed=1)
    assert refusal.value.metrics.throughput == pytest.approx(0.5, rel=0.1)


def test_a_trace_refuses_what_is_no_model_and_no_time() -> None:
    with pytest.raises(ValueError, match=r"^model must be such as"):
        trace("M/M/1", [1.0], [1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^interarrivals\[0\] must be a number"):
        trace(MM1(0.5, 1.0), ["a"], [1.0])
