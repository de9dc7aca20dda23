"""Tails from the histogram at depth 1: structures whose truth is known are told apart, and their percentiles met."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.special import ndtri

from calibrate.points import Z90
from calibrate.report.compared.simulated import tail_view
from calibrate.service import of_samples
from calibrate.tails.percentiles import _repeat_noise, _sampling, predict_tails
from calibrate.tails.results import LEVEL, MISFIT, QUANTILES, Structure, TailPoint, Tails
from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram
from qsim import Closed, Distribution, HyperExponential, LogNormal, Shifted, Station, simulate

DEPTHS, FEWER = (2, 4, 8, 16, 32), 20_000


@cache
def seen(law: Distribution, servers: int, queues: str) -> tuple[dict[float, Histogram], dict[float, float]]:
    """What a device would show: its histogram at every depth, and the mean response times."""
    times = of_samples(law.sample(np.random.default_rng(3), 30_000))
    found = {1.0: Histogram(times.lower_s, times.upper_s, times.counts.astype(np.int64))}
    means = {1.0: times.mean_s}
    shares = np.concatenate([np.linspace(0.001, 0.98, 100), 1 - np.geomspace(0.019, 0.0002, 60)])
    for depth in DEPTHS:
        run = simulate(Closed(depth, [Station(law, servers=servers, queues=queues)]), customers=200_000, seed=depth)
        edges = np.array([run.quantile(float(q)) for q in shares])
        counts = np.rint(1e6 * np.diff(shares)).astype(np.int64)
        kept = np.diff(edges) > 0
        counts[0] += 1000
        found[float(depth)] = Histogram(edges[:-1][kept], edges[1:][kept], counts[kept])
        means[float(depth)] = float(run.W)
    return found, means


@pytest.mark.parametrize("queues", ["shared", "random"])
@pytest.mark.parametrize("law", [LogNormal(2e-3, 2.0), HyperExponential.from_moments(2e-3, 4.0)], ids=["LN", "H2"])
def test_a_known_structure_is_found_and_its_tails_met(law: Distribution, queues: str) -> None:
    found, means = seen(law, 4, queues)
    tails = predict_tails(found, {n: means[n] for n in (1.0, 32.0)}, sorted(found))
    assert tails.structure.servers == 4
    assert tails.structure.queues == queues
    assert tails.trust > 0.9
    assert tails.median_error_pct("p99_s") < 8
    assert tails.median_error_pct("p50_s") < 8
    held = [p for p in tails.points if p.held_out]
    assert [p.load for p in held] == [2, 4, 8, 16]
    inside = sum(p.low[q] <= p.observed[q] <= p.high[q] for p in held for q in ("p50_s", "p95_s", "p99_s"))
    assert inside >= 9  # of 12 at 90 %


def checked(depths: int, requests: int, off: float, seed: int) -> Tails:
    """A prediction by one histogram of a law, off by a factor, held against others of so many requests."""
    law, random = LogNormal(2e-3, 2.0), np.random.default_rng(seed)
    runs = [of_samples(law.sample(random, requests)) for _ in range(depths + 1)]
    shown = [Histogram(t.lower_s, t.upper_s, t.counts.astype(np.int64)) for t in runs]
    known = {"p99_s": off * shown[0].quantile(0.99)}
    sampling = float(_sampling(shown[0])[list(QUANTILES).index("p99_s")])
    points = [TailPoint(2.0, True, {"p99_s": one.quantile(0.99)}, known, known, known) for one in shown[1:]]
    return Tails(tuple(points), ((Structure(4, "shared", 0.0), 1.0),), 1.0, sampling=sampling)


@pytest.mark.parametrize("depths", [1, 2, 5])
@pytest.mark.parametrize("requests", [1000, 20_000])
def test_a_right_prediction_is_relied_on_nineteen_times_in_twenty(requests: int, depths: int) -> None:
    found = [checked(depths, requests, 1.0, seed).reliable for seed in range(200)]
    assert np.mean(found) > 0.95 - 2.3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(("requests", "off"), [(1000, 2.2), (20_000, 1.4)])
def test_a_wrong_prediction_is_seldom_relied_on(requests: int, off: float) -> None:
    found = [checked(5, requests, off, seed) for seed in range(200)]
    assert np.mean([one.reliable for one in found]) < 0.05
    assert all(("do not rely" in one.reliance()) is not one.reliable for one in found)


def test_means_alone_tell_the_routing() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 4, "random")
    tails = predict_tails({n: found[n] for n in (1.0, 8.0)}, {n: means[n] for n in (1.0, 4.0, 32.0)}, [1, 8, 16])
    assert tails.structure.queues == "random"
    assert [bool(p.observed) for p in tails.points] == [True, True, False]
    assert abs(tails.points[1].residual_pct["p99_s"]) < 15


def test_a_device_that_is_slower_when_busy_is_met_where_it_was_calibrated() -> None:
    found, means = seen(Shifted(LogNormal(1e-3, 1.0), 5e-4), 4, "shared")
    slow = {n: Histogram(1.5 * h.lower_s, 1.5 * h.upper_s, h.counts) if n > 1 else h for n, h in found.items()}
    last = predict_tails(slow, {1.0: means[1.0], 32.0: 1.5 * means[32.0]}, sorted(slow)).points[-1]
    assert not last.held_out
    assert last.residual_pct == pytest.approx(dict.fromkeys(QUANTILES, 0.0), abs=1e-6)


def test_where_no_structure_does_the_mean_is_that_of_the_fitted_curve() -> None:
    found, means = seen(LogNormal(1e-3, 0.1), 4, "shared")
    odd = {n: Histogram(h.lower_s**1.5, h.upper_s**1.5, h.counts) if n > 1 else h for n, h in found.items()}
    used = {1.0: means[1.0], 32.0: 0.3 * means[32.0]}
    plain = predict_tails(odd, used, [8], customers=FEWER)
    guided = predict_tails(odd, used, [8], curve={8.0: 10 * means[8.0]})
    higher = predict_tails(odd, used, [8], curve={8.0: 20 * means[8.0]}, customers=FEWER)
    assert guided.trust < 0.2
    assert higher.points[0].predicted["p99_s"] > 1.7 * guided.points[0].predicted["p99_s"]
    assert guided.points[0].predicted["p99_s"] > plain.points[0].predicted["p99_s"]
    assert "p99 is missed by a factor of 93 at the held-out depth, beyond the " in guided.sentence()


def shifted(by_depth: dict[float, float]) -> tuple[dict[float, Histogram], dict[float, float]]:
    """Every request takes as much longer as the depth adds: histograms and mean response times."""
    times = of_samples(LogNormal(7e-5, 0.3).sample(np.random.default_rng(5), 30_000))
    found = {
        n: Histogram(times.lower_s + more, times.upper_s + more, times.counts.astype(np.int64))
        for n, more in by_depth.items()
    }
    return found, {n: times.mean_s + more for n, more in by_depth.items()}


def test_requests_that_are_handled_together_move_all_percentiles_alike() -> None:
    found, means = shifted({float(n): 7e-6 * (n - 1) for n in (1, *DEPTHS)})
    tails = predict_tails(found, {n: means[n] for n in (1.0, 8.0, 32.0)}, sorted(found))
    assert tails.structure.queues == "together"
    assert tails.structure.delay_s == pytest.approx(7e-6, rel=0.01)
    assert "handled together, 7.00 µs more with each" in tails.sentence()
    for name in QUANTILES:
        assert tails.median_error_pct(name) < 3


def stalled(depths: tuple[int, ...]) -> tuple[dict[float, Histogram], dict[float, float]]:
    """A batch as above, on a host that halts everything for 0.2 ms or more, 150 times a second of a request's life."""
    rng = np.random.default_rng(11)
    found, means = {}, {}
    for n in depths:
        took = LogNormal(7e-5, 0.01).sample(rng, 300_000) + 7e-6 * (n - 1)
        stalls = rng.poisson(150 * took)
        took = took + stalls * (2e-4 + rng.exponential(1e-4, len(took)))
        times = of_samples(took)
        found[float(n)] = Histogram(times.lower_s, times.upper_s, times.counts.astype(np.int64))
        means[float(n)] = times.mean_s
    return found, means


