"""An objective for a tail: where the predicted percentile reaches the time, with its interval."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_up import open_sweep
from simulated_fio import write_simulated

from calibrate.fitting.calibrating import fit, from_datasheet
from calibrate.fitting.objectives import objective_knee
from calibrate.tails.percentiles import deepest_within, tail_knee
from calibrate.tails.results import QUANTILES, Structure, TailPoint, Tails
from measure import Sweep, load
from measure.errors import DataError
from qsim import Closed, LogNormal, Station, simulate

LAW = LogNormal(2e-3, 2.0)


def tails(depths: list[float]) -> Tails:
    """Tails of 1 ms a depth, uncertain by a quarter."""

    def at(factor: float, n: float) -> dict[str, float]:
        return dict.fromkeys(QUANTILES, factor * n * 1e-3)

    points = tuple(TailPoint(n, True, {}, at(1, n), at(0.8, n), at(1.25, n)) for n in depths)
    return Tails(points, ((Structure(1, "shared", 0.0), 1.0),), 1.0)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Four servers before one queue, as fio would tell of them."""
    return load(write_simulated(tmp_path_factory.mktemp("tails") / "four", LAW, 4, [1, 8, 32]))


def test_it_is_where_the_percentile_reaches_the_time_in_whole_requests() -> None:
    knee = deepest_within(from_datasheet(80e-6, 600e3), tails([1, 2, 4, 8, 16, 32]), "p99", 10e-3)
    assert (knee.load, knee.low, knee.high) == (10, 8, 12)
    assert knee.identified
    assert "p99 of the response time within 10.0 ms" in knee.definition


def test_a_time_that_is_never_or_always_met_has_no_knee_and_says_so() -> None:
    made = from_datasheet(80e-6, 600e3)
    never = deepest_within(made, tails([1, 2, 4]), "p50", 0.5e-3)
    assert (never.load, never.low, never.high) == (None, None, None)
    assert never.note == "even at depth 1 p50 takes 1.00 ms"
    always = deepest_within(made, tails([1, 2, 4]), "p50", 1.0)
    assert (always.load, always.note) == (None, "met up to depth 4, the heaviest load looked at")
    deep = deepest_within(made, tails([1, 2, 4, 65536]), "p99", 1e6)
    assert deep.note == "met up to depth 65536, the heaviest load looked at, which reaches the peak"
    perhaps = deepest_within(made, tails([1, 2, 4]), "p50", 4.5e-3)
    assert (perhaps.load, perhaps.low, perhaps.high) == (None, 3, None)


def test_its_interval_ends_where_the_highest_peak_takes_the_time_as_that_of_a_mean() -> None:
    """A drive of 706 k/s at most meets p99 within 300 µs with 211 requests at most, whatever the tails leave open."""
    made = from_datasheet(80e-6, 600e3)
    flat = tails([1, 2, 4, 8, 16, 32, 64, 128])
    points = tuple(replace(p, low=dict.fromkeys(QUANTILES, 1e-6 * p.load)) for p in flat.points)
    points = tuple(replace(p, predicted=dict.fromkeys(QUANTILES, 4e-6 * p.load)) for p in points)
    found = deepest_within(made, replace(flat, points=points), "p99", 300e-6)
    assert found.load == 75
    assert found.high == np.floor(made.peak.high * 300e-6)
    assert found.high <= objective_knee(made, 300e-6).high


def test_the_simulated_truth_meets_the_objective_inside_the_interval(sweep: Sweep) -> None:
    made = fit(sweep, [1, 32], series=sweep.series[0])
    knee = tail_knee(made, sweep, sweep.series[0], "p99", 20e-3)
    assert knee.low is not None
    assert knee.load is not None
    assert knee.high is not None

    def p99_of(depth: float) -> float:
        run = simulate(Closed(round(depth), [Station(LAW, servers=4)]), customers=200_000, seed=5)
        return float(run.quantile(0.99))

    assert p99_of(knee.low) <= 20e-3 <= p99_of(knee.high + 1)
    assert knee.low <= knee.load <= knee.high
    assert knee.high / knee.low < 2.5


def test_what_holds_no_histograms_is_refused_with_what_to_measure(sweep: Sweep) -> None:
    made = fit(sweep, [1, 32], series=sweep.series[0])
    bare = Sweep(points=sweep.points, name="bare")
    with pytest.raises(DataError, match=r"no latency histograms .* measure with json\+"):
        tail_knee(made, bare, sweep.series[0], "p99", 1e-3)
    is_open = open_sweep([1, 2, 3], [0.2, 0.3, 0.6])
    with pytest.raises(DataError, match="over queue depths, and the load here is arrival rate"):
        tail_knee(fit(is_open), is_open, "open", "p99", 1e-3)


@pytest.mark.parametrize(("quantile", "time_s"), [("p98", 1e-3), ("p99", 0.0), ("p99", float("inf"))])
def test_nonsense_is_named(quantile: str, time_s: float) -> None:
    with pytest.raises(ValueError, match="slo"):
        deepest_within(from_datasheet(80e-6, 600e3), tails([1, 2]), quantile, time_s)
