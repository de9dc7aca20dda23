"""What was measured, as tables and plots: which views data give, and that they show the data's own numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrate import fit
from calibrate.report.axes import load_scale
from calibrate.report.measured import by_load, measured, published, section_of, shown, together, views_of
from calibrate.report.measured.by_size import crossover
from calibrate.report.page import render
from calibrate.report.view import View
from measure import DataError, Provenance, Sweep, load_dataset
from measure.datasets import dataset_table
from measure.repeats import LEVEL

KIB = 1024


def kinds(views: list[View]) -> list[str]:
    return list(dict.fromkeys(v.kind for v in views))


def view(views: list[View], name: str) -> View:
    return next(v for v in views if v.name == name)


def plotly(one: View) -> Any:
    """The view's figure as plotly checks it."""
    assert one.figure is not None
    return one.figure.to_plotly()


def sweep_of(rows: list[dict[str, object]], **more: object) -> Sweep:
    return Sweep(pd.DataFrame(rows), **more)  # type: ignore[arg-type]


def row(depth: float, *, block: int = 4096, read: float = 1.0, r: float = 1e-4, **more: object) -> dict[str, object]:
    words = {1.0: "read", 0.0: "write"}.get(round(read, 2), f"{100 * read:.0f}/{100 - 100 * read:.0f} mix")
    return {
        "series": f"{block // KIB} KiB random {words}",
        "load": depth,
        "throughput_per_s": depth / r,
        "latency_s": r,
        "block_bytes": block,
        "read_fraction": read,
        "pattern": "random",
        **more,
    }


