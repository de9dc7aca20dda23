"""The rules of MLC's text that the golden files do not show."""

from __future__ import annotations

import pytest

from measure.errors import DataError
from measure.formats.mlc import looks_like_mlc, mlc_sweep

HEAD = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n"


def _run(command: str, rows: str = " 00000\t100.00\t 6400.0\n", traffic: str = "") -> str:
    said = f"Using {traffic} traffic type\n" if traffic else ""
    return f"Intel(R) Memory Latency Checker - v3.10\nCommand line parameters: {command}\n{said}{HEAD}{rows}"


@pytest.mark.parametrize(
    ("flags", "fractions"),
    [
        (("-R", ""), (1, 1)),
        (("-W2", "-W3", "-W4", "-W5", "-W11", "-W12"), (2 / 3, 3 / 4, 3 / 5, 1 / 2, 3 / 4, 4 / 5)),
        (("-W6", "-W7", "-W8", "-W9", "-W10"), (0, 2 / 3, 1 / 2, 3 / 4, 2 / 3)),
    ],
)
def test_the_flag_tells_the_mix(flags: tuple[str, ...], fractions: tuple[float, ...]) -> None:
    sweeps = [mlc_sweep({"a.txt": _run(f"--loaded_latency {flag}")}) for flag in flags]
    assert [sweep.points["read_fraction"].iloc[0] for sweep in sweeps] == pytest.approx(fractions)
    assert {"non-temporal" in sweep.series[0] for sweep in sweeps} == {"-W6" in flags}


def test_the_traffic_line_tells_the_mix_where_the_command_does_not() -> None:
    assert mlc_sweep({"a": f"Using Read-only traffic type\n{HEAD} 00000 99.00 0.5\n"}).series == ("read",)
    mixed = mlc_sweep({"a": _run("--loaded_latency -omix.txt", traffic="3:1 Reads-Writes")})
    assert mixed.series == ("75/25 mix",)


@pytest.mark.parametrize(("unit", "size"), [("K", 2**10), ("M", 2**20), ("g", 2**30)])
def test_settings_name_the_curve(unit: str, size: int) -> None:
    sweep = mlc_sweep({"a": _run("-l256 -r -b3").replace(HEAD, f"Using buffer size of 2.5{unit}iB\n{HEAD}")})
    assert sweep.series == (f"read stride 256 B random buffer 2.5 {unit.upper()}iB",)
    assert sweep.provenance.details["buffer_bytes"] == {sweep.series[0]: 2.5 * size}


@pytest.mark.parametrize("cut", [" 00002", " 00002\t", " 00002\t113.", " 00002\t113.20\t", " 00002\t113.20\t  619"])
def test_a_last_row_cut_anywhere_is_left_out_with_a_finding(cut: str) -> None:
    sweep = mlc_sweep({"a.txt": _run("--loaded_latency", f" 00000\t120.00\t 6400.0\n{cut}")})
    assert sweep.points["load"].tolist() == [0]
    (finding,) = sweep.findings
    assert f"the table of run 1 ends in the middle of a row ({cut.strip()!r}) after 1 whole row;" in finding.message


def test_a_run_without_a_row_beside_a_whole_one_is_a_finding() -> None:
    sweep = mlc_sweep({"a.txt": _run("--loaded_latency", "") + _run("--loaded_latency -W5")})
    assert sweep.series == ("50/50 mix",)
    assert "the table of run 1 ends after 0 whole rows;" in sweep.findings[0].message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "Intel(R) Memory Latency Checker - v3.10\nMeasuring idle latencies (in ns)...\n",
            "table .it holds idle latencies",
        ),
        (HEAD, "ends before its first row"),
        (f"{HEAD} 00000 0.00 6400.0\n", "cannot be right"),
        (f"{HEAD} 00000 99.00 0.0\n", "99 ns and 0 MB/s at delay 0 cannot be right"),
        (HEAD.replace("(ns)", "(us)") + " 00000 1.00 2.0\n", "is in us and MB/sec, where ns and MB/sec were expected"),
        (HEAD.replace("MB/sec", "GB/sec") + " 00000 1.00 2.0\n", "is in ns and GB/sec"),
    ],
)
def test_what_cannot_be_a_curve_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as refusal:
        mlc_sweep({"mine.txt": text})
    assert "mine.txt" in str(refusal.value)


def test_figures_listed_before_a_table_are_its_own() -> None:
    listed = "Each iteration took 186.7 core clocks ( 93.4    ns)\nALL Reads        :      28150.0\n"
    full = "Measuring idle latencies (in ns)...\n\t\tNuma node\n 0\t  -\t 299.0\n 1\t 180.5\t  -\n"
    text = _run("--loaded_latency -W5") + listed + _run("--loaded_latency") + full + _run("-W3") + _run("-W5")
    details = mlc_sweep({"a.txt": text}).provenance.details["listed"]
    assert set(details) == {"read", "75/25 mix", "50/50 mix (run 4)"}
    assert details["read"] == pytest.approx({"idle_latency_s": 93.4e-9, "peak_bytes_per_s": 28.15e9})
    for later in ("75/25 mix", "50/50 mix (run 4)"):  # no row of a table is one of the matrix
        assert details[later]["idle_latency_s"] == pytest.approx(180.5e-9)


def test_runs_of_one_kind_are_numbered_and_files_are_named() -> None:
    run = _run("--loaded_latency")
    assert mlc_sweep({"m": run * 2}).series == ("read (run 1)", "read (run 2)")
    assert mlc_sweep({"a": run, "b": run}).series == ("a: read", "b: read")


def test_mlc_is_known_by_its_table_where_the_version_line_is_missing() -> None:
    assert looks_like_mlc(f"C:\\>mlc\r\n{HEAD}")
    assert not looks_like_mlc("delay,latency,bandwidth\n1,2,3\n")


@pytest.mark.parametrize("quoted", ["", "> ", ">> "])
def test_a_row_with_a_remark_does_not_end_the_table(quoted: str) -> None:
    """Rows after a marked one were lost without a word."""
    rows = ' 00000\t120.00\t 6400.0\n"00100   98.94    3200.0" <--- expected more\n 00200\t 90.00\t 1600.0\n'
    text = "".join(f"{quoted}{line}\n" for line in _run("--loaded_latency -W5", rows).splitlines())
    sweep = mlc_sweep({"mail.txt": text})
    assert sweep.points["load"].tolist() == [0, 100, 200]
    assert sweep.points["latency_s"].tolist() == pytest.approx([120e-9, 98.94e-9, 90e-9])
    assert sweep.series == ("50/50 mix",)