def test_stalls_by_the_clock_reach_more_of_the_requests_that_take_longer() -> None:
    found, means = stalled((1, 2, 4, 8, 16, 32, 64))
    tails = predict_tails(found, {n: means[n] for n in (1.0, 32.0)}, sorted(found))
    assert tails.structure.queues == "stalled"
    assert tails.reliable
    assert "Model: requests handled together, " in tails.sentence()
    assert ", and stalls by the clock" in tails.sentence()
    assert tails.median_error_pct("p50_s") < 5
    assert tails.median_error_pct("p95_s") < 10
    assert tails.median_error_pct("p99_s") < 10
    deepest = tails.points[-1]
    unstalled = found[1.0].quantile(0.99) + 63 * tails.structure.delay_s
    assert unstalled < 0.8 * deepest.observed["p99_s"]  # what "together" alone would say
    assert abs(deepest.residual_pct["p99_s"]) < 10


def test_differences_of_lone_requests_are_not_taken_for_stalls() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 4, "shared")
    tails = predict_tails(found, {n: means[n] for n in (1.0, 32.0)}, [8])
    assert all(structure.queues != "stalled" for structure, _ in tails.structures)


def test_one_disturbed_repeat_does_not_move_what_is_typical() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 4, "shared")
    usual = {n: np.array([h.quantile(q) for q in QUANTILES.values()]) for n, h in found.items()}
    disturbed = dict(found) | {8.0: Histogram(3 * found[8.0].lower_s, 3 * found[8.0].upper_s, found[8.0].counts)}
    point = predict_tails(disturbed, {n: means[n] for n in (1.0, 32.0)}, [8], typical=usual).points[0]
    assert point.observed["p99_s"] == pytest.approx(usual[8.0][2])
    assert abs(point.residual_pct["p99_s"]) < 15


