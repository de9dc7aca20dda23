"""What was measured, as tables and plots: which views data give, and that they show the data's own numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from calibrate.report.drawing import load_scale
from calibrate.report.measured import MeasuredData, fits_of, measured, published, views_of
from calibrate.report.view import View, shown
from measure import Finding, Sweep
from measure.loads import ArrivalRate, InjectedDelay
from measure.repeats import LEVEL

KIB = 1024


def kinds(views: list[View]) -> list[str]:
    ends = (re.sub(r"-\d$", "", v.name.rpartition("against-")[2]) for v in views)
    return list(
        dict.fromkeys(re.sub(r"^(latency|throughput|bandwidth)-(map|by-direction)", r"\2", end) for end in ends)
    )


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


def views(one: MeasuredData) -> list[View]:
    """Its views; fitting a model to every curve takes its time, and only the tests of the knee need it."""
    return views_of(one, {})


def with_knees(sweep: Sweep) -> list[View]:
    """The views of a sweep with the models of its curves."""
    one = measured(sweep)
    return views_of(one, fits_of(one))


# --- means, intervals, names -----------------------------------------------------------------------------------------


def test_a_mix_as_drawn_by_fio_is_the_mix_that_was_asked_for() -> None:
    drawn = {**row(1, read=0.7), "read_fraction": 0.713}
    table = measured(sweep_of([drawn, row(1, read=0.4998), row(1)])).table
    assert list(table["read_fraction"]) == [0.7, 0.5, 1.0]


def test_a_percentile_of_three_runs_has_the_interval_of_student() -> None:
    rows = [{**row(1), "repeat": i, "latency_p99_s": time} for i, time in enumerate([1.0e-3, 1.1e-3, 1.2e-3])]
    found = measured(sweep_of(rows)).table.iloc[0]
    half = t.isf((1 - LEVEL) / 2, 2) * 1e-4 / math.sqrt(3)
    ends = [found[f"latency_p99{end}_s"] for end in ("_low", "", "_high")]
    assert ends == pytest.approx([1.1e-3 - half, 1.1e-3, 1.1e-3 + half])


def test_a_curve_is_named_by_what_does_not_vary_along_it() -> None:
    table = measured(sweep_of([row(1), row(1, block=65536, read=0.0)])).table
    assert list(table["curve"]) == ["random read", "random write"]
    assert list(table["place"]) == ["4 KiB random", "64 KiB random"]


def test_the_probes_names_tell_stride_and_mix() -> None:
    traffics = (("read", 1.0), ("3:1", 0.75), ("1:1", 0.5))
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
    shown_sweep = measured(sweep_of(rows, load_type=InjectedDelay(unit="loop iterations")))
    assert shown_sweep.size_name == "stride"
    assert set(shown_sweep.table["size_bytes"]) == {64, 256}
    assert set(shown_sweep.table["curve"]) == {"read, 1 loader", "3:1, 1 loader", "1:1, 1 loader"}
    assert "size" in kinds(views(shown_sweep))


# --- which views ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("000-ssd", {"latency-bandwidth", "load", "size", "mix", "map", "by-direction", "writes"}),
        ("001-ssd", {"latency-bandwidth", "load", "size", "map", "writes"}),
        ("001-memory", {"latency-bandwidth", "load", "size", "map"}),
        ("004-ssd-depth", {"latency-bandwidth", "load"}),
        ("004-ssd-block-size", {"size", "iops-and-bandwidth"}),
        ("004-ssd-mix", {"mix", "by-direction", "writes"}),
    ],
)
def test_what_varies_in_a_published_table_decides_its_views(name: str, expected: set[str]) -> None:
    found = views(published(name))
    assert set(kinds(found)) == expected | {"points"}
    assert len({v.name for v in found}) == len(found)
    assert all(len(v.table) for v in found)


def test_a_plot_promises_open_markers_only_where_it_draws_some() -> None:
    """A bandwidth of throughput and block has a mark in the table alone."""
    found = views(measured(sweep_of([row(n) for n in (1, 4, 16)])))
    assert "Open markers" not in "".join(v.caption for v in found)
    origin = {"latency_origin": "computed: N / X"}
    drawn = views(measured(sweep_of([row(n, **origin) for n in (1, 4, 16)])))
    promised = {v.name for v in drawn if "Open markers: =  computed, not measured: latency (N / X)." in v.caption}
    assert promised == {"latency-bandwidth", "latency-against-load"}


def test_the_tails_of_each_curve_are_drawn_over_the_load() -> None:
    tails = {"latency_p50_s": 1e-4, "latency_p99_s": 3e-4, "latency_p999_s": 1e-3}
    figure = plotly(view(views(measured(sweep_of([row(n, **tails) for n in (1, 4, 16)]))), "tails-1"))
    drawn = {t.name: list(t.y) for t in figure.data}
    assert list(drawn) == ["mean", "p50", "p99", "p99.9"]
    assert drawn["p99.9"] == pytest.approx([1000.0] * 3)  # in the axis's microseconds


def test_a_size_that_was_a_file_is_called_one() -> None:
    assert "Latency against file size" in [v.title for v in views(published("000-ssd"))]


def test_a_knee_that_is_open_by_a_factor_is_told_and_not_drawn() -> None:
    noise = [1.0, 1.6, 0.6, 1.5, 0.5, 1.3, 0.7]
    rows = [row(2.0**i, r=1e-4 * max(1, 2.0**i / 8) * n) for i, n in enumerate(noise)]
    one = view(with_knees(sweep_of(rows)), "latency-bandwidth")
    assert list(one.table["sure"]) == ["rough"]
    assert one.table["knee_high"].iloc[0] > 2 * one.table["knee_low"].iloc[0]
    assert not [t for t in plotly(one).data if t.name == "knee"]
    assert "These points determine no sharp knee" in one.caption
    assert one.title == "Latency against bandwidth, with the knee"
    assert view(views(published("000-memory")), "latency-bandwidth").title == "Latency against bandwidth"


def test_an_open_sweep_is_drawn_over_the_rate_that_was_measured() -> None:
    rows = [
        {**row(1), "load": x, "throughput_per_s": x, "latency_p99_s": 3e-4, "latency_p999_s": 1e-3}
        for x in (9.9e3, 2.02e4)
    ]
    found = views(measured(sweep_of(rows, load_type=ArrivalRate())))
    assert kinds(found) == ["load", "tails", "points"]
    figure = plotly(view(found, "latency-against-load"))
    assert list(figure.data[0].x) == [9.9, 20.2]
    assert figure.layout.xaxis.title.text == "arrival rate (k requests/s)"


def test_a_delay_of_zero_has_a_place_on_a_logarithmic_axis() -> None:
    memory = published("001-memory")
    scale = load_scale(memory.load_type, memory.load_name, memory.table["load"].to_numpy(float))
    places = scale.at(np.array([0.0, 2.0, 8.0]))
    assert 0 < places[0] < 1 < places[1]
    assert "0" in [text for _, text in scale.ticks]
    assert scale.log


# --- the page and the files -------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("series", "said"), [(["a"], "a"), (["a", "b"], "these curves"), ([None], "these curves")])
def test_curves_that_a_cache_answered_have_no_knee_and_the_note_says_which(series: list[str | None], said: str) -> None:
    found = tuple(Finding("fits-a-cache", "error", "flat", "the buffer fits a cache.", series=name) for name in series)
    rows = [row(depth) | {"series": name} for name in ("a", "b") for depth in (1, 8)]
    assert measured(sweep_of(rows, findings=found)).notes == (f"No knee is fitted to {said}: the buffer fits a cache.",)
