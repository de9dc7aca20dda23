"""Whatever the bytes, a parser answers with a Sweep or with a DataError of one sentence; and units scale exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from measure.auditing.all_checks import audit, corrected
from measure.errors import DataError
from measure.formats.by_format import sniff
from measure.formats.mlc import mlc_sweep
from measure.formats.tables.cells import looks_like_table
from measure.formats.tables.column_names import parse_columns
from measure.formats.tables.table import csv_sweep
from measure.sweep import Sweep
from measure.text_files import decode
from measure.units import parse_mix

CELLS = st.sampled_from(
    ["1", "8", "64", "1e3", "-1", "0", "", "NA", "x", "70%", '"', "nan", "1e999", "9" * 400, "é", "\0"]
)
HEADS = st.sampled_from(
    ["io_depth", "delay", "latency_us", "latency_ms", "iops", "bandwidth_MBps", "block_KB", "read_pct", "mix", "x", ""]
)
POSITIVE = st.floats(1e-9, 1e9, allow_nan=False)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Text that is nearly a table."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    width = draw(st.integers(1, 6))
    rows = [draw(st.lists(HEADS, min_size=width, max_size=width))]
    rows += draw(st.lists(st.lists(CELLS, min_size=0, max_size=width + 1), max_size=5))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(separator.join(row) for row in rows)


def _refused(read: Callable[[], Any], name: str) -> Any:
    """What ``read`` gives, or None where it refuses in one sentence that names the file."""
    refusal = ""
    try:
        return read()
    except DataError as error:
        refusal = str(error)
    assert name in refusal
    assert len(refusal) < 2000
    return None


@settings(max_examples=60, deadline=None)
@given(tables() | st.text(max_size=300))
@example("io_depth,latency_us,iops\n1,9,\x1c2\n")
@example('io_depth,latency_us,iops\n"1,9,2\n')
def test_any_text_is_a_sweep_or_one_refusal_as_a_table(text: str) -> None:
    looks_like_table(text)
    sweep = _refused(lambda: csv_sweep(text, name="t.csv"), "t.csv")
    if sweep is not None:
        assert isinstance(sweep, Sweep)
        audit(sweep)
        corrected(sweep)


MLC_LINES = st.sampled_from(
    [
        "Intel(R) Memory Latency Checker - v3.10",
        "Command line parameters: --loaded_latency -W5",
        "Inject Latency Bandwidth",
        "Delay (ns) MB/sec",
        "=====",
        " 00000\t100.00\t5000.0",
        " 00002 99.0",
        " 00008",
        "",
        "       0  90.2 144.3",
        "ALL Reads : 1.0",
        "Measuring idle latencies (in ns)...",
        "Each iteration took 0.0 core clocks ( 0.0 ns)",
        "Using buffer size of 1.2.3MiB/thread",
        "Using Read-only traffic type",
        "C:\\>",
        " 00000 0.00 0.0",
        "Writer Numa Node 0 1",
        "            0     -  70.4",
        "Using buffer size of ...MB",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MLC_LINES | st.text(max_size=20), max_size=25).map("\n".join))
def test_any_text_is_a_sweep_or_one_refusal_as_mlc(text: str) -> None:
    sweep = _refused(lambda: mlc_sweep({"m.txt": text}), "m.txt")
    if sweep is not None:
        assert sweep.points["latency_s"].gt(0).all()
        assert audit(sweep)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400) | st.binary(max_size=50).map(lambda b: b"\xff\xfe" + b))
def test_any_bytes_are_text_of_a_known_format_or_one_refusal(content: bytes) -> None:
    kind = _refused(lambda: sniff(decode(content, "b.dat"), "b.dat"), "b.dat")
    assert kind in ("fio", "mlc", "table", None)


@given(st.text(max_size=60))
def test_any_declaration_is_read_or_refused(text: str) -> None:
    parse_mix(text)
    try:
        columns, units = parse_columns(text)
    except DataError:
        return
    assert set(units) <= set(columns)


POINT = st.tuples(
    st.just(0.0) | st.floats(1e-9, 1e5), POSITIVE, POSITIVE, st.sampled_from(["a", 'b, "c"', "4 KiB random read"])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(POINT, min_size=1, max_size=8))
def test_our_table_survives_the_round_trip_exactly(rows: list[tuple[float, float, float, str]]) -> None:
    table = pd.DataFrame(rows, columns=["load", "throughput_per_s", "latency_s", "series"])
    if (table["load"] == 0).any():
        with pytest.raises(DataError, match="asks for nothing"):
            Sweep(table)
        return
    sweep = Sweep(table)
    again = csv_sweep(sweep.points.to_csv(index=False))
    for column in ("series", "load", "throughput_per_s", "latency_s"):
        assert again.points[column].tolist() == sweep.points[column].tolist()


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 1e6), st.sampled_from([("us", 1e-6), ("ms", 1e-3), ("ns", 1e-9), ("s", 1.0)]))
def test_a_unit_only_scales(value: float, unit: tuple[str, float]) -> None:
    sweep = csv_sweep(f"depth,t,iops\n1,{value!r},5\n", {"latency": "t"}, {"latency": unit[0]})
    assert sweep.points["latency_s"].iloc[0] == pytest.approx(value * unit[1], rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1024), st.floats(1, 1e6)), min_size=1, max_size=8))
def test_a_table_that_obeys_littles_law_has_no_littles_law_error(rows: list[tuple[int, float]]) -> None:
    text = "depth,latency_s,iops\n" + "".join(f"{n},{n / x!r},{x!r}\n" for n, x in rows)
    for finding in audit(csv_sweep(text)):
        assert finding.check != "littles-law" or finding.severity == "info"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 1024), POSITIVE, POSITIVE), min_size=1, max_size=8))
def test_correcting_leaves_only_positive_finite_numbers(rows: list[tuple[int, float, float]]) -> None:
    text = "depth,latency_s,iops\n" + "".join(f"{n},{r!r},{x!r}\n" for n, r, x in rows)
    after = corrected(csv_sweep(text))
    assert all(math.isfinite(v) and v > 0 for v in after.points["latency_s"])