def test_noise_at_one_depth_counts_at_all() -> None:
    one = seen(LogNormal(2e-3, 2.0), 1, "shared")[0][1.0]
    slower = Histogram(2 * one.lower_s, 2 * one.upper_s, one.counts)
    noise = _repeat_noise([[one, one], [one, one], [one, slower], [one]])
    assert noise == pytest.approx(np.full(4, np.log(2) / np.sqrt(2) / np.sqrt(3)))
    assert _repeat_noise([[one], [one]]) is None


def test_a_band_is_as_wide_as_repeats_differ_where_that_is_more_than_the_model_errs() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 1, "shared")
    used = {n: means[n] for n in (1.0, 32.0)}
    for noise in (0.5, 2.0):
        (point,) = predict_tails(found, used, [8], noise=np.full(4, noise), customers=FEWER).points
        spread = [math.log(point.high[q] / point.low[q]) / (2 * Z90) for q in ("p50_s", "p95_s", "p99_s")]
        assert spread == pytest.approx([noise] * 3, rel=0.05)


def test_the_error_of_a_percentile_by_the_number_of_requests_is_that_of_an_order_statistic() -> None:
    q, requests = np.array(list(QUANTILES.values())), 10**6
    edges = -np.log1p(-np.arange(requests) / requests)  # exponential times of mean 1, one between two edges
    expected = np.sqrt(q * (1 - q) / requests) / ((1 - q) * -np.log1p(-q))  # over the density and the percentile
    found = _sampling(Histogram(edges[:-1], edges[1:], np.ones(requests - 1, dtype=np.int64)))
    assert found == pytest.approx(expected, rel=0.02)


