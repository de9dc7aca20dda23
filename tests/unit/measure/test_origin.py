"""Every figure of a sweep says where it comes from, through means, joins and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measure import Sweep, load, load_dataset
from measure.errors import DataError
from measure.formats.block_device_counts import DeviceInterval, watched_sweep
from measure.formats.servers import server_runs_sweep
from measure.formats.sysstat import sysstat_sweep
from measure.loads import Depth
from measure.origin import IN_PLOTS, MEASURED, ORIGIN, as_measured, corrected_rows, foot_lines, rows_to_judge
from measure.repeats import check_outliers
from measure.sweep import join

ROWS = pd.DataFrame({"series": "a", "load": [8.0, 8.0], "throughput_per_s": [1e4, 3e4], "latency_s": [8e-4, 4e-4]})


def test_what_no_reader_remarks_on_was_measured() -> None:
    points = Sweep(ROWS).points
    assert set(points[[*ORIGIN.values()]].to_numpy().ravel()) == {MEASURED}


def test_an_empty_origin_beside_others_means_measured() -> None:
    points = Sweep(ROWS.assign(latency_origin=[None, "computed: N / X"])).points
    assert points["latency_origin"].tolist() == [MEASURED, "computed: N / X"]


def test_an_origin_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="invalid throughput_origin 'guessed: it': expected one of measured, computed"):
        Sweep(ROWS.assign(throughput_origin="guessed: it"), name="t.csv")


def test_a_mean_over_repeats_of_several_origins_says_so() -> None:
    mixed = ROWS.assign(latency_origin=[MEASURED, "computed: N / X"], latency_published_s=[np.nan, 3e-4])
    (mean,) = Sweep(mixed).mean_points().to_dict("records")
    assert mean["latency_origin"] == "computed: N / X, in 1 of 2 repeats"
    # the repeat that stands as measured counts with 800 µs, each with its throughput: (1 * 800 + 3 * 300) / 4
    assert mean["latency_published_s"] == pytest.approx(425e-6)
    assert mean["throughput_origin"] == MEASURED


def test_origins_go_with_the_points_into_selections_joins_and_frames() -> None:
    one = Sweep(ROWS.assign(latency_origin="computed: N / X", latency_published_s=2e-4))
    both = join([("old", one), ("new", Sweep(ROWS))], "both")
    for sweep, origin in (("old: a", "computed: N / X"), ("new: a", MEASURED)):
        assert set(both.select(sweep).to_frame()["latency_origin"]) == {origin}
    assert both.select("old: a").points["latency_published_s"].tolist() == [2e-4, 2e-4]


def test_the_measured_value_comes_before_the_one_of_a_law() -> None:
    points = load_dataset("004-ssd-depth").points
    assert 1e6 * as_measured(points, "latency_s")[2] == pytest.approx(155.56)
    assert 1e6 * points["latency_s"][2] == pytest.approx(1e6 * 32 / 108e3)
    assert points["latency_origin"].tolist() == [MEASURED, *["computed: N / X"] * 4]


def test_a_corrected_unit_keeps_what_was_published() -> None:
    points = load_dataset("003-ssd-read").points
    assert (points["latency_published_s"] / points["latency_s"]).tolist() == pytest.approx([1000] * len(points))
    assert set(points["latency_origin"]) == {"corrected: a unit off by 1,000, by N = X R"}
    assert foot_lines(points) == [
        "←  corrected; behind the arrow what was published: latency (a unit off by 1,000, by N = X R)"
    ]


def test_under_a_plot_marks_are_explained_without_brackets_and_arrows() -> None:
    assert foot_lines(load_dataset("004-ssd-depth").points, IN_PLOTS) == ["=  computed, not measured: latency (N / X)"]
    (line,) = foot_lines(load_dataset("003-ssd-read").points, IN_PLOTS)
    assert line == "←  corrected: latency (a unit off by 1,000, by N = X R)"


def test_a_missing_column_of_a_table_is_computed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("iodepth,iops\n1,10000\n8,40000\n")
    (tmp_path / "r.csv").write_text("iodepth,lat_us\n1,100\n8,200\n")
    assert set(load(tmp_path / "x.csv").points["latency_origin"]) == {"computed: N / X"}
    assert set(load(tmp_path / "r.csv").points["throughput_origin"]) == {"computed: N / R"}


def test_apachebench_that_is_too_coarse_has_a_computed_latency() -> None:
    text = (
        "This is ApacheBench\nConcurrency Level:      8\nComplete requests:      1000\nFailed requests:        0\n"
        "Requests per second:    4000.00 [#/sec] (mean)\nTotal:          0    {0}   0.5      {0}       9\n"
    )
    coarse, fine = (server_runs_sweep({"ab.txt": text.format(ms)}).points.iloc[0] for ms in (2, 20))
    assert (coarse["latency_origin"], coarse["latency_s"]) == ("computed: N / X", 0.002)
    assert (fine["latency_origin"], fine["latency_s"]) == (MEASURED, 0.02)


def test_a_load_generator_that_prints_no_clients_has_a_computed_load() -> None:
    text = "Summary:\n  Total:\t1.0 secs\n  Average:\t0.0080 secs\n  Requests/sec:\t1000.0\n  [200]\t1000 responses\n"
    (row,) = server_runs_sweep({"hey.txt": text}).points.to_dict("records")
    assert (row["load"], row["load_origin"], row["latency_origin"]) == (8, "computed: X R", MEASURED)


def test_a_watched_load_is_computed() -> None:
    busy = [DeviceInterval("sda", "", 1.0, reads=1000.0, read_s=4.0, read_bytes=4096e3) for _ in range(10)]
    assert set(watched_sweep(busy, "qsim watch").points["load_origin"]) == {"computed: X R"}


def test_iostat_prints_the_number_outstanding_so_that_its_latency_is_computed() -> None:
    report = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 1000 0 4000 0 4.00 0.00 4.00 99\n\n"
    points = sysstat_sweep(report * 10, "io.log").points
    assert set(points["latency_origin"]) == {"computed: N / X"}
    assert set(points["load_origin"]) == {MEASURED}


def test_rows_are_judged_by_the_figures_a_check_rests_on() -> None:
    table = pd.DataFrame(
        {
            "load_origin": [MEASURED, "told: load=1", "assumed: one job", MEASURED],
            "throughput_origin": [MEASURED, "computed: bandwidth / block", MEASURED, "computed: N / R"],
            "latency_origin": ["computed: N / X", "corrected: a unit", MEASURED, MEASURED],
        }
    )
    assert rows_to_judge(table).tolist() == [False, True, False, False]
    assert rows_to_judge(table, ["throughput_per_s"]).tolist() == [True, True, True, False]


def test_only_a_figure_that_has_an_origin_can_be_corrected() -> None:
    table = pd.DataFrame({"load": [1.0, 2.0], "latency_s": 1e-3, "latency_p99_s": 2e-3})
    table["latency_origin"] = [MEASURED, "corrected: a unit"]
    assert corrected_rows(table, ["load", "latency_s", "latency_p99_s"])["load"].tolist() == [2.0]
    assert corrected_rows(table, ["load", "latency_p99_s"]).empty


def test_an_outlier_is_told_between_measured_neighbours() -> None:
    load, rates = [1.0, 2, 4, 8, 16, 32], [1e4, 1.5e4, 4e4, 9e9, 4e4, 4e4]
    points = pd.DataFrame({"series": "a", "load": load, "throughput_per_s": rates, "latency_s": 1e-3})
    points["throughput_origin"] = [MEASURED] * 3 + ["computed: N / R"] + [MEASURED] * 2
    (found,) = check_outliers(Sweep(points).points, Depth())
    assert "between 15.0 k/s at 2 and 40.0 k/s at 16" in found.message
    assert "9.00 G/s" not in found.message
