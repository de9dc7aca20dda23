"""Nodes: against an exact conjugate answer, against dense grids, and what may change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from calibrate.inference.parameters import MisfitPrior, Parameter, covariance_of
from calibrate.inference.tables import EVERYWHERE, Observed, Scale, Stratum, table_by_likelihood, table_of
from calibrate.inference.weights import Weights
from calibrate.models.curves import CLOSED_MISFIT, CLOSED_PROCESS, AsymptoticBounds, ClosedModel, OnsetPNorm, PNorm

SHARES = (0.05, 0.5, 0.95)
DEPTHS = 2.0 ** np.arange(8)


def closed_table(model: ClosedModel, strata, loads, rates, noise=0.0) -> Weights:
    observed = Observed(loads, np.log(rates), np.full(len(loads), noise))
    return table_of(
        model.parameters(loads, rates, loads / rates),
        strata,
        lambda v: model.log_throughput(v, loads),
        observed,
        model.process,
        model.misfit,
        Scale("Xmax"),
    )


def rates_of(loads: np.ndarray, noise: float = 0.0, crossing: float = 10.0, p: float = 3.0) -> np.ndarray:
    exact = ((loads / crossing) ** -p + 1) ** (-1 / p) * 1e5
    return exact * np.exp(noise * np.random.default_rng(1).standard_normal(len(loads)))


@pytest.mark.parametrize("sd", [np.inf, 0.1])
def test_of_a_curve_with_a_scale_only_the_posterior_is_the_exact_normal_one(sd: float) -> None:
    loads, noise = np.array([1.0, 3.0, 3.5, 40.0]), np.array([0.02, 0.1, 0.05, 0.01])
    seen, told = np.log([7.0, 8.0, 6.5, 7.2]), np.log(7.5)
    one_size = MisfitPrior(0.05, 1e-12)
    table = table_of(
        [Parameter("X", "", 1e-9, 1e9)],
        EVERYWHERE,
        lambda v: np.zeros((len(v), 4)),
        Observed(loads, seen, noise),
        CLOSED_PROCESS,
        one_size,
        Scale("X", told, sd),
    )
    precision = np.linalg.inv(covariance_of(CLOSED_PROCESS, loads, noise, 0.05))
    whole = precision.sum() + sd**-2.0
    mean = (precision.sum(axis=0) @ seen + sd**-2.0 * told) / whole
    found = np.log(table.quantiles(lambda v: v[:, 0], SHARES))
    assert found == pytest.approx(mean + norm.ppf(SHARES) / np.sqrt(whole), abs=2e-3 / np.sqrt(whole))


@pytest.mark.parametrize("unit", [1e3, 1.7, 0.3])
def test_of_a_single_point_the_unit_changes_nothing(unit: float) -> None:
    """A scale fits one point exactly at every node: their likelihoods are equal, to the last digit."""
    model, one = OnsetPNorm(), np.array([1.0])
    rates = [np.array([12345.6]) * factor for factor in (1.0, unit)]
    found = [closed_table(model, model.strata, one, each) for each in rates]
    for quantity in (model.knee_load, lambda v: v[:, 2], lambda v: v[:, 3]):
        first, other = (table.quantiles(quantity, SHARES) for table in found)
        assert other == pytest.approx(first, rel=1e-12)


def dense(model: ClosedModel, loads: np.ndarray, rates: np.ndarray, noise: float, steps: int) -> Weights:
    """The posterior on a dense grid, zoomed in twice, by the covariance of each size itself."""
    parameters = model.parameters(loads, rates, loads / rates)
    free = [i for i, p in enumerate(parameters) if p.name != "Xmax"]
    low, high = np.full(len(free), -5.0), np.full(len(free), 5.0)
    sizes, prior = model.misfit.sizes()
    for _ in range(3):
        axes = [a + (np.arange(steps) + 0.5) / steps * (b - a) for a, b in zip(low, high, strict=True)]
        z = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(free))
        values = np.ones((len(z), len(parameters)))
        for column, i in enumerate(free):
            p = parameters[i]
            assert p.prior_median is not None
            assert p.prior_log_sd is not None
            values[:, i] = np.clip(p.prior_median * np.exp(p.prior_log_sd * z[:, column]), p.low, p.high)
        missed = np.log(rates) - np.log(model.throughput(values, loads))
        log, centre, spread = (np.empty((len(z), len(sizes))) for _ in range(3))
        for k, size in enumerate(sizes):
            covariance = covariance_of(model.process, loads, np.full(len(loads), noise), size)
            precision = np.linalg.inv(covariance)
            whole = precision.sum()
            centre[:, k], spread[:, k] = missed @ precision.sum(axis=0) / whole, whole**-0.5
            squares = np.einsum("nk,kl,nl->n", missed, precision, missed) - whole * centre[:, k] ** 2
            log[:, k] = -0.5 * (squares + np.linalg.slogdet(covariance)[1] + np.log(whole)) + prior[k]
        log -= 0.5 * (z**2).sum(axis=1)[:, None]
        inside = z[log.max(axis=1) > log.max() - 14]
        step = (high - low) / steps
        low, high = inside.min(axis=0) - 2 * step, inside.max(axis=0) + 2 * step
    rows = np.flatnonzero(log.ravel() > log.max() - 9)
    node, size = rows // len(sizes), rows % len(sizes)
    chosen, directions = values[node], np.zeros((len(rows), len(parameters), 1))
    chosen[:, 1], directions[:, 1, 0] = np.exp(centre.ravel()[rows]), spread.ravel()[rows]
    return Weights.of(chosen, sizes[size], log.ravel()[rows], directions)


CASES = {
    "two points": (np.array([1.0, 32]), 0.0, 0.0),
    "three": (np.array([1.0, 8, 64]), 0.0, 0.0),
    "exact": (DEPTHS, 0.0, 0.0),
    "noisy": (DEPTHS, 0.05, 0.0),
    "noise 1e-4": (np.arange(1.0, 13), 0.0, 1e-4),
    "one point": (np.ones(1), 0.0, 0.0),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("model", "steps", "within"), [(AsymptoticBounds(), 20_001, 0.02), (PNorm(), 400, 0.06)])
def test_quantiles_are_those_of_a_dense_grid(model: ClosedModel, steps: int, within: float, case: str) -> None:
    loads, disturbed, noise = CASES[case]
    rates = rates_of(loads, disturbed)
    ours = closed_table(model, EVERYWHERE, loads, rates, noise)
    wanted = dense(model, loads, rates, noise, steps)
    quantities = [lambda v: v[:, 0], lambda v: model.throughput(v, np.array([3.0]))[:, 0], model.lone]
    for quantity in quantities:
        exact, found = (np.log(t.quantiles(quantity, SHARES)) for t in (wanted, ours))
        width = max(exact[2] - exact[0], 1e-6)
        assert np.abs(found - exact).max() < within * width


@pytest.mark.parametrize("model", [PNorm(), OnsetPNorm()], ids=lambda m: m.name)
def test_narrow_posteriors_have_many_rows(model: ClosedModel) -> None:
    """The first set of nodes is far too coarse for these; what is refined must not be a handful of lucky ones."""
    for loads in (DEPTHS, np.arange(1.0, 13)):
        table = closed_table(model, model.strata, loads, rates_of(loads), 1e-4)
        assert 1 / (table.weight**2).sum() > 30
        low, middle, high = table.quantiles(lambda v: v[:, 2], SHARES)
        assert low < 3.0 < high
        assert middle == pytest.approx(3.0, rel=0.1)


def test_the_order_of_points_is_not_seen_and_a_factor_scales_the_scale_alone() -> None:
    model, order = OnsetPNorm(), np.array([2, 0, 3, 1])
    loads = np.array([1.0, 4, 16, 64])
    rates = rates_of(loads, 0.05)
    one = closed_table(model, model.strata, loads, rates)
    for other, factor in (
        (closed_table(model, model.strata, loads[order], rates[order]), 1.0),
        (closed_table(model, model.strata, loads, 1e-7 * rates), 1e-7),
        (closed_table(model, model.strata, loads, 1e6 * rates), 1e6),
    ):
        for column in range(4):
            wanted = one.quantiles(lambda v, c=column: v[:, c], SHARES) * (factor if column == 1 else 1.0)
            np.testing.assert_allclose(other.quantiles(lambda v, c=column: v[:, c], SHARES), wanted, rtol=1e-6)


def test_a_repeat_is_a_smaller_error() -> None:
    widths = []
    for noise in (0.2, 0.02):
        table = closed_table(PNorm(), PNorm.strata, DEPTHS, rates_of(DEPTHS), noise)
        low, _, high = table.quantiles(lambda v: v[:, 0], SHARES)
        widths.append(np.log(high / low))
    assert widths[1] < widths[0] / 2


def test_strata_weigh_by_their_evidence() -> None:
    def sharp_share(rates: np.ndarray) -> float:
        table = closed_table(PNorm(), PNorm.strata, DEPTHS, rates)
        return float(table.weight[table.values[:, 2] > 1e3].sum())

    assert sharp_share(np.minimum(DEPTHS / 8, 1.0) * 1e5) > 0.9
    assert sharp_share(rates_of(DEPTHS, p=1.0)) < 0.01


def test_what_another_part_of_the_prior_makes_improbable_is_looked_at_less_and_weighs_what_it_should() -> None:
    sure, widths = 0.002, np.array([0.05, 0.002])  # log a and log b of one measurement, at 0.3 and 0
    free, fixed = Stratum(0.6), Stratum(0.4, {"b": 1.0})
    looked: list[int] = []

    def log_likelihood(values: np.ndarray) -> np.ndarray:
        looked.append(int((values[:, 1] != 1).any()))
        return -0.5 * np.sum(((np.log(values) - [0.3, 0.0]) / widths) ** 2, axis=1)[None]

    def weight_of(*strata: Stratum) -> tuple[float, int]:
        looked.clear()
        a, b = (Parameter(name, "", 1e-9, 1e9, 1.0, 1.0) for name in "ab")
        table = table_by_likelihood((a, b), strata, log_likelihood, MisfitPrior(0.05, 1e-12), 256)
        return float(table.weight[table.values[:, 1] == 1].sum()), sum(looked)

    _, alone = weight_of(Stratum(1.0))
    weight, beside = weight_of(fixed, free)
    assert beside < alone
    odds = 0.4 / 0.6 * np.sqrt(1 + sure**-2)  # of b = 1 against a normal one: the part of the peak under the prior
    assert weight == pytest.approx(odds / (1 + odds), abs=0.002)


def test_a_part_of_the_prior_begins_where_the_one_before_it_found_the_weight() -> None:
    centre, widths = np.array([0.8, -0.5]), np.array([1e-3, 0.03])  # log a and log b of one measurement
    looked: list[int] = []

    def log_likelihood(values: np.ndarray) -> np.ndarray:
        looked.append(int((values[:, 1] != 1).any()))
        return -0.5 * np.sum(((np.log(values) - centre) / widths) ** 2, axis=1)[None]

    def found_by(*strata: Stratum) -> tuple[np.ndarray, int]:  # means and widths, and how often b was looked for
        looked.clear()
        a, b = (Parameter(name, "", 1e-9, 1e9, 1.0, 1.0) for name in "ab")
        table = table_by_likelihood((a, b), strata, log_likelihood, MisfitPrior(0.05, 1e-12), 256)
        logs = np.log(table.values)
        mean = table.weight @ logs
        return np.array([mean, np.sqrt(table.weight @ (logs - mean) ** 2)]), sum(looked)

    alone, sets_alone = found_by(Stratum(1.0))
    after, sets_after = found_by(Stratum(0.1, {"b": 1.0}), Stratum(0.9))
    assert sets_after < sets_alone
    for found in (alone, after):
        np.testing.assert_allclose((found[0] - centre / (1 + widths**2)) / widths, 0, atol=0.1)
        np.testing.assert_allclose(found[1], widths, rtol=0.1)


def test_a_parameter_without_a_prior_is_refused() -> None:
    with pytest.raises(ValueError, match="N has no prior"):
        table_of(
            [Parameter("N", "", 1, 2)],
            (Stratum(1.0),),
            lambda v: np.zeros((len(v), 1)),
            Observed(np.ones(1), np.ones(1), np.zeros(1)),
            CLOSED_PROCESS,
            CLOSED_MISFIT,
            None,
        )