@pytest.fixture(autouse=True)
def no_knees(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitting a model to every curve takes its time, and only the tests of the knee need it (``knees``)."""

    def refuse(*_args: object, **_options: object) -> None:
        raise DataError("not in this test")

    if "knees" not in request.fixturenames:
        monkeypatch.setattr(by_load, "fit", refuse)


@pytest.fixture
def knees() -> None:
    """Lets models be fitted."""


# --- the crossover -------------------------------------------------------------------------------------------------


def test_the_crossover_of_a_device_that_obeys_the_law_is_found_exactly() -> None:
    alpha, beta = 20e-6, 2e-10
    size = np.array([4, 16, 64, 256, 1024]) * 1024.0
    found = crossover(size, 1 / (alpha + beta * size))
    assert found is not None
    assert found.size_bytes == pytest.approx(alpha / beta)
    assert found.iops_limit_per_s == pytest.approx(1 / alpha)
    assert found.bandwidth_limit_bytes_per_s == pytest.approx(1 / beta)
    assert found.inside


def test_the_interval_of_the_crossover_holds_the_truth_about_as_often_as_it_says() -> None:
    alpha, beta = 20e-6, 2e-10
    size = np.array([4, 8, 16, 32, 64, 128, 256, 512]) * 1024.0
    random, inside = np.random.default_rng(7), 0
    for _ in range(300):
        found = crossover(size, 1 / (alpha + beta * size) * np.exp(random.normal(0, 0.03, len(size))), level=0.9)
        assert found is not None
        assert found.low_bytes is not None
        assert found.high_bytes is not None
        inside += found.low_bytes <= alpha / beta <= found.high_bytes
    assert 0.85 <= inside / 300 <= 0.95  # 90 % expected, 5 points are three standard errors


@pytest.mark.parametrize(
    "throughput", [np.full(4, 5e4), 1e9 / np.array([4e3, 16e3, 64e3, 256e3])], ids=["no bytes", "bytes only"]
)
def test_where_one_limit_never_shows_there_is_no_crossover(throughput: np.ndarray) -> None:
    assert crossover(np.array([4e3, 16e3, 64e3, 256e3]), throughput) is None


def test_the_curves_on_two_axes_cross_at_the_crossover() -> None:
    views = views_of(published("004-ssd-block-size"))
    figure = plotly(view(views, "iops-bandwidth-1"))
    size = view(views, "crossovers").table["crossover_bytes"].iloc[0]
    assert 70e3 < size < 90e3
    axes = (figure.layout.yaxis, figure.layout.yaxis2)
    left, right = (np.asarray(t.y) / a.range[1] for t, a in zip(figure.data[:2], axes, strict=True))
    gap = np.interp(math.log(size), np.log(figure.data[0].x), left - right)
    assert abs(gap) < 0.03  # of the height of the figure; straight lines between the points


# --- means, intervals, names -----------------------------------------------------------------------------------------


def test_repeats_become_a_mean_with_its_t_interval() -> None:
    rates = [1000.0, 1100.0, 1050.0]
    sweep = sweep_of([{**row(1, repeat=i), "throughput_per_s": x, "latency_s": 1 / x} for i, x in enumerate(rates)])
    table = measured(sweep).table
    assert len(table) == 1
    half = 4.302653 * np.std(rates, ddof=1) / math.sqrt(3)  # t of 97.5 % with two degrees of freedom
    assert LEVEL == 0.95
    assert table["throughput_low_per_s"].iloc[0] == pytest.approx(1050 - half, rel=1e-6)
    assert table["throughput_high_per_s"].iloc[0] == pytest.approx(1050 + half, rel=1e-6)
    # N = X R survives the averaging.
    assert table["throughput_per_s"].iloc[0] * table["latency_s"].iloc[0] == pytest.approx(1.0)
    assert shown(table[["latency_s", "latency_low_s", "latency_high_s"]]).rows[0][0].startswith("952 µs ± ")


def test_a_mix_as_drawn_by_fio_is_the_mix_that_was_asked_for() -> None:
    drawn = {**row(1, read=0.7), "read_fraction": 0.713}
    table = measured(sweep_of([drawn, row(1, read=0.4998), row(1)])).table
    assert list(table["read_fraction"]) == [0.7, 0.5, 1.0]


def test_a_curve_is_named_by_what_does_not_vary_along_it() -> None:
    table = measured(sweep_of([row(1), row(1, block=65536, read=0.0)])).table
    assert list(table["curve"]) == ["random read", "random write"]
    assert list(table["place"]) == ["4 KiB random", "64 KiB random"]
    assert list(table["workload"]) == ["random", "random"]


def test_the_probes_names_tell_stride_and_mix() -> None:
    traffics = (("read", 1.0), ("3:1", 0.75), ("1:1", 0.5), ("nt-1:1", 0.5))
    rows = [
        {
            "series": f"{traffic}{stride}, 1 loader",
            "load": 0.0,
            "throughput_per_s": 1e8,
            "latency_s": 1e-7,
            "block_bytes": 64,
            "read_fraction": share,
        }
        for traffic, share in traffics
        for stride in ("", " stride 256 B")
    ]
    shown_sweep = measured(sweep_of(rows, load_kind="injected_delay", load_unit="loop iterations"))
    assert shown_sweep.size_name == "stride"
    assert set(shown_sweep.table["size_bytes"]) == {64, 256}
    assert set(shown_sweep.table["curve"]) == {"read, 1 loader", "3:1, 1 loader", "1:1, 1 loader", "nt 1:1, 1 loader"}
    assert set(shown_sweep.table["workload"]) == {"1 loader", "nt, 1 loader"}
    assert {"heat-map", "mix", "latency-size"} <= set(kinds(views_of(shown_sweep)))


def test_outliers_among_repeats_are_flagged_and_drawn() -> None:
    rows = [
        {**row(n, repeat=i), "throughput_per_s": 1e4 * n * (0.5 if (n, i) == (4, 2) else 1 + 0.002 * i)}
        for n in (1, 2, 4, 8, 16)
        for i in range(5)
    ]
    shown_sweep = measured(sweep_of(rows))
    assert list(shown_sweep.table.loc[shown_sweep.table["outlier"] != "", "load"]) == [4.0]
    figure = plotly(view(views_of(shown_sweep), "throughput-against-load"))
    flagged = [t for t in figure.data if t.name == "outlier, see the audit"]
    assert [list(t.x) for t in flagged] == [[4.0]]


# --- which views ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("000-ssd", {"latency-bandwidth", "load", "latency-size", "heat-map", "mix", "read-write"}),
        ("000-memory", {"latency-bandwidth", "load", "latency-size", "heat-map", "mix", "read-write"}),
        ("001-ssd", {"latency-bandwidth", "load", "iops-bandwidth", "crossover", "latency-size", "read-write"}),
        ("001-memory", {"latency-bandwidth", "load", "latency-size", "heat-map", "mix"}),
        ("002-ssd-tails", {"tails"}),
        ("002-ssd-baseline", {"baseline", "read-write"}),
        ("003-ssd-read", {"latency-bandwidth", "load", "iops-bandwidth", "crossover", "latency-size"}),
        ("004-ssd-depth", {"latency-bandwidth", "load"}),
        ("004-ssd-block-size", {"iops-bandwidth", "crossover", "latency-size"}),
        ("004-ssd-mix", {"mix", "read-write"}),
    ],
)
def test_what_varies_in_a_published_table_decides_its_views(name: str, expected: set[str]) -> None:
    views = views_of(published(name))
    assert set(kinds(views)) == expected | {"points"}
    assert len({v.name for v in views}) == len(views)
    assert all(len(v.table) for v in views)


def test_the_baseline_is_the_one_that_was_printed() -> None:
    table = view(views_of(published("002-ssd-baseline")), "baseline").table
    printed = dataset_table("002-ssd-baseline").set_index("statistic_us")
    assert list(table["latency_s"] * 1e6) == pytest.approx(list(printed.loc["Average Latency"]))
    assert list(table["latency_p99_s"] * 1e6) == pytest.approx(list(printed.loc["99th Percentile Latency"]))
    assert list(table["series"])[2] == "128 KiB sequential read"


def test_the_tails_are_those_that_were_printed() -> None:
    views = views_of(published("002-ssd-tails"))
    printed = dataset_table("002-ssd-tails")
    table = view(views, "tail-table").table
    assert list(table["latency_p999_s"] * 1e6) == pytest.approx(list(printed["p99_9_us"]))
    figure = plotly(view(views, "tails-1"))
    drawn = {t.name: list(t.y) for t in figure.data}
    assert drawn["p99.9"] == pytest.approx(list(printed["p99_9_us"].iloc[:6]))
    assert list(drawn) == ["p50", "p95", "p99", "p99.9"]


def test_a_heat_map_holds_every_cell_of_its_table() -> None:
    views = views_of(published("000-ssd", as_published=True))
    one = view(views, "heat-map-2-latency")
    assert "block size and mix" in one.title
    heat = plotly(one).data[0]
    assert list(heat.x) == ["16 KiB", "64 KiB", "128 KiB"]
    assert list(heat.y) == ["0 % reads", "50 % reads", "75 % reads", "100 % reads"]
    points = load_dataset("000-ssd").points
    at_one = points[(points["load"] == 1) & (points["read_fraction"] == 0.75)].sort_values("block_bytes")
    assert list(heat.z[2]) == pytest.approx(list(at_one["latency_s"] * 1e6))  # in the axis's microseconds
    assert heat.text[3][0] == "3966"  # and no power of ten
    assert list(heat.text[0]) == ["13.2", "7.67", "6.89"]


def test_a_size_that_was_a_file_is_called_one() -> None:
    views = views_of(published("000-ssd"))
    assert "Latency against file size" in [v.title for v in views]
    assert "crossover" not in kinds(views)  # which is about blocks


def test_the_star_lies_at_the_knee_of_the_model(knees: None) -> None:
    def latency(n: float) -> float:  # R1 = 100 us, Xmax = 100 k/s, and a bend of p = 3: the knee is at 10
        return n * ((n / 1e-4) ** -3 + 1e5**-3) ** (1 / 3)

    sweep = sweep_of([row(2.0**i, r=latency(2.0**i)) for i in range(8)])
    one = view(views_of(measured(sweep)), "latency-bandwidth")
    knee = fit(sweep, [2.0**i for i in range(8)]).knee
    star = next(t for t in plotly(one).data if t.name == "knee")
    assert star.x[0] == pytest.approx(knee.throughput_per_s * 4096 / 1e6, rel=0.01)
    assert star.y[0] == pytest.approx(knee.response_time_s * 1e6, rel=0.01)
    assert one.table["knee"].iloc[0] == pytest.approx(10, rel=0.1)
    assert one.table["sure"].iloc[0] == "sure"


def test_a_knee_that_is_open_by_a_factor_is_told_and_not_drawn(knees: None) -> None:
    noise = [1.0, 1.6, 0.6, 1.5, 0.5, 1.3, 0.7]
    rows = [row(2.0**i, r=1e-4 * max(1, 2.0**i / 8) * n) for i, n in enumerate(noise)]
    one = view(views_of(measured(sweep_of(rows))), "latency-bandwidth")
    assert list(one.table["sure"]) == ["rough"]
    assert one.table["knee_high"].iloc[0] > 2 * one.table["knee_low"].iloc[0]
    assert not [t for t in plotly(one).data if t.name == "knee"]
    assert "These points determine no sharp knee" in one.caption


def test_a_map_with_holes_is_no_heat_map() -> None:
    cross = [row(1, block=b, read=r) for b, r in ((4096, 1.0), (4096, 0.5), (4096, 0.0), (65536, 1.0), (16384, 1.0))]
    assert "heat-map" not in kinds(views_of(measured(sweep_of(cross))))
    full = [row(1, block=b, read=r) for b in (4096, 65536) for r in (1.0, 0.5, 0.0)]
    assert "heat-map" in kinds(views_of(measured(sweep_of(full))))


def test_reads_are_held_against_writes_of_the_same_size_and_load() -> None:
    rows = [row(n, block=b, read=f, r=1e-4 * (1 + f)) for n in (1, 4) for b in (4096, 65536) for f in (1.0, 0.0)]
    views = views_of(measured(sweep_of([*rows, row(8)])))
    table = view(views, "read-write-table").table
    assert len(table) == 4
    assert list(table["latency_ratio"]) == pytest.approx([2.0] * 4)
    assert list(table["throughput_ratio"]) == pytest.approx([0.5] * 4)
    assert list(table["line"]) == [
        "4 KiB random, N = 1",
        "64 KiB random, N = 1",
        "4 KiB random, N = 4",
        "64 KiB random, N = 4",
    ]


def test_the_data_sheet_stands_beside_the_peak_of_the_smallest_block() -> None:
    views = views_of(published("003-ssd-read"), datasheet_iops=564e3)
    table = view(views, "datasheet").table
    assert list(table["series"]) == ["4 KiB read"]
    assert table["share_pct"].iloc[0] == pytest.approx(100 * 282.2 / 564, abs=1.0)


def test_memory_and_storage_share_a_pair_of_axes_only_where_both_are_there() -> None:
    memory, drive = published("001-memory"), published("004-ssd-depth")
    assert together([memory, memory]) == []
    assert together([drive]) == []
    [section] = together([memory, drive])
    figure = plotly(section.views[0])
    assert {t.name.partition(":")[0] for t in figure.data} == {"memory", "storage"}
    assert figure.layout.xaxis.type == "log"


def test_an_open_sweep_is_drawn_over_the_rate_that_was_measured() -> None:
    rows = [
        {**row(1), "load": x, "throughput_per_s": x, "latency_p99_s": 3e-4, "latency_p999_s": 1e-3}
        for x in (9.9e3, 2.02e4)
    ]
    views = views_of(measured(sweep_of(rows, load_kind="arrival_rate", load_unit="requests/s")))
    assert kinds(views) == ["load", "tails", "points"]
    figure = plotly(view(views, "latency-against-load"))
    assert list(figure.data[0].x) == [9.9, 20.2]
    assert figure.layout.xaxis.title.text == "arrival rate, as measured (k requests/s)"


def test_a_delay_of_zero_has_a_place_on_a_logarithmic_axis() -> None:
    scale = load_scale(published("001-memory"))
    places = scale.at(np.array([0.0, 2.0, 8.0]))
    assert 0 < places[0] < 1 < places[1]
    assert "0" in [text for _, text in scale.ticks]
    assert scale.log


# --- the page and the files -------------------------------------------------------------------------------------------


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script> & </title><img src=x onerror=alert(2)>"
    rows = [{**row(n), "series": name} for n in (1, 4, 16)]
    one = measured(sweep_of(rows, name=name, provenance=Provenance(device=name, commands=(name,))), name)
    page = render([section_of(one, views_of(one), name)], title=name)
    own = re.sub(r"<script>/\*\*.*?</script>", "", page, count=1, flags=re.DOTALL)
    assert "<script>alert" not in own
    assert "<img src=x" not in own
    assert "&lt;img src=x" in own
    assert "http" not in own


def test_tables_read_in_units_and_leave_out_what_nobody_knows() -> None:
    table = pd.DataFrame(
        {
            "series": ["a"],
            "load": [32.0],
            "throughput_per_s": [5.2e4],
            "bandwidth_bytes_per_s": [2.1e8],
            "latency_s": [8e-5],
            "latency_low_s": [7e-5],
            "latency_high_s": [12e-5],
            "size_bytes": [4096.0],
            "latency_p99_s": [math.nan],
        }
    )
    text = shown(table, {"load": "N"})
    assert text.header == ("workload", "N", "throughput", "bandwidth", "mean latency", "size")
    assert text.rows == (("a", "32", "52.0 k/s", "210 MB/s", "80.0 µs (70.0 µs to 120 µs)", "4 KiB"),)
    assert text.words == (True, False, False, False, False, False)
