"""Tables as people paste them: each gives the points that it shows, whatever its frame, its header and its units."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from measure import load
from measure.errors import DataError
from measure.formats.tables.cells import upright
from measure.formats.tables.table import csv_sweep
from measure.loads import ArrivalRate
from measure.sweep import Sweep

POINTS = [(1, 9295, 107e-6), (4, 19086, 209e-6), (16, 30951, 516e-6)]
PASTED = sorted(Path(__file__).parents[4].joinpath("data", "pasted").iterdir())
MARKDOWN = next(path for path in PASTED if path.stem == "markdown").read_text("utf-8")
NAMES = """load,Load,N,QD,q_depth,QDepth,Q,OIO,conc,Conc,thds,#threads,thread_num,terminals,vusers,parallelism,c
sysbench threads,# clients,Clients/threads,Max request concurrency,Warteschlangentiefe"""


@pytest.mark.parametrize("path", PASTED, ids=lambda path: path.stem)
def test_a_pasted_table_has_the_points_that_it_shows(path: Path) -> None:
    assert _points(load(path)) == [pytest.approx(point) for point in POINTS]


def test_two_columns_between_bars_are_a_table(tmp_path: Path) -> None:
    (path := tmp_path / "two.md").write_text("| clients | tps |\n|---|---|\n| 1 | 500 |\n| 8 | 3200 |\n", "utf-8")
    assert load(path).points[["load", "throughput_per_s"]].to_numpy().tolist() == [[1, 500], [8, 3200]]


@pytest.mark.parametrize("name", NAMES.replace("\n", ",").split(","))
def test_a_load_has_the_names_that_people_use(name: str) -> None:
    text = f"{name},req/s,avg latency (us)\n" + "".join(f"{n},{x},{r * 1e6:.0f}\n" for n, x, r in POINTS)
    assert _points(csv_sweep(text, name="t.csv")) == [pytest.approx(point) for point in POINTS]


def test_the_columns_that_the_user_names_may_have_units_in_their_cells() -> None:
    text = "a,b,c\n1,9295 /s,107 us\n4,19086 /s,0.209 ms\n16,30951 /s,516 us\n"
    sweep = csv_sweep(text, {"load": "a", "throughput": "b", "latency": "c"}, name="t.csv")
    assert _points(sweep) == [pytest.approx(point) for point in POINTS]


APART = """,read,,write,
queue depth,iops,lat (us),iops,lat (us)
1,10000,99,30000,33
8,70000,113,90000,88
32,150000,213,95000,336
"""


def test_reads_and_writes_measured_apart_are_two_curves_and_those_of_a_mix_one() -> None:
    sweep = csv_sweep(APART, name="t.csv")
    assert sweep.series == ("read", "write")
    assert sweep.points["throughput_per_s"].tolist() == [10e3, 70e3, 150e3, 30e3, 90e3, 95e3]
    assert sweep.points["latency_s"].tolist() == pytest.approx([99e-6, 113e-6, 213e-6, 33e-6, 88e-6, 336e-6])
    assert "directions-apart" in {f.check for f in sweep.findings}
    mixed = (
        "queue depth,read iops,read lat (us),write iops,write lat (us)\n1,7000,100.1,3000,95.2\n4,25000,110,10700,109\n"
    )
    assert csv_sweep(mixed, name="t.csv").series == ("70/30 mix",)


def test_a_rate_that_was_asked_for_is_the_load_where_no_number_in_flight_is_one() -> None:
    text = "target_qps,actual_qps,mean_ms\n100,100,3.1\n500,499.9,3.4\n"
    sweep = csv_sweep(text, name="t.csv")
    assert isinstance(sweep.load_type, ArrivalRate)
    assert (sweep.points["load"].tolist(), sweep.points["throughput_per_s"].tolist()) == ([100, 500], [100, 499.9])
    in_flight = csv_sweep("qd," + text.replace("\n", "\n1,", 1).replace("\n5", "\n2,5"), name="t.csv")
    assert in_flight.points["load"].tolist() == [1, 2]


def test_a_table_whose_columns_are_named_by_their_loads_is_turned_where_its_rows_are_known() -> None:
    above = ["", "1 client", "8 clients"]
    assert upright([above, ["tps", "90", "500"], ["latency (ms)", "11", "16"]])[0] == ["clients", "tps", "latency (ms)"]
    others = [above, ["tps", "90", "500"], ["colour", "11", "16"]]
    assert upright(others) == others


def test_a_time_of_day_is_no_mix_of_reads_and_writes() -> None:
    text = "time,users,rps,avg_ms\n10:00:01,1,98,10.2\n10:00:03,4,391,10.2\n"
    assert csv_sweep(text, name="t.csv").series == ("all points",)


