"""The draws are those of the posterior, wherever it lies; the sampler says nothing of its own."""

from __future__ import annotations

import numpy as np
import pytest

import calibrate.posterior as module
from calibrate.posterior import ErrorPrior, Parameter, Posterior, posterior
from calibrate.t_mixture import TMixture


def test_an_interruption_within_the_sampler_passes_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    calls = 0

    def interrupted(values: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > 60:  # the mode and the starts take fewer
            raise KeyboardInterrupt
        return np.log(values[:, :1] * np.array([1.0, 2.0, 3.0]))

    with pytest.raises(KeyboardInterrupt):
        posterior(
            [Parameter("a", "", 0.1, 10.0)], np.array([1.0]), interrupted, np.log([1.0, 2.0, 3.0]), np.zeros(3),
            ErrorPrior(0.03),
        )  # fmt: skip
    assert calls > 60
    assert capfd.readouterr() == ("", "")


ERROR = ErrorPrior(0.05)
OBSERVED = np.array([0.02, -0.05, 0.08, 0.01])


def by_quadrature(log_prediction, low: float, high: float) -> np.ndarray:
    """The 5th, 50th and 95th percentile of the one log parameter, on a grid of it and of the model's error."""
    return percentiles(lambda theta: log_prediction(theta)[:, None], np.linspace(low, high, 2001), OBSERVED, ERROR)


def percentiles(log_prediction, theta: np.ndarray, observed: np.ndarray, error: ErrorPrior) -> np.ndarray:
    """The same on any grid (n,), as fine as needed where the posterior is narrow."""
    log_error = np.log(error.median) + np.linspace(-5, 5, 801)
    missed = ((log_prediction(theta) - observed) ** 2).sum(axis=1)
    log_p = -0.5 * missed[:, None] * np.exp(-2 * log_error) - observed.size * log_error
    log_p -= 0.5 * ((log_error - np.log(error.median)) / error.log_sd) ** 2
    share = np.exp(log_p - log_p.max()).sum(axis=1) * np.gradient(theta)
    below = np.cumsum(share) - 0.5 * share
    return np.interp([0.05, 0.5, 0.95], below / share.sum(), theta)


@pytest.mark.parametrize(
    ("log_prediction", "low"),
    [
        (lambda theta: theta, -3.0),
        (lambda theta: theta, 0.01),  # most of it would be below the bound
        (lambda theta: np.expm1(np.minimum(theta, 0.0)) / 20, -3.0),  # flat up to the upper bound
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_ends_of_intervals_are_those_of_quadrature(log_prediction, low: float, seed: int) -> None:
    made = posterior(
        [Parameter("a", "", float(np.exp(low)), float(np.exp(3.0)))], np.array([1.1]),
        lambda values: log_prediction(np.log(values)) + np.zeros(len(OBSERVED)), OBSERVED, np.zeros(4), ERROR,
        seed=seed,
    )  # fmt: skip
    exact = by_quadrature(log_prediction, low, 3.0)
    drawn = np.percentile(np.log(made.draws[:, 0]), [5, 50, 95])
    assert made.settled
    assert np.abs(drawn - exact).max() < 0.05 * (exact[2] - exact[0])


RATES = np.array([1000.0, 9000.0, 20000.0])


def one_server(values: np.ndarray) -> np.ndarray:
    """The log response of M/M/1 queues of capacities (w, 1) at the ``RATES``."""
    return -np.log(values) - np.log1p(-np.minimum(RATES / values, 0.9999))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_a_narrow_peak_is_not_taken_for_all_that_there_is(seed: int) -> None:
    """A response of 10 s makes a peak just above the rate it was seen at, but most of the posterior is elsewhere."""
    observed, error, low, high = np.log([1e-4, 10.0, 1e-4]), ErrorPrior(0.03), np.log(8000.8), np.log(1e6)
    grid = low + np.concatenate([[0.0], np.geomspace(1e-9, high - low, 6001)])
    exact = percentiles(lambda theta: one_server(np.exp(theta)[:, None]), grid, observed, error)
    made = posterior(
        [Parameter("X", "", 8000.8, 1e6)], np.array([9005.0]), one_server, observed, np.zeros(3), error, seed=seed
    )
    assert made.settled
    drawn = np.percentile(np.log(made.draws[:, 0]), [5, 50, 95])
    assert np.abs(drawn - exact).max() < 0.08 * (exact[2] - exact[0])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_parameter_pressed_on_its_bound_is_drawn_inside(seed: int) -> None:
    """The one observation is e^5 times what the bound allows."""
    error, observed = ErrorPrior(0.1), np.array([5.0])
    exact = percentiles(lambda theta: theta[:, None], np.linspace(np.log(1e-3), 0, 4001), observed, error)
    made = posterior([Parameter("a", "", 1e-3, 1.0)], np.array([1.0]), np.log, observed, np.zeros(1), error, seed=seed)
    assert made.settled
    drawn = np.percentile(np.log(made.draws[:, 0]), [5, 50, 95])
    assert np.abs(drawn - exact).max() < 0.08 * (exact[2] - exact[0])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_the_starts_leave_out_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Of two modes alike the starts are all at one."""

    def at_one(_target: object, _modes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.array([1.0, np.log(ERROR.median)]) + 0.02 * rng.standard_normal((n, 2))

    monkeypatch.setattr(module, "random_starts", at_one)
    made = posterior(
        [Parameter("a", "", 0.01, 100.0)], np.array([2.0]), lambda values: np.log(values) ** 2 + np.zeros(4),
        1 + OBSERVED, np.zeros(4), ERROR, seed=seed,
    )  # fmt: skip
    assert made.settled
    assert 0.4 < (made.draws[:, 0] > 1).mean() < 0.6


def test_a_mixture_that_is_good_at_once_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    proposed: list[int] = []

    class Counted(module.Proposals):
        def add(self, mixture: TMixture, n: int, rng: np.random.Generator) -> np.ndarray:
            proposed.append(n)
            return super().add(mixture, n, rng)

    monkeypatch.setattr(module, "Proposals", Counted)
    posterior(
        [Parameter("a", "", 0.1, 10.0)], np.array([1.1]), lambda values: np.log(values) + np.zeros(4), OBSERVED,
        np.zeros(4), ERROR,
    )  # fmt: skip
    assert proposed == [module.ANYWHERE, module.ROUNDS[0].proposed]


def test_the_largest_seed_is_as_good_as_others() -> None:
    made = posterior(
        [Parameter("a", "", 0.1, 10.0)], np.array([1.1]), lambda values: np.log(values) + np.zeros(4), OBSERVED,
        np.zeros(4), ERROR, seed=2**32 - 1,
    )  # fmt: skip
    assert made.settled


def test_a_mode_that_no_start_leads_to_is_found() -> None:
    made = posterior(
        [Parameter("a", "", 0.01, 100.0)], np.array([2.0]), lambda values: np.log(values) ** 2 + np.zeros(4),
        1 + OBSERVED, np.zeros(4), ERROR,
    )  # fmt: skip
    assert 0.45 < (made.draws[:, 0] > 1).mean() < 0.55


def test_a_ridge_is_covered_to_its_ends() -> None:
    """Of a product of two numbers nothing is known of either."""
    both = [Parameter("a", "", 0.01, 100.0), Parameter("b", "", 0.01, 100.0)]
    made = posterior(
        both, np.array([1.0, 1.0]), lambda values: np.log(values).sum(axis=1, keepdims=True) + np.zeros(4), OBSERVED,
        np.zeros(4), ERROR,
    )  # fmt: skip
    for column in np.log(made.draws).T:
        assert np.percentile(column, [5, 50, 95]) / np.log(100) == pytest.approx([-0.9, 0.0, 0.9], abs=0.06)


def test_where_the_weights_are_worth_too_little_the_walkers_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> Posterior:
        return posterior(
            [Parameter("a", "", 0.1, 10.0)], np.array([1.1]), lambda values: np.log(values) + np.zeros(4), OBSERVED,
            np.zeros(4), ERROR,
        )  # fmt: skip

    usual = made()
    monkeypatch.setattr(module, "ROUNDS", (module.Round(3000, np.inf, 24),))
    longer = made()
    assert longer.settled
    assert len(longer.draws) > len(usual.draws)
    ends = [np.percentile(np.log(m.draws[:, 0]), [5, 95]) for m in (usual, longer)]
    assert ends[0] == pytest.approx(ends[1], abs=0.05 * np.ptp(ends[0]))
    drifting = np.random.default_rng(0).standard_normal((10, 64, 2)) + np.arange(10.0)[:, None, None]
    monkeypatch.setattr("calibrate.ensemble.Walkers.walk", lambda _self, _steps, _kept: drifting)
    assert not made().settled


def test_equal_seeds_draw_alike_and_others_do_not() -> None:
    def draws(seed: int) -> np.ndarray:
        return posterior(
            [Parameter("a", "", 0.1, 10.0)], np.array([1.1]), lambda values: np.log(values) + np.zeros(4), OBSERVED,
            np.zeros(4), ERROR, seed=seed,
        ).draws  # fmt: skip

    assert (draws(3) == draws(3)).all()
    assert (draws(3) != draws(4)).any()
