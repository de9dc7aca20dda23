"""Standard errors, intervals and the chance misfit of laws of service, against published and independent values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrate.service import FamilyFit, Times, of_percentiles, of_samples
from calibrate.service.families import Candidate, lognormals, plain_families, shifted
from calibrate.service.ladder import fit_family
from calibrate.service.likelihood import Binned
from qsim import Exponential, Gamma, LogNormal, Shifted

PLAIN = {family.name: family for family in plain_families()}
WITHIN = 1.6449


def fitted(times: Times, family: Candidate) -> FamilyFit:
    fit = fit_family(times, Binned.of(times), family)
    assert isinstance(fit, FamilyFit)
    return fit


@pytest.mark.parametrize("requests", [300, 3000])
def test_the_mean_of_an_exponential_is_known_to_one_over_the_root_of_the_requests(requests: int) -> None:
    times = of_samples(Exponential(1e-4).sample(np.random.default_rng(1), requests))
    precision = fitted(times, PLAIN["exponential"]).precision
    factor = math.exp(WITHIN / math.sqrt(requests))
    for known in (precision.mean(), precision.quantile(0.99), precision.parameters()["mean"]):
        assert known.identified
        assert known.high / known.estimate == pytest.approx(factor, rel=2e-3)
        assert known.estimate / known.low == pytest.approx(factor, rel=2e-3)


def test_the_parameters_of_a_lognormal_have_their_textbook_errors() -> None:
    """σ / √n of the logarithm of the median, and σ / √(2n) of sigma."""
    times = of_samples(LogNormal(1e-4, math.expm1(0.25)).sample(np.random.default_rng(2), 2000))
    known = fitted(times, PLAIN["lognormal"]).precision.parameters()
    median, sigma = known["median"], known["sigma"]
    assert math.log(median.high / median.low) / 2 == pytest.approx(WITHIN * sigma.estimate / math.sqrt(2000), rel=0.01)
    assert math.log(sigma.high / sigma.low) / 2 == pytest.approx(WITHIN / math.sqrt(4000), rel=0.02)


def test_a_share_stays_between_none_and_all() -> None:
    rng = np.random.default_rng(3)
    both = np.concatenate([LogNormal(80e-6, 0.02).sample(rng, 295), LogNormal(400e-6, 0.02).sample(rng, 5)])
    weight = fitted(of_samples(both), lognormals(2)).precision.parameters()["weight 2"]
    odds = [p / (1 - p) for p in (weight.low, weight.estimate, weight.high)]
    assert 0 < weight.low < 5 / 300 < weight.high < 1
    # The log-odds of k of n have the variance 1 / k + 1 / (n - k).
    assert math.log(odds[2] / odds[0]) / 2 == pytest.approx(WITHIN * math.sqrt(1 / 5 + 1 / 295), rel=0.02)


def test_a_shift_has_no_interval() -> None:
    times = of_samples(Shifted(Exponential(60e-6), 40e-6).sample(np.random.default_rng(4), 500))
    known = fitted(times, shifted(PLAIN["exponential"], Binned.of(times).latest_shift)).precision.parameters()
    assert known["shift"].estimate == pytest.approx(40e-6, rel=0.03)
    assert (known["shift"].low, known["shift"].high) == (None, None)
    assert known["mean"].low < 60e-6 < known["mean"].high


@pytest.mark.parametrize(("family", "stephens"), [("exponential", 1.094), ("lognormal", 0.895)])
def test_a_true_law_misses_by_what_stephens_found(family: str, stephens: float) -> None:
    """Stephens (1974), Table 1.A: 5 % points of D with the parameters fitted, exponential and normal."""
    law = Exponential(1e-4) if family == "exponential" else LogNormal(1e-4, 1.0)
    requests = 400
    fit = fitted(of_samples(law.sample(np.random.default_rng(8), requests)), PLAIN[family])
    assert fit.ks_by_chance == pytest.approx(stephens / math.sqrt(requests), rel=0.10)  # bins hide a part
    assert fit.ks < fit.ks_by_chance


def test_a_wrong_law_misses_by_more_than_by_chance() -> None:
    fit = fitted(of_samples(Gamma(1e-4, 0.25).sample(np.random.default_rng(6), 1000)), PLAIN["exponential"])
    assert fit.ks > 3 * fit.ks_by_chance


def test_nothing_is_said_of_chance_where_the_number_of_requests_is_assumed() -> None:
    times = of_percentiles({0.5: 80e-6, 0.9: 140e-6, 0.99: 300e-6})
    assert fitted(times, PLAIN["lognormal"]).ks_by_chance is None


def test_the_band_of_the_share_done_is_that_of_its_quantile() -> None:
    times = of_samples(Exponential(1e-4).sample(np.random.default_rng(7), 1000))
    precision = fitted(times, PLAIN["exponential"]).precision
    mean = precision.mean().estimate
    below, low, high = precision.below(np.array([mean]))
    error = WITHIN * math.exp(-1) / math.sqrt(1000)  # of 1 - e^(-t/m) at m: its derivative by log m is 1/e
    assert below[0] == pytest.approx(1 - math.exp(-1))
    assert (high - low)[0] / 2 == pytest.approx(error, rel=0.01)
