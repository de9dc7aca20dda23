"""Laws of service times: known laws are found again from bins, and what cannot be fitted is refused."""

from __future__ import annotations

import tracemalloc
from functools import cache

import numpy as np
import pytest

from calibrate.service import Times, fit_service, of_histogram, of_percentiles, of_samples
from calibrate.service.families import Candidate, lognormals, mixture_theta, plain_families, shifted
from calibrate.service.fitted import MOST_FAMILIES, FamilyFit, ServiceFit, answer_table
from calibrate.service.ladder import findings_of, fit_family
from calibrate.service.likelihood import Binned
from calibrate.service.observed_times import parse_latencies, parse_percentiles
from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram
from qsim import BurrXII, Distribution, Exponential, Gamma, HyperExponential, LogNormal, Mixture, Shifted, Weibull

TWO_KINDS = Mixture((LogNormal(80e-6, 0.01), LogNormal(400e-6, 0.05)), (0.8, 0.2))


def drawn(law: Distribution, requests: int = 10_000, seed: int = 5) -> Times:
    return of_samples(law.sample(np.random.default_rng(seed), requests), "drawn")


@cache
def fitted_to_draws(law: Distribution) -> ServiceFit:
    return fit_service(drawn(law))


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (Exponential(1e-3), "exponential"),
        (Gamma(1e-3, 0.4), "gamma"),
        (Weibull(0.6, 1e-3), "Weibull"),
        (LogNormal(1e-3, 2.0), "lognormal"),
        (BurrXII(3.0, 1.2, 1e-3), "Burr XII"),
        (HyperExponential.from_moments(1e-3, 6.0), "hyperexponential"),
        (Shifted(Exponential(1e-3), 5e-4), "shifted exponential"),
        (TWO_KINDS, "2 lognormals"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_the_family_that_was_drawn_from_describes_the_draws(law: Distribution, name: str) -> None:
    fit = fitted_to_draws(law)
    own = next(f for f in fit.families if f.name == name)
    assert own.bic - fit.best.bic < 6  # BIC may prefer a close relative, by no more than chance
    assert own.ks < 0.0163  # a KS test of 10,000 at 1 %
    assert own.law.mean == pytest.approx(law.mean, rel=0.04)
    assert own.law.quantile(0.99) == pytest.approx(law.quantile(0.99), rel=0.08)


def test_the_families_beyond_those_shown_are_counted() -> None:
    fit = fitted_to_draws(Exponential(1e-3))
    header, observed, *best, more = answer_table([("drawn", fit)]).splitlines()
    assert (header.split()[0], observed.split()[0]) == ("PARAMETERS", "observed")
    assert [line.startswith(f.name) for line, f in zip(best, fit.families, strict=False)] == [True] * MOST_FAMILIES
    assert more == f"... and {len(fit.families) - MOST_FAMILIES} more families (--details)"


def fit_one(times: Times, name: str) -> FamilyFit:
    """One family of two parameters alone, which is quick."""
    return fit_family(times, Binned.of(times), next(f for f in plain_families() if f.name == name))


def test_coarse_bins_do_not_bias_the_estimate() -> None:
    law = Exponential(1e-3)
    edges = np.array([0.0, 0.5e-3, 2e-3, 4e-3, np.inf])
    counts = 1e6 * np.diff([float(law.cdf(e)) for e in edges[:-1]] + [1.0])
    found = fit_one(Times(edges[:-1], edges[1:], counts), "exponential")
    assert found.law.mean == pytest.approx(1e-3, rel=1e-4)  # the middles of the bins would say 1.2 ms
    assert found.ks < 1e-5


@pytest.mark.parametrize(("ks", "said"), [(0.99e-4, "< 0.01 %"), (1e-4, "0.01 %"), (0.0123, "1.2 %")])
def test_a_miss_is_said_to_be_below_a_hundredth_of_a_percent_only_where_it_is(ks: float, said: str) -> None:
    found = fit_one(drawn(Exponential(1e-3), 100), "exponential")
    vars(found)["ks"] = ks
    assert found.missed() == said


def test_the_likelihood_is_that_of_the_law() -> None:
    times = drawn(TWO_KINDS, 2000)
    binned = Binned.of(times)
    values = np.array([0.8, 0.2]), np.array([80e-6, 400e-6]) / binned.unit_s, np.array([0.1, 0.22])
    candidate, theta = lognormals(2), mixture_theta(*values)
    law = candidate.law(candidate.in_units(candidate.natural(theta), binned.unit_s))
    direct = times.counts @ np.log(law.cdf(times.upper_s) - law.cdf(times.lower_s))
    assert binned.log_likelihood(candidate, theta) == pytest.approx(direct, rel=1e-9)


FAMILIES = [*plain_families(), lognormals(3)]


@pytest.mark.parametrize("family", [*FAMILIES, *(shifted(f, 0.4) for f in FAMILIES)], ids=lambda f: f.name)
def test_the_slopes_of_a_likelihood_are_those_of_its_differences(family: Candidate) -> None:
    times = drawn(TWO_KINDS, 1000)
    binned = Binned.of(times)
    for theta in family.start(binned.inside, binned.counts):
        step = 1e-5 * np.random.default_rng(1).standard_normal(len(theta))
        logs, slopes = binned.slopes(family, theta)
        before, after = (binned.log_shares(family, theta + sign * step) for sign in (-1, 1))
        possible = np.minimum(before, after) > np.log(1e-200)
        assert logs == pytest.approx(binned.log_shares(family, theta), rel=1e-9)
        assert (slopes @ step)[possible] == pytest.approx((after - before)[possible] / 2, rel=1e-3, abs=1e-8)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_in_another_unit_of_time_a_fit_starts_from_the_same_laws(family: Candidate) -> None:
    times = drawn(TWO_KINDS, 1000)
    middles, unit_s = Binned.of(times).inside, 1e-3
    of_ms, of_s = family.start(middles, times.counts), family.start(middles * unit_s, times.counts)
    for one, other in zip(of_ms, of_s, strict=True):
        assert family.natural(other) == pytest.approx(family.in_units(family.natural(one), unit_s), rel=1e-6)


def test_a_mixture_starts_from_a_possible_law_where_one_bin_holds_nearly_all_requests() -> None:
    times, requests = np.array([80e-6, 100e-6, 300e-6]), np.array([1.0, 97.0, 2.0])
    for theta in lognormals(3).start(times, requests):
        assert np.isfinite(theta).all()
        assert (np.exp(theta[2:5]) >= times[0] * 0.999).all()  # the medians
        assert (np.exp(theta[2:5]) <= times[-1] * 1.001).all()


def test_a_tail_beyond_the_data_is_told() -> None:
    def found(requests: int):
        times = drawn(LogNormal(1e-3, 1.0), requests)
        return {f.check: f for f in findings_of(times, [fit_one(times, "lognormal")])}

    finding = found(2000)["tail-beyond-data"]
    assert "p99.9" in finding.message
    assert "p50" not in finding.message
    assert "at least 10,000 requests" in finding.remedy
    assert found(20_000) == {}


def test_a_dozen_requests_are_not_a_mixture_and_by_chance_no_poor_fit() -> None:
    for seed in range(8):
        fit = fit_service(of_samples(np.random.default_rng(seed).exponential(1e-4, 12)))
        assert max(len(family.parameters) for family in fit.families) <= 2
        findings = {f.check: f.message for f in fit.findings}
        assert ("poor-fit" in findings) == (fit.best.ks > (fit.best.ks_by_chance or 0.0))
        assert "p99.9 of the law are beyond the data, which reach p17 (12 requests)" in findings["tail-beyond-data"]


def test_percentiles_alone_pin_a_law_of_few_parameters() -> None:
    law = LogNormal(1e-3, 1.0)
    told = {q: law.quantile(q) for q in (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)}
    fit = fit_service(of_percentiles(told, requests=1e5))
    assert fit.best.name == "lognormal"
    assert fit.law.mean == pytest.approx(1e-3, rel=1e-3)
    assert fit.left_out  # mixtures have more parameters than seven bins can pin
    assert not any(f.check == "requests-unknown" for f in fit.findings)


def test_two_percentiles_are_met_and_said_to_tell_no_families_apart() -> None:
    fit = fit_service(of_percentiles({0.5: 80e-6, 0.99: 300e-6}, requests=1e5))
    assert fit.law.quantile(0.5) == pytest.approx(80e-6, rel=1e-3)
    assert fit.law.quantile(0.99) == pytest.approx(300e-6, rel=1e-3)
    assert any(f.check == "too-few-percentiles" for f in fit.findings)
    more = fit_service(of_percentiles({0.5: 80e-6, 0.95: 150e-6, 0.99: 300e-6}, requests=1e5))
    assert not any(f.check == "too-few-percentiles" for f in more.findings)


def test_without_their_number_the_fewest_requests_are_assumed() -> None:
    fit = fit_service(of_percentiles({0.5: 80e-6, 0.95: 120e-6, 0.99: 200e-6, 0.999: 400e-6}))
    assert fit.times.total == 1000
    assert any(f.check == "requests-unknown" for f in fit.findings)
    assert not any(f.name.startswith("shifted") for f in fit.families)  # nothing is known below the median


def test_percentiles_out_of_order_are_refused() -> None:
    with pytest.raises(DataError, match=r"out of order: p99 = 90\.0 µs is not above p95 = 120 µs"):
        of_percentiles({0.5: 80e-6, 0.95: 120e-6, 0.99: 90e-6})
    with pytest.raises(DataError, match="two or more"):
        of_percentiles({0.5: 1e-3})
    with pytest.raises(DataError, match="too few for any family"):
        fit_service(Times(np.array([0.0, 1e-3]), np.array([1e-3, 2e-3]), np.array([5.0, 5.0]), "percentiles"))


def test_one_bin_is_refused_with_the_command_that_helps() -> None:
    bins = Histogram(np.array([1e-3, 2e-3]), np.array([2e-3, 3e-3]), np.array([10, 0]))
    with pytest.raises(DataError, match=r"one bin \(1\.50 ms\).*json\+"):
        of_histogram(bins)
    with pytest.raises(DataError, match="overlap"):
        Times(np.array([1.0, 1.5]), np.array([2.0, 3.0]), np.array([1.0, 1.0]))
    with pytest.raises(DataError, match="zero or above"):
        of_samples([1.0, -1.0])


def test_repeats_are_counted_together() -> None:
    one = Histogram(np.array([1e-3, 2e-3]), np.array([2e-3, 3e-3]), np.array([10, 5]))
    other = Histogram(np.array([2e-3, 4e-3]), np.array([3e-3, 5e-3]), np.array([1, 2]))
    together = of_histogram([one, other])
    assert together.counts.tolist() == [10, 6, 2]
    assert together.edges_s.tolist() == [0, 1e-3, 2e-3, 3e-3, 4e-3, 5e-3, np.inf]
    assert together.shares_below.tolist() == pytest.approx([0, 0, 10 / 18, 16 / 18, 16 / 18, 1, 1])


def test_percentiles_as_typed() -> None:
    assert parse_percentiles("p50=80us, p99.9=1.2ms") == pytest.approx({0.5: 80e-6, 0.999: 1.2e-3})
    for wrong in ("50=80us", "p100=1ms", "p50=80us,p50=90us", "p50=soon"):
        with pytest.raises(ValueError, match=r"percentile|twice|soon"):
            parse_percentiles(wrong)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("latency_us\n80\n95\n120\n", 80e-6),
        ("80us\n95us\n1.2 ms\n", 80e-6),
        ("Response time (ms)\n0.8\n2\n3\n", 0.8e-3),
        ("0.002s\n0.003s", 2e-3),
    ],
)
def test_a_list_of_latencies_has_the_unit_that_it_says(text: str, first: float) -> None:
    times = parse_latencies(text, "list")
    assert times is not None
    assert times.total == len([line for line in text.splitlines() if line[0].isdigit()])
    assert times.lower_s[0] <= first * (1 + 1e-6)
    assert first <= times.upper_s[0]


