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
    ("command", "fraction"), [("-R", 1.0), ("", 1.0), ("-W3", 0.75), ("-W6", 0.0), ("-W10", 2 / 3), ("-W12", 0.8)]
)
def test_the_flag_tells_the_mix(command: str, fraction: float) -> None:
    sweep = mlc_sweep({"a.txt": _run(f"--loaded_latency {command}")})
    assert sweep.points["read_fraction"].iloc[0] == pytest.approx(fraction)


def test_the_traffic_line_tells_the_mix_where_the_command_is_not_printed() -> None:
    assert mlc_sweep({"a": f"Using Read-only traffic type\n{HEAD} 00000 99.00 500.0\n"}).series == ("read",)


@pytest.mark.parametrize("cut", [" 00002", " 00002\t", " 00002\t113.", " 00002\t113.20\t", " 00002\t113.20\t  619"])
def test_a_last_row_cut_anywhere_is_left_out_with_a_finding(cut: str) -> None:
    sweep = mlc_sweep({"a.txt": _run("--loaded_latency", f" 00000\t120.00\t 6400.0\n{cut}")})
    assert sweep.points["load"].tolist() == [0]
    assert [f.check for f in sweep.findings] == ["mlc-truncated"]


def test_what_follows_the_table_is_no_row() -> None:
    text = _run("--loaded_latency", " 00000 120.00 6400.0\n\nMeasuring cache-to-cache\n 00100 1.00 2.0\n")
    assert len(mlc_sweep({"a.txt": text})) == 1


def test_a_run_without_a_row_beside_a_whole_one_is_a_finding() -> None:
    sweep = mlc_sweep({"a.txt": _run("--loaded_latency", "") + _run("--loaded_latency -W5")})
    assert sweep.series == ("50/50 mix",)
    assert [f.check for f in sweep.findings] == ["mlc-truncated"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "Intel(R) Memory Latency Checker - v3.10\nMeasuring idle latencies (in ns)...\n",
            "table .it holds idle latencies",
        ),
        (HEAD, "ends before its first row"),
        (f"{HEAD} 00000 0.00 6400.0\n", "cannot be right"),
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
    full = "Measuring idle latencies (in ns)...\n\t\tNuma node\n 0\t  -\t 99.0\n 1\t 80.5\t  -\n"
    text = _run("--loaded_latency -W5") + listed + _run("--loaded_latency") + full + _run("--loaded_latency -W3")
    details = mlc_sweep({"a.txt": text}).provenance.details["listed"]
    assert set(details) == {"read", "75/25 mix"}
    assert details["read"] == pytest.approx({"idle_latency_s": 93.4e-9, "peak_bytes_per_s": 28.15e9})
    assert details["75/25 mix"]["idle_latency_s"] == pytest.approx(80.5e-9)


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
