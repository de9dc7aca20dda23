"""Bandwidth-latency files: Mess's table, its text files; what can be fitted and what cannot."""

from __future__ import annotations

import pytest
from places import GOLDEN

from calibrate import compare
from measure import audit, load
from measure.errors import DataError
from measure.formats.mess_curves import curves_sweep

DATA = GOLDEN / "curves"


def test_messs_table_is_a_curve_over_the_pause_for_each_read_percentage() -> None:
    sweep = load(DATA / "mess.csv")
    assert (sweep.load_type.kind, sweep.load_type.unit) == ("injected_delay", "pauses")
    assert sweep.series == ("50/50 mix", "read")
    row = sweep.select("read").points.iloc[0]
    assert (row["load"], row["bandwidth_bytes_per_s"], row["latency_s"]) == (450, 15.5e9, pytest.approx(94.9e-9))
    assert row["throughput_per_s"] == 15.5e9 / 64
    assert sweep.provenance.details["idle_latency_s"]["read"] == pytest.approx(90.2e-9)
    (finding,) = sweep.findings
    assert finding.check == "idle-point"
    assert "mess.csv: 2 rows with a bandwidth of zero: idle latency, 90.1 to 90.2 ns, no point" in finding.message


def test_messs_table_can_be_fitted_and_compared() -> None:
    compared = compare(load(DATA / "mess.csv"), series="50/50 mix")
    assert len(compared.points.load) == 4
    assert compared.held_out.sum() == 1


def test_a_text_file_takes_its_ratio_from_its_name_and_its_unit_from_the_idle_end() -> None:
    sweep = load(DATA / "bwlat_70.txt")
    assert (sweep.load_type.kind, sweep.load_type.unit, sweep.series) == ("bandwidth", "B/s", ("70/30 mix",))
    assert sweep.points["load"].tolist() == sweep.points["bandwidth_bytes_per_s"].tolist()
    assert len(sweep) == 5
    assert {f.check: f.severity for f in sweep.findings} == {"rows-left-out": "warning", "latency-unit": "info"}
    assert "1 row left out, with a bandwidth below zero (the first: -81.2 MB/s)" in sweep.findings[0].message
    assert "bandwidth, 640.5 MB/s, bandwidth x latency is then 0.998 lines of 64 B" in sweep.findings[1].message


def test_a_text_file_in_cycles_is_not_confirmed_and_declared_units_are_taken() -> None:
    cycles = "100000 400\n640.5 209\n"
    (finding,) = curves_sweep({"bwlat_50.txt": cycles}).findings
    assert (finding.check, finding.severity) == ("latency-unit", "warning")
    declared = curves_sweep({"bwlat_50.txt": cycles}, {"latency": "us", "bandwidth": "GB/s"})
    assert declared.points["latency_s"].tolist() == pytest.approx([400e-6, 209e-6])
    assert declared.points["load"].iloc[0] == 1e14
    assert not declared.findings
    with pytest.raises(DataError, match="invalid unit 'parsec' of latency"):
        curves_sweep({"bwlat_50.txt": cycles}, {"latency": "parsec"})


@pytest.mark.parametrize(
    "text",
    [
        "bandwidth (GB/s),latency (ns)\n10,90\n80,110.5\n110,200\n",
        "\nLatency (ns);Bandwidth (MB/s)\n90;10000\n110.5;80000\n200;110000\n",
    ],
)
def test_a_header_may_name_the_two_columns_and_their_units(text: str) -> None:
    sweep = curves_sweep({"curve.csv": text})
    assert sweep.load_type.kind == "bandwidth"
    assert sweep.points["load"].tolist() == [10e9, 80e9, 110e9]
    assert sweep.points["latency_s"].tolist() == pytest.approx([90e-9, 110.5e-9, 200e-9])
    assert sweep.findings == ()


def test_what_has_no_load_is_audited_and_predicted_over_its_bandwidth() -> None:
    sweep = load(DATA / "bwlat_70.txt")
    assert {f.check for f in audit(sweep)} == {"lines-in-flight"}
    made = compare(sweep)
    assert (made.fit.model, made.fit.load_type.kind) == ("latency curve", "bandwidth")
    assert made.summary().held_out_mape_throughput_pct == pytest.approx(0)  # it is the load


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pause,bandwidth_mean,latency_mean\n", "has a header but no row"),
        ("pause,bandwidth_mean,latency_mean\n1,2\n", "line 2 has fewer cells than the header"),
        ("pause,bandwidth_mean,latency_mean\n1,fast,3\n", "'fast' in line 2 is not a number"),
        ("pause,bandwidth_mean,latency_mean\n1,5,0\n", "a latency of 0 ns at 5 GB/s"),
        ("pause,bandwidth_mean,latency_mean,rw_ratio\n1,5,9,120\n", "a latency of 9 ns at 5 GB/s and 120 % reads"),
        ("pause,bandwidth_mean,latency_mean,rw_ratio\n1,5,9,-20\n", "at 5 GB/s and -20 % reads"),
        ("pause,bandwidth_mean,latency_mean\n1,0,90\n", "no row has a bandwidth above zero"),
        ("pause,bandwidth_mean,latency_mean\n1,5,90\n1,6,95\n", "every row has the same pause"),
        ("1 2\n3 4\n5 6 7\n" + "1 2\n" * 30, "is not a bandwidth-latency file"),
        ("1 2\n" * 30 + "5 6 7\n", "line 31 has 3 numbers where two belong"),
    ],
)
def test_damage_is_refused_by_line(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        curves_sweep({"bwlat_50.txt": text})


def test_a_blank_last_cell_and_a_repeated_header_are_no_damage() -> None:
    header = "pause,bandwidth_mean,latency_mean,rw_ratio,note\n"
    text = f"{header}0,60.1,300,100,\n100,20.1,110,100,\n{header}0,50.1,320,50,x\n100,18.1,120,50,\n"
    assert len(curves_sweep({"mess.csv": text})) == 4