def test_a_list_without_a_unit_is_refused_and_what_is_no_list_is_left_to_other_readers() -> None:
    with pytest.raises(DataError, match="have no unit; name the column latency_us"):
        parse_latencies("80\n95\n", "list")
    assert parse_latencies("depth,iops\n1,2000\n", "table") is None
    assert parse_latencies("latency_us\nnone\n", "text") is None


def test_a_family_whose_mean_the_times_do_not_determine_is_left_out_with_the_reason() -> None:
    fit = fit_service(of_percentiles({0.5: 80e-6, 0.95: 110e-6, 0.99: 146e-6, 0.999: 2e-3}))
    assert "hyperexponential" not in {f.name for f in fit.families}
    assert any(r.startswith("hyperexponential: the times do not determine its mean") for r in fit.left_out)
    assert all(f.law.mean < 3 * fit.times.mean_s for f in fit.families)


def test_a_long_list_of_latencies_takes_little_more_memory_than_its_numbers() -> None:
    lines = 100_000
    text = "latency_us\n" + "80.5\n91\n" * (lines // 2)
    tracemalloc.start()
    times = parse_latencies(text, "list")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert times is not None
    assert times.total == lines
    assert peak < 120 * lines + 4 * len(text)  # a line as text alone takes more than 50 bytes


def test_a_law_with_a_bend_beyond_all_data_keeps_its_moments() -> None:
    assert BurrXII(2.0, 1e14, 1.0).scv == pytest.approx(Weibull(2.0, 1.0).scv, rel=1e-9)
