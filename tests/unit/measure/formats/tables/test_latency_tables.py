"""Tables of latencies alone: both layouts, what makes a table one, and a variance that is none."""

from __future__ import annotations

import pandas as pd
import pytest

from measure.errors import DataError
from measure.formats.tables.latencies import latency_table

TURNED = "statistic_ms,4k_read,4k_write\nmean,{mean},0.2\nvariance,{variance},0.0004\np99,{p99},0.3\n"


def test_a_row_for_each_workload_and_load() -> None:
    found = latency_table("rw,clients,p50_us,p99_us\nread,1,80,200\nwrite,1,20,\n", "t.csv")
    assert found is not None
    assert found.series == ("read", "write")
    assert found.points["read_fraction"].tolist() == [1.0, 0.0]
    assert found.points["latency_p99_s"].tolist() == pytest.approx([200e-6, float("nan")], nan_ok=True)
    assert len(found.of("read").points) == 1


def test_a_table_whose_rows_are_statistics_is_turned() -> None:
    found = latency_table(TURNED.format(mean=0.1, variance=0.0004, p99=0.15), "t.csv")
    assert found is not None
    assert found.series == ("4k read", "4k write")
    assert found.points["latency_s"].tolist() == pytest.approx([1e-4, 2e-4])


def test_a_variance_that_can_be_one_gives_its_root_as_deviation() -> None:
    found = latency_table(TURNED.format(mean=0.1, variance=0.0004, p99=0.15), "t.csv")
    assert found is not None
    assert found.points["latency_sd_s"].tolist() == pytest.approx([20e-6, 20e-6])
    assert found.findings == ()


def test_a_variance_below_what_its_percentile_needs_is_a_deviation() -> None:
    """0.01 / 0.99 (0.9 - 0.1)^2 is 0.0065 ms², and 0.0004 is printed."""
    found = latency_table(TURNED.format(mean=0.1, variance=0.0004, p99=0.9), "t.csv")
    assert found is not None
    (finding,) = found.findings
    assert (finding.check, finding.severity, finding.series) == ("variance", "error", "4k read")
    assert "a variance of 400 µs² is too small" in finding.message
    assert "6.46e+03 µs² at least" in finding.message


@pytest.mark.parametrize(
    "text", ["depth,iops,p50_us,p99_us\n1,10,80,200\n", "depth,latency_us\n1,80\n2,90\n", "name,colour\na,b\nc,d\n"]
)
def test_a_table_with_a_throughput_or_with_one_statistic_is_none(text: str) -> None:
    assert latency_table(text, "t.csv") is None


def test_a_cell_that_is_no_number_and_a_negative_one_are_errors() -> None:
    with pytest.raises(DataError, match="line 2"):
        latency_table("rw,p50_us,p99_us\nread,fast,200\n", "t.csv")
    with pytest.raises(DataError, match="negative"):
        latency_table("rw,p50_us,p99_us\nread,-3,200\n", "t.csv")


@pytest.mark.parametrize(
    ("header", "heading", "served"),
    [
        ("target_rps,actual_rps,p50_ms,p99_ms", "target rps", True),
        ("goodput (req/s),offered load (req/s),median latency (ms)", "offered load (req/s)", True),
        ("rps,p50_ms,p99_ms", "rps", False),
    ],
)
def test_percentiles_over_a_rate_are_shown_with_every_rate(header: str, heading: str, *, served: bool) -> None:
    names = header.split(",")
    rows = [{"target": 900, "offered": 900, "actual": 890, "goodput": 890, "rps": 900}, {"p50": 5, "p99": 30}]
    cells = [next(v for k, v in (rows[0] | {"median": 5} | rows[1]).items() if name.startswith(k)) for name in names]
    found = latency_table(f"{header}\n{','.join(map(str, cells))}\n", "t.csv")
    assert found is not None
    assert found.over_rates
    assert (found.load_name, found.points["load"].tolist()) == (heading, [900.0])
    assert found.points["latency_p50_s"].tolist() == [0.005]
    assert found.points.get("throughput_per_s", pd.Series(dtype=float)).tolist() == [890.0] * served


def test_a_mean_or_a_count_beside_a_rate_is_a_curve() -> None:
    assert latency_table("rps,avg_ms,p99_ms\n900,5,30\n", "t.csv") is None
    assert latency_table("users,rps,p50_ms,p99_ms\n4,900,5,30\n", "t.csv") is None
