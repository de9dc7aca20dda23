"""Names of columns: what is recognised, what is refused, and how a user declares the rest."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from measure.errors import DataError
from measure.formats.tables.cells import TextTable, looks_like_table
from measure.formats.tables.column_names import Roles, parse_columns, recognise
from measure.formats.tables.columns import assign_roles
from measure.formats.tables.table import csv_sweep


def roles_of(
    header: list[str], columns: dict[str, str] | None = None, units: dict[str, str] | None = None, where: str = "t.csv"
) -> Roles:
    return assign_roles(TextTable(tuple(header), ()), columns, units, where)


@pytest.mark.parametrize(
    ("column", "role", "scale"),
    [
        ("QD", "depth", 1),
        ("inject_delay", "delay", 1),
        ("avg_latency_ms", "latency", 1e-3),
        ("Latency (us)", "latency", 1e-6),
        ("iops_k", "throughput", 1e3),
        ("throughput_per_s", "throughput", 1),
        ("bandwidth_KBps", "bandwidth", 1024),
        ("BW [MiB/s]", "bandwidth", 2**20),
        ("bandwidth_kBps", "bandwidth", 1e3),
        ("block_size_KiB", "block", 1024),
        ("block_kB", "block", 1000),
        ("read_pct", "read_percent", 0.01),
        ("read_lat_us", "read_latency", 1e-6),
        ("latency_p99_us", "latency_p99", 1e-6),
    ],
)
def test_a_name_with_its_unit_is_recognised(column: str, role: str, scale: float) -> None:
    found = recognise(column)
    assert found is not None
    assert (found.role, found.scale) == (role, scale)


@pytest.mark.parametrize("column", ["latency", "bandwidth", "block_size", "size_KB", "bandwidth_Mbps", "n", "x", ""])
def test_a_name_that_leaves_something_to_guess_is_not(column: str) -> None:
    assert recognise(column) is None


def test_a_declaration_is_read_with_its_units() -> None:
    assert parse_columns('load=io_depth, latency=lat:us, "throughput=a,b:k/s"') == (
        {"load": "io_depth", "latency": "lat", "throughput": "a,b"},
        {"latency": "us", "throughput": "k/s"},
    )
    assert parse_columns("series=a:b,latency=:us") == ({"series": "a:b", "latency": ":us"}, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("load", "is not role=column"),
        ("load=", "is not role=column"),
        ("speed=x", "invalid role"),
        ("latency=a:parsec", "invalid unit 'parsec'"),
        ("load=a,load=b", "twice"),
        ("bandwidth=a:Mbps", "are bits"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        parse_columns(text)


def test_a_declared_column_takes_the_unit_in_its_name() -> None:
    roles = roles_of(["n", "t_ms", "rate"], {"load": "n", "latency": "t_ms", "throughput": "rate"}, None, "t.csv")
    assert roles["latency"].scale == 1e-3
    assert roles["throughput"].scale == 1


def test_the_name_of_a_declared_load_tells_its_kind() -> None:
    header = ["pause", "lat_ns", "bw_GBps"]
    assert "delay" in roles_of(header, {"load": "pause"}, None, "t.csv")


def test_a_value_stands_in_for_a_column() -> None:
    roles = roles_of(["bw_MBps", "lat_us"], {"load": "1", "block": "16KiB"}, None, "t.csv")
    assert roles["depth"].constant == 1
    assert roles["block"].constant == 16384
    shares = roles_of(["iops", "lat_us"], {"arrival_rate": "5", "read_percent": "70%", "buffer": "1KiB"})
    assert [shares[role].constant for role in ("arrival_rate", "read_percent", "buffer")] == [5, 0.7, 1024]


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (["io_depth", "mood", "Mbps"], "a latency with its unit"),
        (["io_depth", "latency_us", "bw_MBps"], "a block size"),
        (["latency_us", "iops"], "a load"),
        (["io_depth", "delay", "latency_us", "iops"], "both 'io_depth' and 'delay'"),
        (["io_depth", "latency_us", "latency_ms", "iops"], "both 'latency_us' and 'latency_ms'"),
    ],
)
def test_a_table_that_does_not_say_enough_lists_its_columns_and_the_remedy(header: list[str], says: str) -> None:
    with pytest.raises(DataError, match=says) as refusal:
        roles_of(header, None, None, "mine.csv")
    assert all(column in str(refusal.value) for column in header)
    assert "mine.csv" in str(refusal.value)
    assert "--columns" in str(refusal.value)


def test_a_declared_column_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(DataError, match=r"no column 'depht'.*io_depth, latency_us, iops"):
        roles_of(["io_depth", "latency_us", "iops"], {"load": "depht"}, None, "t.csv")


WORDS = tomllib.loads(files("measure.formats.tables").joinpath("synonyms.toml").read_text("utf-8"))["words"]


@pytest.mark.parametrize(
    ("words", "forms", "role"),
    [
        ("depths", ("{}",), "depth"),
        ("clients", ("{}", "number of {}"), "clients"),
        ("jobs", ("{}", "{} count"), "jobs"),
        ("rates", ("{}", "mean {}"), "throughput"),
        ("things", ("{}/s", "{}/sec", "{} per second"), "throughput"),
        ("latencies", ("{} (ms)", "mean_{}_us", "{} avg (s)"), "latency"),
        ("latencies", ("p99 {} (ms)", "{} 99% (us)"), "latency_p99"),
        ("latencies", ("{} stddev (ms)",), "latency_sd"),
    ],
)
def test_every_word_is_read_as_what_it_says(words: str, forms: tuple[str, ...], role: str) -> None:
    names = [form.format(word) for word in WORDS[words] for form in forms]
    assert {name: getattr(recognise(name), "role", None) for name in names} == dict.fromkeys(names, role)


def test_tokens_a_second_are_no_throughput_but_requests_a_second_beside_them_are():
    roles = roles_of(["clients", "requests_per_s", "output_tps", "ttft_ms", "latency"], {}, {}, "t.csv")
    assert [roles[role].column for role in ("throughput", "latency")] == ["requests_per_s", "latency"]


def test_a_header_alone_is_a_table_so_that_its_reader_says_what_is_missing():
    assert looks_like_table("depth,iops\n")
    assert not looks_like_table("depth\n")


def test_remarks_stand_above_a_table():
    assert looks_like_table("# depth of, a queue\n\n# and more\ndepth,iops\n1,100\n")
    assert not looks_like_table("# depth,iops\n# 1,100\n")


def test_a_depth_that_was_set_is_the_load_beside_the_mean_in_flight():
    assert roles_of(["aqu-sz", "QD", "iops", "lat_us"], {}, {}, "t.csv")["depth"].column == "QD"


def test_no_number_of_requests_is_offered_as_a_load():
    with pytest.raises(DataError, match="for example --columns 'load=COLUMN,throughput=rps:/s"):
        csv_sweep("Samples,rps,mean (ms)\n12000,98,102\n12100,99,104\n", name="t.csv")


def test_the_numbers_of_rows_that_pandas_writes_are_no_column_to_declare() -> None:
    sweep = csv_sweep(",clients,rps,mean ms\n0,1,95,10.5\n1,4,310,12.9\n", name="t.csv")
    assert (sweep.points["load"].tolist(), sweep.findings) == ([1, 4], ())
