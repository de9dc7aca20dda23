"""MLC's output in the forms it comes in, written by us in its format with our own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.auditing.all_checks import audit
from measure.loading import load

DATA = Path(__file__).parent / "data" / "mlc"


def test_a_full_run_gives_its_loaded_latencies() -> None:
    sweep = load(DATA / "full-run-two-nodes.txt")
    assert (sweep.load_type.kind, sweep.load_type.unit, len(sweep), sweep.series) == (
        "injected_delay",
        "cycles",
        19,
        ("read",),
    )
    assert sweep.provenance.tool_version == "3.9a"
    listed = sweep.provenance.details["listed"]["read"]
    assert listed == pytest.approx({"idle_latency_s": 81.5e-9, "peak_bytes_per_s": 187345.6e6})
    (said,) = (f.message for f in audit(sweep) if f.check == "listed-figures")
    assert "the curve begins at 82.1 ns (+0.7 %) and reaches 170 GB/s (-9.3 %)" in said


def test_a_row_is_in_si_units_with_one_request_per_cache_line() -> None:
    row = load(DATA / "windows-two-runs.txt").points.iloc[5]
    assert row["load"] == 100
    assert row["latency_s"] == pytest.approx(76.32e-9)
    assert row["bandwidth_bytes_per_s"] == pytest.approx(23013.1e6)
    assert row["throughput_per_s"] == pytest.approx(23013.1e6 / 64)


def test_two_runs_between_windows_prompts_are_two_curves() -> None:
    sweep = load(DATA / "windows-two-runs.txt")
    assert sweep.series == ("read", "write non-temporal stride 256 B")
    assert sweep.points.groupby("series").size().tolist() == [19, 19]
    assert sweep.provenance.commands == ("mlc --loaded_latency -R -l64", "mlc --loaded_latency -W6 -l256")
    assert sweep.select("write non-temporal stride 256 B").points["read_fraction"].eq(0).all()


def test_an_indented_run_without_final_newline_is_whole() -> None:
    sweep = load(DATA / "indented-document.rst")
    assert len(sweep) == 19
    assert not sweep.findings


def test_blank_lines_between_rows_do_not_end_the_table() -> None:
    sweep = load(DATA / "blank-lines-between-rows.txt")
    assert len(sweep) == 19
    assert sweep.series == ("75/25 mix",)


def test_a_directory_of_runs_is_one_sweep_with_the_file_in_the_name_where_two_are_alike() -> None:
    sweep = load(DATA)
    assert "killed.txt: read" in sweep.series
    assert "75/25 mix" in sweep.series
    assert len(sweep) == 19 * 5 + 3