def test_an_example_offers_no_time_as_the_load() -> None:
    text = '"test","rps","avg_latency_ms","min_latency_ms"\n"SET","81433.22","0.334","0.088"\n'
    with pytest.raises(
        DataError, match="for example --columns load=COLUMN,throughput=rps:/s,latency=avg_latency_ms:ms"
    ):
        csv_sweep(text, name="t.csv")


def test_a_bandwidth_in_cells_gives_the_throughput_by_the_block() -> None:
    text = "qd,bw,lat,bs\n1,45 MB/s,89 us,4k\n8,0.2 GB/s,160 us,4k\n"
    assert csv_sweep(text, name="t.csv").points["bandwidth_bytes_per_s"].tolist() == pytest.approx([45e6, 200e6])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MARKDOWN.replace("|  9295 ", ""), "t.csv: line 3 has 2 cells under 3 columns; give each row as many cells"),
        (MARKDOWN.replace("| 30951 |", "| 30951 | 7 |"), "line 5 has 4 cells under 3 columns"),
        ("qd,iops,lat\n1,9295,107 us\n4,19086,209\n", "'209' in line 3, column 'lat' has no unit, and others have us"),
        ("qd;iops;lat\n1;100;2,5 ms\n4;200;950,5 us\n", "'950,5 us' in line 3, column 'lat' cannot be converted to ms"),
        ("qd,iops,lat\n1,100,2 ms\n4,200,9295 /s\n", "'9295 /s' in line 3, column 'lat' cannot be converted to ms"),
        ("load,req/s,latency_us\n0.5,100,100\n0.9,200,200\n", "a load cannot be found"),  # a share of the capacity
        (
            "setting,foo,bar\n1,2.5,3\n4,5.5,4\n",
            "three columns do, a load, a throughput and a mean latency: declare them, for example --columns "
            "load=setting,throughput=foo,latency=bar:ms",
        ),
    ],
)
def test_a_refusal_says_where_and_what_to_do(text: str, says: str) -> None:
    with pytest.raises(DataError) as refusal:
        csv_sweep(text, name="t.csv")
    assert says in str(refusal.value)


def test_bandwidths_of_reads_and_writes_measured_apart_are_two_curves() -> None:
    header = "bs,QD,read MB/s,write MB/s,read lat (ms),write lat (ms)"
    sweep = csv_sweep(f"{header}\n4k,1,4.096,8.192,1,0.5\n4k,4,14.336,20.48,1.143,0.8\n", name="t.csv")
    assert sweep.series == ("4 KiB read", "4 KiB write")
    assert sweep.points["throughput_per_s"].tolist() == [1000, 3500, 2000, 5000]


def test_rates_of_reads_and_writes_without_latencies_are_one_mix_only_where_their_shares_are_fixed() -> None:
    apart = csv_sweep("QD,read IOPS,write IOPS\n1,1000,2000\n4,3500,5000\n16,8000,6000\n", name="t.csv")
    assert _points(apart)[:3] == [(1, 1000, 1e-3), (4, 3500, pytest.approx(4 / 3500)), (16, 8000, 2e-3)]
    assert [f.message for f in apart.findings if f.check == "directions-apart"] == [
        "t.csv: reads and writes have a curve each: the share of reads is 33 % to 57 %, and that of one mix is fixed."
    ]
    mixed = csv_sweep("QD,read IOPS,write IOPS\n1,700,300\n4,2460,1040\n", name="t.csv")
    assert _points(mixed) == [(1, 1000, 1e-3), (4, 3500, pytest.approx(4 / 3500))]


BEFORE, AFTER = "| 1 | 9295 | 107 |\n| 4 | 19086 | 209 |\n", "| 1 | 18590 | 53.5 |\n| 4 | 38172 | 104.5 |\n"
MARKED = "| qd | iops | lat (us) |\n|---|---|---|\n"


@pytest.mark.parametrize(
    "text",
    [
        f"## Before\n\n{MARKED}{BEFORE}\n## After\n\n{MARKED}{AFTER}",
        "qd,iops,lat (us)\n# Before\n1,9295,107\n4,19086,209\n\n# After\n1,18590,53.5\n4,38172,104.5\n",
    ],
)
def test_tables_and_sections_under_titles_of_their_own_are_curves(text: str) -> None:
    sweep = csv_sweep(text, name="t.csv")
    assert sweep.series == ("Before", "After")
    assert _points(sweep) == [
        *(pytest.approx(point) for point in POINTS[:2]),
        *(pytest.approx((n, 2 * x, r / 2)) for n, x, r in POINTS[:2]),
    ]


