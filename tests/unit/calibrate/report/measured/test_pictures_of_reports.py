"""The pictures that the course reports drew: that they show the data's own numbers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrate.report.measured import (
    DataSheet,
    MeasuredData,
    latency_section,
    measured,
    published,
    sheet_lines,
    views_of,
    with_sheet,
)
from calibrate.report.measured.directions import pooled
from calibrate.report.measured.grids import crossover
from calibrate.report.view import View
from measure import Sweep
from measure.datasets import dataset_latencies
from measure.units import format_duration

KIB = 1024


def view(found: list[View], name: str) -> View:
    return next(v for v in found if v.name == name)


def drawn(one: View) -> Any:
    """The view's figure as plotly checks it."""
    assert one.figure is not None
    return one.figure.to_plotly()


def mixes(repeats: int = 1) -> MeasuredData:
    """100, 50 and 0 % reads: reads of 100 µs, writes of 300 µs, each with its spread."""
    rows = []
    for repeat in range(repeats):
        for share, x, r, sd in ((1.0, 10e3, 100e-6, 10e-6), (0.5, 5e3, 200e-6, 102e-6), (0.0, 3.3e3, 300e-6, 30e-6)):
            apart = {"read_throughput_per_s": x / 2, "write_throughput_per_s": x / 2} if share == 0.5 else {}
            apart |= {"read_latency_s": 100e-6 + 20e-6 * repeat, "write_latency_s": 300e-6} if apart else {}
            apart |= {"read_latency_sd_s": 10e-6, "write_latency_sd_s": 20e-6} if apart else {}
            words = {1.0: "read", 0.0: "write", 0.5: "50/50 mix"}[share]
            row = {"series": f"4 KiB {words}", "load": 1, "throughput_per_s": x, "latency_s": r, "repeat": repeat}
            rows.append({**row, "block_bytes": 4096, "read_fraction": share, "latency_sd_s": sd, **apart})
    return measured(Sweep(pd.DataFrame(rows)))


def test_bars_of_a_mix_have_reads_and_writes_apart_and_together_with_their_spread() -> None:
    one = view(views_of(mixes(), {}), "latency-by-direction-1")
    reads, writes, together = drawn(one).data
    assert [list(bar.x) for bar in (reads, writes, together)] == [["0", "50", "100"]] * 3
    assert list(reads.y)[1:] == pytest.approx([100, 100])
    assert list(writes.y)[:2] == pytest.approx([300, 300])
    assert list(together.y) == pytest.approx([300, 200, 100])
    assert list(together.error_y.array) == pytest.approx([30, 102, 10])
    assert "law of total variance" in one.caption


@pytest.mark.parametrize(
    ("writes_us", "in_mixes", "alone"),
    [
        (
            (150, 300),
            "In the mixes writes take 1.5 to 3 times as long",
            "Writes take 1.5 to 3 times the time of reads.",
        ),
        ((62.5, 50), "In the mixes reads take 1.6 to 2 times as long", "Reads take 1.6 to 2 times the time of writes."),
        ((80, 150), "In some mixes reads take longer, in others", "Reads take longer at some places, writes at others"),
    ],
)
def test_the_slower_direction_is_named_where_it_is_one(
    writes_us: tuple[float, float], in_mixes: str, alone: str
) -> None:
    """Reads take 100 us; at depth 1, and among 30 % reads, writes take the first time, else the second."""
    rows: list[dict[str, Any]] = []
    for load, share, write_us in zip((1, 8), (0.3, 0.7), writes_us, strict=True):
        fixed = {"throughput_per_s": 1e4, "block_bytes": 4096, "write_latency_s": write_us * 1e-6}
        mixed = {"load": 1, "latency_s": 1e-4, "read_latency_s": 1e-4, "read_fraction": share}
        rows.append({**fixed, **mixed, "series": f"4 KiB {100 * share:g}/{100 - 100 * share:g} mix"})
        rows.append({**fixed, "load": load, "latency_s": 1e-4, "read_fraction": 1.0, "series": "4 KiB read"})
        rows.append(
            {**fixed, "load": load, "latency_s": write_us * 1e-6, "read_fraction": 0.0, "series": "4 KiB write"}
        )
    found = views_of(measured(Sweep(pd.DataFrame(rows))), {})
    assert view(found, "latency-by-direction-1").caption.startswith(in_mixes)
    assert view(found, "latency-reads-against-writes").caption.startswith(alone)


def test_reads_and_writes_apart_are_averaged_over_repeats() -> None:
    one = view(views_of(mixes(2), {}), "latency-by-direction-1")
    assert one.table.set_index("read_fraction")["read_latency_s"][0.5] == pytest.approx(110e-6)


def test_the_pooled_variance_is_that_of_all_requests_together() -> None:
    draw = np.random.default_rng(1)
    reads, writes = draw.normal(100, 10, 3000), draw.normal(300, 30, 1000)
    every = np.concatenate([reads, writes])
    found = pooled([reads.mean(), writes.mean()], [reads.std(), writes.std()], [3000, 1000])
    assert found == pytest.approx((every.mean(), every.std()))


def test_a_heat_map_has_the_value_of_each_cell_in_words_and_all_maps_have_one_scale() -> None:
    found = views_of(published("000-ssd"), {})
    first, last = (drawn(view(found, f"latency-map-{number}")).data[0] for number in (1, 3))
    assert list(first.text[0]) == ["13.2 µs", "3.18 ms", "3.49 ms", "3.97 ms"]
    assert 10 ** first.z[2][0] == pytest.approx(6.89e-6, rel=1e-3)
    assert (first.zmin, first.zmax) == (last.zmin, last.zmax)


