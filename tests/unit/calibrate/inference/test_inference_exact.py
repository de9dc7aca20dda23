"""Inference where the answer is exact: linear models, normal evidence, and sums that are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from calibrate.inference import tables
from calibrate.inference.parameters import (
    Estimate,
    MisfitPrior,
    MisfitProcess,
    Parameter,
    carried,
    covariance_of,
    quantity,
)
from calibrate.inference.tables import EVERYWHERE, Observed, Scale, Stratum, linearised, table_of
from calibrate.inference.weights import Weights, reaching
from calibrate.models.curves import estimates

LOADS = np.array([1.0, 2.0, 8.0, 64.0])
NOISE = np.array([0.02, 0.05, 0.03, 0.01])
PROCESS = MisfitProcess(length=1.0, own=0.3)
MISFIT = MisfitPrior(0.1)
SLOPES = np.array([[1.0, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("seen", [0.3, -2.0])
def test_a_linear_model_has_its_exact_normal_posterior(seen: float) -> None:
    """Of log measurements A·θ with normal priors: mean, covariance and evidence by the textbook."""
    medians, sds = np.array([2.0, 5.0]), np.array([0.5, 1.5])
    parameters = [Parameter(n, "", 1e-9, 1e9, m, s) for n, m, s in zip("ab", medians, sds, strict=True)]
    observed = SLOPES @ np.log(medians) + seen * np.array([1.0, -0.5, 0.3, 1.2])
    table = linearised(parameters, lambda v: np.log(v) @ SLOPES.T, Observed(LOADS, observed, NOISE), PROCESS, MISFIT)
    log_weight = []
    for size, log_prior in zip(*MISFIT.sizes(), strict=True):
        covariance = covariance_of(PROCESS, LOADS, NOISE, size)
        precision = SLOPES.T @ np.linalg.inv(covariance) @ SLOPES + np.diag(sds**-2.0)
        mean = np.linalg.solve(precision, SLOPES.T @ np.linalg.solve(covariance, observed) + np.log(medians) / sds**2)
        whole = covariance + SLOPES @ np.diag(sds**2) @ SLOPES.T
        log_weight.append(log_prior + multivariate_normal.logpdf(observed, SLOPES @ np.log(medians), whole))
        row = np.flatnonzero(np.isclose(table.misfit, size))
        if len(row):
            assert np.log(table.values[row[0]]) == pytest.approx(mean, abs=1e-4)
            factor = table.directions[row[0]]
            np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(precision), rtol=1e-5)
    evidence = float(np.logaddexp.reduce(log_weight)) + len(LOADS) / 2 * np.log(2 * np.pi)
    assert table.log_evidence == pytest.approx(evidence, abs=1e-5)
    weight = np.exp(np.array(log_weight) - max(log_weight))
    weight /= weight.sum()
    kept = np.array([np.isclose(table.misfit, s).any() for s in MISFIT.sizes()[0]])
    assert weight[~kept].sum() < 1e-3
    assert table.weight == pytest.approx(weight[kept] / weight[kept].sum(), rel=1e-4)


def test_a_descent_stops_at_a_bound() -> None:
    """The measurements ask for e³, the bound is e: there the row ends, whichever bound it is."""
    for sign in (1, -1):
        bound = Parameter("a", "", np.exp(-1.0), np.exp(1.0), 1.0, 2.0)
        measured = Observed(LOADS, np.full(4, 3.0 * sign), NOISE)
        table = linearised([bound], lambda v: np.log(v) @ np.ones((1, 4)), measured, PROCESS, MISFIT)
        assert np.log(table.values) == pytest.approx(np.full((len(table), 1), float(sign)))


def test_a_curved_model_is_followed_to_its_most_probable_parameters() -> None:
    """log of a + N: far from straight; at the mode the slope of the posterior is zero."""
    prior = Parameter("a", "", 1e-6, 1e6, 100.0, 3.0)
    truth = np.log(2.0 + LOADS)
    calls: list[np.ndarray] = []

    def curve(v: np.ndarray) -> np.ndarray:
        calls.append(v)
        return np.log(v + LOADS)

    table = linearised([prior], curve, Observed(LOADS, truth, NOISE), PROCESS, MISFIT)
    assert len(calls) <= 33
    for theta, size in zip(np.log(table.values[:, 0]), table.misfit, strict=True):
        precision = np.linalg.inv(covariance_of(PROCESS, LOADS, NOISE, size))

        def cost(t: float, precision: np.ndarray = precision) -> float:
            missed = truth - np.log(np.exp(t) + LOADS)
            return float(missed @ precision @ missed + (t - np.log(100.0)) ** 2 / 9)

        assert cost(theta) <= min(cost(theta - 0.01), cost(theta + 0.01))
    assert table.values.min() > 1.5
    assert table.values.max() < 3.0


def test_the_evidence_of_a_curve_is_its_normal_density() -> None:
    misses = np.random.default_rng(1).normal(0, 0.1, (3, 4))
    evidence = tables._Evidence.of(Observed(LOADS, np.full(4, 2.0), NOISE), PROCESS, MISFIT, None)
    log_like, centres = evidence.of_curves(2.0 - misses)
    apart = []
    for column, (size, log_prior) in enumerate(zip(*MISFIT.sizes(), strict=True)):
        covariance = covariance_of(PROCESS, LOADS, NOISE, size)
        wanted = multivariate_normal.logpdf(misses, np.zeros(4), covariance) + log_prior
        apart.append(log_like[column] - wanted)
    assert np.array(apart) == pytest.approx(
        np.full((len(apart), 3), apart[0][0])
    )  # a constant that all densities share
    assert not centres.any()


@pytest.mark.parametrize("narrow", [100.0, 1e4, 1e8])
def test_a_likelihood_is_flattened_just_so_far_that_enough_nodes_count(narrow: float) -> None:
    log_like = -narrow * ((tables.normal_nodes(512, 2) - 0.5) ** 2).sum(axis=1)
    log_like -= log_like.max()
    weight = np.exp(log_like)
    worth = weight.sum() ** 2 / (weight @ weight)
    found = tables._by_power(np.ones(512), log_like, worth, 2)
    assert worth < 40 <= 1 / (found @ found) < 41


def test_around_a_single_node_a_set_is_as_narrow_as_any() -> None:
    found = tables._refined(np.full((1, 300), 2.0), np.ones(300), np.zeros(300), 30.0)
    assert (found.middle, found.factor) == (pytest.approx([2.0]), pytest.approx(np.full((1, 1), 2e-7)))


def test_a_scale_is_integrated_out_over_its_prior() -> None:
    misses, mean, sd = np.array([0.3, 0.5, 0.2, 0.4]), 0.1, 0.2
    evidence = tables._Evidence.of(Observed(LOADS, misses, NOISE), PROCESS, MISFIT, Scale("X", mean, sd))
    log_like, centres = evidence.of_curves(np.zeros((1, 4)))
    scales = np.linspace(-1, 1.6, 2601)
    densities, best = [], []
    for size in MISFIT.sizes()[0]:
        covariance = covariance_of(PROCESS, LOADS, NOISE, size)
        joint = multivariate_normal.pdf(misses - scales[:, None], np.zeros(4), covariance) * norm.pdf(scales, mean, sd)
        densities.append(np.trapezoid(joint, scales))
        best.append(scales[int(joint.argmax())])
    assert centres[:, 0] == pytest.approx(best, abs=1e-3)
    relative = log_like[:, 0] - MISFIT.sizes()[1]
    assert relative - relative[0] == pytest.approx(np.log(densities) - np.log(densities[0]), abs=1e-5)


def test_misfits_have_seven_sizes_from_the_largest_down_and_a_pivot_brings_small_loads_together() -> None:
    sizes, log_prior = MISFIT.sizes()
    z = [2.1, 1.4, 0.7, 0, -0.7, -1.4, -2.1]
    assert (sizes, log_prior) == (
        pytest.approx(0.1 * np.exp(0.7 * np.array(z))),
        pytest.approx([-x * x / 2 for x in z]),
    )
    assert MisfitProcess(2.0, 0.0, pivot=20.0).between(np.zeros(1), np.full(1, 20.0)) == pytest.approx(0.5**0.5)
    for used in (np.zeros(0), np.array([1e-200])):  # of no other, or of one far away
        gain, covariance = carried(PROCESS, used, np.zeros(len(used)), np.array([0.5]), LOADS)
        assert covariance[0] == pytest.approx(0.25 * PROCESS.among(LOADS))
        assert gain.shape == (1, 4, len(used))


def test_strata_share_the_prior() -> None:
    """No point tells anything: the shares, and of the free one its log-normal prior, come back."""
    parameter = Parameter("p", "", 1e-3, 1e3, 2.0, 0.5)
    strata = (Stratum(0.25, {"p": 7.0}), Stratum(0.75))
    table = table_of(
        [parameter],
        strata,
        lambda v: np.zeros((len(v), 1)),
        Observed(np.ones(1), np.zeros(1), np.zeros(1)),
        PROCESS,
        MISFIT,
        None,
    )
    fixed = table.values[:, 0] == 7.0
    assert table.weight[fixed].sum() == pytest.approx(0.25, abs=0.01)
    logs, weight = np.log(table.values[~fixed, 0]), table.weight[~fixed] / table.weight[~fixed].sum()
    assert weight @ logs == pytest.approx(np.log(2.0), abs=0.02)
    assert weight @ (logs - np.log(2.0)) ** 2 == pytest.approx(0.25, rel=0.05)
    assert EVERYWHERE == (Stratum(1.0),)


# --- estimates --------------------------------------------------------------------------------------------------------


def test_quantities_are_said_in_their_units() -> None:
    said = {
        ("1/s", 1500.0): "1.50 k/s",
        ("s", 2e-6): "2.00 µs",
        ("B/s", 3e9): "3.00 GB/s",
        ("lines/s", 1e9): "64.0 GB/s",
        ("B", 512.0): "512 B",
        ("B", 4096.0): "4 KiB",
        ("B", 12345.0): "12.1 KiB",
        ("s per line", 2e-9): "2.00 ns per line",
        ("", 3.14159): "3.14",
        ("W", 3.14159): "3.14 W",
    }
    assert {key: quantity(key[1], key[0]) for key in said} == said
    assert quantity(None, "s") == ""
    assert str(Estimate(2.0, 1.0, 4.0, True)) == "2  [1, 4]"
    assert str(Estimate(2.0, None, 4.0, True)) == str(Estimate(2.0, 1.0, None, True)) == "2"


def test_an_interval_reaches_a_bound_where_the_density_piles_up() -> None:
    """At 90 % a uniform density has its lower end at 1/19 of the rest."""
    assert reaching(1.10, 3.0, 1.0, 0.9) == 1.0
    assert reaching(1.06, 2.0, 1.0, 0.9) == 1.06
    assert reaching(2.0, 2.0, 1.0, 0.0) == 1.0
    assert reaching(1.3, 2.0, 1.0, 0.5) == 1.0
    assert reaching(1.4, 2.0, 1.0, 0.5) == 1.4


class Servers:
    """A model that reports its one parameter as servers and as a time."""

    def report(self, values: np.ndarray) -> dict[str, tuple[str, np.ndarray]]:
        return {"c": ("", values[:, 0]), "S": ("s", values[:, 0])}


@pytest.mark.parametrize(
    ("sd", "prior", "identified", "note"),
    [
        (0.20, None, True, ""),
        (0.22, None, False, "anything from 3 to 7 fits these points"),
        (0.20, 0.34, True, ""),
        (0.20, 0.32, False, "mostly its prior, not these points"),
    ],
)
def test_a_parameter_is_sure_within_a_factor_of_two_and_beyond_its_prior(
    sd: float, prior: float | None, identified: bool, note: str
) -> None:
    """A factor of two over 90 % is a deviation of 0.2107."""
    priors = {} if prior is None else {"c": prior}
    table = Weights(np.full((1, 1), 4.49), np.array([0.1]), np.ones(1), np.full((1, 1, 1), sd))
    found = estimates(Servers(), table, priors, 0.9)
    assert (found["c"].identified, found["c"].note) == (identified, note)
    assert (found["c"].low, found["c"].high) == (3, 7)
    assert found["S"].low == pytest.approx(4.49 * np.exp(-1.645 * sd), rel=2e-3)
    assert (found["S"].unit, found["S"].estimate) == ("s", pytest.approx(4.49, rel=1e-3))