@pytest.mark.parametrize("titles", [("## Run 1", "## Run 2"), ("", "")])
def test_tables_under_the_numbers_of_runs_or_no_titles_are_repeats(titles: tuple[str, str]) -> None:
    text = "\n\n".join(f"{title}\n\n{MARKED}{BEFORE}" for title in titles)
    assert csv_sweep(text.replace("209 |\n", "208 |\n", 1), name="t.csv").points["repeat"].tolist() == [0, 0, 1, 1]


def _points(sweep: Sweep) -> list[tuple[float, float, float]]:
    columns = ("load", "throughput_per_s", "latency_s")
    return list(zip(*(sweep.points[column] for column in columns), strict=True))


def test_a_time_of_minutes_and_seconds_is_one() -> None:
    text = "clients,req/s,mean\n1,12.5,80ms\n100,2,50s\n512,6,1m25.3s\n"
    assert csv_sweep(text, name="t.csv").points["latency_s"].tolist() == pytest.approx([0.08, 50, 85.3])


def test_records_that_are_no_measurements_are_no_table(tmp_path: Path) -> None:
    for text in (
        '[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]',
        '{"tps": 5, "clients": 8, "more": {"latency": 1}}',
    ):
        (path := tmp_path / "other.json").write_text(text)
        with pytest.raises(DataError, match="is JSON of no tool that is read"):
            load(path)


@pytest.mark.parametrize(
    "document",
    [
        {"qd": [1, 4], "iops": [9295, 19086], "lat_us": [107, 209]},
        {"qd": {"0": 1, "1": 4}, "iops": {"0": 9295, "1": 19086}, "lat_us": {"0": 107, "1": 209}},
        {"columns": ["qd", "iops", "lat_us"], "index": [0, 1], "data": [[1, 9295, 107], [4, 19086, 209]]},
        [["qd", "iops", "lat_us"], [1, 9295, 107], [4, 19086, 209]],
        {"a": {"qd": 1, "iops": 9295, "lat_us": 107}, "b": {"qd": 4, "iops": 19086, "lat_us": 209}},
    ],
)
def test_columns_rows_and_named_records_in_json_are_a_table(tmp_path: Path, document: object) -> None:
    (path := tmp_path / "t.json").write_text(json.dumps(document))
    assert _points(load(path)) == [pytest.approx(point) for point in POINTS[:2]]


def test_a_cell_of_a_record_is_named_with_its_line(tmp_path: Path) -> None:
    text = (Path(__file__).parents[4] / "data" / "pasted" / "records.json").read_text("utf-8")
    (path := tmp_path / "r.json").write_text(text.replace("19086", '"many"'))
    with pytest.raises(DataError, match="'many' in line 5, column 'tps' is not a number"):
        load(path)


def test_a_row_of_words_between_rows_that_is_no_section_is_refused() -> None:
    with pytest.raises(DataError, match="'first part' in line 3, column 'clients' is not a number"):
        csv_sweep("clients,tps,lat (us)\n1,9295,107\nfirst part,,\n4,19086,209\n", name="t.csv")


def test_values_of_two_objects_keep_the_whole_path_where_its_end_is_no_name() -> None:
    both = "[" + ",".join(f'{{"qd": {n}, "a": {{"iops": {n}000}}, "b": {{"iops": {n}500}}}}' for n in (1, 2)) + "]"
    with pytest.raises(DataError, match="both 'a_iops' and 'b_iops' can be the throughput"):
        csv_sweep(both, name="t.json")


def test_a_load_that_is_the_throughput_is_a_rate() -> None:
    """As a depth, 10,000 requests in flight would take a second each, where none took 2 ms."""
    rows = "load,achieved qps,mean,p99.9\n10k,9.99k,0.22ms,1.2ms\n50k,49.9k,0.26ms,1.9ms\n"
    sweep = csv_sweep(rows, name="t.csv")
    assert (sweep.load_type, sweep.points["load"].tolist()) == (ArrivalRate(), [10e3, 50e3])
    without_mean = rows.replace(",mean", ",p50").replace("load,", "load,")
    with pytest.raises(DataError, match="a latency with its unit cannot be found"):
        csv_sweep(without_mean, name="t.csv")
    slow = csv_sweep("load,tps,mean (s)\n1,1.0,1.0\n4,3.9,1.02\n", name="t.csv")
    assert slow.points["load"].tolist() == [1, 4]
    assert not isinstance(slow.load_type, ArrivalRate)


def test_relative_figures_are_no_measurements_of_a_rate_or_a_time() -> None:
    with pytest.raises(DataError, match="cannot be found in its columns"):
        csv_sweep("clients,throughput (relative),latency (relative)\n1,1.0,1.0\n4,3.72,1.07\n", name="t.csv")
