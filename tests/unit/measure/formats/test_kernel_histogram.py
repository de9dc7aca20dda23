"""Histograms of biolatency and bpftrace: counts, units, intervals; the file is of a public issue (iovisor/bcc 2878)."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrate.service import Times
from calibrate.service.observed_times import times_or_sweep
from measure import load
from measure.errors import DataError
from measure.formats.law_file import kernel_histogram

FILE = Path(__file__).parents[3] / "data" / "biolatency.txt"
BPFTRACE = "@usecs:\n[256, 512)    100 |@@  |\n[512, 1K)     200 |@@@@|\n[1K, 2K)      100 |@@  |\n"


def test_the_counts_are_those_that_were_printed(tmp_path: Path) -> None:
    times = times_or_sweep(FILE)
    assert isinstance(times, Times)
    assert (times.total, times.source) == (24_627, "biolatency.txt")
    assert 512e-6 < kernel_histogram(FILE.read_text(), "f").quantile(0.5) < 1024e-6
    (path := tmp_path / "crlf.txt").write_bytes(FILE.read_bytes().replace(b"\n", b"\r\n"))
    assert isinstance(found := times_or_sweep(path), Times)
    assert found.total == times.total


def test_bpftrace_names_its_unit_by_its_map_and_intervals_add_up() -> None:
    found = kernel_histogram(BPFTRACE + BPFTRACE, "b.txt")
    assert (found.total, found.lower_s[1], found.upper_s[1]) == (800, 512e-6, 1024e-6)
    assert kernel_histogram(BPFTRACE.replace("@usecs", "@read_ms"), "b.txt").lower_s[1] == 0.512


def test_rows_of_a_single_number_count_too() -> None:
    rows = "[0]              3 |    |\n[1]              7 |@   |\n[2, 4)          20 |@@  |\n"
    found = kernel_histogram(BPFTRACE.replace("@usecs:\n", f"@usecs:\n{rows}"), "b.txt")
    assert found.total == 430
    assert found.lower_s[:3] == pytest.approx([0, 1e-6, 2e-6])
    assert found.upper_s[:3] == pytest.approx([1e-6, 2e-6, 4e-6])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BPFTRACE.replace("@usecs", "@hist"), "b.txt does not say the unit of its histogram"),
        (f"disk = 'sda'\n{BPFTRACE}disk = 'sdb'\n{BPFTRACE}", "holds histograms of sda, sdb; give that of one"),
        (BPFTRACE.replace("100", "0").replace("200", "0"), "holds no request"),
        (BPFTRACE.replace("[512, 1K)", "[512, 512)"), "or a row that ends before it begins"),
    ],
)
def test_what_does_not_say_what_it_counts_is_refused(text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        kernel_histogram(text, "b.txt")


def test_a_curve_cannot_be_made_of_it_and_the_command_that_reads_it_is_named() -> None:
    with pytest.raises(DataError, match=r"is a histogram of biolatency .*qsim fit-service FILE reads it"):
        load(FILE)
