"""``qsim show``: each table and picture of the five course reports by one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SEED = Path(__file__).parents[3] / "measure" / "datasets"


def views_of(qsim: Any, name: str, *more: str) -> dict[str, Any]:
    """The views of one dataset by name, as --json gives them."""
    (section,) = json.loads(qsim("show", "--dataset", name, *more, "--json").out)["sections"]
    return {view["name"]: view for view in section["views"]}


def test_report_000_has_heat_maps_of_latency_and_of_throughput_over_size_and_read_share(once: Any) -> None:
    views = views_of(once, "000-ssd")
    for word in ("latency", "throughput"):
        maps = [view for name, view in views.items() if name.startswith(f"{word}-map-")]
        assert [len(one["rows"]) for one in maps] == [12, 12, 12]
        assert "over file size and reads, depth 1" in maps[0]["title"]
    assert "6.89 µs (128 KiB, 0 % reads) to 3.97 ms (16 KiB, 100 % reads)" in views["latency-map-1"]["caption"]


def test_report_000_has_reads_against_writes_side_by_side(once: Any) -> None:
    views = views_of(once, "000-ssd")
    assert views["throughput-reads-against-writes"]["caption"] == "Writes reach 15 to 27 times the throughput of reads."
    assert {row["read_fraction"] for row in views["latency-reads-against-writes"]["rows"]} == {0.0, 1.0}
    assert "SHOWS   Writes reach 15 to 27 times" in once("show", "--dataset", "000-ssd").out


def test_memory_in_a_cache_is_shown_over_delay_with_the_reason_and_compare_says_what_to_run(once: Any) -> None:
    assert "No knee is fitted to these curves: a buffer of 4 KiB fits" in once("show", "--dataset", "000-memory").out
    assert "bandwidth-against-load" in views_of(once, "000-memory")
    refused = once("compare", "--dataset", "000-memory")
    assert refused.code == 1
    assert "run: qsim show --dataset 000-memory --report measured.html" in refused.error


def test_reports_001_and_004_are_held_against_their_data_sheets(once: Any) -> None:
    sheet = ("--datasheet", "read=400k,write=118k,latency=80us")
    text = once("show", "--dataset", "001-ssd", *sheet).out
    assert "SHEET   Reads reach 26.3 k/s (computed: bandwidth / block) at most" in text
    assert "15 times less than the data sheet's 400 k/s" in text
    assert "14 times less than the data sheet's 118 k/s" in text
    assert "2.4 times the data sheet's 80.0 µs" in text
    caption = views_of(once, "001-ssd", *sheet)["throughput-against-load"]["caption"]
    assert "data sheet's 400 k/s" in caption
    assert "Requests of an unknown mix reach 108 k/s" in once("show", "--dataset", "004-ssd-depth", *sheet).out


@pytest.mark.parametrize("wrong", ["read", "reads=4", "read=1k,read=2k", "latency=quick"])
def test_a_data_sheet_that_cannot_be_read_is_named(once: Any, wrong: str) -> None:
    refused = once("show", "--dataset", "001-ssd", "--datasheet", wrong)
    assert refused.code == 2
    assert "--datasheet" in refused.error


def test_report_002_shows_its_percentiles_over_the_depth_as_table_and_picture(once: Any) -> None:
    text = once("show", "--dataset", "002-ssd-tails").out
    assert "SHOWS   write (as published): the p99.9 goes from 210 µs at queue depth 1 to 2.24 ms at 16." in text
    assert "workload              queue depth      p50      p95      p99    p99.9" in text
    assert "read (as published)            32   165 µs   313 µs   375 µs   594 µs" in text
    views = views_of(once, "002-ssd-tails")
    assert [name for name in views if name.startswith("tails")] == ["tails-1", "tails-2"]


def test_report_002_shows_its_baseline_with_its_spread_and_names_the_variance_that_is_none(once: Any) -> None:
    text = " ".join(once("show", "--dataset", "002-ssd-baseline").out.split())
    assert "4Ki random read 100 % 52.9 µs 48.3 µs 56.6 µs 130 µs" in text
    assert "4Ki random both ~50 % 35.8 µs = 40.6 µs =" in text
    assert "= computed, not measured: latency (law of total variance)" in text
    assert "~ assumed, as nobody said it: read fraction (as many reads as writes)" in text
    assert "AUDIT 1 error (variance)" in text


@pytest.mark.parametrize("name", ["002-ssd-tails", "002-ssd-baseline"])
def test_a_file_of_latencies_alone_is_shown_as_its_dataset_is(qsim: Any, name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = qsim("show", str(SEED / f"{name}.csv"), "--report", str(page))
    assert shown.code == 0
    assert "No knee is fitted: the table has latencies, but no throughput" in shown.out
    (section,) = qsim("show", str(SEED / f"{name}.csv"), "--json").json["sections"]
    assert {view["name"]: view["rows"] for view in section["views"]} == {
        name: view["rows"] for name, view in views_of(qsim, name).items()
    }
    assert page.stat().st_size > 100_000


def test_why_no_knee_is_fitted_is_said_for_each_cache(qsim: Any, tmp_path: Path) -> None:
    rows = [f"{size},{delay},{ns},{ns}000" for size, ns in ((4, 2), (64, 14)) for delay in (0, 50, 500)]
    table = tmp_path / "cache.csv"
    table.write_text("\n".join(["area,delay,latency_ns,bandwidth_MBps", *rows]))
    (note,) = [line for line in qsim("show", str(table)).out.splitlines() if line.startswith("NOTE")]
    assert "these curves: the buffer fits a level-1 or level-2 cache, so this curve is not of the memory; " in note
    assert note.endswith("the buffer fits a cache of the CPU, so this curve is not of the memory.")


def test_several_tables_of_latencies_alone_are_a_section_each_and_audited_as_the_line_says(
    qsim: Any, tmp_path: Path
) -> None:
    for name in ("002-ssd-tails", "002-ssd-baseline"):
        (tmp_path / f"{name}.csv").write_text((SEED / f"{name}.csv").read_text())
    shown = qsim("show", str(tmp_path)).out
    assert "4Ki random read         100 %" in shown
    assert "read (as published)            32   165 µs" in shown
    assert f"to read it: qsim audit {tmp_path}" in shown
    audited = qsim("audit", str(tmp_path))
    assert audited.code == 0
    assert "ERROR    variance (4Ki random read): a variance of 48.3 µs² is too small" in audited.out
    unchecked = qsim("audit", str(tmp_path / "002-ssd-tails.csv")).out
    assert "not checked: Little's law (no mean latency stands beside a throughput)" in unchecked
    alone = qsim("audit", str(tmp_path), "--series", "4Ki random read", "--json").json["findings"]
    assert [f["check"] for f in alone] == ["variance"]


def test_a_command_that_needs_a_curve_says_that_latencies_alone_are_none(once: Any) -> None:
    refused = once("compare", str(SEED / "002-ssd-tails.csv")).error
    assert "is no curve: it has latencies, but no throughput; to see them, run: qsim show " in refused


def test_percentiles_over_a_rate_are_no_curve_before_the_median_is_declared(qsim: Any, tmp_path: Path) -> None:
    (table := tmp_path / "j.csv").write_text("target_rps,actual_rps,p50_ms,p99_ms\n100,100,2.1,5\n900,899,4.9,30\n")
    refused = qsim("fit", str(table)).error
    assert "it has rates and percentiles, but no mean latency" in refused
    assert "--columns latency=p50_ms:ms; to see them" in refused
    assert "--columns latency=p50_ms:ms." in qsim("show", str(table)).out
    assert "899 /s" in qsim("show", str(table), "--columns", "latency=p50_ms:ms").out


def test_a_folder_that_cannot_be_read_is_refused_for_its_own_reason(qsim: Any, tmp_path: Path) -> None:
    (tmp_path / ".hidden").write_text("hi")
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    for command in ("show", "audit", "fit"):
        assert "holds nothing that can be read as a measurement, 1 file tried" in qsim(command, str(tmp_path)).error
    (tmp_path / "a.bin").unlink()
    (tmp_path / "README.md").write_text("Notes.")
    (tmp_path / "t.csv").write_text("rw,iodepth,p50_us,p99_us\nread,1,80,200\nread,8,120,900\n")
    assert "the p99 goes from 200 µs" in qsim("show", str(tmp_path)).out


def test_the_spread_of_workloads_that_are_neither_reads_nor_writes_is_said(qsim: Any, tmp_path: Path) -> None:
    table = tmp_path / "queries.csv"
    table.write_text("series,avg_latency_us,latency_stddev_us,p99_us\nalpha,20,3,40\nbeta,30,4,60\n")
    assert "SHOWS   alpha takes 20.0 µs, beta 30.0 µs" in qsim("show", str(table)).out
    alone = qsim("show", str(table), "--series", "beta").out
    assert "SHOWS   beta takes 30.0 µs\n" in alone


@pytest.mark.parametrize(
    ("name", "crossover"),
    [("004-ssd-block-size", "cross at 70 KiB"), ("003-ssd-read", "depth 4: IOPS and bandwidth cross at 34 KiB, both")],
)
def test_reports_002_to_004_have_both_rates_over_the_block_size_with_their_crossover(
    once: Any, name: str, crossover: str
) -> None:
    view = views_of(once, name)["iops-and-bandwidth-1"]
    assert crossover in view["caption"]
    assert all(row["bandwidth_bytes_per_s"] > 0 and row["throughput_per_s"] > 0 for row in view["rows"])


def test_report_004_has_reads_and_writes_apart_over_the_mix(once: Any) -> None:
    view = views_of(once, "004-ssd-mix")["latency-by-direction-1"]
    at_half = next(row for row in view["rows"] if row["read_fraction"] == 0.5)
    assert at_half["read_latency_s"] == pytest.approx(20.29e-6)
    assert at_half["write_latency_s"] == pytest.approx(26.39e-6)
    assert "writes take 1.2 to 1.3 times as long as reads" in view["caption"]


def test_latency_over_depth_is_drawn_as_the_report_measured_it(once: Any) -> None:
    """Report 004 printed 155.56 µs at depth 32, where N / X is 296 µs."""
    caption = views_of(once, "004-ssd-depth")["latency-against-load"]["caption"]
    assert "to 5.36 ms (depth 1024)" in caption


def test_what_a_percentile_is_belongs_to_its_picture_and_not_to_the_answer(qsim: Any, tmp_path: Path) -> None:
    rows = ["series,depth,iops,latency_us,p99_us,p999_us", "a,1,10000,100,200,300", "a,4,38000,105,220,400"]
    (tmp_path / "tails.csv").write_text("\n".join([*rows, "a,16,60000,266,500,900"]))
    assert "SHOWS" not in qsim("show", str(tmp_path / "tails.csv")).out
    (section,) = qsim("show", str(tmp_path / "tails.csv"), "--json").json["sections"]
    assert "1 request in 100" in next(v["caption"] for v in section["views"] if v["name"] == "tails-1")