def test_a_setting_that_was_not_measured_is_an_empty_cell() -> None:
    table = published("000-ssd")
    holes = MeasuredData(table.title, table.table.iloc[1:], table.sweep, table.size_name)
    first = drawn(view(views_of(holes, {}), "latency-map-1")).data[0]
    assert first.text[0][3] == ""
    assert first.z[0][3] is None or math.isnan(first.z[0][3])


def test_both_rates_cross_where_each_is_at_the_same_share_of_its_highest() -> None:
    one = drawn(view(views_of(published("004-ssd-block-size"), {}), "iops-and-bandwidth-1"))
    tops = [axis.range[1] for axis in (one.layout.yaxis, one.layout.yaxis2)]
    assert tops == pytest.approx([1.05 * 54.0, 1.05 * 3.958])
    assert one.layout.shapes[0].x0 / KIB == pytest.approx(70, rel=0.02)
    assert crossover([1, 2], [10, 9], [1, 0.5]) is None


def test_what_was_published_is_drawn_beside_what_was_corrected() -> None:
    """Report 003 printed 70.22 ms at depth 4, which is 70.22 µs."""
    figure = drawn(view(views_of(published("003-ssd-read"), {}), "latency-against-load"))
    crosses = [trace for trace in figure.data if trace.name == "as published, before the correction"]
    curves = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert len(crosses) == len(curves) == 4
    assert list(crosses[0].y) == pytest.approx([1000 * y for y in curves[0].y])
    assert [trace.showlegend for trace in crosses] == [True, False, False, False]


def test_an_axis_from_microseconds_to_a_minute_names_each_power_of_ten_in_its_own_unit() -> None:
    axis = drawn(view(views_of(published("003-ssd-read"), {}), "latency-against-load")).layout.yaxis
    assert axis.title.text == "response time"
    assert dict(zip(axis.ticktext, axis.tickvals, strict=True))["100 ms"] == pytest.approx(100)  # milliseconds
    assert axis.ticktext[-1] == "100 s"


def test_where_size_and_mix_vary_a_colour_is_a_mix_and_a_dash_is_a_size() -> None:
    figure = drawn(view(views_of(published("000-ssd"), {}), "throughput-against-load"))
    lines = {trace.name: trace.line for trace in figure.data if trace.mode == "lines+markers"}
    reads = [line for name, line in lines.items() if " read " in name]
    assert len({line.color for line in reads}) == 1
    assert len({line.dash for line in reads}) == 3


def test_a_data_sheets_figures_are_lines_in_the_units_of_the_axis() -> None:
    data = published("001-ssd")
    sheet = DataSheet(read_per_s=400e3, latency_s=80e-6)
    found = with_sheet(data, views_of(data, {}), sheet)
    for name, line, y in (
        ("throughput-against-load", "data sheet: 400 k/s reads", 400),
        ("latency-against-load", "data sheet: 80.0 µs", 0.08),
    ):
        (promised,) = [t for t in drawn(view(found, name)).data if t.name == line]
        assert list(promised.y) == pytest.approx([y, y])
    assert "2.4 times the data sheet's" in view(found, "latency-against-load").caption


@pytest.mark.parametrize(("origin", "said"), [("measured", " ("), ("computed: N / X", " (computed: N / X) (")])
def test_a_computed_latency_beside_a_data_sheets_says_so(origin: str, said: str) -> None:
    data = published("004-ssd-depth")
    of_origin = dataclasses.replace(data, table=data.table.assign(latency_origin=origin))
    (line,) = sheet_lines(of_origin, DataSheet(latency_s=80e-6))
    least = format_duration(float(data.table["latency_s"].min()))
    assert line.startswith(f"The shortest mean latency is {least}{said}{data.table['series'].iloc[0]}")


def test_percentiles_of_a_table_without_a_curve_are_drawn_over_its_load() -> None:
    section = latency_section(dataset_latencies("002-ssd-tails"))
    figure = drawn(view(list(section.views), "tails-2"))
    assert [trace.name for trace in figure.data] == ["p50", "p95", "p99", "p99.9"]
    assert list(figure.data[3].y) == pytest.approx([132.10, 138.24, 132.10, 183.30, 419.84, 593.92], rel=2e-3)


def test_reads_and_writes_together_are_a_row_of_their_own_below_both() -> None:
    rows = view(list(latency_section(dataset_latencies("002-ssd-baseline")).views), "spread").table
    named = [(number, series.rpartition(" ")[2]) for number, series in rows["series"].items()]
    assert named == list(enumerate(["read", "write", "both"] * 2))
    assert rows.loc[2, "latency_s"] == pytest.approx((rows.loc[0, "latency_s"] + rows.loc[1, "latency_s"]) / 2)


def test_every_picture_of_the_reports_has_a_title_and_a_sentence() -> None:
    for name in ("000-ssd", "000-memory", "001-ssd", "003-ssd-read", "004-ssd-depth", "004-ssd-mix"):
        for one in views_of(published(name), {}):
            assert one.title
            assert one.caption.endswith("."), f"{name}: {one.name}: {one.caption}"


def test_a_picture_has_the_sentences_of_its_own_figures_whatever_the_series_is_called() -> None:
    data = published("001-ssd")
    renamed = dataclasses.replace(data, table=data.table.assign(series="a test of latency"))
    found = with_sheet(renamed, views_of(renamed, {}), DataSheet(read_per_s=400e3, latency_s=80e-6))
    rate, latency = "the data sheet's 400 k/s", "the data sheet's 80.0 µs"
    for name, said, left in (("throughput", rate, latency), ("latency", latency, rate)):
        caption = view(found, f"{name}-against-load").caption
        assert said in caption
        assert left not in caption