def test_the_sentence_says_what_the_measurement_allows() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 1, "shared")
    used = {n: means[n] for n in (1.0, 32.0)}
    repeated = predict_tails(found, used, [8], noise=np.array([0.1, 0.2, 0.3, 0.4]), customers=FEWER)
    assert "Repeats of one depth have a standard deviation of 30 %." in repeated.sentence()
    once = predict_tails(found, used, [8], customers=FEWER)
    assert once.noise is None
    assert "Nothing was repeated" in once.sentence()
    few = {n: Histogram(h.lower_s, h.upper_s, np.maximum(h.counts // 100, 1)) for n, h in found.items()}
    assert predict_tails(few, used, [8], customers=FEWER).sampling > 3 * once.sampling


def test_without_depth_1_or_a_deep_point_it_says_what_to_measure() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 1, "shared")
    with pytest.raises(DataError, match=r"depth 1 .*--use 1,32"):
        predict_tails(found, {4.0: means[4.0]}, [8])
    with pytest.raises(DataError, match="deep point"):
        predict_tails(found, {1.0: means[1.0]}, [8])


def one_bin(of: Histogram) -> Histogram:
    return Histogram(of.lower_s[:1], of.upper_s[-1:], np.array([of.total]))


def test_one_bin_at_depth_1_is_refused_with_the_command_that_helps() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 1, "shared")
    coarse = found | {1.0: one_bin(found[1.0])}
    with pytest.raises(DataError, match=r"histogram at depth 1 has one bin .*qsim measure fio TARGET --depths 1"):
        predict_tails(coarse, {n: means[n] for n in (1.0, 32.0)}, [8])


def test_of_one_bin_at_a_deeper_depth_only_the_mean_counts() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 4, "shared")
    used = {n: means[n] for n in (1.0, 8.0, 32.0)}
    coarse = {n: one_bin(h) if n in (8.0, 16.0) else h for n, h in found.items()}
    tails = predict_tails(coarse, used, [8, 16], customers=FEWER)
    without = {n: h for n, h in found.items() if n not in (8.0, 16.0)}
    absent = predict_tails(without, used, [8, 16], customers=FEWER)
    assert [p.observed for p in tails.points] == [{}, {}]
    assert tails.points[1].predicted == absent.points[1].predicted


def test_a_view_of_the_page_holds_every_depth() -> None:
    found, means = seen(LogNormal(2e-3, 2.0), 1, "shared")
    tails = predict_tails(found, {n: means[n] for n in (1.0, 32.0)}, sorted(found))
    view = tail_view(tails)
    assert tails.to_frame()["load"].tolist() == [1, *DEPTHS]
    assert len(view.text.rows) == 6
    assert len(view.figure.data) == 12
    assert tails.plot() == view.figure.to_plotly()
    assert repr(tails).splitlines() == ["Tails at 6 depths", tails.sentence()]
    assert "p99 is missed by" in view.caption
    entry = tails.to_list()[1]
    off = entry["predicted"]["p99_s"] / entry["observed"]["p99_s"]
    assert entry["residual_pct"]["p99_s"] == pytest.approx(100 * (off - 1))
    assert tails.structures_to_list()[0]["servers"] == 1


def test_one_held_out_depth_is_judged_by_the_scatter_of_one_residual() -> None:
    right = {"p99_s": 1e-3}
    tails = Tails((TailPoint(8.0, True, right, right, right, right),), ((Structure(4, "shared", 0.0), 1.0),), 1.0, 0.05)
    scatter = np.sqrt(2 * 0.05**2 + MISFIT**2)  # between repeats of both depths, and of the model
    assert tails.limit_pct == pytest.approx(100 * np.expm1(ndtri((1 + LEVEL) / 2) * scatter))
