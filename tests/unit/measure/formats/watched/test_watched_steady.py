"""The record of a watch is read as it was written, up to its last whole line."""

from __future__ import annotations

import math
from dataclasses import fields

import pytest

from measure.errors import DataError
from measure.formats.block_device_counts import (
    DeviceInterval,
    looks_like_record,
    record_header,
    record_line,
    record_sweep,
)

SECOND = DeviceInterval(
    "vda",
    "2026-11-22T22:00:00+00:00",
    1.001,
    reads=700,
    read_s=0.07,
    read_bytes=700 * 4096,
    writes=300,
    write_s=0.06,
    written_bytes=300 * 8192,
    busy_s=0.4,
    in_flight=0.2,
    in_flight_variance=0.3,
    late_looks_share=0.1,
)


def test_an_interval_comes_back_from_its_names():
    again = DeviceInterval.of_rates(SECOND.to_dict())
    for name in (f.name for f in fields(DeviceInterval)):
        assert getattr(again, name) == pytest.approx(getattr(SECOND, name), nan_ok=True), name


def test_what_is_not_known_stays_empty():
    text = record_line(DeviceInterval("vda", "", 1.0))
    assert text == ",".join(["", "vda", "1", "0", "", "0", "", "", "", "0", "", "0", "0", "", "0", ""]) + "\n"
    assert math.isnan(DeviceInterval.of_rates({"device": "vda", "seconds": 1, "in_flight": ""}).in_flight)


def test_a_record_cut_off_in_its_last_line_keeps_the_seconds_before():
    text = record_header() + record_line(SECOND) * 6
    assert looks_like_record(text)
    sweep, torn = record_sweep(text, "w.csv"), record_sweep(text[:-30], "w.csv")
    assert sweep.points["throughput_per_s"].iloc[0] == pytest.approx(1000 / 1.001)
    assert sweep.points["read_fraction"].iloc[0] == pytest.approx(0.7)
    assert "6 of 6 s" in sweep.findings[0].message
    assert "5 of 5 s" in torn.findings[0].message


def test_a_record_of_nothing_and_a_damaged_line_are_told():
    with pytest.raises(DataError, match=r"w.csv holds no second yet; watch longer"):
        record_sweep(record_header() + record_line(SECOND)[:20], "w.csv")
    with pytest.raises(DataError, match=r"w.csv, line 3: could not convert .*remove the line"):
        record_sweep(record_header() + record_line(SECOND) + record_line(SECOND).replace("1.001", "x"), "w.csv")


def test_a_record_of_an_earlier_version_is_read_although_it_has_other_columns():
    header = [c for c in record_header().strip().split(",") if c not in ("in_flight_variance", "late_looks_share")]
    cells = dict(zip(record_header().strip().split(","), record_line(SECOND).strip().split(","), strict=True))
    lines = [",".join([*header, "io_pressure_share"]), *[",".join([*(cells[c] for c in header), "0.1"])] * 6]
    text = "\r\n".join(lines) + "\r\n"
    assert looks_like_record(text)
    assert record_sweep(text, "w.csv").points["throughput_per_s"].tolist() == pytest.approx([1000 / 1.001])
