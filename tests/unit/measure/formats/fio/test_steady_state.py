"""Steady runs: the logs that are read, and the criteria."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from measure.formats.fio.steady_state import (
    COLUMNS,
    Intervals,
    SteadyState,
    _stands_out,
    check_steady,
    judge,
    noted_columns,
    rate_in_bursts,
    read_interval_logs,
)
from measure.loads import Depth

Rates = NDArray[np.float64]


def judged(rates: Rates, each_s: float = 0.2) -> SteadyState:
    result = judge(Intervals(tuple(each_s * np.arange(1, len(rates) + 1)), tuple(rates.tolist())))
    assert result is not None
    return result


def noisy(seed: int, sd: float = 0.02, m: int = 25) -> Rates:
    return np.asarray(1000 * (1 + sd * np.random.default_rng(seed).standard_normal(m)))


# --- SNIA's definition ----------------------------------------------------------------------------------------------


def test_range_and_slope_are_those_of_five_rounds() -> None:
    """Rounds of 91, 100, 110, 100, 99: a range of 19 % of 100; the line rises by 1.6 a round, 6.4 in all."""
    found = judged(np.repeat([91.0, 100.0, 110.0, 100.0, 99.0], 5))
    assert found.throughput_range == pytest.approx(0.19)
    assert found.throughput_change == pytest.approx(0.064)
    assert found.steady
    assert judged(np.repeat([90.0, 100.0, 110.0, 100.0, 100.0], 5), each_s=0.25).steady  # 20 % is allowed
    assert not judged(np.repeat([89.0, 100.0, 110.0, 100.0, 100.0], 5)).steady


def test_a_slope_is_judged_where_the_range_is_allowed() -> None:
    rising = judged(np.repeat([94.0, 97.0, 100.0, 103.0, 106.0], 5))
    assert rising.throughput_range == pytest.approx(0.12)
    assert rising.throughput_change == pytest.approx(0.12)
    assert not rising.steady
    assert judged(np.repeat([96.0, 98.0, 100.0, 102.0, 104.0], 5)).steady


def test_rounds_are_of_equal_time_where_intervals_are_not() -> None:
    ends = (0.1, 0.5, 0.6, 1.0, 1.3, 1.5, 1.9, 2.0, 2.4, 2.5)
    rates = tuple(100.0 if e <= 1.5 else 200.0 for e in ends)
    found = judge(Intervals(ends, rates))
    assert found is not None
    assert found.throughput_range == pytest.approx(100 / 140)


@pytest.mark.parametrize(
    "intervals", [Intervals(), Intervals((1.0, 2.0), (5.0, 5.0)), Intervals(tuple(range(1, 13)), (0.0,) * 12)]
)
def test_too_few_intervals_and_none_completed_say_nothing(intervals: Intervals) -> None:
    assert judge(intervals) is None


# --- trend, noise ---------------------------------------------------------------------------------------------------


def test_a_drift_is_a_trend() -> None:
    found = [judged(noisy(seed) * np.linspace(1, 0.75, 25)) for seed in range(40)]
    assert all(f.throughput_trend and not f.steady and f.throughput_change < -0.1 for f in found)


@pytest.mark.parametrize("sd", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("at", [6, 12, 19])
def test_a_sudden_change_in_the_middle_is_a_trend(sd: float, at: int) -> None:
    def falls(seed: int) -> Rates:
        rates = noisy(seed, sd)
        rates[at:] *= 0.4
        return rates

    found = [judged(falls(seed)) for seed in range(40)]
    assert all(f.throughput_trend and not f.steady and f.throughput_change < -0.1 for f in found)


def test_noise_is_seldom_called_a_trend() -> None:
    found = [judged(noisy(seed, sd=0.05)) for seed in range(300)]
    assert sum(f.throughput_trend for f in found) <= 6


def test_a_constant_rate_is_steady_without_a_trend() -> None:
    found = judged(np.full(25, 1000.0))
    assert found.steady
    assert not found.throughput_trend


@pytest.mark.parametrize(
    ("residuals", "error"),
    [((1, -1, 1, -1), math.sqrt(2)), ((1, 1, -1, -1), math.sqrt(2 * 5 / 3)), ((1,) * 20, math.sqrt(20 / 18 * 19))],
)
def test_the_error_of_a_change_follows_from_the_residuals_and_their_autocorrelation(residuals, error):
    """Autocorrelations of -3/4, 1/4 and 19/20, which count as 0, 1/4 and 9/10."""
    left = np.array(residuals, float)
    assert _stands_out(3.01 * math.sqrt(0.5) * error, 0.5, left, 1.0, 3.0)
    assert not _stands_out(-2.99 * math.sqrt(0.5) * error, 0.5, left, 1.0, 3.0)
    small = np.array([1.0, -1.0, 1.0, -1.0])
    assert _stands_out(1e-11, 0.5, 1e-10 * small, 1000.0, 3.0)  # around it nothing scatters but by rounding
    assert not _stands_out(1e-5, 0.5, 1e-5 * small, 1000.0, 3.0)


# --- fio's logs -----------------------------------------------------------------------------------------------------


def test_jobs_and_directions_are_added() -> None:
    reads_and_writes = "100, 700, 0, 0, 0\n100, 300, 1, 0, 0\n200, 800, 0, 0, 0\n200, 200, 1, 0, 0\n"
    other_job = "101, 50, 0, 0, 0\n201, 150, 0, 0, 0\n"
    found = read_interval_logs([reads_and_writes, other_job])
    assert found.end_s == (0.1, 0.2)
    assert found.throughput_per_s == pytest.approx((1050, 1149), abs=1.5)


def test_the_requests_are_those_that_the_rates_say() -> None:
    found = read_interval_logs(["100, 1000, 0, 0\n300, 500, 0, 0\n"])
    assert found.completed(np.array([0.1, 0.2, 0.3])).tolist() == pytest.approx([100, 150, 200])


def test_an_interval_without_a_line_had_no_request() -> None:
    """Of a volume held to 200 a second, logged by fio 3.33: 19 in 73 ms, then 20 in every other interval or so."""
    text = "73, 260, 0, 0, 0\n130, 351, 0, 0, 0\n244, 351, 0, 0, 0\n301, 351, 0, 0, 0\n415, 351, 0, 0, 0\n"
    found = read_interval_logs([text], 0.057)
    assert found.throughput_per_s == pytest.approx((260, 351, 0, 351, 351, 0, 351))
    assert found.completed(np.array([0.187, 0.415])).tolist() == pytest.approx([39, 99], abs=0.1)


def test_a_log_that_begins_late_says_nothing_of_the_time_before() -> None:
    """2,000 requests/s that fall to 500: after a ramp fio 3.33 began its log of them at 0.25 s."""
    ends = np.arange(250, 3001, 40)
    text = "".join(f"{end}, {2000 if end < 1500 else 500}, 0, 0, 0\n" for end in ends)
    found = read_interval_logs([text], 0.04)
    assert found.end_s[0] == pytest.approx(0.04)
    assert found.throughput_per_s[0] == pytest.approx(2000)
    judged = judge(found)
    assert judged is not None
    assert judged.throughput_trend
    other = "".join(f"{end}, 100, 0, 0, 0\n" for end in range(40, 3001, 40))
    both = read_interval_logs([text, other], 0.04)
    assert both.throughput_per_s[:2] == pytest.approx((2100, 2100))


@pytest.mark.parametrize(
    "text", ["", "x", "12", "1,2", "1, -5, 0\n", "1, 1e9, 0\n", "0, 7, 0\n", "1" * 500 + ", 1, 0\n"]
)
def test_lines_that_are_none_are_left_out(text: str) -> None:
    assert len(read_interval_logs([text])) == 0
    assert read_interval_logs([text, "100, 7, 0, 0, 0\n"]).throughput_per_s == (7.0,)


def test_a_point_has_the_columns_where_its_intervals_can_be_judged() -> None:
    long = Intervals(tuple(range(1, 11)), (100.0,) * 10).to_dict()
    steady = dict(zip(COLUMNS, (1, 0, pytest.approx(0, abs=1e-9), 0), strict=True))
    assert noted_columns({"intervals": long, "request": {}}) == steady
    assert noted_columns({"intervals": long, "request": {"arrival_rate_per_s": 9.0}}) == {}
    assert noted_columns({"intervals": Intervals((1.0,), (5.0,)).to_dict(), "request": {}}) == {}


# --- findings -------------------------------------------------------------------------------------------------------


def table(**columns: list[float]) -> pd.DataFrame:
    rows = len(next(iter(columns.values())))
    quiet: dict[str, Any] = {
        "steady": 1.0,
        "throughput_range": 0.05,
        "throughput_change": 0.01,
        "throughput_trend": 0.0,
    }
    assert set(quiet) == set(COLUMNS)
    return pd.DataFrame(
        {"series": "c", "load": [float(2**i) for i in range(rows)], "read_fraction": 1.0, **quiet, **columns}
    )


def test_steady_runs_give_no_finding() -> None:
    assert not list(check_steady(table(steady=[1.0, 1.0, math.nan]), Depth()))


def test_each_cause_has_one_finding_that_names_the_worst_load() -> None:
    found = {
        f.check: f
        for f in check_steady(
            table(
                steady=[1.0, 0.0, 0.0, 0.0],
                throughput_trend=[0.0, 1.0, 1.0, 0.0],
                throughput_change=[0, 0.2, -0.4, 0.02],
                throughput_range=[0.1, 0.2, 0.5, 0.31],
            ),
            Depth(),
        )
    }
    assert set(found) == {"drift-within-run", "unsteady"}
    assert (found["drift-within-run"].load, found["drift-within-run"].severity) == (4.0, "warning")
    assert "2 of 4 runs were not steady by SNIA's definition, and drifted" in found["drift-within-run"].message
    assert found["unsteady"].message.startswith("1 of 4 runs was not steady by")
    assert "by -40 %" in found["drift-within-run"].message
    assert found["drift-within-run"].hypothesis.startswith("other programs")
    assert (found["unsteady"].load, found["unsteady"].severity) == (8.0, "info")
    range_and_change = "over 31 % of its mean and changes by +2 % (SNIA allows 20 % and 10 %)."
    assert found["unsteady"].message.endswith(range_and_change)


def test_writes_that_drift_are_suspected_of_a_cache() -> None:
    (found,) = check_steady(
        table(steady=[0.0], throughput_trend=[1.0], throughput_change=[-0.5], read_fraction=[0.3]), Depth()
    )
    assert found.hypothesis.startswith("a write cache that fills")


# --- bursts -----------------------------------------------------------------------------------------------------------


def counted(times: np.ndarray, whole_s: float, each_s: float = 0.04) -> Intervals:
    """The intervals of a run in which requests completed at ``times``."""
    edges = np.arange(0, whole_s + each_s / 2, each_s)
    return Intervals(tuple(edges[1:].tolist()), tuple((np.histogram(times, edges)[0] / each_s).tolist()))


PERIOD_S, OF_A_BURST = 0.1, 20


def held(depth: int, run_s: float) -> tuple[NDArray[np.float64], int, int, float]:
    """A run of fio on a volume held to 200 a second: times of its requests, how many it sent and completed, seconds.

    It begins with a burst, sends until ``run_s`` and ends with the burst that has the last request in flight.
    """
    bursts = math.floor(run_s / PERIOD_S) + 1
    sent, left = OF_A_BURST * bursts, depth - 1
    times = np.repeat(1e-4 + PERIOD_S * np.arange(bursts), OF_A_BURST)
    return times, sent, sent + left, PERIOD_S * (bursts - 1 + max(1, math.ceil(left / OF_A_BURST)))


@pytest.mark.parametrize("depth", [1, 2, 8, 16, 20, 21, 32, 64])
@pytest.mark.parametrize(("run_s", "each_s"), [(1.371, 0.01), (1.371, 0.04), (5.02, 0.025)])
def test_the_rate_of_a_volume_that_serves_20_requests_each_tenth_of_a_second(
    depth: int, run_s: float, each_s: float
) -> None:
    times, sent, completed, whole_s = held(depth, run_s)
    assert rate_in_bursts(counted(times, run_s, each_s), sent, completed, whole_s) == pytest.approx(200, rel=0.005)


@pytest.mark.parametrize("depth", [1, 16, 64])
def test_a_log_that_miscounts_still_tells_when_the_bursts_came(depth: int) -> None:
    """fio 3.33 on a busy machine logged 157 of 280 requests: its thread was late, and a line does not say by how much.

    A count of 295 in 1.4 s would be 211 a second, and the sum of the log 112.
    """
    times, sent, completed, whole_s = held(depth, 1.371)
    log = counted(times, 1.371, 0.01)
    short = np.random.default_rng(1).choice([1.0, 0.5, 0.33], len(log))
    log = Intervals(log.end_s, tuple((short * np.array(log.throughput_per_s)).tolist()))
    assert rate_in_bursts(log, sent, completed, whole_s) == pytest.approx(200, rel=0.005)


def test_the_count_stands_where_requests_do_not_come_in_bursts() -> None:
    even = np.arange(0, 1.4, 1 / 200)
    assert rate_in_bursts(counted(even, 1.4), len(even), len(even), 1.4) is None
    fast = np.arange(0, 1.4, 1e-5)
    assert rate_in_bursts(counted(fast, 1.4), len(fast), len(fast), 1.4) is None


@pytest.mark.parametrize("waves", [0.5, 1.0])
def test_the_count_stands_where_a_rate_rises_and_falls_in_waves(waves: float) -> None:
    ends = np.arange(0.01, 2.001, 0.01)
    rates = 1000 * (1 + waves * np.sin(2 * np.pi * ends / 0.1))
    assert rate_in_bursts(Intervals(tuple(ends.tolist()), tuple(rates.tolist())), 2000, 2000, 2.0) is None


@pytest.mark.parametrize("each_s", [0.01, 0.04])
def test_the_count_stands_where_bursts_come_at_random(each_s: float) -> None:
    rng = np.random.default_rng(1)
    judged = []
    for _ in range(200):
        times = np.repeat(np.sort(rng.uniform(0, 1.4, rng.poisson(14))), 20)
        judged.append(rate_in_bursts(counted(times, 1.4, each_s), len(times), len(times), 1.4))
    assert sum(rate is not None for rate in judged) <= 16  # 3 % of 200 are 6
