"""Tables of other people, and our own."""

from __future__ import annotations

import pandas as pd
import pytest

from measure import audit
from measure.errors import DataError
from measure.formats.tables.table import csv_sweep

PLAIN = "io_depth,latency_us,iops\n1,100,10000\n8,200,40000\n"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + PLAIN,
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        "# measured at home\n" + PLAIN.replace("\n8", "\n\n# a remark, with commas\n8"),
        PLAIN.replace("io_depth", '"io_depth"').replace("100,", '"100",'),
        PLAIN.replace(",", ", "),
        PLAIN + ",,\n",
    ],
)
def test_the_same_table_in_other_clothes_is_the_same_sweep(text: str) -> None:
    assert csv_sweep(text).points.equals(csv_sweep(PLAIN).points)


def test_block_mix_and_percent_signs_make_the_curves() -> None:
    text = "depth,latency_us,iops,block_KB,read_pct\n1,9,1,4,100%\n1,9,1,4,70%\n1,9,1,16,0%\n"
    assert csv_sweep(text).series == ("4 KiB read", "4 KiB 70/30 mix", "16 KiB write")


def test_points_of_several_engines_are_curves_of_their_own() -> None:
    rows = "libaio,1,12000,82\nsync,16,125000,128\nlibaio,16,130000,123\n"
    mixed = csv_sweep(f"ioengine,iodepth,iops,latency_us\n{rows}")
    assert mixed.series == ("all points libaio", "all points sync")
    assert mixed.points["repeat"].tolist() == [0, 0, 0]
    assert "mixed-submission" in {f.check for f in audit(mixed)}
    one = csv_sweep(f"engine,iodepth,iops,latency_us\n{rows.replace('sync', 'libaio')}")
    assert one.series == ("all points",)
    assert "mixed-submission" not in {f.check for f in audit(one)}


@pytest.mark.parametrize(("one_load_both", "curves"), [("b", 2), ("a", 1)])
def test_a_column_parts_curves_only_where_it_differs_at_one_place(one_load_both: str, curves: int) -> None:
    rows = f"1,100,a\n1,100,{one_load_both}\n2,101,a\n4,105,b\n8,120,b\n"
    assert len(csv_sweep("io_depth,latency_us,disk\n" + rows).series) == curves


@pytest.mark.parametrize(("count", "shown"), [(6, "(0, 1, 2, 3, 4, 5)"), (7, "(0, 1, 2, 3, 4, 5, ...)")])
def test_at_most_six_values_that_part_curves_are_shown(count: int, shown: str) -> None:
    rows = "".join(f"{depth},100,{disk}\n" for disk in range(count) for depth in (1, 2))
    assert shown in csv_sweep("io_depth,latency_us,disk\n" + rows).findings[-1].message


def test_separators_after_the_last_column_are_no_cells() -> None:
    assert list(csv_sweep(PLAIN + "16,300,1,,\n").points["load"]) == [1, 8, 16]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PLAIN + "16,fast,1\n", "'fast' in line 4, column 'latency_us' is not a number; correct the cell"),
        (PLAIN.replace(",", ";") + "16;1,500;1\n", "'1,500' in line 4 may be 1.500 or 1500"),
        (
            PLAIN.replace(",", ";") + "16;1,5;1\n32;1.5;1\n",
            "'1,5' in line 4 has a decimal comma and '1.5' in line 5 has none",
        ),
        (
            PLAIN.replace(",", ";") + "16;1,5;1,234,567\n",
            "'1,5' in line 4 has a decimal comma and '1,234,567' in line 4 has none",
        ),
        (PLAIN + "16,inf,1\n", "'inf' in line 4, column 'latency_us' is not a number"),
        (PLAIN + "16,300,1,2\n", "line 4 has 4 cells under 3 columns"),
        (PLAIN + "16,0,1\n", "latency 0 in row 3"),
        (PLAIN + "16,300,0\n", "line 4 has a throughput of 0"),
        (PLAIN + "16,-3,1\n", "latency -3e-06 in row 3"),
        (PLAIN + "-1,3,1\n", "load -1 in row 3"),
        ("io_depth,latency_us,iops\n", "has a header but no row"),
        ("io_depth,latency_us,iops\n1,,\n", "none of its 1 row"),
        ("io_depth,latency_us,iops,iops\n1,2,3,4\n", "'iops' is there more than once"),
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("just words\n1\n", "is not the header of a table"),
        ("series,load,throughput_per_s,latency_s\na,1,,2\n", "line 2 has no throughput_per_s"),
    ],
)
def test_bad_tables_are_refused_with_the_row_and_the_column(text: str, says: str) -> None:
    with pytest.raises(DataError) as refusal:
        csv_sweep(text, name="t.csv")
    assert says in str(refusal.value)
    assert "t.csv" in str(refusal.value)


def test_our_own_table_comes_back_unchanged() -> None:
    sweep = csv_sweep("qd,latency_us,iops,block_KB,mix\n1,90,10990,4,Read-Only\n8,99,79900,4,Read-Only\n")
    again = csv_sweep(sweep.points.to_csv(index=False))
    pd.testing.assert_frame_equal(again.points, sweep.points, check_like=True, check_exact=True)
