"""MLC's output in the forms it comes in, written by us in its format with our own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from measure.loading import load

DATA = Path(__file__).parent / "data" / "mlc"


def test_a_full_run_gives_its_loaded_latencies_and_keeps_the_rest_as_details() -> None:
    sweep = load(DATA / "full-run-two-nodes.txt")
    assert (sweep.load_kind, sweep.load_unit, len(sweep), sweep.series) == ("injected_delay", "cycles", 19, ("read",))
    assert sweep.provenance.tool_version == "3.9a"
    details = sweep.provenance.details["full-run-two-nodes.txt"]
    assert details["matrices"]["idle latencies for random access"] == {"0": [81.5, 139.2], "1": [138.7, 82.1]}
    peak = details["bandwidths_bytes_per_s"]["Peak Injection Memory Bandwidths for the system"]
    assert peak["ALL Reads"] == pytest.approx(187345.6e6)
    assert details["idle_latency_matrix_s"]["0"] == pytest.approx([81.5e-9, 139.2e-9])


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


def test_a_killed_run_keeps_its_whole_rows_and_says_what_is_missing() -> None:
    sweep = load(DATA / "killed.txt")
    assert sweep.points["load"].tolist() == [0, 2, 8]
    (finding,) = sweep.findings
    assert finding.check == "mlc-truncated"
    assert "3 whole row" in finding.message


def test_an_indented_run_without_final_newline_is_whole_and_tells_the_clock() -> None:
    sweep = load(DATA / "indented-document.rst")
    assert len(sweep) == 19
    assert not sweep.findings
    assert sweep.provenance.details["indented-document.rst"]["core_hz"] == pytest.approx(198.4 / 90.2e-9)


def test_blank_lines_between_rows_do_not_end_the_table() -> None:
    sweep = load(DATA / "blank-lines-between-rows.txt")
    assert len(sweep) == 19
    assert sweep.series == ("75/25 mix",)


def test_a_directory_of_runs_is_one_sweep_with_the_file_in_the_name_where_two_are_alike() -> None:
    sweep = load(DATA)
    assert "killed.txt: read" in sweep.series
    assert "75/25 mix" in sweep.series
    assert len(sweep) == 19 * 5 + 3
