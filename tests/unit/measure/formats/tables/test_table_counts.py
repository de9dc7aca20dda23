"""Tables that count requests and give the length of each run have their throughput from both."""

from __future__ import annotations

import numpy as np
import pytest

from measure import DataError, Sweep
from measure.formats.tables.table import csv_sweep

CLIENTS, RATES, MEANS_S = (1, 4, 16), (9500.0, 33500.0, 63000.0), (0.000105, 0.000119, 0.000254)
LENGTHS_S = (9.5, 10.2, 10.1)


def table(
    header: str, *, length: float = 1.0, mean: float | None = 1e3, lengths_s: tuple[float, ...] = LENGTHS_S
) -> str:
    """Rows of clients, requests, lengths in units of ``length`` seconds, and means in units of 1 / ``mean`` seconds."""
    rows = [
        [n, round(x * t), t / length] + ([] if mean is None else [r * mean])
        for n, x, t, r in zip(CLIENTS, RATES, lengths_s, MEANS_S, strict=True)
    ]
    return "\n".join([header, *(",".join(f"{cell:.10g}" for cell in row) for row in rows)])


def read(text: str, **declared: str) -> Sweep:
    return csv_sweep(text, declared or None, name="t.csv")


@pytest.mark.parametrize(
    "text",
    [
        table("threads,operations,seconds,mean_ms"),
        table("threads,Total ops,duration_s,avg (ms)"),
        table("Clients,Requests,Elapsed (s),Latency (ms)"),
        table("threads,Ops,Time (s),Latency (ms)"),
        table("clients,completed transactions,run time [min],mean_us", length=60, mean=1e6),
        table("clients,requests,duration_m,mean_ms", length=60),
        table("clients,requests,duration_hours,mean_ms", length=3600),
        table("connections,# requests,total_time_ms,latency_s", length=1e-3, mean=1),
        table("clients,transactions,duration,latency average"),
        table("clients,requests,seconds,mean_ms").split("\n16,")[0],
    ],
)
def test_requests_over_the_length_of_a_run_are_its_throughput(text):
    sweep = read(text)
    points = sweep.points.sort_values("load")
    np.testing.assert_allclose(points["throughput_per_s"], RATES[: len(points)], rtol=1e-4)
    np.testing.assert_allclose(points["latency_s"], MEANS_S[: len(points)], rtol=1e-6)
    assert set(points["latency_origin"]) == {"measured"}
    assert all(origin.startswith("computed: ") and " / " in origin for origin in points["throughput_origin"])
    assert [f.check for f in sweep.findings if f.check in ("counted-rate", "by-littles-law")] == ["counted-rate"]


@pytest.mark.parametrize("mark", [",", ".", " "])
def test_a_mark_between_the_thousands_of_a_count_stands_for_nothing(mark):
    cells = [
        f"{n};{f'{x:,}'.replace(',', mark)};2;{n / x * 2e3:.6f}" for n, x in ((1, 19_000), (4, 67_000), (16, 126_000))
    ]
    points = read("\n".join(["threads;requests;duration_s;avg_ms", *cells])).points
    assert list(points["throughput_per_s"]) == [9500, 33500, 63000]


def test_a_row_of_nothing_is_left_out_or_refused_without_a_warning():
    with pytest.raises(DataError, match="line 2 has a throughput of 0"):
        read("clients,requests,seconds\n0,0,10\n1,95000,10\n4,335000,10")
    sweep = read("clients,requests,seconds,mean_ms\n1,,10,\n1,95000,10,0.105\n4,335000,10,0.119")
    assert list(sweep.points["throughput_per_s"]) == [9500, 33500]


def test_without_a_latency_it_follows_from_the_counted_throughput():
    points = read(table("clients,requests,duration_s", mean=None)).points
    np.testing.assert_allclose(points["latency_s"], np.divide(CLIENTS, RATES), rtol=1e-4)
    assert set(points["latency_origin"]) == {"computed: N / X"}


def test_a_mean_beside_users_who_think_is_less_than_their_number_over_the_throughput():
    rows = "users,requests,seconds,mean_ms\n10,950,10,10.2\n50,4700,10,11.5\n100,8300,10,40"
    assert list(read(rows).points["throughput_per_s"]) == [95, 470, 830]


@pytest.mark.parametrize(
    ("text", "throughput"),
    [
        ("threads,time_s,ops\n1,0.001,1000\n4,0.001,4000\n8,0.0016,5000", (1000, 4000, 5000)),
        ("threads,requests,seconds,iops,mean_ms\n1,95000,10,9500,0.105\n4,335000,10,33500,0.119", (9500, 33500)),
    ],
)
def test_a_rate_and_a_mean_time_are_no_counts(text, throughput):
    assert tuple(read(text).points["throughput_per_s"]) == throughput


@pytest.mark.parametrize(
    "text",
    [
        "clients,seconds,requests\n4,10,1000\n4,20,2100\n4,30,3100",  # a clock, and counts since its last tick
        table("clients,requests,duration"),  # no unit, and nothing that tells it
    ],
)
def test_a_clock_or_a_length_without_a_unit_is_refused(text):
    with pytest.raises(DataError):
        read(text)


def test_requests_that_break_littles_law_over_the_length_are_not_counted():
    text = "clients,requests,seconds,mean_ms\n1,9500,0.5,0.105\n4,33500,0.5,0.119\n16,63000,0.5,0.254"
    assert tuple(read(text).points["throughput_per_s"]) == RATES


def test_a_declared_column_is_not_taken_for_a_count():
    text = table("threads,operations,seconds,mean_ms")
    points = read(text, load="threads", throughput="operations", latency="mean_ms").points
    assert list(points["throughput_per_s"]) == [round(x * t) for x, t in zip(RATES, LENGTHS_S, strict=True)]
